// Operators that make or take sparse tensors in coordinate format (torch.sparse_coo).  The number of stored
// elements depends on data.  Nested and jagged tensors and other sparse formats have no known shapes.
#include <algorithm>

#include "opinfo/operator_row.h"
#include "opinfo/rules/shape_helpers.h"
#include "opinfo/rules/sparse_rules.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

Results make_sparse(Sizes sizes, Dtype dtype, std::int64_t sparse_dim) {
  TensorInfo info{.sizes = std::move(sizes), .dtype = dtype};
  if (sparse_dim > info.dim()) throw CannotTell{};
  if (sparse_dim > 0)
    info.sparse_dim = sparse_dim;  // else all sparse dimensions were summed, and the result is dense
  return make(std::move(info));
}

// ---- Sparse tensors from dense ones ----

Results sparse_coo_tensor(const RuleArguments& args) {
  if (!args.is_given("indices")) {
    const Sizes sizes = args.sizes("size");
    const auto rank = static_cast<std::int64_t>(sizes.size());
    return make_sparse(sizes, dtype_or(args, "dtype", ScalarType::kFloat32), rank);
  }
  const TensorInfo &indices = args.tensor("indices"), &values = args.tensor("values");
  require_rank(indices, {2}, "indices");
  if (values.sizes.empty()) throw CannotTell{};
  require_equal(args.dimensions, indices.sizes[1], values.sizes[0], "numbers of indices and values");
  const std::int64_t sparse_dim = number_of(indices.sizes[0]);
  constexpr std::int64_t kMaxRank = 64;  // the most dimensions of a tensor of torch
  if (sparse_dim > kMaxRank) throw CannotTell{};
  const Dtype dtype = dtype_or(args, "dtype", values.dtype);
  if (args.is_given("size")) return make_sparse(args.sizes("size"), dtype, sparse_dim);
  Sizes sizes;  // torch takes them from the largest indices
  for (std::int64_t i = 0; i < sparse_dim; ++i) sizes.push_back(args.dimensions.fresh({0, std::nullopt}));
  return make_sparse(concatenated(sizes, slice_of(values.sizes, 1, values.sizes.size())), dtype, sparse_dim);
}

std::int64_t sparse_dim_of(const TensorInfo& info) {
  if (!info.sparse_dim) throw CannotTell{};
  return *info.sparse_dim;
}

SymInt element_count(const RuleArguments& args) { return args.dimensions.fresh({0, std::nullopt}); }

Results transposed(const RuleArguments& args, std::int64_t dim0, std::int64_t dim1) {
  TensorInfo self = args.tensor("self");
  const std::size_t first = dim_index(dim0, self), second = dim_index(dim1, self);
  const auto sparse_dim = static_cast<std::size_t>(sparse_dim_of(self));
  if (first >= sparse_dim || second >= sparse_dim) throw CannotTell{};
  std::swap(self.sizes[first], self.sizes[second]);
  return make(std::move(self));
}

// The product of a sparse matrix with a dense matrix, a vector, or another sparse matrix.
Results sparse_product(const RuleArguments& args, std::string_view left, std::string_view right) {
  const TensorInfo &a = args.tensor(left), &b = args.tensor(right);
  if (!a.sparse_dim || a.dim() != 2 || b.dim() < 1 || b.dim() > 2) throw CannotTell{};
  require_same_dtype(a.dtype, b.dtype, {left, right});
  require_equal(args.dimensions, a.sizes[1], b.sizes[0], "inner sizes", {left, right});
  Sizes sizes{a.sizes[0]};
  if (b.dim() == 2) sizes.push_back(b.sizes[1]);
  return make_sparse(std::move(sizes), a.dtype, b.sparse_dim ? 2 : 0);
}

}  // namespace

