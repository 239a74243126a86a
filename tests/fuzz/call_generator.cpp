#include "tests/fuzz/call_generator.h"

#include <cstddef>
#include <limits>
#include <utility>

#include "costs/cost_log.h"
#include "opinfo/values/value_call.h"
#include "tests/fuzz/call_text.h"
#include "tests/fuzz/torchscript/choices.h"

namespace fxtrace::internal::fuzz {
namespace {

struct Name {
  const char* text;
  std::int64_t low;
};
constexpr Name kNames[] = {{"n", 1}, {"m", 1}, {"h", 1}, {"w", 1}, {"a", 0}, {"b", 0}};
constexpr std::int64_t kExtremes[] = {INT64_MAX, INT64_MIN, INT64_MIN + 1, INT32_MAX, INT32_MIN,    1LL << 32,
                                      1LL << 62, 65'536,    1'000'000,     64,        -(1LL << 31), 4096};
constexpr double kReals[] = {0.5,
                             1.0,
                             0.0,
                             -1.5,
                             2.0,
                             1e308,
                             -1e308,
                             1e-300,
                             9.3e18,
                             std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()};
constexpr const char* kTexts[] = {
    "mean",      "none",      "sum",   "floor",    "trunc",   "ij,jk->ik", "bij,bjk->bik",
    "i,i",       "...i->...", "ii->i", "bilinear", "reflect", "constant",  "circular",
    "replicate", "linear",    "tanh",  "xy",       "ij",      "",          "reduced",
    "complete",  "fro",       "nuc",   "same",     "valid",   "relu",      "i->ijj"};
constexpr ScalarType kUsualTypes[] = {ScalarType::kFloat32, ScalarType::kInt64,   ScalarType::kBool,
                                      ScalarType::kFloat16, ScalarType::kUint8,   ScalarType::kComplex64,
                                      ScalarType::kInt8,    ScalarType::kBfloat16};

class Generator {
 public:
  explicit Generator(std::string_view bytes) : choices_(bytes) {}

  GeneratedCall call(const std::vector<const Operator*>& operators) {
    GeneratedCall result;
    result.op = operators[choices_.below(operators.size())];
    const OperatorEntry& costed = entry_of(*result.op);
    for (const Name& name : kNames)
      result.sizes[name.text] = name.low + static_cast<std::int64_t>(choices_.below(8));
    const std::vector<SchemaArgument>& formals = costed.schema.arguments;
    for (std::size_t i = 0; i < formals.size(); ++i) {
      const std::size_t choice = choices_.below(16);
      if (formals[i].default_value && choice < 8) {
        result.values.push_back(costed.defaults[i]);
      } else {
        result.values.push_back(choice == 15 ? anything() : of_formal(formals[i]));
      }
    }
    return result;
  }

 private:
  static constexpr int kDepth = 3;

  template <std::size_t kSize, class Value>
  const Value& one_of(const Value (&values)[kSize]) {
    return values[choices_.below(kSize)];
  }

  SymInt name() { return SymInt::symbol(one_of(kNames).text); }

  SymInt expression() {
    if (++depth_ > kDepth) return --depth_, name();
    const SymInt a = size(), b = size();
    --depth_;
    try {
      switch (choices_.below(7)) {
        case 0:
          return a + b;
        case 1:
          return a * b;
        case 2:
          return floordiv(a, b);
        case 3:
          return mod(a, b);
        case 4:
          return max(a, b);
        case 5:
          return min(a, b);
        default:
          return a - b;
      }
    } catch (const SymbolicError&) {
      return a;
    }
  }

  SymInt size() {
    const std::size_t choice = choices_.below(32);
    if (choice < 6) return static_cast<std::int64_t>(choice);
    if (choice < 12) return SymInt::symbol(kNames[choice - 6].text);
    switch (choice) {
      case 12:
        return 8;
      case 13:
        return 6;
      case 14:
        return 12;
      case 15: {
        const std::int64_t extreme = one_of(kExtremes);
        return extreme < 0 ? 7 : extreme;
      }
      case 16:
      case 17:
      case 18:
      case 19:
        return expression();
      default:
        return static_cast<std::int64_t>(choice) % 4 + 1;
    }
  }

  SymInt integer() {
    const std::size_t choice = choices_.below(16);
    if (choice < 8) return static_cast<std::int64_t>(choice) - 3;
    if (choice == 15) return one_of(kExtremes);
    return size();
  }

  ScalarType scalar_type() {
    if (choices_.below(8) != 7) return one_of(kUsualTypes);
    return static_cast<ScalarType>(choices_.below(static_cast<std::size_t>(kScalarTypes)));
  }

  TensorInfo tensor() {
    TensorInfo info;
    const std::size_t choice = choices_.below(16);
    const std::size_t rank = choice == 15 ? choices_.below(70) : choice % 6;
    for (std::size_t i = 0; i < rank; ++i) {
      const SymInt made = size();
      info.sizes.push_back(made.number().value_or(0) < 0 ? 9 : made);
    }
    const std::size_t type = choices_.below(8);
    if (type == 7) {
      info.dtype = scalar_type();
    } else if (type != 6) {
      info.dtype = ScalarType::kFloat32;
    }
    switch (choices_.below(16)) {
      case 13:
        info.device = {"cuda", 0};
        break;
      case 14:
        if (rank > 0) info.sparse_dim = static_cast<std::int64_t>(choices_.below(rank)) + 1;
        break;
      case 15:
        info.contiguous = choices_.one_in(2);
        break;
      case 0:
      case 1:
      case 2:
      case 3:
        add_elements(info);
        break;
      default:
        break;
    }
    return info;
  }

  // Returns a small tensor of a dtype whose elements may be known.
  void add_elements(TensorInfo& info) {
    Array array{ScalarType::kInt64, {}, {}};
    if (choices_.one_in(3)) array.dtype = scalar_type();
    if (!is_known_type(array.dtype)) return;
    std::int64_t count = 1;
    for (const SymInt& size : info.sizes) {
      const auto number = size.number();
      if (!number || *number > kMaxKnownElements || count * *number > kMaxKnownElements) return;
      count *= *number;
      array.sizes.push_back(*number);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const SymInt element = integer();
      if (is_floating(array.dtype)) {
        array.elements.emplace_back(static_cast<double>(element.number().value_or(1)) / 4);
      } else if (array.dtype == ScalarType::kInt64 && !element.is_number()) {
        array.elements.emplace_back(element);
      } else {
        array.elements.push_back(values::integer_element(bits(element.number().value_or(1)), array.dtype));
      }
    }
    info.dtype = array.dtype;
    info.content = std::make_shared<const TensorContent>(
        TensorContent{std::make_shared<const Array>(std::move(array)), {}});
  }

  std::string text() {
    std::string result = one_of(kTexts);
    while (choices_.one_in(4) && result.size() < 40) result += static_cast<char>(choices_.below(256));
    return result;
  }

  AbstractValue::Sequence list(const SchemaType& of) {
    AbstractValue::Sequence items;
    const std::size_t choice = choices_.below(16);
    const std::size_t count = choice == 15 ? choices_.below(80) : choice % 6;
    for (std::size_t i = 0; i < count; ++i) items.push_back(of_type(of));
    return items;
  }

  AbstractValue anything() {
    if (++depth_ > kDepth) return --depth_, AbstractValue{};
    AbstractValue result;
    switch (choices_.below(13)) {
      case 0:
        result.value = tensor();
        break;
      case 1:
        result.value = integer();
        break;
      case 2:
        result.value = Ratio{integer(), static_cast<std::int64_t>(choices_.below(7)) + 1};
        break;
      case 3:
        result.value = Condition{static_cast<Relation>(choices_.below(6)), integer(), integer()};
        break;
      case 4:
      case 5: {
        AbstractValue::Sequence items;
        for (std::size_t left = choices_.below(5); left > 0; --left) items.push_back(anything());
        result.value = std::move(items);
        break;
      }
      case 6: {
        AbstractValue::Dict dict;
        for (std::size_t left = choices_.below(4); left > 0; --left) {
          dict.keys.push_back(anything());
          dict.values.push_back(anything());
        }
        result.value = std::move(dict);
        break;
      }
      case 7:
        result.value = NoneValue{};
        break;
      case 8:
        result.value = one_of(kReals);
        break;
      case 9:
        result.value = choices_.one_in(2);
        break;
      case 10:
        result.value = text();
        break;
      case 11:
        result.value = scalar_type();
        break;
      default:
        break;
    }
    --depth_;
    return result;
  }

  // Returns a list of a fixed length, or at times the one number that may stand for it.
  AbstractValue of_formal(const SchemaArgument& formal) {
    const bool is_one = formal.length && choices_.one_in(4);
    return of_type(is_one ? formal.type.required().parts.front() : formal.type);
  }

  AbstractValue of_type(const SchemaType& type) {
    if (type.is_optional())
      return choices_.one_in(3) ? AbstractValue{NoneValue{}} : of_type(type.parts.front());
    if (type.is_list()) {
      return {list(type.parts.front())};
    }
    if (type.name == "Tensor") return choices_.one_in(16) ? AbstractValue{} : AbstractValue{tensor()};
    if (type.name == "int" || type.name == "SymInt") return {integer()};
    if (type.name == "float") return {one_of(kReals)};
    if (type.name == "bool") return {choices_.one_in(2)};
    if (type.name == "str") return {text()};
    if (type.name == "ScalarType") return {scalar_type()};
    if (type.name == "Layout" || type.name == "MemoryFormat")
      return {SymInt(static_cast<std::int64_t>(choices_.below(3)))};
    if (type.name == "Device") return {Device{choices_.one_in(2) ? "cuda" : "cpu", -1}};
    if (type.name == "Scalar" || type.name == "number") {
      switch (choices_.below(4)) {
        case 0:
          return {one_of(kReals)};
        case 1:
          return {choices_.one_in(2)};
        default:
          return {integer()};
      }
    }
    if (type.name == "Tuple") {
      AbstractValue::Sequence items;
      for (const SchemaType& part : type.parts) items.push_back(of_type(part));
      return {std::move(items)};
    }
    return anything();
  }

  Choices choices_;
  int depth_ = 0;
};

// Replaces names by numbers; returns false where that gives no valid value.
class Numbers {
 public:
  explicit Numbers(const std::map<std::string, std::int64_t>& sizes) : sizes_(sizes) {}

  bool put_into(SymInt& size) const {
    if (size.is_number()) return true;
    const auto value = size.evaluate(sizes_);
    if (!value || *value < 0) return false;
    size = *value;
    return true;
  }

  bool put_into(AbstractValue::Sequence& values) const {
    for (AbstractValue& value : values) {
      if (!put_into(value)) return false;
    }
    return true;
  }

  bool put_into(AbstractValue& value) const {
    if (auto* info = std::get_if<TensorInfo>(&value.value)) {
      for (SymInt& size : info->sizes) {
        if (!put_into(size)) return false;
      }
      if (info->content != nullptr) {
        Array array = *info->content->array;
        for (Element& element : array.elements) {
          const auto* size = std::get_if<SymInt>(&element);
          const auto number = size != nullptr ? size->evaluate(sizes_) : std::nullopt;
          if (size != nullptr && !number) return false;
          if (number) element = *number;
        }
        info->content = std::make_shared<const TensorContent>(
            TensorContent{std::make_shared<const Array>(std::move(array)), {}});
      }
    } else if (auto* size = std::get_if<SymInt>(&value.value)) {
      return put_into(*size);
    } else if (auto* items = std::get_if<AbstractValue::Sequence>(&value.value)) {
      return put_into(*items);
    } else if (auto* dict = std::get_if<AbstractValue::Dict>(&value.value)) {
      return put_into(dict->keys) && put_into(dict->values);
    } else if (auto* ratio = std::get_if<Ratio>(&value.value)) {
      return put_into(ratio->numerator);
    } else if (auto* condition = std::get_if<Condition>(&value.value)) {
      return put_into(condition->left) && put_into(condition->right);
    }
    return true;
  }

 private:
  const std::map<std::string, std::int64_t>& sizes_;
};

}  // namespace

ShapeEnv GeneratedCall::dimensions() const {
  ShapeEnv known;
  for (const Name& name : kNames) known.narrow(name.text, {name.low, std::nullopt});
  return known;
}

std::optional<std::vector<AbstractValue>> GeneratedCall::with_numbers() const {
  std::vector<AbstractValue> numbers = values;
  if (!Numbers(sizes).put_into(numbers)) return std::nullopt;
  return numbers;
}

std::string GeneratedCall::text() const {
  std::string result = std::string(op->name) + "(";
  const std::vector<SchemaArgument>& formals = entry_of(*op).schema.arguments;
  for (std::size_t i = 0; i < values.size(); ++i)
    result += (i > 0 ? ", " : "") + formals[i].name + "=" + to_text(values[i]);
  result += ")";
  for (const auto& [name, size] : sizes) result += ", " + name + "=" + std::to_string(size);
  return result;
}

GeneratedCall generate_call(std::string_view bytes, const std::vector<const Operator*>& operators) {
  return Generator(bytes).call(operators);
}

}  // namespace fxtrace::internal::fuzz
