#include "security/pickle_check.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <unordered_set>
#include <utility>

#include "archive/pickle_machine.h"
#include "archive/stored_tensors.h"
#include "support/integers.h"
#include "support/text/identifier.h"
#include "support/text/words.h"

namespace fxtrace::internal::security {
namespace {

using namespace std::string_view_literals;
using Id = PickleMachine::Id;
using PickleKind = PickleMachine::Kind;

constexpr std::size_t kMaxGlobal = 200;  // bytes of a module or name that a message repeats
constexpr std::string_view kRebuildJagged = "torch.nested._internal.nested_tensor._rebuild_njt";
constexpr std::string_view kLegacyMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv;

// Returns the element type of a class: that of torch.FloatStorage and torch.cuda.sparse.FloatTensor; null for
// another name.
const ElementType* element_of(std::string_view name, std::string_view suffix) {
  for (const std::string_view prefix : {"torch.cuda.sparse.", "torch.sparse.", "torch.cuda.", "torch."}) {
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    if (!name.ends_with(suffix)) return nullptr;
    return find_element_class(name.substr(0, name.size() - suffix.size()));
  }
  return nullptr;
}

// Returns whether the global is a class of tensors or storages, which allocates what its arguments say.
bool is_tensor_class(std::string_view name) {
  return element_of(name, "Storage") != nullptr || element_of(name, "Tensor") != nullptr ||
         name == "torch.Tensor" || name == "torch.storage.UntypedStorage" ||
         name == "torch.storage.TypedStorage";
}

// Returns whether the function is one of torch's that make a tensor of their arguments.
bool is_rebuild(std::string_view name) {
  return name.starts_with("torch._utils._rebuild_") || name == kRebuildJagged;
}

// A pickle that has been followed, with everything that it would do.
//
// What a call allocates is bounded by what it is given, and that by the file: functions that take a size
// (bytearray, storages) may be called with bytes or nothing only, and what all calls copy is added up.
class Following : PickleMachine::PickleWatcher {
 public:
  Following(std::string_view bytes, std::size_t start) : machine_(bytes, start, this), tensors_of_(machine_) {
    end_ = machine_.run(PickleMachine::kMaxOpcodes);
    constexpr std::uint64_t kFree = 1'000'000;
    std::uint64_t most = machine_.position() - std::min(start, machine_.position()) + kFree;
    for (const auto& [key, own] : storages_) add_saturated(most, own);
    if (copied_ > most) oddities_.insert("copies its values again and again");
  }
  Following(const Following&) = delete;
  Following& operator=(const Following&) = delete;

  bool is_whole() const { return end_ == PickleMachine::End::kStop; }
  bool is_too_long() const { return end_ == PickleMachine::End::kLimit; }
  bool is_cut() const { return end_ == PickleMachine::End::kTruncated; }
  std::size_t position() const { return machine_.position(); }
  const std::map<std::string, std::uint64_t>& storages() const { return storages_; }
  std::vector<SparseTensor>& sparse() { return sparse_; }

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

  // Returns the texts of the pickled list; nothing if it is not a list of texts.
  std::optional<std::vector<std::string>> find_texts() const {
    const auto result = machine_.find_result();
    if (!result || machine_.value(*result).kind != PickleKind::kList) return std::nullopt;
    std::vector<std::string> texts;
    for (const auto& [item, none] : machine_.items(*result)) {
      if (machine_.value(item).kind != PickleKind::kString) return std::nullopt;
      texts.emplace_back(machine_.value(item).text);
    }
    return texts;
  }

 private:
  // A tensor that was made, whose elements are in its storage.
  struct Made {
    StoredTensor tensor;
    std::uint64_t dense = 0;  // bytes of a copy of it
    bool is_meta = false;     // has no elements
  };

  std::string name(Id global) const {
    const auto parts = machine_.parts(global);
    const bool is_known =
        std::ranges::all_of(parts, [&](Id part) { return machine_.value(part).kind == PickleKind::kString; });
    return is_known ? machine_.global_name(global, kMaxGlobal) : "";
  }
  // Returns the name of the function that made the value; empty for a value that is not a call's.
  std::string maker(Id value) const {
    return machine_.value(value).kind == PickleKind::kCall ? name(machine_.parts(value)[0]) : "";
  }
  bool is_kind(Id value, PickleKind kind) const { return machine_.value(value).kind == kind; }
  void odd(std::string what) { oddities_.insert(std::move(what)); }

