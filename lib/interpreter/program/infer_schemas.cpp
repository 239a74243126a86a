// Infers schemas of unknown operators from their calls in the archive's code (infer_schemas() of
// provided_operators.h).
//
// The code is read as syntax, file by file, before anything is compiled.  A walk over each function keeps the
// types of its variables.  Types come from annotations, literals and the schemas of known operators, and
// nothing is guessed.  An argument whose type these do not tell is Any, which takes everything.  A result
// that is used must have a type: the one that the code around the call expects of it.

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>

#include "interpreter/program/provided_operators.h"
#include "support/error.h"
#include "support/text/words.h"
#include "torchscript/language/parser.h"
#include "torchscript/language/type_parser.h"

namespace fxtrace::interpreter {
namespace {

using torchscript::kTorchBindPrefix;
using torchscript::Syntax;
using torchscript::TokenKind;
using torchscript::Tree;

bool is_declared_class(const std::string& name) { return name.starts_with(kTorchBindPrefix); }

constexpr const char* kUnknown = "";

struct Signature {
  std::vector<std::string> parameters;  // types, with that of "self"
  std::string result;
};
struct ClassInfo {
  std::map<std::string, std::string> attributes;
  std::map<std::string, Signature> methods;
};

// The facts that calls tell about one unknown operator or method.
struct UnknownCalls {
  bool called = false;
  bool gives_nothing = false;  // a call is a statement of its own
  std::set<std::size_t> used;  // positions of results that are used
  std::vector<std::pair<std::string, torchscript::SourcePlace>> callers;
  std::vector<std::string> arguments;           // types by position
  std::map<std::string, std::string> keywords;  // types by name
  std::map<std::size_t, std::string> results;   // types by position
  std::optional<std::size_t> result_count;      // the number of results that are unpacked
  bool plain = true;                            // false once two calls contradict each other
};

// Returns a type annotation as schemas spell it: "Tensor", "int[]", "Tensor?"; classes keep their qualified
// name.
std::string type_text(const Tree& annotation) {
  if (annotation.is(Syntax::kNone)) return "None";
  if (!annotation.is(Syntax::kSubscript)) return torchscript::dotted_name(annotation);
  const std::string container = torchscript::dotted_name(annotation.part(0));
  std::vector<std::string> inner;
  for (const Tree* part : annotation.part(1).all()) {
    if (part->is(Syntax::kTuple)) {
      for (const Tree* item : part->all()) inner.push_back(type_text(*item));
    } else {
      inner.push_back(type_text(*part));
    }
    if (inner.empty() || inner.back().empty()) return kUnknown;
  }
  if (container == "List" && inner.size() == 1) return inner[0] + "[]";
  if (container == "Optional" && inner.size() == 1) return inner[0] + "?";
  if (container == "Dict" && inner.size() == 2) return "Dict(" + inner[0] + ", " + inner[1] + ")";
  if (container == "Tuple") {
    std::string text = "(";
    for (const auto& part : inner) text += (text.size() > 1 ? ", " : "") + part;
    return text + ")";
  }
  return kUnknown;
}

// Returns whether a schema can have the type; the only classes that it can have are those of torch.classes.
bool is_schema_type(const std::string& type) {
  if (type.empty() || type == "None" || type[0] == '(') return false;
  for (std::size_t at = type.find("__torch__"); at != std::string::npos;
       at = type.find("__torch__", at + 1)) {
    if (type.compare(at, kTorchBindPrefix.size(), kTorchBindPrefix) != 0) return false;
  }
  return true;
}

constexpr const char* kAny = "Any";

// Returns a type that admits both; empty when there is none.
std::string merged(const std::string& a, const std::string& b) {
  if (a == b || b.empty()) return a;
  if (a.empty()) return b;
  if (a == "None") return b.back() == '?' ? b : b + "?";
  if (b == "None") return a.back() == '?' ? a : a + "?";
  if (a == b + "?") return a;
  if (b == a + "?") return b;
  return kUnknown;
}

class Code {
 public:
  Code(TorchScriptArchive& archive, const std::vector<std::string>& unknown)
      : archive_(archive), constant_types_(archive.constant_types()) {
    for (const auto& name : unknown) calls_[name];
    for (const auto& [record, text] : archive.code()) parse(record);
    for (const Defined& function : functions_) run(function);
  }

  std::vector<InferredSchema> schemas() const {
    std::vector<InferredSchema> result;
    for (const auto& [name, calls] : calls_) {
      if (calls.called) result.push_back(schema(name, calls));
    }
    return result;
  }

