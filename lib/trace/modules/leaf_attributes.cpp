#include "trace/modules/leaf_attributes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "support/text/qualified_name.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

using Shape = LeafShape;
using List = Argument::List;

// --- values ---

// The attributes found for one module.  An attribute with two different values is dropped.
class FoundAttributes {
 public:
  void add(std::string_view name, Argument value) {
    const auto known = std::ranges::find(entries_, name, &Entry::name);
    if (known == entries_.end()) {
      entries_.push_back({name, std::move(value), true});
    } else if (known->value != value) {
      known->agrees = false;
    }
  }
  void add_if(std::string_view name, std::optional<Argument> value) {
    if (value) add(name, std::move(*value));
  }

  ModuleAttributes take_result() {
    ModuleAttributes attributes;
    for (Entry& entry : entries_) {
      if (entry.agrees) attributes.emplace_back(entry.name, std::move(entry.value));
    }
    return attributes;
  }

 private:
  struct Entry {
    std::string_view name;  // a literal of the code
    Argument value;
    bool agrees;
  };
  std::vector<Entry> entries_;
};

Argument list_of(std::span<const std::int64_t> sizes) {
  List list;
  for (const std::int64_t size : sizes) list.items.emplace_back(size);
  return list;
}

std::optional<Shape> integers(const Argument& value) {
  Shape result;
  if (const auto* number = value.get_if<std::int64_t>()) return Shape{*number};
  const auto* items = items_of(value);
  if (items == nullptr) return std::nullopt;
  for (const Argument& item : *items) {
    const auto* number = item.get_if<std::int64_t>();
    if (number == nullptr) return std::nullopt;
    result.push_back(*number);
  }
  return result;
}

// Returns one number for each of `dims` dimensions; a single number stands for all of them.  Pooling over one
// dimension is decomposed into pooling over two, whose first size is dropped.
std::optional<Shape> sizes_of(const Argument& value, std::size_t dims) {
  auto sizes = integers(value);
  if (!sizes) return std::nullopt;
  if (sizes->size() == 1) sizes->resize(dims, sizes->front());
  if (sizes->size() == 2 && dims == 1) sizes->erase(sizes->begin());
  return sizes->size() == dims ? sizes : std::nullopt;
}

// Returns the shape as numbers; nothing when a size is not a number.
std::optional<Shape> numbers_of(const Meta& meta) {
  if (!meta.shape) return std::nullopt;
  Shape shape;
  for (const auto& size : *meta.shape) {
    const auto number = size.number();
    if (!number) return std::nullopt;
    shape.push_back(*number);
  }
  return shape;
}

// The number of operations that a search goes back over; modules of torch.nn have far fewer.
constexpr int kMostSteps = 64;

// --- the table ---

// The form of an attribute that is an argument of an operator.
enum class Form : std::uint8_t {
  kInteger,
  kOptionalInteger,
  kNumber,  // a float, possibly given as an integer
  kOptionalNumber,
  kFlag,
  kText,
  kSizes,      // one number for each dimension
  kList,       // integers, any number of them
  kReduction,  // of losses: "none", "mean" or "sum"
  kAffine      // true if the module has weights, false if the operator gets None
};
struct AttributeOfArgument {
  std::string_view attribute;
  Form form = Form::kInteger;
  std::string_view argument = {};  // empty: the same name as the attribute
};

// An attribute that is a size of the module's weight.
struct SizeOfWeight {
  std::string_view attribute;
  std::size_t dim = 0;
};

using Look = void (*)(const LeafModule&, FoundAttributes&);
using LookAt = void (*)(const LeafModule&, const LeafSite&, FoundAttributes&);

constexpr std::size_t kMostTold = 6;

// A row of the table: the attributes of some modules that operators determine.  Names are separated by
// spaces.
struct Row {
  std::string_view modules;
  std::string_view operators = {};  // operators of the module, without the "_" of in-place variants
  AttributeOfArgument told[kMostTold] = {};
  std::size_t rank = 0;  // the rank of the weight for which `sizes` holds
  SizeOfWeight sizes[3] = {};
  Look look = nullptr;       // called for the module, first
  LookAt look_at = nullptr;  // called for each of its operators, before `told`
};

std::optional<Argument> find_affine(const LeafModule& module, const LeafSite& site) {
  if (module.shape("weight") != nullptr) return true;
  const Argument* weight = site.given_argument("weight");
  const auto none = site.plain("weight");
  const bool has_none =
      none && none->is<Argument::None>() && (weight == nullptr || weight->is<Argument::None>());
  return has_none ? std::optional<Argument>(false) : std::nullopt;
}

