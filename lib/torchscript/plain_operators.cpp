#include "torchscript/plain_operators.h"

#include <c10/util/Logging.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "torchscript/convert.h"

namespace fxtrace {
namespace {

using Arguments = c10::ArrayRef<at::IValue>;

constexpr std::size_t kCharactersInUnit = 16;
constexpr std::size_t kMaxSearch = std::size_t{1} << 30;  // characters compared
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

Refusal raises(std::string why) { return {FailureKind::kRaised, std::move(why)}; }

Refusal too_large() {
  return {FailureKind::kLimit,
          "a list or string of more than " + std::to_string(kMaxPlainSize) + " elements"};
}

bool are_ints(Arguments arguments) {
  return std::all_of(arguments.begin(), arguments.end(), [](const auto& value) { return value.isInt(); });
}

bool is_text(Arguments arguments, std::size_t i) { return i < arguments.size() && arguments[i].isString(); }

// --- checks: what Python raises where LibTorch's arithmetic would end the process or not end at all ---

using Check = std::optional<Refusal> (*)(Arguments);

std::optional<Refusal> check_division(Arguments arguments) {
  if (arguments.size() != 2 || !are_ints(arguments)) return std::nullopt;
  if (arguments[1].toInt() == 0) return raises("ZeroDivisionError: division by zero");
  if (arguments[1].toInt() == -1 && arguments[0].toInt() == kLeast)
    return raises("OverflowError: the quotient has more than 64 bits");
  return std::nullopt;
}

std::optional<Refusal> check_shift(Arguments arguments) {
  constexpr std::int64_t kBits = 64;
  if (arguments.size() != 2 || !are_ints(arguments)) return std::nullopt;
  if (arguments[1].toInt() < 0) return raises("ValueError: negative shift count");
  if (arguments[1].toInt() >= kBits) return raises("OverflowError: a shift by 64 bits or more");
  return std::nullopt;
}

std::optional<Refusal> check_gcd(Arguments arguments) {
  const bool has_least = std::any_of(arguments.begin(), arguments.end(), [](const auto& value) {
    return value.isInt() && value.toInt() == kLeast;
  });
  if (has_least) return raises("OverflowError: gcd of a number whose negative has more than 64 bits");
  return std::nullopt;
}

std::optional<Refusal> check_factorial(Arguments arguments) {
  constexpr std::int64_t kLargest = 20;
  if (arguments.empty() || !arguments[0].isInt() || arguments[0].toInt() <= kLargest) return std::nullopt;
  return raises("OverflowError: factorial(" + std::to_string(arguments[0].toInt()) +
                ") has more than 64 bits");
}

// Floats that become integers.
std::optional<Refusal> check_conversion(Arguments arguments) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (arguments.empty() || !arguments[0].isDouble()) return std::nullopt;
  const double number = arguments[0].toDouble();
  if (std::isnan(number)) return raises("ValueError: cannot convert float NaN to integer");
  if (number >= kLimit || number < -kLimit)
    return raises("OverflowError: the float has more than 64 bits as an integer");
  return std::nullopt;
}

std::optional<Refusal> check_power(Arguments arguments) {
  if (arguments.size() != 2 || !are_ints(arguments)) return std::nullopt;
  const double power =
      std::pow(static_cast<double>(arguments[0].toInt()), static_cast<double>(arguments[1].toInt()));
  if (std::isfinite(power)) return check_conversion({at::IValue(power)});
  return raises("OverflowError: the power has more than 64 bits");
}

std::optional<Refusal> check_range(Arguments arguments) {
  constexpr std::size_t kParts = 3;  // from, to, step
  if (arguments.size() != kParts || !are_ints(arguments)) return std::nullopt;
  const std::int64_t step = arguments[2].toInt();
  if (step == 0) return raises("ValueError: range() arg 3 must not be zero");
  std::int64_t distance = 0;
  const bool fits = !__builtin_sub_overflow(arguments[1].toInt(), arguments[0].toInt(), &distance) &&
                    distance != kLeast && step != kLeast;
  return fits ? std::nullopt : std::optional(raises("OverflowError: a range of more than 63 bits"));
}

std::size_t search_steps(Arguments arguments) {
  if (!is_text(arguments, 0) || !is_text(arguments, 1)) return 0;
  return arguments[0].toStringRef().size() * arguments[1].toStringRef().size();
}

std::optional<Refusal> check_search(Arguments arguments) {
  if (search_steps(arguments) <= kMaxSearch) return std::nullopt;
  return Refusal{FailureKind::kLimit, "a long text is looked for in a longer one"};
}

// Text by a pattern that is empty: LibTorch would look for it for ever.
std::optional<Refusal> check_pattern(Arguments arguments) {
  if (!is_text(arguments, 0) || !is_text(arguments, 1) || !arguments[1].toStringRef().empty())
    return check_search(arguments);
  return Refusal{FailureKind::kUnsupportedOp, "an empty text is looked for"};
}

std::optional<Refusal> check_separator(Arguments arguments) {
  if (is_text(arguments, 1) && arguments[1].toStringRef().empty())
    return raises("ValueError: empty separator");
  return check_search(arguments);
}

// LibTorch takes a negative width for a large one.
std::optional<Refusal> check_width(Arguments arguments) {
  if (arguments.size() < 2 || !arguments[1].isInt() || arguments[1].toInt() >= 0) return std::nullopt;
  return Refusal{FailureKind::kUnsupportedOp, "a text of negative width is made"};
}

bool has_nan(const at::IValue& value) {
  if (value.isDouble()) return std::isnan(value.toDouble());
  if (value.isList()) return std::ranges::any_of(value.toListRef(), has_nan);
  if (value.isTuple()) return std::ranges::any_of(value.toTupleRef().elements(), has_nan);
  return false;
}

// An order that is none sends std::sort out of the list.
std::optional<Refusal> check_order(Arguments arguments) {
  if (std::none_of(arguments.begin(), arguments.end(), has_nan)) return std::nullopt;
  return Refusal{FailureKind::kUnsupportedOp, "a list with NaN is sorted"};
}

// LibTorch's tables of dtypes take any number for one.
std::optional<Refusal> check_dtypes(Arguments arguments) {
  for (const at::IValue& value : arguments) {
    if (value.isInt() && !find_dtype_name(value.toInt())) return raises("there is no such dtype");
  }
  return std::nullopt;
}

struct CheckOf {
  std::string_view name;
  Check check;
};

constexpr CheckOf kChecks[] = {{"aten::Int", check_conversion},
                               {"aten::__contains__", check_search},
                               {"aten::__lshift__", check_shift},
                               {"aten::__range_length", check_range},
                               {"aten::__rshift__", check_shift},
                               {"aten::can_cast", check_dtypes},
                               {"aten::ceil", check_conversion},
                               {"aten::center", check_width},
                               {"aten::count", check_pattern},
                               {"aten::expandtabs", check_width},
                               {"aten::factorial", check_factorial},
                               {"aten::find", check_search},
                               {"aten::floor", check_conversion},
                               {"aten::gcd", check_gcd},
                               {"aten::index", check_search},
                               {"aten::ljust", check_width},
                               {"aten::lstrip", check_search},
                               {"aten::partition", check_separator},
                               {"aten::pow", check_power},
                               {"aten::promote_types", check_dtypes},
                               {"aten::replace", check_pattern},
                               {"aten::rfind", check_search},
                               {"aten::rindex", check_search},
                               {"aten::rjust", check_width},
                               {"aten::rpartition", check_separator},
                               {"aten::rsplit", check_separator},
                               {"aten::rstrip", check_search},
                               {"aten::sort", check_order},
                               {"aten::sorted", check_order},
                               {"aten::split", check_separator},
                               {"aten::strip", check_search},
                               {"aten::trunc", check_conversion},
                               {"aten::zfill", check_width}};
static_assert(std::ranges::is_sorted(kChecks, {}, &CheckOf::name));

// What would be larger than anything a model has reason to make.
bool is_excessive(std::string_view name, Traits traits, Arguments arguments) {
  std::size_t size = 1;
  std::int64_t number = 1;
  bool numbers_alone = true;
  for (const at::IValue& value : arguments) {
    if (value.isList()) size = std::max(size, value.toListRef().size());
    if (value.isString()) size = std::max(size, value.toStringRef().size());
    if (value.isInt()) number = std::max(number, value.toInt());
    numbers_alone = numbers_alone && !value.isList() && !value.isString();
  }
  if ((traits & traits::kRepeats) != 0) {
    if (numbers_alone && name == "aten::mul") return false;
    return static_cast<std::uint64_t>(number) > kMaxPlainSize / size;
  }
  constexpr std::size_t kFactor = 16;
  return (traits & traits::kJoins) != 0 && size > kMaxPlainSize / kFactor;
}

// --- what LibTorch carries out by itself ---

constexpr int kFatal = 3;  // of LibTorch's levels of logging

// Of all constants that LibTorch makes of others while it compiles an archive's code.
constexpr std::size_t kMaxFolded = std::size_t{1} << 22;  // units of a budget
thread_local std::optional<std::size_t> room_for_folding;

// Whether values of the type never change: LibTorch's constant propagation looks at no others.
bool may_be_immutable(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
    case c10::TypeKind::ListType:
    case c10::TypeKind::DictType:
    case c10::TypeKind::ClassType:
    case c10::TypeKind::InterfaceType:
      return false;
    case c10::TypeKind::TupleType:
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::UnionType:
      return std::ranges::all_of(type.containedTypes(),
                                 [](const auto& part) { return may_be_immutable(*part); });
    default:
      return true;
  }
}

