#include "interpreter/program/python_values.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>
#include <vector>

#include "interpreter/program/convert.h"
#include "support/text/words.h"
#include "torchscript/operators/plain_call.h"
#include "torchscript/operators/value_text.h"
#include "torchscript/values/device_text.h"

namespace fxtrace::internal::interpreter {
namespace {

std::string tensor_text(const TensorValue& tensor, const std::vector<Argument>& elements) {
  std::string text;
  for (const Argument& element : elements) {
    if (!text.empty()) text += ", ";
    if (const auto* flag = element.get_if<bool>()) {
      text += *flag ? "True" : "False";
    } else if (const auto* integer = element.get_if<std::int64_t>()) {
      text += std::to_string(*integer);
    } else if (const auto* number = element.get_if<double>()) {
      text += python_float(*number);
    } else {
      const auto& parts = *element.get_if<std::complex<double>>();
      text += "complex(" + python_float(parts.real()) + ", " + python_float(parts.imag()) + ")";
    }
  }
  text = "torch.tensor([" + text + "], dtype=torch." + dtype_name(tensor.dtype) + ")";
  if (tensor.dim() == 1) return text;
  const auto size_text = [](std::int64_t size) { return std::to_string(size); };
  return text + ".reshape([" + joined(tensor.sizes, size_text) + "])";
}

}  // namespace

std::string python_text(const Value& value, const TorchScriptArchive* archive) {
  if (value.is_none()) return "None";
  if (value.is_bool()) return value.to_bool() ? "True" : "False";
  if (value.is_double()) return python_float(value.to_double());
  if (value.is_string()) return python_text_literal(value.to_string());
  if (value.is_enum()) return python_text(value.to_enum().value);  // as in arguments of nodes
  if (value.is_device()) return "torch.device(" + python_text_literal(value.to_device().text()) + ")";
  const auto text_of = [](const Value& item) { return python_text(item); };
  if (value.is_list()) return "[" + joined(value.items(), text_of) + "]";
  if (value.is_tuple())
    return "(" + joined(value.items(), text_of) + (value.items().size() == 1 ? ",)" : ")");
  if (value.is_dict()) {
    const auto entry_text = [&](const auto& entry) {
      return text_of(entry.key) + ": " + text_of(entry.value);
    };
    return "{" + joined(value.to_dict().entries(), entry_text) + "}";
  }
  if (value.is_tensor() && archive != nullptr) {
    constexpr std::int64_t kMost = 1 << 16;
    if (const auto known = archive->elements(value.to_tensor(), kMost))
      return tensor_text(value.to_tensor(), *known);
  }
  try {
    return torchscript::printed(value);
  } catch (const torchscript::Raised&) {
    return type_name(*torchscript::dynamic_type(value));
  }
}

Expression literal(const Value& value, const TorchScriptArchive* archive) {
  return Expression::parse(python_text(value, archive));
}

Expression has_length(const Expression& place, std::size_t length) {
  return Expression::comparison("==", Expression::call(Expression::name("len"), {place}),
                                static_cast<std::int64_t>(length));
}

namespace {

bool holds_nan(const Value& value) {
  if (value.is_double()) return std::isnan(value.to_double());
  if (value.is_list()) return std::ranges::any_of(value.items(), holds_nan);
  if (value.is_tuple()) return std::ranges::any_of(value.items(), holds_nan);
  return value.is_dict() && std::ranges::any_of(value.to_dict().entries(),
                                                [](const auto& entry) { return holds_nan(entry.value); });
}

// Returns the condition that the value is equal part by part, for values that hold NaN, which is equal to
// nothing.
Expression equality_of_parts(const Expression& place, const Value& value) {
  if (value.is_double()) return Expression::method(Expression::name("math"), "isnan", {place});
  std::vector<Expression> parts{{}};
  const auto part = [&](Expression key, const Value& item) {
    parts.push_back(equality(Expression::item(place, std::move(key)), item));
  };
  if (value.is_dict()) {
    for (const auto& entry : value.to_dict().entries()) part(literal(entry.key), entry.value);
  } else {
    for (std::size_t i = 0; i < value.items().size(); ++i)
      part(static_cast<std::int64_t>(i), value.items()[i]);
  }
  parts[0] = has_length(place, parts.size() - 1);
  return Expression::all(std::move(parts));
}

}  // namespace

Expression equality(const Expression& place, const Value& value, const TorchScriptArchive* archive) {
  if (value.is_none()) return Expression::comparison("is", place, Expression::none());
  if (holds_nan(value)) return equality_of_parts(place, value);
  if (value.is_tensor())
    return Expression::method(Expression::name("torch"), "equal", {place, literal(value, archive)});
  return Expression::comparison("==", place, literal(value));
}

}  // namespace fxtrace::internal::interpreter
