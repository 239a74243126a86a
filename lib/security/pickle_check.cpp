#include "security/pickle_check.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <unordered_set>

#include "archive/pickle_machine.h"
#include "support/text/identifier.h"
#include "support/text/words.h"

namespace fxtrace::security {
namespace {

using namespace std::string_view_literals;
using Id = PickleMachine::Id;
using PickleKind = PickleMachine::Kind;

constexpr std::size_t kMaxGlobal = 200;  // bytes of a module or name that a message repeats
constexpr std::string_view kLegacyMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv;

bool is_dotted(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return is_word(c) || c == '.'; });
}

struct ElementSize {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr auto kElements = std::to_array<ElementSize>({{"Double", 8},
                                                       {"Float", 4},
                                                       {"Half", 2},
                                                       {"BFloat16", 2},
                                                       {"Long", 8},
                                                       {"Int", 4},
                                                       {"Short", 2},
                                                       {"Char", 1},
                                                       {"Byte", 1},
                                                       {"Bool", 1},
                                                       {"QInt8", 1},
                                                       {"QUInt8", 1},
                                                       {"ComplexFloat", 8},
                                                       {"ComplexDouble", 16},
                                                       {"QInt32", 4},
                                                       {"QUInt4x2", 1},
                                                       {"QUInt2x4", 1}});

// Element types that only LibTorch's pickler names.
constexpr auto kLaterElements = std::to_array<ElementSize>({{"UInt16", 2},
                                                            {"UInt32", 4},
                                                            {"UInt64", 8},
                                                            {"Float8_e4m3fn", 1},
                                                            {"Float8_e4m3fnuz", 1},
                                                            {"Float8_e5m2", 1},
                                                            {"Float8_e5m2fnuz", 1},
                                                            {"Float8_e8m0fnu", 1}});

// Returns the element type of a class: "Float" for torch.FloatStorage and torch.cuda.sparse.FloatTensor; null
// for another name.
const ElementSize* element_of(std::string_view name, std::string_view suffix) {
  for (const std::string_view prefix : {"torch.cuda.sparse.", "torch.sparse.", "torch.cuda.", "torch."}) {
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    if (!name.ends_with(suffix)) return nullptr;
    name.remove_suffix(suffix.size());
    const auto* found = std::ranges::find(kElements, name, &ElementSize::name);
    return found == kElements.end() ? nullptr : found;
  }
  return nullptr;
}

const ElementSize* later_element_of(std::string_view storage) {
  const auto* found = std::ranges::find_if(kLaterElements, [&](const ElementSize& element) {
    return storage == "torch." + std::string(element.name) + "Storage";
  });
  return found == kLaterElements.end() ? nullptr : found;
}

std::optional<std::uint64_t> element_size(std::string_view storage) {
  if (storage == "torch.storage.UntypedStorage" || storage == "torch.UntypedStorage") return 1;
  const ElementSize* element = element_of(storage, "Storage");
  if (element == nullptr) element = later_element_of(storage);
  return element == nullptr ? std::nullopt : std::optional(element->bytes);
}

// A pickle that has been followed, with everything that it would do.
class Following : PickleMachine::PickleWatcher {
 public:
  Following(std::string_view bytes, std::size_t start) : machine_(bytes, start, this) {
    end_ = machine_.run(PickleMachine::kMaxOpcodes);
  }
  Following(const Following&) = delete;
  Following& operator=(const Following&) = delete;

  bool is_whole() const { return end_ == PickleMachine::End::kStop; }
  bool is_too_long() const { return end_ == PickleMachine::End::kLimit; }
  bool is_cut() const { return end_ == PickleMachine::End::kTruncated; }
  std::size_t position() const { return machine_.position(); }
  const std::map<std::string, std::uint64_t>& storages() const { return storages_; }

  // Returns the names of all globals; the name is empty for a global whose name is computed.
  std::set<std::string> globals() const {
    std::set<std::string> names;
    for (std::size_t id = 0; id < machine_.value_count(); ++id) {
      if (machine_.value(static_cast<Id>(id)).kind == PickleKind::kGlobal)
        names.insert(name(static_cast<Id>(id)));
    }
    return names;
  }
  const std::set<std::string>& called() const { return called_; }

  // Returns, in words, what the pickle does that no writer of torch does.
  const std::set<std::string>& oddities() const { return oddities_; }

