#include "convert/lower/lowering.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analysis/alias_regions.h"
#include "analysis/effects.h"
#include "convert/lower/body.h"
#include "convert/lower/guards_and_mutations.h"
#include "convert/lower/metadata.h"
#include "convert/lower/program_symbols.h"
#include "convert/lower/quantized_calls.h"
#include "convert/lower/written_program.h"
#include "exported/program/exported_program.h"
#include "graph/analysis/input_sizes.h"
#include "graph/analysis/text_form.h"
#include "graph/graph_collection.h"
#include "graph/rewrite.h"
#include "operators/operators.h"
#include "shapes/abstract_value.h"
#include "shapes/tensor_options.h"
#include "support/error.h"
#include "support/text/did_you_mean.h"
#include "support/text/identifier.h"
#include "support/text/qualified_name.h"
#include "support/text/words.h"
#include "symbolic/expression_text.h"
#include "trace/options/input_spec.h"
#include "trace/options/options.h"

namespace fxtrace::internal {
namespace {

// Returns the path as torch.export writes it in names: "layers.0" -> "layers_0".
std::string name_of_path(std::string path) {
  std::ranges::replace(path, '.', '_');
  return path;
}

// Returns the target of an operator: "my::op" -> "my.op.default".
std::string target_of(std::string name) {
  if (const std::size_t colons = name.find("::"); colons != std::string::npos) name.replace(colons, 2, ".");
  return name.find('.', name.find('.') + 1) == std::string::npos ? name + ".default" : name;
}

class Lowering {
 public:
  Lowering(const GraphCollection& collection, const Program& model, const LoweringOptions& options)
      : collection_(collection),
        model_(model),
        options_(options),
        source_(collection.graphs.front()),
        semantics_(collection),
        stacks_(collection, source_),
        state_{collection,
               semantics_,
               result_.program,
               stacks_,
               result_.refusals,
               [this](const Constant& constant) { return lift(constant); },
               [this](const ModuleGraph& graph, const Node& node) { return constant_of(graph, node); },
               [this](const Node& node) { return element_of(node); },
               options.quantized},
        body_(state_, source_) {
    for (const std::string& schema : options.schemas) {
      const std::size_t open = schema.find('(');
      if (open != std::string::npos)
        state_.declared.emplace(target_of(schema.substr(0, open)), schema.substr(open));
    }
  }

  Lowered run() {
    refuse_failures();
    refuse_names();
    for (const Assignment& assignment : source_.graph.assignments()) {
      if (options_.freeze_state)
        note_frozen(assignment.target);
      else
        refuse({}, assignment.target, "the run assigns this attribute, but a program cannot store attributes",
               "--state freeze for the value in the file, or make it a buffer");
    }
    try {
      lower_all();
    } catch (const SymbolicError& error) {  // of an input, or of the whole program
      refuse({}, "the sizes", std::string("they cannot be expressed: ") + error.what());
    }
    return std::move(result_);
  }

 private:
  void lower_all() {
    lower_inputs();
    refuse_keys(result_.program.in_spec, "the inputs");
    const InputSizes sizes(source_.graph);
    for (const InputSize& size : sizes.sizes()) {
      const bool is_integer =
          size.place.kind() != Expression::Kind::kCall;  // an input, which may be negative
      for (std::string& name : size.size.symbols())
        (is_integer ? state_.integers : state_.sizes).insert(std::move(name));
    }
    lower_attributes();
    body_.lower_all();
    lower_output();
    finish_inputs();
    add_strides(result_.program.graph.module_graph, result_.program.graph.table);
    if (options_.functional) turn_writes_into_mutations(result_.program, result_.refusals);
    name_symbols(result_, source_, options_);
    lower_guards(result_, source_, state_.assumed);
    note_quantized();
    note_overlaps();
    note_fixed_arguments(result_.program.graph.view());
    result_.program.stacks = stacks_.take_result();
    for (const ModuleRecord& module : collection_.modules) {
      if (!module.path.empty()) result_.program.modules.push_back(module.path);
    }
  }

  void refuse(const std::string& module, std::string what, std::string why, std::string help = {},
              std::optional<SourceLocation> source = {}) {
    result_.refusals.push_back({module, std::move(what), std::move(why), std::move(help), std::move(source)});
  }

  void refuse_failures() {
    for (const ModuleRecord& module : collection_.modules) {
      if (!module.failure) continue;
      const Failure& failure = *module.failure;
      refuse(failure.module, failure.op.empty() ? "the module" : failure.op, failure.message, {},
             failure.source);
    }
  }

  // Names stand in lists within the file, and in code that torch generates from it.
  void refuse_names() {
    const auto look = [&](const std::string& name) {
      if (!is_plain_path(name) || name.find_first_of(",;") != std::string::npos)
        refuse({}, name,
               "names in a program cannot contain quotes, commas, semicolons or control characters");
    };
    for (const ModuleRecord& module : collection_.modules) {
      const std::string& path = module.path;
      look(path);
      // torch.export takes the text after an @ for the number of a call, and looks for pairs of brackets.
      const std::string_view name = QualifiedName(path).last();
      if (name.find('@') != std::string_view::npos)
        refuse({}, path, "names of modules in a program cannot contain @");
      const auto is_one_of = [](std::string_view set) {
        return [set](char c) { return set.find(c) != std::string_view::npos; };
      };
      if (std::ranges::count_if(name, is_one_of("([")) != std::ranges::count_if(name, is_one_of(")]")))
        refuse({}, path, "names of modules in a program cannot contain unpaired brackets");
    }
    for (const ParameterRecord& parameter : collection_.parameters) {
      const std::string name(QualifiedName(parameter.name).last());
      if (!is_plain_path(name)) look(parameter.name);
    }
  }

  // --- inputs ---

