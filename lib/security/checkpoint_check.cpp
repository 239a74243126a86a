#include "security/checkpoint_check.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "archive/pickle_machine.h"
#include "archive/zip_archive.h"
#include "support/error.h"
#include "support/text/identifier.h"

namespace fxtrace::internal::security {
namespace {

using Id = PickleMachine::Id;
using PickleKind = PickleMachine::Kind;

constexpr std::size_t kMaxName = 200;  // bytes of a name that a message repeats

std::string quoted(std::string_view name) { return "'" + std::string(name.substr(0, kMaxName)) + "'"; }

// Names that Python reads as they stand in a pickle, whatever opcode has them.
bool is_plain(std::string_view name) {
  return !name.empty() &&
         std::ranges::all_of(name, [](char c) { return is_word(c) || c == '.' || c == '-'; });
}

// A pickle of metadata that has been followed, as far as its objects have the form that DCP writes: a data
// class, made without arguments and given its attributes once, by a dict that was filled item by item.  Of
// any other object it is not told which attributes it has.
class MetadataPickle : PickleMachine::PickleWatcher {
 public:
  using Attributes = std::map<std::string_view, Id>;

  explicit MetadataPickle(std::string_view bytes) : machine_(bytes, 0, this) {
    is_whole_ = machine_.run(PickleMachine::kMaxOpcodes) == PickleMachine::End::kStop;
  }
  MetadataPickle(const MetadataPickle&) = delete;
  MetadataPickle& operator=(const MetadataPickle&) = delete;

  bool is_whole() const { return is_whole_; }
  const PickleMachine& machine() const { return machine_; }

  // Returns whether the value is an object of this class, in whatever form.
  bool is_object(Id value, std::string_view type) const {
    return machine_.value(value).kind == PickleKind::kCall &&
           machine_.global_name(machine_.parts(value)[0], kMaxName) == type;
  }
  // Returns the attributes of an object of this class, by name.
  std::optional<Attributes> attributes_of(Id object, std::string_view type) const {
    if (!is_object(object, type)) return std::nullopt;
    const Id arguments = machine_.parts(object)[1];
    const auto state = states_.find(object);
    if (machine_.value(arguments).kind != PickleKind::kTuple || !machine_.parts(arguments).empty() ||
        state == states_.end() || !is_dict(state->second))
      return std::nullopt;
    // Objects may share a large dict.
    constexpr std::size_t kMaxAttributes = 16;
    if (machine_.items(state->second).size() > kMaxAttributes) return std::nullopt;
    Attributes attributes;
    for (const auto& [key, value] : machine_.items(state->second)) {
      const auto& name = machine_.value(key);
      if (name.kind != PickleKind::kString || !is_plain(name.text) ||
          !attributes.emplace(name.text, value).second)
        return std::nullopt;
    }
    return attributes;
  }

  // Returns whether the value is a dict whose items are all known.
  bool is_dict(Id value) const {
    return machine_.value(value).kind == PickleKind::kDict && !filled_.contains(value);
  }

 private:
  void on_call(Id, Id arguments, Id) override {
    // The call may be that of a dict's class, to which the arguments give items.
    const bool is_empty =
        machine_.value(arguments).kind == PickleKind::kTuple && machine_.parts(arguments).empty();
    if (!is_empty) filled_.insert(static_cast<Id>(machine_.value_count()));
  }
  void on_state(Id target, Id state) override {
    // What is given attributes twice has those of both.
    if (!states_.emplace(target, state).second) states_[target] = PickleMachine::kNothing;
  }
  void on_fill(Id, PickleKind) override {}
  void on_persistent(Id) override {}
  void on_extension() override {}

  PickleMachine machine_;
  bool is_whole_ = false;
  std::set<Id> filled_;
  std::map<Id, Id> states_;  // what gives an object its attributes; kNothing if that happens twice
};

// Checks that ranges of bytes are archives of shards.
class Ranges {
 public:
  Ranges(const CheckpointShards& shards, const Tell& tell) : shards_(shards), tell_(tell) {}

  void check(std::string_view name, const FileRange& range) {
    const std::string what = "it reads " + std::to_string(range.size) + " bytes from byte " +
                             std::to_string(range.offset) + " on of " + quoted(name);
    const std::string subject(name.substr(0, kMaxName));
    if (name.starts_with('/') || name.find("..") != std::string_view::npos)
      return tell_(SecurityKind::kPath, subject, what + ", a path that leads out of its folder");
    const auto shard = std::ranges::lower_bound(shards_.shards, name, {}, &CheckpointShards::Shard::name);
    if (!is_plain(name) || !name.ends_with(kShard) || shard == shards_.shards.end() || shard->name != name)
      return missing(subject);
    const auto place = static_cast<std::size_t>(shard - shards_.shards.begin());
    if (range.size > shard->file.size() || range.offset > shard->file.size() - range.size)
      return tell_(SecurityKind::kSize, subject,
                   what + ", which has only " + std::to_string(shard->file.size()) + " bytes");
    const std::vector<FileRange>& archives = archives_of(place);
    const auto archive = std::ranges::lower_bound(archives, range.offset, {}, &FileRange::offset);
    if (archive != archives.end() && *archive == range) return;
    tell_(SecurityKind::kUnknown, subject,
          what + ", which are not one of the " + std::to_string(archives.size()) +
              " archives in it: what torch.load would unpickle there is not checked");
    // The beginning may say more.
    constexpr std::uint64_t kBeginning = 1'000'000;
    constexpr int kMaxTried = 100;
    if (++tried_ > kMaxTried) return;
    const std::string bytes =
        shard->file.read_at(range.offset, static_cast<std::size_t>(std::min(range.size, kBeginning)));
    check_as_pickle(bytes, range.size, true,
                    [&](SecurityKind kind, const std::string& callable, const std::string& message) {
                      if (kind == SecurityKind::kPickle) tell_(kind, callable, what + "; " + message);
                    });
  }