namespace sparse {

Results to_sparse(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  const bool is_coo = !args.is_given("layout") || args.number("layout") == kSparseLayout;
  if (!is_coo) throw CannotTell{};
  std::int64_t sparse_dim = self.sparse_dim.value_or(self.dim());
  if (args.is_given("sparse_dim")) sparse_dim = args.number("sparse_dim");
  if (args.is_given("dense_dim")) sparse_dim = number_of(SymInt(self.dim()) - args.size("dense_dim"));
  if (sparse_dim < 1) throw CannotTell{};
  return make_sparse(self.sizes, self.dtype, sparse_dim);
}

// ---- Operators on sparse tensors ----

Results to_dense(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  return make(self.sizes, dtype_or(args, "dtype", self.dtype));
}

Results converted(const RuleArguments& args) {
  if (args.is_given("other")) throw CannotTell{};
  TensorInfo self = args.tensor("self");
  self.dtype = dtype_or(args, "dtype", self.dtype);
  return make(std::move(self));
}

Results indices(const RuleArguments& args) {
  return make({sparse_dim_of(args.tensor("self")), element_count(args)}, ScalarType::kInt64);
}

Results values(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  const auto sparse_dim = static_cast<std::size_t>(sparse_dim_of(self));
  return make(concatenated({element_count(args)}, slice_of(self.sizes, sparse_dim, self.sizes.size())),
              self.dtype);
}

Results transpose(const RuleArguments& args) {
  return transposed(args, args.number("dim0"), args.number("dim1"));
}

Results matrix_transpose(const RuleArguments& args) {
  if (args.tensor("self").dim() != 2) throw CannotTell{};
  return transposed(args, 0, 1);
}

Results sparse_mm(const RuleArguments& args) { return sparse_product(args, "sparse", "dense"); }

Results matmul(const RuleArguments& args) {
  return sparse_product(args, "self",
                        args.is_given("mat2")  ? "mat2"
                        : args.is_given("vec") ? "vec"
                                               : "other");
}

Results addmm(const RuleArguments& args) {
  if (args.tensor("self").sparse_dim || args.tensor("mat2").sparse_dim) throw CannotTell{};
  return sparse_product(args, "mat1", "mat2");
}

// smm(): the result is sparse, whatever the second factor is.
Results smm(const RuleArguments& args) {
  Results results = sparse_product(args, "self", "mat2");
  const TensorInfo& product = first_of(results);
  return make_sparse(product.sizes, product.dtype, 2);
}

Results sum(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  if (args.is_given("dtype") || !self.dtype || !is_floating(*self.dtype)) throw CannotTell{};
  if (!args.is_given("dim")) return make(Sizes(), self.dtype);
  if (args.name() == "aten::sum") throw CannotTell{};  // it has keepdim, and may give another layout
  std::vector<std::int64_t> dims = normalize_dims(args.numbers("dim"), self.dim());
  Sizes sizes;
  std::int64_t sparse_dim = 0;
  for (std::int64_t i = 0; i < self.dim(); ++i) {
    if (std::ranges::find(dims, i) != dims.end()) continue;
    sizes.push_back(self.sizes[static_cast<std::size_t>(i)]);
    if (i < sparse_dim_of(self)) ++sparse_dim;
  }
  return make_sparse(std::move(sizes), self.dtype, sparse_dim);
}

// The product with a number, or with a tensor of the same sizes.
Results scaled(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  if (!self.sparse_dim) throw CannotTell{};
  if (args.is_tensor("other")) {
    const TensorInfo& other = args.tensor("other");
    if (!other.sizes.empty() && other.sizes != self.sizes) throw CannotTell{};
  }
  self.dtype = promoted(args, {"self", "other"});
  if (!self.dtype || !is_floating(*self.dtype)) throw CannotTell{};
  return make(std::move(self));
}

// The sum of two sparse tensors, or of a dense and a sparse one.
Results sum_of_two(const RuleArguments& args) {
  if (!args.is_tensor("other")) throw CannotTell{};
  TensorInfo self = args.tensor("self");
  const TensorInfo& other = args.tensor("other");
  if (!other.sparse_dim || self.sizes != other.sizes) throw CannotTell{};
  self.dtype = promoted(args, {"self", "other"});
  return make(std::move(self));
}

}  // namespace sparse