 private:
  std::string name(Id global) const {
    const auto parts = machine_.parts(global);
    const bool is_known =
        std::ranges::all_of(parts, [&](Id part) { return machine_.value(part).kind == PickleKind::kString; });
    return is_known ? machine_.global_name(global, kMaxGlobal) : "";
  }
  bool is_made_by(Id value, std::string_view function) const {
    return machine_.value(value).kind == PickleKind::kCall && name(machine_.parts(value)[0]) == function;
  }

  void on_call(Id callable, Id arguments) override {
    if (machine_.value(callable).kind != PickleKind::kGlobal) {
      oddities_.insert("calls an object that it has made");
      return;
    }
    const std::string function = name(callable);
    called_.insert(function);
    const auto parts = machine_.parts(arguments);
    // A callable that takes a size allocates that much memory, however small the file is.
    const bool is_class = element_of(function, "Storage") != nullptr ||
                          element_of(function, "Tensor") != nullptr || function == "torch.Tensor" ||
                          function == "torch.storage.UntypedStorage";
    const auto is_size = [&](Id part) { return machine_.value(part).kind == PickleKind::kInteger; };
    if ((is_class && !parts.empty()) ||
        (function.ends_with(".bytearray") && std::ranges::any_of(parts, is_size)))
      oddities_.insert("allocates memory of a size that it gives: " + function);
    // This function calls its first argument with the third.
    if (function == "torch._tensor._rebuild_from_type_v2") {
      const bool is_rebuild = !parts.empty() && machine_.value(parts[0]).kind == PickleKind::kGlobal &&
                              name(parts[0]).starts_with("torch._utils._rebuild_");
      if (!is_rebuild) oddities_.insert("makes a tensor by a function that is not torch's for that");
    }
    // An encoding is a Python module, which is imported.
    if (function == "_codecs.encode") {
      static const std::unordered_set<std::string_view> encodings =
          words_of("ascii latin-1 latin1 utf-8 utf8");
      if (parts.size() != 2 || !encodings.contains(machine_.value(parts[1]).text))
        oddities_.insert("encodes a text in an encoding other than ASCII, Latin-1 or UTF-8");
    }
    if (function.starts_with("torch._utils._rebuild_tensor") || function == "torch._utils._rebuild_qtensor")
      tensor(parts);
  }

  // Checks that a tensor (storage, offset, sizes, strides, ...) fits into its storage.
  void tensor(std::span<const Id> parts) {
    constexpr std::size_t kParts = 4;
    if (parts.size() < kParts || machine_.value(parts[0]).kind != PickleKind::kPersistent) return;
    const auto storage = machine_.parts(machine_.parts(parts[0])[0]);
    if (storage.size() < 5 || machine_.value(storage[3]).text == "meta") return;
    const auto element = element_size(name(storage[1]));
    const auto sizes = machine_.parts(parts[2]), strides = machine_.parts(parts[3]);
    std::int64_t last = machine_.value(parts[1]).number, bytes = 0;
    bool fits = element && sizes.size() == strides.size() && last >= 0;
    for (std::size_t i = 0; fits && i < sizes.size(); ++i) {
      const std::int64_t size = machine_.value(sizes[i]).number, stride = machine_.value(strides[i]).number;
      std::int64_t step = 0;
      if (size == 0) return;
      fits = size > 0 && stride >= 0 && !__builtin_mul_overflow(size - 1, stride, &step) &&
             !__builtin_add_overflow(last, step, &last);
    }
    fits = fits && !__builtin_add_overflow(last, 1, &last) &&
           !__builtin_mul_overflow(last, static_cast<std::int64_t>(*element), &bytes);
    std::uint64_t has = 0;
    if (const auto found = storages_.find(std::string(machine_.value(storage[2]).text));
        found != storages_.end())
      has = found->second;
    if (!fits || static_cast<std::uint64_t>(bytes) > has)
      oddities_.insert("makes a tensor that is larger than its storage");
  }

  void on_state(Id target) override {
    const PickleKind kind = machine_.value(target).kind;
    if (kind == PickleKind::kGlobal) {
      called_.insert(name(target));
      oddities_.insert("changes " + name(target));
    } else if (kind != PickleKind::kCall && kind != PickleKind::kDict) {
      oddities_.insert("sets attributes of a value that has none");
    }
  }

