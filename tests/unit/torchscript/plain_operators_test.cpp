// Every operator that is carried out on plain values, called with the arguments that an archive would choose
// to do harm.
#include <torch/csrc/jit/runtime/operator.h>

#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include "catch.h"
#include "torchscript/convert.h"
#include "torchscript/plain_operators.h"

namespace {

using namespace fxtrace;
using Values = std::vector<at::IValue>;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const Values& integers() {
  static const Values values{0, 1, -1, 2, 3, 63, 64, kLeast, kLeast + 1, kMost, std::int64_t{1} << 40};
  return values;
}
const Values& floats() {
  static const Values values{0.0, -0.0, 1.5, -1.0, 1e300, -1e300, kInfinity, -kInfinity, kNan};
  return values;
}
const Values& texts() {
  static const Values values{std::string(),
                             std::string("a"),
                             std::string("%"),
                             std::string("%d %s {} {"),
                             std::string("cuda:99999999999"),
                             std::string("9223372036854775808"),
                             std::string("1e999"),
                             std::string("\0\xff\n", 3),
                             std::string(5000, 'b')};
  return values;
}

// Nothing where the type's values are not plain.
Values candidates(const c10::Type& type) {
  const auto joined = [](std::initializer_list<Values> all) {
    Values result;
    for (const Values& values : all) result.insert(result.end(), values.begin(), values.end());
    return result;
  };
  switch (type.kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return integers();
    case c10::TypeKind::FloatType:
      return floats();
    case c10::TypeKind::StringType:
      return texts();
    case c10::TypeKind::BoolType:
      return {true, false};
    case c10::TypeKind::ComplexType:
      return {c10::complex<double>(0, 0), c10::complex<double>(kNan, kInfinity)};
    case c10::TypeKind::NumberType:
      return joined({integers(), floats()});
    case c10::TypeKind::NoneType:
      return {at::IValue()};
    case c10::TypeKind::DeviceObjType:
      return {at::Device("cpu"), at::Device("cuda:1")};
    case c10::TypeKind::OptionalType: {
      Values values = candidates(*type.containedTypes()[0]);
      values.emplace_back();
      return values;
    }
    case c10::TypeKind::VarType:
    case c10::TypeKind::AnyType:
      return {kLeast, kNan, std::string("%s"), at::IValue(), c10::ivalue::Tuple::create({at::IValue(1)})};
    case c10::TypeKind::ListType: {
      c10::TypePtr element = type.containedTypes()[0];
      if (element->kind() == c10::TypeKind::VarType) element = c10::IntType::get();
      const Values items = candidates(*element);
      Values lists;
      for (const std::size_t length : {0U, 1U, 3U, 40U, 5000U}) {
        c10::impl::GenericList list(element);
        for (std::size_t i = 0; i < length && !items.empty(); ++i)
          list.push_back(items[i * 7 % items.size()]);
        lists.emplace_back(list);
      }
      return items.empty() ? Values{} : lists;
    }
    case c10::TypeKind::TupleType: {
      Values parts;
      for (const auto& part : type.containedTypes()) {
        const Values values = candidates(*part);
        if (values.empty()) return {};
        parts.push_back(values.front());
      }
      return {c10::ivalue::Tuple::create(std::move(parts))};
    }
    case c10::TypeKind::DictType: {
      c10::impl::GenericDict dict(c10::StringType::get(), c10::IntType::get());
      dict.insert("a", kLeast);
      c10::impl::GenericDict numbers(c10::IntType::get(), c10::IntType::get());
      numbers.insert(0, 1);
      return {dict, numbers};
    }
    default:
      return {};
  }
}

// A value of its own for each call: operators change lists.
at::IValue fresh(const at::IValue& value) {
  if (value.isList()) return value.toList().copy();
  if (value.isGenericDict()) return value.toGenericDict().copy();
  return value;
}

struct Calls {
  std::size_t all = 0, refused = 0;
};

void call(const torch::jit::Operator& op, Traits traits, const Values& arguments, Calls& calls) {
  const c10::FunctionSchema& schema = op.schema();
  torch::jit::Stack stack;
  for (const at::IValue& value : arguments) stack.push_back(fresh(value));
  ++calls.all;
  if (find_refusal(schema.name(), traits, stack)) {
    ++calls.refused;
    return;
  }
  if (schema.is_vararg()) stack.emplace_back(static_cast<std::int64_t>(arguments.size()));
  try {
    op.getOperation()(stack);
  } catch (const std::exception&) {
    return;  // what it says is not ours
  }
}

}  // namespace

TEST_CASE("no arguments of plain operators end the process or keep it busy") {
  guard_operators();
  Calls calls;
  constexpr std::size_t kMaxCombinations = 3000;
  for (const auto& op : torch::jit::getAllOperators()) {
    const c10::FunctionSchema& schema = op->schema();
    const Traits traits = traits_of(find_operator(schema));
    if ((traits & traits::kPlain) == 0 || !op->hasOperation()) continue;
    std::vector<Values> sets;
    std::size_t combinations = 1;
    for (const c10::Argument& argument : schema.arguments()) {
      sets.push_back(candidates(*argument.type()));
      combinations *= sets.back().size();
    }
    if (combinations == 0) continue;
    // Every how manieth: a prime, so that no argument stays the same.
    const std::size_t step = combinations <= kMaxCombinations ? 1 : combinations / kMaxCombinations | 1U;
    const auto begin = std::chrono::steady_clock::now();
    UNSCOPED_INFO(schema);
    for (std::size_t i = 0; i < combinations; i += step) {
      Values arguments;
      std::size_t rest = i;
      for (const Values& values : sets) {
        arguments.push_back(values[rest % values.size()]);
        rest /= values.size();
      }
      call(*op, traits, arguments, calls);
    }
    const auto taken = std::chrono::steady_clock::now() - begin;
    if (taken > std::chrono::milliseconds(300)) std::cerr << schema << " " << taken.count() / 1000000 << "\n";
    INFO(schema);
    CHECK(taken < std::chrono::seconds(10));
  }
  CHECK(calls.all > 20'000);
  CHECK(calls.refused > 300);
}
