#include "convert/write/program_archive.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "archive/zip_writer.h"
#include "convert/write/program_json.h"
#include "exported/format/inert_texts.h"
#include "exported/program/exported_archive.h"
#include "shapes/abstract_value.h"
#include "support/error.h"
#include "support/json_document.h"
#include "support/text/numbers.h"

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

struct StorageClass {
  std::string_view dtype, name;
  int bytes;
};
constexpr std::array<StorageClass, 12> kStorageClasses{{{"float32", "FloatStorage", 4},
                                                        {"float64", "DoubleStorage", 8},
                                                        {"float16", "HalfStorage", 2},
                                                        {"bfloat16", "BFloat16Storage", 2},
                                                        {"int64", "LongStorage", 8},
                                                        {"int32", "IntStorage", 4},
                                                        {"int16", "ShortStorage", 2},
                                                        {"int8", "CharStorage", 1},
                                                        {"uint8", "ByteStorage", 1},
                                                        {"bool", "BoolStorage", 1},
                                                        {"complex64", "ComplexFloatStorage", 8},
                                                        {"complex128", "ComplexDoubleStorage", 16}}};

const StorageClass* class_of(std::string_view dtype) {
  const auto found = std::ranges::find(kStorageClasses, dtype, &StorageClass::dtype);
  return found == kStorageClasses.end() ? nullptr : &*found;
}

// Writes a pickle of protocol 2 (Python's pickletools.py).
class Pickle {
 public:
  Pickle() { text_ = "\x80\x02"; }

  void global(std::string_view module, std::string_view name) {
    text_.append("c").append(module).append("\n").append(name).append("\n");
  }
  void text(std::string_view value) {
    text_ += 'X';
    number(value.size(), 4);
    text_ += value;
  }
  void integer(std::int64_t value) {
    text_ += '\x8a';
    text_ += '\x08';
    number(static_cast<std::uint64_t>(value), 8);
  }
  void boolean(bool value) { text_ += value ? '\x88' : '\x89'; }
  void none() { text_ += 'N'; }
  void real(double value) {
    text_ += 'G';
    std::uint64_t bits = 0;
    static_assert(sizeof bits == sizeof value);
    std::memcpy(&bits, &value, sizeof bits);
    for (int shift = 56; shift >= 0; shift -= 8) text_ += static_cast<char>(bits >> shift & 0xFF);
  }
  // Some opcodes are equivalent; torch.load accepts these.
  void mark() { text_ += '('; }
  void tuple() { text_ += 't'; }  // of the items after the mark
  void begin_list() { text_ += "]("; }
  void end_list() { text_ += 'e'; }
  void begin_dict() { text_ += "}("; }  // keys and values in turn
  void end_dict() { text_ += 'u'; }
  void empty_tuple() { text_ += ')'; }
  void call() { text_ += 'R'; }        // calls a function with a tuple of arguments
  void persistent() { text_ += 'Q'; }  // the object that the reader has for this id
  std::string finish() { return std::move(text_.append(".")); }

  void integers(const std::vector<std::int64_t>& values) {
    mark();
    for (const std::int64_t value : values) integer(value);
    tuple();
  }
  // A tensor of torch.save in a storage of `bytes`, which is the record data/KEY.
  void tensor(std::string_view dtype, const std::string& key, std::string_view device, std::uint64_t bytes,
              std::int64_t offset, const std::vector<std::int64_t>& sizes,
              const std::vector<std::int64_t>& strides, bool requires_grad = false) {
    const StorageClass* known = class_of(dtype);
    global("torch._utils", known != nullptr ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
    mark();
    mark();
    text("storage");
    known != nullptr ? global("torch", known->name) : global("torch.storage", "UntypedStorage");
    text(key);
    text(device);
    integer(static_cast<std::int64_t>(known != nullptr ? bytes / static_cast<std::uint64_t>(known->bytes)
                                                       : bytes));
    tuple();
    persistent();
    integer(offset);
    integers(sizes);
    integers(strides);
    boolean(requires_grad);
    hooks();
    if (known == nullptr) global("torch", dtype);
    tuple();
    call();
  }
  void hooks() {  // none
    global("collections", "OrderedDict");
    empty_tuple();
    call();
  }

 private:
  void number(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) text_ += static_cast<char>(value >> (8 * i) & 0xFF);
  }

