#include "convert/lower/rewrites.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/program_operations.h"
#include "graph/analysis/fold_numbers.h"
#include "opinfo/python_spelling.h"
#include "symbolic/expression_text.h"
#include "symbolic/python_operators.h"
#include "symbolic/shape_env.h"

namespace fxtrace::internal {
namespace {

Meta plain_meta(const char* type, std::optional<Expression> value = {}) {
  Meta meta;
  meta.type = type;
  meta.value = std::move(value);
  return meta;
}

bool is_tensor(const Body& body, const Argument& operand) {
  return body.meta_of(operand).kind() == ValueKind::kTensor;
}

// --- sizes ---

// Returns the size of a dimension: a number if it is known, else the result of an operation.
Argument size_of(const LoweredCall& call, Body& body, const Argument& tensor, std::int64_t dim,
                 std::string_view name = {}) {
  const Meta meta = body.meta_of(tensor);
  const auto rank = static_cast<std::int64_t>(meta.shape->size());
  const Expression& size = (*meta.shape)[static_cast<std::size_t>(dim < 0 ? dim + rank : dim)];
  if (const auto number = size.number()) return *number;
  return body.emit(call.node, "aten.sym_size.int", {tensor, dim}, {}, plain_meta("int", size), name);
}

bool has_dimension(const Body& body, const Argument& tensor, std::int64_t dim) {
  const Meta meta = body.meta_of(tensor);
  if (!meta.shape) return false;
  const auto rank = static_cast<std::int64_t>(meta.shape->size());
  return dim >= -rank && dim < rank;
}

Result size_int(const LoweredCall& call, Body& body) {
  const Argument tensor = call.argument(0, "self");
  const Argument place = call.argument(1, "dim");
  const auto* dim = place.get_if<std::int64_t>();
  if (dim == nullptr || !has_dimension(body, tensor, *dim)) {
    body.refuse(call.node, "the dimension of the size is not known");
    return {};
  }
  return size_of(call, body, tensor, *dim, call.node.name);
}

Result all_sizes(const LoweredCall& call, Body& body) {
  const Argument tensor = call.argument(0, "self");
  const Meta meta = body.meta_of(tensor);
  if (!meta.shape) {
    body.refuse(call.node, "the rank of the tensor is not known");
    return {};
  }
  Argument::List sizes;
  for (std::size_t i = 0; i < meta.shape->size(); ++i)
    sizes.items.push_back(size_of(call, body, tensor, static_cast<std::int64_t>(i)));
  return sizes;
}

Result length(const LoweredCall& call, Body& body) {
  const Argument given = call.argument(0);
  if (const auto* items = items_of(given)) return static_cast<std::int64_t>(items->size());
  if (const auto* dict = given.get_if<Argument::Dict>()) return static_cast<std::int64_t>(dict->items.size());
  if (is_tensor(body, given) && has_dimension(body, given, 0))
    return size_of(call, body, given, 0, call.node.name);
  body.refuse(call.node, "the length is not known");
  return {};
}

// --- attributes of tensors ---

Result attribute(const LoweredCall& call, Body& body) {
  const Argument tensor = call.argument(0);
  const Argument given = call.argument(1);
  const Meta meta = body.meta_of(tensor);
  const auto* name = given.get_if<std::string>();
  if (name == nullptr || meta.kind() != ValueKind::kTensor || !meta.dtype || !meta.shape) {
    body.refuse(call.node, "the tensor, or the name of its attribute, is not known");
    return {};
  }
  if (const Quantization* quantization = body.quantization(tensor)) {
    if (*name == "is_quantized") return true;
    if (*name == "dtype") return Argument::Dtype{quantization->dtype};
  }
  const Device device = meta.device_or_cpu();
  if (*name == "dtype") return Argument::Dtype{dtype_name(*meta.dtype)};
  if (*name == "device") return Argument::Device{device.text()};
  if (*name == "layout") return Argument::Layout{"strided"};
  if (*name == "ndim") return static_cast<std::int64_t>(meta.shape->size());
  if (*name == "is_cuda") return device.type == "cuda";
  if (*name == "shape") return all_sizes(call, body);
  // Without gradients only parameters require one.
  if (*name == "requires_grad" && tensor.is<NodeId>()) {
    if (const auto is_trained = body.is_trained(*tensor.get_if<NodeId>())) return *is_trained;
  }
  for (const char* other : {"is_sparse", "is_quantized", "is_mkldnn", "is_mps", "is_xpu", "is_meta",
                            "is_nested", "is_sparse_csr", "is_vulkan", "is_ipu", "is_xla", "is_maia"}) {
    if (*name == other) return false;
  }
  if (*name == "T" || *name == "mT")
    return body.emit(call.node, *name == "T" ? "aten.numpy_T.default" : "aten.mT.default", {tensor}, {},
                     *call.node.meta, call.node.name);
  body.refuse(call.node, "a program cannot read the attribute " + *name + " of a tensor");
  return {};
}

// --- numbers ---

// Returns whether a program can express the value, with a text that does not double at each step.
bool can_be_written(const Expression& value) {
  constexpr std::size_t kMaxText = 2000;
  const auto text = srepr(value, [](const std::string& name) { return name; });
  return text && text->size() <= kMaxText;
}

// Computes the function on known numbers, in Python's arithmetic; returns nothing if one is not known.
Result folded(const std::string& target, const std::vector<Argument>& args) {
  if (target == "torch.sym_ite" && args[0].is<bool>()) return args[*args[0].get_if<bool>() ? 1 : 2];
  return fold(target, args);
}

constexpr char kSymNot[] = "torch.sym_not";
constexpr char kSymFloat[] = "torch.sym_float";
constexpr char kSymInt[] = "torch.sym_int";
constexpr char kSymSqrt[] = "torch.sym_sqrt";
constexpr char kSymMax[] = "torch.sym_max";
constexpr char kSymMin[] = "torch.sym_min";
constexpr char kSymIf[] = "torch.sym_ite";

bool is_real(const Body& body, const Argument& operand) {
  return body.meta_of(operand).kind() == ValueKind::kFloat;
}

// Returns the metadata of the result of a function of numbers.
Meta meta_of_call(Body& body, const std::string& target, const std::vector<Argument>& args) {
  std::vector<Expression> values;
  for (const Argument& arg : args) {
    if (const auto value = body.meta_of(arg).value) values.push_back(*value);
  }
  const bool is_known = values.size() == args.size();
  const PythonOperator* op = operator_of_target(target);
  const bool compares = op != nullptr && op->relation;
  const bool has_reals = std::ranges::any_of(args, [&](const Argument& arg) { return is_real(body, arg); });
  const bool is_bool = compares || target == kSymNot || body.meta_of(args.back()).kind() == ValueKind::kBool;
  const bool gives_real = target == kSymFloat || target == kSymSqrt || target == "operator.truediv" ||
                          (has_reals && target != kSymInt);
  Meta meta = plain_meta(is_bool ? "bool" : gives_real ? "float" : "int");
  const auto call = [&](Expression function) { return Expression::call(std::move(function), values); };
  const auto function_of = [](const char* space, const char* name) {
    return Expression::attribute(Expression::variable(space), name);
  };
  if (!is_known) {
  } else if (op != nullptr && values.size() == 2) {
    meta.value = Expression::binary(std::string(op->symbol), values[0], values[1]);
  } else if (target == kSymNot) {
    meta.value = Expression::negation(values[0]);
  } else if (target == kSymFloat) {
    meta.value = call(Expression::variable("float"));
  } else if (target == kSymInt) {
    meta.value = call(function_of("math", "trunc"));
  } else if (target == kSymSqrt) {
    meta.value = call(function_of("math", "sqrt"));
  } else if (target == kSymIf) {
    meta.value = call(function_of("torch", "sym_ite"));
  } else if (target == kSymMax || target == kSymMin) {
    const SymInt *a = values[0].size(), *b = values[1].size();
    if (a != nullptr && b != nullptr)
      meta.value = target == kSymMax ? max(*a, *b) : min(*a, *b);
    else
      meta.value = call(Expression::variable(target == kSymMax ? "max" : "min"));
  } else if (target == "operator.neg") {
    meta.value = Expression::negative(values[0]);
  }
  if (meta.value && can_be_written(*meta.value)) return meta;
  if (is_bool) return plain_meta("bool");
  return gives_real ? body.unknown_float() : body.unknown_integer();
}

// Calls a function of numbers, or computes it if all are known.  `is_result`: the result is that of the node.
Argument calculate(const LoweredCall& call, Body& body, const std::string& target, std::vector<Argument> args,
                   bool is_result = false) {
  if (auto known = folded(target, args)) return *known;
  Meta meta = is_result ? *call.node.meta : Meta();
  if (!meta.value || !can_be_written(*meta.value)) meta = meta_of_call(body, target, args);
  if (meta.value && meta.kind() == ValueKind::kBool && meta.value->kind() == Expression::Kind::kConstant)
    return meta.value->text() == "True";
  return body.emit(call.node, target, std::move(args), {}, std::move(meta),
                   is_result ? call.node.name : std::string());
}

Argument as_real(const LoweredCall& call, Body& body, const Argument& number) {
  return is_real(body, number) ? number : calculate(call, body, kSymFloat, {number});
}

// Returns 1 if the condition holds, else 0.
Argument counted(const LoweredCall& call, Body& body, const Argument& condition) {
  return calculate(call, body, kSymIf, {condition, std::int64_t{1}, std::int64_t{0}});
}

bool is_never_negative(const Body& body, const Expression& value) {
  using Kind = Expression::Kind;
  const auto are_all = [&](std::size_t from) {
    return std::all_of(value.parts().begin() + static_cast<std::ptrdiff_t>(from), value.parts().end(),
                       [&](const Expression& part) { return is_never_negative(body, part); });
  };
  switch (value.kind()) {
    case Kind::kSize: {
      const std::vector<std::string> names = value.size()->symbols();
      return std::ranges::all_of(names, [&](const auto& name) { return body.is_size_of_input(name); }) &&
             ShapeEnv().bounds(*value.size()).low.value_or(-1) >= 0;
    }
    case Kind::kFloat:
      return !std::signbit(value.floating());
    case Kind::kCall:  // float, math.trunc, math.sqrt, min, max
      return value.parts()[0].text() != "torch.sym_ite" && are_all(1);
    case Kind::kBinary:
      return (value.name() == "+" || value.name() == "*" || value.name() == "/") && are_all(0);
    default:
      return false;
  }
}

// Rounds down.  A program can only round towards zero, but the floor division of floats by one rounds down.
Argument rounded_down(const LoweredCall& call, Body& body, const Argument& number, bool is_result = false) {
  const auto value = body.meta_of(number).value;
  if (value && is_never_negative(body, *value)) return calculate(call, body, kSymInt, {number}, is_result);
  return calculate(call, body, kSymInt, {calculate(call, body, "operator.floordiv", {number, 1.0})},
                   is_result);
}

// Returns whether all operands are of a type of numbers, and not such as texts of errors.
bool are_numbers(const Body& body, const std::vector<Argument>& args) {
  return std::ranges::all_of(args, [&](const Argument& arg) {
    const ValueKind kind = body.meta_of(arg).kind();
    return kind == ValueKind::kInt || kind == ValueKind::kFloat || kind == ValueKind::kBool;
  });
}

// Integers up to it are exact as floats.
constexpr std::int64_t kExact = std::int64_t{1} << 53;
// The sum, difference or negative of such integers is no other one in 64 bits.
constexpr std::int64_t kFits = std::int64_t{1} << 62;

// Has the program check that the operands are exact as floats, which LibTorch makes of them.
void assume_exact(Body& body, const std::vector<Argument>& args) {
  for (const Argument& arg : args) body.assume_within(arg, kExact);
}

// Returns whether the power of floats is never complex, which it is in Python where it is nan in the archive.
bool is_real_power(const Body& body, const Argument& base, const Argument& exponent) {
  const auto* power = exponent.get_if<double>();
  if (power != nullptr ? *power == std::floor(*power) : !is_real(body, exponent)) return true;
  const auto* number = base.get_if<double>();
  const auto* integer = base.get_if<std::int64_t>();
  if (number != nullptr || integer != nullptr) return number != nullptr ? *number >= 0 : *integer >= 0;
  const auto value = body.meta_of(base).value;
  return value && is_never_negative(body, *value);
}

// Returns whether a program can shift by the number.
bool is_shift(const Argument& number) {
  const auto* bits = number.get_if<std::int64_t>();
  return bits != nullptr && *bits >= 0 && *bits < 64;
}

// Has the program check that the archive's remainder by the number does not wrap: it adds the divisor to it.
// Returns false, and refuses the call, if it is known that it may.
bool check_divisor(const LoweredCall& call, Body& body) {
  const auto* divisor = call.args[1].get_if<std::int64_t>();
  if (divisor != nullptr && (*divisor < -kFits / 2 || *divisor > kFits / 2)) {
    body.refuse(call.node, "the archive's remainder by so large a number may wrap to 64 bits");
    return false;
  }
  body.assume_within(call.args[1], kFits / 2);
  return true;
}

// Keeps arithmetic and comparisons as they are, where the archive computes the same: it wraps integers to 64
// bits, and compares and divides floats.
Result arithmetic(const LoweredCall& call, Body& body) {
  const std::string target(python_function(*call.node.target));
  const bool may_differ = target != *call.node.target;  // lib/opinfo/python_spelling.h
  if (auto joined = joined_containers(call)) return joined;
  if (!call.kwargs.empty() || call.args.empty() || !are_numbers(body, call.args)) {
    body.refuse(call.node, "an operand is not known to be a number");
    return {};
  }
  const bool has_reals =
      std::ranges::any_of(call.args, [&](const Argument& arg) { return is_real(body, arg); });
  // torch reads no program in which it would have to round these.
  if (target == "operator.floordiv" && std::ranges::any_of(call.args, [](const Argument& arg) {
        const auto* number = arg.get_if<double>();
        return number != nullptr && !std::isfinite(*number);
      })) {
    body.refuse(call.node, "a program cannot round the quotient of inf or nan");
    return {};
  }
  const bool is_shifted = target == "operator.lshift" || target == "operator.rshift";
  if (may_differ && ((is_shifted && !is_shift(call.args[1])) ||
                     (target == "operator.pow" && !is_real_power(body, call.args[0], call.args[1])))) {
    body.refuse(call.node, is_shifted
                               ? "a program cannot shift by a number that is not known, or not of 0 to 63"
                               : "a program has no power of a number that may be negative");
    return {};
  }
  if (may_differ && (has_reals || target == "operator.truediv" || target == "operator.pow"))
    assume_exact(body, call.args);
  if (may_differ && target == "operator.mod" && !has_reals && !check_divisor(call, body)) return {};
  if (has_reals && target == "operator.floordiv") {  // as LibTorch, which rounds the quotient
    const Argument quotient = calculate(call, body, "operator.truediv", call.args);
    return calculate(call, body, kSymFloat, {rounded_down(call, body, quotient)}, true);
  }
  if (has_reals && target == "operator.mod") {
    body.refuse(call.node, "a program cannot express LibTorch's remainder of floats");
    return {};
  }
  const Argument result = calculate(call, body, target, call.args, true);
  if (const auto* id = result.get_if<NodeId>(); id != nullptr && !body.view().meta(*id).value) {
    body.refuse(call.node, "its result is not an expression of sizes");
    return {};
  }
  if (may_differ && !has_reals) body.assume_within(result, kFits);
  return result;
}

// Lowers max() and min() of numbers, or of a list.
template <const char* TorchTarget>
Result extremum(const LoweredCall& call, Body& body) {
  const Argument first = call.argument(0);
  const auto* items = items_of(first);
  std::vector<Argument> numbers = call.args.size() == 1 && items != nullptr ? *items : call.args;
  if (numbers.empty() || !are_numbers(body, numbers)) return {};
  const bool has_reals =
      std::ranges::any_of(numbers, [&](const Argument& each) { return is_real(body, each); });
  if (has_reals) {
    for (Argument& number : numbers) number = as_real(call, body, number);
  }
  // Of two floats, Python takes the second only if it is less (greater), LibTorch the first.
  if (has_reals && call.args.size() == 2) std::swap(numbers[0], numbers[1]);
  Argument result = numbers[0];
  for (std::size_t i = 1; i < numbers.size(); ++i)
    result = calculate(call, body, TorchTarget, {result, numbers[i]}, i + 1 == numbers.size());
  return result;
}

Result sum(const LoweredCall& call, Body& body) {
  const Argument first = call.argument(0);
  const auto* items = items_of(first);
  if (call.args.size() != 1 || items == nullptr || !are_numbers(body, *items)) return {};
  if (items->empty())
    return call.node.meta->kind() == ValueKind::kFloat ? Argument(0.0) : Argument(std::int64_t{0});
  std::vector<Argument> numbers = *items;
  for (Argument& number : numbers) {
    if (body.meta_of(number).kind() == ValueKind::kBool) number = counted(call, body, number);
  }
  Argument result = numbers[0];
  for (std::size_t i = 1; i < numbers.size(); ++i)
    result = calculate(call, body, "operator.add", {result, numbers[i]}, i + 1 == numbers.size());
  body.assume_within(result, std::numeric_limits<std::int32_t>::max());  // LibTorch adds in 32 bits
  return result;
}

// Lowers a power: that of integers is a float in TorchScript, too.
Result power(const LoweredCall& call, Body& body) {
  if (call.args.size() != 2 || !are_numbers(body, call.args)) return {};
  if (!is_real_power(body, call.args[0], call.args[1])) {
    body.refuse(call.node, "a program has no power of a number that may be negative");
    return {};
  }
  assume_exact(body, call.args);
  return calculate(call, body, "operator.pow",
                   {as_real(call, body, call.args[0]), as_real(call, body, call.args[1])}, true);
}

// Returns the integer that a tensor without dimensions holds, if it was computed of integers alone, as
// torch.jit.trace computes sizes.  Then no element has to be read: a size that is read of a tensor depends on
// data.
Result integer_of(const LoweredCall& call, Body& body, const Argument& given, int depth = 0) {
  constexpr int kMostSteps = 100;
  const Meta meta = body.meta_of(given);
  if (meta.kind() == ValueKind::kInt) return given;
  if (const Argument* known = body.find_number(given)) return *known;
  const Node* made = body.lasting_maker(given);
  if (made == nullptr || depth > kMostSteps || meta.dtype != ScalarType::kInt64 || !meta.shape ||
      !meta.shape->empty() || made->args.empty())
    return {};
  const std::string_view name = aten_name(*made);
  if (name == "scalar_tensor" || name == "clone" || name == "detach" || name == "_to_copy" || name == "to" ||
      name == "lift_fresh_copy")
    return integer_of(call, body, Argument(made->args[0]), depth + 1);
  const char* function = name == "mul"            ? "operator.mul"
                         : name == "add"          ? "operator.add"
                         : name == "sub"          ? "operator.sub"
                         : name == "floor_divide" ? "operator.floordiv"
                                                  : nullptr;
  if (function == nullptr || made->args.size() != 2 || !made->kwargs.empty()) return {};
  const std::vector<Argument> args = made->args;  // calculate() adds operations
  std::vector<Argument> numbers;
  for (const Argument& arg : args) {
    auto number = integer_of(call, body, arg, depth + 1);
    if (!number) return {};
    numbers.push_back(std::move(*number));
  }
  return calculate(call, body, function, std::move(numbers));
}

// Reads the integer element of a tensor, once while the tensor does not change: torch has one symbol for it.
Argument integer_element(const LoweredCall& call, Body& body, const Argument& tensor, Meta meta,
                         std::string_view name = {}) {
  if (const Argument* known = body.find_number(tensor)) {
    body.set_same(meta, *known);
    return *known;
  }
  const Argument number = body.emit(call.node, "aten.item.default", {tensor}, {}, std::move(meta), name);
  body.set_number(tensor, number);
  return number;
}

// Lowers int(x), float(x) and bool(x) of a tensor with one element, or of a number.
Result item_of(const LoweredCall& call, Body& body, ValueKind wanted) {
  Argument tensor = call.argument(0);
  const Meta meta = body.meta_of(tensor);
  if (const Node* made = body.lasting_maker(tensor); made != nullptr &&
                                                     made->target == "aten.scalar_tensor.default" &&
                                                     body.meta_of(made->args[0]).kind() == wanted) {
    return made->args[0];  // torch.jit.trace made the tensor from a size
  }
  if (wanted == ValueKind::kInt) {
    if (auto number = integer_of(call, body, tensor)) {
      body.set_same(*call.node.meta, *number);
      return number;
    }
  }
  const bool is_bool = meta.dtype == ScalarType::kBool;
  const bool is_integer = meta.dtype && is_integral(*meta.dtype) && !is_bool;
  const bool is_real = meta.dtype && is_floating(*meta.dtype);
  if (wanted == ValueKind::kInt && (is_integer || is_real || is_bool)) {
    Meta item = body.unknown_integer();
    if (call.node.meta->value) item.value = call.node.meta->value;
    if (!is_integer) {  // rounds towards zero
      Meta whole = meta;
      whole.dtype = ScalarType::kInt64;
      tensor = body.emit(call.node, "aten._to_copy.default", {tensor}, {{"dtype", Argument::Dtype{"int64"}}},
                         std::move(whole));
    }
    return integer_element(call, body, tensor, std::move(item), call.node.name);
  }
  if (wanted == ValueKind::kFloat && is_real)
    return body.emit(call.node, "aten.item.default", {tensor}, {}, body.unknown_float(), call.node.name);
  if (wanted == ValueKind::kFloat && is_integer) {
    const Argument item = integer_element(call, body, tensor, body.unknown_integer());
    return calculate(call, body, kSymFloat, {item}, true);
  }
  if (wanted == ValueKind::kBool && body.is_condition(call.node)) {
    // The condition of a loop is a tensor without dimensions, and must not be one of its inputs.
    Meta truth;
    truth.type = "Tensor";
    truth.dtype = ScalarType::kBool;
    truth.shape = meta.shape;
    tensor = body.emit(call.node, "aten.ne.Scalar", {tensor, std::int64_t{0}}, {}, truth, call.node.name);
    if (meta.shape && meta.shape->empty()) return tensor;
    truth.shape.emplace();
    return body.emit(call.node, "aten.reshape.default", {tensor, Argument::List{}}, {}, truth,
                     call.node.name);
  }
  if (wanted == ValueKind::kBool) {
    Meta truth = meta;
    truth.dtype = ScalarType::kBool;
    if (!is_bool)
      tensor = body.emit(call.node, "aten.ne.Scalar", {tensor, std::int64_t{0}}, {}, std::move(truth));
    return body.emit(call.node, "aten.item.default", {tensor}, {},
                     plain_meta("bool", Expression::comparison("==", *body.unknown_integer().value, 1)),
                     call.node.name);
  }
  body.refuse(call.node, "a program cannot convert its element to a number of another type");
  return {};
}

// Lowers float(self.scale), if it is used to quantize: the number in the file.
Result stored_scale(const LoweredCall& call, Body& body) {
  const bool quantizes = body.are_users(call.node, [](const std::string& target) {
    return target.starts_with("aten.quantize_per_tensor.") || target.starts_with("quantized.");
  });
  if (!quantizes || call.node.args.empty() || call.node.users.empty()) return {};
  return body.stored_number(call.node.args[0]);
}

template <ValueKind Kind>
Result element(const LoweredCall& call, Body& body) {
  return Kind == ValueKind::kBool || is_tensor(body, call.argument(0)) ? item_of(call, body, Kind) : Result();
}
Result item(const LoweredCall& call, Body& body) {
  const Dtype dtype = body.meta_of(call.argument(0)).dtype;
  if (dtype == ScalarType::kBool) return item_of(call, body, ValueKind::kBool);
  return item_of(call, body, dtype && is_floating(*dtype) ? ValueKind::kFloat : ValueKind::kInt);
}

// Returns the elements of a tensor of numbers, nested as its dimensions are.  Nothing for booleans and
// complex numbers, which a program cannot read.
Result elements_of(const LoweredCall& call, Body& body, const Argument& tensor, const Meta& meta) {
  if (meta.shape->empty()) {
    if (is_integral(*meta.dtype) && *meta.dtype != ScalarType::kBool)
      return integer_element(call, body, tensor, body.unknown_integer());
    if (is_floating(*meta.dtype))
      return body.emit(call.node, "aten.item.default", {tensor}, {}, body.unknown_float());
    return {};
  }
  Meta part = meta;
  part.shape->erase(part.shape->begin());
  Argument::List list;
  for (std::int64_t i = 0; i < *(*meta.shape)[0].number(); ++i) {
    const Argument row = body.emit(call.node, "aten.select.int", {tensor, std::int64_t{0}, i}, {}, part);
    auto elements = elements_of(call, body, row, part);
    if (!elements) return {};
    list.items.push_back(*std::move(elements));
  }
  return list;
}

// Lowers x.tolist() of a tensor of a few elements, each of which is read by itself, as torch.export does it.
Result to_list(const LoweredCall& call, Body& body) {
  constexpr std::int64_t kMost = 256;
  const Argument tensor = call.argument(0);
  const Meta meta = body.meta_of(tensor);
  std::int64_t count = 1;
  for (const Expression& size : meta.shape.value_or(std::vector<Expression>{})) {
    const auto number = size.number();
    count = number && *number <= kMost ? count * *number : kMost + 1;
    if (count > kMost) break;
  }
  if (!meta.shape || !meta.dtype || count > kMost) {
    body.refuse(call.node,
                "a program reads elements one by one, and it is not known that there are 256 or fewer");
    return {};
  }
  return elements_of(call, body, tensor, meta);
}

// --- tensors of numbers ---

void add_elements(const Argument& data, std::vector<Argument>& elements) {
  const auto* items = items_of(data);
  if (items == nullptr) return elements.push_back(data);
  for (const Argument& item : *items) add_elements(item, elements);
}

// Rounds a float to float32, as TorchScript does before it converts to the dtype of the tensor.
Argument as_torchscript_has_it(const Argument& number) {
  const auto* real = number.get_if<double>();
  return real == nullptr ? number : Argument(static_cast<double>(static_cast<float>(*real)));
}

// Makes a tensor of one element.
Argument tensor_of_element(const LoweredCall& call, Body& body, const Argument& number, Meta meta,
                           std::string_view name = {}) {
  const Argument::Dtype dtype{dtype_name(*meta.dtype)};
  Kwargs kwargs{{"dtype", dtype}};
  if (meta.device) kwargs.emplace_back("device", Argument::Device{meta.device->text()});
  if (!number.is<NodeId>() || !is_real(body, number) || meta.dtype == ScalarType::kFloat32)
    return body.emit(call.node, "aten.scalar_tensor.default", {as_torchscript_has_it(number)},
                     std::move(kwargs), std::move(meta), name);
  Meta single = meta;
  single.dtype = ScalarType::kFloat32;
  kwargs[0].second = Argument::Dtype{"float32"};
  const Argument rounded =
      body.emit(call.node, "aten.scalar_tensor.default", {number}, std::move(kwargs), std::move(single));
  return body.emit(call.node, "aten._to_copy.default", {rounded}, {{"dtype", dtype}}, std::move(meta), name);
}

// Lowers torch.tensor(): a number becomes scalar_tensor, a list of plain numbers a constant of the model.
Result tensor_of_data(const LoweredCall& call, Body& body) {
  const Argument data = call.argument(0);
  Meta meta = *call.node.meta;
  if (!meta.dtype || !meta.shape) {
    body.refuse(call.node, "its dtype or its shape is not known");
    return {};
  }
  if (items_of(data) == nullptr) {
    if (is_tensor(body, data))
      return body.emit(call.node, "aten.clone.default", {data}, {}, std::move(meta), call.node.name);
    return tensor_of_element(call, body, data, std::move(meta), call.node.name);
  }
  std::vector<Argument> elements;
  add_elements(data, elements);
  Constant constant;
  constant.dtype = dtype_name(*meta.dtype);
  constant.data.emplace();
  for (const Expression& size : *meta.shape) constant.shape.push_back(size.number().value_or(-1));
  bool is_plain = std::ranges::find(constant.shape, -1) == constant.shape.end();
  for (const Argument& element : elements) {
    is_plain = is_plain && (element.is<bool>() || element.is<std::int64_t>() || element.is<double>());
    if (is_plain) constant.data->push_back(constant_argument(as_torchscript_has_it(element)));
  }
  if (!is_plain) {  // the elements are not all plain
    Argument::List parts;
    Meta part = meta;
    part.shape.emplace();
    for (const Argument& element : elements)
      parts.items.push_back(tensor_of_element(call, body, element, part));
    Argument::List sizes;
    for (const std::int64_t size : constant.shape) sizes.items.emplace_back(size);
    const bool is_row = sizes.items.size() == 1;
    return make_operations(is_row ? "aten.stack(parts)" : "aten.view(aten.stack(parts), sizes)",
                           {{"parts", std::move(parts)}, {"sizes", std::move(sizes)}}, call, body, true);
  }
  const auto lifted = body.lift(constant);
  if (!lifted) {
    body.refuse(call.node, "a tensor is made from numbers within control flow",
                "make it a buffer of the model");
    return {};
  }
  return body.emit(call.node, "aten.lift_fresh_copy.default", {*lifted}, {}, std::move(meta), call.node.name);
}

template <bool Same>
Result is_identical(const LoweredCall& call, Body& body) {
  const Argument left = call.argument(0), right = call.argument(1);
  if (left.is<Argument::None>() || right.is<Argument::None>())
    return (left.is<Argument::None>() && right.is<Argument::None>()) == Same;
  body.refuse(call.node, "the result of 'is' is not known");
  return {};
}

// --- operators ---

Result broadcast_in_dim(const LoweredCall& call, Body& body) {
  const Argument tensor = call.argument(0, "a"), shape = call.argument(1, "shape");
  const Argument given = call.argument(2, "broadcast_dimensions");
  const auto *sizes = items_of(shape), *places = items_of(given);
  if (sizes == nullptr || places == nullptr) return {};
  std::string text = "x";
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    if (std::ranges::find(*places, Argument(static_cast<std::int64_t>(i))) == places->end())
      text = "aten.unsqueeze(" + text + ", " + std::to_string(i) + ")";
  }
  return make_operations("aten.expand(" + text + ", sizes)", {{"x", tensor}, {"sizes", shape}}, call, body,
                         true);
}

// Makes the calls of the texts below, in which a program rounds down, takes numbers as floats, and checks
// that integers are exact as floats, that a sum of them fits into 64 bits, and that a remainder by them is
// right.
Result make_call(const LoweredCall& call, Body& body, const std::string& target, std::vector<Argument> args,
                 Kwargs kwargs, bool is_last) {
  if (target.starts_with("aten.sym_")) {
    Meta meta = call.node.meta->value ? *call.node.meta : body.unknown_integer();
    return body.emit(call.node, target, std::move(args), std::move(kwargs), std::move(meta), call.node.name);
  }
  if (target.starts_with("aten."))
    return make_operation(call, body, target, std::move(args), std::move(kwargs), is_last);
  if (!are_numbers(body, args)) return {};
  if (target == "down") return rounded_down(call, body, args[0], is_last);
  if (target == "real") return as_real(call, body, args[0]);
  if (target == "divisor") return check_divisor(call, body) ? Result(args[0]) : Result();
  if (target != "exact" && target != "fits") return calculate(call, body, target, std::move(args), is_last);
  body.assume_within(args[0], target == "exact" ? kExact : kFits);
  return args[0];
}

constexpr RewriteRow kRows[] = {
    {"aten.size.int", size_int},
    {"aten.size", all_sizes},
    {"builtins: len aten: len.Tensor len.t", length},
    {"aten.numel(self)", "aten.sym_numel(self)"},
    {"aten.stride.int(self, dim)", "aten.sym_stride.int(self, dim)"},
    {"aten.storage_offset(self)", "aten.sym_storage_offset(self)"},
    {"builtins.getattr", attribute},

    {"operator: add sub mul floordiv mod truediv pow neg eq ne lt le gt ge and_ or_ lshift rshift",
     arithmetic},
    {"operator.not_ torch.sym_not(x)", "torch.sym_not(x)"},
    {"torch.sym_ite(condition, x, y)", "torch.sym_ite(condition, x, y)"},
    {"math.sqrt torch.sym_sqrt(x)", "torch.sym_sqrt(x)"},
    {"math.pow", power},
    {"builtins.max torch.sym_max", extremum<kSymMax>},
    {"builtins.min torch.sym_min", extremum<kSymMin>},
    {"builtins.sum", sum},
    {"builtins.abs(x)", "torch.sym_max(fits(x), operator.neg(x))"},
    {"math.fabs(x)", "y = real(fits(x)); torch.sym_max(y, operator.neg(y))"},
    {"builtins.divmod(x=int, y=int)", "(operator.floordiv(x, divisor(y)), operator.mod(x, y))"},
    {"math.floor(operator.truediv(x=int, y=int))", "operator.floordiv(x, y)"},
    {"math.floor(x=float)", "down(x)"},
    {"math.floor(x=number)", "exact(x)"},
    {"math.ceil(operator.truediv(x=int, y=int))", "operator.neg(operator.floordiv(operator.neg(x), y))"},
    {"math.ceil(x=float)", "operator.neg(down(operator.neg(x)))"},
    {"math.ceil(x=number)", "x"},
    // To the nearest integer, ties to even: halves are rounded up in `up` and down in `low`; both are exact.
    {"aten: round.int round.float(x=float)",
     "twice = operator.mul(x, 2.0); "
     "up = operator.floordiv(operator.add(down(twice), 1), 2); "
     "low = operator.neg(operator.floordiv(operator.sub(1, operator.neg(down(operator.neg(twice)))), 2)); "
     "odd = operator.mod(low, 2); "
     "torch.sym_float(operator.add(low, operator.mul(operator.sub(up, low), odd)))"},
    {"aten: round.int round.float(x=number)", "real(x)"},

    {"builtins: int float torch: sym_float aten: item", stored_scale},
    {"builtins.int", element<ValueKind::kInt>},
    {"builtins.int(x=int)", "x"},
    {"builtins.int(x=bool)", "torch.sym_ite(x, 1, 0)"},
    {"builtins.int math.trunc torch.sym_int(x)", "torch.sym_int(x)"},
    {"builtins.float torch.sym_float", element<ValueKind::kFloat>},
    {"builtins.float torch.sym_float(x=float)", "x"},
    {"builtins.float torch.sym_float(x=bool)", "torch.sym_ite(x, 1.0, 0.0)"},
    {"builtins.float torch.sym_float(x)", "torch.sym_float(x)"},
    {"builtins.bool(x=bool)", "x"},
    {"builtins.bool(x=int)", "operator.ne(x, 0)"},
    {"builtins.bool", element<ValueKind::kBool>},
    {"aten.item", item},
    {"torch.Tensor.tolist", to_list},
    // torch.jit.trace makes tensors of sizes.
    {"prim: NumToTensor.Scalar NumToTensor.bool(x=int)", "aten.scalar_tensor(x, dtype=dtype('int64'))"},
    {"prim: NumToTensor.Scalar NumToTensor.bool(x=bool)", "aten.scalar_tensor(x, dtype=dtype('bool'))"},
    {"prim: NumToTensor.Scalar NumToTensor.bool(x)", "aten.scalar_tensor(x, dtype=dtype('float64'))"},
    {"torch: tensor as_tensor", tensor_of_data},

    // Views and writes of prims are operators of aten: of other operators with aliases torch decomposes none.
    {"prims.as_strided(a, size, stride, storage_offset)", "aten.as_strided(a, size, stride, storage_offset)"},
    {"prims.broadcast_in_dim", broadcast_in_dim},
    {"prims.collapse_view(a, start, end)", "aten.flatten.using_ints(a, start, end)"},
    {"prims.conj(a)", "aten._conj(a)"},
    {"prims.copy_to(a, b)", "aten.copy_(a, b)"},
    {"prims.imag(self)", "aten.imag(self)"},
    {"prims.real(self)", "aten.real(self)"},
    {"prims.resize(a, shape)", "aten.resize_(a, shape)"},
    {"prims.split_dim(a, dim, outer_length)", "aten.unflatten.int(a, dim, [outer_length, -1])"},
    {"prims.squeeze(a, dimensions)", "aten.squeeze.dims(a, dimensions)"},
    {"prims.transpose(a, permutation)", "aten.permute(a, permutation)"},
    {"prims.view_of(a)", "aten.alias(a)"},
    {"prims.view_of_dtype(a, dtype)", "aten.view.dtype(a, dtype)"},

    {"operator.getitem", item_of_container},
    {"operator.iadd", extended},
    {"operator.setitem", with_item_set},
    {"operator.delitem", with_item_deleted},
    {"operator.contains", is_in},
    {"operator.is_", is_identical<true>},
    {"operator.is_not", is_identical<false>},
    {"builtins.list", listed<Argument::List>},
    {"builtins.tuple", listed<Argument::Tuple>},
    // torch.export does not keep marks for the profiler either.
    {"profiler: _record_function_enter_new _record_function_exit._RecordFunction(_)", "None"},
    // torch can decompose the overload without the arguments that choose a kernel.
    {"aten: _convolution _convolution.deprecated(input, weight, bias, stride, padding, dilation, "
     "transposed, output_padding, groups, _)",
     "aten.convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)"},
    // torch writes calls as code of Python, where the overload `from` is a keyword.
    {"aten.random.from(self, from_=number, to=number)", "aten.randint_like.low_dtype(self, from_, to)"},
    {"aten.random_.from(self, from_=number, to=number)",
     "aten.copy_(self, aten.randint_like.low_dtype(self, from_, to))"},
};

// --- tables ---

bool is_of(const Body& body, const Argument& operand, const std::string& type) {
  if (type == "number") return are_numbers(body, {operand});
  Meta wanted;
  wanted.type = type;
  return body.meta_of(operand).kind() == wanted.kind();
}

}  // namespace

