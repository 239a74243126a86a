// Multiply-accumulates of operators: calls and their costs by the rules, one line for each case.  The numbers
// of cases without symbolic sizes are half of those of torch.utils.flop_counter, where it counts the operator
// (tests/python/operator_cost_cases.py has them too).
#include "opinfo/operator_entry.h"

#include <set>
#include <span>
#include <string>

#include "catch.h"
#include "tests/fuzz/call_text.h"

using namespace fxtrace::internal;  // NOLINT(google-build-using-namespace)

namespace {

struct Case {
  const char* call;
  const char* macs;
};

void check_macs(std::span<const Case> cases) {
  for (const Case& item : cases) {
    INFO(item.call);
    CHECK(macs_of(item.call) == item.macs);
  }
}

}  // namespace

TEST_CASE("costs: matrix products", "[costs]") {
  static constexpr Case kCases[] = {
      {"mm(float32[4,3], float32[3,5])", "60"},
      {"mm.out(float32[n,3], float32[3,m], out=float32[n,m])", "m*n*3"},
      {"bmm.out(float32[2,4,3], float32[2,3,5], out=float32[2,4,5])", "120"},
      {"addmm(float32[5], float32[n,3], float32[3,5])", "n*15"},
      {"addmm_(float32[n,5], float32[n,3], float32[3,5])", "n*15"},
      {"_addmm_activation(float32[5], float32[n,3], float32[3,5]) -> float32[n,5]", "n*15"},
      {"bmm(float32[2,4,3], float32[2,3,5])", "120"},
      {"baddbmm(float32[4,5], float32[n,4,3], float32[n,3,5]) -> float32[n,4,5]", "n*60"},
      {"addbmm(float32[4,5], float32[2,4,3], float32[2,3,5])", "120"},
      {"mv(float32[4,3], float32[3])", "12"},
      {"addmv(float32[4], float32[4,3], float32[3])", "12"},
      {"dot(float32[n], float32[n])", "n"},
      {"vdot(float32[7], float32[n])", "7"},
      {"linalg_vecdot(float32[2,3], float32[2,3])", "6"},
      {"linalg_vecdot(float32[2,1,3], float32[5,3])", "30"},
      {"linalg_vecdot(float32[n,2], float32[n,2], dim=0)", "n*2"},
      {"inner(float32[2,3], float32[4,3])", "24"},
      {"inner(float32[2,3], float32[])", "0"},
      {"matmul(float32[3], float32[3])", "3"},
      {"matmul(float32[4,3], float32[3])", "12"},
      {"matmul(float32[2,4,3], float32[3])", "24"},
      {"matmul(float32[3], float32[3,4])", "12"},
      {"matmul(float32[3], float32[2,3,4])", "24"},
      {"matmul(float32[2,1,4,3], float32[5,3,6])", "720"},
      {"matmul(float32[n,4,m], float32[m,6])", "m*n*24"},
      {"linalg_matmul(float32[n,4], float32[4,n])", "n**2*4"},
      {"linear(float32[b,4], float32[8,4])", "b*32"},
      {"linear(float32[3], float32[4,3])", "12"},
      {"linear(float32[2,n,3], float32[4,3], float32[4])", "n*24"},
      {"linear(float32[5,3], float32[3])", "15"},
      {"mkldnn_linear(float32[n,3], float32[4,3]) -> float32[n,4]", "n*12"},
      {"tensordot(float32[2,3,4], float32[4,3,5], [1,2], [1,0])", "120"},
      {"tensordot(float32[2,1,4], float32[4,3,5], [1,2], [1,0])", "40"},
      {"linalg_multi_dot([float32[2,30], float32[30,4], float32[4,50]])", "640"},
      {"linalg_multi_dot([float32[30], float32[30,4], float32[4,50]])", "320"},
      {"linalg_multi_dot([float32[n,3], float32[3,m]])", "m*n*3"},
      {"linalg_multi_dot([float32[n,3], float32[3,m], float32[m,4]])", "?"},
      {"chain_matmul([float32[10,30], float32[30,5], float32[5,60], float32[60,2]])", "1500"},
      {"linalg_matrix_power(float32[4,4], 0)", "0"},
      {"linalg_matrix_power(float32[4,4], 1)", "0"},
      {"linalg_matrix_power(float32[4,4], 3)", "128"},
      {"matrix_power(float32[4,4], 10)", "256"},
      {"matrix_power(float32[4,4], -2)", "?"},
      {"cov(float32[3,10])", "90"},
      {"corrcoef(float32[3,n])", "n*9"},
      {"_int_mm(int8[20,16], int8[16,8])", "2560"},
      {"_scaled_mm(float8_e4m3fn[n,16], float8_e4m3fn[16,8], float32[], float32[]) -> bfloat16[n,8]",
       "n*128"},
      {"_scaled_mm(float4_e2m1fn_x2[n,8], float4_e2m1fn_x2[8,8], float32[], float32[]) -> bfloat16[n,8]",
       "n*128"},
      {"_weight_int8pack_mm(bfloat16[n,16], int8[8,16], bfloat16[8]) -> bfloat16[n,8]", "n*128"},
      {"_weight_int4pack_mm(bfloat16[n,16], int32[1,1,32,4], 32, bfloat16[1,8,2]) -> bfloat16[n,8]", "n*128"},
      {"_dyn_quant_matmul_4bit(float32[n,16], uint8[100], 32, 16, 8)", "n*128"},
      {"_grouped_mm(bfloat16[n,16], bfloat16[4,16,8], int32[4])", "n*128"},
      {"_grouped_mm(bfloat16[4,n,16], bfloat16[4,16,8])", "n*512"},
      {"_grouped_mm(bfloat16[4,n,16], bfloat16[16,8], int32[4])", "n*128"},
      {"_grouped_mm(bfloat16[n,16], bfloat16[16,8], int32[4])", "n*128"},
      {"transformers::grouped_mm_fallback(float32[n,16], float32[4,16,8], int32[4])", "n*128"},
      {"_foreach_mm([float32[n,3], float32[2,3]], [float32[3,4], float32[3,5]])", "n*12+30"},
      {"affine_grid_generator(float32[2,2,3], [2,3,5,7], False) -> float32[2,5,7,2]", "420"},
      {"affine_grid_generator(float32[n,3,4], [n,3,4,5,7], False) -> float32[n,4,5,7,3]", "n*1680"},
      // elementwise
      {"kron(float32[2,3], float32[4,5])", "0"},
      {"outer(float32[3], float32[4])", "0"},
      {"addr(float32[3,4], float32[3], float32[4])", "0"},
      // the number of elements of a sparse tensor depends on data
      {"mm(float32[4,3]%2, float32[3,5]) -> float32[4,5]", "?"},
      {"_sparse_mm(float32[4,3]%2, float32[3,5])", "unknown"},
  };
  check_macs(kCases);
}

