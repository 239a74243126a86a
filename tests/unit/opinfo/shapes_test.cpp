// Shape rules, without LibTorch: calls and their results by the rules, one line for each case.
#include <algorithm>
#include <span>
#include <string>

#include "catch.h"
#include "opinfo/infer.h"
#include "shapes/tensor_options.h"
#include "tests/fuzz/call_text.h"

using namespace fxtrace::internal;  // NOLINT(google-build-using-namespace)

namespace {

struct Case {
  const char* call;
  const char* result;
};

void check_rules(std::span<const Case> cases) {
  for (const Case& item : cases) {
    INFO(item.call);
    CHECK(shapes_of(item.call) == item.result);
  }
}

}  // namespace

TEST_CASE("shape rules: elements that are computed one by one", "[shapes]") {
  static constexpr Case kCases[] = {
      {"sin(int64[n])", "float32[n]"},
      {"relu(float32[n,4])", "float32[n,4]"},
      {"abs(complex64[n])", "float32[n]"},
      {"prim::abs(complex64[n])", "float32[n]"},
      {"add.Tensor(float32[n,1,4], float32[m,1])", "float32[n,m,4]"},
      {"add.Tensor(float32[a], float32[b])", "float32[u0]"},
      {"add.Tensor(float32[a], float32[3])", "float32[3]"},
      {"add.Tensor(float32[n,4], float64[])", "float32[n,4]"},
      {"add.Tensor(int64[n], float32[])", "float32[n]"},
      {"add.Scalar(int64[n], 1.5)", "float32[n]"},
      {"add.Scalar(int64[n], 2)", "int64[n]"},
      {"add.Scalar(uint8[n], True)", "uint8[n]"},
      {"mul.Tensor(float16[n], bfloat16[n])", "float32[n]"},
      {"mul.Tensor(float32[n], ?[n])", "?[n]"},
      {"mul.Tensor(float32[n], ?)", "?[n]"},
      {"div.Tensor(int64[n], int64[n])", "float32[n]"},
      {"div.Tensor_mode(int64[n], int64[n], rounding_mode='floor')", "int64[n]"},
      {"eq.Tensor(float32[n,1], float32[m])", "bool[n,m]"},
      {"where.self(bool[n,1], float32[m], float64[])", "float32[n,m]"},
      {"where(bool[n,4])", "[int64[u0],int64[u0]]"},
      {"where.self(float32[n], float32[n], float32[n])", "raises: condition is float32, expected bool"},
      {"glu(float32[n,8])", "float32[n,4]"},
      {"to.dtype(float32[n], float16)", "float16[n]"},
      {"to.dtype(float32[n], 7)", "float64[n]"},
      {"to.other(float32[n], float64[3]@cuda:0)", "float64[n]@cuda:0"},
      {"complex(float32[n], float32[n])", "complex64[n]"},
      {"view_as_real(complex64[n,3])", "float32[n,3,2]"},
      {"add.Tensor(float32[n,3], float32[n,4])",
       "raises: sizes of self and other in dimension -1 are 3 and 4, expected equal or 1"},
      {"add_.Tensor(float32[n,3], float64[3])", "float32[n,3]"},
      {"add_.Tensor(float32[3], float32[n,3])",
       "raises: the result and self have 2 and 1 dimensions, expected equally many"},
      {"add_.Tensor(float32[n,1], float32[3])",
       "raises: sizes of the result and self in dimension 1 are 3 and 1, expected equal"},
      {"add_.Tensor(float32[a], float32[b])", "float32[a]"},
      {"add_.Scalar(int64[n], 1.5)", "raises: the result is float32, which cannot be cast to int64 in place"},
      {"div_.Tensor(int64[n], int64[n])",
       "raises: the result is float32, which cannot be cast to int64 in place"},
      {"eq_.Tensor(float32[n], float32[n])", "float32[n]"},
      {"normal_(float32[n])", "float32[n]"},
      {"copy_(float32[n,3], int64[3])", "float32[n,3]"},
      {"copy_(float32[n,3], int64[4])", "raises: src has size 4 in dimension 0, expected 1 or 3"},
      {"fill_.Tensor(float32[n], float32[2])", "raises: value has 1 dimension, expected 0"},
      {"clamp_(int64[n], 0.5)", "raises: the result is float32, which cannot be cast to int64 in place"},
      {"add.out(float32[n], float32[n], out=float32[n])", "float32[n]"},
      {"add.out(float32[n], float32[n,1], out=float32[n])", "?"},
      {"add.out(float32[1], float32[1], out=float32[4])", "?"},
      {"sin.out(float32[4], out=float64[4])", "float64[4]"},
      {"sum.IntList_out(float32[n,4], [0], out=float32[4])", "float32[4]"},
      {"sum.IntList_out(float32[n,4], [0], out=float32[n])", "?"},
      {"max.dim_max(float32[n,4], 0, max=float32[4], max_values=int64[4])", "? ?"},
      {"native_dropout(float32[n,3], 0.5, True)", "float32[n,3] bool[n,3]"},
      {"softmax.int(float16[n,3], -1, float32)", "float32[n,3]"},
      {"lerp.Scalar(float32[n,1], float32[4], 0.5)", "float32[n,4]"},
      {"special_zeta(float32[n,1], float32[m])", "float32[n,m]"},
      {"special_airy_ai(int64[n])", "float32[n]"},
      {"special_hermite_polynomial_h.n_scalar(float64[n], 3)", "float64[n]"},
      {"special_chebyshev_polynomial_t(int64[n,1], int64[m])", "float32[n,m]"},
      {"polygamma(1, int64[n])", "float32[n]"},
      {"igamma(float32[n], float64[n])", "float64[n]"},
      {"ldexp.Tensor(float16[n], int64[n])", "float32[n]"},
      {"frexp.Tensor(float64[n])", "float64[n] int32[n]"},
      {"masked_scatter(float32[1,n], bool[n], float32[h])", "float32[1,n]"},
      {"masked_fill.Scalar(float32[n,3], bool[3], 0)", "float32[n,3]"},
      {"masked_fill.Scalar(float32[n,3], int64[3], 0)", "raises: mask is int64, expected bool"},
      {"prelu(float32[n,3,h], float32[3])", "float32[n,3,h]"},
      {"prelu(float32[n,4,h], float32[3])",
       "raises: size of weight and channels of self are 3 and 4, expected equal"},
      {"glu(float32[n,7])", "raises: size of self in dimension -1 is 7, expected a multiple of 2"},
      {"embedding_bag(float32[10,5], bool[n], int64[2])", "float32[2,5] ? ? ?"},
      {"embedding_bag(float32[10,5], float32[n], int64[2])",
       "raises: indices and offsets have the common dtype float32, expected int64 or int32"},
      {"conv2d.padding(float32[n,3,h,w], float32[8,3,1,1], float16[8], padding='same')", "float32[n,8,h,w]"},
      {"reshape(float32[n,5], [5,-2])", "raises: a size of the result is -2, expected >= -1"},
      {"reshape(float32[n,5], [-1,-1])", "raises: two sizes of the result are -1, expected at most one"},
      {"einsum('ij,jk->ik', [float32[n,3],float32[3,4]])", "float32[n,4]"},
      {"einsum('i,i->i', [float32[n],float64[n]])", "?[n]"},
      {"einsum('ij,jk->ik', [float32[n,3],float32[1,3,4]])",
       "raises: operand of the equation has 3 dimensions, expected 2"},
      {"einsum('...ij->i', [float32[n]])",
       "raises: operand of the equation has 1 dimension, expected 2 or more"},
      {"einsum('ii->i', [float32[1,3]])",
       "raises: sizes of a letter that occurs twice are 1 and 3, expected equal"},
      {"einsum('ij->z', [float32[1,3]])",
       "raises: the result of the equation has a letter that no operand has, or has one twice"},
      {"einsum('ij,jk->ik', [float32[n,3]])", "raises: tensors has length 1, expected 2"},
      {"diff(float32[5,n], 2, 0, None, complex64[2,n])", "complex64[5,n]"},
      {"diff(float32[5,3], 1, 0, float32[2,4])",
       "raises: sizes of prepend and self in dimension 1 are 4 and 3, expected equal"},
      {"binary_cross_entropy(float32[2,5], float32[2,6])",
       "raises: sizes of self and target in dimension -1 are 5 and 6, expected equal or 1"},
      {"binary_cross_entropy(float32[2,3,1], float32[2,3])", "float32[]"},
      {"argsort(float32[n], ?)", "int64[n]"},
      {"avg_pool2d(float32[n,3,8,8], [2,2], [], [0,0], False, True, ?)", "float32[n,3,4,4]"},
      {"conv2d(float32[0,3,h,w], float32[8,3,1,1], dilation=[0,0])", "float32[0,8,h,w]"},
      {"einsum('ij,jk->ik', [?[2,3],float32[3,4]])", "float32[2,4]"},
      {"multinomial(float32[n], 0)", "raises: num_samples is 0, expected > 0"},
      {"argsort(float32[n], 1)", "raises: dimension 1 is out of range, expected -1 to 0"},
      {"index_select(float32[], 2, int64[1])", "raises: dimension 2 is out of range, expected -1 to 0"},
      {"sub.Tensor(bool[n], bool[n])", "raises: self is bool, expected a dtype other than bool"},
      {"neg(bool[n])", "raises: self is bool, expected a dtype other than bool"},
      {"flip(float32[n,3], [1,-1])", "raises: dimension 1 is named twice"},
      {"tril(float32[n])", "raises: self has 1 dimension, expected 2 or more"},
      {"lerp.Tensor(float32[n], float32[n], float64[])", "float32[n]"},
      {"softmax.int(float32[n,3], 2)", "raises: dimension 2 is out of range, expected -2 to 1"},
      {"float_power.Tensor_Scalar(float32[n], 2)", "float64[n]"},
      {"clamp(int64[n], 0.5)", "float32[n]"},
      {"prelu(?)", "?"},
  };
  check_rules(kCases);
}

