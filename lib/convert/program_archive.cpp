#include "convert/program_archive.h"

#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "archive/zip_writer.h"
#include "convert/program_json.h"
#include "convert/saved_tensors.h"

namespace fxtrace {
namespace {

constexpr const char* kFolder = "model/";  // of all records; any name will do

template <class F>
std::string text_of(F&& write) {
  std::ostringstream out;
  write(out);
  return std::move(out).str();
}

// Strides of tensors that have no bytes, as torch makes zeros.
std::vector<WrittenTensor> without_bytes(std::vector<WrittenTensor> tensors) {
  for (WrittenTensor& tensor : tensors) {
    std::int64_t row = 1;
    for (std::size_t i = tensor.shape.size(); i-- > 0;) {
      tensor.stride[i] = row;
      row *= tensor.shape[i] == 0 ? 1 : tensor.shape[i];
    }
    tensor.storage_offset = 0;
    tensor.record.clear();
  }
  return tensors;
}

class TensorRecords {
 public:
  TensorRecords(ZipWriter& zip, const Program& model, const ModelFile& file)
      : zip_(zip), model_(model), file_(file) {}

  // Writes the places of the tensors, then their storages, each once.  A record is read as one dtype.
  void add(const std::vector<WrittenTensor>& tensors, const std::string& folder, const std::string& name,
           const std::string& config) {
    std::map<std::pair<std::string, std::string>, std::string> known;
    std::vector<std::pair<std::string, const WrittenTensor*>> storages;
    const auto path_of = [&](const WrittenTensor& tensor) {
      std::string path = name + std::to_string(storages.size());
      if (!tensor.record.empty()) {
        const auto [found, is_new] = known.emplace(std::pair(tensor.record, tensor.dtype), path);
        if (!is_new) return found->second;
      }
      storages.emplace_back(path, &tensor);
      return path;
    };
    zip_.add(kFolder + folder + config,
             text_of([&](std::ostream& out) { write_tensor_places(tensors, path_of, out); }));
    for (const auto& [path, tensor] : storages) add_storage(kFolder + folder + path, *tensor);
  }

 private:
  void add_storage(const std::string& path, const WrittenTensor& tensor) {
    if (tensor.record.empty()) return zip_.add(path, tensor.content);
    const RecordBytes bytes = model_.record_bytes(tensor.record);
    if (bytes.offset)
      zip_.add(path, file_, *bytes.offset, bytes.size, bytes.crc);
    else
      zip_.add(path, bytes.content);
  }

  ZipWriter& zip_;
  const Program& model_;
  const ModelFile& file_;
};

}  // namespace

void write_program_archive(const WrittenProgram& program, const Program& model, const ModelFile& file,
                           const ProgramArchiveOptions& options, std::ostream& out) {
  ZipWriter zip(out);
  const std::string root = kFolder;
  zip.add(root + "archive_format", "pt2");
  zip.add(root + "archive_version", "0");
  zip.add(root + "byteorder", "little");
  zip.add(root + "models/model.json", text_of([&](std::ostream& to) { write_program_json(program, to); }));
  TensorRecords records(zip, model, file);
  records.add(options.weights ? program.weights : without_bytes(program.weights), "data/weights/", "weight_",
              "model_weights_config.json");
  records.add(program.constants, "data/constants/", "tensor_", "model_constants_config.json");
  if (options.example_inputs) zip.add(root + "data/sample_inputs/model.pt", saved_example_inputs(program));
  zip.add(root + ".data/version", "6\n");
  zip.finish();
}

}  // namespace fxtrace