  void on_fill(Id target, PickleKind expected) override {
    if (machine_.value(target).kind == expected) return;
    if (expected == PickleKind::kDict && is_made_by(target, "collections.Counter")) return;
    oddities_.insert("adds items to a value that is not a list, dict or set");
  }

  // Records the storage ("storage", its class, key, device, number of elements, ...).
  void on_persistent(Id id) override {
    constexpr std::size_t kParts = 5;
    const auto parts = machine_.parts(id);
    const bool is_storage = machine_.value(id).kind == PickleKind::kTuple && parts.size() >= kParts &&
                            machine_.value(parts[0]).text == "storage" &&
                            machine_.value(parts[1]).kind == PickleKind::kGlobal &&
                            machine_.value(parts[2]).kind == PickleKind::kString &&
                            machine_.value(parts[4]).kind == PickleKind::kInteger;
    const auto element = is_storage ? element_size(name(parts[1])) : std::nullopt;
    const std::int64_t count = is_storage ? machine_.value(parts[4]).number : 0;
    std::uint64_t bytes = 0;
    if (!element || count < 0 ||
        __builtin_mul_overflow(static_cast<std::uint64_t>(count), *element, &bytes)) {
      oddities_.insert("refers to a persistent object that is not a tensor's storage");
      return;
    }
    if (machine_.value(parts[3]).text == "meta") bytes = 0;  // a meta tensor has sizes, but no elements
    const auto [place, is_new] = storages_.emplace(machine_.value(parts[2]).text, bytes);
    if (!is_new && place->second != bytes) oddities_.insert("gives a storage two sizes");
  }

  void on_extension() override {
    oddities_.insert("uses a global that the process has registered by number");
  }

  PickleMachine machine_;
  PickleMachine::End end_;
  std::set<std::string> called_, oddities_;
  std::map<std::string, std::uint64_t> storages_;
};

}  // namespace

bool is_harmless_global(std::string_view name, Unpickler unpickler) {
  // The globals of torch/_weights_only_unpickler.py, with which tests/python/test_check.py compares this
  // list, and their names in pickles of Python 2.
  static const std::unordered_set<std::string_view> known = words_of(
      "__builtin__.bytearray __builtin__.complex __builtin__.set _codecs.encode builtins.bytearray "
      "builtins.complex builtins.set collections.Counter collections.OrderedDict torch.Size torch.device "
      "torch.nn.parameter.Parameter torch._tensor._rebuild_from_type_v2 torch.serialization._get_layout "
      "torch._utils._rebuild_device_tensor_from_cpu_tensor torch._utils._rebuild_device_tensor_from_numpy "
      "torch._utils._rebuild_meta_tensor_no_storage torch._utils._rebuild_nested_tensor "
      "torch._utils._rebuild_parameter torch._utils._rebuild_parameter_with_state "
      "torch._utils._rebuild_qtensor torch._utils._rebuild_sparse_tensor torch._utils._rebuild_tensor "
      "torch._utils._rebuild_tensor_v2 torch._utils._rebuild_tensor_v3 "
      "torch._utils._rebuild_wrapper_subclass torch.Tensor torch.storage.TypedStorage "
      "torch.storage.UntypedStorage "
      "torch.bool torch.uint8 torch.uint16 torch.uint32 torch.uint64 torch.int8 torch.int16 torch.int32 "
      "torch.int64 torch.uint1 torch.uint2 torch.uint3 torch.uint4 torch.uint5 torch.uint6 torch.uint7 "
      "torch.int1 torch.int2 torch.int3 torch.int4 torch.int5 torch.int6 torch.int7 torch.float16 "
      "torch.bfloat16 torch.float32 torch.float64 torch.float4_e2m1fn_x2 torch.float8_e4m3fn "
      "torch.float8_e4m3fnuz torch.float8_e5m2 torch.float8_e5m2fnuz torch.float8_e8m0fnu torch.complex32 "
      "torch.complex64 torch.complex128 torch.qint8 torch.quint8 torch.qint32 torch.quint4x2 "
      "torch.quint2x4 torch.bits16 torch.bits1x8 torch.bits2x4 torch.bits4x2 torch.bits8 "
      "torch.per_tensor_affine torch.per_tensor_symmetric torch.per_channel_affine "
      "torch.per_channel_symmetric torch.per_channel_affine_float_qparams");
  // Functions that LibTorch's pickler writes in addition; in Python they only return their argument.
  static const std::unordered_set<std::string_view> typed = words_of(
      "torch.jit._pickle.build_boollist torch.jit._pickle.build_doublelist torch.jit._pickle.build_intlist "
      "torch.jit._pickle.build_tensorlist torch.jit._pickle.restore_type_tag");
  static const std::unordered_set<std::string_view> own =
      words_of("__main__.IntList torch._utils._rebuild_sparse_csr_tensor");
  if (known.contains(name) || typed.contains(name)) return true;
  if (element_of(name, "Storage") != nullptr || element_of(name, "Tensor") != nullptr) return true;
  return unpickler == Unpickler::kLibTorch && (own.contains(name) || later_element_of(name) != nullptr ||
                                               (name.starts_with("__torch__.") && is_dotted(name)));
}