TEST_CASE("shape rules: tensors from sizes and numbers", "[shapes]") {
  static constexpr Case kCases[] = {
      {"zeros([n,4])", "float32[n,4]"},
      {"zeros([n,4], dtype=int64, device=@cuda:0)", "int64[n,4]@cuda:0"},
      {"full([2,n], 1)", "int64[2,n]"},
      {"full([2,n], 1.5)", "float32[2,n]"},
      {"ones_like(float16[n,2])", "float16[n,2]"},
      {"arange(n)", "int64[n]"},
      {"arange.start_step(0, n, 3)", "int64[(n+2)//3]"},
      {"arange.start_step(0.0, 1.0, 0.25)", "float32[4]"},
      {"arange.start(n, 10)", "int64[10-n]"},
      {"arange.start(-n, n)", "int64[n*2]"},
      {"arange.start(?, n)", "?[u0]"},
      {"arange.start_step(0, n, ?, dtype=int64)", "int64[u0]"},
      {"new_zeros(float64[3], [n])", "float64[n]"},
      {"zeros([n,-1-m])", "raises: a size of the result is -m-1, expected >= 0"},
      {"zeros([n,3-m])", "float32[n,3-m]"},
      {"eye(n)", "float32[n,n]"},
      {"linspace(0, 1, n)", "float32[n]"},
      {"linspace.Tensor_Tensor(float32[2], float32[], 5)", "raises: start has 1 dimension, expected 0"},
      {"arange.start_step(1.5, 5.0, 2.0, dtype=int64)", "int64[2]"},
      {"range.step(0.0, 1.0, 0.25)", "float32[5]"},
      {"vander(int32[n])", "int64[n,n]"},
      {"linalg_vander(float32[m,n], N=4)", "float32[m,n,4]"},
      {"combinations(float32[5], 3)", "float32[10,3]"},
      {"combinations(float32[5], 3, True)", "float32[35,3]"},
      {"combinations(float32[2], 3)", "float32[0,3]"},
      {"combinations(float32[n], 2)", "?"},
      {"hann_window(400)", "float32[400]"},
      {"one_hot(int64[n], 10)", "int64[n,10]"},
      {"one_hot(int64[n])", "int64[n,u0]"},
      {"multinomial(float32[n,5], 2)", "int64[n,2]"},
      {"tril_indices(3, 4)", "int64[2,6]"},
      {"tensor([[1,2,3],[4,5,6]])", "int64[2,3]"},
      {"tensor([1.5, n])", "float32[2]"},
      {"tensor.float(1.5)", "float32[]"},
      {"randperm(n)", "int64[n]"},
      {"scalar_tensor(n)", "float32[]"},
  };
  check_rules(kCases);
}