 private:
  struct Defined {
    std::string class_name;  // empty for a function
    std::string name;        // qualified
    const Tree* definition = nullptr;
    const torchscript::SyntaxFile* file = nullptr;
  };

  // --- reading the files ---

  void parse(const std::string& record) {
    std::string prefix = record.substr(5, record.size() - 8);  // "code/", ".py"
    std::replace(prefix.begin(), prefix.end(), '/', '.');
    try {
      const torchscript::Program::CodeFile* file = archive_.program().find_file(prefix);
      if (file == nullptr) return;
      for (const Tree* tree : file->parsed.definitions) {
        const std::string name = prefix + "." + std::string(tree->text);
        if (tree->is(Syntax::kClass)) {
          add_class(name, *tree, *file->syntax);
          continue;
        }
        signatures_[name] = signature(*tree);
        functions_.push_back({kUnknown, name, tree, file->syntax.get()});
      }
    } catch (const Error&) {
      // The error is reported when the file is compiled.
    }
  }

  void add_class(const std::string& name, const Tree& definition, const torchscript::SyntaxFile& file) {
    ClassInfo& info = classes_[name];
    for (const Tree* statement : definition.part(1).all()) {
      if (statement->is(Syntax::kAssignment)) {
        const Tree& target = statement->part(0).part(0);
        if (statement->part(2).is_there() && target.is(Syntax::kName))
          info.attributes[std::string(target.text)] = type_text(statement->part(2));
      } else if (statement->is(Syntax::kDefinition)) {
        info.methods[std::string(statement->text)] = signature(*statement);
        functions_.push_back({name, name + "." + std::string(statement->text), statement, &file});
      }
    }
  }

  static std::string annotation(const Tree& type) { return type.is_there() ? type_text(type) : kUnknown; }

  static Signature signature(const Tree& definition) {
    Signature result;
    for (const Tree* parameter : definition.part(0).all())
      result.parameters.push_back(annotation(parameter->part(0)));
    result.result = annotation(definition.part(1));
    return result;
  }

  // --- walking one function ---

  void run(const Defined& function) {
    const Tree& definition = *function.definition;
    current_ = &function;
    types_.clear();
    pending_.clear();
    const auto parameters = definition.part(0).all();
    for (const Tree* parameter : parameters)
      types_[std::string(parameter->text)] = annotation(parameter->part(0));
    if (!function.class_name.empty() && !parameters.empty())
      types_[std::string(parameters[0]->text)] = function.class_name;
    result_ = annotation(definition.part(1));
    statements(definition.part(2));
  }

  // Marks results of unknown operators in the tree as used: variables that hold one, and calls within another
  // expression.
  void use(const Tree& tree, bool is_whole = true) {
    if (tree.is(Syntax::kName)) {
      const auto pending = pending_.find(std::string(tree.text));
      if (pending != pending_.end()) pending->second.first->used.insert(pending->second.second);
      return;
    }
    if (tree.is(Syntax::kCall) && !is_whole) {
      if (UnknownCalls* calls = unknown_call(tree)) calls->used.insert(0);
    }
    for (const Tree* part : tree.all()) use(*part, false);
  }

  void use_operands(const Tree& statement) {
    switch (statement.kind) {
      case Syntax::kAssignment:
        if (statement.part(1).is_there()) use(statement.part(1));
        for (const Tree* target : statement.part(0).all()) {
          if (!target->is(Syntax::kName) && !target->is(Syntax::kTuple)) use(*target);
        }
        break;
      case Syntax::kIf:
      case Syntax::kWhile:
      case Syntax::kExpression:
        use(statement.part(0));
        break;
      case Syntax::kFor:
        use(statement.part(1), false);
        break;
      case Syntax::kWith:
        use(statement.part(0));
        break;
      default:
        use(statement);
    }
  }

  void statements(const Tree& list) {
    for (const Tree* each : list.all()) {
      const Tree& statement = *each;
      statement_types_.clear();
      use_operands(statement);
      switch (statement.kind) {
        case Syntax::kAssignment:
          assign(statement);
          break;
        case Syntax::kReturn:
          if (statement.count > 0) expect(statement.part(0), result_);
          break;
        case Syntax::kExpression:
          type(statement.part(0));
          if (UnknownCalls* calls = unknown_call(statement.part(0))) calls->gives_nothing = true;
          break;
        case Syntax::kIf:
          expect(statement.part(0), "bool");
          statements(statement.part(1));
          statements(statement.part(2));
          break;
        case Syntax::kWhile:
          expect(statement.part(0), "bool");
          statements(statement.part(1));
          break;
        case Syntax::kFor:
          type(statement.part(1));
          statements(statement.part(2));
          break;
        case Syntax::kWith:
          statements(statement.part(1));
          break;
        default:
          break;
      }
    }
  }