  // Counts a value of which a call makes a copy, item by item.
  void copies_value(Id value) {
    add_saturated(copied_, machine_.value(value).text.size() + machine_.parts(value).size() +
                               machine_.items(value).size());
  }

  void on_call(Id callable, Id arguments, Id keywords) override {
    if (!is_kind(callable, PickleKind::kGlobal)) return odd("calls an object that it has made");
    const std::string function = name(callable);
    called_.insert(function);
    if (keywords != PickleMachine::kNothing &&
        !(is_kind(keywords, PickleKind::kDict) && machine_.items(keywords).empty()))
      odd("calls " + function + " with keyword arguments");
    if (!is_kind(arguments, PickleKind::kTuple)) {
      // LibTorch's unpickler takes the value of an enum of the archive in place of a tuple.
      if (!function.starts_with("__torch__.")) odd("calls " + function + " with computed arguments");
      return;
    }
    call(function, callable, arguments);
  }

  // Checks what a function makes of a tuple of arguments; the next value is the result.
  void call(const std::string& function, Id callable, Id arguments) {
    const auto parts = machine_.parts(arguments);
    const auto result = static_cast<Id>(machine_.value_count());
    if (is_tensor_class(function)) {
      if (!parts.empty()) odd("allocates memory of a size that it gives: " + function);
    } else if (function == "builtins.bytearray" || function == "__builtin__.bytearray") {
      make_bytearray(parts, function);
    } else if (function == "_codecs.encode") {
      encode(parts);
    } else if (function == "torch._tensor._rebuild_from_type_v2") {
      rebuild_from_type(parts);
    } else if (function == "torch._utils._rebuild_sparse_tensor" ||
               function == "torch._utils._rebuild_sparse_csr_tensor") {
      sparse_tensor(parts);
    } else if (function == "torch._utils._rebuild_nested_tensor") {
      if (parts.size() == 4)
        add_sparse(SparseLayout::kNested, {}, parts.subspan(1), parts[0]);
      else
        odd_parts();
    } else if (function == kRebuildJagged) {
      jagged(parts);
    } else if (function == "torch._utils._rebuild_device_tensor_from_cpu_tensor") {
      const auto made = parts.empty() ? made_.end() : made_.find(parts[0]);
      if (made == made_.end()) return odd("copies a value that is not a tensor");
      add_saturated(copied_, made->second.dense);
    } else if (function == "torch._utils._rebuild_parameter" ||
               function == "torch._utils._rebuild_parameter_with_state" ||
               function == "torch.nn.parameter.Parameter") {
      if (const auto made = parts.empty() ? made_.end() : made_.find(parts[0]); made != made_.end())
        made_.emplace(result, made->second);
    } else if (function.starts_with("torch._utils._rebuild_tensor") ||
               function == "torch._utils._rebuild_qtensor") {
      tensor(callable, arguments, result);
    } else if (is_container(function)) {
      for (const Id part : parts) {
        // Anything else that has items, such as a tensor over one element, has as many as it says.
        if (is_kind(part, PickleKind::kCall) || is_kind(part, PickleKind::kPersistent))
          odd("makes " + function + " of what it has made");
        copies_value(part);
      }
    }
  }

  static bool is_container(std::string_view function) {
    static const std::unordered_set<std::string_view> known = words_of(
        "__builtin__.set builtins.set collections.Counter collections.OrderedDict torch.Size __builtin__.complex "
        "builtins.complex");
    return known.contains(function);
  }

  // bytearray(b"..."), or bytearray("...", "latin-1"); of a number it would make as many zeros.
  void make_bytearray(std::span<const Id> parts, const std::string& function) {
    const bool is_bytes =
        parts.size() == 1 && (is_kind(parts[0], PickleKind::kBytes) || maker(parts[0]) == "_codecs.encode");
    const bool is_text = parts.size() == 2 && is_kind(parts[0], PickleKind::kString) && is_encoding(parts[1]);
    if (!parts.empty() && !is_bytes && !is_text) odd("allocates memory of a size that it gives: " + function);
    for (const Id part : parts) copies_value(part);
  }