TEST_CASE("shape rules: other shapes, parts and company", "[shapes]") {
  static constexpr Case kCases[] = {
      {"view(float32[n,3,4], [n,-1])", "float32[n,12]"},
      {"view(float32[n,12], [n,3,-1])", "float32[n,3,4]"},
      {"view(float32[n,12], [n,3,a-b])", "float32[n,3,4]"},
      {"view(float32[n,12], [n,a-b,a-b])", "float32[n,u0,u1]"},
      {"view.dtype(float32[n,4], int16)", "int16[n,8]"},
      {"reshape(float32[n,6], [-1])", "float32[n*6]"},
      {"reshape(float32[0], [n,1,-1])", "float32[n,1,0]"},
      {"reshape(float32[0], [0,1,-1])", "raises: size -1 is ambiguous, as another size is 0"},
      {"reshape(float32[n,0], [0,-1])", "raises: size -1 is ambiguous, as another size is 0"},
      {"reshape(float32[2,6], [5,-1])",
       "raises: numbers of elements before and after are 12 and 10, expected equal"},
      {"expand(float32[n,1], [n,4])", "float32[n,4]"},
      {"expand(float32[n,3], [n,4])", "raises: size[1] is 4, expected 3"},
      {"expand(float32[n,1], [n,a-b])", "float32[n,u0]"},
      {"expand(float32[20,1], [a-b,-1])", "float32[20,1]"},
      {"repeat(float32[n,3], [2,1,4])", "float32[2,n,12]"},
      {"permute(float32[n,3,h,w], [0,2,3,1])", "float32[n,h,w,3]"},
      {"transpose.int(float32[n,3,4], 1, -1)", "float32[n,4,3]"},
      {"transpose.int(float32[n,3,4], 1, 3)", "raises: dimension 3 is out of range, expected -3 to 2"},
      {"flatten.using_ints(float32[n,3,h,w], 1)", "float32[n,h*w*3]"},
      {"flatten.using_ints(float32[])", "float32[1]"},
      {"flatten.using_ints(float32[], 1)", "raises: dimension 1 is out of range, expected -1 to 0"},
      {"unflatten.int(float32[n,12], 1, [3,-1])", "float32[n,3,4]"},
      {"unsqueeze(float32[n], -1)", "float32[n,1]"},
      {"unsqueeze_(float32[n], 0)", "float32[1,n]"},
      {"squeeze(float32[n,1,3])", "?"},
      {"squeeze.dim(float32[n,1,3], 1)", "float32[n,3]"},
      {"squeeze.dim(float32[2,1,3], 1)", "float32[2,3]"},
      {"select.int(float32[n,3], 1, 0)", "float32[n]"},
      {"slice.Tensor(float32[n,8], 1, 2, -1)", "float32[n,5]"},
      {"slice.Tensor(float32[n,8], 0, 0, 64)", "float32[min(64,n),8]"},
      {"slice.Tensor(float32[8], 0, 0, ?)", "float32[u0]"},
      {"slice.Tensor(float32[b,8], 0, -a)", "float32[min(a-b*min(1,a)+b,b),8]"},
      {"slice.Tensor(float32[b,8], 0, 0, -a-1)", "float32[max(0,b-a-1),8]"},
      {"slice.Tensor(float32[n,8], 1, 0, 4, 0)", "raises: step is 0, expected > 0"},
      {"narrow(float32[n,8], 1, 0, 3)", "float32[n,3]"},
      {"cat([float32[n,2], float32[n,3]], 1)", "float32[n,5]"},
      {"cat([float32[n,2], float64[n,3]], 0)",
       "raises: sizes of an item of tensors and the first in dimension 1 are 3 and 2, expected equal"},
      {"cat(?)", "?"},
      // A tensor that may be empty is taken as empty where it does not fit otherwise.
      {"cat([float32[a], float32[n,3]], 1)", "float32[n,3]"},
      {"cat([float32[n,3], float32[a]], 1)", "float32[n,3]"},
      {"cat([float32[n,3], float32[0]], 1)", "float32[n,3]"},
      {"cat([float32[n,3], float32[n]], 1)", "raises: an item of tensors has 1 dimension, expected 2"},
      {"cat([float32[a], float32[n]], 0)", "float32[a+n]"},
      {"cat([float32[a]], 4)", "?"},
      {"cat([float32[n]], 4)", "raises: dimension 4 is out of range, expected -1 to 0"},
      {"stack([float32[n,2], float32[n,2]], -1)", "float32[n,2,2]"},
      {"split.Tensor(float32[10,n], 4)", "[float32[4,n],float32[4,n],float32[2,n]]"},
      {"split.Tensor(float32[n,4], 2)", "?"},
      {"split_with_sizes(float32[10,n], [3,7])", "[float32[3,n],float32[7,n]]"},
      {"split_with_sizes(?, [3,7])", "[?,?]"},
      {"split_with_sizes(float32[10,n], [3,6])",
       "raises: sum of split sizes and size of self along dim are 9 and 10, expected equal"},
      {"chunk(float32[n,9], 2, 1)", "[float32[n,5],float32[n,4]]"},
      {"chunk(float32[n*2,9], 2)", "[float32[n,9],float32[n,9]]"},
      {"unbind.int(float32[3,n])", "[float32[n],float32[n],float32[n]]"},
      {"unbind.int(float32[n,3])", "?"},
      {"tensor_split.sections(?, 3)", "[?,?,?]"},
      {"tensor_split.indices(?, [2,5])", "[?,?,?]"},
      {"tensor_split.sections(float32[10], 3)", "[float32[4],float32[3],float32[3]]"},
      {"diagonal(float32[n,3,3], 0, 1, 2)", "float32[n,3]"},
      {"diagonal(float32[n,3,3], 0, 1, -2)",
       "raises: both dimensions of the diagonal are 1, expected two different ones"},
      {"diag_embed(float32[n,m], -1)", "float32[n,m+1,m+1]"},
      {"diag_embed(float32[n,m], 0, 2, 0)", "float32[m,n,m]"},
      {"diag_embed(float32[n,m], 0, 2, 2)",
       "raises: both dimensions of the diagonal are 2, expected two different ones"},
      {"diag_embed(float32[n], -9223372036854775808)", "?"},
      {"diag(float32[n], -9223372036854775808)", "?"},
      {"diagflat(float32[n], -9223372036854775808)", "?"},
      {"tril_indices(3, 4, -9223372036854775808)", "?"},
      {"movedim.int(float32[n,3,4], 1, -1)", "float32[n,4,3]"},
      {"roll(float32[n,3], [1])", "float32[n,3]"},
      {"unfold(float32[n,10], 1, 3, 2)", "float32[n,4,3]"},
      {"meshgrid([float32[n], float32[m]])", "[float32[n,m],float32[n,m]]"},
      {"broadcast_tensors([float32[n,1], float32[m]])", "[float32[n,m],float32[n,m]]"},
      {"pixel_shuffle(float32[n,16,h,w], 2)", "float32[n,4,h*2,w*2]"},
      {"t(float32[n,3])", "float32[3,n]"},
      {"vstack([float32[n], float32[n]])", "float32[2,n]"},
      {"tile(float32[n,3], [2])", "float32[n,6]"},
      {"repeat(float32[n,3], [2])", "raises: repeats has length 1, expected 2 or more"},
      {"view_as(float32[n,6], float32[n,2,3])", "float32[n,2,3]"},
      {"view_as(float32[2,6], float32[3,3])",
       "raises: numbers of elements of self and other are 12 and 9, expected equal"},
      {"expand_as(float32[2,1], float32[3,n])", "raises: self has size 2 in dimension 0, expected 1 or 3"},
      {"select_scatter(float32[n,3,4], float32[n,4], 1, 0)", "float32[n,3,4]"},
      {"select_scatter(float32[n,3,4], float32[n,3], 1, 0)",
       "raises: sizes of src and the part of self in dimension 1 are 3 and 4, expected equal"},
      {"slice_scatter(float32[n,8], float32[n,4], 1, 2, 6)", "float32[n,8]"},
      {"slice_scatter(float32[n,8], float32[n,3], 1, 2, 6)",
       "raises: sizes of src and the part of self in dimension 1 are 3 and 4, expected equal"},
      {"diagonal_scatter(float32[n,3,3], float32[n,3], 0, 1, 2)", "float32[n,3,3]"},
      {"slice.Tensor(float32[], 0, 0, 1)", "raises: self has 0 dimensions, expected 1 or more"},
      {"narrow(float32[n,8], 1, 0, 9)", "raises: length is 9, expected <= 8"},
      {"unfold(float32[n,3], 1, 4, 1)", "raises: size is 4, expected <= 3"},
      {"flatten_dense_tensors([float32[n,2], float32[3]])", "float32[n*2+3]"},
      {"unflatten_dense_tensors(float32[m], [float32[n,2], float32[3]])", "[float32[n,2],float32[3]]"},
      {"sum_to_size(int32[n,3], [n,3])", "int32[n,3]"},
      {"sum_to_size(int32[n,3], [1,3])", "?"},
      {"sum_to_size(int32[2,3], [1,3])", "int64[1,3]"},
      {"cartesian_prod([float32[n], float32[]])", "raises: an item of tensors has 0 dimensions, expected 1"},
      {"pixel_shuffle(float32[n,9,h,w], 2)",
       "raises: size of self in dimension -3 is 9, expected a multiple of 4"},
      {"view_as_real(float32[n])", "raises: self is float32, expected a complex dtype"},
      {"matrix_H(float32[2,n,n])", "raises: self has 3 dimensions, expected 0 or 2"},
  };
  check_rules(kCases);
}

TEST_CASE("shape rules: parts between positions of either sign are those of Python", "[shapes]") {
  for (const std::string position : {"-a", "a-3", "3-a", "a-b", "1-a//2"}) {
    for (const bool is_start : {true, false}) {
      const std::string ends = is_start ? position : "0, " + position;
      const std::string shape = shapes_of("slice.Tensor(float32[b], 0, " + ends + ")");
      INFO(ends << " gives " << shape);
      const auto count = SymInt::parse(shape.substr(shape.find('[') + 1, shape.size() - shape.find('[') - 2));
      REQUIRE(count);
      for (std::int64_t a = 0; a < 8; ++a) {
        for (std::int64_t b = 0; b < 5; ++b) {
          std::int64_t at = *SymInt::parse(position)->evaluate({{"a", a}, {"b", b}});
          at = std::clamp<std::int64_t>(at < 0 ? at + b : at, 0, b);
          CHECK(count->evaluate({{"a", a}, {"b", b}}) == (is_start ? b - at : at));
        }
      }
    }
  }
}