TEST_CASE("costs: bilinear forms and distances", "[costs]") {
  static constexpr Case kCases[] = {
      {"bilinear(float32[n,3], float32[n,5], float32[7,3,5])", "n*140"},
      {"bilinear(float32[2,4,3], float32[2,4,5], float32[7,3,5], float32[7])", "1120"},
      // an operator is counted as its decomposition
      {"_trilinear(float32[n,3], float32[7,3,5], float32[n,5], [1,3], [0], [1,2], [2,3])", "n*140"},
      {"_trilinear(float32[n,3], float32[7,3,5], float32[n,5], [1,3], [0], [1,2], [2,3], 0)", "n*140"},
      {"_trilinear(float32[n,3], float32[7,3,5], float32[n,5], [1,3], [0], [1], [2,3])", "?"},
      {"_euclidean_dist(float32[n,3], float32[5,3])", "n*25"},
      {"cdist(float32[2,4,3], float32[2,5,3])", "0"},
      {"cdist(float32[2,40,3], float32[2,5,3])", "2000"},
      {"cdist(float32[2,4,3], float32[2,5,3], 2.0, 1)", "200"},
      {"cdist(float32[2,40,3], float32[2,50,3], 2.0, 2)", "0"},
      {"cdist(float32[2,40,3], float32[2,5,3], 1.0)", "0"},
      {"cdist(float32[n,3], float32[5,3])", "?"},
      {"cdist(float32[n,3], float32[50,3])", "n*250"},
      {"pdist(float32[n,3])", "0"},
      {"linalg_norm(float32[n,3])", "0"},
      {"linalg_norm(float32[n,3], 2)", "?"},
      {"linalg_norm(float32[n,3], 2, [1])", "0"},
      {"linalg_norm.ord_str(float32[n,3], 'nuc')", "?"},
      {"linalg_matrix_norm.str_ord(float32[n,3], 'fro')", "0"},
  };
  check_macs(kCases);
}