  // Adds an input of the program, under the name of its value.
  NodeId add_input(std::vector<GraphSignature::Entry>& to, GraphSignature::Entry entry, std::string_view name,
                   const Meta& meta) {
    entry.node = body_.add_input(name, meta);
    entry.name = body_.view().value_name(entry.node);
    to.push_back(std::move(entry));
    return to.back().node;
  }

  // Makes inputs of a value that is fixed, one for each leaf, as torch.export flattens containers.
  Argument constant_input(const std::string& name, const Argument& value) {
    const auto items = [&](const std::vector<Argument>& all) {
      std::vector<Argument> made;
      for (std::size_t i = 0; i < all.size(); ++i)
        made.push_back(constant_input(body_.new_name(name + "_" + std::to_string(i)), all[i]));
      return made;
    };
    if (const auto* list = value.get_if<Argument::List>()) return Argument::List{items(list->items)};
    if (const auto* tuple = value.get_if<Argument::Tuple>())
      return Argument::Tuple{items(tuple->items), tuple->names};
    if (const auto* dict = value.get_if<Argument::Dict>()) {
      Argument::Dict made;
      for (const auto& [key, item] : dict->items) {
        const auto* text = key.get_if<std::string>();
        const std::string part = text == nullptr ? std::to_string(made.items.size()) : *text;
        made.items.push_back({key, constant_input(body_.new_name(name + "_" + part), item)});
      }
      return made;
    }
    GraphSignature::Entry entry;
    entry.name = name;
    entry.value = value;
    users_.push_back(std::move(entry));
    return value;
  }

  // Makes inputs of the program from an input of the model, one for each leaf.  Returns nothing if its type
  // or shape is not known.
  std::optional<Argument> flatten(const std::string& name, const Meta& meta) {
    if (meta.items) {
      std::vector<Argument> items;
      for (std::size_t i = 0; i < meta.items->size(); ++i) {
        const std::string part = i < meta.keys.size() ? meta.keys[i] : std::to_string(i);
        auto item = flatten(name + "_" + part, (*meta.items)[i]);
        if (!item) return std::nullopt;
        items.push_back(std::move(*item));
      }
      if (!meta.keys.empty()) {
        Argument::Dict dict;
        for (std::size_t i = 0; i < items.size(); ++i) dict.items.push_back({meta.keys[i], items[i]});
        return dict;
      }
      const std::string type = meta.type.value_or("");
      if (type.find("Tuple[") != std::string::npos || type.find("tuple[") != std::string::npos)
        return Argument::Tuple{std::move(items)};
      return Argument::List{std::move(items)};
    }
    if (meta.type == "NoneType") return constant_input(name, Argument::None{});
    const bool is_tensor = meta.shape && meta.dtype && !is_quantized(*meta.dtype);
    if (!is_tensor && (!meta.value || meta.value->size() == nullptr)) return std::nullopt;
    if (const auto number = is_tensor ? std::nullopt : meta.value->number())
      return constant_input(name, *number);
    return add_input(users_, {}, name, meta);
  }

  // Adds the paths of the tensors in the value of a guess, which are "past.0.k" as --input takes them.
  static void add_tensors(const std::string& path, const Argument& value, std::vector<std::string>& paths) {
    if (is_concrete_placeholder(value)) paths.push_back(path);
    if (const auto* list = value.get_if<Argument::List>()) {
      for (std::size_t i = 0; i < list->items.size(); ++i)
        add_tensors(path + "." + std::to_string(i), list->items[i], paths);
    } else if (const auto* dict = value.get_if<Argument::Dict>()) {
      for (const auto& [key, item] : dict->items)
        add_tensors(path + "." + *key.get_if<std::string>(), item, paths);
    }
  }

  static bool holds_plain_values(const Argument& value) {
    if (const auto* list = value.get_if<Argument::List>())
      return std::ranges::any_of(list->items, holds_plain_values);
    if (const auto* dict = value.get_if<Argument::Dict>())
      return std::ranges::any_of(dict->items,
                                 [](const auto& item) { return holds_plain_values(item.value); });
    return !is_concrete_placeholder(value);
  }

  // Returns a value of the input, as JSON, with the parts that the code uses; empty where none is known.
  std::string possible_value(const std::string& input) const {
    for (const InputGuess& guess : model_.guess_inputs(options_.method)) {
      if (guess.name == input) return guess.value;
    }
    return {};
  }

  // Returns options that describe the container at that path of an input; empty where it has no tensors.
  std::string specs_of_parts(const std::string& path) const {
    const std::string input = path.substr(0, path.find('.'));
    const std::string json = possible_value(input);
    if (json.empty()) return {};
    const Argument value = parse_concrete(json, input);
    std::vector<std::string> paths;
    add_tensors(input, value, paths);
    std::string options;
    for (const std::string& tensor : paths) {
      if (tensor.starts_with(path + ".")) options += " --input " + shell_word(tensor + "=float32[...]");
    }
    if (options.empty() || !holds_plain_values(value)) return options;
    return " --concrete " + shell_word(input + "=" + json) + options;
  }

  void refuse_input(const Node& node, const std::string& name) {
    const Meta& meta = *node.meta;
    body_.leave_out(node.id);
    const std::string type = meta.type.value_or("a value");
    const bool is_tensor = type == "Tensor" || type == "Optional[Tensor]";
    const std::string whole = name.substr(0, name.find('.'));
    const bool is_part = whole != name;
    if (meta.dtype && is_quantized(*meta.dtype)) {
      refuse({}, "input " + name, "a program cannot take quantized tensors");
    } else if (is_tensor) {
      refuse({}, "input " + name, "its shape is not known",
             "--input " + shell_word(name + "=float32[...]") + ", with its type and sizes");
    } else if (type == "int") {
      refuse({}, "input " + name, "its value is not known",
             is_part ? "--input " + shell_word(name + "=n") + " keeps it an input"
                     : "--concrete " + shell_word(name + "=VALUE") + ", or --input " +
                           shell_word(name + "=n") + " to keep it an input");
    } else if (type.find("Dict[") != std::string::npos && type.find("Dict[str,") == std::string::npos) {
      refuse({}, "input " + name, "a program cannot have a dict whose keys are not text");
    } else if (const auto specs = specs_of_parts(name); !specs.empty()) {
      refuse({}, "input " + name, "its parts and their shapes are not known", "for example" + specs);
    } else {
      refuse({}, "input " + name, "a program cannot take an input of type " + type + " that varies",
             "--concrete " + shell_word(is_part ? whole + "=" + possible_value(whole) : name + "=VALUE"));
    }
  }

