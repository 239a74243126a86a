#include "exported/modules/bound_exported_program.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exported/modules/module_graph.h"
#include "graph/analysis/input_sizes.h"
#include "graph/analysis/text_form.h"
#include "support/error.h"
#include "support/text/identifier.h"
#include "support/text/words.h"
#include "trace/options/input_spec.h"
#include "trace/tracer/guard_expression.h"

namespace fxtrace::internal {

BoundExportedProgram::BoundExportedProgram(const ExportedProgram& program, const TraceOptions& options)
    : program_(program), options_(by_own_inputs(options, program)), dimensions_(program.dimensions()) {
  dimensions_.narrow(options_, program.graph(), program.signature());
  if (!dimensions_.are_narrowed()) return;
  narrowed_ = ExportedGraph{program.graph().module_graph(), program.graph().table()};
  dimensions_.apply(*narrowed_);
}

const CallIndex& BoundExportedProgram::calls() const {
  if (!calls_) calls_ = std::make_unique<CallIndex>(graph(), program_.hierarchy());
  return *calls_;
}

namespace {

// Returns the path as text: "boxes.1".
std::string path_text(const std::vector<Argument>& path) {
  std::string text;
  for (const Argument& step : path) {
    if (!text.empty()) text += '.';
    const auto* key = step.get_if<std::string>();
    text += key != nullptr ? *key : print_argument(step);
  }
  return text;
}

}  // namespace

std::vector<MethodInfo> BoundExportedProgram::methods(ModuleId module) const {
  if (module.index != 0) {
    if (!program_.modules()[module.index].has_forward) return {};
    return {{"forward", {}, {}}};
  }
  const auto port = [&](const GraphSignature::Entry& entry, std::string name, const Argument& value) {
    PortInfo info{std::move(name), {}, {}, entry.value};
    if (const auto* id = value.get_if<NodeId>()) {
      info.meta = graph().meta(*id);
      if (const Argument* fixed = graph().find_fixed(*id); fixed != nullptr && !info.fixed)
        info.fixed = *fixed;
    } else if (!info.fixed) {
      info.fixed = constant_argument(value);
    }
    return info;
  };
  const GraphSignature& signature = program_.signature();
  MethodInfo forward{"forward", {}, {}};
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    const auto& entry = signature.inputs[i];
    if (entry.role == SignatureRole::kUserInput)
      forward.inputs.push_back(port(entry, entry.name, program_.inputs()[i]));
  }
  const std::vector<Argument> outputs = graph().outputs();
  for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
    const auto& entry = signature.outputs[i];
    if (!is_result(entry.role)) continue;
    forward.outputs.push_back(port(entry, path_text(entry.path), outputs[i]));
    if (entry.is_named) forward.outputs.back().label = entry.name;
  }
  return {std::move(forward)};
}

std::vector<BoundProgram::Attributes> BoundExportedProgram::attributes() const {
  return attributes_of_modules(graph(), program_.hierarchy(), program_.parameters());
}

std::vector<Diagnostic> BoundExportedProgram::warnings() const {
  std::vector<Diagnostic> warnings = dimensions_.warnings();
  if (options_.hooks == Hooks::kSkip)
    warnings.push_back(
        {"--hooks skip had no effect: torch.export makes hooks part of the program and does not mark them"});
  return warnings;
}

void BoundExportedProgram::run(ModuleId root, const std::string&, bool root_is_leaf, GraphTracer& tracer) {
  build_module_graph(*this, root, root_is_leaf, tracer);
}

std::unique_ptr<BoundProgram> ExportedProgram::bind(const TraceOptions& options,
                                                    const SpentUnits& /*spent*/) const {
  return std::make_unique<BoundExportedProgram>(*this, options);
}

namespace {

std::string key_text(const Argument& key) {
  const auto* text = key.get_if<std::string>();
  return text != nullptr ? *text : print_argument(key);
}

}  // namespace