bool may_be_folded(const c10::FunctionSchema& schema) {
  const auto fits = [](const c10::Argument& argument) { return may_be_immutable(*argument.type()); };
  return !schema.is_vararg() && !schema.is_varret() && std::ranges::all_of(schema.arguments(), fits) &&
         std::ranges::all_of(schema.returns(), fits);
}

void carry_out(const torch::jit::Operator& original, Traits traits, torch::jit::Stack& stack) {
  const c10::FunctionSchema& schema = original.schema();
  const auto refuse = [&](const std::string& why) { throw std::runtime_error(schema.name() + ": " + why); };
  if ((traits & traits::kPlain) == 0) refuse("not carried out while code is compiled");
  const std::size_t count = schema.arguments().size();
  const Arguments arguments = Arguments(stack).slice(stack.size() - count);
  if (const auto refusal = find_refusal(schema.name(), traits, arguments)) refuse(refusal->why);
  const std::size_t below = stack.size() - count;
  if (room_for_folding) {
    const std::size_t cost = cost_of(schema.name(), arguments);
    if (cost > *room_for_folding) refuse("too much is made of constants");
    *room_for_folding -= cost;
  }
  original.getOperation()(stack);
  for (const at::IValue& result : Arguments(stack).slice(below)) {
    if (const auto refusal = find_refusal(result)) refuse(refusal->why);
  }
}