TEST_CASE("shape rules: sums, orders and spectra", "[shapes]") {
  static constexpr Case kCases[] = {
      {"sum(int32[n,3])", "int64[]"},
      {"sum.dim_IntList(float32[n,3,4], [1], True)", "float32[n,1,4]"},
      {"mean.dim(float32[n,3,4], [-1])", "float32[n,3]"},
      {"mean.dim(float32[n,3,4], [3])", "raises: dimension 3 is out of range, expected -3 to 2"},
      {"argmax(float32[n,3], 1)", "int64[n]"},
      {"max.dim(float32[n,3], 1)", "float32[n] int64[n]"},
      {"_trilinear(float32[n,3], float32[7,3,5], float32[n,5], [1,3], [0], [1,2], [2,3])", "float32[n,7]"},
      {"max(float32[n,3])", "float32[]"},
      {"any.dim(float32[n,3], 0)", "bool[3]"},
      {"any.dims(float32[n,3])", "bool[]"},
      {"any.dims(float32[n,3], [])", "bool[n,3]"},
      {"all.dims(float32[n,3], [], True)", "bool[n,3]"},
      {"segment_reduce(float32[n,3], 'sum', lengths=int64[k])", "float32[k,3]"},
      {"topk(float32[n,10], 3)", "float32[n,3] int64[n,3]"},
      {"sort(float32[n,3])", "float32[n,3] int64[n,3]"},
      {"cumsum(int32[n,3], 1)", "int64[n,3]"},
      {"var_mean.correction(float32[n,3], [1])", "float32[n] float32[n]"},
      {"linalg_vector_norm(complex64[n,3], 2, [1])", "float32[n]"},
      {"norm.ScalarOpt_dim(float32[n,3], 2, [1], True)", "float32[n,1]"},
      {"fft_rfft(float32[n,10])", "complex64[n,6]"},
      {"fft_irfft(complex64[n,6])", "float32[n,10]"},
      {"_fft_r2c(float32[n,10], [0, 1], 0, True)", "complex64[n,6]"},
      {"_fft_r2c(float64[n,10], [1, 0], 0, False)", "complex128[n,10]"},
      {"_fft_c2r(complex64[n,6], [1], 2, 11)", "float32[n,11]"},
      {"_fft_c2c(complex64[n,6], [1], 0, True)", "complex64[n,6]"},
      {"std(int64[3])", "raises: self is int64, expected a floating dtype"},
      {"mean(int64[n])", "raises: self is int64, expected a floating or complex dtype"},
      {"mean(quint8[n])", "quint8[]"},
      {"sum.dim_IntList(float32[n,3], [1,-1])", "raises: dimension 1 is named twice"},
      {"amax(float32[n,0], [1])", "raises: size of self along dim is 0, expected > 0"},
      {"topk(float32[n,3], 4)", "raises: k is 4, expected <= 3"},
      {"cov(int64[n,3])", "?"},
      {"cov(int64[2,n])", "float32[2,2]"},
      {"cov(float32[2,3], 1, None, float64[3])", "float64[2,2]"},
      {"cov(float32[2,3], 1, None, float64[4])",
       "raises: elements of aweights and observations of self are 4 and 3, expected equal"},
      {"trapezoid.dx(int64[n,3])", "float32[n]"},
      {"trapezoid.x(float32[n,3], float64[3])", "float64[n]"},
      {"trapezoid.x(float32[n,3], float64[4])",
       "raises: size of x and size of y along dim are 4 and 3, expected equal"},
      {"cumulative_trapezoid.dx(float32[n,3])", "float32[n,2]"},
      {"gradient.scalarint(float32[4,5])", "[float32[4,5],float32[4,5]]"},
      {"gradient.scalarint(float32[n,5], dim=1)", "[float32[n,5]]"},
      {"gradient.scalarint(float32[n,1], dim=1)", "raises: size of self in dimension 1 is 1, expected > 1"},
      {"hash_tensor(float32[n,3], [1])", "uint64[n]"},
      {"nuclear_norm(float32[n,3,4])", "float32[n]"},
      {"quantile(float32[n,3], float32[2], 1)", "float32[2,n]"},
      {"quantile(int64[n], float32[2])", "raises: self is int64, expected float32 or float64"},
      {"dist(float32[2,n], float32[3,n])",
       "raises: sizes of self and other in dimension -2 are 2 and 3, expected equal or 1"},
      {"fft_fft2(float32[n,4,5], None, [1,1])", "raises: dimension 1 is named twice"},
      {"fft_rfft(complex64[n,4])", "raises: self is complex64, expected a real dtype"},
      {"fft_fft(float16[n,4])", "raises: self is float16: the CPU kernel takes no half precision"},
      {"fft_fft(float16[n,4]@cuda:0)", "complex32[n,4]@cuda:0"},
  };
  check_rules(kCases);
}

TEST_CASE("shape rules: positions and masks", "[shapes]") {
  static constexpr Case kCases[] = {
      {"index.Tensor(float32[n,3,4], [None, int64[5]])", "float32[n,5,4]"},
      {"index.Tensor(float32[n,3,4], [int64[5], None, int64[5]])", "float32[5,3]"},
      {"index.Tensor(float32[n,3], [bool[n]])", "float32[u0,3]"},
      {"index.Tensor(float32[n,3], [?])", "?"},
      {"index_select(float32[n,3], 1, int64[2])", "float32[n,2]"},
      {"gather(float32[n,3], 1, int64[n,2])", "float32[n,2]"},
      {"gather(float32[n,3], 1, float32[n,2])", "raises: index is float32, expected int64"},
      {"masked_select(float32[3,4], bool[3,4])", "float32[u0]"},
      {"nonzero(float32[n,3])", "int64[u0,2]"},
      {"take(float32[n,3], int64[7])", "float32[7]"},
      {"gather(float32[n,3], 0, int64[2,4])", "raises: size of index in dimension 1 is 4, expected <= 3"},
      {"scatter_add(float32[n,3], 1, int64[n,3], float32[n,3])", "float32[n,3]"},
      {"scatter_add(float32[n,3], 1, int64[n,3], float32[n,2])",
       "raises: size of index in dimension 1 is 3, expected <= 2"},
      {"index_add(float32[n,3], 0, int64[2], float32[2,3])", "float32[n,3]"},
      {"index_add(float32[n,3], 0, int64[2], float32[2,4])",
       "raises: sizes of self and source in dimension 1 are 3 and 4, expected equal"},
      {"index_reduce(float32[n,3], 0, int64[2], float32[4,3], 'mean')",
       "raises: size of source along dim and number of elements of index are 4 and 2, expected equal"},
      {"index_put(float32[n,3], [int64[2]], float32[2,3])", "float32[n,3]"},
      {"index_put(float32[n,3], [int64[2]], float32[2,4])",
       "raises: values has size 4 in dimension 1, expected 1 or 3"},
      {"index_put(float32[n,3], [bool[n]], float32[])", "float32[n,3]"},
      {"index.Tensor(float32[n,3], [None, bool[4]])",
       "raises: sizes of a mask in indices and self are 4 and 3, expected equal"},
      {"masked_select(float32[n], int64[n])", "raises: mask is int64, expected bool"},
      {"scatter.src(float32[n,3], 1, int64[n,3], float64[n,3])",
       "raises: dtypes of self and src are float32 and float64, expected equal"},
      {"searchsorted.Tensor(float32[10], float32[n])", "int64[n]"},
      {"repeat_interleave.self_int(float32[n,3], 2, 1)", "float32[n,6]"},
      {"repeat_interleave.self_int(float32[n,3], ?, 1)", "float32[n,u0]"},
      {"repeat_interleave.self_int(float32[n,3], -2, 1)", "raises: repeats is -2, expected >= 0"},
      {"repeat_interleave.self_Tensor(float32[n,3], int64[], 1)", "float32[n,u0]"},
      {"_unique2(int64[n])", "int64[u0] ? ?"},
      {"isin.Tensor_Tensor(int64[n], int64[3])", "bool[n]"},
  };
  check_rules(kCases);
}