  // An encoding is a Python module, which is imported.
  bool is_encoding(Id value) const {
    static const std::unordered_set<std::string_view> encodings = words_of("ascii latin-1 latin1 utf-8 utf8");
    return is_kind(value, PickleKind::kString) && encodings.contains(machine_.value(value).text);
  }
  void encode(std::span<const Id> parts) {
    if (parts.size() != 2 || !is_encoding(parts[1]))
      odd("encodes a text in an encoding other than ASCII, Latin-1 or UTF-8");
    for (const Id part : parts) {
      if (!is_kind(part, PickleKind::kString)) odd("encodes a value that is not a text");
      copies_value(part);
    }
  }

  // This function calls its first argument with the third, and sets the attributes of the fourth.
  void rebuild_from_type(std::span<const Id> parts) {
    const bool is_call =
        parts.size() == 4 && is_kind(parts[0], PickleKind::kGlobal) && is_kind(parts[2], PickleKind::kTuple);
    const std::string function = is_call ? name(parts[0]) : "";
    if (!is_rebuild(function)) return odd("makes a tensor by a function that is not torch's for that");
    const std::size_t before = sparse_.size();
    call(function, parts[0], parts[2]);
    if (function == kRebuildJagged && sparse_.size() != before)
      keeps_parts(machine_.parts(parts[2])[0], parts[3]);
  }

  // Checks that the attributes of a jagged tensor, which replace its parts, are the parts that it was made
  // of.
  void keeps_parts(Id made_of, Id attributes) {
    if (!is_kind(attributes, PickleKind::kDict)) return odd("replaces the attributes of a jagged tensor");
    for (const auto& [attribute, argument] :
         {std::pair("_values", "values"), std::pair("_offsets", "offsets"), std::pair("_lengths", "lengths"),
          std::pair("_ragged_idx", "_ragged_idx")}) {
      const Id expected = item_of(made_of, argument).value_or(PickleMachine::kNothing);
      for (const auto& [key, value] : machine_.items(attributes)) {
        if (machine_.value(key).text == attribute && !is_same(value, expected))
          odd("replaces a part of a jagged tensor");
      }
    }
  }

  // Returns whether two values are one, equal integers, or both of no kind that is told apart, as None is.
  bool is_same(Id a, Id b) const {
    const auto &first = machine_.value(a), &second = machine_.value(b);
    if (a == b) return true;
    if (first.kind != second.kind) return false;
    return first.kind == PickleKind::kOther ||
           (first.kind == PickleKind::kInteger && first.number == second.number);
  }

  // Returns the item of a dict with this key, if there is exactly one.
  std::optional<Id> item_of(Id dict, std::string_view wanted) const {
    std::optional<Id> found;
    for (const auto& [key, value] : machine_.items(dict)) {
      if (machine_.value(key).text != wanted) continue;
      if (found) return std::nullopt;
      found = value;
    }
    return found;
  }

  void jagged(std::span<const Id> parts) {
    if (parts.size() != 1 || !is_kind(parts[0], PickleKind::kDict))
      return odd("makes a jagged tensor of no dict");
    const auto values = item_of(parts[0], "values"), offsets = item_of(parts[0], "offsets");
    const auto lengths = item_of(parts[0], "lengths"), ragged = item_of(parts[0], "_ragged_idx");
    if (!values || !offsets || !lengths || !ragged || !is_kind(*ragged, PickleKind::kInteger))
      return odd("makes a jagged tensor without its parts");
    std::vector<Id> indices{*offsets};
    if (!is_kind(*lengths, PickleKind::kOther)) indices.push_back(*lengths);
    if (add_sparse(SparseLayout::kJagged, {}, indices, *values))
      sparse_.back().ragged_index = machine_.value(*ragged).number;
  }