  // Refuses dicts whose keys a program's text cannot have.
  void refuse_keys(const TreeSpec& spec, const std::string& what) {
    if (spec.kind == TreeSpec::Kind::kDict &&
        !std::ranges::all_of(spec.keys, [](const Argument& key) { return key.is<std::string>(); }))
      refuse({}, what, "a program cannot have a dict whose keys are not text");
    for (const TreeSpec& child : spec.children) refuse_keys(child, what);
  }

  void lower_inputs() {
    if (options_.in_spec && source_.signature) return lower_leaves(*options_.in_spec);
    std::vector<Argument> arguments;
    std::vector<std::string> names;
    std::size_t needed = 0;  // the number of arguments up to the last one that does not keep its default
    const auto add = [&](const std::string& name, Argument value, bool is_default) {
      arguments.push_back(std::move(value));
      names.push_back(name);
      if (!is_default) needed = arguments.size();
    };
    const auto lower_placeholder = [&](const Node& node) {
      if (auto value = flatten(node.name, *node.meta)) {
        body_.set(node.id, *value);
        return add(*node.target, std::move(*value), false);
      }
      if (!node.args.empty() && node.users.empty()) {  // an unused argument with a default
        add(*node.target, constant_input(node.name, Argument::None{}), true);
        return;
      }
      refuse_input(node, *node.target);
    };
    if (source_.signature) {
      const auto& entries = source_.signature->inputs;
      for (std::size_t i = 0; i < entries.size();) {
        const GraphSignature::Entry& entry = entries[i];
        std::size_t end = i + 1;
        if (entry.path.size() > 1) {  // one input, given part by part
          while (end < entries.size() && entries[end].path.front() == entry.path.front()) ++end;
          const std::string name = *entry.path.front().get_if<std::string>();
          auto value =
              nested({entries.begin() + static_cast<std::ptrdiff_t>(i), end - i}, 1, type_of_input(name));
          if (value)
            add(name, std::move(*value), false);
          else
            refuse({}, "input " + name, "its type does not tell how its parts are nested");
        } else if (entry.target) {
          // A parameter is not an argument.
        } else if (entry.node.valid()) {
          lower_placeholder(source_.graph.node(entry.node));
        } else if (entry.value) {
          add(entry.name, constant_input(entry.name, *entry.value), !is_given(entry.name));
        }
        i = end;
      }
    } else {
      for (const NodeId id : source_.graph.order()) {
        const Node& node = source_.graph.node(id);
        if (node.op == Opcode::kPlaceholder) lower_placeholder(node);
      }
    }
    drop_inputs(arguments, needed);
    names.resize(std::min(names.size(), needed));
    result_.program.arguments = std::move(names);
    std::vector<Argument> leaves;
    result_.program.in_spec =
        tree_of(Argument::Tuple{{Argument::Tuple{std::move(arguments)}, Argument::Dict{}}}, leaves);
  }

  // Returns the type of the input, such as "Tuple[Tensor, List[Tensor]]"; empty if it is not known.
  std::string type_of_input(const std::string& name) const {
    for (const InputGuess& guess : model_.guess_inputs(options_.method)) {
      if (guess.name == name) return guess.type;
    }
    return {};
  }

  // Returns the types between the brackets: "int" and "List[int]" of "Tuple[int, List[int]]".
  static std::vector<std::string> parts_of(std::string_view type) {
    std::vector<std::string> parts;
    const std::size_t open = type.find('[');
    if (open == std::string_view::npos) return parts;
    int depth = 0;
    std::string part;
    for (const char c : type.substr(open + 1, type.size() - open - 2)) {
      depth += c == '[' ? 1 : c == ']' ? -1 : 0;
      if (c == ',' && depth == 0) {
        parts.push_back(std::exchange(part, {}));
      } else if (c != ' ' || !part.empty()) {
        part += c;
      }
    }
    parts.push_back(std::move(part));
    return parts;
  }

  // Returns the path as --input takes it: "past.0.k".
  static std::string path_text(std::span<const Argument> path) {
    std::string text;
    for (const Argument& step : path) {
      const auto* name = step.get_if<std::string>();
      text += (text.empty() ? "" : ".") + (name != nullptr ? *name : print_argument(step));
    }
    return text;
  }

  // Makes an input of that type some of whose parts are fixed.  Returns nothing if it is nested in other
  // containers than lists, tuples and dicts.
  std::optional<Argument> nested(std::span<const GraphSignature::Entry> entries, std::size_t depth,
                                 const std::string& type) {
    if (entries.size() == 1 && entries[0].path.size() == depth) {
      if (!entries[0].node.valid())
        return constant_input(entries[0].name, entries[0].value.value_or(Argument()));
      const Node& node = source_.graph.node(entries[0].node);
      auto value = flatten(node.name, *node.meta);
      if (value)
        body_.set(node.id, *value);
      else
        refuse_input(node, path_text(entries[0].path));
      return value.value_or(Argument());
    }
    const std::vector<std::string> parts = parts_of(type);
    if (type.starts_with("Optional[")) return nested(entries, depth, parts.front());
    // A named tuple has a class, whose fields are told by name and have types that are not known here.
    const bool is_named_tuple = parts.empty() && is_dotted_name(type);
    std::vector<Argument> items;
    std::vector<Argument> keys;
    for (std::size_t i = 0; i < entries.size();) {
      if (entries[i].path.size() <= depth) return std::nullopt;
      const Argument& step = entries[i].path[depth];
      std::size_t end = i + 1;
      while (end < entries.size() && entries[end].path.size() > depth && entries[end].path[depth] == step)
        ++end;
      const std::size_t part = type.starts_with("Tuple[") ? items.size() : parts.size() - 1;
      if (part >= parts.size() && !is_named_tuple) return std::nullopt;
      auto item =
          nested(entries.subspan(i, end - i), depth + 1, is_named_tuple ? std::string() : parts[part]);
      if (!item) return std::nullopt;
      items.push_back(std::move(*item));
      keys.push_back(step);
      i = end;
    }
    if (is_named_tuple) note_named_tuples("inputs");
    if (type.starts_with("Tuple[") || is_named_tuple) return Argument::Tuple{std::move(items)};
    if (type.starts_with("List[")) return Argument::List{std::move(items)};
    if (!type.starts_with("Dict[str,")) return std::nullopt;
    Argument::Dict dict;
    for (std::size_t i = 0; i < items.size(); ++i) dict.items.push_back({keys[i], items[i]});
    return dict;
  }

