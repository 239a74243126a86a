#include "convert/write/program_archive.h"

#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "archive/zip_writer.h"
#include "convert/write/example_inputs.h"
#include "convert/write/program_json.h"
#include "exported/format/inert_texts.h"
#include "shapes/contiguous.h"
#include "support/json_document.h"

namespace fxtrace::internal {
namespace {

constexpr const char* kFolder = "model/";  // the folder of all records; any name will do

template <class F>
std::string text_of(F&& write) {
  std::ostringstream out;
  write(out);
  return std::move(out).str();
}

// Makes a record of bytes that are not in a file.
RecordBytes made(std::string content) { return {{}, content.size(), {}, std::move(content)}; }

// Returns the tensors without their bytes, for which torch makes zeros.  Each has a record of its own; tied
// ones share it.
std::vector<WrittenTensor> without_bytes(const std::vector<WrittenTensor>& tensors) {
  std::vector<WrittenTensor> result = tensors;
  std::map<decltype(tensors.front().place()), std::string> tied;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    WrittenTensor& tensor = result[i];
    if (tensor.span() != tensor.count()) tensor.stride = contiguous_strides(tensor.shape);
    tensor.storage_offset = 0;
    tensor.content.clear();
    if (!tensor.record.empty()) tensor.record = tied.emplace(tensors[i].place(), tensor.name).first->second;
  }
  return result;
}

class Archive {
 public:
  Archive(ZipWriter& zip, const Program& model, const ModelFile& file)
      : zip_(zip), model_(model), file_(file) {}

  // Writes the JSON of the tensors, then their storages, each once, and empty unless `bytes`.  A record is
  // read as one dtype.
  void add_tensors(const std::vector<WrittenTensor>& tensors, bool bytes, const std::string& folder,
                   const std::string& name, const std::string& config) {
    std::vector<std::pair<std::string, const WrittenTensor*>> storages;
    const auto path_of = [&](const WrittenTensor& tensor) {
      std::string path = name + std::to_string(written_ + storages.size());
      if (!tensor.record.empty()) {
        const auto [found, is_new] = known_.emplace(std::tuple(folder, tensor.record, tensor.dtype), path);
        if (!is_new) return found->second;
      }
      storages.emplace_back(path, &tensor);
      return path;
    };
    zip_.add(kFolder + folder + config,
             text_of([&](std::ostream& out) { write_tensor_places(tensors, path_of, out); }));
    for (const auto& [path, tensor] : storages) {
      const bool is_stored = bytes && !tensor->record.empty();
      add(kFolder + folder + path, is_stored ? model_.record_bytes(tensor->record) : made(tensor->content));
    }
    written_ += storages.size();
  }

  void add(const std::string& path, const RecordBytes& bytes) {
    if (bytes.offset)
      zip_.add(path, file_, *bytes.offset, bytes.size, bytes.crc);
    else
      zip_.add(path, bytes.content);
  }

 private:
  ZipWriter& zip_;
  const Program& model_;
  const ModelFile& file_;
  std::map<std::tuple<std::string, std::string, std::string>, std::string> known_;
  std::size_t written_ = 0;  // the number of storages
};

}  // namespace

ProgramRecords records_of(const WrittenProgram& program, bool example_inputs) {
  ProgramRecords records;
  records.json = text_of([&](std::ostream& to) { write_program_json(program, to); });
  records.weights = program.weights;
  records.constants = program.constants;
  if (example_inputs) records.example_inputs = made(saved_example_inputs(program));
  return records;
}

std::vector<Refusal> refused_texts(const ProgramRecords& program) {
  std::vector<Refusal> refusals;
  const auto refuse = [&](const TextFault& fault) {
    const bool is_value = fault.place.ends_with("as_string");
    refusals.push_back({.module = fault.module,
                        .what = fault.place,
                        .why = fault.why,
                        .help = is_value ? "--concrete NAME=VALUE gives the input another value" : ""});
  };
  check_texts(JsonDocument(program.json, "the program").root(), refuse);
  for (const auto* tensors : {&program.weights, &program.constants}) {
    const std::string config = text_of(
        [&](std::ostream& out) { write_tensor_places(*tensors, [](const auto&) { return "record"; }, out); });
    check_texts(JsonDocument(config, "the tensors").root(), refuse);
  }
  return refusals;
}

void write_program_archive(const std::vector<ProgramRecords>& programs, const Program& model,
                           const ModelFile& file, bool weights, std::ostream& out) {
  ZipWriter zip(out);
  Archive archive(zip, model, file);
  const std::string root = kFolder;
  zip.add(root + "archive_format", "pt2");
  zip.add(root + "archive_version", "0");
  zip.add(root + "byteorder", "little");
  for (const ProgramRecords& program : programs) {
    const std::string& name = program.name;
    zip.add(root + "models/" + name + ".json", program.json);
    archive.add_tensors(weights ? program.weights : without_bytes(program.weights), weights, "data/weights/",
                        "weight_", name + "_weights_config.json");
    archive.add_tensors(program.constants, true, "data/constants/", "tensor_",
                        name + "_constants_config.json");
    // torch reads this record of every program; an empty one says that there are no example inputs.
    archive.add(root + "data/sample_inputs/" + name + ".pt", program.example_inputs.value_or(made("")));
  }
  zip.add(root + ".data/version", "6\n");
  zip.finish();
}

}  // namespace fxtrace::internal