  // Python: (layout, (indices, values, size, is_coalesced)); LibTorch: (layout, size, requires_grad, indices,
  // values, hooks).  Of compressed layouts two indices.
  void sparse_tensor(std::span<const Id> parts) {
    struct Row {
      std::string_view name;
      std::int64_t number;  // c10::Layout
      SparseLayout layout;
    };
    constexpr auto kLayouts = std::to_array<Row>({{"torch.sparse_coo", 1, SparseLayout::kCoo},
                                                  {"torch.sparse_csr", 2, SparseLayout::kCsr},
                                                  {"torch.sparse_csc", 4, SparseLayout::kCsc},
                                                  {"torch.sparse_bsr", 5, SparseLayout::kBsr},
                                                  {"torch.sparse_bsc", 6, SparseLayout::kBsc}});
    const auto unknown = [&] { odd("makes a sparse tensor of an unknown form"); };
    if (parts.size() < 2) return unknown();
    const bool is_python =
        is_kind(parts[1], PickleKind::kTuple) && maker(parts[0]) == "torch.serialization._get_layout";
    std::string_view text;
    if (is_python) {
      const auto names = machine_.parts(machine_.parts(parts[0])[1]);
      if (names.size() == 1) text = machine_.value(names[0]).text;
    }
    const auto* row = std::ranges::find_if(kLayouts, [&](const Row& each) {
      return is_python
                 ? each.name == text
                 : is_kind(parts[0], PickleKind::kInteger) && machine_.value(parts[0]).number == each.number;
    });
    if (row == kLayouts.end()) return unknown();
    const std::size_t count = row->layout == SparseLayout::kCoo ? 1 : 2;
    const auto data = is_python ? machine_.parts(parts[1]) : parts;
    const std::size_t first = is_python ? 0 : 3;
    if (data.size() < first + count + (is_python ? 2 : 1)) return unknown();
    const Id size = is_python ? data[count + 1] : data[1];
    auto sizes = tensors_of_.find_integers(size);
    if (!sizes) return unknown();
    if (!add_sparse(row->layout, *std::move(sizes), data.subspan(first, count), data[first + count])) return;
    if (is_python && row->layout == SparseLayout::kCoo && data.size() > 3)
      sparse_.back().is_coalesced = machine_.value(data[3]).number != 0;
  }

  // Adds a tensor whose parts are tensors that were made before; returns whether its indices are to be
  // checked.
  bool add_sparse(SparseLayout layout, std::vector<std::int64_t> size, std::span<const Id> indices,
                  Id values) {
    const auto own = made_.find(values);
    if (own == made_.end()) return odd_parts();
    SparseTensor tensor{layout, std::move(size), {}, own->second.tensor};
    bool is_meta = false;
    for (const Id id : indices) {
      const auto index = made_.find(id);
      if (index == made_.end()) return odd_parts();
      is_meta |= index->second.is_meta;
      tensor.indices.push_back(index->second.tensor);
    }
    if (is_meta || sparse_.size() == kMaxSparse) return false;
    sparse_.push_back(std::move(tensor));
    return true;
  }
  bool odd_parts() {
    odd("makes a sparse or nested tensor of values that are not tensors");
    return false;
  }

  // Checks that a tensor (storage, offset, sizes, strides, ...) fits into its storage.
  void tensor(Id callable, Id arguments, Id result) {
    auto made = tensors_of_.find_made(callable, arguments);
    if (!made) return odd("makes a tensor of something other than a storage, sizes and strides");
    const ElementType* type = find_element_type(made->dtype);
    const auto storage = *tensors_of_.find_storage(machine_.parts(machine_.parts(arguments)[0])[0]);
    const bool is_meta = storage.location == "meta";
    const auto bytes = type != nullptr ? find_bytes(*made, *type) : std::nullopt;
    const bool is_empty = std::ranges::find(made->sizes, 0) != made->sizes.end();
    const auto known = storages_.find(made->storage);
    const std::uint64_t has = known == storages_.end() ? 0 : known->second;
    if (!bytes || (!is_meta && !is_empty && static_cast<std::uint64_t>(*bytes) > has))
      return odd("makes a tensor that is larger than its storage");
    std::uint64_t dense = is_meta ? 0 : type->bytes;
    for (const std::int64_t size : made->sizes) multiply_saturated(dense, static_cast<std::uint64_t>(size));
    made_.emplace(result, Made{*std::move(made), dense, is_meta});
  }