std::vector<NestedArgument> nested_arguments(const ExportedProgram& program) {
  std::vector<NestedArgument> found;
  if (!program.in_spec()) return found;
  std::size_t next = 0;
  const TreeSpec& positional = program.in_spec()->children.at(0);
  const TreeSpec& by_name = program.in_spec()->children.at(1);
  const auto& names = program.argument_names();
  for (std::size_t i = 0; i < positional.children.size(); ++i) {
    const TreeSpec& spec = positional.children[i];
    if (i < names.size()) found.push_back({names[i], &spec, next});
    next += spec.leaves;
  }
  for (std::size_t i = 0; i < by_name.children.size(); ++i) {
    const TreeSpec& spec = by_name.children[i];
    if (by_name.kind == TreeSpec::Kind::kDict) found.push_back({key_text(by_name.keys[i]), &spec, next});
    next += spec.leaves;
  }
  return found;
}

namespace {

// Returns the names of a container's parts in JSON; empty for lists and tuples.
std::vector<std::string> part_names(const TreeSpec& spec) {
  if (spec.names != nullptr) return spec.names->fields;
  std::vector<std::string> names;
  if (spec.kind == TreeSpec::Kind::kDict) {
    for (const Argument& key : spec.keys) names.push_back(key_text(key));
  }
  return names;
}

class Flattening {
 public:
  explicit Flattening(const std::vector<std::string>& inputs) : inputs_(inputs) {}

  // Returns the value of each leaf of the argument, with the name of its input.
  std::vector<ConcreteArg> run(const NestedArgument& nested, const Argument& value) {
    next_ = nested.first;
    add(*nested.spec, value, nested.name);
    return std::move(values_);
  }

 private:
  [[noreturn]] static void fail(const std::string& place, const std::string& what) {
    throw usage_error("--concrete: '" + place + "': expected " + what);
  }

  void add(const TreeSpec& spec, const Argument& value, const std::string& place) {
    if (spec.kind == TreeSpec::Kind::kLeaf) return values_.push_back({inputs_.at(next_++), value});
    if (is_concrete_placeholder(value)) {
      for (std::size_t i = 0; i < spec.leaves; ++i) values_.push_back({inputs_.at(next_++), value});
      return;
    }
    if (spec.kind == TreeSpec::Kind::kNone) {
      if (!value.is<Argument::None>()) fail(place, "null");
      return;
    }
    const std::vector<std::string> names = part_names(spec);
    if (const auto* dict = value.get_if<Argument::Dict>(); dict != nullptr && !names.empty()) {
      if (dict->items.size() != names.size()) fail(place, "an object with " + joined(names));
      for (std::size_t i = 0; i < names.size(); ++i) {
        const auto item = std::ranges::find(dict->items, Argument(names[i]), &Argument::DictItem::key);
        if (item == dict->items.end()) fail(place, "an object with " + joined(names));
        add(spec.children[i], item->value, place + "." + names[i]);
      }
      return;
    }
    const auto* list = value.get_if<Argument::List>();
    if (spec.kind == TreeSpec::Kind::kDict) fail(place, "an object with " + joined(names));
    if (list == nullptr || list->items.size() != spec.children.size())
      fail(place, "an array of " + std::to_string(spec.children.size()));
    for (std::size_t i = 0; i < spec.children.size(); ++i)
      add(spec.children[i], list->items[i], place + "." + std::to_string(i));
  }

  const std::vector<std::string>& inputs_;
  std::size_t next_ = 0;
  std::vector<ConcreteArg> values_;
};

}  // namespace

TraceOptions by_own_inputs(const TraceOptions& options, const ExportedProgram& program) {
  std::vector<std::string> inputs;
  for (const auto& entry : program.signature().inputs) {
    if (entry.role == SignatureRole::kUserInput) inputs.push_back(entry.name);
  }
  const std::vector<NestedArgument> nested = nested_arguments(program);
  const auto find = [&](const std::string& name) -> const NestedArgument* {
    if (std::ranges::find(inputs, name) != inputs.end()) return nullptr;
    const auto found = std::ranges::find(nested, name, &NestedArgument::name);
    return found == nested.end() ? nullptr : &*found;
  };
  TraceOptions own = options;
  own.concrete.clear();
  for (const ConcreteArg& concrete : options.concrete) {
    if (const NestedArgument* whole = find(concrete.name)) {
      std::vector<ConcreteArg> parts = Flattening(inputs).run(*whole, concrete.value);
      std::ranges::move(parts, std::back_inserter(own.concrete));
    } else {
      own.concrete.push_back(concrete);
    }
  }
  for (ConcreteArg& concrete : own.concrete) {
    if (const auto number = find_float(concrete.value)) concrete.value = *number;
  }
  if (!options.input_names) return own;
  own.input_names->clear();
  for (const std::string& name : *options.input_names) {
    const NestedArgument* whole = find(name);
    if (whole == nullptr) own.input_names->push_back(name);
    for (std::size_t i = 0; whole != nullptr && i < whole->spec->leaves; ++i)
      own.input_names->push_back(inputs.at(whole->first + i));
  }
  return own;
}