std::optional<Argument> told_value(const LeafModule& module, const LeafSite& site,
                                   const AttributeOfArgument& told) {
  if (told.form == Form::kAffine) return find_affine(module, site);
  auto value = site.plain(told.argument.empty() ? told.attribute : told.argument);
  if (!value) return std::nullopt;
  const bool is_none = value->is<Argument::None>();
  switch (told.form) {
    case Form::kOptionalInteger:
      if (is_none) return value;
      [[fallthrough]];
    case Form::kInteger:
      return value->is<std::int64_t>() ? value : std::nullopt;
    case Form::kOptionalNumber:
      if (is_none) return value;
      [[fallthrough]];
    case Form::kNumber:
      if (const auto* integer = value->get_if<std::int64_t>()) return static_cast<double>(*integer);
      return value->is<double>() ? value : std::nullopt;
    case Form::kFlag:
      return value->is<bool>() ? value : std::nullopt;
    case Form::kText:
      return value->is<std::string>() ? value : std::nullopt;
    case Form::kSizes: {
      const auto sizes = sizes_of(*value, module.dims);
      return sizes ? std::optional(list_of(*sizes)) : std::nullopt;
    }
    case Form::kList: {
      constexpr std::size_t kMost = 64;  // as of scripted modules
      const auto list = integers(*value);
      return list && list->size() <= kMost ? std::optional(list_of(*list)) : std::nullopt;
    }
    case Form::kReduction: {
      constexpr std::array<const char*, 3> kNames{"none", "mean", "sum"};
      const auto* number = value->get_if<std::int64_t>();
      const bool is_known = number != nullptr && *number >= 0 && *number < 3;
      return is_known ? std::optional<Argument>(kNames[static_cast<std::size_t>(*number)]) : std::nullopt;
    }
    case Form::kAffine:
      break;
  }
  return std::nullopt;
}

// --- convolutions ---

bool same_end(const Meta& a, const Meta& b, std::size_t dims) {
  if (!a.shape || !b.shape || a.shape->size() < dims || b.shape->size() < dims) return false;
  return std::equal(a.shape->end() - static_cast<std::ptrdiff_t>(dims), a.shape->end(),
                    b.shape->end() - static_cast<std::ptrdiff_t>(dims));
}

// Finds the padding of a convolution.  A module pads by an operator of its own when padding_mode is not
// "zeros", or when "same" is not symmetric.
void add_padding(const LeafModule& module, const LeafSite& convolution, FoundAttributes& found) {
  const std::size_t dims = module.dims;
  auto input = convolution.value("input");
  for (int steps = 0; input; ++steps) {
    const LeafSite* maker = module.maker(convolution.graph, *input);
    if (maker == nullptr) break;
    if (steps == kMostSteps) return;
    const Node& operation = maker->node();
    const auto* before = operation.args.empty() ? nullptr : operation.args[0].get_if<NodeId>();
    if (before == nullptr) return;
    const bool adds_batch = maker->name() == "unsqueeze" && maker->integer("dim") == 0;
    if (!adds_batch && !same_end(maker->meta(*input), maker->meta(*before), dims)) {
      if (maker->name() != "pad") return;
      const auto pads = maker->plain("pad");
      const auto mode = maker->plain("mode");
      const auto both = pads ? integers(*pads) : std::nullopt;
      if (!both || both->size() != 2 * dims || !mode || !mode->is<std::string>()) return;
      Shape padding;
      for (std::size_t i = both->size(); i > 0; i -= 2) {
        if ((*both)[i - 1] != (*both)[i - 2]) return;
        padding.push_back((*both)[i - 1]);
      }
      found.add("padding", list_of(padding));
      found.add("padding_mode", *mode);
      return;
    }
    input = *before;
  }
  auto padding = convolution.plain("padding");
  if (!padding || !input) return;
  if (padding->is<std::string>()) return found.add("padding", std::move(*padding));
  if (const auto sizes = sizes_of(*padding, dims)) found.add("padding", list_of(*sizes));
}

