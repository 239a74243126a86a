// The check of the metadata of a distributed checkpoint: a pickle that says for each tensor and value which
// bytes of which file torch.distributed.checkpoint gives to torch.load.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "archive/model_file.h"
#include "security/pickle_check.h"

namespace fxtrace::internal::security {

// The ends of the names of a checkpoint's metadata and of its shards.
inline constexpr std::string_view kMetadata = ".metadata", kShard = ".distcp";

// Returns whether torch.distributed.checkpoint reads metadata from a file of this name: ".metadata", or
// "__3.metadata" of one rank.
bool is_checkpoint_metadata(std::string_view name);

// The shards of a checkpoint, which lie in the folder of its metadata.
struct CheckpointShards {
  struct Shard {
    std::string name;
    ModelFile file;
  };
  std::vector<Shard> shards;  // in the order of their names
  std::size_t count = 0;      // of the shards in the folder; more than `shards` if not all could be opened
};

// Checks the file's pickle, if it is the metadata of a checkpoint: each range of bytes that it names must be
// exactly one archive of a shard.  `shards`: those beside a file of that name, which must be such metadata;
// null for any other file.
void check_checkpoint(std::string_view bytes, const CheckpointShards* shards, const Tell& tell);

}  // namespace fxtrace::internal::security
