// The search for a cost rule: the row of the operator, then its traits and schema (pointwise operators, views
// and others without MACs), then the same for its functional variant, then the operator that it is derived of
// ("_foreach_add", "relu_backward").
#include "opinfo/rules/cost_rules.h"

#include <algorithm>
#include <array>

#include "opinfo/operator_row.h"
#include "opinfo/rules/cost_helpers.h"
#include "support/text/words.h"

namespace fxtrace::internal {

SymInt no_macs(const RuleArguments&, const Results&) { return 0; }

namespace {

CostRule find_in_rows(std::string_view base_name) {
  const OperatorFacts& facts = facts_of(base_name);
  return (facts.traits & traits::kNoMacs) != 0 ? no_macs : facts.macs;
}

// ---- Traits and schemas ----

// Returns whether values of the type neither are nor contain tensors; objects and values of type Any may.
bool is_plain_type(const SchemaType& type) {
  if (!type.parts.empty()) return std::ranges::all_of(type.parts, is_plain_type);
  static constexpr std::array<std::string_view, 18> kPlain{
      "int",     "SymInt",  "float",      "bool",     "str",          "Scalar",
      "complex", "Device",  "ScalarType", "Layout",   "MemoryFormat", "Generator",
      "Dimname", "SymBool", "QScheme",    "NoneType", "Stream",       "number"};
  return std::ranges::find(kPlain, type.name) != kPlain.end();
}

bool takes_no_tensor(const Schema& schema) {
  return !schema.is_variadic && std::ranges::all_of(schema.arguments, [](const SchemaArgument& argument) {
    return is_plain_type(argument.type);
  });
}

bool is_view(const Operator& op, const Schema& schema) {
  if (schema.results.empty() || schema.writes()) return false;
  const std::vector<Alias> known = find_aliases(op, schema);
  for (std::size_t i = 0; i < schema.results.size(); ++i) {
    if (std::ranges::find(known, i, &Alias::result) == known.end()) return false;
  }
  return true;
}

bool computes_elementwise_or_less(const Operator& op) {
  using namespace traits;  // NOLINT(google-build-using-namespace)
  constexpr Traits kLittle =
      kPointwise | kReduction | kGivesSize | kAsserts | kPlain | kMovesElements | kMakesTensor;
  if ((table_traits(op) & kLittle) != 0) return true;
  const Schema schema = op.schema();
  return takes_no_tensor(schema) || is_view(op, schema);
}

// ---- Other operators ----

bool is_free(std::string_view base_name) {
  if (const CostRule rule = find_in_rows(base_name)) return rule == no_macs;
  const std::span<const Operator> rows = overloads(base_name);
  return !rows.empty() && std::ranges::any_of(rows, computes_elementwise_or_less);
}

// Returns whether torch derives the operator from one without MACs: in-place and `out` forms, copies of
// views, lists of tensors, and derivatives, which are as elementwise as the operator.
bool is_form_of_free_operator(std::string_view base_name) {
  const std::size_t colons = base_name.find("::");
  if (colons == std::string_view::npos) return false;
  const std::string space(base_name.substr(0, colons + 2));
  std::string_view name = base_name.substr(colons + 2);
  for (const std::string_view prefix : {"_foreach_", "special_"}) {
    if (!name.starts_with(prefix)) continue;
    const std::string whole = space + std::string(name.substr(prefix.size()));
    return is_free(whole) || is_form_of_free_operator(whole);
  }
  for (const std::string_view suffix : {"_", "_out", "_copy", "_backward", "_backward_data"}) {
    if (!name.ends_with(suffix)) continue;
    const std::string whole = space + std::string(name.substr(0, name.size() - suffix.size()));
    if (is_free(whole) || is_form_of_free_operator(whole)) return true;
  }
  return false;
}

}  // namespace

CostRule find_cost_rule(const Operator& op) {
  const std::string_view base_name = op.base_name();
  if (const CostRule rule = find_in_rows(base_name)) return rule;
  if (computes_elementwise_or_less(op)) return no_macs;
  // addmm_ and addmm.out have the arguments of addmm.
  if (const Operator* twin = functional_twin(op)) {
    if (const CostRule rule = find_in_rows(twin->base_name())) return rule;
    if (computes_elementwise_or_less(*twin)) return no_macs;
  }
  if (is_free(base_name) || is_form_of_free_operator(base_name)) return no_macs;
  return nullptr;
}

Counted find_counted(const Operator& op) {
  std::string_view name = op.base_name();
  constexpr std::string_view kSpace = "aten::";
  if (!name.starts_with(kSpace)) return Counted::kNever;
  name.remove_prefix(kSpace.size());
  if (has_word("linalg_matmul linear matmul", name)) return Counted::kUnlessVector;
  if (has_word("inner tensordot", name)) return Counted::kUnlessVectors;
  // The registry of torch.utils.flop_counter, and what torch makes of it; in-place forms have no formula.
  constexpr std::string_view kCounted =
      "_convolution _convolution_mode _efficient_attention_forward _flash_attention_forward "
      "_scaled_dot_product_attention_math _scaled_dot_product_cudnn_attention "
      "_scaled_dot_product_cudnn_attention_backward _scaled_dot_product_efficient_attention "
      "_scaled_dot_product_efficient_attention_backward _scaled_dot_product_flash_attention "
      "_scaled_dot_product_flash_attention_backward _scaled_mm _slow_conv2d_forward addmm baddbmm bmm "
      "chain_matmul conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d "
      "convolution convolution_backward convolution_overrideable corrcoef cov cudnn_convolution "
      "einsum gru gru_cell linalg_matrix_power linalg_multi_dot lstm lstm_cell matrix_power mm "
      "rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell scaled_dot_product_attention thnn_conv2d";
  return has_word(kCounted, name) ? Counted::kAlways : Counted::kNever;
}

}  // namespace fxtrace::internal