  // Lowers inputs that the signature lists leaf by leaf.
  void lower_leaves(const TreeSpec& spec) {
    std::vector<Argument> leaves;
    for (const GraphSignature::Entry& entry : source_.signature->inputs) {
      if (entry.target) continue;
      const bool is_fixed = entry.value && !is_container(*entry.value);
      if (is_fixed) {
        leaves.push_back(constant_input(entry.name, *entry.value));
        if (entry.node.valid()) body_.set(entry.node, leaves.back());
      } else if (entry.node.valid()) {
        const Node& node = source_.graph.node(entry.node);
        const auto value = flatten(node.name, *node.meta);
        if (!value) return refuse_input(node, node.name);
        body_.set(node.id, *value);
        leaves.push_back(*value);
      }
    }
    if (leaves.size() != spec.leaves)
      return refuse({}, "the inputs", "the program does not tell how they are nested");
    if (!is_plain(spec))
      return refuse({}, "the inputs", "they are nested in a class of the program's own",
                    "convert the whole program, without passes");
    std::vector<std::string> names = options_.argument_names;
    for (const Argument& key : spec.children[1].keys) {
      const auto* name = key.get_if<std::string>();
      names.push_back(name == nullptr ? std::string() : *name);
    }
    for (const std::string& name : names) {
      if (!is_identifier(name)) return refuse({}, "input " + name, "the name is not an identifier of Python");
    }
    result_.program.in_spec = spec;
    result_.program.arguments = options_.argument_names;
  }

  // Returns whether the value is an empty container, which is not a leaf.
  static bool is_container(const Argument& value) {
    return value.is<Argument::List>() || value.is<Argument::Tuple>() || value.is<Argument::Dict>();
  }
  static bool is_plain(const TreeSpec& spec) {
    if (spec.kind != TreeSpec::Kind::kLeaf && !spec.is_builtin) return false;
    return std::ranges::all_of(spec.children, is_plain);
  }

  bool is_given(const std::string& name) const {
    return std::ranges::find(options_.concrete, name, &ConcreteArg::name) != options_.concrete.end();
  }

  // Removes the arguments from `needed` on: they keep their defaults.
  void drop_inputs(std::vector<Argument>& arguments, std::size_t needed) {
    std::vector<Argument> leaves;
    for (std::size_t i = needed; i < arguments.size(); ++i) tree_of(arguments[i], leaves);
    users_.resize(users_.size() - leaves.size());
    if (arguments.size() > needed) arguments.resize(needed);
  }

  // --- parameters, buffers and constants ---

  void lower_attributes() {
    std::unordered_map<std::string, const ParameterRecord*> parameters;
    for (const ParameterRecord& parameter : collection_.parameters)
      parameters.emplace(parameter.name, &parameter);
    std::unordered_map<std::string, const Constant*> constants;
    for (const auto& [name, constant] : source_.constants) constants.emplace(name, &constant);
    std::set<std::string> passing;  // buffers that are not in the state_dict
    if (source_.signature) {
      for (const GraphSignature::Entry& entry : source_.signature->inputs) {
        if (entry.target && !entry.persistent.value_or(true)) passing.insert(*entry.target);
      }
    }
    std::unordered_set<std::string_view> used;
    for (const NodeId id : source_.graph.order()) {
      const Node& node = source_.graph.node(id);
      if (node.op != Opcode::kGetAttr) continue;
      if (const auto parameter = parameters.find(*node.target); parameter != parameters.end()) {
        used.insert(parameter->second->name);
        if (options_.quantized && may_be_packed(*parameter->second))
          lower_packed(node, parameter->first, parameter->first);
        else if (std::string problem = problem_of(*parameter->second); !problem.empty())
          body_.refuse(node, std::move(problem));
        else
          body_.set(id, add_parameter(*parameter->second, !passing.contains(parameter->first)));
      } else if (const auto constant = constants.find(*node.target); constant != constants.end()) {
        const Constant& held = *constant->second;
        const bool may_be_packed = held.dtype.empty() || is_quantized_dtype(held.dtype);
        if (!held.object_type.empty() && may_be_packed && options_.quantized)
          lower_packed(node, "CONSTANTS.c" + std::to_string(held.object_index), "");
        else if (held.object_type == kTensorConstant)
          body_.refuse(node, may_be_packed ? "a program cannot have tensors of " + held.dtype
                                           : "a program cannot have sparse tensors");
        else if (!held.object_type.empty())
          body_.refuse(node, "a program cannot have objects of " + held.object_type);
        else
          lower_constant(node, held);
      } else if (const auto tensor = model_.find_tensor(*node.target)) {
        if (const auto other = find_written_partner(node); !other.empty())
          body_.refuse(node, "it shares memory with " + other + ", to which forward writes");
        else
          lower_constant(node, *tensor);
      } else if (const Argument* value = find_attribute(*node.target)) {
        lower_state(node, *value);
      } else {
        const bool is_module = std::ranges::find(collection_.modules, *node.target, &ModuleRecord::path) !=
                               collection_.modules.end();
        body_.refuse(node, is_module ? "a program cannot have a module as a value"
                                     : "the file has no tensor of that name");
      }
    }
    // Parameters and buffers that no node reads stay in the state_dict.
    for (const ParameterRecord& parameter : collection_.parameters) {
      if (!used.contains(parameter.name) && problem_of(parameter).empty())
        add_parameter(parameter, !passing.contains(parameter.name));
    }
  }