void look_at_convolution(const LeafModule& module, const LeafSite& site, FoundAttributes& found) {
  const std::size_t dims = module.dims;
  const bool transposed = module.type.find("Transpose") != std::string_view::npos;
  std::optional<Shape> weight;
  if (const Shape* own = module.shape("weight")) {
    weight = *own;
  } else if (const Meta* computed = site.meta("weight")) {  // computed by weight_norm and the like
    weight = numbers_of(*computed);
  }
  const auto groups = site.integer("groups");
  const bool is_known = weight && weight->size() == dims + 2 && groups && *groups > 0;
  std::int64_t times = 0;
  if (is_known && !__builtin_mul_overflow((*weight)[1], *groups, &times)) {
    found.add("in_channels", transposed ? (*weight)[0] : times);
    found.add("out_channels", transposed ? times : (*weight)[0]);
  }
  if (is_known) found.add("kernel_size", list_of(std::span(*weight).subspan(2)));
  const auto add_sizes = [&](std::string_view name) {
    const auto value = site.plain(name);
    const auto sizes = value ? sizes_of(*value, dims) : std::nullopt;
    if (sizes) found.add(name, list_of(*sizes));
  };
  add_sizes("stride");
  add_padding(module, site, found);
  add_sizes("dilation");
  found.add("transposed", transposed);
  if (transposed) add_sizes("output_padding");
  if (groups && *groups > 0) found.add("groups", *groups);
}

// --- embeddings ---

// The operator has -1 for None; the module counts from the front.
void add_padding_index(const LeafModule&, const LeafSite& site, FoundAttributes& found) {
  const auto value = site.plain("padding_idx");
  if (!value) return;
  const auto* index = value->get_if<std::int64_t>();
  if (value->is<Argument::None>() || (index != nullptr && *index == -1)) {
    found.add("padding_idx", Argument(Argument::None{}));
  } else if (index != nullptr && *index >= 0) {
    found.add("padding_idx", *index);
  }
}
void look_at_bag(const LeafModule& module, const LeafSite& site, FoundAttributes& found) {
  add_padding_index(module, site, found);
  constexpr std::array<const char*, 3> kModes{"sum", "mean", "max"};
  const auto mode = site.integer("mode");
  if (mode && *mode >= 0 && *mode < 3) found.add("mode", kModes[static_cast<std::size_t>(*mode)]);
}

// --- norms ---

// Without weights and statistics the number of features stays unknown: torch does not check it.
void look_at_features(const LeafModule& module, FoundAttributes& found) {
  const Shape* one = module.shape("weight");
  if (one == nullptr) one = module.shape("running_mean");
  if (one != nullptr && one->size() == 1) found.add("num_features", one->front());
}
void look_at_batch_norm(const LeafModule& module, const LeafSite& site, FoundAttributes& found) {
  if (const auto eps = told_value(module, site, {"eps", Form::kNumber})) found.add("eps", *eps);
  // With momentum=None the operator gets 0, or a number that varies.
  const auto momentum = told_value(module, site, {"momentum", Form::kNumber});
  if (momentum && *momentum != Argument(0.0)) found.add("momentum", *momentum);
  found.add_if("affine", find_affine(module, site));
}

void look_at_normalized(const LeafModule& module, FoundAttributes& found) {
  const Shape* weight = module.shape("weight");
  if (weight != nullptr) found.add("normalized_shape", list_of(*weight));
}

// Returns the number in an operation on a tensor and a number.
std::optional<Argument> number_argument(const LeafModule& module, const LeafSite& site,
                                        std::string_view argument) {
  return told_value(module, site, {argument, Form::kNumber});
}

// LocalResponseNorm computes x / (k + alpha * avg_pool(x * x)) ** beta.
void look_at_local_norm(const LeafModule& module, FoundAttributes& found) {
  for (const LeafSite& site : module.sites) {
    if (!site.name().starts_with("avg_pool")) continue;
    const auto kernel = site.plain("kernel_size");
    const auto sizes = kernel ? integers(*kernel) : std::nullopt;
    if (sizes && sizes->size() > 1) found.add("size", sizes->front());
  }
  for (const LeafSite& site : module.sites) {
    if (site.name() == "mul") found.add_if("alpha", number_argument(module, site, "other"));
    if (site.name() == "pow") found.add_if("beta", number_argument(module, site, "exponent"));
    if (site.name() == "add") found.add_if("k", number_argument(module, site, "other"));
  }
}

// --- pooling ---