RewriteTable::RewriteTable(std::span<const RewriteRow> rows, MakeCall make) : make_(make) {
  for (const RewriteRow& row : rows) {
    rows_.push_back({row.function, {row.before, row.after}});
    for (const std::string& target : rows_.back().text.before.targets())
      by_target_[target].push_back(rows_.size() - 1);
  }
}

Result RewriteTable::apply(std::string_view target, const LoweredCall& call, Body& body) const {
  const auto found = by_target_.find(std::string(target));
  if (found == by_target_.end()) return {};
  const TextLookup lookup{
      [&](NodeId id) -> const Node& { return body.view().node(id); },
      [&](const Argument& operand, const std::string& type) { return is_of(body, operand, type); }};
  const auto make = [&](const std::string& name, std::vector<Argument> args, Kwargs kwargs, bool is_last) {
    return make_(call, body, name, std::move(args), std::move(kwargs), is_last);
  };
  for (const std::size_t place : found->second) {
    const Compiled& row = rows_[place];
    Result result;
    if (row.function != nullptr)
      result = row.function(call, body);
    else if (auto variables = row.text.before.match(target, call.args, call.kwargs, lookup))
      result = row.text.after.make(*std::move(variables), make);
    if (result || body.is_refused(call.node)) return result;
  }
  return {};
}

