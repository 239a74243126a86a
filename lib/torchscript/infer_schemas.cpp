// Schemas of unknown operators, from how the archive's code calls them.  The code is parsed with
// TorchScript's own parser; types come from annotations, literals and the schemas of known operators.  Only
// what these make plain is taken: there are no guesses.  An argument whose type is not plain is Any, which
// takes everything; a result that is used must have its type.
#include <torch/csrc/jit/frontend/lexer.h>
#include <torch/csrc/jit/frontend/tree_views.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "torchscript/custom_classes.h"
#include "torchscript/definitions.h"
#include "torchscript/operators.h"

namespace fxtrace {
namespace {

using namespace torch::jit;  // NOLINT: the tree's node types have names of their own

constexpr const char* kUnknown = "";

struct Signature {
  std::vector<std::string> parameters;  // types, "self" among them
  std::string result;
};
struct ClassInfo {
  std::map<std::string, std::string> attributes;
  std::map<std::string, Signature> methods;
};

// Everything that is known of one unknown operator or method.
struct Calls {
  bool called = false;
  bool gives_nothing = false;  // the call stands as a statement
  std::set<std::size_t> used;  // results, by position
  std::vector<Caller> callers;
  std::vector<std::string> arguments;           // types by position
  std::map<std::string, std::string> keywords;  // types by name
  std::map<std::size_t, std::string> results;   // types by position
  std::optional<std::size_t> result_count;      // of a tuple that is taken apart
  bool plain = true;                            // false once two calls contradict each other
};

// A type annotation as a schema has it: "Tensor", "int[]", "Tensor?"; classes keep their qualified name.
std::string type_text(const Expr& annotation);

std::string dotted(const Expr& expr) {
  if (expr.kind() == TK_VAR) return Var(expr).name().name();
  if (expr.kind() != '.') return kUnknown;
  const std::string head = dotted(Select(expr).value());
  return head.empty() ? kUnknown : head + "." + Select(expr).selector().name();
}

std::string type_text(const Expr& annotation) {
  if (annotation.kind() == TK_NONE) return "None";
  if (annotation.kind() != TK_SUBSCRIPT) return dotted(annotation);
  const Subscript subscript(annotation);
  const std::string container = dotted(subscript.value());
  std::vector<std::string> inner;
  for (const auto& part : subscript.subscript_exprs()) {
    if (part.kind() == TK_TUPLE_LITERAL) {
      for (const auto& item : TupleLiteral(part).inputs()) inner.push_back(type_text(item));
    } else {
      inner.push_back(type_text(part));
    }
    if (inner.back().empty()) return kUnknown;
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

// Whether a schema can have the type: of classes only torch.classes.
bool is_schema_type(const std::string& type) {
  constexpr std::string_view kClasses = "__torch__.torch.classes.";
  if (type.empty() || type == "None" || type[0] == '(') return false;
  for (std::size_t at = type.find("__torch__"); at != std::string::npos;
       at = type.find("__torch__", at + 1)) {
    if (type.compare(at, kClasses.size(), kClasses) != 0) return false;
  }
  return true;
}

constexpr const char* kAny = "Any";

// One type that both could be; empty when there is none.
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
  Code(const ArchiveCode& code, const std::vector<std::string>& unknown)
      : constant_types_(code.constant_types) {
    for (const auto& name : unknown) calls_[name];
    for (const auto& [record, text] : code.files) parse(record, text);
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
    Def definition;
    std::string record;
    std::string_view text;  // of the file
  };

  // --- reading the files ---

  void parse(const std::string& record, const std::string& text) {
    std::string prefix = record.substr(5, record.size() - 8);  // "code/", ".py"
    std::replace(prefix.begin(), prefix.end(), '/', '.');
    try {
      for_each_definition(std::make_shared<Source>(text, record, 1, nullptr), [&](const TreeRef& tree) {
        if (tree->kind() == TK_CLASS_DEF) return add_class(prefix, ClassDef(tree), record, text);
        const Def definition(tree);
        signatures_[prefix + "." + definition.name().name()] = signature(definition);
        functions_.push_back({kUnknown, definition, record, text});
      });
    } catch (const std::exception&) {
      // The load will say what is wrong with this file.
    }
  }

  void add_class(const std::string& prefix, const ClassDef& definition, const std::string& record,
                 std::string_view text) {
    const std::string name = prefix + "." + definition.name().name();
    ClassInfo& info = classes_[name];
    for (const auto& statement : definition.body()) {
      if (statement.kind() == TK_ASSIGN) {
        const Assign assign(statement);
        if (assign.type().present() && assign.lhs().kind() == TK_VAR) {
          info.attributes[Var(assign.lhs()).name().name()] = type_text(assign.type().get());
        }
      } else if (statement.kind() == TK_DEF) {
        const Def method(statement);
        info.methods[method.name().name()] = signature(method);
        functions_.push_back({name, method, record, text});
      }
    }
  }

  static Signature signature(const Def& definition) {
    Signature result;
    for (const auto& parameter : definition.decl().params()) {
      result.parameters.push_back(parameter.type().present() ? type_text(parameter.type().get()) : kUnknown);
    }
    if (definition.decl().return_type().present())
      result.result = type_text(definition.decl().return_type().get());
    return result;
  }

  // --- walking one function ---

  void run(const Defined& function) {
    const std::string& class_name = function.class_name;
    const Def& definition = function.definition;
    current_ = &function;
    types_.clear();
    pending_.clear();
    for (const auto& parameter : definition.decl().params()) {
      types_[parameter.ident().name()] =
          parameter.type().present() ? type_text(parameter.type().get()) : kUnknown;
    }
    if (!class_name.empty() && definition.decl().params().begin() != definition.decl().params().end()) {
      types_[definition.decl().params()[0].ident().name()] = class_name;
    }
    result_ = definition.decl().return_type().present() ? type_text(definition.decl().return_type().get())
                                                        : kUnknown;
    statements(definition.statements());
  }

  // Results of unknown operators in the tree are used: variables that hold one, and calls inside of another
  // expression.
  void use(const TreeRef& tree, bool is_whole = true) {
    if (tree->kind() == TK_VAR) {
      const auto pending = pending_.find(Var(tree).name().name());
      if (pending != pending_.end()) pending->second.first->used.insert(pending->second.second);
      return;
    }
    if (tree->kind() == TK_APPLY && !is_whole) {
      if (Calls* calls = unknown_call(Expr(tree))) calls->used.insert(0);
    }
    for (const TreeRef& part : tree->trees()) use(part, false);
  }

  void use_operands(const Stmt& statement) {
    switch (statement.kind()) {
      case TK_ASSIGN:
        if (Assign(statement).rhs().present()) use(Assign(statement).rhs().get().tree());
        for (const auto& target : Assign(statement).lhs_list()) {
          if (target.kind() != TK_VAR && target.kind() != TK_TUPLE_LITERAL) use(target.tree());
        }
        break;
      case TK_IF:
        use(If(statement).cond().tree());
        break;
      case TK_WHILE:
        use(While(statement).cond().tree());
        break;
      case TK_FOR:
        for (const auto& iterated : For(statement).itrs()) use(iterated.tree(), false);
        break;
      case TK_WITH:
        use(With(statement).targets().tree());
        break;
      case TK_EXPR_STMT:
        use(ExprStmt(statement).expr().tree());
        break;
      default:
        use(statement.tree());
    }
  }

  void statements(const List<Stmt>& list) {
    for (const auto& statement : list) {
      statement_types_.clear();
      use_operands(statement);
      switch (statement.kind()) {
        case TK_ASSIGN:
          assign(Assign(statement));
          break;
        case TK_RETURN:
          expect(Return(statement).expr(), result_);
          break;
        case TK_EXPR_STMT:
          type(ExprStmt(statement).expr());
          if (Calls* calls = unknown_call(ExprStmt(statement).expr())) calls->gives_nothing = true;
          break;
        case TK_IF:
          expect(If(statement).cond(), "bool");
          statements(If(statement).trueBranch());
          statements(If(statement).falseBranch());
          break;
        case TK_WHILE:
          expect(While(statement).cond(), "bool");
          statements(While(statement).body());
          break;
        case TK_FOR:
          for (const auto& iterated : For(statement).itrs()) type(iterated);
          statements(For(statement).body());
          break;
        case TK_WITH:
          statements(With(statement).body());
          break;
        default:
          break;
      }
    }
  }

  void assign(const Assign& statement) {
    if (!statement.rhs().present()) return;
    const Expr value = statement.rhs().get();
    std::string declared = statement.type().present() ? type_text(statement.type().get()) : kUnknown;
    const std::string found = declared.empty() ? type(value) : (expect(value, declared), declared);
    std::vector<Expr> targets;
    for (const auto& target : statement.lhs_list()) {
      if (target.kind() == TK_TUPLE_LITERAL) {
        for (const auto& part : TupleLiteral(target).inputs()) targets.push_back(part);
      } else {
        targets.push_back(target);
      }
    }
    const bool taken_apart = targets.size() > 1 || (statement.lhs().kind() == TK_TUPLE_LITERAL);
    Calls* calls = unknown_call(value);
    if (calls != nullptr && taken_apart) {
      if (calls->result_count && *calls->result_count != targets.size()) calls->plain = false;
      calls->result_count = targets.size();
    }
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (targets[i].kind() == '.' && !taken_apart) expect(value, type(targets[i]));  // an attribute
      if (targets[i].kind() != TK_VAR) continue;
      const std::string name = Var(targets[i]).name().name();
      pending_.erase(name);
      types_[name] = taken_apart ? kUnknown : found;
      if (calls != nullptr) pending_[name] = {calls, i};
    }
  }

  // The record of the unknown operator that `expr` calls; null for anything else.
  Calls* unknown_call(const Expr& expr) {
    if (expr.kind() != TK_APPLY) return nullptr;
    const Expr called = Apply(expr).callee();
    const std::string callee = dotted(called);
    if (callee.rfind("ops.", 0) != 0) {
      if (called.kind() != '.') return nullptr;
      const std::string receiver = type(Select(called).value());
      if (!is_declared_class(receiver)) return nullptr;
      return &calls_[receiver + "." + Select(called).selector().name()];
    }
    const auto dot = callee.find('.', 4);
    if (dot == std::string::npos) return nullptr;
    const auto known = calls_.find(callee.substr(4, dot - 4) + "::" + callee.substr(dot + 1));
    return known == calls_.end() ? nullptr : &known->second;
  }

  // The value must be of this type: tells what an unknown operator gives.
  void expect(const Expr& expr, const std::string& wanted) {
    Calls* calls = unknown_call(expr);
    std::size_t index = 0;
    if (expr.kind() == TK_VAR) {
      const auto pending = pending_.find(Var(expr).name().name());
      if (pending != pending_.end()) std::tie(calls, index) = pending->second;
    } else {
      type(expr);
    }
    if (expr.kind() == TK_TUPLE_LITERAL && wanted.size() > 1 && wanted[0] == '(' &&
        wanted.find_first_of("([", 1) == std::string::npos) {
      std::size_t from = 1;
      for (const auto& part : TupleLiteral(expr).inputs()) {
        const auto end = std::min(wanted.find(',', from), wanted.size() - 1);
        expect(part, wanted.substr(from, end - from));
        from = std::min(end + 2, wanted.size());
      }
    }
    if (calls == nullptr || !is_schema_type(wanted)) return;
    std::string& known = calls->results[index];
    // An optional or a union of types is satisfied by less than itself.
    const std::string evidence = wanted.back() == '?' || wanted == kAny ? kUnknown : wanted;
    if (!known.empty() && !evidence.empty() && known != evidence) calls->plain = false;
    if (known.empty()) known = evidence;
  }

  // Type of an expression; calls in it are looked at on the way, once for each statement.
  std::string type(const Expr& expr) {
    if (expr.kind() != TK_APPLY && expr.kind() != '.') return find_type(expr);
    const auto known = statement_types_.find(expr.tree().get());
    if (known != statement_types_.end()) return known->second;
    std::string found = find_type(expr);
    statement_types_.emplace(expr.tree().get(), found);
    return found;
  }

  std::string find_type(const Expr& expr) {
    switch (expr.kind()) {
      case TK_VAR: {
        const auto known = types_.find(Var(expr).name().name());
        return known == types_.end() ? kUnknown : known->second;
      }
      case TK_CONST:
        return Const(expr).isFloatingPoint() ? "float" : Const(expr).isComplex() ? "complex" : "int";
      case TK_TRUE:
      case TK_FALSE:
        return "bool";
      case TK_NONE:
        return "None";
      case TK_STRINGLITERAL:
        return "str";
      case '-':
        return expr.tree()->trees().size() == 1 ? type(Expr(expr.tree()->trees()[0])) : kUnknown;
      case TK_LIST_LITERAL: {
        std::string element;
        for (const auto& item : ListLiteral(expr).inputs()) {
          const std::string one = type(item);
          if (one.empty()) return kUnknown;
          element = element.empty() ? one : merged(element, one);
          if (element.empty()) return kUnknown;
        }
        return element.empty() ? kUnknown : element + "[]";
      }
      case TK_TUPLE_LITERAL:
        for (const auto& item : TupleLiteral(expr).inputs()) type(item);
        return kUnknown;
      case TK_SUBSCRIPT: {
        const std::string sequence = type(Subscript(expr).value());
        const bool list = sequence.size() > 2 && sequence.compare(sequence.size() - 2, 2, "[]") == 0;
        return list ? sequence.substr(0, sequence.size() - 2) : kUnknown;
      }
      case '.': {
        if (const auto constant = constant_index(Select(expr))) return constant_types_[*constant];
        const auto known = classes_.find(type(Select(expr).value()));
        if (known == classes_.end()) return kUnknown;
        const auto attribute = known->second.attributes.find(Select(expr).selector().name());
        return attribute == known->second.attributes.end() ? kUnknown : attribute->second;
      }
      case TK_APPLY:
        return call(Apply(expr));
      default:
        return kUnknown;
    }
  }

  // Of "CONSTANTS.c3": 3.
  std::optional<std::size_t> constant_index(const Select& attribute) const {
    const Expr holder = attribute.value();
    const std::string text = attribute.selector().name();
    if (holder.kind() != TK_VAR || Var(holder).name().name() != "CONSTANTS" || !text.starts_with('c'))
      return std::nullopt;
    const std::string_view name = std::string_view(text).substr(1);
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
    const bool is_index = error == std::errc{} && end == name.data() + name.size();
    return is_index && index < constant_types_.size() ? std::optional(index) : std::nullopt;
  }

  std::string call(const Apply& apply) {
    const Expr callee = apply.callee();
    const std::string name = dotted(callee);
    if (Calls* calls = unknown_call(apply)) {
      add_call(*calls, apply);
      return kUnknown;
    }
    if (name == "annotate" || name == "unchecked_cast") {
      const std::string declared = type_text(apply.inputs()[0]);
      expect(apply.inputs()[1], declared);
      return declared;
    }
    if (name == "int" || name == "float" || name == "bool" || name == "str") {
      for (const auto& input : apply.inputs()) type(input);
      return name;
    }
    if (name == "getattr" && apply.inputs().size() == 2 && apply.inputs()[1].kind() == TK_STRINGLITERAL) {
      const auto known = classes_.find(type(apply.inputs()[0]));
      if (known == classes_.end()) return kUnknown;
      const auto attribute = known->second.attributes.find(StringLiteral(apply.inputs()[1]).text());
      return attribute == known->second.attributes.end() ? kUnknown : attribute->second;
    }
    if (const auto function = signatures_.find(name); function != signatures_.end()) {
      return apply_signature(function->second, apply, 0);
    }
    if (name.rfind("torch.", 0) == 0) return call_operator("aten::" + name.substr(6), apply);
    if (name.rfind("ops.", 0) == 0) {
      const auto dot = name.find('.', 4);
      return call_operator(name.substr(4, dot - 4) + "::" + name.substr(dot + 1), apply);
    }
    if (callee.kind() == '.') {
      const auto known = classes_.find(type(Select(callee).value()));
      if (known != classes_.end()) {
        const auto method = known->second.methods.find(Select(callee).selector().name());
        if (method != known->second.methods.end()) return apply_signature(method->second, apply, 1);
      }
    }
    for (const auto& input : apply.inputs()) type(input);
    return kUnknown;
  }

  std::string apply_signature(const Signature& signature, const Apply& apply, std::size_t first) {
    for (std::size_t i = 0; i < apply.inputs().size(); ++i) {
      const std::size_t at = first + i;
      expect(apply.inputs()[i], at < signature.parameters.size() ? signature.parameters[at] : kUnknown);
    }
    return signature.result;
  }

  // A known operator: what all overloads that fit agree on.
  std::string call_operator(const std::string& name, const Apply& apply) {
    std::vector<std::string> given;
    for (const auto& input : apply.inputs()) given.push_back(type(input));
    std::set<std::string> results;
    std::vector<std::set<std::string>> formals(given.size());
    for (const auto& candidate : getAllOperatorsFor(c10::Symbol::fromQualString(name))) {
      const auto& schema = candidate->schema();
      bool fits = schema.arguments().size() >= given.size();
      for (std::size_t i = 0; fits && i < given.size(); ++i) {
        const auto kind = schema.arguments()[i].type()->kind();
        if (given[i] == "Tensor")
          fits = kind == c10::TypeKind::TensorType || kind == c10::TypeKind::OptionalType;
        if (given[i] == "int" || given[i] == "float" || given[i] == "bool" || given[i] == "str") {
          fits = kind != c10::TypeKind::TensorType;
        }
      }
      if (!fits) continue;
      for (std::size_t i = 0; i < given.size(); ++i) formals[i].insert(schema.arguments()[i].type()->str());
      results.insert(schema.returns().size() == 1 ? schema.returns()[0].type()->str() : kUnknown);
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (formals[i].size() == 1) expect(apply.inputs()[i], *formals[i].begin());
    }
    return results.size() == 1 ? *results.begin() : kUnknown;
  }

  void add_call(Calls& calls, const Apply& apply) {
    const std::size_t count = apply.inputs().size();
    if (!calls.called) calls.arguments.resize(count, kUnknown);
    if (calls.arguments.size() != count) calls.plain = false;
    calls.called = true;
    add_caller(calls, apply);
    for (std::size_t i = 0; i < count && i < calls.arguments.size(); ++i) {
      add_type(calls.arguments[i], type(apply.inputs()[i]));
    }
    for (const auto& attribute : apply.attributes()) {
      add_type(calls.keywords[attribute.name().name()], type(attribute.value()));
    }
  }

  static void add_type(std::string& known, const std::string& found) {
    const bool contradicts = !known.empty() && !found.empty() && merged(known, found).empty();
    known = contradicts ? kAny : merged(known, found);
  }

  // Where the body of the function that calls stands, and what it gives.
  void add_caller(Calls& calls, const Apply& apply) const {
    const std::string_view text = current_->text;
    const auto& body = current_->definition.statements();
    if (body.begin() == body.end()) return;
    Caller caller;
    caller.record = current_->record;
    caller.call = apply.range().start();
    const std::size_t first = (*body.begin()).range().start();
    const std::size_t line = text.rfind('\n', first);
    if (line == std::string_view::npos) return;
    caller.begin = line + 1;
    const std::size_t indentation = text.find_first_not_of(' ', caller.begin) - caller.begin;
    caller.indentation = std::string(indentation, ' ');
    // Up to the next line that stands further out.
    for (caller.end = caller.begin; caller.end < text.size();) {
      const std::size_t end = std::min(text.find('\n', caller.end), text.size() - 1);
      const std::size_t start = text.find_first_not_of(' ', caller.end);
      if (start < end && start - caller.end < indentation) break;
      caller.end = end + 1;
    }
    const std::string_view header = text.substr(0, line);
    const std::size_t arrow = header.rfind("->");
    if (current_->definition.decl().return_type().present() && arrow != std::string_view::npos) {
      const std::size_t from = arrow + 2;
      caller.result = std::string(header.substr(from, header.rfind(':') - from));
    }
    calls.callers.push_back(std::move(caller));
  }

  static InferredSchema schema(const std::string& name, const Calls& calls) {
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
    text += "(";
    for (std::size_t i = 0; i < formals.size(); ++i) text += (i == 0 ? "" : ", ") + formals[i];
    text += ") -> ";
    const auto result = [&](std::size_t i) -> std::string {
      const auto known = calls.results.find(i);
      if (known != calls.results.end() && is_schema_type(known->second)) return known->second;
      if (calls.used.count(i) == 0) return kAny;
      inferred.complete = false;
      return "?";
    };
    if (calls.gives_nothing) {
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

  const std::vector<std::string>& constant_types_;
  std::map<std::string, Calls> calls_;
  std::map<std::string, ClassInfo> classes_;
  std::map<std::string, Signature> signatures_;
  std::vector<Defined> functions_;
  // Of the function that is being walked:
  std::map<std::string, std::string> types_;
  std::map<std::string, std::pair<Calls*, std::size_t>> pending_;  // variables that hold an unknown result
  std::string result_;
  const Defined* current_ = nullptr;
  std::unordered_map<const torch::jit::Tree*, std::string> statement_types_;  // of the statement at hand
};

}  // namespace

std::vector<InferredSchema> infer_schemas(const ArchiveCode& code, const std::vector<std::string>& names) {
  return Code(code, names).schemas();
}

}  // namespace fxtrace