  // Returns the bytes of its storage that a tensor needs; nothing for one that cannot exist.
  static std::optional<std::int64_t> find_bytes(const StoredTensor& tensor, const ElementType& type) {
    if (tensor.sizes.size() != tensor.strides.size()) return std::nullopt;
    const auto reach = find_reach(tensor.offset, tensor.sizes, tensor.strides);
    if (!reach) return std::nullopt;
    const std::int64_t whole = *reach / type.packed + (*reach % type.packed == 0 ? 0 : 1);
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(whole, static_cast<std::int64_t>(type.bytes), &bytes)) return std::nullopt;
    return bytes;
  }

  void on_state(Id target, Id state) override {
    if (is_kind(target, PickleKind::kGlobal)) {
      called_.insert(name(target));
      return odd("changes " + name(target));
    }
    if (is_kind(target, PickleKind::kDict)) return;
    if (!is_kind(target, PickleKind::kCall)) return odd("sets attributes of a value that has none");
    // The state of a tensor is the memory that it has from then on: (storage, offset, sizes, strides).  That
    // of an old parameter is (requires_grad, volatile, hooks).
    const std::string function = maker(target);
    const bool is_tensor = is_tensor_class(function) || is_rebuild(function) ||
                           function == "torch._tensor._rebuild_from_type_v2" ||
                           function == "torch.nn.parameter.Parameter";
    const bool is_old = function == "torch.nn.parameter.Parameter" && is_kind(state, PickleKind::kTuple) &&
                        machine_.parts(state).size() == 3;
    if (is_tensor && !is_old) odd("gives a tensor other memory");
  }

  void on_fill(Id target, PickleKind expected) override {
    if (is_kind(target, expected)) return;
    if (expected == PickleKind::kDict && maker(target) == "collections.Counter") return;
    odd("adds items to a value that is not a list, dict or set");
  }

  void on_persistent(Id id) override {
    const auto storage = tensors_of_.find_storage(id);
    std::uint64_t bytes = 0;
    if (!storage ||
        __builtin_mul_overflow(static_cast<std::uint64_t>(storage->size), storage->type->bytes, &bytes))
      return odd("refers to a persistent object that is not a tensor's storage");
    if (storage->location == "meta") bytes = 0;  // a meta tensor has sizes, but no elements
    const auto [place, is_new] = storages_.emplace(storage->key, bytes);
    if (!is_new && place->second != bytes) odd("gives a storage two sizes");
  }

  void on_extension() override { odd("uses a global that the process has registered by number"); }

  static constexpr std::size_t kMaxSparse = 100'000;