TEST_CASE("costs: Einstein sums", "[costs]") {
  static constexpr Case kCases[] = {
      {"einsum('i,j->ij', [float32[3], float32[4]])", "0"},
      {"einsum('ij,jk->ik', [float32[2,3], float32[3,4]])", "24"},
      {"einsum('ij,jk', [float32[2,3], float32[3,4]])", "24"},
      {"einsum('ij,jk,kl->il', [float32[2,3], float32[3,4], float32[4,5]])", "64"},
      {"einsum('ij,jk,kl->il', [float32[2,3], float32[3,4], float32[4,5]], path=[1,2,0,1])", "90"},
      {"einsum('ij,jk,kl->il', [float32[2,3], float32[3,4], float32[4,5]], path=[1,9])", "?"},
      {"einsum('bij,bjk->bik', [float32[b,2,3], float32[b,3,4]])", "b*24"},
      {"einsum('bij,ij->b', [float32[7,2,3], float32[2,3]])", "42"},
      {"einsum('ii->i', [float32[3,3]])", "0"},
      {"einsum('...ij,jk->...ik', [float32[2,6,3,4], float32[4,5]])", "720"},
      {"einsum('...ij,jk->ik', [float32[2,6,3,4], float32[4,5]])", "60"},
      {"einsum('ij,kl->i', [float32[2,3], float32[4,5]])", "0"},
      {"einsum('bn,anm,bm->ba', [float32[2,5], float32[3,5,4], float32[2,4]])", "144"},
      {"einsum('ij,j->i', [float32[2,3], float32[1]])", "0"},
      {"einsum('i,i', [float32[3], float32[3]])", "3"},
      {"einsum('bhqd,bhkd->bhqk', [float32[n,3,m,5], float32[n,3,m,5]])", "m**2*n*15"},
      {"einsum('ii,ij->j', [float32[3,3], float32[3,4]])", "12"},
      {"einsum('...i,...i->...', [float32[4,1,3], float32[1,5,3]])", "60"},
      {"einsum('ab,cd->abcd', [float32[2,3], float32[4,5]])", "0"},
      {"einsum('ijk,k->ij', [float32[2,3,4], float32[4]])", "24"},
      {"einsum('i,ij,j->', [float32[3], float32[3,4], float32[4]])", "16"},
      {"einsum('ij,jk', [float32[2,3]])", "?"},
      {"einsum('ij', [float32[2]])", "?"},
      {"einsum('', [])", "?"},
  };
  check_macs(kCases);
}

TEST_CASE("costs: convolutions", "[costs]") {
  static constexpr Case kCases[] = {
      {"conv1d(float32[2,4,10], float32[6,4,3])", "1152"},
      {"conv2d(float32[n,3,224,224], float32[64,3,7,7], None, [2,2], [3,3])", "n*118013952"},
      {"conv2d(float32[3,8,8], float32[4,3,3,3])", "3888"},
      {"conv2d.padding(float32[2,4,8,8], float32[6,2,3,3], padding='same', groups=2)", "13824"},
      {"conv2d.padding(float32[2,4,8,8], float32[6,2,3,3], padding='valid', groups=2)", "7776"},
      {"conv2d(float32[n,8,h,w], float32[8,1,3,3], padding=[1,1], groups=8)", "h*n*w*72"},
      {"conv3d(float32[1,2,5,6,7], float32[4,2,3,3,3])", "12960"},
      {"conv1d.padding(float32[n,4,10], float32[6,4,3], padding='same')", "n*720"},
      {"_convolution_mode(float32[2,4,8,8], float32[6,2,3,3], None, [1,1], 'same', [1,1], 2)", "13824"},
      {"conv_transpose1d(float32[2,4,10], float32[4,6,3])", "1440"},
      {"conv_transpose2d.input(float32[2,4,8,8], float32[4,3,3,3], stride=[2,2], groups=2)", "13824"},
      {"conv_transpose2d.input(float32[4,8,8], float32[4,3,3,3], stride=[2,2], groups=2)", "6912"},
      {"conv_transpose3d.input(float32[n,2,5,6,7], float32[2,4,3,3,3])", "n*45360"},
      {"convolution(float32[2,4,8,8], float32[6,2,3,3], None, [1,1], [1,1], [1,1], False, [0,0], 2)",
       "13824"},
      {"convolution(float32[2,4,8,8], float32[4,3,3,3], None, [2,2], [0,0], [1,1], True, [0,0], 2)", "13824"},
      {"convolution(float32[2,4,8,8], float32[4,3,3,3], None, [2,2], [0,0], [1,1], ?, [0,0], 2)", "?"},
      {"_convolution(float32[2,4,8,8], float32[6,2,3,3], None, [1,1], [1,1], [1,1], False, [0,0], 2, False, "
       "False, False, False)",
       "13824"},
      {"convolution_backward(float32[2,6,8,8], float32[2,4,8,8], float32[6,4,3,3], [6], [1,1], [1,1], [1,1], "
       "False, [0,0], 1, [True,True,True])",
       "55296"},
      {"convolution_backward(float32[2,6,8,8], float32[2,4,8,8], float32[6,4,3,3], [6], [1,1], [1,1], [1,1], "
       "False, [0,0], 1, [False,True,True])",
       "27648"},
      {"conv_tbc(float32[5,2,3], float32[3,3,4], float32[4], 1)", "360"},
      {"mkldnn_convolution(float32[2,4,8,8], float32[6,2,3,3], None, [1,1], [1,1], [1,1], 2) -> "
       "float32[2,6,8,8]",
       "13824"},
      {"mkldnn_convolution(float32[2,4,8,8], float32[2,3,2,3,3], None, [1,1], [1,1], [1,1], 2) -> "
       "float32[2,6,8,8]",
       "13824"},
      {"cudnn_convolution(float32[2,4,8,8], float32[6,2,3,3], [1,1], [1,1], [1,1], 2, False, False, False) -> "
       "float32[2,6,8,8]",
       "13824"},
      {"cudnn_convolution_transpose(float32[2,4,8,8], float32[4,3,3,3], [0,0], [0,0], [2,2], [1,1], 2, False, "
       "False, False)",
       "13824"},
      {"thnn_conv2d(float32[n,3,8,8], float32[4,3,3,3], [3,3]) -> float32[n,4,6,6]", "n*3888"},
      {"slow_conv3d(float32[1,2,5,6,7], float32[4,2,3,3,3], [3,3,3]) -> float32[1,4,3,4,5]", "12960"},
      {"slow_conv_transpose2d(float32[2,4,8,8], float32[4,3,3,3], [3,3])", "13824"},
      {"conv_depthwise3d(float32[1,2,5,6,7], float32[2,1,3,3,3], [3,3,3], None, [1,1,1], [0,0,0], [1,1,1]) -> "
       "float32[1,2,3,4,5]",
       "3240"},
      {"torchvision::deform_conv2d(float32[2,4,8,8], float32[6,4,3,3], float32[2,18,6,6], float32[2,9,6,6], "
       "float32[6], 1, 1, 0, 0, 1, 1, 1, 1, True)",
       "15552"},
      {"conv2d(?, float32[6,2,3,3])", "?"},
      {"conv2d(float32[2,4,8,8], ?)", "?"},
  };
  check_macs(kCases);
}