// LPPool computes sum(x ** norm_type) ** (1 / norm_type), the sum as a mean times the size of the kernel.
void look_at_power(const LeafModule& module, FoundAttributes& found) {
  for (const LeafSite& site : module.sites) {
    if (site.name() != "pow") continue;
    return found.add_if("norm_type", number_argument(module, site, "exponent"));
  }
}
void look_at_power_pool(const LeafModule& module, const LeafSite& site, FoundAttributes& found) {
  auto kernel = told_value(module, site, {"kernel_size", Form::kSizes});
  auto stride = told_value(module, site, {"stride", Form::kSizes});
  // After decomposition, a stride of None has become the size of the kernel.
  const bool is_told = kernel && stride && *kernel != *stride;
  found.add_if("kernel_size", std::move(kernel));
  if (is_told) found.add_if("stride", std::move(stride));
}

// A size that equals that of the input may be None in the module, so nothing is added then.
void look_at_adaptive_pool(const LeafModule& module, const LeafSite& site, FoundAttributes& found) {
  const std::size_t dims = module.dims;
  std::optional<Shape> sizes;
  if (site.name() == "mean") {
    // Pooling to one element is decomposed into a mean, over two dimensions for AdaptiveAvgPool1d.
    if (site.plain("keepdim") != Argument(true)) return;
    const auto given = site.plain("dim");
    const auto over = given ? integers(*given) : std::nullopt;
    if (!over || over->size() != std::max<std::size_t>(dims, 2)) return;
    for (std::size_t i = 0; i < over->size(); ++i) {
      if (std::ranges::find(*over, -1 - static_cast<std::int64_t>(i)) == over->end()) return;
    }
    sizes.emplace(dims, 1);
  } else if (const auto given = site.plain("output_size")) {
    sizes = sizes_of(*given, dims);
  }
  const Meta* input = site.meta("self");
  if (!sizes || input == nullptr || !input->shape || input->shape->size() < dims) return;
  for (std::size_t i = 0; i < dims && dims > 1; ++i) {
    const auto& size = (*input->shape)[input->shape->size() - dims + i];
    if (!size.number() || *size.number() == (*sizes)[i]) return;
  }
  found.add("output_size", list_of(*sizes));
}

// --- activations ---

// With dim=None the module uses a dimension that depends on the rank, which proves nothing.
void look_at_softmax(const LeafModule&, const LeafSite& site, FoundAttributes& found) {
  const Meta* input = site.meta("self");
  const auto dim = site.integer("dim");
  if (!dim || input == nullptr || !input->shape) return;
  const std::size_t rank = input->shape->size();
  const std::int64_t implicit = rank == 0 || rank == 1 || rank == 3 ? 0 : 1;
  if (*dim != implicit) found.add("dim", *dim);
}

// Decomposed dropout is a copy in evaluation, and draws random numbers in training (unless p is 0).
void look_at_dropout(const LeafModule& module, FoundAttributes& found) {
  const auto copies = [](const LeafSite& site) { return site.name() == "clone" || site.name() == "alias"; };
  if (!module.sites.empty() && std::ranges::all_of(module.sites, copies)) found.add("training", false);
}

// --- sizes ---

// With recompute_scale_factor the size is that of the input times the factor, so Upsample gets no size.
void look_at_upsample(const LeafModule& module, const LeafSite& site, FoundAttributes& found) {
  const bool is_plain = module.type == "Upsample";
  if (const auto size = site.plain("output_size"); size && !is_plain) {
    if (const auto sizes = integers(*size)) found.add("size", list_of(*sizes));
  }
  const auto given = site.plain("scale_factors");
  if (const auto* factors = given ? items_of(*given) : nullptr) {
    const bool are_numbers = !factors->empty() && std::ranges::all_of(*factors, [](const Argument& factor) {
      return factor.is<double>();
    });
    if (are_numbers) found.add("scale_factor", Argument(List{*factors}));
  }
  std::string_view mode = site.name();
  if (mode.starts_with('_')) mode.remove_prefix(1);
  mode.remove_prefix(std::string_view("upsample_").size());
  if (mode.size() > 2 && mode.ends_with('d')) mode.remove_suffix(2);
  found.add("mode", mode == "nearest_exact" ? "nearest-exact" : std::string(mode));
  if (site.plain("align_corners") == Argument(true)) found.add("align_corners", true);  // None is False
}

// --- recurrent modules ---

