// Writes the weights of programs as a file of safetensors, which needs no torch to be read
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

namespace fxtrace {

// The parameters and buffers of all programs, each name once.
class WeightFile {
 public:
  // `programs` must outlive this.
  explicit WeightFile(const std::vector<ProgramRecords>& programs);

  // What the format cannot say; nothing else may be written.
  const std::vector<Refusal>& refusals() const { return refusals_; }
  // Writes each tensor row by row; those that lie so in the model's file are copied in pieces, others are
  // held one at a time.  Of tied ones the first is there; the metadata names it for each other, as
  // safetensors.torch.save_model has it.  Throws Error(kInput) when bytes cannot be read.
  void write(const Program& model, const ModelFile& file, std::ostream& out) const;

 private:
  void refuse(const WrittenTensor& tensor, std::string why);
  void look_at(const WrittenTensor& tensor);

  std::vector<const WrittenTensor*> tensors_;                                // the largest elements first
  std::vector<std::pair<const WrittenTensor*, const WrittenTensor*>> tied_;  // and the one that is there
  std::vector<Refusal> refusals_;
};

}  // namespace fxtrace
