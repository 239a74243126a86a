#include "exported/program/nested_inputs.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "graph/analysis/text_form.h"
#include "support/error.h"
#include "support/text/words.h"
#include "trace/options/input_choice.h"

namespace fxtrace::internal {
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

}  // namespace fxtrace::internal
