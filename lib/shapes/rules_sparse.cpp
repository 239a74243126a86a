// Rules of sparse tensors in coordinate format (torch.sparse_coo): how they are made, and the operators that
// take them.  How many elements such a tensor has depends on data.
#include <algorithm>

#include "shapes/rule_helpers.h"

namespace fxtrace {
namespace {

Results make_sparse(Sizes sizes, Dtype dtype, std::int64_t sparse_dim) {
  TensorInfo info{.sizes = std::move(sizes), .dtype = dtype};
  if (sparse_dim > info.dim()) throw CannotTell{};
  if (sparse_dim > 0) info.sparse_dim = sparse_dim;  // else all of it was summed up, and it is dense
  return make(std::move(info));
}

// ---- What makes them of dense ones ----

Results sparse_coo_tensor(const RuleArguments& args) {
  if (!args.given("indices")) {
    const Sizes sizes = args.sizes("size");
    const auto rank = static_cast<std::int64_t>(sizes.size());
    return make_sparse(sizes, dtype_or(args, "dtype", ScalarType::kFloat32), rank);
  }
  const TensorInfo &indices = args.tensor("indices"), &values = args.tensor("values");
  require_rank(indices, {2}, "indices");
  if (values.sizes.empty()) throw CannotTell{};
  require(args.dimensions, Relation::kEqual, indices.sizes[1], values.sizes[0],
          "numbers of indices and values differ");
  const std::int64_t sparse_dim = number_of(indices.sizes[0]);
  constexpr std::int64_t kMaxRank = 64;  // torch has tensors of no more dimensions
  if (sparse_dim > kMaxRank) throw CannotTell{};
  const Dtype dtype = dtype_or(args, "dtype", values.dtype);
  if (args.given("size")) return make_sparse(args.sizes("size"), dtype, sparse_dim);
  Sizes sizes;  // as large as the largest index tells
  for (std::int64_t i = 0; i < sparse_dim; ++i) sizes.push_back(args.dimensions.fresh({0, std::nullopt}));
  return make_sparse(concatenated(sizes, slice_of(values.sizes, 1, values.sizes.size())), dtype, sparse_dim);
}

Results to_sparse(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  const bool is_coo = !args.given("layout") || args.number("layout") == kSparseLayout;
  if (!is_coo) throw CannotTell{};
  std::int64_t sparse_dim = self.sparse_dim.value_or(self.dim());
  if (args.given("sparse_dim")) sparse_dim = args.number("sparse_dim");
  if (args.given("dense_dim")) sparse_dim = number_of(SymInt(self.dim()) - args.size("dense_dim"));
  if (sparse_dim < 1) throw CannotTell{};
  return make_sparse(self.sizes, self.dtype, sparse_dim);
}

// ---- What takes them ----

Results to_dense(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  return make(self.sizes, dtype_or(args, "dtype", self.dtype));
}

Results converted(const RuleArguments& args) {
  if (args.given("other")) throw CannotTell{};
  TensorInfo self = args.tensor("self");
  self.dtype = dtype_or(args, "dtype", self.dtype);
  return make(std::move(self));
}

std::int64_t sparse_dim_of(const TensorInfo& info) {
  if (!info.sparse_dim) throw CannotTell{};
  return *info.sparse_dim;
}

SymInt element_count(const RuleArguments& args) { return args.dimensions.fresh({0, std::nullopt}); }

Results indices(const RuleArguments& args) {
  return make({sparse_dim_of(args.tensor("self")), element_count(args)}, ScalarType::kInt64);
}

Results values(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  const auto sparse_dim = static_cast<std::size_t>(sparse_dim_of(self));
  return make(concatenated({element_count(args)}, slice_of(self.sizes, sparse_dim, self.sizes.size())),
              self.dtype);
}

Results transposed(const RuleArguments& args, std::int64_t dim0, std::int64_t dim1) {
  TensorInfo self = args.tensor("self");
  const std::size_t first = dim_index(dim0, self), second = dim_index(dim1, self);
  const auto sparse_dim = static_cast<std::size_t>(sparse_dim_of(self));
  if (first >= sparse_dim || second >= sparse_dim) throw CannotTell{};
  std::swap(self.sizes[first], self.sizes[second]);
  return make(std::move(self));
}

Results transpose(const RuleArguments& args) {
  return transposed(args, args.number("dim0"), args.number("dim1"));
}

Results matrix_transpose(const RuleArguments& args) {
  if (args.tensor("self").dim() != 2) throw CannotTell{};
  return transposed(args, 0, 1);
}

// A sparse matrix with a dense one, a vector, or another sparse matrix.
Results multiplied(const RuleArguments& args, std::string_view left, std::string_view right) {
  const TensorInfo &a = args.tensor(left), &b = args.tensor(right);
  if (!a.sparse_dim || a.dim() != 2 || b.dim() < 1 || b.dim() > 2) throw CannotTell{};
  require_same_dtype(a.dtype, b.dtype, "dtypes of the factors");
  require(args.dimensions, Relation::kEqual, a.sizes[1], b.sizes[0], "inner sizes of the product differ");
  Sizes sizes{a.sizes[0]};
  if (b.dim() == 2) sizes.push_back(b.sizes[1]);
  return make_sparse(std::move(sizes), a.dtype, b.sparse_dim ? 2 : 0);
}

Results sparse_mm(const RuleArguments& args) { return multiplied(args, "sparse", "dense"); }
Results matmul(const RuleArguments& args) {
  return multiplied(args, "self", args.given("mat2") ? "mat2" : args.given("vec") ? "vec" : "other");
}

Results addmm(const RuleArguments& args) {
  if (args.tensor("self").sparse_dim || args.tensor("mat2").sparse_dim) throw CannotTell{};
  return multiplied(args, "mat1", "mat2");
}

Results sum(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  if (args.given("dtype") || !self.dtype || !is_floating(*self.dtype)) throw CannotTell{};
  if (!args.given("dim")) return make(Sizes(), self.dtype);
  if (args.name() == "aten::sum") throw CannotTell{};  // keepdim, and other layouts
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

// Times a number, or a tensor of the same sizes.
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

// Two sparse tensors, or a dense one first.
Results sum_of_two(const RuleArguments& args) {
  if (!args.is_tensor("other")) throw CannotTell{};
  TensorInfo self = args.tensor("self");
  const TensorInfo& other = args.tensor("other");
  if (!other.sparse_dim || self.sizes != other.sizes) throw CannotTell{};
  self.dtype = promoted(args, {"self", "other"});
  return make(std::move(self));
}

}  // namespace

RuleTable sparse_rules() {
  static constexpr std::pair<std::string_view, Rule> kRules[] = {
      {"_sparse_coo_tensor_unsafe", sparse_coo_tensor},
      {"_to_sparse", to_sparse},
      {"sparse_coo_tensor", sparse_coo_tensor},
      {"to_sparse", to_sparse},
  };
  return kRules;
}

RuleTable rules_of_sparse_tensors() {
  static constexpr std::pair<std::string_view, Rule> kRules[] = {
      {"_coalesce", same_as_first},
      {"_coalesced", same_as_first},
      {"_indices", indices},
      {"_sparse_addmm", addmm},
      {"_sparse_log_softmax", same_as_first},
      {"_sparse_mm", sparse_mm},
      {"_sparse_softmax", same_as_first},
      {"_sparse_sparse_matmul", matmul},
      {"_sparse_sum", sum},
      {"_values", values},
      {"abs", same_as_first},
      {"add", sum_of_two},
      {"addmm", addmm},
      {"clone", same_as_first},
      {"coalesce", same_as_first},
      {"detach", same_as_first},
      {"indices", indices},
      {"matmul", matmul},
      {"mm", matmul},
      {"mul", scaled},
      {"mv", matmul},
      {"neg", same_as_first},
      {"relu", same_as_first},
      {"sum", sum},
      {"t", matrix_transpose},
      {"to", converted},
      {"to_dense", to_dense},
      {"to_sparse", to_sparse},
      {"transpose", transpose},
      {"values", values},
  };
  return kRules;
}

}  // namespace fxtrace
