#include "torchscript/compiler/script_program.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "support/error.h"
#include "support/scope_guard.h"
#include "support/text/identifier.h"
#include "support/text/qualified_name.h"
#include "support/text/words.h"
#include "torchscript/compiler/builtins.h"
#include "torchscript/compiler/emitter.h"
#include "torchscript/ir/ir.h"

namespace fxtrace::internal::torchscript {
namespace {

// The code of a function that is defined in a file.
class Definition final : public FunctionCode {
 public:
  Definition(ScriptProgram& program, SyntaxFile& file, const Tree& tree, TypePtr self)
      : program_(program), file_(file), tree_(tree), self_(std::move(self)) {}

  FunctionSchema make_schema(Function& function) override {
    FunctionSchema schema = TypeParser(file_, program_.resolver()).schema(tree_, self_);
    schema.name = function.qualified_name();
    // A function without an annotated result has the type of its graph's result.
    if (schema.results.empty()) schema.results.push_back(function.graph().outputs().at(0)->type());
    return schema;
  }

  std::unique_ptr<IrGraph> compile(Function& function) override {
    ++program_.open_compilations();
    const Restore close([this] { --program_.open_compilations(); });
    if (program_.open_compilations() > ScriptProgram::kMaxCompilations)
      throw input_error("functions without result types call each other deeper than fxtrace supports");
    auto graph = compile_function(program_, file_, tree_, function, self_);
    file_.forget_body(tree_);
    return graph;
  }