  // Returns the name of another tensor of the model in whose memory the plain attribute is, and to which the
  // graph writes, as a program would have two tensors; empty for most.
  std::string find_written_partner(const Node& node) {
    for (const NodeId id : source_.graph.order()) {
      const Node& other = source_.graph.node(id);
      if (other.op != Opcode::kGetAttr || *other.target == *node.target ||
          semantics_.memory_name(*other.target) != semantics_.memory_name(*node.target)) {
        continue;
      }
      if (regions().is_written(id)) return *other.target;
    }
    return {};
  }

  const AliasRegions& regions() {
    if (!regions_) regions_.emplace(source_, semantics_);
    return *regions_;
  }

  // Returns the plain value of an attribute in the file; null if the module has no such attribute.
  const Argument* find_attribute(const std::string& name) const {
    const QualifiedName whole(name);
    for (const ModuleRecord& module : collection_.modules) {
      if (module.path != whole.parent()) continue;
      for (const auto& [own, value] : module.attributes) {
        if (own == whole.last()) return &value;
      }
    }
    return nullptr;
  }

  // Lowers a read of a plain attribute.  The graph has one only if the run changes the attribute.
  void lower_state(const Node& node, const Argument& value) {
    if (options_.freeze_state) {
      note_frozen(*node.target);
      return body_.set(node.id, value);
    }
    const auto is_this = [&](const Assignment& assignment) { return assignment.target == *node.target; };
    if (std::ranges::any_of(source_.graph.assignments(), is_this))
      return body_.leave_out(node.id);  // refused already
    body_.refuse(node, "the run changes this attribute, but a program cannot store attributes",
                 "--state freeze for the value in the file, or make it a buffer");
  }

  void note_frozen(const std::string& attribute) {
    if (frozen_.insert(attribute).second)
      result_.notes.push_back(
          attribute + " has the value of the file in every call: changes that a run makes are left out");
  }

  static bool may_be_packed(const ParameterRecord& parameter) {
    return parameter.is_packed() || is_quantized_dtype(parameter.dtype);
  }

  // Lowers packed parameters: their tensors become buffers of the module that has the layer, or constants if
  // they belong to the code.
  void lower_packed(const Node& node, const std::string& name, const std::string& owner) {
    if (const auto known = packed_.find(name); known != packed_.end())
      return body_.set(node.id, known->second);
    const auto packed = model_.find_packed(name);
    std::string problem = packed ? internal::problem_of(*packed) : "the file does not describe its contents";
    if (!problem.empty()) return body_.refuse(node, std::move(problem));
    // The path linear._packed_params._packed_params belongs to linear.
    std::string module = owner;
    for (std::string_view part = QualifiedName(module).last();
         part == "_packed_params" || part == "_packed_weight"; part = QualifiedName(module).last())
      module = std::string(QualifiedName(module).parent());
    const auto add = [&](const std::string& part, Constant tensor) -> std::optional<NodeId> {
      if (tensor.record.empty() && !tensor.data && !is_empty(tensor.shape)) {
        body_.refuse(node, "the file does not store its elements as plain tensors");
        return std::nullopt;
      }
      tensor.dtype = dtype_of_integers(tensor.dtype);
      if (tensor.dtype == "uint8" && tensor.shape.size() == 2 &&
          packed->tensors[0].tensor.dtype == "quint4x2" &&
          tensor.shape == packed->tensors[0].tensor.shape) {  // two elements in each byte
        tensor.shape[1] /= 2;
        tensor.stride = contiguous_strides(tensor.shape);
        tensor.storage_offset /= 2;
      }
      if (owner.empty()) return lift(tensor, "packed");
      std::string full = module + (module.empty() || part.empty() ? "" : ".") + part;
      while (is_taken(full)) full += '_';
      return add_buffer(full, owner, tensor);
    };
    std::vector<Argument> values;
    for (const PackedPart& tensor : packed->tensors) {
      const std::string part = owner.empty() || packed->type.empty() ? "" : tensor.name;
      const auto value = add(part, tensor.tensor);
      if (!value) return;
      values.emplace_back(*value);
      if (!tensor.quantization) continue;
      const PackedPart::Quantization& of = *tensor.quantization;
      Quantization quantization{tensor.tensor.dtype, of.scale, of.zero_point, of.axis};
      if (of.axis) {
        const auto scales = add(part + "_scales", of.scales_and_zero_points.at(0));
        const auto zero_points = add(part + "_zero_points", of.scales_and_zero_points.at(1));
        if (!scales || !zero_points) return;
        quantization.scale = *scales;
        quantization.zero_point = *zero_points;
      }
      body_.set_quantization(values.back(), std::move(quantization));
    }
    Argument whole = packed_operand(*packed, values);
    packed_.emplace(name, whole);
    body_.set(node.id, std::move(whole));
  }

  void lower_constant(const Node& node, const Constant& constant) {
    if (!is_quantized_dtype(constant.dtype)) {
      if (body_.is_written(node.id) && is_plain_path(*node.target))
        return body_.set(node.id, add_state(*node.target, constant));
      const NodeId value = lift(constant, node.name);
      body_.set(node.id, value);
      if (constant.shape.empty() && constant.dtype == "int64" && constant.data && constant.data->size() == 1)
        body_.set_number(value, constant.data->front());
      return;
    }
    if (options_.quantized) return lower_packed(node, *node.target, "");
    body_.refuse(node, "a program cannot have tensors of " + constant.dtype);
  }

