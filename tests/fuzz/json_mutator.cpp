// Mutates JSON into other valid JSON: values that change places, extreme numbers, keys of other objects.
// Bytes are mutated too, but rarely, as other targets fuzz the parser.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using Json = nlohmann::ordered_json;

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  void change(Json& root, const Json& other) {
    values_.clear();
    donors_.clear();
    collect(root, values_);
    collect(other, donors_);
    do change_one(root);
    while (below(3) == 0);
  }

 private:
  static constexpr std::size_t kMaxCopy = 2'000;  // values in what is copied

  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }

  template <class Value>
  static void collect(Value& value, std::vector<Value*>& all) {
    std::vector<Value*> waiting = {&value};
    while (!waiting.empty()) {
      Value* next = waiting.back();
      waiting.pop_back();
      all.push_back(next);
      if (next->is_structured()) {
        for (auto& inner : *next) waiting.push_back(&inner);
      }
    }
  }

  Json donated() {
    const Json& donor = *donors_[below(donors_.size())];
    std::vector<const Json*> inside;
    collect(donor, inside);
    return inside.size() > kMaxCopy ? Json() : donor;
  }

  Json small() {
    static const std::int64_t numbers[] = {0,      1,         -1,        2,         7,         64,      1'024,
                                           65'536, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1 << 20, -3};
    switch (below(7)) {
      case 0:
        return nullptr;
      case 1:
        return below(2) == 0;
      case 2:
        return Json::array();
      case 3:
        return Json::object();
      case 4:
        return "";
      case 5:
        return 1e300;
      default:
        return numbers[below(std::size(numbers))];
    }
  }

  std::string mutated(std::string text) {
    constexpr std::size_t kRoom = 32;
    const std::size_t size = text.size();
    text.resize(size + kRoom);
    text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size()));
    return text;
  }

  void change_scalar(Json& value) {
    if (value.is_number_integer() && below(2) == 0) {
      value = static_cast<std::int64_t>(value.get<std::uint64_t>() + (below(2) == 0 ? 1 : -1));
    } else if (value.is_string() && below(3) != 0) {
      value = mutated(value.get<std::string>());
    } else {
      value = small();
    }
  }

  // Objects are lists of pairs here, so a key may occur twice, as an attacker may write it.
  void change_container(Json& value) {
    if (value.is_array()) {
      auto& items = value.get_ref<Json::array_t&>();
      const auto at = static_cast<std::ptrdiff_t>(below(items.size() + 1));
      if (below(2) == 0 && !items.empty()) {
        items.erase(items.begin() + (at == static_cast<std::ptrdiff_t>(items.size()) ? 0 : at));
      } else {
        items.insert(items.begin() + at,
                     items.empty() || below(2) == 0 ? donated() : Json(items[below(items.size())]));
      }
      return;
    }
    if (value.empty()) return;
    auto field = value.begin();
    std::advance(field, static_cast<std::ptrdiff_t>(below(value.size())));
    const std::string key = field.key();
    if (below(2) == 0) {
      value.erase(key);
    } else {
      value[mutated(key)] = Json(*field);
    }
  }

  void change_one(Json& root) {
    if (values_.empty()) collect(root, values_);
    Json& value = *values_[below(values_.size())];
    switch (below(6)) {
      case 0:
        value = donated();
        break;
      case 1:
        value = small();
        break;
      case 2:
        swap_leaves();
        break;
      default:
        value.is_structured() ? change_container(value) : change_scalar(value);
        break;
    }
    values_.clear();  // the values inside are gone
  }

  // Returns values without content, so that no value becomes a part of itself.
  void swap_leaves() {
    Json& one = *values_[below(values_.size())];
    Json& other = *values_[below(values_.size())];
    if (!one.is_structured() && !other.is_structured()) std::swap(one, other);
  }

  std::minstd_rand random_;
  std::vector<Json*> values_;
  std::vector<const Json*> donors_;
};

std::size_t write(const Json& json, std::uint8_t* data, std::size_t max_size) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > max_size) return 0;
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

Json parse(const std::uint8_t* data, std::size_t size) {
  return Json::parse(data, data + size, nullptr, false);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  constexpr unsigned kBytes = 16;  // one mutation of so many changes bytes
  if (seed % kBytes != 0) {
    Json json = parse(data, size);
    if (!json.is_discarded()) {
      const Json before = json;
      Mutator(seed).change(json, before);
      if (const std::size_t written = write(json, data, max_size)) return written;
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* data, std::size_t size,
                                                 const std::uint8_t* other, std::size_t other_size,
                                                 std::uint8_t* out, std::size_t max_size, unsigned seed) {
  Json json = parse(data, size);
  const Json donor = parse(other, other_size);
  if (json.is_discarded() || donor.is_discarded()) return 0;
  Mutator(seed).change(json, donor);
  return write(json, out, max_size);
}