PickleReading check_pickle(std::string_view bytes, std::size_t start, Unpickler unpickler, const Tell& tell) {
  const Following pickle(bytes, start);
  constexpr std::string_view kClass = "__torch__.torch.classes.";
  for (const std::string& name : pickle.globals()) {
    if (name.empty()) {
      tell(SecurityKind::kPickle, "", "its pickle computes the name of a global that it imports");
    } else if (!is_harmless_global(name, unpickler)) {
      tell(SecurityKind::kPickle, name, "its pickle calls " + name);
    } else if (name.starts_with(kClass)) {
      tell(SecurityKind::kLibrary, name, "it needs " + name);
    }
  }
  for (const std::string& oddity : pickle.oddities()) tell(SecurityKind::kPickle, "", "its pickle " + oddity);
  if (!pickle.is_whole()) {
    tell(SecurityKind::kPickle, "",
         pickle.is_too_long() ? "its pickle is too long to check" : "its pickle cannot be read to its end");
  }
  return {pickle.is_whole(), pickle.position(), pickle.storages()};
}

bool check_as_pickle(std::string_view bytes, std::uint64_t size, bool strict, const Tell& tell) {
  const Following pickle(bytes, 0);
  for (const std::string& name : strict || pickle.is_whole() ? pickle.globals() : pickle.called()) {
    if (is_dotted(name) && !is_harmless_global(name))
      tell(SecurityKind::kPickle, name, "read as a pickle, it calls " + name);
  }
  if (!pickle.is_whole() && (pickle.is_cut() || pickle.is_too_long()) && bytes.size() < size)
    tell(SecurityKind::kUnknown, "", "it can be read as a pickle beyond the bytes that were checked");
  return pickle.is_whole();
}

void check_pickle_file(std::string_view bytes, std::uint64_t size, const Tell& tell) {
  const PickleReading first = check_pickle(bytes, 0, Unpickler::kTorch, tell);
  if (!first.is_whole || first.end >= size) return;
  // Protocol 4 puts a frame between the version and the magic number.
  constexpr std::size_t kFront = 2, kFrame = 9;
  const std::string_view magic = bytes.substr(0, first.end);
  const bool is_legacy = magic.size() > kFront && magic.ends_with(std::string(kLegacyMagic) + ".") &&
                         (magic.size() - kLegacyMagic.size() == kFront + 1 ||
                          magic.size() - kLegacyMagic.size() == kFront + kFrame + 1);
  if (!is_legacy) {
    // torch.load reads on if the first pickle is the magic number of its legacy format, in whatever encoding.
    check_as_pickle(bytes.substr(first.end), size - first.end, false, tell);
    tell(SecurityKind::kUnknown, "",
         std::to_string(size - first.end) + " bytes follow its pickle: their purpose is not known");
    return;
  }
  // The pickles of the version, the system, the object and the keys of its storages; then the storages, each
  // after its size.
  constexpr int kPickles = 4;
  std::size_t at = first.end;
  std::map<std::string, std::uint64_t> storages;
  for (int i = 0; i < kPickles; ++i) {
    const PickleReading next = check_pickle(bytes, at, Unpickler::kTorch, tell);
    if (!next.is_whole) return;
    at = next.end;
    storages.insert(next.storages.begin(), next.storages.end());
  }
  constexpr std::uint64_t kCount = 8;
  std::uint64_t expected = at;
  for (const auto& [key, own] : storages) {
    if (__builtin_add_overflow(expected, own + kCount, &expected)) break;
  }
  if (expected == size) return;
  tell(SecurityKind::kSize, "",
       "its pickles and storages need " + std::to_string(expected) + " bytes, but it has " +
           std::to_string(size));
}

}  // namespace fxtrace::security