void look_at_cell(const LeafModule& module, FoundAttributes& found) {
  const Shape* input = module.shape("weight_ih");
  const Shape* hidden = module.shape("weight_hh");
  if (input == nullptr || hidden == nullptr || input->size() != 2 || hidden->size() != 2) return;
  found.add("input_size", (*input)[1]);
  found.add("hidden_size", (*hidden)[1]);
  found.add("bias", module.shape("bias_ih") != nullptr);
}
void look_at_nonlinearity(const LeafModule&, const LeafSite& site, FoundAttributes& found) {
  const bool is_relu = site.name().find("relu") != std::string_view::npos;
  found.add("nonlinearity", is_relu ? "relu" : "tanh");
}

void look_at_recurrent(const LeafModule& module, FoundAttributes& found) {
  const std::int64_t gates = module.type == "LSTM" ? 4 : module.type == "GRU" ? 3 : 1;
  const Shape* input = module.shape("weight_ih_l0");
  if (input == nullptr || input->size() != 2 || (*input)[0] % gates != 0) return;
  found.add("input_size", (*input)[1]);
  found.add("hidden_size", (*input)[0] / gates);
  std::size_t layers = 0;
  while (layers < module.parameters() && module.shape("weight_ih_l" + std::to_string(layers)) != nullptr)
    ++layers;
  const bool bias = module.shape("bias_ih_l0") != nullptr;
  const bool two_ways = module.shape("weight_ih_l0_reverse") != nullptr;
  const Shape* projection = module.shape("weight_hr_l0");
  // The counts agree only if the module has all of these parameters and no others.
  const std::size_t of_each = 2 + (bias ? 2 : 0) + (projection != nullptr ? 1 : 0);
  if (module.parameters() != layers * (two_ways ? 2 : 1) * of_each) return;
  found.add("num_layers", static_cast<std::int64_t>(layers));
  found.add("bias", bias);
  found.add("bidirectional", two_ways);
  const bool is_matrix = projection != nullptr && projection->size() == 2;
  found.add("proj_size", is_matrix ? (*projection)[0] : std::int64_t{0});
}

// --- attention ---

// Returns the number of features of a head, from the product of query and key before a softmax.  Masks are
// added and sizes change in between.
std::optional<std::int64_t> features_before(const LeafModule& module, const LeafSite& softmax) {
  auto value = softmax.value("self");
  for (int steps = 0; value && steps < kMostSteps; ++steps) {
    const LeafSite* maker = module.maker(softmax.graph, *value);
    if (maker == nullptr || maker->node().args.empty()) return std::nullopt;
    const bool is_sum = maker->name() == "baddbmm";
    if (is_sum || maker->name() == "bmm" || maker->name() == "matmul") {
      const Meta* query = maker->meta(is_sum ? "batch1" : "self");
      if (query == nullptr || !query->shape || query->shape->empty()) return std::nullopt;
      return query->shape->back().number();
    }
    const auto* before = maker->node().args[0].get_if<NodeId>();
    value = before != nullptr ? std::optional(*before) : std::nullopt;
  }
  return std::nullopt;
}

void look_at_attention(const LeafModule& module, FoundAttributes& found) {
  const Shape* out = module.shape("out_proj", "weight");
  if (out == nullptr || out->size() != 2 || (*out)[0] != (*out)[1]) return;
  const std::int64_t features = (*out)[0];
  found.add("embed_dim", features);
  const auto width = [&](std::string_view name, std::string_view weight) {
    const Shape* own = module.shape(weight);
    if (own != nullptr && own->size() == 2) found.add(name, (*own)[1]);
    if (module.shape("in_proj_weight") != nullptr) found.add(name, features);
  };
  width("kdim", "k_proj_weight");
  width("vdim", "v_proj_weight");
  for (const LeafSite& site : module.sites) {
    std::optional<std::int64_t> of_head;
    if (site.name().find("scaled_dot_product") != std::string_view::npos) {
      const Meta* query = site.meta("query");
      if (query != nullptr && query->shape && !query->shape->empty()) of_head = query->shape->back().number();
    } else if (site.name() == "softmax" || site.name() == "_softmax") {
      of_head = features_before(module, site);
    }
    if (!of_head || *of_head <= 0 || features % *of_head != 0) continue;
    found.add("num_heads", features / *of_head);
    found.add("head_dim", *of_head);
  }
}

// --- distances and losses ---

