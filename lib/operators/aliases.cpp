// Which results share memory with which arguments, from the schemas and where these are silent from here, and
// how views are undone.
#include <algorithm>
#include <array>
#include <iterator>

#include "operators/operators.h"

namespace fxtrace {
namespace {

// Aliases that no schema tells: views that ATen calls composite, and results that are an argument where there
// is nothing to do.  tests/python/test_operator_traits.py found them by running torch's own samples.
struct HiddenAlias {
  std::string_view name;
  std::size_t result = 0, argument = 0;
};
constexpr HiddenAlias kHidden[] = {{"aten::conj_physical", 0, 0}, {"aten::einsum", 0, 1},
                                   {"aten::histogramdd", 1, 1},   {"aten::meshgrid", 0, 0},
                                   {"aten::sum_to_size", 0, 0},   {"aten::unsafe_chunk", 0, 0},
                                   {"aten::unsafe_split", 0, 0},  {"aten::unsafe_split_with_sizes", 0, 0}};

using Form = ViewInverse::Form;
struct Inverse {
  std::string_view name;  // with its overload
  ViewInverse inverse;
};
// ATen/FunctionalInverses.cpp, as far as a graph has an operator for it.  Not as there is unfold's: its
// unfold_backward puts zeros between the windows.  In byte order.
constexpr Inverse kInverses[] = {
    {"aten::_conj", {"aten._conj.default", Form::kChanged}},
    {"aten::_neg_view", {"aten._neg_view.default", Form::kChanged}},
    {"aten::_reshape_alias", {"aten.reshape_as.default", Form::kChangedBase}},
    {"aten::adjoint", {"aten.adjoint.default", Form::kChanged}},
    {"aten::alias", {"aten.alias.default", Form::kChanged}},
    {"aten::as_strided", {"aten.as_strided_scatter.default", Form::kBaseChangedRest}},
    {"aten::chunk", {"aten.slice_scatter.default", Form::kPart}},
    {"aten::detach", {"aten.alias.default", Form::kChanged}},
    {"aten::diagonal", {"aten.diagonal_scatter.default", Form::kBaseChangedRest}},
    {"aten::flatten.using_ints", {"aten.reshape_as.default", Form::kChangedBase}},
    {"aten::lift_fresh", {"aten.alias.default", Form::kChanged}},
    {"aten::linalg_diagonal", {"aten.diagonal_scatter.default", Form::kBaseChangedRest}},
    {"aten::mH", {"aten.mH.default", Form::kChanged}},
    {"aten::mT", {"aten.mT.default", Form::kChanged}},
    {"aten::matrix_H", {"aten.matrix_H.default", Form::kChanged}},
    {"aten::moveaxis.int", {"aten.moveaxis.int", Form::kSwappedRest}},
    {"aten::moveaxis.intlist", {"aten.moveaxis.intlist", Form::kSwappedRest}},
    {"aten::movedim.int", {"aten.movedim.int", Form::kSwappedRest}},
    {"aten::movedim.intlist", {"aten.movedim.intlist", Form::kSwappedRest}},
    {"aten::narrow", {"aten.slice_scatter.default", Form::kPart}},
    {"aten::numpy_T", {"aten.numpy_T.default", Form::kChanged}},
    {"aten::permute", {"aten.permute.default", Form::kPermutation}},
    {"aten::ravel", {"aten.reshape_as.default", Form::kChangedBase}},
    {"aten::reshape", {"aten.reshape_as.default", Form::kChangedBase}},
    {"aten::reshape_as", {"aten.reshape_as.default", Form::kChangedBase}},
    {"aten::select.int", {"aten.select_scatter.default", Form::kBaseChangedRest}},
    {"aten::slice.Tensor", {"aten.slice_scatter.default", Form::kBaseChangedRest}},
    {"aten::split.Tensor", {"aten.slice_scatter.default", Form::kPart}},
    {"aten::split.sizes", {"aten.slice_scatter.default", Form::kPart}},
    {"aten::split_with_sizes", {"aten.slice_scatter.default", Form::kPart}},
    {"aten::squeeze", {"aten.reshape_as.default", Form::kChangedBase}},
    {"aten::squeeze.dim", {"aten.reshape_as.default", Form::kChangedBase}},
    {"aten::squeeze.dims", {"aten.reshape_as.default", Form::kChangedBase}},
    {"aten::swapaxes", {"aten.swapaxes.default", Form::kChangedRest}},
    {"aten::swapdims", {"aten.swapdims.default", Form::kChangedRest}},
    {"aten::t", {"aten.t.default", Form::kChanged}},
    {"aten::tensor_split.indices", {"aten.slice_scatter.default", Form::kPart}},
    {"aten::tensor_split.sections", {"aten.slice_scatter.default", Form::kPart}},
    {"aten::transpose.int", {"aten.transpose.int", Form::kChangedRest}},
    {"aten::unbind.int", {"aten.select_scatter.default", Form::kPart}},
    {"aten::unflatten.int", {"aten.reshape_as.default", Form::kChangedBase}},
    {"aten::unfold", {"aten.index_put.default", Form::kWindows}},
    {"aten::unsqueeze", {"aten.reshape_as.default", Form::kChangedBase}},
    {"aten::view", {"aten.reshape_as.default", Form::kChangedBase}},
    {"aten::view_as", {"aten.reshape_as.default", Form::kChangedBase}},
    {"aten::view_as_complex", {"aten.view_as_real.default", Form::kChanged}},
    {"aten::view_as_real", {"aten.view_as_complex.default", Form::kChanged}},
};
static_assert(std::ranges::is_sorted(kInverses, {}, &Inverse::name));

// What an alias annotation in the type names, wherever it stands in it.
struct Names {
  std::vector<std::string> before, after;
  bool writes = false;
};
void collect(const SchemaType& type, Names& names) {
  if (type.alias) {
    names.before.insert(names.before.end(), type.alias->before.begin(), type.alias->before.end());
    names.after.insert(names.after.end(), type.alias->after.begin(), type.alias->after.end());
    names.writes = names.writes || type.alias->writes;
  }
  for (const SchemaType& part : type.parts) collect(part, names);
}
Names names_of(const SchemaType& type) {
  Names names;
  collect(type, names);
  return names;
}

bool have_common(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](const std::string& name) { return std::find(b.begin(), b.end(), name) != b.end(); });
}
bool has_any(const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), "*") != names.end();
}