  void assign(const Tree& statement) {
    const Tree& value = statement.part(1);
    if (!value.is_there()) return;
    const std::string declared = annotation(statement.part(2));
    const std::string found = declared.empty() ? type(value) : (expect(value, declared), declared);
    std::vector<const Tree*> targets;
    bool taken_apart = false;
    for (const Tree* target : statement.part(0).all()) {
      if (target->is(Syntax::kTuple)) {
        taken_apart = true;
        for (const Tree* part : target->all()) targets.push_back(part);
      } else {
        targets.push_back(target);
      }
    }
    taken_apart = taken_apart || targets.size() > 1;
    UnknownCalls* calls = unknown_call(value);
    if (calls != nullptr && taken_apart) {
      if (calls->result_count && *calls->result_count != targets.size()) calls->plain = false;
      calls->result_count = targets.size();
    }
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (targets[i]->is(Syntax::kAttribute) && !taken_apart) expect(value, type(*targets[i]));
      if (!targets[i]->is(Syntax::kName)) continue;
      const std::string name(targets[i]->text);
      pending_.erase(name);
      types_[name] = taken_apart ? kUnknown : found;
      if (calls != nullptr) pending_[name] = {calls, i};
    }
  }

  // Returns the facts about the unknown operator that `expr` calls; null for any other expression.
  UnknownCalls* unknown_call(const Tree& expr) {
    if (!expr.is(Syntax::kCall)) return nullptr;
    const Tree& called = expr.part(0);
    const std::string callee = torchscript::dotted_name(called);
    if (callee.rfind("ops.", 0) != 0) {
      if (!called.is(Syntax::kAttribute)) return nullptr;
      const std::string receiver = type(called.part(0));
      if (!is_declared_class(receiver) || has_method(receiver, called.text)) return nullptr;
      return &calls_[receiver + "." + std::string(called.text)];
    }
    const auto dot = callee.find('.', 4);
    if (dot == std::string::npos) return nullptr;
    const auto known = calls_.find(callee.substr(4, dot - 4) + "::" + callee.substr(dot + 1));
    return known == calls_.end() ? nullptr : &known->second;
  }

  // Returns whether a known class, such as one of LibTorch's, has the method.
  bool has_method(const std::string& class_name, std::string_view method) {
    const TypePtr type = archive_.program().find_type(class_name);
    const auto* as_class = type == nullptr ? nullptr : type->as<ClassType>();
    return as_class != nullptr && as_class->find_method(method) != nullptr;
  }

  // Notes that the code expects this type of the value, which tells the result type of an unknown operator.
  void expect(const Tree& expr, const std::string& wanted) {
    UnknownCalls* calls = unknown_call(expr);
    std::size_t index = 0;
    if (expr.is(Syntax::kName)) {
      const auto pending = pending_.find(std::string(expr.text));
      if (pending != pending_.end()) std::tie(calls, index) = pending->second;
    } else {
      type(expr);
    }
    if (expr.is(Syntax::kTuple) && wanted.size() > 1 && wanted[0] == '(' &&
        wanted.find_first_of("([", 1) == std::string::npos) {
      std::size_t from = 1;
      for (const Tree* part : expr.all()) {
        const auto end = std::min(wanted.find(',', from), wanted.size() - 1);
        expect(*part, wanted.substr(from, end - from));
        from = std::min(end + 2, wanted.size());
      }
    }
    if (calls == nullptr || !is_schema_type(wanted)) return;
    std::string& known = calls->results[index];
    // An expected optional, or Any, does not tell the type of the value.
    const std::string evidence = wanted.back() == '?' || wanted == kAny ? kUnknown : wanted;
    if (!known.empty() && !evidence.empty() && known != evidence) calls->plain = false;
    if (known.empty()) known = evidence;
  }

  // Returns the type of an expression.  Calls in it are noted on the way, once for each statement.
  std::string type(const Tree& expr) {
    if (!expr.is(Syntax::kCall) && !expr.is(Syntax::kAttribute)) return find_type(expr);
    const auto known = statement_types_.find(&expr);
    if (known != statement_types_.end()) return known->second;
    std::string found = find_type(expr);
    statement_types_.emplace(&expr, found);
    return found;
  }

