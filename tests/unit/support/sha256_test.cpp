// SHA-256: the vectors of NIST, and any way to divide the bytes.
#include "support/hashes.h"

#include <string>
#include <string_view>

#include "catch.h"

using namespace fxtrace::internal;

namespace {

std::string hash_of(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.digits();
}

TEST_CASE("sha256: known hashes", "[support]") {
  CHECK(hash_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hash_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(
      hash_of(
          "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopq"
          "rstnopqrstu") == "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  CHECK(hash_of(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("sha256: the bytes may come in any pieces", "[support]") {
  std::string bytes;
  for (int i = 0; i < 300; ++i) bytes += static_cast<char>(i * 7);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const std::string_view text = std::string_view(bytes).substr(0, size);
    Sha256 hash;
    for (std::size_t at = 0; at < size; at += 1 + at % 67) hash.add(text.substr(at, 1 + at % 67));
    CHECK(hash.digits() == hash_of(text));
  }
  Sha256 number;
  number.add(std::uint64_t{0x0102030405060708});
  CHECK(number.digits() == hash_of("\x08\x07\x06\x05\x04\x03\x02\x01"));
}

}  // namespace