bool is_container(const SchemaType& type) {
  const SchemaType& whole = type.required();
  return whole.is_list() || whole.name == "Dict" || whole.name == "Tuple" || whole.name == "Any";
}

}  // namespace

std::vector<Alias> aliases(const Operator& op) { return aliases(op, op.schema()); }

std::vector<Alias> aliases(const Operator& op, const Schema& schema) {
  const Traits all = traits_of(&op);
  std::vector<Alias> found;
  for (std::size_t result = 0; result < schema.results.size(); ++result) {
    const Names given = names_of(schema.results[result]);
    for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
      const SchemaType& type = schema.arguments[i].type;
      const Names taken = names_of(type);
      Alias alias{result, i};
      alias.of_elements = is_container(type) != is_container(schema.results[result]);
      if (have_common(given.before, taken.before)) {
        alias.always = given.before.size() == 1 && (all & traits::kMayCopy) == 0;
        alias.may_be_same = taken.writes || (all & traits::kMayBeArgument) != 0;
        found.push_back(alias);
      } else if (has_any(given.before) && (is_container(type) || has_any(taken.after))) {
        alias.always = false;
        found.push_back(alias);
      }
    }
  }
  if (!found.empty() || schema.results.empty()) return found;
  const auto hidden = std::ranges::find(kHidden, op.base_name(), &HiddenAlias::name);
  if (hidden != std::end(kHidden) && hidden->argument < schema.arguments.size()) {
    found.push_back({hidden->result, hidden->argument, false, true, false});
  } else if ((all & traits::kMayBeArgument) != 0) {
    found.push_back({0, 0, false, true, false});
  }
  return found;
}

ViewInverse view_inverse(const Operator& op) {
  const auto row = std::ranges::lower_bound(kInverses, op.name, {}, &Inverse::name);
  return row != std::end(kInverses) && row->name == op.name ? row->inverse : ViewInverse{};
}

}  // namespace fxtrace