  PickleMachine machine_;
  PickledTensors tensors_of_;
  PickleMachine::End end_;
  std::set<std::string> called_, oddities_;
  std::map<std::string, std::uint64_t> storages_;
  std::map<Id, Made> made_;
  std::vector<SparseTensor> sparse_;
  std::uint64_t copied_ = 0;  // bytes and items
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
  // What torch.load refuses by itself and its tensors of samples need: they only make such a tensor.
  static const std::unordered_set<std::string_view> jagged = words_of(
      "torch._dynamo.decorators._DimRange torch.nested._internal.nested_tensor.NestedTensor "
      "torch.nested._internal.nested_tensor._rebuild_njt");
  // The metadata of a distributed checkpoint, which its reader unpickles: data classes, and the path of a
  // file.
  static const std::unordered_set<std::string_view> checkpoint = words_of(
      "pathlib.PosixPath pathlib.PurePosixPath pathlib.PureWindowsPath pathlib.WindowsPath "
      "torch.distributed.checkpoint.filesystem._StorageInfo "
      "torch.distributed.checkpoint.metadata.BytesStorageMetadata "
      "torch.distributed.checkpoint.metadata.ChunkStorageMetadata torch.distributed.checkpoint.metadata.Metadata "
      "torch.distributed.checkpoint.metadata.MetadataIndex torch.distributed.checkpoint.metadata.StorageMeta "
      "torch.distributed.checkpoint.metadata.TensorProperties "
      "torch.distributed.checkpoint.metadata.TensorStorageMetadata "
      "torch.distributed.checkpoint.metadata._MEM_FORMAT_ENCODING");
  // Functions that LibTorch's pickler writes in addition; in Python they only return their argument.
  static const std::unordered_set<std::string_view> typed = words_of(
      "torch.jit._pickle.build_boollist torch.jit._pickle.build_doublelist torch.jit._pickle.build_intlist "
      "torch.jit._pickle.build_tensorlist torch.jit._pickle.restore_type_tag");
  static const std::unordered_set<std::string_view> own =
      words_of("__main__.IntList torch._utils._rebuild_sparse_csr_tensor");
  if (known.contains(name) || typed.contains(name) || jagged.contains(name) || checkpoint.contains(name))
    return true;
  const ElementType* element = element_of(name, "Storage");
  if (element == nullptr) element = element_of(name, "Tensor");
  if (element != nullptr && !element->is_later) return true;
  return unpickler == Unpickler::kLibTorch && (own.contains(name) || find_storage_type(name) != nullptr ||
                                               (name.starts_with("__torch__.") && is_dotted_name(name)));
}

PickleReading check_pickle(std::string_view bytes, std::size_t start, Unpickler unpickler, const Tell& tell) {
  Following pickle(bytes, start);
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
  return {pickle.is_whole(), pickle.position(), pickle.storages(), std::move(pickle.sparse()),
          pickle.find_texts()};
}

bool check_as_pickle(std::string_view bytes, std::uint64_t size, bool strict, const Tell& tell) {
  const Following pickle(bytes, 0);
  for (const std::string& name : strict || pickle.is_whole() ? pickle.globals() : pickle.called()) {
    if (is_dotted_name(name) && !is_harmless_global(name))
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
  std::vector<SparseTensor> sparse;
  std::vector<std::string> keys;
  for (int i = 0; i < kPickles; ++i) {
    PickleReading next = check_pickle(bytes, at, Unpickler::kTorch, tell);
    if (!next.is_whole) return;
    at = next.end;
    storages.insert(next.storages.begin(), next.storages.end());
    std::ranges::move(next.sparse, std::back_inserter(sparse));
    if (i == kPickles - 1) keys = std::move(next.texts).value_or(std::vector<std::string>());
  }
  constexpr std::uint64_t kCount = 8;
  std::uint64_t expected = at;
  std::map<std::string, std::uint64_t> places;  // of the bytes of storages
  for (const std::string& key : keys) {
    const auto own = storages.find(key);
    if (own == storages.end() || !places.emplace(key, expected + kCount).second ||
        __builtin_add_overflow(expected, own->second + kCount, &expected))
      return tell(SecurityKind::kSize, "", "its list of storages is not that of its pickle");
  }
  if (places.size() != storages.size())
    return tell(SecurityKind::kSize, "", "its list of storages is not that of its pickle");
  if (expected != size) {
    return tell(SecurityKind::kSize, "",
                "its pickles and storages need " + std::to_string(expected) + " bytes, but it has " +
                    std::to_string(size));
  }
  check_indices(
      sparse,
      [&](const std::string& key, std::uint64_t count) -> std::optional<std::string> {
        const auto place = places.find(key);
        if (place == places.end() || place->second > bytes.size() || count > bytes.size() - place->second)
          return std::nullopt;
        return std::string(
            bytes.substr(static_cast<std::size_t>(place->second), static_cast<std::size_t>(count)));
      },
      tell);
}

void check_indices(const std::vector<SparseTensor>& tensors, const ReadStorage& read, const Tell& tell) {
  std::uint64_t budget = kMaxIndices;
  for (const SparseTensor& tensor : tensors) {
    const auto problem = problem_of_indices(tensor, read, budget);
    if (!problem) continue;
    tell(problem->is_unknown ? SecurityKind::kUnknown : SecurityKind::kSize, "",
         "a sparse or nested tensor: " + problem->what +
             (problem->is_unknown
                  ? ""
                  : "; torch.load does not check that, and kernels then read beyond its memory"));
  }
}

}  // namespace fxtrace::internal::security
