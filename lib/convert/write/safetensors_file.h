// Writes the weights of programs as a safetensors file, which can be read without torch
// (https://github.com/huggingface/safetensors, "Format").
#pragma once

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "archive/model_file.h"
#include "convert/lower/lowering.h"
#include "convert/lower/written_program.h"
#include "convert/write/program_archive.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal {

// The parameters and buffers of all programs, each name once.
class SafetensorsFile {
 public:
  // `programs` must outlive this.
  explicit SafetensorsFile(const std::vector<ProgramRecords>& programs);

  // Returns the tensors that the format cannot express; if there are any, the file must not be written.
  const std::vector<Refusal>& refusals() const { return refusals_; }
  // Writes each tensor row by row: contiguous ones are copied in pieces, others are held in memory one at a
  // time.  Of tied tensors the first is written, and the metadata maps the names of the others to it, as
  // safetensors.torch.save_model does.  Throws Error(kInput) if bytes cannot be read.
  void write(const Program& model, const ModelFile& file, std::ostream& out) const;

 private:
  void refuse(const WrittenTensor& tensor, std::string why);
  void look_at(const WrittenTensor& tensor);

  std::vector<const WrittenTensor*> tensors_;  // tensors with the largest elements first
  std::vector<std::pair<const WrittenTensor*, const WrittenTensor*>> tied_;  // with the written one
  std::vector<Refusal> refusals_;
};

}  // namespace fxtrace::internal