torch::jit::Operator guarded(const std::shared_ptr<torch::jit::Operator>& original) {
  const c10::FunctionSchema& schema = original->schema();
  const Traits traits = traits_of(find_operator(schema));
  return {schema.name(),
          schema.overload_name(),
          schema.arguments(),
          schema.returns(),
          [original, traits](torch::jit::Stack& stack) { carry_out(*original, traits, stack); },
          original->aliasAnalysisKind()};
}

}  // namespace

bool makes_tensor(const c10::FunctionSchema& schema) {
  return std::ranges::any_of(schema.returns(), [](const c10::Argument& result) {
    return result.type()->kind() != c10::TypeKind::VarType && may_hold_tensor(*result.type());
  });
}

bool is_carried_out(const c10::FunctionSchema& schema, Traits traits, Arguments /*arguments*/,
                    bool all_plain) {
  return all_plain && (traits & traits::kPlain) != 0 && !makes_tensor(schema);
}

std::optional<Refusal> find_refusal(std::string_view name, Traits traits, Arguments arguments) {
  if (is_excessive(name, traits, arguments)) return too_large();
  if ((traits & traits::kDivides) != 0) {
    if (auto refusal = check_division(arguments)) return refusal;
  }
  const auto found = std::ranges::lower_bound(kChecks, name, {}, &CheckOf::name);
  return found != std::end(kChecks) && found->name == name ? found->check(arguments) : std::nullopt;
}

std::optional<Refusal> find_refusal(const at::IValue& result) {
  const bool is_too_large = (result.isString() && result.toStringRef().size() > kMaxPlainSize) ||
                            (result.isList() && result.toListRef().size() > kMaxPlainSize);
  return is_too_large ? std::optional(too_large()) : std::nullopt;
}

void guard_operators() {
  static bool done = false;
  if (std::exchange(done, true)) return;
  FLAGS_caffe2_log_level = kFatal;  // some say on stderr what they think of themselves
  std::set<c10::Symbol> names;
  for (const auto& op : torch::jit::getAllOperators()) {
    if (may_be_folded(op->schema())) names.insert(c10::Symbol::fromQualString(op->schema().name()));
  }
  for (const c10::Symbol name : names) {
    // All of a name, as the first that fits is the one that a call means.
    const auto overloads = torch::jit::getAllOperatorsFor(name);
    for (const auto& op : overloads) torch::jit::deregisterOperator(op->schema());
    for (const auto& op : overloads) {
      torch::jit::registerOperator(may_be_folded(op->schema()) ? guarded(op) : torch::jit::Operator(*op));
    }
  }
}

std::size_t length_of(const at::IValue& value) {
  if (value.isString()) return value.toStringRef().size() / kCharactersInUnit;
  if (value.isList()) return value.toListRef().size();
  return value.isGenericDict() ? value.toGenericDict().size() : 0;
}

std::size_t cost_of(std::string_view name, Arguments arguments) {
  static constexpr std::array<std::string_view, 6> kConstantTime{
      "aten::__getitem__", "aten::_set_item", "aten::append", "aten::get", "aten::len", "aten::setdefault"};
  if (std::ranges::find(kConstantTime, name) != kConstantTime.end()) return 1;
  constexpr std::size_t kComparedInUnit = 256;
  std::size_t units = 1 + std::min(search_steps(arguments), kMaxSearch) / kComparedInUnit;
  for (const at::IValue& value : arguments) units += length_of(value);
  return units;
}

FoldingLimit::FoldingLimit() { room_for_folding = kMaxFolded; }
FoldingLimit::~FoldingLimit() { room_for_folding.reset(); }

}  // namespace fxtrace