TEST_CASE("shape rules: products and decompositions", "[shapes]") {
  static constexpr Case kCases[] = {
      {"_linalg_det(complex64[n,3,3])", "complex64[n] complex64[n,3,3] int32[n,3]"},
      {"_linalg_det(float32[n,3,4])", "raises: rows and columns of A are 3 and 4, expected equal"},
      {"_linalg_det(int64[3,3])", "raises: A is int64, expected float32, float64 or a complex dtype"},
      {"matmul(float32[n,3,4], float32[4,5])", "float32[n,3,5]"},
      {"matmul(float32[n,3,4], float32[4])", "float32[n,3]"},
      {"matmul(float32[4], float32[4])", "float32[]"},
      {"matmul(float32[n,3,4], float32[5,5])",
       "raises: inner sizes of self and other are 4 and 5, expected equal"},
      {"mm(float32[n,3], float32[3,5])", "float32[n,5]"},
      {"mm(float32[n,3], float64[3,5])",
       "raises: dtypes of self and mat2 are float32 and float64, expected equal"},
      {"bmm(float32[n,3,4], float32[n,4,5])", "float32[n,3,5]"},
      {"_int_mm(int8[n,3], int8[3,5])", "int32[n,5]"},
      {"_int_mm(int8[n,3], int8[4,5])", "raises: inner sizes of self and mat2 are 3 and 4, expected equal"},
      {"_scaled_mm(float8_e4m3fn[n,16], float8_e4m3fn[16,8], float32[], float32[])", "float8_e4m3fn[n,8]"},
      {"_weight_int8pack_mm(bfloat16[n,64], int8[32,64], bfloat16[32])", "bfloat16[n,32]"},
      {"_weight_int4pack_mm_for_cpu(float32[n,64], uint8[32,32], 32, float32[2,32,2])", "float32[n,32]"},
      {"_weight_int4pack_mm(bfloat16[n,64], int32[4,1,32,2], 32, bfloat16[2,32,2])", "bfloat16[n,32]"},
      {"addmm(float32[5], float32[n,3], float32[3,5])", "float32[n,5]"},
      {"linear(float32[n,7,3], float32[5,3], float32[5])", "float32[n,7,5]"},
      {"linear(float32[n,7,4], float32[5,3], float32[5])",
       "raises: last sizes of input and weight are 4 and 3, expected equal"},
      {"einsum('bij,bjk->bik', [float32[n,3,4], float32[n,4,5]])", "float32[n,3,5]"},
      {"einsum('...i,i->...', [float32[n,3,4], float32[4]])", "float32[n,3]"},
      {"linalg_svd(float32[n,3,4], False)", "float32[n,3,3] float32[n,3] float32[n,3,4]"},
      {"linalg_eigh(complex64[n,3,3])", "float32[n,3] complex64[n,3,3]"},
      {"linalg_solve(float32[n,3,3], float32[n,3,2])", "float32[n,3,2]"},
      {"_euclidean_dist(float32[n,3,4], float32[5,4])", "float32[n,3,5]"},
      {"cdist(float32[n,3,4], float32[n,5,4])", "float32[n,3,5]"},
      {"cdist(float32[n,3,4], float32[n,5,3])",
       "raises: last sizes of x1 and x2 are 4 and 3, expected equal"},
      {"addmm(float32[4], float32[n,3], float32[3,5])",
       "raises: self has size 4 in dimension 0, expected 1 or 5"},
      {"addmm(float32[5], float32[2,n,3], float32[3,5])", "raises: mat1 has 3 dimensions, expected 2"},
      {"linear(float32[n,3], float32[5,3], float32[4])",
       "raises: bias has size 4 in dimension 0, expected 1 or 5"},
      {"linalg_multi_dot([float32[n,3], float32[3,4], float32[4]])", "float32[n]"},
      {"linalg_multi_dot([float32[n,3], float32[4,4]])",
       "raises: inner sizes of two factors are 3 and 4, expected equal"},
      {"linalg_cross(float32[n,4], float32[n,4])", "raises: size of self along dim is 4, expected 3"},
      {"einsum('i->', [int32[n]])", "?[]"},
      {"linalg_lu(float32[n,3,5])", "float32[n,3,3] float32[n,3,3] float32[n,3,5]"},
      {"linalg_lu_factor_ex(float32[n,3,5])", "float32[n,3,5] int32[n,3] int32[n]"},
      {"linalg_ldl_factor(float32[n,3,3])", "float32[n,3,3] int32[n,3]"},
      {"linalg_ldl_factor(float32[n,3,4])", "raises: rows and columns of self are 3 and 4, expected equal"},
      {"linalg_lu_solve(float32[n,3,3], int32[n,3], float32[3,2])", "float32[n,3,2]"},
      {"linalg_lu_solve(float32[n,3,3], int64[n,3], float32[3,2])",
       "raises: pivots is int64, expected int32"},
      {"lu_unpack(float32[n,3,5], int32[n,3], True, False)", "float32[0] float32[n,3,3] float32[n,3,5]"},
      {"linalg_solve_ex(float32[n,3,3], float32[n,3,2])", "float32[n,3,2] int32[n]"},
      {"linalg_solve(float32[3,3], float32[4])", "raises: last sizes of A and B are 3 and 4, expected equal"},
      {"triangular_solve(float32[3,1], float32[n,3,3])", "float32[n,3,1] float32[n,3,3]"},
      {"cholesky_solve(float32[n,3,2], float32[3,3])", "float32[n,3,2]"},
      {"linalg_tensorinv(float32[4,6,8,3])", "float32[8,3,4,6]"},
      {"linalg_tensorinv(float32[4,6,8,4])",
       "raises: products of the sizes of self before and after dimension ind are 24 and 32, expected equal"},
      {"linalg_tensorsolve(float32[2,3,6], float32[2,3])", "float32[6]"},
      {"linalg_matrix_rank(float32[n,3,4], 0.1)", "int64[n]"},
      {"linalg_cond(complex64[n,3,3])", "float32[n]"},
      {"linalg_lstsq(float32[n,4,3], float32[n,4,2])", "float32[n,3,2] ? ? ?"},
      {"geqrf(float32[n,5,3])", "float32[n,5,3] float32[n,3]"},
      {"linalg_qr(int64[3,3])", "raises: A is int64, expected float32, float64 or a complex dtype"},
      {"linalg_inv(float16[3,3])", "raises: A is float16, expected float32, float64 or a complex dtype"},
      {"tensordot(float32[n,3,4], float32[4,3,5], [1,2], [1,0])", "float32[n,5]"},
      {"kron(float32[n,3], float32[2,2])", "float32[n*2,6]"},
  };
  check_rules(kCases);
}