TEST_CASE("costs: attention", "[costs]") {
  static constexpr Case kCases[] = {
      {"scaled_dot_product_attention(float32[2,3,4,5], float32[2,3,6,5], float32[2,3,6,7])", "1728"},
      {"scaled_dot_product_attention(float32[3,4,5], float32[3,6,5], float32[3,6,7])", "864"},
      {"scaled_dot_product_attention(float32[2,3,4,5], float32[1,1,6,5], float32[1,1,6,7])", "1728"},
      {"scaled_dot_product_attention(float32[2,4,4,5], float32[2,2,6,5], float32[2,2,6,5], enable_gqa=True)",
       "1920"},
      // the same with and without a causal mask
      {"scaled_dot_product_attention(float32[n,12,m,64], float32[n,12,m,64], float32[n,12,m,64], "
       "is_causal=True)",
       "m**2*n*1536"},
      {"_scaled_dot_product_flash_attention_for_cpu(float32[n,12,8,64], float32[n,12,m,64], "
       "float32[n,12,m,64])",
       "m*n*12288"},
      {"_scaled_dot_product_attention_math(float32[2,3,4,5], float32[2,3,6,5], float32[2,3,6,7])", "1728"},
      {"_scaled_dot_product_efficient_attention(float32[2,3,4,5], float32[2,3,6,5], float32[2,3,6,7], None, "
       "False)",
       "1728"},
      {"_scaled_dot_product_flash_attention(float16[2,4,4,8], float16[2,2,6,8], float16[2,2,6,8]) -> ?",
       "3072"},
      {"_scaled_dot_product_cudnn_attention(float16[2,3,4,8], float16[2,3,6,8], float16[2,3,6,8], None, False)",
       "2304"},
      {"_scaled_dot_product_flash_attention_for_cpu_backward(float32[2,3,4,5], float32[2,3,4,5], "
       "float32[2,3,6,5], float32[2,3,6,7], float32[2,3,4,5], float32[2,3,4], 0.0, False)",
       "4176"},
      // (batch, length, heads, features)
      {"_flash_attention_forward(float16[2,4,3,8], float16[2,6,3,8], float16[2,6,3,8], None, None, 4, 6, 0.0, "
       "False, False)",
       "2304"},
      {"_efficient_attention_forward(float16[2,4,3,8], float16[2,6,3,8], float16[2,6,3,8], None, None, None, 4, "
       "6, 0.0, 0)",
       "2304"},
      {"_flash_attention_forward(float16[8,3,8], float16[8,3,8], float16[8,3,8], int32[3], int32[3], 4, 4, 0.0, "
       "False, False)",
       "?"},
      {"_triton_scaled_dot_attention(float32[2,3,4,8], float32[2,3,6,8], float32[2,3,6,8])", "2304"},
      {"_native_multi_head_attention(float32[2,5,8], float32[2,5,8], float32[2,5,8], 8, 2, float32[24,8], "
       "float32[24], float32[8,8], float32[8])",
       "3360"},
      {"_native_multi_head_attention(float32[2,5,8], float32[2,7,8], float32[2,7,8], 8, 2, float32[24,8], "
       "float32[24], float32[8,8], float32[8])",
       "4192"},
      {"_transformer_encoder_layer_fwd(float32[2,5,8], 8, 2, float32[24,8], float32[24], float32[8,8], "
       "float32[8], False, False, 0.1, float32[8], float32[8], float32[8], float32[8], float32[16,8], "
       "float32[16], float32[8,16], float32[8])",
       "5920"},
      {"scaled_dot_product_attention(float32[2,3,4,5], ?, float32[2,3,6,7])", "?"},
  };
  check_macs(kCases);
}

