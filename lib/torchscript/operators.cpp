#include "torchscript/operators.h"

#include <dlfcn.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <cctype>
#include <set>

#include "support/error.h"
#include "torchscript/convert.h"

namespace fxtrace {
namespace {

// torchvision's operators, as torchvision 0.28 registers them.
constexpr const char* kTorchvision[] = {
    "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "torchvision::qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt "
    "pooled_width, int sampling_ratio, bool aligned) -> Tensor",
    "torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt "
    "pooled_width) -> (Tensor, Tensor)",
    "torchvision::ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt "
    "pooled_width, int sampling_ratio) -> (Tensor, Tensor)",
    "torchvision::ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt "
    "pooled_width) -> (Tensor, Tensor)",
    "torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt "
    "stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, "
    "SymInt offset_groups, bool use_mask) -> Tensor",
    "torchvision::_interpolate_bilinear2d_aa(Tensor input, SymInt[] output_size, bool align_corners) -> Tensor",
    "torchvision::_interpolate_bicubic2d_aa(Tensor input, SymInt[] output_size, bool align_corners) -> Tensor",
    "torchvision::box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor",
    "torchvision::_cuda_version() -> int",
};

bool is_known(const std::string& name) {
  return !torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name)).empty();
}

void declare(const std::string& schema_text) {
  const c10::FunctionSchema schema = torch::jit::parseSchema(schema_text);
  torch::jit::registerOperator(torch::jit::Operator(
      schema_text,
      [name = schema.name()](torch::jit::Stack&) { throw std::runtime_error(name + " is only declared"); },
      c10::AliasAnalysisKind::FROM_SCHEMA));
}

bool is_identifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Names after "ops." in the code, as "namespace::name".  Text inside string literals may add names that are
// no operators: they only matter when they are unknown and are then declared or listed in vain.
void find_operators(const std::string& code, std::set<std::string>& found) {
  constexpr std::string_view kPrefix = "ops.";
  for (std::size_t at = code.find(kPrefix); at != std::string::npos; at = code.find(kPrefix, at + 1)) {
    if (at > 0 && (is_identifier(code[at - 1]) || code[at - 1] == '.')) continue;
    std::size_t end = at + kPrefix.size();
    while (end < code.size() && is_identifier(code[end])) ++end;
    if (end >= code.size() || code[end] != '.') continue;
    const std::string space = code.substr(at + kPrefix.size(), end - at - kPrefix.size());
    const std::size_t name_begin = ++end;
    while (end < code.size() && is_identifier(code[end])) ++end;
    if (end >= code.size() || code[end] != '(' || end == name_begin) continue;
    const std::string name = code.substr(name_begin, end - name_begin);
    if (space != "prim") found.insert(space + "::" + name);
  }
}

}  // namespace

std::vector<std::string> provide_operators(const CodeFiles& code, const TraceOptions& options) {
  for (const auto& library : options.op_libraries) {
    if (::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
      const char* why = ::dlerror();
      throw usage_error("--op-library: cannot load " + library + ": " + (why == nullptr ? "" : why));
    }
  }
  for (const auto& schema : options.op_schemas) {
    try {
      const std::string name = torch::jit::parseSchema(schema).name();
      if (is_known(name)) continue;
      declare(schema);
    } catch (const std::exception& e) {
      throw usage_error("--op-schema: invalid operator schema '" + schema + "': " + readable_message(e.what()),
                        {"a schema looks like 'pkg::op(Tensor x, int n=1, *, bool flag=False) -> Tensor'"});
    }
  }
  std::set<std::string> called;
  for (const auto& [record, text] : code) find_operators(text, called);
  std::vector<std::string> unknown;
  for (const auto& name : called) {
    if (is_known(name)) continue;
    bool built_in = false;
    for (const char* schema : kTorchvision) {
      const std::string_view view(schema);
      if (view.substr(0, view.find('(')) != name) continue;
      declare(schema);
      built_in = true;
    }
    if (!built_in) unknown.push_back(name);
  }
  if (unknown.empty()) return {};

  std::vector<std::string> warnings;
  std::string missing;
  std::vector<std::string> hints;
  for (const auto& inferred : infer_schemas(code, unknown)) {
    if (inferred.complete) {
      declare(inferred.schema);
      warnings.push_back("operator " + inferred.name + " is unknown; declared from its calls as '" +
                         inferred.schema + "'");
      continue;
    }
    missing += (missing.empty() ? "" : ", ") + inferred.name;
    hints.push_back("--op-schema '" + inferred.schema + "'");
  }
  if (missing.empty()) return warnings;
  hints.push_back("or load the library that registers them: --op-library LIB");
  throw input_error("the archive calls unknown operators: " + missing, hints);
}

}  // namespace fxtrace