TEST_CASE("shape rules: layers that are not about images", "[shapes]") {
  static constexpr Case kCases[] = {
      {"batch_norm(float32[n,8,h,w], float32[8], None, float32[8], float32[8], False, 0.1, 0.00001, False)",
       "float32[n,8,h,w]"},
      {"batch_norm(float32[n,8,h,w], float32[4], None, float32[8], float32[8], False, 0.1, 0.00001, False)",
       "raises: size of weight and channels of input are 4 and 8, expected equal"},
      {"layer_norm(float32[n,7,8], [8], float32[8], float32[8])", "float32[n,7,8]"},
      {"layer_norm(float32[n,7,8], [9])",
       "raises: last sizes of input and normalized_shape are 8 and 9, expected equal"},
      {"layer_norm(float32[n,7,8], [8], float32[7])",
       "raises: sizes of weight and normalized_shape in dimension 0 are 7 and 8, expected equal"},
      {"bilinear(float32[n,3], float32[n,4], float32[6,3,4], float32[6])", "float32[n,6]"},
      {"bilinear(float32[n,3], float32[n,5], float32[6,3,4])",
       "raises: last size of input2 and size of weight in dimension 2 are 5 and 4, expected equal"},
      {"pairwise_distance(complex64[n,3], complex64[n,3])", "float32[n]"},
      {"pdist(int64[n,3])", "raises: self is int64, expected a floating dtype"},
      {"group_norm(float32[n,8,h], 4)", "float32[n,8,h]"},
      {"native_layer_norm(float32[n,7,8], [8], None, None, 0.00001)",
       "float32[n,7,8] float32[n,7,1] float32[n,7,1]"},
      {"embedding(float32[100,16], int64[n,7])", "float32[n,7,16]"},
      {"embedding(float32[100,16], float32[n,7])", "raises: indices is float32, expected int64 or int32"},
      {"lstm.input(float32[n,7,8], [float32[1,n,16], float32[1,n,16]], [float32[64,8]], False, 1, 0.0, False, False, True)",
       "float32[n,7,16] float32[1,n,16] float32[1,n,16]"},
      {"gru_cell(float32[n,8], float32[n,16], float32[48,8], float32[48,16])", "float32[n,16]"},
      {"scaled_dot_product_attention(float32[n,4,7,16], float32[n,4,9,16], float32[n,4,9,32])",
       "float32[n,4,7,32]"},
      {"scaled_dot_product_attention(float32[n,4,7,16], float32[n,4,9,8], float32[n,4,9,32])",
       "raises: last sizes of query and key are 16 and 8, expected equal"},
      {"cross_entropy_loss(float32[n,10], int64[n])", "float32[]"},
      {"cross_entropy_loss(float32[n,10,h], int64[n,h], reduction=0)", "float32[n,h]"},
      {"mse_loss(float32[n,3], float32[n,3], 0)", "float32[n,3]"},
      {"l1_loss(complex64[n], complex64[n], 0)", "float32[n]"},
      {"l1_loss(int64[n], int64[n])",
       "raises: the loss is int64, expected a floating or complex dtype for its mean"},
      {"poisson_nll_loss(int64[n], int64[n], True, False, 0.5, 1)", "float32[]"},
      {"kl_div(int64[n], float32[n])", "raises: self is int64, expected a floating or complex dtype"},
      {"soft_margin_loss(float32[2], float32[3])",
       "raises: target has size 3 in dimension 0, expected 1 or 2"},
      {"margin_ranking_loss(float32[n], float32[n], float64[n])", "float64[]"},
      {"cosine_embedding_loss(int64[n,3], int64[n,3], int64[n], reduction=0)", "float32[n]"},
      {"triplet_margin_loss(float32[n,3], float32[n,3], float32[n,4])",
       "raises: sizes of anchor and negative in dimension -1 are 3 and 4, expected equal or 1"},
      {"cross_entropy_loss(float32[2,10], int64[3])",
       "raises: sizes of target and self without its classes in dimension 0 are 3 and 2, expected equal"},
      {"cross_entropy_loss(float32[n,10], float32[n,10])", "float32[]"},
      {"nll_loss_backward(float32[], float32[n,10], int64[n], None, 1, -100, float32[])", "float32[n,10]"},
      {"hardtanh_backward(float32[n,3], float32[n,3], -1, 1)", "float32[n,3]"},
      {"select_backward(float32[n], [n,3], 1, 0)", "float32[n,3]"},
      {"upsample_nearest1d_backward(float32[n,3,8], [8], [n,3,4])", "float32[n,3,4]"},
      {"_softmax_backward_data(float16[n,3], float16[n,3], 1, float32)", "float16[n,3]"},
      {"nll_loss_nd(float32[n,10], float32[n])",
       "raises: target is float32, expected int64 or uint8 (classes)"},
      {"ctc_loss.IntList(float32[50,2,20], int64[2,30], [50], [30,20])",
       "raises: length of input_lengths and samples of log_probs are 1 and 2, expected equal"},
      {"cosine_similarity(float32[n,8], float32[n,8])", "float32[n]"},
      {"ctc_loss.IntList(float32[50,n,20], int64[n,30], [50], [30], 0, 0)", "float32[n]"},
      {"stft(float32[n,400], 64, 16, None, None, False, True, True)", "complex64[n,33,22]"},
  };
  check_rules(kCases);
}

TEST_CASE("shape rules: windows, samples and boxes", "[shapes]") {
  static constexpr Case kCases[] = {
      {"conv2d(float32[n,3,224,224], float32[64,3,7,7], None, [2,2], [3,3], [1,1], 1)",
       "float32[n,64,112,112]"},
      {"conv2d(float32[n,3,h,w], float32[64,3,3,3], padding=[1,1])", "float32[n,64,h,w]"},
      {"conv2d(float32[n,3,h,w], float32[64,3,3,3], stride=[2,2])", "float32[n,64,(h+1)//2-1,(w+1)//2-1]"},
      {"conv2d(float32[n,4,h,w], float32[64,3,3,3])",
       "raises: channels of input and weight are 4 and 3, expected equal"},
      {"conv2d(float32[n,3,8,8], float16[64,3,3,3])",
       "raises: dtypes of input and weight are float32 and float16, expected equal"},
      {"conv2d(float32[n,3,2,2], float32[4,3,3,3])", "raises: size of the padded input is 2, expected >= 3"},
      {"conv2d.padding(float32[n,3,h,w], float32[64,3,3,3], padding='same')", "float32[n,64,h,w]"},
      {"conv2d(float32[3,h,w], float32[64,3,3,3])", "float32[64,h-2,w-2]"},
      {"conv2d(float32[n,3], float32[64,3,3,3])", "raises: input has 2 dimensions, expected 3 or 4"},
      {"conv1d(float32[n,8,l], float32[16,4,3], groups=2)", "float32[n,16,l-2]"},
      {"conv_transpose2d.input(float32[n,8,h,w], float32[8,4,2,2], stride=[2,2])", "float32[n,4,h*2,w*2]"},
      {"conv2d(float32[n,3,h,w], float32[8,3,1,1], float32[4])",
       "raises: size of bias and output channels of weight are 4 and 8, expected equal"},
      {"conv2d(float32[n,3,h,w], float32[8,3,1,1], float16[8])",
       "raises: dtypes of input and bias are float32 and float16, expected equal"},
      {"conv_transpose2d.input(float32[n,8,h,w], float32[8,4,2,2], int64[4])", "float32[n,4,h+1,w+1]"},
      {"conv2d(float32[n,4,h,w], float32[5,2,3,3], groups=2)",
       "raises: size of weight in dimension 0 is 5, expected a multiple of 2"},
      {"conv2d(float32[n,8,h,w], float32[0,1,3,3], groups=8)",
       "raises: size of weight in dimension 0 is 0, expected >= 8"},
      {"conv_transpose2d.input(float32[n,8,h,w], float32[8,4,2,2], groups=0)",
       "raises: groups is 0, expected > 0"},
      {"conv2d(float32[n,4,h,w], float32[5,4,3,3], stride=[1,0])", "raises: stride is 0, expected > 0"},
      {"conv2d(float32[n,4,h,w], float32[5,4,3,3], padding=[0,-1])", "raises: padding is -1, expected >= 0"},
      {"conv2d(float32[n,4,h,w], float32[5,4,3,3], dilation=[0,1])", "raises: dilation is 0, expected > 0"},
      {"conv2d.padding(float32[n,4,h,w], float32[5,4,3,3], padding='full')",
       "raises: padding is 'full', expected 'same' or 'valid'"},
      {"conv2d.padding(float32[n,4,h,w], float32[5,4,3,3], stride=[2,2], padding='same')",
       "raises: stride with padding 'same' is 2, expected 1"},
      {"conv_transpose2d.input(float32[n,8,h,w], float32[8,4,2,2], stride=[2,2], output_padding=[2,2])",
       "raises: output_padding is 2, expected < 2"},
      {"conv_transpose2d.input(float32[n,8,h,w], float32[8,4,2,2], output_padding=[2,2], dilation=[3,3])",
       "float32[n,4,h+5,w+5]"},
      {"max_pool2d(float32[n,3,h,w], [2,2], padding=[2,2])", "raises: padding is 2, expected <= 1"},
      {"avg_pool2d(float32[n,3,0,w], [2,2])", "raises: self has size 0 in dimension 2, expected > 0"},
      {"avg_pool2d(float32[n,3,h,w], [2,2], divisor_override=0)",
       "raises: divisor_override is 0, expected != 0"},
      {"max_pool2d(float32[n,3,h,w], [3,3], dilation=[1,0])", "raises: dilation is 0, expected > 0"},
      {"im2col(float32[n,4,8,8], [2,0], [1,1], [0,0], [1,1])", "raises: kernel size is 0, expected > 0"},
      {"im2col(float32[n,4,8,8], [9,2], [1,1], [0,0], [1,1])",
       "raises: number of windows is 0, expected > 0"},
      {"col2im(float32[n,15,49], [8,8], [2,2], [1,1], [0,0], [1,1])",
       "raises: size of self in dimension -2 is 15, expected a multiple of 4"},
      {"col2im(float32[n,16,48], [8,8], [2,2], [1,1], [0,0], [1,1])",
       "raises: size of self in dimension -1 and number of windows are 48 and 49, expected equal"},
      {"col2im(float32[n,16,49], [8,8], [2,2], [1,1], [0,0], [0,1])", "raises: stride is 0, expected > 0"},
      {"group_norm(float32[n,6,h], -2)", "raises: num_groups is -2, expected > 0"},
      {"layer_norm(float32[n,6], [])", "raises: normalized_shape has length 0, expected 1 or more"},
      {"upsample_nearest2d(float32[n,3,4,4], [0,4])", "raises: a size of the result is 0, expected > 0"},
      {"pad(float32[n,3,4], [4,0], 'reflect')", "raises: reflection padding is 4, expected < 4"},
      {"pad(float32[n,3,4], [4,0], 'circular')", "float32[n,3,8]"},
      {"upsample_bilinear2d(float32[n,3,4], [8,8], False)", "raises: self has 3 dimensions, expected 4"},
      {"slow_conv_transpose2d(float32[n,8,h,w], float32[8,4,2,2], [2,2], None, [2,2])",
       "float32[n,4,h*2,w*2]"},
      {"max_pool2d(float32[n,3,h,w], [2,2])", "float32[n,3,h//2,w//2]"},
      {"max_pool2d(float32[n,3,7,7], [2,2], ceil_mode=True)", "float32[n,3,4,4]"},
      {"max_pool2d_with_indices(float32[n,3,8,8], [2,2])", "float32[n,3,4,4] int64[n,3,4,4]"},
      {"avg_pool2d(float32[n,3,9,9], [3,3], [2,2], [1,1])", "float32[n,3,5,5]"},
      {"adaptive_avg_pool2d(float32[n,3,h,w], [1,1])", "float32[n,3,1,1]"},
      {"pad(float32[n,3,h], [1,2])", "float32[n,3,h+3]"},
      {"reflection_pad2d(float32[n,3,h,w], [1,1,2,2])", "float32[n,3,h+4,w+2]"},
      {"__interpolate(float32[1,3,8,10], None, 3.0)", "float32[1,3,24,30]"},
      {"__upsample_nearest(float32[1,3,8], None, 3)", "float32[1,3,24]"},
      {"upsample_nearest2d.vec(float32[n,3,h,w], None, [2.0,2.0])", "float32[n,3,h*2,w*2]"},
      {"upsample_nearest1d.vec(float32[n,3,h], None, [1e-300])", "float32[n,3,u0]"},
      {"upsample_nearest1d.vec(float32[n,3,9223372036854775807], None, [2.0])", "?"},
      {"upsample_bilinear2d.vec(float32[n,3,h,w], None, False, [1.1,1.1])", "float32[n,3,u0,u1]"},
      {"upsample_bilinear2d.vec(float32[n,3,h,10], None, False, [0.7,2.0])", "float32[n,3,u0,20]"},
      {"upsample_bilinear2d.vec(float32[n,3,10,10], None, False, [1.1,1.1])", "float32[n,3,11,11]"},
      {"upsample_bilinear2d(float32[n,3,h,w], [32,32], False)", "float32[n,3,32,32]"},
      {"grid_sampler(float32[n,3,h,w], float32[n,16,16,2], 0, 0, False)", "float32[n,3,16,16]"},
      {"affine_grid_generator(float32[n,2,3], [n,3,h,w], False)", "float32[n,h,w,2]"},
      {"torchvision::nms(float32[n,4], float32[n], 0.5)", "int64[u0]"},
      {"torchvision::deform_conv2d(float32[n,3,3,h], float32[4,3,3,3], float32[n,18,1,1], float32[n,9,1,1], "
       "float32[4], 1, 1, 0, -3, 1, 1, 1, 1, True)",
       "float32[n,4,1,h-8]"},
      {"torchvision::deform_conv2d(float32[n,3,3,3], float32[4,3,3,3], float32[n,18,1,1], float32[n,9,1,1], "
       "float32[4], 1, 1, 0, -3, 1, 1+w, 1, 1, True)",
       "raises: a size of the result is -w*2-5, expected >= 0"},
      {"torchvision::roi_align(float32[n,256,h,w], float32[m,5], 0.25, 7, 7, 2, False)",
       "float32[m,256,7,7]"},
      {"im2col(float32[n,3,8,8], [2,2], [1,1], [0,0], [2,2])", "float32[n,12,16]"},
  };
  check_rules(kCases);
}