TEST_CASE("costs: embeddings take no product", "[costs]") {
  static constexpr Case kCases[] = {
      {"embedding(float32[100,8], int64[n,4])", "0"},
      {"embedding_bag(float32[100,8], int64[n], int64[4])", "0"},
      {"quantized::embedding_bag_byte(uint8[100,16], int64[n])", "0"},
  };
  check_macs(kCases);
}

TEST_CASE("costs: recurrent layers", "[costs]") {
  // with 3 features and a state of 4
  const std::string first = "float32[16,3], float32[16,4], float32[16], float32[16]";
  const std::string second = "float32[16,4], float32[16,4], float32[16], float32[16]";
  const std::string wide = "float32[16,8], float32[16,4], float32[16], float32[16]";
  const std::string states = "[float32[2,2,4], float32[2,2,4]]";
  const auto lstm = [&](const std::string& input, const std::string& params, const std::string& rest) {
    return macs_of("lstm.input(" + input + ", " + states + ", [" + params + "], True, " + rest + ")");
  };
  CHECK(lstm("float32[5,2,3]", first + ", " + second, "2, 0.0, False, False, False") == "2400");
  CHECK(lstm("float32[n,m,3]", first + ", " + second, "2, 0.0, False, False, True") == "m*n*240");
  CHECK(lstm("float32[5,3]", first, "1, 0.0, False, False, False") == "560");
  CHECK(lstm("float32[5,2,3]", first + ", " + first + ", " + wide + ", " + wide,
             "2, 0.0, False, True, False") == "6080");
  // proj_size=3, in both directions
  const std::string projected = "float32[16,3], float32[16,3], float32[16], float32[16], float32[3,4]";
  const std::string projected_wide = "float32[16,6], float32[16,3], float32[16], float32[16], float32[3,4]";
  CHECK(lstm("float32[5,2,3]", projected + ", " + projected + ", " + projected_wide + ", " + projected_wide,
             "2, 0.0, False, True, False") == "5280");
  CHECK(lstm("float32[5,2,3]", "?", "1, 0.0, False, False, False") == "?");

  const Case cases[] = {
      {"lstm.data(float32[n,3], int64[5], [float32[1,2,4], float32[1,2,4]], [float32[16,3], float32[16,4]], "
       "False, 1, 0.0, False, False)",
       "n*112"},
      {"gru.data(float32[n,3], int64[5], float32[1,2,4], [float32[12,3], float32[12,4]], False, 1, 0.0, False, "
       "False)",
       "n*84"},
      {"gru.input(float32[5,2,3], float32[1,2,4], [float32[12,3], float32[12,4]], False, 1, 0.0, False, False, "
       "False)",
       "840"},
      {"rnn_tanh.input(float32[5,2,3], float32[1,2,4], [float32[4,3], float32[4,4]], False, 1, 0.0, False, "
       "False, False)",
       "280"},
      {"rnn_relu.input(float32[5,2,3], float32[1,2,4], [float32[4,3], float32[4,4]], False, 1, 0.0, False, "
       "False, False)",
       "280"},
      {"lstm_cell(float32[2,3], [float32[2,4], float32[2,4]], float32[16,3], float32[16,4])", "224"},
      {"lstm_cell(float32[3], [float32[4], float32[4]], float32[16,3], float32[16,4])", "112"},
      {"gru_cell(float32[n,3], float32[n,4], float32[12,3], float32[12,4])", "n*84"},
      {"rnn_relu_cell(float32[n,3], float32[n,4], float32[4,3], float32[4,4])", "n*28"},
      {"_thnn_fused_lstm_cell(float32[2,16], float32[2,16], float32[2,4])", "0"},
      {"mkldnn_rnn_layer(float32[5,2,3], float32[16,3], float32[16,4], float32[16], float32[16], "
       "float32[1,2,4], float32[1,2,4], False, [], 2, 4, 1, True, False, False, False)",
       "1120"},
      {"_cudnn_rnn(float32[5,2,3], [float32[16,3], float32[16,4], float32[16], float32[16]], 4, None, "
       "float32[1,2,4], float32[1,2,4], 2, 4, 0, 1, False, 0.0, False, False, [], None)",
       "1120"},
      {"quantized_lstm.input(float32[5,2,3], [float32[4,2,4], float32[4,2,4]], ?, True, 2, 0.0, False, True, "
       "False)",
       "6080"},
      {"quantized_gru.input(float32[5,2,3], float32[2,2,4], ?, True, 2, 0.0, False, False, False)", "1800"},
      {"quantized::quantized_lstm_cell_dynamic(float32[2,3], [float32[2,4], float32[2,4]], ?, ?, float32[16], "
       "float32[16])",
       "224"},
      {"quantized::quantized_gru_cell_dynamic(float32[2,3], float32[2,4], ?, ?, float32[12], float32[12])",
       "168"},
      {"quantized_lstm.input(float32[5,2,3], [], ?, True, 2, 0.0, False, True, False)", "?"},
  };
  check_macs(cases);
}