  std::string find_type(const Tree& expr) {
    switch (expr.kind) {
      case Syntax::kName: {
        const auto known = types_.find(std::string(expr.text));
        return known == types_.end() ? kUnknown : known->second;
      }
      case Syntax::kNumber:
        return type_of_number(expr.text);
      case Syntax::kTrue:
      case Syntax::kFalse:
        return "bool";
      case Syntax::kNone:
        return "None";
      case Syntax::kStringLiteral:
        return "str";
      case Syntax::kUnary:
        return expr.token == TokenKind::kMinus ? type(expr.part(0)) : kUnknown;
      case Syntax::kListLiteral: {
        std::string element;
        for (const Tree* item : expr.all()) {
          const std::string one = type(*item);
          if (one.empty()) return kUnknown;
          element = element.empty() ? one : merged(element, one);
          if (element.empty()) return kUnknown;
        }
        return element.empty() ? kUnknown : element + "[]";
      }
      case Syntax::kTuple:
        for (const Tree* item : expr.all()) type(*item);
        return kUnknown;
      case Syntax::kSubscript: {
        const std::string sequence = type(expr.part(0));
        const bool list = sequence.size() > 2 && sequence.compare(sequence.size() - 2, 2, "[]") == 0;
        return list ? sequence.substr(0, sequence.size() - 2) : kUnknown;
      }
      case Syntax::kAttribute:
        if (const auto index = torchscript::find_table_index(expr); index && *index < constant_types_.size())
          return constant_types_[*index];
        return attribute_type(type(expr.part(0)), std::string(expr.text));
      case Syntax::kCall:
        return call(expr);
      default:
        return kUnknown;
    }
  }

  static std::string type_of_number(std::string_view text) {
    if (text.ends_with('j')) return "complex";
    const bool is_float = text.find_first_of(".eE") != std::string_view::npos && !text.starts_with("0x");
    return is_float ? "float" : "int";
  }

  std::string attribute_type(const std::string& class_name, const std::string& name) const {
    const auto known = classes_.find(class_name);
    if (known == classes_.end()) return kUnknown;
    const auto attribute = known->second.attributes.find(name);
    return attribute == known->second.attributes.end() ? kUnknown : attribute->second;
  }

  static std::span<const Tree* const> inputs(const Tree& apply) { return apply.part(1).all(); }

  std::string call(const Tree& apply) {
    const Tree& callee = apply.part(0);
    const std::string name = torchscript::dotted_name(callee);
    if (UnknownCalls* calls = unknown_call(apply)) {
      add_call(*calls, apply);
      return kUnknown;
    }
    if ((name == "annotate" || name == "unchecked_cast") && inputs(apply).size() == 2) {
      const std::string declared = type_text(*inputs(apply)[0]);
      expect(*inputs(apply)[1], declared);
      return declared;
    }
    if (name == "int" || name == "float" || name == "bool" || name == "str") {
      for (const Tree* input : inputs(apply)) type(*input);
      return name;
    }
    if (name == "getattr" && inputs(apply).size() == 2 && inputs(apply)[1]->is(Syntax::kStringLiteral))
      return attribute_type(type(*inputs(apply)[0]), std::string(inputs(apply)[1]->text));
    if (const auto function = signatures_.find(name); function != signatures_.end())
      return apply_signature(function->second, apply, 0);
    if (name.rfind("torch.", 0) == 0) return call_operator("aten::" + name.substr(6), apply);
    if (name.rfind("ops.", 0) == 0) {
      const auto dot = std::min(name.find('.', 4), name.size() - 1);
      return call_operator(name.substr(4, dot - 4) + "::" + name.substr(dot + 1), apply);
    }
    if (callee.is(Syntax::kAttribute)) {
      // X.__new__(X), where X is a class of torch.classes.
      const std::string holder = torchscript::dotted_name(callee.part(0));
      if (callee.text == "__new__" && is_declared_class(holder)) return holder;
      const auto known = classes_.find(type(callee.part(0)));
      if (known != classes_.end()) {
        const auto method = known->second.methods.find(std::string(callee.text));
        if (method != known->second.methods.end()) return apply_signature(method->second, apply, 1);
      }
    }
    for (const Tree* input : inputs(apply)) type(*input);
    return kUnknown;
  }

  std::string apply_signature(const Signature& signature, const Tree& apply, std::size_t first) {
    for (std::size_t i = 0; i < inputs(apply).size(); ++i) {
      const std::size_t at = first + i;
      expect(*inputs(apply)[i], at < signature.parameters.size() ? signature.parameters[at] : kUnknown);
    }
    return signature.result;
  }

