#include "torchscript/values/keyed_hash.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#ifdef __linux__
#include <sys/auxv.h>
#else
#include <random>
#endif

namespace fxtrace::internal::torchscript {
namespace {

struct Key {
  std::uint64_t first = 0, second = 0;
};

Key make_key() {
  Key key;
#ifdef __linux__
  // AT_RANDOM points to 16 random bytes that the kernel gave to the process.  Reading them takes no system
  // call, which the sandbox might forbid.
  if (const auto address = ::getauxval(AT_RANDOM); address != 0) {
    std::memcpy(&key, reinterpret_cast<const void*>(address), sizeof key);  // NOLINT: an address as a number
  }
#else
  std::random_device device;
  key = {(std::uint64_t{device()} << 32U) | device(), (std::uint64_t{device()} << 32U) | device()};
#endif
  return key;
}

struct State {
  std::uint64_t a, b, c, d;

  void round() {
    a += b;
    b = std::rotl(b, 13) ^ a;
    a = std::rotl(a, 32);
    c += d;
    d = std::rotl(d, 16) ^ c;
    a += d;
    d = std::rotl(d, 21) ^ a;
    c += b;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  }
};

}  // namespace

std::uint64_t keyed_hash(std::string_view bytes) {
  static const Key key = make_key();
  constexpr std::size_t kWord = 8;
  State state{key.first ^ 0x736f6d6570736575U, key.second ^ 0x646f72616e646f6dU,
              key.first ^ 0x6c7967656e657261U, key.second ^ 0x7465646279746573U};
  const auto add = [&](std::uint64_t word) {
    state.d ^= word;
    state.round();
    state.a ^= word;
  };
  std::string_view rest = bytes;
  for (; rest.size() >= kWord; rest.remove_prefix(kWord)) {
    std::uint64_t word = 0;
    std::memcpy(&word, rest.data(), kWord);
    add(word);
  }
  std::uint64_t last = 0;
  if (!rest.empty()) std::memcpy(&last, rest.data(), rest.size());
  add(last | (static_cast<std::uint64_t>(bytes.size()) << 56U));
  state.c ^= 0xffU;
  for (int i = 0; i < 3; ++i) state.round();
  return state.a ^ state.b ^ state.c ^ state.d;
}

}  // namespace fxtrace::internal::torchscript