TEST_CASE("costs: Fourier transforms", "[costs]") {
  static constexpr Case kCases[] = {
      {"fft_fft(complex64[n,8])", "n*60"},
      {"fft_fft(complex64[n,8], 16)", "n*160"},
      {"fft_fft(float32[n,8], 16)", "n*80"},
      {"fft_fft2(float32[n,4,8])", "n*400"},
      {"fft_ifft(complex64[8,n], dim=0)", "n*60"},
      {"fft_rfft(float32[n,8])", "n*30"},
      {"fft_rfft(float32[n,8], 16)", "n*80"},
      {"fft_irfft(complex64[n,5])", "n*30"},
      {"fft_irfft(complex64[n,5], 9)", "n*36"},
      {"fft_fft2(complex64[n,4,8])", "n*400"},
      {"fft_rfft2(float32[n,4,8])", "n*200"},
      {"fft_irfft2(complex64[n,4,5])", "n*200"},
      {"fft_fftn(complex64[n,4,8], [4,8])", "n*400"},
      {"_fft_c2c(complex64[n,4,8], [1,2], 0, True) -> complex64[n,4,8]", "n*400"},
      {"_fft_r2c(float32[n,8], [1], 0, True) -> complex64[n,5]", "n*30"},
      {"_fft_c2r(complex64[n,5], [1], 2, 8) -> float32[n,8]", "n*30"},
      {"fft_fft(complex64[8,n])", "?"},
      {"stft(float32[n,1000], 8, 4, return_complex=True)", "n*7470"},
      {"fft_fftshift(float32[n,8])", "0"},
  };
  check_macs(kCases);
}

TEST_CASE("costs: quantized layers", "[costs]") {
  static constexpr Case kCases[] = {
      {"quantized::linear(quint8[n,3], [qint8[4,3]], 1.0, 0)", "n*12"},
      {"quantized::linear_dynamic(float32[2,n,3], [qint8[4,3]])", "n*24"},
      {"quantized::linear_dynamic(float32[2,n,3], ?) -> float32[2,n,4]", "n*24"},
      {"quantized::linear(quint8[n,3], ?, 1.0, 0)", "?"},
      {"quantized::conv2d.new(quint8[2,4,8,8], [qint8[6,2,3,3],[1,1],[1,1],[1,1],[2],[]], 1.0, 0)", "13824"},
      {"quantized::conv2d_relu.new(quint8[2,4,8,8], [qint8[6,2,3,3],[1,1],[1,1],[1,1],[2],[]], 1.0, 0)",
       "13824"},
      {"quantized::conv_transpose2d(quint8[2,4,8,8], [qint8[4,3,3,3],[2,2],[0,0],[1,1],[2],[0,0]], 1.0, 0)",
       "13824"},
      {"quantized::conv2d.new(quint8[2,4,8,8], ?, 1.0, 0) -> quint8[2,6,8,8]", "?"},
      {"quantized::matmul(quint8[n,3], quint8[3,4], 1.0, 0)", "n*12"},
      {"quantized::add(quint8[n], quint8[n], 1.0, 0)", "0"},
      {"quantized::linear_prepack(qint8[4,3])", "0"},
      {"quantize_per_tensor(float32[n], 1.0, 0, quint8)", "0"},
      {"dequantize.self(quint8[n])", "0"},
      {"onednn::qlinear_pointwise(uint8[n,3], 1.0, 0, int8[3,4], float32[4], int64[4], None, 1.0, 0, None, "
       "'none', [], '') -> uint8[n,4]",
       "n*12"},
      {"onednn::qconv2d_pointwise(uint8[2,4,8,8], 1.0, 0, int8[2,3,2,3,3], float32[6], int64[6], None, [1,1], "
       "[1,1], [1,1], 2, 1.0, 0, None, 'none', [], '') -> uint8[2,6,8,8]",
       "13824"},
  };
  check_macs(kCases);
}