constexpr Row kRows[] = {
    {.modules = "Linear NonDynamicallyQuantizableLinear",
     .rank = 2,
     .sizes = {{"in_features", 1}, {"out_features", 0}}},
    {.modules = "Bilinear",
     .rank = 3,
     .sizes = {{"in1_features", 1}, {"in2_features", 2}, {"out_features", 0}}},
    {.modules = "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
     .operators = "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution "
                  "_convolution _convolution_mode",
     .look_at = look_at_convolution},
    {.modules = "Embedding",
     .operators = "embedding",
     .told = {{"scale_grad_by_freq", Form::kFlag}, {"sparse", Form::kFlag}},
     .rank = 2,
     .sizes = {{"num_embeddings", 0}, {"embedding_dim", 1}},
     .look_at = add_padding_index},
    {.modules = "EmbeddingBag",
     .operators = "embedding_bag _embedding_bag _embedding_bag_forward_only",
     .told = {{"scale_grad_by_freq", Form::kFlag},
              {"sparse", Form::kFlag},
              {"include_last_offset", Form::kFlag}},
     .rank = 2,
     .sizes = {{"num_embeddings", 0}, {"embedding_dim", 1}},
     .look_at = look_at_bag},
    {.modules = "BatchNorm1d BatchNorm2d BatchNorm3d",
     .operators = "batch_norm native_batch_norm _native_batch_norm_legit _native_batch_norm_legit_functional "
                  "cudnn_batch_norm miopen_batch_norm _native_batch_norm_legit_no_training",
     .look = look_at_features,
     .look_at = look_at_batch_norm},
    {.modules = "InstanceNorm1d InstanceNorm2d InstanceNorm3d",
     .operators = "instance_norm _native_batch_norm_legit _native_batch_norm_legit_functional "
                  "_native_batch_norm_legit_no_training",
     .look = look_at_features,
     .look_at = look_at_batch_norm},
    {.modules = "GroupNorm",
     .operators = "group_norm native_group_norm",
     .told = {{"affine", Form::kAffine},
              {"num_groups", Form::kInteger},
              {"num_groups", Form::kInteger, "group"},
              {"eps", Form::kNumber}},
     .rank = 1,
     .sizes = {{"num_channels", 0}}},
    {.modules = "LayerNorm",
     .operators = "layer_norm native_layer_norm",
     .told = {{"elementwise_affine", Form::kAffine},
              {"normalized_shape", Form::kList},
              {"eps", Form::kNumber}},
     .look = look_at_normalized},
    {.modules = "RMSNorm",
     .operators = "rms_norm _fused_rms_norm",
     .told = {{"elementwise_affine", Form::kAffine},
              {"normalized_shape", Form::kList},
              {"eps", Form::kOptionalNumber}},
     .look = look_at_normalized},
    {.modules = "LocalResponseNorm", .look = look_at_local_norm},
    {.modules = "MaxPool1d MaxPool2d MaxPool3d",
     .operators = "max_pool1d max_pool2d max_pool3d max_pool1d_with_indices max_pool2d_with_indices "
                  "max_pool3d_with_indices",
     .told = {{"kernel_size", Form::kSizes},
              {"stride", Form::kSizes},
              {"padding", Form::kSizes},
              {"dilation", Form::kSizes},
              {"ceil_mode", Form::kFlag}}},
    {.modules = "AvgPool2d AvgPool3d",
     .operators = "avg_pool1d avg_pool2d avg_pool3d",
     .told = {{"kernel_size", Form::kSizes},
              {"stride", Form::kSizes},
              {"padding", Form::kSizes},
              {"ceil_mode", Form::kFlag},
              {"count_include_pad", Form::kFlag},
              {"divisor_override", Form::kOptionalInteger}}},
    {.modules = "AvgPool1d",
     .operators = "avg_pool1d avg_pool2d avg_pool3d",
     .told = {{"kernel_size", Form::kSizes},
              {"stride", Form::kSizes},
              {"padding", Form::kSizes},
              {"ceil_mode", Form::kFlag},
              {"count_include_pad", Form::kFlag}}},
    {.modules = "LPPool1d LPPool2d LPPool3d",
     .operators = "avg_pool1d avg_pool2d avg_pool3d",
     .told = {{"ceil_mode", Form::kFlag}},
     .look = look_at_power,
     .look_at = look_at_power_pool},
    {.modules = "FractionalMaxPool2d FractionalMaxPool3d",
     .operators = "fractional_max_pool2d fractional_max_pool3d",
     .told = {{"kernel_size", Form::kSizes}}},
    {.modules = "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d",
     .operators = "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool2d "
                  "_adaptive_avg_pool3d mean",
     .look_at = look_at_adaptive_pool},
    {.modules = "AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d",
     .operators = "adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d",
     .look_at = look_at_adaptive_pool},
    {.modules = "LogSoftmax Softmax Softmin",
     .operators = "softmax _softmax log_softmax _log_softmax",
     .look_at = look_at_softmax},
    {.modules = "PReLU", .rank = 1, .sizes = {{"num_parameters", 0}}},
    {.modules = "LeakyReLU", .operators = "leaky_relu", .told = {{"negative_slope", Form::kNumber}}},
    {.modules = "ELU", .operators = "elu", .told = {{"alpha", Form::kNumber}}},
    {.modules = "CELU", .operators = "celu", .told = {{"alpha", Form::kNumber}}},
    {.modules = "GELU", .operators = "gelu", .told = {{"approximate", Form::kText}}},
    {.modules = "GLU", .operators = "glu", .told = {{"dim", Form::kInteger}}},
    {.modules = "Hardtanh ReLU6",
     .operators = "hardtanh",
     .told = {{"min_val", Form::kNumber}, {"max_val", Form::kNumber}}},
    {.modules = "Hardshrink Softshrink",
     .operators = "hardshrink softshrink",
     .told = {{"lambd", Form::kNumber}}},
    {.modules = "Softplus",
     .operators = "softplus",
     .told = {{"beta", Form::kNumber}, {"threshold", Form::kNumber}}},
    {.modules = "Threshold",
     .operators = "threshold",
     .told = {{"threshold", Form::kNumber}, {"value", Form::kNumber}}},
    {.modules = "RReLU",
     .operators = "rrelu rrelu_with_noise rrelu_with_noise_functional",
     .told = {{"lower", Form::kNumber}, {"upper", Form::kNumber}}},
    {.modules = "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
     .operators = "dropout native_dropout feature_dropout alpha_dropout feature_alpha_dropout",
     .told = {{"p", Form::kNumber}, {"training", Form::kFlag, "train"}},
     .look = look_at_dropout},
    {.modules = "Flatten",
     .operators = "flatten",
     .told = {{"start_dim", Form::kInteger}, {"end_dim", Form::kInteger}}},
    {.modules = "Unflatten",
     .operators = "unflatten",
     .told = {{"dim", Form::kInteger}, {"unflattened_size", Form::kList, "sizes"}}},
    {.modules = "PixelShuffle", .operators = "pixel_shuffle", .told = {{"upscale_factor", Form::kInteger}}},
    {.modules = "PixelUnshuffle",
     .operators = "pixel_unshuffle",
     .told = {{"downscale_factor", Form::kInteger}}},
    {.modules = "ChannelShuffle",
     .operators = "channel_shuffle native_channel_shuffle",
     .told = {{"groups", Form::kInteger}}},
    {.modules = "Fold",
     .operators = "col2im",
     .told = {{"output_size", Form::kSizes},
              {"kernel_size", Form::kSizes},
              {"dilation", Form::kSizes},
              {"padding", Form::kSizes},
              {"stride", Form::kSizes}}},
    {.modules = "Unfold",
     .operators = "im2col",
     .told = {{"kernel_size", Form::kSizes},
              {"dilation", Form::kSizes},
              {"padding", Form::kSizes},
              {"stride", Form::kSizes}}},
    {.modules = "ConstantPad1d ConstantPad2d ConstantPad3d ZeroPad1d ZeroPad2d ZeroPad3d",
     .operators = "pad constant_pad_nd",
     .told = {{"padding", Form::kList, "pad"}, {"value", Form::kNumber}}},
    {.modules = "CircularPad1d CircularPad2d CircularPad3d ReflectionPad1d ReflectionPad2d ReflectionPad3d "
                "ReplicationPad1d ReplicationPad2d ReplicationPad3d",
     .operators = "pad",
     .told = {{"padding", Form::kList, "pad"}}},
    {.modules = "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
     .operators = "upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d "
                  "_upsample_nearest_exact2d _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d "
                  "upsample_trilinear3d upsample_bicubic2d",
     .look_at = look_at_upsample},
    {.modules = "GRUCell LSTMCell", .look = look_at_cell},
    {.modules = "RNNCell",
     .operators = "rnn_tanh_cell rnn_relu_cell tanh relu",
     .look = look_at_cell,
     .look_at = look_at_nonlinearity},
    {.modules = "LSTM GRU",
     .operators = "lstm gru",
     .told = {{"batch_first", Form::kFlag}, {"dropout", Form::kNumber}},
     .look = look_at_recurrent},
    {.modules = "RNN",
     .operators = "rnn_tanh rnn_relu tanh relu",
     .told = {{"batch_first", Form::kFlag}, {"dropout", Form::kNumber}},
     .look = look_at_recurrent,
     .look_at = look_at_nonlinearity},
    {.modules = "MultiheadAttention", .look = look_at_attention},
    {.modules = "CosineSimilarity",
     .operators = "cosine_similarity",
     .told = {{"dim", Form::kInteger}, {"eps", Form::kNumber}}},
    {.modules = "PairwiseDistance",
     .operators = "pairwise_distance",
     .told = {{"norm", Form::kNumber, "p"}, {"eps", Form::kNumber}, {"keepdim", Form::kFlag}}},
    {.modules = "BCELoss BCEWithLogitsLoss CosineEmbeddingLoss CrossEntropyLoss HingeEmbeddingLoss HuberLoss "
                "L1Loss MSELoss MarginRankingLoss NLLLoss SmoothL1Loss SoftMarginLoss",
     .operators =
         "l1_loss mse_loss smooth_l1_loss huber_loss soft_margin_loss binary_cross_entropy nll_loss_nd "
         "binary_cross_entropy_with_logits cross_entropy_loss hinge_embedding_loss margin_ranking_loss "
         "cosine_embedding_loss",
     .told = {{"reduction", Form::kReduction},
              {"beta", Form::kNumber},
              {"delta", Form::kNumber},
              {"margin", Form::kNumber},
              {"ignore_index", Form::kInteger},
              {"label_smoothing", Form::kNumber}}},
};

