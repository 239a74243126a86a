// Prints the lines of schemas/operators/registered.txt: every operator that LibTorch registers, with its
// schema, tags and alias analysis.  scripts/operators runs it, and a test compares its output with the
// committed file.
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/headeronly/version.h>

#include <array>
#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace {

using torch::jit::Operator;

// Dispatcher tags that are traits here.
constexpr std::array<std::pair<at::Tag, std::string_view>, 6> kTags{
    {{at::Tag::nondeterministic_seeded, "random"},
     {at::Tag::data_dependent_output, "reads_data"},
     {at::Tag::dynamic_output_shape, "shape_from_data"},
     {at::Tag::inplace_view, "changes_shape"},
     {at::Tag::pointwise, "pointwise"},
     {at::Tag::reduction, "reduction"}}};

// Printing, saving, seeding and the like: LibTorch's list is by kind, and asserts on kinds without an
// operator.
bool has_side_effects(const Operator& op) {
  torch::jit::Graph graph;
  try {
    torch::jit::Node* node = graph.create(c10::Symbol::fromQualString(op.schema().name()));
    for (const auto& formal : op.schema().arguments())
      node->addInput(graph.addInput()->setType(formal.type()));
    return node->hasSideEffects();
  } catch (const std::exception&) {
    return false;
  }
}

// Returns what follows the schema: " # pointwise".
std::string traits(const Operator& op) {
  std::string text;
  const auto add = [&](std::string_view trait) { text.append(text.empty() ? " # " : " ").append(trait); };
  const auto kind = op.aliasAnalysisKind();
  if (kind != c10::AliasAnalysisKind::FROM_SCHEMA && kind != c10::AliasAnalysisKind::PURE_FUNCTION)
    add("unknown");
  if (has_side_effects(op)) add("side_effect");
  if (const auto handle = c10::Dispatcher::singleton().findSchema(op.schema().operator_name())) {
    for (const auto& [tag, name] : kTags) {
      if (handle->hasTag(tag)) add(name);
    }
  }
  return text;
}

}  // namespace

int main() {
  std::map<std::string, std::string> rows;  // in byte order of the names, as find_operator() expects
  for (const auto& op : torch::jit::getAllOperators()) {
    const std::string schema = c10::toString(op->schema());
    rows[schema.substr(0, schema.find('('))] = schema + traits(*op) + "\n";
  }
  std::cout << "# Written by scripts/operators: what PyTorch " << TORCH_VERSION_MAJOR << '.'
            << TORCH_VERSION_MINOR << '.' << TORCH_VERSION_PATCH
            << " registers (BSD-3-Clause, see NOTICE).\n";
  for (const auto& [name, row] : rows) std::cout << row;
}