namespace {

// Adds the operations of the graph and its subgraphs to the sites of the modules that run them.
void add_sites(const ProgramView& graph, const Hierarchy& hierarchy,
               std::vector<std::vector<LeafSite>>& sites) {
  for (const NodeId operation : graph.operations()) {
    const ProgramNode& facts = graph.facts(operation);
    const std::uint32_t module = hierarchy.calls()[facts.call].module.index;
    if (facts.has_stack && module < sites.size() && is_told_of(hierarchy.modules()[module].type))
      sites[module].push_back({graph, operation});
    graph.for_each_subgraph(
        operation, [&](const std::string&, const ProgramView& body) { add_sites(body, hierarchy, sites); });
  }
}

}  // namespace

std::vector<ModuleAttributes> attributes_of_modules(const ProgramView& graph, const Hierarchy& hierarchy,
                                                    const std::vector<ParameterRecord>& parameters) {
  std::vector<std::vector<LeafSite>> sites(hierarchy.modules().size());
  add_sites(graph, hierarchy, sites);
  return attributes_of_modules(hierarchy.modules(), parameters, sites);
}

// The checks are those of PyTorch's torch/export/_unlift.py and torch/_export/utils.py (BSD-3-Clause, see
// NOTICE); bound_exported_program.h lists them.

namespace {

class ProgramGuards {
 public:
  ProgramGuards(const BoundExportedProgram& bound, const std::vector<std::string>& placeholders)
      : bound_(bound), placeholders_(placeholders) {}

  std::vector<Expression> all() {
    look_at_structure();
    look_at_inputs();
    for (Expression& guard : bound_.dimensions().guards(sizes_)) add(std::move(guard));
    // Conditions that the tracer of torch.export has met.  They repeat much of what the sizes say.
    for (const Expression& condition : bound_.program().conditions()) {
      Expression over_dimensions = sizes_.over_dimensions(condition);
      if (!bound_.dimensions().implies(over_dimensions)) add(std::move(over_dimensions));
    }
    return std::move(guards_);
  }

 private:
  void add(Expression guard) { guards_.push_back(std::move(guard)); }

  void add_length(const Expression& place, std::size_t length) {
    add(Expression::comparison("==", Expression::call(Expression::name("len"), {place}),
                               static_cast<std::int64_t>(length)));
  }

  void look_at_structure() {
    for (const NestedArgument& argument : nested_arguments(bound_.program())) {
      leaves_.resize(argument.first);
      if (is_identifier(argument.name)) look_at(Expression::variable(argument.name), *argument.spec, true);
    }
  }

  // `is_python`: whether Python finds the place under this expression.  Parts of an instance of some class
  // are known only by the names that torch.export has for them.
  void look_at(const Expression& place, const TreeSpec& spec, bool is_python) {
    const auto child = [&](std::size_t i) -> Expression {
      if (spec.names != nullptr) return Expression::attribute(place, spec.names->fields[i]);
      if (spec.kind != TreeSpec::Kind::kDict) return Expression::item(place, static_cast<std::int64_t>(i));
      return Expression::item(place, guard_expression(Graph(), spec.keys[i]));
    };
    switch (spec.kind) {
      case TreeSpec::Kind::kLeaf:
        leaves_.push_back(place.text());
        return;
      case TreeSpec::Kind::kNone:
        if (is_python) add(Expression::comparison("is", place, Expression::none()));
        return;
      case TreeSpec::Kind::kTuple:
      case TreeSpec::Kind::kList:
        if (is_python && spec.is_builtin) add_length(place, spec.children.size());
        break;
      case TreeSpec::Kind::kDict:
        if (!is_python || !spec.is_builtin) break;
        std::vector<Expression> keys;
        for (const Argument& key : spec.keys) keys.push_back(guard_expression(Graph(), key));
        // torch.export's own module takes them in any order, as operations read values by their keys.
        add(Expression::keys_in_any_order(place, std::move(keys)));
        break;
    }
    const bool has_python_parts = is_python && (spec.is_builtin || spec.names != nullptr);
    for (std::size_t i = 0; i < spec.children.size(); ++i)
      look_at(child(i), spec.children[i], has_python_parts);
  }