  // Makes a buffer of a plain tensor that the run writes: torch takes constants to stay as they are.  It is
  // not in the state_dict, as it is not in that of the model.
  NodeId add_state(const std::string& name, const Constant& constant) {
    if (const auto known = written_.find(name); known != written_.end()) return known->second;
    GraphSignature::Entry entry;
    entry.role = SignatureRole::kBuffer;
    entry.target = name;
    entry.persistent = false;
    const NodeId value =
        add_input(buffers_, std::move(entry), "b_" + name_of_path(name), tensor_meta(constant));
    if (!constant.record.empty()) body_.set_strides(value, constant.stride);
    result_.program.constants.push_back(written(name, constant));
    written_.emplace(name, value);
    return value;
  }

  // Returns the constant tensor that a node of a subgraph reads.
  std::optional<Constant> constant_of(const ModuleGraph& graph, const Node& node) const {
    std::optional<Constant> found;
    for (const ModuleGraph* each : {&graph, &source_}) {
      const auto own = std::ranges::find(each->constants, *node.target,
                                         [](const auto& named) -> const auto& { return named.first; });
      if (!found && own != each->constants.end()) found = own->second;
    }
    if (!found) found = model_.find_tensor(*node.target);
    const bool is_parameter = std::ranges::find(collection_.parameters, *node.target,
                                                &ParameterRecord::name) != collection_.parameters.end();
    if (!found || is_parameter || !found->object_type.empty() || is_quantized_dtype(found->dtype))
      return std::nullopt;
    return found;
  }

  bool is_taken(const std::string& name) const {
    return owners_.contains(name) ||
           std::ranges::find(collection_.parameters, name, &ParameterRecord::name) !=
               collection_.parameters.end();
  }

  // Adds a buffer that is a part of the packed parameter `owner`.
  NodeId add_buffer(const std::string& name, const std::string& owner, const Constant& tensor) {
    owners_.emplace(name, owner);
    GraphSignature::Entry entry;
    entry.role = SignatureRole::kBuffer;
    entry.target = name;
    entry.persistent = true;
    const NodeId value =
        add_input(buffers_, std::move(entry), "b_" + name_of_path(name), tensor_meta(tensor));
    if (!tensor.record.empty()) body_.set_strides(value, tensor.stride);
    result_.program.weights.push_back(written(name, tensor));
    return value;
  }

  WrittenTensor written(const std::string& name, const Constant& constant) {
    WrittenTensor tensor{name,
                         false,
                         false,
                         constant.dtype,
                         "cpu",
                         constant.shape,
                         constant.stride,
                         constant.storage_offset,
                         constant.record,
                         {}};
    if (constant.record.empty()) {
      tensor.stride = contiguous_strides(constant.shape);
      tensor.storage_offset = 0;
      const auto bytes = constant.data ? element_bytes(*constant.data, constant.dtype) : std::nullopt;
      tensor.content = bytes.value_or("");
      if (!bytes && !is_empty(constant.shape))
        refuse({}, name, "the file does not store its elements as plain tensors of " + constant.dtype);
    }
    return tensor;
  }

  // Returns the element of the one-element tensor that the node reads.
  std::optional<Argument> element_of(const Node& node) const {
    std::optional<Constant> tensor = model_.find_tensor(*node.target);
    for (const auto& [name, constant] : source_.constants) {
      if (name == *node.target) tensor = constant;
    }
    if (!tensor || !tensor->data || tensor->data->size() != 1) return std::nullopt;
    return tensor->data->front();
  }

  // Returns why a program cannot have the parameter; empty if it can.
  static std::string problem_of(const ParameterRecord& parameter) {
    if (parameter.kind == ParameterKind::kCustomObject || !parameter.stored.empty())
      return "a program cannot have objects of " +
             (parameter.type.empty() ? std::string("such classes") : parameter.type);
    if (dtype_refused(parameter.dtype)) return "a program cannot have tensors of " + parameter.dtype;
    if (parameter.record.empty() && !is_empty(parameter.shape))
      return "the file does not store its elements as a plain tensor";
    return {};
  }

  NodeId add_parameter(const ParameterRecord& parameter, bool persistent) {
    const bool is_parameter = parameter.kind == ParameterKind::kParameter;
    GraphSignature::Entry entry;
    entry.role = is_parameter ? SignatureRole::kParameter : SignatureRole::kBuffer;
    entry.target = parameter.name;
    entry.persistent = persistent;
    const NodeId value =
        add_input(is_parameter ? parameters_ : buffers_, std::move(entry),
                  (is_parameter ? "p_" : "b_") + name_of_path(parameter.name), tensor_meta(parameter));
    const bool is_trained = is_parameter && parameter.requires_grad && may_have_gradient(parameter.dtype);
    if (is_trained) state_.trained.insert(value.index);
    body_.set_strides(value, parameter.stride);
    auto& tensors = persistent ? result_.program.weights : result_.program.constants;
    tensors.push_back({parameter.name,
                       is_parameter,
                       is_trained,
                       parameter.dtype,
                       parameter.device.value_or("cpu"),
                       parameter.shape,
                       parameter.stride,
                       parameter.storage_offset,
                       parameter.record,
                       {}});
    return value;
  }

  template <class Tensor>
  static Meta tensor_meta(const Tensor& tensor) {
    Meta meta;
    meta.type = "Tensor";
    meta.shape.emplace(tensor.shape.begin(), tensor.shape.end());
    meta.set_dtype(tensor.dtype);
    return meta;
  }

  static bool is_empty(const std::vector<std::int64_t>& shape) {
    return std::ranges::find(shape, 0) != shape.end();
  }
  static bool dtype_refused(const std::string& dtype) {
    return dtype.starts_with('q') || dtype == "bits8" || dtype.starts_with("complex32");
  }