 private:
  void missing(const std::string& name) {
    std::string what = "cannot tell what it reads: it names " + quoted(name) + ", which is no " +
                       std::string(kShard) + " file beside it that can be read";
    if (shards_.count > shards_.shards.size())
      what = "cannot tell what it reads of " + quoted(name) + ": of the " + std::to_string(shards_.count) +
             " shards beside it, " + std::to_string(shards_.shards.size()) +
             " could be opened (`ulimit -n` sets how many)";
    tell_(SecurityKind::kUnknown, name, what);
  }

  const std::vector<FileRange>& archives_of(std::size_t place) {
    const auto [known, is_new] = archives_.try_emplace(place);
    if (!is_new) return known->second;
    const CheckpointShards::Shard& shard = shards_.shards[place];
    try {
      known->second = find_saved_archives(shard.file);
    } catch (const Error& error) {
      tell_(SecurityKind::kUnknown, shard.name,
            "its shard " + quoted(shard.name) + " cannot be read: " + error.what());
    }
    return known->second;
  }

  const CheckpointShards& shards_;
  const Tell& tell_;
  std::map<std::size_t, std::vector<FileRange>> archives_;
  int tried_ = 0;
};

}  // namespace

bool is_checkpoint_metadata(std::string_view name) {
  if (!name.ends_with(kMetadata)) return false;
  name.remove_suffix(kMetadata.size());
  constexpr std::string_view kRank = "__";
  return name.empty() ||
         (name.starts_with(kRank) && std::ranges::all_of(name.substr(kRank.size()), is_digit));
}

void check_checkpoint(std::string_view bytes, const CheckpointShards* shards, const Tell& tell) {
  constexpr std::string_view kClass = "torch.distributed.checkpoint.metadata.Metadata";
  constexpr std::string_view kInfo = "torch.distributed.checkpoint.filesystem._StorageInfo";
  const auto unknown = [&](const std::string& why) {
    tell(SecurityKind::kUnknown, "",
         "cannot tell which bytes of a checkpoint it makes torch.load read: " + why);
  };
  constexpr std::string_view kPackage = "torch.distributed.checkpoint.";  // as check_pickle() accepts it
  if (shards == nullptr && bytes.find(kPackage) == std::string_view::npos) return;
  const MetadataPickle pickle(bytes);
  if (!pickle.is_whole()) return;  // nothing is read by it
  const auto result = pickle.machine().find_result();
  if (!result || !pickle.is_object(*result, kClass)) {
    if (shards != nullptr) unknown("it has the name of the metadata of a checkpoint, and is something else");
    return;
  }
  if (shards == nullptr)
    return unknown("it is the metadata of a checkpoint, and not under its name in the folder of the shards");
  const PickleMachine& machine = pickle.machine();
  constexpr const char* kOtherForm = "it is not written as torch.distributed.checkpoint writes it";
  const auto metadata = pickle.attributes_of(*result, kClass);
  if (!metadata || !metadata->contains("storage_data") || !pickle.is_dict(metadata->at("storage_data")))
    return unknown(kOtherForm);
  Ranges ranges(*shards, tell);
  for (const auto& [index, item] : machine.items(metadata->at("storage_data"))) {
    const auto info = pickle.attributes_of(item, kInfo);
    const auto attribute = [&](std::string_view name) -> const PickleMachine::Value& {
      const bool is_there = info && info->contains(name);
      return machine.value(is_there ? info->at(name) : PickleMachine::kNothing);
    };
    const auto &path = attribute("relative_path"), &offset = attribute("offset"),
               &length = attribute("length");
    if (path.kind != PickleKind::kString || offset.kind != PickleKind::kInteger || offset.number < 0 ||
        length.kind != PickleKind::kInteger || length.number < 0) {
      unknown(kOtherForm);
      continue;
    }
    constexpr std::size_t kAttributes = 3;
    if (info->size() > kAttributes)
      unknown(info->contains("transform_descriptors") ? "its bytes are transformed, decompressed for example"
                                                      : kOtherForm);
    ranges.check(path.text,
                 {static_cast<std::uint64_t>(offset.number), static_cast<std::uint64_t>(length.number)});
  }
}

}  // namespace fxtrace::internal::security