  // Returns other names that conditions use for an input: words['ids'][0], flat_args[2], args[1] for args_1.
  std::vector<std::string> other_names(const std::string& name, std::size_t user_input) const {
    std::vector<std::string> names{"flat_args[" + std::to_string(user_input) + "]"};
    if (user_input < leaves_.size() && !leaves_[user_input].empty()) names.push_back(leaves_[user_input]);
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    if (digits > 1 && digits < name.size() && name[digits - 1] == '_')
      names.push_back(name.substr(0, digits - 1) + "[" + name.substr(digits) + "]");
    return names;
  }

  void look_at_inputs() {
    const ProgramView graph = bound_.graph();
    const std::vector<NodeId>& inputs = bound_.program().inputs();
    const GraphSignature& signature = bound_.program().signature();
    const auto meta = [&](std::size_t i) -> const Meta& { return graph.meta(inputs[i]); };
    std::size_t user_input = 0;
    std::vector<std::size_t> ends;  // by input: the end of its sizes in sizes_
    for (std::size_t i = 0; i < placeholders_.size(); ++i) {
      const bool is_users = signature.inputs[i].role == SignatureRole::kUserInput;
      if (!placeholders_[i].empty())
        sizes_.add(placeholders_[i], meta(i), other_names(placeholders_[i], user_input));
      ends.push_back(sizes_.sizes().size());
      user_input += is_users ? 1 : 0;
    }
    sources_ = sizes_.sources();
    std::size_t position = 0;
    for (std::size_t i = 0; i < placeholders_.size(); ++i) {
      if (placeholders_[i].empty()) continue;
      if (const auto& shape = meta(i).shape) {
        add(Expression::comparison(Relation::kEqual,
                                   Expression::method(Expression::variable(placeholders_[i]), "dim"),
                                   static_cast<std::int64_t>(shape->size())));
      }
      for (; position < ends[i]; ++position) look_at_size(position);
    }
  }

  void look_at_size(std::size_t position) {
    const auto& [place, size] = sizes_.sizes()[position];
    const auto equals = [&](Expression value) {
      add(Expression::comparison(Relation::kEqual, place, std::move(value)));
    };
    if (size.is_number()) return equals(size);
    const auto [first, is_new] = first_places_.emplace(size.text(), place);
    if (!is_new) return equals(first->second);
    bool are_known = true;
    for (const std::string& name : size.symbols()) {
      const auto source = sources_.find(name);
      are_known = are_known && source != sources_.end();
      if (source == sources_.end() || source->second.position != position) continue;
      // This place defines the dimension.
      if (const auto rest = sizes_.rest_of(source->second))
        add(Expression::comparison(Relation::kEqual, *rest, 0));
      return;
    }
    if (are_known) equals(size);
  }

  const BoundExportedProgram& bound_;
  const std::vector<std::string>& placeholders_;
  std::vector<std::string> leaves_;  // by user input: the expression by which Python reaches it
  InputSizes sizes_;
  std::map<std::string, DimensionSource> sources_;
  std::unordered_map<std::string, Expression> first_places_;  // by size
  std::vector<Expression> guards_;
};

}  // namespace

std::vector<Expression> program_guards(const BoundExportedProgram& bound,
                                       const std::vector<std::string>& placeholders) {
  return ProgramGuards(bound, placeholders).all();
}

}  // namespace fxtrace::internal
