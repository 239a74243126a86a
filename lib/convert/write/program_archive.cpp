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
#include "shapes/abstract_value.h"
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

namespace {

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

 private:
  void number(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) text_ += static_cast<char>(value >> (8 * i) & 0xFF);
  }

  std::string text_;
};

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
    const auto known = std::ranges::find(kStorageClasses, dtype, &StorageClass::dtype);
    const bool has_class = known != kStorageClasses.end();
    constexpr int kMost = 16;
    const int bytes = has_class ? known->bytes : kMost;
    pickle_.global("torch._utils", has_class ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
    pickle_.mark();
    pickle_.mark();
    pickle_.text("storage");
    has_class ? pickle_.global("torch", known->name) : pickle_.global("torch.storage", "UntypedStorage");
    pickle_.text(std::to_string(storages_.size()));
    pickle_.text("cpu");
    pickle_.integer(has_class ? 1 : kMost);
    pickle_.tuple();
    pickle_.persistent();
    pickle_.integer(0);
    pickle_.mark();
    for (const Expression& size : *meta.shape) pickle_.integer(number(size));
    pickle_.tuple();
    pickle_.mark();
    for (std::size_t i = 0; i < meta.shape->size(); ++i) pickle_.integer(0);
    pickle_.tuple();
    pickle_.boolean(false);
    pickle_.global("collections", "OrderedDict");
    pickle_.empty_tuple();
    pickle_.call();
    if (!has_class) pickle_.global("torch", dtype);
    pickle_.tuple();
    pickle_.call();
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