TEST_CASE("costs: what does no multiply-accumulate", "[costs]") {
  static constexpr Case kCases[] = {
      {"add.Tensor(float32[n], float32[n])", "0"},
      {"add_.Tensor(float32[n], float32[n])", "0"},
      {"addcmul(float32[n], float32[n], float32[n])", "0"},
      {"relu_(float32[n])", "0"},
      {"sum.dim_IntList(float32[n,4], [1])", "0"},
      {"softmax.int(float32[n,4], 1)", "0"},
      {"batch_norm(float32[n,4], None, None, None, None, False, 0.1, 0.1, False)", "0"},
      {"max_pool2d(float32[n,3,8,8], [2,2])", "0"},
      {"max_pool2d_with_indices_backward(?, ?, [2,2], [2,2], [0,0], [1,1], False, ?)", "0"},
      {"upsample_bilinear2d(float32[n,3,8,8], [16,16], False)", "0"},
      {"view(float32[n,4], [-1])", "0"},
      {"view_copy(float32[n,4], [-1])", "0"},
      {"size.int(float32[n,4], 0)", "0"},
      {"cat([float32[n], float32[n]])", "0"},
      {"zeros([n])", "0"},
      {"index.Tensor(float32[n], [int64[3]])", "0"},
      {"sort(float32[n])", "0"},
      {"mse_loss(float32[n], float32[n])", "0"},
      {"dropout(float32[n], 0.5, True)", "0"},
      {"_foreach_add_.List([float32[n]], [float32[n]])", "0"},
      {"quantized_decomposed::dequantize_per_tensor(uint8[n,4], 0.5, 1, 0, 255, float32)", "0"},
      {"torchao::quantize_affine(float32[n,4])", "0"},
      {"torchvision::nms(float32[n,4], float32[n], 0.5)", "0"},
      {"torchvision::roi_align(float32[n,3,8,8], float32[m,5], 1.0, 7, 7, 2, False)", "0"},
      {"prim::TupleUnpack(?)", "0"},
  };
  check_macs(kCases);
}

TEST_CASE("costs: sizes of any kind", "[costs]") {
  static constexpr Case kCases[] = {
      {"mm(float32[0,3], float32[3,5])", "0"},
      {"mm(float32[4,0], float32[0,5])", "0"},
      {"conv2d(float32[0,3,8,8], float32[4,3,3,3])", "0"},
      {"scaled_dot_product_attention(float32[2,3,0,5], float32[2,3,6,5], float32[2,3,6,7])", "0"},
      {"fft_fft(complex64[0,8])", "0"},
      {"einsum('ij,jk->ik', [float32[0,3], float32[3,4]])", "0"},
      {"linalg_multi_dot([float32[0,3], float32[3,4], float32[4,0]])", "0"},
      {"mm(float32[4000000000,4000000000], float32[4000000000,5])", "too large"},
      {"addbmm(float32[4,5], float32[4000000000,4000000000,3], float32[4000000000,3,5])", "too large"},
      {"einsum('ij,jk->ik', [float32[4000000000,4000000000], float32[4000000000,4]])", "too large"},
      {"fft_fft(complex64[9000000000000000000])", "?"},
      {"linalg_multi_dot([float32[4000000000,4000000000], float32[4000000000,5]])", "too large"},
      {"matrix_power(float32[4,4], 9223372036854775807)", "7936"},
      {"quantized_lstm.input(float32[5,2,3], [float32[4,2,4]], ?, True, 9000000000000000000, 0.0, False, True, "
       "False)",
       "too large"},
      {"quantized_gru.input(float32[5,2,3], float32[2,2,4], ?, True, -2, 0.0, False, False, False)", "?"},
      {"quantized_gru.input(float32[5,2,3], float32[2,2,4], ?, True, 0, 0.0, False, False, False)", "840"},
      {"mm(float32[], float32[3,5]) -> float32[3,5]", "?"},
      {"bilinear(float32[], float32[], float32[7,3,5]) -> float32[]", "?"},
      {"linear(float32[], float32[3,5]) -> float32[]", "?"},
      {"conv2d(float32[2,3,8,8], float32[3]) -> float32[3]", "?"},
      {"tensordot(float32[2,3], float32[3,4], [9], [0]) -> float32[2,4]", "?"},
      {"fft_fft(complex64[n,8], dim=5) -> complex64[n,8]", "?"},
      {"fft_rfftn(float32[n,8], []) -> complex64[n,8]", "?"},
      {"einsum('......i->i', [float32[2,3]])", "?"},
      {"linalg_vecdot(float32[3], float32[3], dim=1)", "?"},
  };
  check_macs(kCases);
}

