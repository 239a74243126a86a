// The records of an exported program's archive, in every layout that torch.export.save has had.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "archive/file_kind.h"
#include "archive/zip_archive.h"
#include "graph/graph.h"

namespace fxtrace {

// Where the bytes of a tensor are.  Two names with equal storage, offset, sizes and strides are one tensor.
struct TensorRecord {
  std::string storage;      // tells storages of one archive apart
  std::int64_t offset = 0;  // in elements
  std::vector<std::int64_t> sizes, strides;
  std::string dtype;
  bool is_parameter = false;
  std::size_t position = 0;  // among the tensors of the program
  std::string record;        // of the archive; holds the storage and nothing else, unless `packed`
  bool packed = false;       // the record is an archive of torch.save, and holds more than this
};

class ExportedArchive {
 public:
  // `info` is what identify_file() found.
  ExportedArchive(ModelFile file, const FileInfo& info);

  // Names of the programs in it, sorted.  Never empty.
  const std::vector<std::string>& models() const { return models_; }
  // Whether a model of this name stands beside them that AOTInductor compiled.
  bool has_compiled(const std::string& name) const;

  // The JSON of a program.  Throws Error(kInput).
  std::string json(const std::string& model) const;
  // Weights and constants by name.  What the archive does not tell is left out.  Throws Error(kInput) for
  // records that are damaged.
  std::map<std::string, TensorRecord> tensors(const std::string& model) const;
  // Records of constants that are objects of C++ classes, by name.
  std::map<std::string, std::string> objects(const std::string& model) const;
  std::string read_object(const std::string& record) const;
  // Where the bytes of the tensor's storage stand in the file; or the bytes, where they are compressed.
  // Throws Error(kInput) where they are not to be had.
  struct Bytes {
    std::optional<std::uint64_t> offset;
    std::uint64_t size = 0;
    std::string content;
  };
  Bytes storage_of(const TensorRecord& tensor) const;
  // What torch.save wrote of the inputs with which the program was exported; empty where the archive has
  // none.  Throws Error(kInput) where it is damaged.
  std::string sample_inputs(const std::string& model) const;
  // The value of a tensor, with data when it is small enough.
  Constant read_constant(const TensorRecord& tensor) const;

 private:
  void add_configured(const std::string& folder, const std::string& config,
                      std::map<std::string, TensorRecord>& to) const;
  void add_state_dict(const std::string& record, std::map<std::string, TensorRecord>& to) const;

  ZipArchive zip_;
  std::string prefix_;  // of every record: "model/", or nothing
  bool old_layout_ = false;
  std::vector<std::string> models_;
};

}  // namespace fxtrace