  // Returns the result type of a known operator: the one on which all overloads that fit agree.
  std::string call_operator(const std::string& name, const Tree& apply) {
    std::vector<std::string> given;
    for (const Tree* input : inputs(apply)) given.push_back(type(*input));
    std::set<std::string> results;
    std::vector<std::set<std::string>> formals(given.size());
    for (const FunctionSchema* candidate :
         archive_.program().operators().overloads(torchscript::intern(name))) {
      const FunctionSchema& schema = *candidate;
      bool fits = schema.arguments.size() >= given.size();
      for (std::size_t i = 0; fits && i < given.size(); ++i) {
        const auto kind = schema.arguments[i].type->kind();
        if (given[i] == "Tensor") fits = kind == TypeKind::kTensor || kind == TypeKind::kOptional;
        if (given[i] == "int" || given[i] == "float" || given[i] == "bool" || given[i] == "str")
          fits = kind != TypeKind::kTensor;
      }
      if (!fits) continue;
      for (std::size_t i = 0; i < given.size(); ++i) formals[i].insert(schema.arguments[i].type->str());
      results.insert(schema.results.size() == 1 ? schema.results[0]->str() : kUnknown);
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (formals[i].size() == 1) expect(*inputs(apply)[i], *formals[i].begin());
    }
    return results.size() == 1 ? *results.begin() : kUnknown;
  }

  void add_call(UnknownCalls& calls, const Tree& apply) {
    const std::size_t count = inputs(apply).size();
    if (!calls.called) calls.arguments.resize(count, kUnknown);
    if (calls.arguments.size() != count) calls.plain = false;
    calls.called = true;
    calls.callers.emplace_back(current_->name, current_->file->range(apply));
    for (std::size_t i = 0; i < count && i < calls.arguments.size(); ++i)
      add_type(calls.arguments[i], type(*inputs(apply)[i]));
    for (const Tree* keyword : apply.part(2).all())
      add_type(calls.keywords[std::string(keyword->text)], type(keyword->part(0)));
  }

  static void add_type(std::string& known, const std::string& found) {
    const bool contradicts = !known.empty() && !found.empty() && merged(known, found).empty();
    known = contradicts ? kAny : merged(known, found);
  }

  static InferredSchema schema(const std::string& name, const UnknownCalls& calls) {
    InferredSchema inferred;
    inferred.name = name;
    inferred.callers = calls.callers;
    inferred.complete =
        calls.plain && !(calls.gives_nothing && (calls.result_count || !calls.results.empty()));
    const auto argument = [](const std::string& type) { return is_schema_type(type) ? type : kAny; };
    std::string text = name;
    std::vector<std::string> formals;
    if (const auto dot = name.rfind('.'); dot != std::string::npos) {  // a method
      inferred.class_name = name.substr(0, dot);
      text = name.substr(dot + 1);
      formals.push_back(inferred.class_name + " self");
    }
    for (const auto& type : calls.arguments) {
      formals.push_back(argument(type) + " arg" +
                        std::to_string(formals.size() - (inferred.class_name.empty() ? 0 : 1)));
    }
    if (!calls.keywords.empty()) formals.emplace_back("*");
    for (const auto& [keyword, type] : calls.keywords) formals.push_back(argument(type) + " " + keyword);
    text += "(" + joined(formals) + ") -> ";
    const auto result = [&](std::size_t i) -> std::string {
      const auto known = calls.results.find(i);
      if (known != calls.results.end() && is_schema_type(known->second)) return known->second;
      if (calls.used.count(i) == 0) return kAny;
      inferred.complete = false;
      return "?";
    };
    if (calls.gives_nothing || text.starts_with("__init__(")) {
      text += inferred.class_name.empty() ? "()" : "NoneType";
    } else if (calls.result_count) {
      if (!inferred.class_name.empty()) inferred.complete = false;  // methods have one result
      text += "(";
      for (std::size_t i = 0; i < *calls.result_count; ++i) text += (i == 0 ? "" : ", ") + result(i);
      text += ")";
    } else {
      text += result(0);
    }
    inferred.schema = std::move(text);
    return inferred;
  }

  TorchScriptArchive& archive_;
  const std::vector<std::string>& constant_types_;
  std::map<std::string, UnknownCalls> calls_;
  std::map<std::string, ClassInfo> classes_;
  std::map<std::string, Signature> signatures_;
  std::vector<Defined> functions_;
  // The state of the walk over a function:
  std::map<std::string, std::string> types_;
  std::map<std::string, std::pair<UnknownCalls*, std::size_t>>
      pending_;  // variables that hold an unknown result
  std::string result_;
  const Defined* current_ = nullptr;
  std::unordered_map<const Tree*, std::string> statement_types_;  // within the current statement
};

}  // namespace

std::vector<InferredSchema> infer_schemas(TorchScriptArchive& archive,
                                          const std::vector<std::string>& names) {
  return Code(archive, names).schemas();
}

}  // namespace fxtrace::interpreter