 private:
  ScriptProgram& program_;
  SyntaxFile& file_;
  const Tree& tree_;
  TypePtr self_;
};

// Classes whose attribute `_packed_params` has the type Tensor in archives from before PyTorch 1.6, and an
// object as its value.
struct PackedClass {
  std::string_view holder;  // without mangling
  std::string_view packed;  // without kTorchBindPrefix
};
constexpr std::array kPackedClasses{
    PackedClass{"__torch__.torch.nn.quantized.modules.linear.LinearPackedParams",
                "quantized.LinearPackedParamsBase"},
    PackedClass{"__torch__.torch.nn.quantized.modules.linear.Linear", "quantized.LinearPackedParamsBase"},
    PackedClass{"__torch__.torch.nn.quantized.dynamic.modules.linear.Linear",
                "quantized.LinearPackedParamsBase"},
    PackedClass{"__torch__.torch.nn.quantized.modules.conv.Conv2d", "quantized.Conv2dPackedParamsBase"},
    PackedClass{"__torch__.torch.nn.quantized.modules.conv.Conv3d", "quantized.Conv3dPackedParamsBase"},
    PackedClass{"__torch__.torch.nn.intrinsic.quantized.modules.conv_relu.ConvReLU2d",
                "quantized.Conv2dPackedParamsBase"},
    PackedClass{"__torch__.torch.nn.intrinsic.quantized.modules.conv_relu.ConvReLU3d",
                "quantized.Conv3dPackedParamsBase"},
    PackedClass{"__torch__.torch.ao.nn.quantized.modules.linear.LinearPackedParams",
                "quantized.LinearPackedParamsBase"},
    PackedClass{"__torch__.torch.ao.nn.quantized.modules.linear.Linear", "quantized.LinearPackedParamsBase"},
    PackedClass{"__torch__.torch.ao.nn.quantized.dynamic.modules.linear.Linear",
                "quantized.LinearPackedParamsBase"},
    PackedClass{"__torch__.torch.ao.nn.quantized.modules.conv.Conv2d", "quantized.Conv2dPackedParamsBase"},
    PackedClass{"__torch__.torch.ao.nn.quantized.modules.conv.Conv3d", "quantized.Conv3dPackedParamsBase"},
};

// Returns the qualified name of the class of packed parameters that an attribute of type Tensor has.
std::optional<std::string> find_packed_class(const std::string& holder, std::string_view attribute,
                                             const Tree& type) {
  if (attribute != "_packed_params" || !type.is(Syntax::kName) || type.text != "Tensor") return std::nullopt;
  const auto found = std::ranges::find(kPackedClasses, without_mangling(holder), &PackedClass::holder);
  if (found == kPackedClasses.end()) return std::nullopt;
  return std::string(kTorchBindPrefix).append(found->packed);
}

std::set<std::string, std::less<>> names_in(const SyntaxFile& file, const Tree& list) {
  std::set<std::string, std::less<>> names;
  if (!list.is(Syntax::kListLiteral)) throw SourceError(file.range(list), "expected a list of names");
  for (const Tree* item : list.all()) {
    if (!item->is(Syntax::kStringLiteral)) throw SourceError(file.range(*item), "expected a name");
    names.emplace(item->text);
  }
  return names;
}

}  // namespace

ScriptProgram::ScriptProgram(ProgramSource source) : source_(std::move(source)) {}

ScriptProgram::~ScriptProgram() {
  // Attributes of classes may form reference cycles.
  for (auto& [name, type] : types_) {
    if (auto* as_class = const_cast<ClassType*>(type->as<ClassType>())) as_class->clear();
    if (auto* as_interface = const_cast<InterfaceType*>(type->as<InterfaceType>())) as_interface->clear();
  }
}

const std::string* ScriptProgram::find_constant_text(std::size_t index) const {
  const auto found = constant_texts_.find(index);
  return found == constant_texts_.end() ? nullptr : &found->second;
}

ResolveClass ScriptProgram::resolver() {
  return [this](const std::string& name) { return find_type(name); };
}

// --- files ---

const ScriptProgram::CodeFile* ScriptProgram::find_file(const std::string& qualifier) {
  const auto known = files_.find(qualifier);
  if (known != files_.end()) return known->second.syntax == nullptr ? nullptr : &known->second;
  if (const auto failed = failed_files_.find(qualifier); failed != failed_files_.end())
    std::rethrow_exception(failed->second);
  CodeFile file;
  try {
    file = parse_file(qualifier);
  } catch (const Error&) {
    failed_files_[qualifier] = std::current_exception();
    throw;
  }
  if (file.syntax != nullptr) size_left_ += file.syntax->source().text().size();
  for (const Tree* definition : file.parsed.definitions)
    definitions_[qualifier + "." + std::string(definition->text)] = definition;
  const CodeFile& kept = files_.emplace(qualifier, std::move(file)).first->second;
  return kept.syntax == nullptr ? nullptr : &kept;
}

ScriptProgram::CodeFile ScriptProgram::parse_file(const std::string& qualifier) const {
  CodeFile file;
  if (qualifier.empty() || !source_.read_code) return file;
  if (auto text = source_.read_code(qualifier)) {
    std::string name = "code/" + qualifier + ".py";
    std::replace(name.begin() + 5, name.end() - 3, '.', '/');
    file.syntax =
        std::make_unique<SyntaxFile>(std::make_unique<SourceText>(std::move(name), std::move(*text)));
    file.parsed = parse_code(*file.syntax);
  }
  return file;
}

ScriptProgram::FoundDefinition ScriptProgram::find_definition(const std::string& name) {
  const std::string qualifier(QualifiedName(name).parent());
  const CodeFile* file = find_file(qualifier);
  if (file == nullptr) return {};
  const auto found = definitions_.find(name);
  if (found == definitions_.end()) return {};
  return {found->second, file->syntax.get()};
}

// --- functions ---

Function* ScriptProgram::add_function(std::unique_ptr<Function> function) {
  functions_.push_back(std::move(function));
  return functions_.back().get();
}

Function* ScriptProgram::find_function(const std::string& name) {
  if (const auto known = functions_by_name_.find(name); known != functions_by_name_.end())
    return known->second;
  const FoundDefinition found = find_definition(name);
  if (found.tree == nullptr || !found.tree->is(Syntax::kDefinition)) return nullptr;
  auto code = std::make_shared<Definition>(*this, *found.file, *found.tree, nullptr);
  return functions_by_name_[name] = add_function(std::make_unique<Function>(name, std::move(code)));
}

Function* ScriptProgram::define(const std::string& name, std::string text) {
  auto syntax = std::make_unique<SyntaxFile>(std::make_unique<SourceText>(name, std::move(text)));
  const ParsedFile parsed = parse_code(*syntax);
  if (parsed.definitions.size() != 1 || !parsed.definitions[0]->is(Syntax::kDefinition))
    throw input_error("'" + name + "' is not a function");
  auto code = std::make_shared<Definition>(*this, *syntax, *parsed.definitions[0], nullptr);
  own_files_.push_back(std::move(syntax));
  return add_function(std::make_unique<Function>(name, std::move(code)));
}

const std::vector<Function*>& ScriptProgram::builtin_functions(Symbol name) {
  const auto [place, is_new] = builtin_functions_.try_emplace(name);
  if (is_new) {
    // The functions' own code may ask for functions of this name again, which finds the entry.
    std::vector<Function*> functions;
    for (std::string& code : torchscript::builtin_functions(to_text(name)))
      functions.push_back(define(std::string(to_text(name)), std::move(code)));
    builtin_functions_[name] = std::move(functions);
  }
  return builtin_functions_[name];
}

const ScriptProgram::OldOperator* ScriptProgram::find_old_operator(std::string_view name) {
  if (source_.operator_version >= kCurrentOperatorVersion) return nullptr;
  const Upgrader* upgrader = find_upgrader(name, source_.operator_version);
  if (upgrader == nullptr) return nullptr;
  const auto [place, is_new] = old_operators_.try_emplace(std::string(name));
  if (is_new) {
    place->second.schema =
        parse_function_schema(std::string(name) + std::string(upgrader->schema), resolver());
    place->second.function = define(std::string(name), std::string(upgrader->code));
  }
  return &place->second;
}

bool ScriptProgram::is_own(const SyntaxFile& file) const {
  return std::any_of(own_files_.begin(), own_files_.end(),
                     [&](const auto& own) { return own.get() == &file; });
}

void ScriptProgram::declare_method(const std::string& class_name, std::string_view schema) {
  const TypePtr type = find_type(class_name);
  const auto* bound = type == nullptr ? nullptr : type->as<ClassType>();
  if (bound == nullptr || !bound->is_torchbind()) throw input_error("there is no class " + class_name);
  FunctionSchema method = parse_function_schema(schema, resolver());
  const std::string name = method.name;
  method.name = class_name + "." + name;
  auto function = std::make_unique<Function>(class_name + "." + name, std::move(method));
  const_cast<ClassType*>(bound)->add_method(name, add_function(std::move(function)));
}

// --- types ---

TypePtr ScriptProgram::find_type(const std::string& name) {
  if (const auto known = types_.find(name); known != types_.end()) return known->second;
  if (name.starts_with(kTorchBindPrefix)) return torchbind_class(name);
  const FoundDefinition found = find_definition(name);
  if (found.tree == nullptr || !found.tree->is(Syntax::kClass)) return nullptr;
  TypePtr type = start_type(name, found);
  // Classes refer to classes, in chains of any length: they wait in `pending_`, so that nothing recurses.
  if (!is_finishing_) finish_pending();
  return type;
}

TypePtr ScriptProgram::torchbind_class(const std::string& name) {
  const std::string_view rest = std::string_view(name).substr(kTorchBindPrefix.size());
  const auto dot = rest.find('.');
  if (dot == std::string_view::npos || !internal::is_identifier(rest.substr(0, dot)) ||
      !internal::is_identifier(rest.substr(dot + 1)))
    return nullptr;
  auto type = std::make_shared<ClassType>(name, ClassType::Form::kTorchBind);
  types_[name] = type;
  for (const BoundMethod& method : bound_methods()) {
    if (!has_word(method.class_names, rest)) continue;
    std::string schema(method.schema);
    const auto open = schema.find('(') + 1;
    schema.insert(open, name + " self" + (schema[open] == ')' ? "" : ", "));
    declare_method(name, schema);
  }
  return type;
}

TypePtr ScriptProgram::start_type(const std::string& name, const FoundDefinition& found) {
  const Tree& base = found.tree->part(0);
  const std::string_view base_name = base.is(Syntax::kName) ? base.text : std::string_view();
  const auto wait = [&](std::shared_ptr<Type> type) -> TypePtr {
    types_[name] = type;
    pending_.push_back({type, found.tree, found.file});
    return type;
  };
  if (!base.is_there()) return wait(std::make_shared<ClassType>(name, ClassType::Form::kScriptClass));
  if (base_name == "Module") return wait(std::make_shared<ClassType>(name, ClassType::Form::kModule));
  if (base_name == "Interface") return wait(std::make_shared<InterfaceType>(name, false));
  if (base_name == "ModuleInterface") return wait(std::make_shared<InterfaceType>(name, true));
  if (base_name == "NamedTuple") return named_tuple(name, found);
  if (base_name == "Enum") return enumeration(name, found);
  throw SourceError(found.file->range(*found.tree), "Torchscript does not support class inheritance.");
}

TypePtr ScriptProgram::named_tuple(const std::string& name, const FoundDefinition& found) {
  constexpr int kMaxNested = 50;
  if (nested_types_ == kMaxNested)
    throw SourceError(found.file->range(*found.tree), "NamedTuples are nested deeper than fxtrace supports");
  ++nested_types_;
  const Restore restore([this] { --nested_types_; });
  const TypeParser parser(*found.file, resolver());
  std::vector<std::string> fields;
  std::vector<TypePtr> items;
  std::vector<ScriptConstant> defaults;
  for (const Tree* statement : found.tree->part(1).all()) {
    if (statement->is(Syntax::kPass)) continue;
    if (!statement->is(Syntax::kAssignment) || !statement->part(2).is_there())
      throw SourceError(found.file->range(*statement),
                        "Unexpected statement in NamedTuple body: only attribute annotations are currently "
                        "supported.");
    fields.emplace_back(statement->part(0).part(0).text);
    items.push_back(parser.parse(statement->part(2)));
    if (statement->part(1).is_there()) defaults.push_back(parser.constant(statement->part(1), items.back()));
  }
  return types_[name] =
             std::make_shared<TupleType>(name, std::move(fields), std::move(items), std::move(defaults));
}

TypePtr ScriptProgram::enumeration(const std::string& name, const FoundDefinition& found) {
  const TypeParser parser(*found.file, resolver());
  std::vector<EnumType::Member> members;
  TypePtr value_type;
  for (const Tree* statement : found.tree->part(1).all()) {
    if (!statement->is(Syntax::kAssignment) || !statement->part(1).is_there())
      throw SourceError(
          found.file->range(*statement),
          "Unexpected statement in Enum class body: only enum attribute definitions are currently "
          "supported.");
    ScriptConstant value = parser.constant(statement->part(1), nullptr);
    const TypePtr type = type_of(value, tensor_type());
    if (value_type != nullptr && type->kind() != value_type->kind())
      throw SourceError(found.file->range(*statement),
                        "Enum class with varying value types are not supported.");
    value_type = type;
    members.push_back({std::string(statement->part(0).part(0).text), std::move(value)});
  }
  if (value_type == nullptr)
    throw SourceError(found.file->range(*found.tree), "No enumerators defined for " + name);
  return types_[name] = std::make_shared<EnumType>(name, std::move(value_type), std::move(members));
}

void ScriptProgram::finish_pending() {
  is_finishing_ = true;
  const Restore finished([this] { is_finishing_ = false; });
  while (!pending_.empty()) {
    const PendingClass next = pending_.back();
    pending_.pop_back();
    if (next.type->kind() == TypeKind::kClass) {
      finish_class(*static_cast<ClassType*>(next.type.get()), next);
    } else {
      finish_interface(*static_cast<InterfaceType*>(next.type.get()), next);
    }
  }
}

void ScriptProgram::finish_class(ClassType& type, const PendingClass& pending) {
  SyntaxFile& file = *pending.file;
  const TypeParser parser(file, resolver());
  const TypePtr self = pending.type;
  std::set<std::string, std::less<>> parameters, buffers;
  std::vector<std::string> hooks, pre_hooks;
  struct Attribute {
    std::string_view name;
    const Tree* type;
  };
  std::vector<Attribute> attributes;
  std::vector<const Tree*> constants, methods;
  const auto ordered = [&](const Tree& list) {
    names_in(file, list);
    std::vector<std::string> names;
    for (const Tree* item : list.all()) names.emplace_back(item->text);
    return names;
  };
  for (const Tree* statement : pending.definition->part(1).all()) {
    if (statement->is(Syntax::kDefinition)) {
      methods.push_back(statement);
      continue;
    }
    if (statement->is(Syntax::kPass)) continue;
    if (!statement->is(Syntax::kAssignment))
      throw SourceError(file.range(*statement), "Unexpected statement kind in class body");
    const Tree& target = statement->part(0).part(0);
    const Tree& value = statement->part(1);
    const Tree& annotation = statement->part(2);
    if (target.is(Syntax::kSubscript)) {  // __annotations__["0"] = Tensor
      const Tree& subscripts = target.part(1);
      if (target.part(0).text != "__annotations__" || subscripts.count != 1 || !value.is_there())
        throw SourceError(file.range(*statement), "Unexpected statement kind in class body");
      attributes.push_back({subscripts.part(0).text, &value});
    } else if (!target.is(Syntax::kName)) {
      throw SourceError(file.range(*statement), "Unexpected statement kind in module metadata");
    } else if (target.text == "__parameters__" && value.is_there()) {
      parameters = names_in(file, value);
    } else if (target.text == "__buffers__" && value.is_there()) {
      buffers = names_in(file, value);
    } else if (target.text == "__forward_hooks__" && value.is_there()) {
      hooks = ordered(value);
    } else if (target.text == "__forward_pre_hooks__" && value.is_there()) {
      pre_hooks = ordered(value);
    } else if (target.text == "__annotations__") {
      continue;
    } else if (value.is_there()) {
      constants.push_back(statement);
    } else {
      attributes.push_back({target.text, &annotation});
    }
  }
  for (const Attribute& each : attributes) {
    ClassAttribute attribute;
    attribute.name = each.name;
    const auto packed = find_packed_class(type.name(), each.name, *each.type);
    attribute.type = packed ? find_type(*packed) : parser.parse(*each.type);
    attribute.is_parameter = parameters.contains(each.name);
    attribute.is_buffer = buffers.contains(each.name);
    type.add_attribute(std::move(attribute));
  }
  for (const Tree* statement : constants) {
    const Tree& annotation = statement->part(2);
    const TypePtr declared = annotation.is_there() ? parser.parse(annotation) : nullptr;
    type.add_constant(std::string(statement->part(0).part(0).text),
                      parser.constant(statement->part(1), declared));
  }
  std::map<std::string, Function*, std::less<>> hook_functions;
  std::set<std::string_view> names_of_hooks(hooks.begin(), hooks.end());
  names_of_hooks.insert(pre_hooks.begin(), pre_hooks.end());
  for (const Tree* method : methods) {
    const std::string name(method->text);
    // The program owns types and functions; a type points to its methods without owning them.
    auto code = std::make_shared<Definition>(*this, file, *method, self);
    Function* function = add_function(std::make_unique<Function>(type.name() + "." + name, std::move(code)));
    if (names_of_hooks.contains(name)) {
      hook_functions[name] = function;
    } else {
      type.add_method(name, function);
    }
  }
  for (const auto* names : {&hooks, &pre_hooks}) {
    for (const std::string& name : *names) {
      const auto found = hook_functions.find(name);
      if (found == hook_functions.end())
        throw SourceError(file.range(*pending.definition), "the class has no hook '" + name + "'");
      if (names == &hooks) {
        type.add_forward_hook({name, found->second});
      } else {
        type.add_forward_pre_hook({name, found->second});
      }
    }
  }
}

void ScriptProgram::finish_interface(InterfaceType& type, const PendingClass& pending) {
  const TypeParser parser(*pending.file, resolver());
  for (const Tree* statement : pending.definition->part(1).all()) {
    if (!statement->is(Syntax::kDefinition))
      throw SourceError(pending.file->range(*statement),
                        "interface declartions can only contain method definitions");
    FunctionSchema schema = parser.schema(*statement, pending.type);
    if (schema.results.empty())
      throw SourceError(pending.file->range(*statement),
                        "interface declarations must have a return type annotated.");
    type.add_method(std::move(schema));
  }
}

}  // namespace fxtrace::internal::torchscript