TEST_CASE("shape rules: quantized tensors and packed parameters", "[shapes]") {
  static constexpr Case kCases[] = {
      {"quantize_per_tensor(float32[n,3], 0.1, 0, 13)", "quint8[n,3]"},
      {"quantize_per_tensor(float32[n,3], 0.1, 0, quint8)", "quint8[n,3]"},
      {"dequantize.self(quint8[n,3])", "float32[n,3]"},
      {"int_repr(quint8[n,3])", "uint8[n,3]"},
      {"quantized::add(quint8[n,1], quint8[3], 0.1, 0)", "quint8[n,3]"},
      {"quantized::cat([quint8[n,3], quint8[n,4]], 1, None, None)", "quint8[n,7]"},
      {"quantized::linear(quint8[n,8], [float32[16,8]], 0.1, 0)", "quint8[n,16]"},
      {"quantized::linear(quint8[n,9], [float32[16,8]], 0.1, 0)",
       "raises: features of X and W_prepack are 9 and 8, expected equal"},
      {"quantized::conv2d.new(quint8[n,3,8,8], [float32[16,3,3,3],[1,1],[0,0],[1,1],[1],[]], 0.1, 0)",
       "quint8[n,16,6,6]"},
      {"quantized::conv1d(quint8[n,3,8], [float32[16,3,1,3],[1,2],[0,1],[1,1],[1],[]], 0.1, 0)",
       "quint8[n,16,4]"},
      {"quantized::conv1d(quint8[n,3,8], [float32[16,3,2,3],[1,2],[0,1],[1,1],[1],[]], 0.1, 0)", "?"},
      {"quantized::linear_dynamic(float32[n,8], [float32[16,8]])", "float32[n,16]"},
  };
  check_rules(kCases);
}

TEST_CASE("shape rules: sparse tensors", "[shapes]") {
  static constexpr Case kCases[] = {
      {"sparse_coo_tensor.indices_size(int64[2,k], float32[k], [n,4])", "float32[n,4]%2"},
      {"sparse_coo_tensor.indices(int64[2,k], float32[k])", "float32[u0,u1]%2"},
      {"sparse_coo_tensor.indices(int64[4611686018427387904,k], float32[k])", "?"},
      {"smm(float32[n,4]%2, float32[4,8])", "float32[n,8]%2"},
      {"smm(float32[n,4]%2, float32[5,8])",
       "raises: inner sizes of self and mat2 are 4 and 5, expected equal"},
      {"to_sparse(float32[n,4])", "float32[n,4]%2"},
      {"to_sparse(float32[n,4], dense_dim=1)", "float32[n,4]%1"},
      {"to_sparse(float32[n,4], dense_dim=-9223372036854775808)", "?"},
      {"to_dense(float32[n,4]%2)", "float32[n,4]"},
      {"_indices(float32[n,4]%2)", "int64[2,u0]"},
      {"relu(float32[n,4]%2)", "float32[n,4]%2"},
      {"mm(float32[n,4]%2, float32[4,5])", "float32[n,5]"},
      {"conv2d(float32[n,3,8,8]%4, float32[4,3,3,3])", "?"},
      {"zeros([3,4], layout=1)", "?"},
  };
  check_rules(kCases);
}

TEST_CASE("shape rules: what kernels for the CPU check", "[shapes]") {
  static constexpr Case kCases[] = {
      {"softmax.int(int64[n,3], 1)", "raises: self is int64, expected a floating dtype"},
      {"gelu(int64[n])", "raises: self is int64, expected a floating dtype"},
      {"contiguous(float32[n,3,h], memory_format=2)", "raises: self has 3 dimensions, expected 4"},
      {"multinomial(float32[n,3], 5)", "raises: num_samples is 5, expected <= 3"},
      {"pad(float32[3], [1,1,1,1])", "raises: pad has length 4, expected at most 2"},
      {"hsplit.int(float32[n,7], 2)", "raises: size of self in dimension 1 is 7, expected a multiple of 2"},
  };
  check_rules(kCases);
}