// Finds the row for a type without its Python module: "Conv2d".
const Row* find_row(std::string_view name) {
  static const auto rows = [] {
    std::unordered_map<std::string_view, const Row*> by_name;
    for (const Row& row : kRows) {
      for_each_word(row.modules, [&](std::string_view module) { by_name.emplace(module, &row); });
    }
    return by_name;
  }();
  const auto row = rows.find(name);
  return row != rows.end() ? row->second : nullptr;
}

bool is_of_torch(std::string_view type) {
  return type.starts_with("torch.nn.modules.") || type.starts_with("torch.ao.nn.qat.");
}

// Returns the number of spatial dimensions; two when the name has none (Fold, Unfold).
std::size_t dims_of(std::string_view name) {
  if (name.ends_with("1d")) return 1;
  return name.ends_with("3d") ? 3 : 2;
}

ModuleAttributes attributes_of(const Row& row, const LeafModule& module) {
  FoundAttributes found;
  const Shape* weight = row.rank > 0 ? module.shape("weight") : nullptr;
  if (weight != nullptr && weight->size() == row.rank) {
    for (const SizeOfWeight& size : row.sizes) {
      if (!size.attribute.empty()) found.add(size.attribute, (*weight)[size.dim]);
    }
  }
  if (row.look != nullptr) row.look(module, found);
  for (const LeafSite& site : module.sites) {
    std::string_view name = site.name();
    if (name.ends_with('_')) name.remove_suffix(1);
    if (!has_word(row.operators, name)) continue;
    if (row.look_at != nullptr) row.look_at(module, site, found);
    for (const AttributeOfArgument& told : row.told) {
      if (!told.attribute.empty()) found.add_if(told.attribute, told_value(module, site, told));
    }
  }
  return found.take_result();
}

const Row* row_of(const ModuleInfo& info) {
  return info.alias_of || !is_of_torch(info.type) ? nullptr : find_row(QualifiedName(info.type).last());
}

}  // namespace

bool is_told_of(std::string_view type) {
  return is_of_torch(type) && find_row(QualifiedName(type).last()) != nullptr;
}

std::vector<ModuleAttributes> attributes_of_modules(const std::vector<ModuleInfo>& modules,
                                                    const std::vector<ParameterRecord>& parameters,
                                                    const std::vector<std::vector<LeafSite>>& sites) {
  std::vector<ModuleAttributes> attributes(modules.size());
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const Row* row = row_of(modules[i]);
    if (row == nullptr) continue;
    const std::string_view name = QualifiedName(modules[i].type).last();
    attributes[i] =
        attributes_of(*row, LeafModule(name, dims_of(name), modules[i], modules, parameters, sites[i]));
  }
  return attributes;
}

}  // namespace fxtrace::internal