  NodeId lift(const Constant& constant) { return lift(constant, "tensor_constant"); }

  NodeId lift(const Constant& constant, std::string_view name) {
    GraphSignature::Entry entry;
    entry.role = SignatureRole::kConstantTensor;
    const NodeId value =
        add_input(constants_, std::move(entry), "c_" + std::string(name), tensor_meta(constant));
    const std::string own = constants_.back().name.substr(2);
    constants_.back().target = own;
    if (!constant.record.empty()) body_.set_strides(value, constant.stride);
    result_.program.constants.push_back(written(own, constant));
    return value;
  }

  void finish_inputs() {
    // Parameters and buffers are in the order of registration, as in torch.export.
    std::unordered_map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < collection_.parameters.size(); ++i)
      places.emplace(collection_.parameters[i].name, i);
    const auto place_of_name = [&](const std::string& name) {
      const auto owner = owners_.find(name);
      const auto found = places.find(owner == owners_.end() ? name : owner->second);
      return found == places.end() ? places.size() : found->second;  // a plain tensor that is written
    };
    const auto place_of = [&](const GraphSignature::Entry& entry) { return place_of_name(*entry.target); };
    std::ranges::stable_sort(parameters_, {}, place_of);
    std::ranges::stable_sort(buffers_, {}, place_of);
    std::ranges::stable_sort(result_.program.weights, {},
                             [&](const WrittenTensor& tensor) { return place_of_name(tensor.name); });
    Graph& graph = result_.program.graph.module_graph.graph;
    auto& inputs = result_.program.signature.inputs;
    for (auto* entries : {&parameters_, &buffers_, &constants_, &users_})
      std::ranges::move(*entries, std::back_inserter(inputs));
    for (GraphSignature::Entry& entry : std::views::reverse(inputs)) {
      if (!entry.node.valid()) {
        Graph::NodeSpec spec = spec_of(Opcode::kPlaceholder, {}, {*entry.value});
        spec.name = entry.name;
        entry.node = graph.append(std::move(spec));
      }
      graph.move_before(graph.first(), entry.node);
    }
  }

  // --- the output ---

  // Calls f(result, number) for each result of the method; a single one has the number 0.
  template <class F>
  static void for_each_result(const Argument& value, F&& f) {
    std::size_t number = 0;
    if (const auto* items = items_of(value)) {
      for (const Argument& item : *items) f(item, number++);
    } else if (const auto* dict = value.get_if<Argument::Dict>()) {
      for (const auto& entry : dict->items) f(entry.value, number++);
    } else {
      f(value, number);
    }
  }

  static bool has_several_results(const Argument& value) {
    return items_of(value) != nullptr || value.is<Argument::Dict>();
  }

  // Checks the results, and returns them without those that --drop-output names.
  Argument without_dropped(Argument value) {
    std::size_t count = 0;
    for_each_result(value, [&](const Argument& item, std::size_t number) {
      ++count;
      if (!options_.dropped_outputs.contains(number))
        look_at_result(item, number, has_several_results(value));
    });
    for (const std::size_t number : options_.dropped_outputs) {
      if (number >= count || !has_several_results(value))
        throw usage_error("--drop-output " + std::to_string(number) + ": the method has " +
                          (has_several_results(value)
                               ? std::to_string(count) + " results, counted from 0"
                               : std::string("only one result, which cannot be dropped")));
    }
    if (options_.dropped_outputs.empty()) return value;
    if (options_.dropped_outputs.size() == count) throw usage_error("--drop-output leaves no result");
    if (auto* dict = value.get_if<Argument::Dict>()) {
      Argument::Dict kept;
      for (std::size_t i = 0; i < count; ++i) {
        if (!options_.dropped_outputs.contains(i)) kept.items.push_back(dict->items[i]);
      }
      return kept;
    }
    std::vector<Argument> kept;
    for_each_result(value, [&](const Argument& item, std::size_t number) {
      if (!options_.dropped_outputs.contains(number)) kept.push_back(item);
    });
    if (value.is<Argument::List>()) return Argument::List{std::move(kept)};
    return Argument::Tuple{
        std::move(kept)};  // a named tuple becomes a plain one, as its fields no longer match
  }

  void look_at_result(const Argument& item, std::size_t number, bool may_be_dropped) {
    std::vector<Argument> leaves;
    tree_of(item, leaves);
    const auto say = [&](std::string why, std::string help) {
      if (may_be_dropped) help += (help.empty() ? "" : ", or ") + ("--drop-output " + std::to_string(number));
      refuse({}, may_be_dropped ? "result " + std::to_string(number) : "the output", std::move(why),
             std::move(help));
    };
    for (const Argument& leaf : leaves) {
      if (leaf.is<std::string>()) return say("a program cannot return text", "");
      if (const auto* real = leaf.get_if<double>(); real != nullptr && std::isnan(*real))
        return say("a program cannot return nan, which torch.export.load does not find equal to itself", "");
      if (leaf.is<NodeId>() && body_.meta_of(leaf).kind() == ValueKind::kBool)
        return say("a program cannot return a bool that depends on sizes or data", "");
      if (leaf.is<std::complex<double>>() || leaf.is<Argument::Dtype>() || leaf.is<Argument::Device>())
        return say("a program cannot return a complex number, a dtype or a device", "");
      if (body_.quantization(leaf) != nullptr)
        return say("a program cannot return a quantized tensor", "dequantize() it");
    }
  }

  void note_named_tuples(const std::string& where) {
    std::string note = "named tuples among the " + where +
                       " become plain tuples: torch.export does not know the archive's classes";
    if (std::ranges::find(result_.notes, note) == result_.notes.end())
      result_.notes.push_back(std::move(note));
  }

