// Compares our scalar types with LibTorch's: names, sizes, kinds, and the promotion of each pair.
#include <c10/core/ScalarType.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <string>

#include "shapes/tensor_options.h"

namespace {

using fxtrace::internal::ScalarType;

int differences = 0;

void expect(const std::string& what, const std::string& own, const std::string& theirs) {
  if (own == theirs) return;
  ++differences;
  std::printf("%s: %s, but LibTorch says %s\n", what.c_str(), own.c_str(), theirs.c_str());
}

std::string text(bool value) { return value ? "yes" : "no"; }
// Returns "none" where LibTorch refuses.
template <typename Function>
std::string asked(Function function) {
  try {
    return function();
  } catch (const std::exception&) {
    return "none";
  }
}

std::string name_of(c10::ScalarType type) {
  return type == c10::ScalarType::Undefined ? "none" : std::string(c10::getDtypeNames(type).first);
}
std::string name_of(fxtrace::internal::Dtype type) { return type ? dtype_name(*type) : "none"; }

}  // namespace

int main() {
  if (fxtrace::internal::kScalarTypes != static_cast<std::int64_t>(c10::ScalarType::Undefined)) {
    std::printf("LibTorch has another number of types\n");
    return 1;
  }
  for (std::int64_t i = 0; i < fxtrace::internal::kScalarTypes; ++i) {
    const auto own = static_cast<ScalarType>(i);
    const auto theirs = static_cast<c10::ScalarType>(i);
    const std::string name = dtype_name(own);
    expect(name, name, name_of(theirs));
    expect("bytes of " + name, std::to_string(item_size(own)), std::to_string(c10::elementSize(theirs)));
    expect(name + " is integral", text(is_integral(own)), text(c10::isIntegralType(theirs, true)));
    expect(name + " is floating", text(is_floating(own)), text(c10::isFloatingType(theirs)));
    expect(name + " is complex", text(is_complex(own)), text(c10::isComplexType(theirs)));
    expect(name + " is quantized", text(is_quantized(own)), text(c10::isQIntType(theirs)));
    expect(name + " is signed", is_signed(own) ? text(*is_signed(own)) : "none",
           asked([&] { return text(c10::isSignedType(theirs)); }));
    expect("real type of " + name, name_of(real_type(own)), name_of(c10::toRealValueType(theirs)));
    expect("complex type of " + name, name_of(complex_type(own)),
           asked([&] { return name_of(c10::toComplexType(theirs)); }));
    expect(name + " without quantization", name_of(without_quantization(own)),
           name_of(c10::toUnderlying(theirs)));
    for (std::int64_t j = 0; j < fxtrace::internal::kScalarTypes; ++j) {
      const auto other = static_cast<ScalarType>(j);
      expect(name + " and " + dtype_name(other), name_of(promote(own, other)),
             asked([&] { return name_of(c10::promoteTypes(theirs, static_cast<c10::ScalarType>(j))); }));
    }
  }
  return differences == 0 ? 0 : 1;
}
