// A reader of the archive of exported programs, in every layout that torch.export.save has used.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/file_kind.h"
#include "archive/security_finding.h"
#include "archive/stored_tensors.h"
#include "archive/zip_archive.h"
#include "graph/graph.h"

namespace fxtrace::internal {

class JsonDocument;

// The location of a tensor's bytes.  Tensors with equal storage, offset, sizes and strides are the same.
struct TensorRecord : StoredTensor {
  std::size_t position = 0;  // index among the tensors of the program
  std::string record = {};   // record of the archive; it holds just the storage, unless `packed`
  bool packed = false;       // the record is an archive of torch.save that holds more than this storage
  bool is_pickled = false;   // the record is an archive of torch.save with this tensor alone
  bool requires_grad = false;

  // "data/weights/weight_0"; "data/weights/model.pt:7" where the record has several.
  const std::string& storage_name() const { return packed ? storage : record; }
};

// Returns whether tensors of the dtype may need a gradient.
bool may_have_gradient(std::string_view dtype);

class ExportedArchive {
 public:
  // `info` is the result of identify_file() for an archive of exported programs.
  explicit ExportedArchive(const FileInfo& info);

  // Returns the names of the programs in the archive, sorted; there is at least one.
  const std::vector<std::string>& models() const { return models_; }
  // Returns the first release of torch that reads the layout: 6 is 2.6.  2.9 gives each parameter in a record
  // of its own a gradient, which integers cannot have.
  int first_release() const;
  // Returns whether the archive also holds a model of this name compiled by AOTInductor.
  bool has_compiled(const std::string& name) const;

  // Returns the JSON of a program.  Throws Error(kInput).
  std::string json(const std::string& model) const;
  // Returns weights and constants by name, as far as the archive has them.  Throws Error(kInput) for damaged
  // records.
  std::map<std::string, TensorRecord> tensors(const std::string& model) const;
  // Returns the records of constants that are objects of C++ classes, by name.
  std::map<std::string, std::string> objects(const std::string& model) const;
  std::string read_object(const std::string& record) const;
  // Returns the bytes of a record, or of a tensor's storage by storage_name().  Reads nothing of a record
  // that is not compressed.  Throws Error(kInput) when the bytes cannot be read.
  RecordBytes storage(const std::string& name) const;
  // Returns the bytes that torch.save wrote for the example inputs of the export; empty when the archive has
  // none.  Throws Error(kInput) for a damaged record.
  std::string sample_inputs(const std::string& model) const;
  bool has(const std::string& record) const { return zip_->contains(record); }
  // Return the names of the records of a program's JSON and of its example inputs; the records need not
  // exist.
  std::string program_record(const std::string& model) const;
  std::string example_inputs_record(const std::string& model) const;
  // Returns the names of the records that say where weights and constants are, as far as the archive has
  // them.
  std::vector<std::string> configurations(const std::string& model) const;
  // Throws Error(kInput) for what is not JSON.
  JsonDocument read_configuration(const std::string& record) const;
  // Returns the tensor as a constant, with data when it is small enough.
  Constant read_constant(const TensorRecord& tensor) const;

 private:
  void add_configured(const std::string& record, std::map<std::string, TensorRecord>& to) const;
  void add_state_dict(const std::string& record, std::map<std::string, TensorRecord>& to) const;

  std::shared_ptr<const ZipArchive> zip_;
  std::string prefix_;  // the folder of all records: "model/", or empty
  bool old_layout_ = false;
  std::vector<std::string> models_;
};

// A check that the tensors of an exported program fit into the records with their bytes.

// Returns a finding for each tensor whose elements reach beyond its record, or whose record is missing, of
// all programs in the archive.  `info` is the result of identify_file().  Throws Error(kInput) for damaged
// records.
std::vector<SecurityFinding> find_cut_tensors(const FileInfo& info);

// Returns why a record of `size` bytes cannot hold the tensor; nothing where it can.
std::optional<std::string> problem_of_size(const std::string& name, const StoredTensor& tensor,
                                           std::uint64_t size);

}  // namespace fxtrace::internal
