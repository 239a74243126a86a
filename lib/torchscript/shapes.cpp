// What is known of values that depend on inputs: sizes that operators and leaves give, and questions that
// they answer.
#include <algorithm>

#include "torchscript/convert.h"
#include "torchscript/interpreter.h"
#include "torchscript/shapes/infer.h"
#include "torchscript/shapes/size_arithmetic.h"

namespace fxtrace {
namespace {

// Inner proxies have no nodes, so nothing but what is known of them may leave a silent run.
class Restore {
 public:
  explicit Restore(std::function<void()> f) : f_(std::move(f)) {}
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;
  ~Restore() { f_(); }

 private:
  std::function<void()> f_;
};

bool is_tensor(const c10::Type& type) { return type.kind() == c10::TypeKind::TensorType; }

}  // namespace

Known Interpreter::result_of(torch::jit::Function& function, const Values& arguments) {
  if (!shapes_) return {};
  const auto result = run_silently(function, arguments);
  return result ? known_of_value(*result) : Known{};
}

std::optional<at::IValue> Interpreter::run_silently(torch::jit::Function& function, const Values& arguments) {
  GraphTracer* const tracer = std::exchange(tracer_, nullptr);
  const std::size_t changes = mark();
  const std::size_t frames = frames_.size();
  const std::size_t outer_mark = std::exchange(call_mark_, changes);
  const std::int64_t outer_steps = std::exchange(steps_, 0);
  const bool outer_grad = grad_enabled_;
  const Restore restore([&] {
    frames_.resize(frames);
    roll_back(changes);
    call_mark_ = outer_mark;
    steps_ = outer_steps;
    grad_enabled_ = outer_grad;
    tracer_ = tracer;
  });
  try {
    return call_graph_function(function, arguments, nullptr);
  } catch (const TraceFailure&) {
    return std::nullopt;  // a leaf may do what cannot be followed: its result is not known
  } catch (const std::exception&) {
    return std::nullopt;  // LibTorch's: likewise
  }
}

bool Interpreter::answer(const IrNode* node, const c10::FunctionSchema& schema, const Values& values) {
  if (node->outputs().size() != 1) return false;
  // x.size() as a list: numbers where they are known, and a node for each of the others.
  if ((schema.name() == "aten::size" && values.size() == 1) || schema.name() == "prim::shape") {
    const auto info = find_tensor_info(values[0]);
    if (!info) return false;
    c10::impl::GenericList sizes(c10::IntType::get());
    for (std::size_t i = 0; i < info->sizes.size(); ++i) {
      if (const auto number = info->sizes[i].number()) {
        sizes.push_back(*number);
      } else {
        sizes.push_back(record_call("aten.size.int",
                                    {argument(values[0], node), static_cast<std::int64_t>(i)}, {},
                                    c10::IntType::get(), node, {info->sizes[i]}));
      }
    }
    set(node->output(), sizes);
    return true;
  }
  const Evaluated evaluated = evaluate_plain(schema, values, dimensions_);
  if (!evaluated.plain) return false;
  set(node->output(), *evaluated.plain);
  return true;
}

std::vector<Known> Interpreter::infer_results(const IrNode* node, const c10::FunctionSchema& schema,
                                              const Values& values) {
  std::vector<Known> results(node->outputs().size());
  if (!shapes_ || results.empty()) return results;
  const bool gives_tensor = std::any_of(schema.returns().begin(), schema.returns().end(),
                                        [](const auto& item) { return may_hold_tensor(*item.type()); });
  Evaluated evaluated = evaluate_plain(schema, values, dimensions_);
  if (!gives_tensor || values.empty() || !find_tensor_info(values[0])) {
    // Elements of lists of tensors are among these.
    results[0] = std::move(evaluated.known);
  }
  if (gives_tensor && results[0].is_unknown()) {
    results = infer_shapes(schema, values, dimensions_);
    results.resize(node->outputs().size());
    if (auto* info = std::get_if<TensorInfo>(&results[0].value); info != nullptr && info->sizes.empty()) {
      info->value = evaluate_element(schema, values, [this](const at::Tensor& tensor) {
        const auto known = constant_elements_.find(tensor.unsafeGetTensorImpl());
        return known == constant_elements_.end() ? std::nullopt : std::optional<SymInt>(known->second);
      });
    }
  }
  // An integer that the data decides.
  if (results[0].is_unknown() && node->outputs().size() == 1 &&
      node->output()->type()->kind() == c10::TypeKind::IntType) {
    results[0].value = dimensions_.fresh({std::nullopt, std::nullopt});
  }
  // What changes its argument: a list is no longer what it was, and x.unsqueeze_(0) gives x another shape.
  for (std::size_t i = 0; i < values.size() && i < schema.arguments().size(); ++i) {
    const auto* alias = schema.arguments()[i].alias_info();
    const Proxy* proxy = find_proxy(values[i]);
    if (alias == nullptr || !alias->isWrite() || proxy == nullptr || !proxy->known) continue;
    const bool same = i == 0 && results[0].tensor() != nullptr && is_tensor(*schema.arguments()[i].type());
    change_known(*proxy, same ? results[0] : Known{});
  }
  return results;
}

void Interpreter::read_constant(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.dim() != 0 || !at::isIntegralType(tensor.scalar_type(), false)) return;
  const auto values = elements(tensor);
  if (!values || values->size() != 1) return;
  if (const auto* number = values->front().get_if<std::int64_t>()) {
    constant_elements_.emplace(tensor.unsafeGetTensorImpl(), *number);
  }
}

void Interpreter::change_known(const Proxy& proxy, Known known) {
  if (*proxy.known == known) return;
  if (tracer_ == nullptr && proxy.node.valid()) {
    *proxy.known = Known{};  // a leaf does that to its argument, and may do it again
    return;
  }
  changes_.push_back({{}, {}, 0, proxy.known, *proxy.known});
  *proxy.known = std::move(known);
}

std::string Interpreter::explain(const at::IValue& value) const {
  const Known& known = known_of(value);
  std::string text;
  std::vector<SymInt> parts;
  if (const auto* condition = std::get_if<Condition>(&known.value)) {
    text = condition->left.text() + " " + to_string(condition->relation) + " " + condition->right.text();
    parts = {condition->left, condition->right};
  } else if (const SymInt* integer = known.integer()) {
    text = integer->text();
    parts = {*integer};
  } else {
    return "";
  }
  std::string ranges;
  std::vector<std::string> told;
  for (const SymInt& part : parts) {
    for (const std::string& name : part.symbols()) {
      if (std::find(told.begin(), told.end(), name) != told.end()) continue;
      told.push_back(name);
      ranges += (ranges.empty() ? ", with " : ", ") + name + " in " + to_string(dimensions_.range(name));
    }
  }
  return " (" + text + ranges + ")";
}

}  // namespace fxtrace