  static bool has_named_tuple(const Argument& value) {
    if (const auto* tuple = value.get_if<Argument::Tuple>(); tuple != nullptr && tuple->names) return true;
    if (const auto* items = items_of(value)) return std::ranges::any_of(*items, has_named_tuple);
    const auto* dict = value.get_if<Argument::Dict>();
    return dict != nullptr &&
           std::ranges::any_of(dict->items, [](const auto& entry) { return has_named_tuple(entry.value); });
  }

  void lower_output() {
    std::vector<Argument> leaves;
    const NodeId last = source_.graph.last();
    if (last.valid() && source_.graph.node(last).op == Opcode::kOutput &&
        !source_.graph.node(last).args.empty()) {
      const Node& node = source_.graph.node(last);
      const Argument value = without_dropped(body_.operand_of(node.args.front()));
      if (has_named_tuple(value)) note_named_tuples("results");
      result_.program.out_spec = tree_of(value, leaves);
      refuse_keys(result_.program.out_spec, "the output");
    }
    result_.program.signature.outputs.resize(leaves.size());
    for (GraphSignature::Entry& entry : result_.program.signature.outputs)
      entry.role = SignatureRole::kUserOutput;
    result_.program.graph = body_.finish(std::move(leaves));
  }

  // Notes buffers that share memory and are written: torch gives each memory of its own when it unflattens a
  // program, its own programs too, and decomposes none of them.
  void note_overlaps() {
    std::map<std::string, std::set<std::string>> shared;  // names by that of their memory
    std::set<std::string> written;
    for (const NodeId id : source_.graph.order()) {
      const Node& node = source_.graph.node(id);
      if (node.op != Opcode::kGetAttr) continue;
      const std::string& name = semantics_.first_name(*node.target);
      const std::string& memory = semantics_.memory_name(name);
      auto& names = shared[memory];
      names.insert(name);
      if (names.size() == 1) continue;
      if (regions().is_written(id)) written.insert(memory);
    }
    for (const std::string& memory : written) {
      result_.notes.push_back(
          joined(shared[memory], {}, " and ") +
          " overlap in one storage and are written: the program's module() computes what "
          "the archive does, but torch.export.unflatten gives each memory of its own, and "
          "run_decompositions fails");
    }
  }

  bool calls_quantized() const {
    bool found = false;
    for_each_graph(result_.program.graph.module_graph, [&](const ModuleGraph& graph) {
      for (const NodeId id : graph.graph.order())
        found = found || graph.graph.node(id).target->starts_with("quantized_decomposed.");
    });
    return found;
  }

  void note_quantized() {
    if (!collection_.model.is_torchscript() || !calls_quantized()) return;
    result_.notes.emplace_back(
        "quantized tensors become tensors of integers, and results equal those of torch.jit.load within one step "
        "of their scale; import torch.ao.quantization.fx._decomposed before torch.export.load, which needs its "
        "operators");
  }

  // Notes operators that take an open number where their schema has a plain int or float: torch.export
  // decomposes these for the example value alone, without a warning.
  void note_fixed_arguments(const ProgramView& graph) {
    for (const NodeId id : graph.operations()) {
      graph.for_each_subgraph(
          id, [&](const std::string&, const ProgramView& body) { note_fixed_arguments(body); });
      const Node& operation = graph.node(id);
      const Operator* op = graph.facts(id).op;
      if (op == nullptr) continue;
      const Schema schema = op->schema();
      const auto look = [&](const SchemaArgument& argument, const Argument& given) {
        const SchemaType& type = argument.type.required();
        const SchemaType& element = type.is_list() ? type.parts[0].required() : type;
        if (element.name != "int" && element.name != "float") return;
        bool varies = false;
        for_each_reference(given, [&](NodeId value) { varies = varies || graph.meta(value).value; });
        if (varies && noted_.insert(*operation.target + argument.name).second)
          result_.notes.push_back(
              argument.name + " of " + *operation.target +
              " depends on sizes or data: run_decompositions and compilers use its value for the "
              "example inputs in every call");
      };
      for (std::size_t i = 0; i < operation.args.size() && i < schema.arguments.size(); ++i)
        look(schema.arguments[i], operation.args[i]);
      for (const auto& [name, given] : operation.kwargs) {
        if (const SchemaArgument* formal = schema.find_formal(name)) look(*formal, given);
      }
    }
  }

  const GraphCollection& collection_;
  const Program& model_;
  const LoweringOptions& options_;
  const ModuleGraph& source_;
  Semantics semantics_;
  std::optional<AliasRegions> regions_;  // of the source, once they were asked for
  Lowered result_;
  ModuleStacks stacks_;
  LoweringState state_;
  Body body_;
  std::vector<GraphSignature::Entry> parameters_, buffers_, constants_, users_;  // inputs of the program
  std::set<std::string> noted_;                                                  // arguments that were noted
  std::set<std::string> frozen_;                                                 // attributes that were noted
  std::unordered_map<std::string, Argument> packed_;     // by name of the packed parameters
  std::unordered_map<std::string, NodeId> written_;      // plain tensors that the run writes
  std::unordered_map<std::string, std::string> owners_;  // of buffers: the packed parameter
};

}  // namespace

LoweringOptions lowering_options(const TraceOptions& options, const Program& model, bool is_whole) {
  LoweringOptions result;
  result.dimensions = options.dimensions;
  result.concrete = options.concrete;
  result.method = options.method;
  result.schemas = options.op_schemas;
  std::ranges::copy(options.registered.schemas, std::back_inserter(result.schemas));
  if (const ExportedProgram* program = as_exported(&model)) {
    for (const auto& [name, range] : program->dimensions().ranges())
      result.dimensions.push_back({name, range.low, range.high});
    if (is_whole) result.in_spec = program->in_spec();
    result.argument_names = program->argument_names();
  }
  return result;
}

Lowered lower(const GraphCollection& collection, const Program& model, const LoweringOptions& options) {
  if (collection.graphs.empty()) throw input_error("the model has no graph");
  return Lowering(collection, model, options).run();
}

}  // namespace fxtrace::internal