TEST_CASE("shape rules: devices", "[shapes]") {
  static constexpr Case kCases[] = {
      {"add.Tensor(float32[n]@cuda:0, float32[])", "float32[n]@cuda:0"},
      {"zeros_like(float32[n]@cuda:0)", "float32[n]@cuda:0"},
      {"cuda(float32[n])", "float32[n]@cuda"},
  };
  check_rules(kCases);
}

TEST_CASE("questions about sizes", "[shapes]") {
  static constexpr Case kCases[] = {
      {"size(float32[n,3], 1)", "= 3"},
      {"size(float32[n,3], 0)", "n"},
      {"size(float32[n,3], -2)", "n"},
      {"size(float32[n,3], 2)", "?"},
      {"size(?, 0)", "?"},
      {"dim(float32[n,3])", "= 2"},
      {"numel(float32[n,3])", "n*3"},
      {"len(float32[n,3])", "n"},
      {"len([n,3,?])", "= 3"},
      {"stride(float32[n,3], 0)", "?"},
      {"__getitem__([n,3,?], 1)", "3"},
      {"__getitem__([n,3,?], n)", "?"},
      {"slice.t([n,3,4,5], 1, None, 2)", "[3,5]"},
      {"slice.t([n,3,4,5], None, None, -1)", "[5,4,3,n]"},
      {"add(n, 1)", "n+1"},
      {"add(n, True)", "n+1"},
      {"add([n], [3])", "[n,3]"},
      {"sub(n, n)", "= 0"},
      {"mul(n, 2)", "n*2"},
      {"mul(0.5, n)", "(n)/2"},
      {"mul(1.1, n)", "?"},
      {"div(n, 2)", "(n)/2"},
      {"floordiv(n, 2)", "n//2"},
      {"floordiv(7, 2)", "= 3"},
      {"remainder(n*2, 2)", "= 0"},
      {"neg(n)", "-n"},
      {"prim::max(n, 1)", "n"},
      {"prim::min([n,m,3])", "min(3,m,n)"},
      {"prim::abs(n)", "n"},
      {"floor((n)/2)", "n//2"},
      {"aten::Int(2.5)", "= 2"},
      {"aten::Float(n)", "(n)/1"},
      {"eq(n, 0)", "= False"},
      {"ne(n, 4)", "n!=4"},
      {"gt(n, 4)", "n>4"},
      {"eq([n,3], [4,3])", "n==4"},
      {"eq([n,3], [4,5])", "= False"},
      {"eq([n,3], [n,3])", "= True"},
      {"eq(@cuda:0, @cuda:0)", "= True"},
      {"__not__(True)", "= False"},
      {"prim::dtype(int64[n])", "= 4"},
      {"prim::device(float32[n]@cuda:0)", "@cuda:0"},
      {"prim::type(@cuda:0)", "= 'cuda'"},
      {"prim::index(@cpu)", "= None"},
      {"str(@cuda:0)", "= 'cuda:0'"},
      {"str(n)", "?"},
      {"prim::is_cuda(float32[n]@cuda:0)", "= True"},
      {"prim::is_cuda(float32[n])", "= False"},
      {"prim::is_mtia(float32[n]@mtia:0)", "= True"},
      {"prim::is_xla(float32[n])", "= False"},
      {"prim::is_sparse(float32[n,4]%2)", "= True"},
      {"prim::layout(float32[n,4]%2)", "= 1"},
      {"prim::nbytes(float16[n,4])", "n*8"},
      {"is_floating_point(float16[n])", "= True"},
      {"is_signed(uint8[n])", "= False"},
      {"is_signed(quint8[n])", "?"},
      {"is_complex(?[n])", "?"},
      {"is_same_size(float32[n,3], float32[n,3])", "= True"},
      {"is_same_size(float32[n,3], float32[n,4])", "= False"},
      {"is_same_size(float32[n,3], float32[m,3])", "?"},
      {"aten::any([?,True])", "= True"},
      {"aten::all([?,True])", "?"},
      {"__range_length(0, n, 1)", "n"},
      {"__range_length(0, n, 2)", "(n+1)//2"},
      {"list([n,1.5])", "[n,1.5]"},
      {"aten::sin(1.5)", "= 0.997495"},
  };
  for (const Case& item : kCases) {
    INFO(item.call);
    CHECK(answer_of(item.call) == item.result);
  }
}

TEST_CASE("lists whose elements are known change", "[shapes]") {
  const auto changed = [](std::string_view name, std::initializer_list<const char*> texts) -> std::string {
    std::vector<AbstractValue> values;
    for (const char* text : texts) values.push_back(parse_value(text));
    const auto result = changed_list(name, AbstractArguments(values));
    if (!result) return "?";
    return to_text({result->rest}) + (result->taken.is_unknown() ? "" : " " + to_text(result->taken));
  };
  CHECK(changed("aten::append", {"[n]", "3"}) == "[n,3]");
  CHECK(changed("aten::extend", {"[n]", "[3,?]"}) == "[n,3,?]");
  CHECK(changed("aten::extend", {"[n]", "?"}) == "?");
  CHECK(changed("aten::insert", {"[n,3]", "-1", "m"}) == "[n,m,3]");
  CHECK(changed("aten::_set_item", {"[n,3]", "1", "m"}) == "[n,m]");
  CHECK(changed("aten::_set_item", {"[n,3]", "n", "m"}) == "?");
  CHECK(changed("aten::pop", {"[n,3]"}) == "[n] 3");
  CHECK(changed("aten::pop", {"[n,3]", "0"}) == "[3] n");
  CHECK(changed("aten::pop", {"[]"}) == "?");
  CHECK(changed("aten::reverse", {"[n,3]"}) == "[3,n]");
  CHECK(changed("aten::clear", {"[n,3]"}) == "[]");
  CHECK(changed("aten::sort", {"[n,3]"}) == "?");
}

TEST_CASE("what holds of two values", "[shapes]") {
  const auto both = [](const char* a, const char* b) {
    return to_text(common(parse_value(a), parse_value(b)));
  };
  CHECK(both("float32[n,3]", "float32[n,3]") == "float32[n,3]");
  CHECK(both("float32[n,3]", "int64[n,3]") == "?[n,3]");
  CHECK(both("float32[n,3]", "float32[n,4]") == "?");
  CHECK(both("float32[3]", "float32[3]@cuda:0") == "?");
  CHECK(both("[n,3]", "[n,4]") == "[n,?]");
  CHECK(both("None", "None") == "None");
  CHECK(both("3", "n") == "?");
}

TEST_CASE("scalar types", "[shapes]") {
  const auto promoted = [](const char* a, const char* b) -> std::string {
    const Dtype type = promote(*find_scalar_type(a), *find_scalar_type(b));
    return type ? dtype_name(*type) : "none";
  };
  CHECK(promoted("uint8", "int8") == "int16");
  CHECK(promoted("bool", "uint8") == "uint8");
  CHECK(promoted("int64", "float16") == "float16");
  CHECK(promoted("float16", "bfloat16") == "float32");
  CHECK(promoted("complex32", "bfloat16") == "complex64");
  CHECK(promoted("complex64", "float64") == "complex128");
  CHECK(promoted("float8_e5m2", "float32") == "none");
  CHECK(promoted("quint8", "float32") == "none");
  for (std::int64_t i = 0; i < kScalarTypes; ++i) {
    const ScalarType type = *find_scalar_type(i);
    CHECK(find_scalar_type(dtype_name(type)) == type);
    CHECK(promote(type, type) == type);
  }
  CHECK(!find_scalar_type(kScalarTypes));
  CHECK(!find_scalar_type(-1));
  CHECK(!find_scalar_type("float33"));
}