Result make_operation(const LoweredCall& call, Body& body, const std::string& target,
                      std::vector<Argument> args, Kwargs kwargs, bool is_last) {
  const Meta& own = *call.node.meta;
  if (is_last && own.items)
    return Argument::Tuple{body.emit_all(call.node, target, std::move(args), *own.items)};
  Meta meta = own;
  if (!is_last || !own.shape || !own.dtype) meta = body.inferred_meta(target, args, kwargs);
  if (!meta.shape || !meta.dtype) {
    body.refuse(call.node, "the shape of its result is not known", body.help_for_shapes());
    return {};
  }
  const Argument result = body.emit(call.node, target, std::move(args), std::move(kwargs), std::move(meta),
                                    is_last ? call.node.name : std::string());
  if (effect_of(body.view(), *result.get_if<NodeId>()) > Effect::kPure) body.keep_maker(result);
  return result;
}

Result make_operations(std::string_view text, const TextVariables& variables, const LoweredCall& call,
                       Body& body, bool is_result) {
  return TextReplacement(text).make(
      variables, [&](const std::string& target, std::vector<Argument> args, Kwargs kwargs, bool is_last) {
        return make_operation(call, body, target, std::move(args), std::move(kwargs), is_result && is_last);
      });
}

const RewriteTable& plain_rewrites() {
  static const RewriteTable table(kRows, make_call);
  return table;
}

}  // namespace fxtrace::internal