// A new operator of a later torch is reported here, until a rule or its row says what it costs.
TEST_CASE("costs: operators that nobody knows", "[costs]") {
  const std::set<std::string> expected = {
      // decompositions, inverses, solvers and operators made of them: iterations, or a choice of the library
      "aten::_cholesky_solve_helper", "aten::_compute_linear_combination", "aten::_linalg_det",
      "aten::_linalg_eigh", "aten::_linalg_eigvals", "aten::_linalg_slogdet", "aten::_linalg_solve_ex",
      "aten::_linalg_svd", "aten::_lu_with_info", "aten::cholesky", "aten::cholesky_inverse",
      "aten::cholesky_solve", "aten::det", "aten::geqrf", "aten::inverse", "aten::linalg_cholesky",
      "aten::linalg_cholesky_ex", "aten::linalg_cond", "aten::linalg_det", "aten::linalg_eig",
      "aten::linalg_eigh", "aten::linalg_eigvals", "aten::linalg_eigvalsh",
      "aten::linalg_householder_product", "aten::linalg_inv", "aten::linalg_inv_ex",
      "aten::linalg_ldl_factor", "aten::linalg_ldl_factor_ex", "aten::linalg_ldl_solve", "aten::linalg_lstsq",
      "aten::linalg_lu", "aten::linalg_lu_factor", "aten::linalg_lu_factor_ex", "aten::linalg_lu_solve",
      "aten::linalg_matrix_exp", "aten::linalg_matrix_rank", "aten::linalg_pinv", "aten::linalg_qr",
      "aten::linalg_slogdet", "aten::linalg_solve", "aten::linalg_solve_ex", "aten::linalg_solve_triangular",
      "aten::linalg_svd", "aten::linalg_svdvals", "aten::linalg_tensorinv", "aten::linalg_tensorsolve",
      "aten::logdet", "aten::lu_solve", "aten::matrix_exp", "aten::nuclear_norm", "aten::orgqr",
      "aten::ormqr", "aten::pinverse", "aten::qr", "aten::slogdet", "aten::svd", "aten::triangular_solve",
      "prims::svd",
      // sparse tensors: the number of elements depends on data
      "aten::_cslt_sparse_mm", "aten::_cslt_sparse_mm_search", "aten::_sparse_addmm", "aten::_sparse_mm",
      "aten::_sparse_mm_reduce_impl", "aten::_sparse_semi_structured_addmm",
      "aten::_sparse_semi_structured_linear", "aten::_sparse_semi_structured_mm",
      "aten::_sparse_sparse_matmul", "aten::_spsolve", "aten::hspmm", "aten::smm",
      "aten::sparse_sampled_addmm", "aten::sspaddmm", "sparse::qlinear", "sparse::qlinear_dynamic",
      "sparse::qlinear_relu", "sparse::qlinear_relu_dynamic",
      // derivatives of products
      "aten::_backward", "aten::_convolution_double_backward", "aten::_cudnn_rnn_backward",
      "aten::_efficient_attention_backward", "aten::_flash_attention_backward", "aten::_slow_conv2d_backward",
      "aten::_sparse_mm_reduce_impl_backward", "aten::affine_grid_generator_backward", "aten::backward",
      "aten::conv_tbc_backward", "aten::cudnn_affine_grid_generator_backward", "aten::grad",
      "aten::linear_backward", "aten::lstm_mps_backward", "aten::matmul_backward",
      "aten::matrix_exp_backward", "aten::miopen_rnn_backward", "aten::mkldnn_linear_backward",
      "aten::mkldnn_linear_backward_input", "aten::mkldnn_linear_backward_weights",
      "aten::mkldnn_rnn_layer_backward", "aten::mps_convolution_backward",
      "aten::mps_convolution_transpose_backward",
      // operators with graphs of their own inside
      "prim::BailOut", "prim::DifferentiableGraph", "prim::FallbackGraph", "prim::FusionGroup",
      "prim::IgnoredPythonOp", "prim::MMBatchSide", "prim::MMTreeReduce", "prim::StaticSubgraph",
      "prim::TensorExprDynamicGroup", "prim::TensorExprGroup", "prim::awaitable_wait",
      "prim::oneDNNFusionGroup",
      // operators of torch's own tests
      "aten::_foobar", "aten::_test_ambiguous_defaults", "aten::_test_autograd_multiple_dispatch",
      "aten::_test_check_tensor", "aten::_test_functorch_fallback", "aten::_test_optional_filled_intlist",
      "aten::_test_optional_floatlist", "aten::_test_optional_intlist", "aten::_test_parallel_materialize",
      "aten::_test_string_default", "aten::_test_warn_in_autograd"};
  const std::set<std::string_view> between_processes = {"c10d", "_c10d_functional", "symm_mem"};
  std::set<std::string> unknown;
  for (const std::span<const Operator> table : {registered_operators(), extension_operators()}) {
    for (const Operator& op : table) {
      const std::string_view name = op.base_name(), space = name.substr(0, name.find("::"));
      if (between_processes.contains(space) || space == "_test") continue;
      if (entry_of(op).macs == nullptr) unknown.emplace(name);
    }
  }
  CHECK(unknown == expected);
}