  std::string text_;
};

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

  // Writes the tensors as a dict of torch.save, by name.
  void add_dict(const std::vector<WrittenTensor>& tensors, const std::string& path) {
    std::map<std::string, std::string> keys;  // by record
    std::vector<RecordBytes> storages;
    Pickle pickle;
    pickle.begin_dict();
    for (const WrittenTensor& tensor : tensors) {
      const std::string next = std::to_string(storages.size());
      const auto known = tensor.record.empty() ? keys.end() : keys.find(tensor.record);
      const std::string key = known == keys.end() ? next : known->second;
      if (known == keys.end()) {
        storages.push_back(tensor.record.empty() ? made(tensor.content) : model_.record_bytes(tensor.record));
        if (!tensor.record.empty()) keys.emplace(tensor.record, key);
      }
      pickle.text(tensor.name);
      if (tensor.is_parameter) {
        pickle.global("torch._utils", "_rebuild_parameter");
        pickle.mark();
      }
      pickle.tensor(tensor.dtype, key, tensor.device.empty() ? "cpu" : tensor.device,
                    storages[*number_in<std::size_t>(key)].size, tensor.storage_offset, tensor.shape,
                    tensor.stride, !tensor.is_parameter && tensor.requires_grad);
      if (tensor.is_parameter) {
        pickle.boolean(tensor.requires_grad);
        pickle.hooks();
        pickle.tuple();
        pickle.call();
      }
    }
    pickle.end_dict();
    const std::string content = pickle.finish();
    zip_.add(path, [&](std::ostream& out) {
      ZipWriter inner(out);
      inner.add("archive/data.pkl", content);
      inner.add("archive/byteorder", "little");
      for (std::size_t i = 0; i < storages.size(); ++i)
        Archive(inner, model_, file_).add("archive/data/" + std::to_string(i), storages[i]);
      inner.add("archive/version", "3\n");
      inner.finish();
    });
  }

  void add(const std::string& path, const RecordBytes& bytes) {
    if (bytes.offset)
      zip_.add(path, file_, *bytes.offset, bytes.size, bytes.crc);
    else
      zip_.add(path, std::string_view(bytes.content));
  }

 private:
  ZipWriter& zip_;
  const Program& model_;
  const ModelFile& file_;
  std::map<std::tuple<std::string, std::string, std::string>, std::string> known_;
  std::size_t written_ = 0;  // the number of storages
};

}  // namespace