namespace {

constexpr OperatorRow kSparseRows[] = {
    {"_coalesce _coalesced _sparse_log_softmax _sparse_softmax",
     {.traits = kNoMacs, .of_sparse = same_as_first}},
    {"_convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo _gather_sparse "
     "_jagged_to_padded_dense_forward _nested_compute_contiguous_strides_offsets "
     "_nested_from_padded _nested_from_padded_and_nested_example _nested_from_padded_tensor "
     "_nested_get_jagged_dummy _nested_get_lengths _nested_get_max_seqlen "
     "_nested_get_min_seqlen _nested_get_offsets _nested_get_ragged_idx _nested_select "
     "_nested_sum _nested_tensor_from_mask _nested_tensor_from_mask_left_aligned "
     "_nested_tensor_from_tensor_list _nested_tensor_size _nested_tensor_storage_offsets "
     "_nested_tensor_strides _padded_dense_to_jagged_forward _sparse_bsc_tensor_unsafe "
     "_sparse_bsr_tensor_unsafe _sparse_compressed_tensor_unsafe _sparse_coo_tensor_with_dims "
     "_sparse_coo_tensor_with_dims_and_tensors _sparse_csc_tensor_unsafe _sparse_csr_prod "
     "_sparse_csr_sum _sparse_csr_tensor_unsafe _sparse_mask_projection "
     "_sparse_semi_structured_apply _sparse_semi_structured_apply_dense "
     "_sparse_semi_structured_tile _spdiags _to_dense _to_sparse_bsc _to_sparse_bsr "
     "_to_sparse_csc _to_sparse_csr _to_sparse_semi_structured "
     "_validate_compressed_sparse_indices _validate_sparse_bsc_tensor_args "
     "_validate_sparse_bsr_tensor_args _validate_sparse_compressed_tensor_args "
     "_validate_sparse_coo_tensor_args _validate_sparse_csc_tensor_args "
     "_validate_sparse_csr_tensor_args copy_sparse_to_sparse nested_to_padded_tensor "
     "resize_as_sparse sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor "
     "sparse_csc_tensor sparse_csr_tensor sparse_mask sparse_resize sparse_resize_and_clear "
     "to_padded_tensor to_sparse_bsc to_sparse_bsr to_sparse_csc to_sparse_csr",
     {.traits = kNoMacs}},
    {"_indices indices", {.of_sparse = sparse::indices}},
    {"_sparse_addmm", {.of_sparse = sparse::addmm}},
    {"_sparse_coo_tensor_unsafe sparse_coo_tensor", {.traits = kNoMacs, .shape = sparse_coo_tensor}},
    {"_sparse_mm", {.of_sparse = sparse::sparse_mm}},
    {"_sparse_sparse_matmul", {.of_sparse = sparse::matmul}},
    {"_sparse_sum", {.traits = kNoMacs, .of_sparse = sparse::sum}},
    {"_to_sparse", {.traits = kNoMacs, .shape = sparse::to_sparse}},
    {"_values", {.of_sparse = sparse::values}},
    {"coalesce", {.traits = kMayBeArgument | kMayCopy, .of_sparse = same_as_first}},
    {"smm", {.of_sparse = sparse::smm}},
    {"to_dense", {.traits = kNoMacs, .of_sparse = sparse::to_dense}},
    {"to_sparse", {.traits = kNoMacs, .shape = sparse::to_sparse, .of_sparse = sparse::to_sparse}},
    {"values", {.traits = kPlain | kMovesElements, .of_sparse = sparse::values}},
};

}  // namespace

OperatorRows sparse_rows() { return kSparseRows; }

}  // namespace fxtrace::internal