ArchiveLayout layout_for(int release, const std::vector<ProgramRecords>& programs) {
  constexpr int kFirstPacked = 8, kFirstOwn = 9;
  if (release < kFirstPacked) return ArchiveLayout::kFlat;
  const auto is_integer = [](const WrittenTensor& tensor) {
    return tensor.is_parameter && !may_have_gradient(tensor.dtype);
  };
  const bool has_integers = std::ranges::any_of(programs, [&](const ProgramRecords& program) {
    return std::ranges::any_of(program.weights, is_integer);
  });
  return release < kFirstOwn || (release == kFirstOwn && has_integers) ? ArchiveLayout::kPacked
                                                                       : ArchiveLayout::kOwnRecords;
}

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
                           const ModelFile& file, bool weights, std::ostream& out, ArchiveLayout layout) {
  if (!weights && layout != ArchiveLayout::kOwnRecords)
    throw usage_error("torch before 2.9 reads no file without weights");
  ZipWriter zip(out);
  Archive archive(zip, model, file);
  if (layout == ArchiveLayout::kFlat) {
    const ProgramRecords& program = programs.front();
    zip.add("serialized_exported_program.json", program.json);
    archive.add_dict(program.weights, "serialized_state_dict.pt");
    archive.add_dict(program.constants, "serialized_constants.pt");
    archive.add("serialized_example_inputs.pt", program.example_inputs.value_or(made("")));
    zip.add("version", "8.2");
    return zip.finish();
  }
  const std::string root = kFolder;
  zip.add(root + "archive_format", "pt2");
  zip.add(root + "archive_version", "0");
  zip.add(root + "byteorder", "little");
  for (const ProgramRecords& program : programs) {
    const std::string& name = program.name;
    zip.add(root + "models/" + name + ".json", program.json);
    if (layout == ArchiveLayout::kPacked) {
      archive.add_dict(program.weights, root + "data/weights/" + name + ".pt");
      archive.add_dict(program.constants, root + "data/constants/" + name + ".pt");
      archive.add(root + "data/sample_inputs/" + name + ".pt", program.example_inputs.value_or(made("")));
      continue;
    }
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

namespace {

class ExampleInputs {
 public:
  explicit ExampleInputs(const WrittenProgram& program) : program_(program) {
    for (const auto& [name, symbol] : program.symbols) {
      if (symbol.hint) hints_.emplace(name, *symbol.hint);
    }
  }

  std::string write() {
    value(program_.in_spec);
    std::ostringstream out;
    ZipWriter zip(out);
    zip.add("archive/data.pkl", pickle_.finish());
    zip.add("archive/byteorder", "little");
    for (std::size_t i = 0; i < storages_.size(); ++i)
      zip.add("archive/data/" + std::to_string(i), storages_[i]);
    zip.add("archive/version", "3\n");
    zip.finish();
    return out.str();
  }

 private:
  void value(const TreeSpec& spec) {
    if (spec.kind == TreeSpec::Kind::kLeaf) return leaf();
    if (spec.kind == TreeSpec::Kind::kDict)
      pickle_.begin_dict();
    else if (spec.kind == TreeSpec::Kind::kList)
      pickle_.begin_list();
    else
      pickle_.mark();
    for (std::size_t i = 0; i < spec.children.size(); ++i) {
      if (spec.kind == TreeSpec::Kind::kDict) {
        const auto* key = checked_at(spec.keys, i, "keys of a dict").get_if<std::string>();
        if (key == nullptr) throw input_error("the program has a dict whose keys are not text");
        pickle_.text(*key);
      }
      value(spec.children[i]);
    }
    if (spec.kind == TreeSpec::Kind::kDict)
      pickle_.end_dict();
    else if (spec.kind == TreeSpec::Kind::kList)
      pickle_.end_list();
    else
      pickle_.tuple();
  }

  void leaf() {
    const auto& entries = program_.signature.inputs;
    while (checked_at(entries, next_, "inputs in the signature").role != SignatureRole::kUserInput) ++next_;
    const GraphSignature::Entry& input = entries[next_++];
    if (input.value) return plain(*input.value);
    const Meta& meta = program_.graph.view().meta(input.node);
    if (meta.kind() == ValueKind::kTensor)
      tensor(meta);
    else
      pickle_.integer(number(*meta.value));
  }

  void plain(const Argument& value) {
    if (const auto* number = value.get_if<std::int64_t>()) return pickle_.integer(*number);
    if (const auto* real = value.get_if<double>()) return pickle_.real(*real);
    if (const auto* flag = value.get_if<bool>()) return pickle_.boolean(*flag);
    if (const auto* text = value.get_if<std::string>()) return pickle_.text(*text);
    pickle_.none();
  }

  std::int64_t number(const Expression& size) const {
    return size.size() == nullptr ? 0 : size.size()->evaluate(hints_).value_or(0);
  }

  void tensor(const Meta& meta) {
    const std::string dtype = dtype_name(*meta.dtype);
    const StorageClass* known = class_of(dtype);
    constexpr int kMost = 16;
    const int bytes = known != nullptr ? known->bytes : kMost;
    std::vector<std::int64_t> sizes;
    for (const Expression& size : *meta.shape) sizes.push_back(number(size));
    pickle_.tensor(dtype, std::to_string(storages_.size()), "cpu", static_cast<std::uint64_t>(bytes), 0,
                   sizes, std::vector<std::int64_t>(sizes.size(), 0));
    storages_.emplace_back(static_cast<std::size_t>(bytes), '\0');
  }

  const WrittenProgram& program_;
  std::map<std::string, std::int64_t> hints_;
  Pickle pickle_;
  std::vector<std::string> storages_;
  std::size_t next_ = 0;  // the next input of the program
};

}  // namespace

std::string saved_example_inputs(const WrittenProgram& program) { return ExampleInputs(program).write(); }

}  // namespace fxtrace::internal
