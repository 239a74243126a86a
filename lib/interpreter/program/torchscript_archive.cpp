#include "interpreter/program/torchscript_archive.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "interpreter/program/convert.h"
#include "interpreter/program/names.h"
#include "interpreter/program/packed_tensors.h"
#include "support/error.h"
#include "support/text/numbers.h"
#include "support/text/unicode.h"
#include "torchscript/objects/objects.h"
#include "torchscript/objects/pickle_values.h"
#include "torchscript/values/tensor_value.h"

namespace fxtrace::internal::interpreter {
namespace {

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  const auto last = text.find_last_not_of(" \t\r");
  return std::string(text.substr(first, last - first + 1));
}

// The largest text of one record that is kept: pieces are shared, so a small file can have a large text.
constexpr std::size_t kMaxText = std::size_t{64} << 20;
// Texts up to these sizes are not kept, but built each time that they are asked for.
constexpr std::size_t kMaxShortText = 4'096;
constexpr std::size_t kMaxShortPieces = 64;
// The longest source line of a node, and the largest text of a stack.
constexpr std::size_t kMaxLine = 1000;
constexpr std::size_t kMaxStack = 20'000;

// Parses one line of a Python stack, which torch.jit.trace keeps as text: "net.py(12): forward", innermost
// first.
bool parse_stack_line(std::string_view line, std::string& file, std::int64_t& number, std::string& function) {
  const auto close = line.find("): ");
  if (close == std::string_view::npos) return false;
  const auto open = line.rfind('(', close);
  if (open == std::string_view::npos || open == 0) return false;
  const char* end = line.data() + close;
  const auto [stop, error] = std::from_chars(line.data() + open + 1, end, number);
  if (error != std::errc{} || stop != end) return false;
  file = line.substr(0, open);
  function = trimmed(line.substr(close + 3));
  return true;
}

// Reads a pickle that has numbers, texts and containers only: a callable returns its first argument, which
// makes lists of numbers, and other objects are refused.
class PlainHost final : public torchscript::PickleValues::Host {
 public:
  Value global(const std::string& /*module*/, const std::string& /*name*/) override {
    return make_counted<Maker>();
  }
  Value call(torchscript::Handle& /*callable*/, const Value& arguments) override {
    return arguments.items().at(0);
  }
  Value build(torchscript::Handle& /*type*/, const Value& /*state*/) override {
    throw input_error("an object");
  }
  Value persistent(const torchscript::TupleValue& /*id*/) override { throw input_error("a storage"); }

 private:
  struct Maker : torchscript::Handle {
    TypePtr type() const override { return torchscript::any_type(); }
  };
};

}  // namespace

DebugRecords::Source DebugRecords::read_source(const Value& value, std::vector<std::string>& strings) {
  const auto& fields = value.items();
  Source source;
  if (fields.at(0).is_string()) {
    source.pieces.push_back(static_cast<std::uint32_t>(strings.size()));
    strings.push_back(fields[0].to_string());
    if (fields.at(1).is_string()) source.file = fields[1].to_string();
  } else {  // the text is given in pieces of the table of strings
    const auto& pieces = fields.at(0).items();
    source.pieces.reserve(pieces.size());
    for (const Value& piece : pieces) {
      const auto index = static_cast<std::size_t>(piece.to_int());
      if (index >= strings.size()) throw std::out_of_range("a piece of a debug record");
      source.pieces.push_back(static_cast<std::uint32_t>(index));
    }
    const std::int64_t file = fields.at(1).to_int();
    if (file >= 0) source.file = strings.at(static_cast<std::size_t>(file));
  }
  source.first_line = fields.at(2).to_int();
  source.file = cut(source.file, kMaxLine);
  return source;
}

DebugRecords::Table DebugRecords::parse(const Record& pickle) {
  PlainHost host;
  const Value root = torchscript::PickleValues(pickle.bytes, pickle.stored, host).run();
  const auto* fields = &root.items();
  Table table;
  Value lines_holder;
  if (!fields->empty() && (*fields)[0].is_string() &&
      (*fields)[0].to_string() == "FORMAT_WITH_STRING_TABLE") {
    for (const auto& text : fields->at(1).items()) table.strings.push_back(text.to_string());
    lines_holder = fields->at(2);
    fields = &lines_holder.items();
  }
  std::unordered_map<const void*, std::size_t> known;
  table.entries.reserve(fields->size());
  for (const auto& line : *fields) {
    const auto& parts = line.items();
    const auto& range = parts.at(1).items();
    const auto [source, is_new] = known.try_emplace(range.at(0).identity(), table.sources.size());
    if (is_new) table.sources.push_back(read_source(range.at(0), table.strings));
    table.entries.push_back({parts.at(0).to_int(), source->second,
                             static_cast<std::size_t>(std::max<std::int64_t>(0, range.at(1).to_int()))});
  }
  if (!std::ranges::is_sorted(table.entries, {}, &Entry::offset))
    std::ranges::stable_sort(table.entries, {}, &Entry::offset);
  return table;
}

std::string DebugRecords::Table::beginning(const Source& source, std::size_t most, bool line) const {
  std::string text;
  if (!line) {
    std::size_t size = 0;
    for (const std::uint32_t piece : source.pieces) size = std::min(size + strings[piece].size(), most);
    text.reserve(size);
  }
  for (const std::uint32_t piece : source.pieces) {
    text.append(strings[piece], 0, most - text.size());
    const std::size_t end = line ? text.find('\n') : std::string::npos;
    if (end == std::string::npos && text.size() < most) continue;
    text.resize(std::min(end, most));
    break;
  }
  return text;
}

const DebugRecords::Text& DebugRecords::Table::text_of(Source& source, Text& built) {
  if (source.text != nullptr) return *source.text;
  const bool is_short = [&] {
    if (source.pieces.size() > kMaxShortPieces) return false;
    built.whole = beginning(source, kMaxShortText + 1, false);
    return built.whole.size() <= kMaxShortText;
  }();
  if (!is_short) {
    built.whole = beginning(source, kMaxText - kept, false);
    kept += built.whole.size();
  }
  built.line_starts.push_back(0);
  for (std::size_t at = built.whole.find('\n'); at != std::string::npos; at = built.whole.find('\n', at + 1))
    built.line_starts.push_back(at + 1);
  if (is_short) return built;
  source.text = std::make_unique<Text>(std::move(built));
  return *source.text;
}

SourceLocation DebugRecords::Table::location(Source& source, std::size_t start) {
  SourceLocation result{source.file, 0, "", ""};
  if (source.file.empty()) {
    parse_stack_line(beginning(source, kMaxStack, true), result.file, result.line, result.function);
    result.file = cut(result.file, kMaxLine);
    result.function = cut(result.function, kMaxLine);
    return result;
  }
  Text built;
  const auto& [text, line_starts] = text_of(source, built);
  const auto after = std::ranges::upper_bound(line_starts, std::min(start, text.size()));
  const std::size_t from = *std::prev(after);
  const std::size_t end = text.find('\n', from);
  const std::string_view line =
      std::string_view(text).substr(from, end == std::string::npos ? end : end - from);
  std::string file;
  std::int64_t number = 0;
  if (parse_stack_line(line, file, number, result.function) && file == source.file) {
    result.line = number;
    result.function = cut(result.function, kMaxLine);
    return result;
  }
  result.function.clear();
  result.line = source.first_line + (after - line_starts.begin()) - 1;
  result.text = cut(trimmed(line), kMaxLine);
  return result;
}

DebugRecords::SourcePosition DebugRecords::find_source(const torchscript::SourcePlace& place) {
  const std::string& code_file = place.file;
  if (code_file.empty()) return {};
  auto known = tables_.find(code_file);
  if (known == tables_.end()) {
    Table table;
    try {
      if (const auto record = read_(code_file + ".debug_pkl")) table = parse(*record);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception&) {
      table = {};  // a damaged record only loses its positions
    }
    known = tables_.emplace(code_file, std::move(table)).first;
  }
  Table& table = known->second;
  const auto offset = static_cast<std::int64_t>(place.offset);
  const auto after = std::ranges::upper_bound(table.entries, offset, {}, &Entry::offset);
  if (after == table.entries.begin()) return {};
  const Entry& entry = *std::prev(after);
  return {&table, &table.sources[entry.source], entry.start};
}

std::optional<SourceLocation> DebugRecords::find_location(const torchscript::SourcePlace& place) {
  const auto [table, source, start] = find_source(place);
  if (source == nullptr) return std::nullopt;
  SourceLocation found = table->location(*source, start);
  if (found.file.empty()) return std::nullopt;
  return found;
}

std::vector<StackFrame> DebugRecords::stack(const torchscript::SourcePlace& place) {
  std::vector<StackFrame> frames;
  const auto [table, source, start] = find_source(place);
  if (source == nullptr) return frames;
  const bool is_stack = source->file.empty();
  Text built;
  if (is_stack) built.whole = table->beginning(*source, kMaxStack, false);
  std::string_view text = is_stack ? built.whole : table->text_of(*source, built).whole;
  text = text.substr(std::min(is_stack ? 0 : start, text.size())).substr(0, kMaxStack);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    StackFrame frame;
    if (!parse_stack_line(text.substr(0, end), frame.file, frame.line, frame.function)) break;
    frames.push_back(std::move(frame));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return frames;
}

namespace {

constexpr std::size_t kMaxRecord = std::size_t{1} << 30;  // the largest code or pickle record, in bytes
// The largest code record, in bytes: its lines and tokens take many times that.
constexpr std::size_t kMaxCode = std::size_t{16} << 20;
// Versions of the archive format that LibTorch has written.
constexpr std::uint64_t kOldestVersion = 1, kNewestVersion = 10;

}  // namespace

TorchScriptArchive::TorchScriptArchive(const FileInfo& info)
    : zip_(info.zip), prefix_(info.root), file_size_(info.size) {
  if (!prefix_.empty()) prefix_ += '/';
  debug_records_ =
      std::make_unique<DebugRecords>([this](const std::string& name) -> std::optional<DebugRecords::Record> {
        if (!has_record(name)) return std::nullopt;
        return DebugRecords::Record{read_record(name), zip_->stored_size(prefix_ + name)};
      });
  std::string version = "1";
  for (const char* name : {"version", ".data/version"}) {
    if (has_record(name)) version = read_record(name);
  }
  if (std::from_chars(version.data(), version.data() + version.size(), format_version_).ec != std::errc{}) {
    throw input_error("its version record is not a number");
  }
  if (format_version_ < kOldestVersion) {
    throw input_error("its file format is version " + std::to_string(format_version_) +
                      ", older than any that fxtrace reads");
  }
  if (format_version_ > kNewestVersion) {
    throw input_error("its file format is version " + std::to_string(format_version_) + ", newer than the " +
                      std::to_string(kNewestVersion) + " that fxtrace reads");
  }
  foreign_byte_order_ = has_record("byteorder") && read_record("byteorder") != "little";

  torchscript::ProgramSource source;
  source.read_code = [this](const std::string& qualifier) -> std::optional<std::string> {
    std::string path = "code/" + qualifier;
    std::replace(path.begin() + 5, path.end(), '.', '/');
    path += ".py";
    if (!has_record(path)) return std::nullopt;
    return read_code(path);
  };
  source.operator_version = format_version_;
  program_ = std::make_shared<torchscript::ScriptProgram>(std::move(source));
  // Declares operators of other libraries than LibTorch that the table has.
  program_->on_unknown = [program = program_.get()](const std::string& name) {
    for (const Operator& row : extension_operators()) {
      if (row.base_name() == name)
        program->operators().declare(std::string(row.name).append(row.signature), program->resolver());
    }
  };
}

TorchScriptArchive::TorchScriptArchive(std::shared_ptr<torchscript::ScriptProgram> program,
                                       Ref<ObjectValue> module)
    : program_(std::move(program)),
      debug_records_(std::make_unique<DebugRecords>([](const std::string&) { return std::nullopt; })),
      module_(std::move(module)) {}

TorchScriptArchive::~TorchScriptArchive() = default;

bool TorchScriptArchive::has_record(const std::string& name) const { return zip_->contains(prefix_ + name); }

std::string TorchScriptArchive::read_record(const std::string& name) const {
  return zip_->read(prefix_ + name, kMaxRecord);
}

std::string TorchScriptArchive::read_code(const std::string& name) const {
  std::string text = zip_->read(prefix_ + name, kMaxCode + 1);
  if (text.size() > kMaxCode) {
    throw input_error("its code in " + name + " is larger than " + std::to_string(kMaxCode >> 20) + " MB");
  }
  return text;
}

CodeFiles TorchScriptArchive::code() const {
  CodeFiles result;
  for (const auto& entry : zip_->entries()) {
    if (!entry.name.starts_with(prefix_ + "code/") || !entry.name.ends_with(".py")) continue;
    std::string name = entry.name.substr(prefix_.size());
    std::string text = read_code(name);
    result.emplace_back(std::move(name), std::move(text));
  }
  std::sort(result.begin(), result.end());
  return result;
}

void TorchScriptArchive::add_not_followed(const std::string& function, NotFollowed call) {
  not_followed_.emplace(function, std::move(call));
}

const TorchScriptArchive::NotFollowed* TorchScriptArchive::find_not_followed(const Function& function) const {
  const auto found = not_followed_.find(function.qualified_name());
  return found == not_followed_.end() ? nullptr : &found->second;
}

std::string TorchScriptArchive::schema_of_calls(const std::string& operator_name) const {
  for (const auto& [function, call] : not_followed_) {  // all calls of an operator have the same schema
    if (call.operator_name == operator_name) return call.schema;
  }
  return {};
}

const IrGraph* TorchScriptArchive::find_graph(const Function& function) const {
  if (!function.has_code() || find_not_followed(function) != nullptr) return nullptr;
  try {
    return &function.graph();
  } catch (const Error&) {
    return nullptr;  // the error is reported when the function is run
  }
}

Value TorchScriptArchive::read_pickle(const std::string& name) {
  return torchscript::read_objects({*zip_, prefix_, format_version_, program_->resolver()}, name);
}

void TorchScriptArchive::load() {
  const Value constants = has_record("constants.pkl") ? read_pickle("constants") : Value(make_tuple({}));
  if (!constants.is_tuple()) throw input_error("constants.pkl is not a tuple");
  constants_ = constants.items();
  torchscript::set_constants(*program_, constants_);
  for (Value& constant : constants_) {
    if (constant.is_object() && class_of(constant.to_object()).is_torchbind()) {
      // Packed parameters of a convolution have stride, padding and the like in a tensor.
      const Value& state = constant.to_object().state;
      if (!state.is_tuple() || state.items().size() != 3 || !state.items()[1].is_list()) continue;
      for (Value& part : state.items()[1].to_list().items) read_small(part);
    }
    if (!constant.is_tensor()) continue;
    const TensorValue& tensor = constant.to_tensor();
    if (tensor.storage && tensor.storage->device.type == "meta")
      throw input_error("a constant of its code is on the device meta: it has no values");
    read_small(constant);
  }
  const Value root = read_pickle("data");
  if (!root.is_object()) throw input_error("data.pkl is not a module");
  module_ = Ref<ObjectValue>(&root.to_object());
}

void TorchScriptArchive::read_small(Value& value) const {
  if (!value.is_tensor()) return;
  const TensorValue& tensor = value.to_tensor();
  const bool is_small = tensor.layout == TensorLayout::kStrided && !is_quantized(tensor.dtype) &&
                        tensor.storage && tensor.storage->device.type != "meta" &&
                        tensor.numel() <= kMaxKnownElements && !foreign_byte_order_;
  if (!is_small) return;
  if (TensorRef known = torchscript::with_elements(tensor, bytes_of(tensor.storage->record))) value = known;
}

const Value* TorchScriptArchive::find_state(const ObjectValue* object) {
  const ClassType& type = class_of(*object);
  const bool has_state = type.is_torchbind() || type.find_method("__setstate__") != nullptr;
  return has_state ? &object->state : nullptr;
}

std::optional<std::string> TorchScriptArchive::saved_device(const TensorValue& tensor) {
  const Device device = tensor.device();
  return device.is_cpu() ? std::nullopt : std::optional(device.text());
}

std::string TorchScriptArchive::content_key(const TensorValue& tensor) const {
  // Conjugation and negation are not in the bytes.
  if (!tensor.storage || tensor.is_conjugated || tensor.is_negated) return "";
  std::string key =
      zip_->content_key(prefix_ + tensor.storage->record, tensor.offset, tensor.sizes, tensor.strides);
  if (key.empty() || !is_quantized(tensor.dtype)) return key;
  if (!tensor.quantization) return "";
  const auto& [scheme, scale, zero_point, axis] = *tensor.quantization;
  key += "*" + std::to_string(scheme) + "," +
         (axis ? std::to_string(*axis) : shortest_text(scale) + "," + std::to_string(zero_point));
  for (const TensorRef& numbers : tensor.scales_and_zeros) {
    const std::string of_numbers = is_quantized(numbers->dtype) ? "" : content_key(*numbers);
    if (of_numbers.empty()) return "";
    key += "," + of_numbers;
  }
  return key;
}

std::optional<Constant> TorchScriptArchive::find_object_constant(const ObjectValue* object) const {
  for (std::size_t i = 0; i < constants_.size(); ++i) {
    if (!constants_[i].is_object() || &constants_[i].to_object() != object) continue;
    Constant result;
    result.record = "constants.pkl";
    result.object_type = type_name(*object->type);
    result.object_index = static_cast<std::int64_t>(i);
    for (const auto& [name, tensor] : packed_tensors(constants_[i], {}))
      result.stored.push_back(stored_part(name, *tensor));
    return result;
  }
  return std::nullopt;
}

const std::string& TorchScriptArchive::bytes_of(const std::string& record) const {
  const auto [place, is_new] = bytes_.try_emplace(record);
  if (is_new) place->second = read_record(record);
  return place->second;
}

std::optional<std::vector<Value>> TorchScriptArchive::find_elements(const TensorValue& tensor,
                                                                    std::int64_t most) const {
  if (tensor.layout != TensorLayout::kStrided || is_quantized(tensor.dtype) || tensor.numel() > most)
    return std::nullopt;
  if (tensor.elements) return torchscript::values_of(*tensor.elements);
  if (!tensor.storage || foreign_byte_order_ || zip_ == nullptr || tensor.storage->device.type == "meta")
    return std::nullopt;
  return torchscript::find_elements(tensor, bytes_of(tensor.storage->record), most);
}

std::optional<std::vector<Argument>> TorchScriptArchive::elements(const TensorValue& tensor,
                                                                  std::int64_t most) const {
  const auto values = find_elements(tensor, most);
  if (!values) return std::nullopt;
  std::vector<Argument> result;
  for (const Value& value : *values) result.push_back(number_argument(value));
  return result;
}

std::optional<Value> TorchScriptArchive::find_item(const TensorValue& tensor) const {
  const auto values = find_elements(tensor, 1);
  return values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
}

RecordBytes TorchScriptArchive::record_bytes(const std::string& record) const {
  if (!zip_ || !has_record(record)) throw input_error("the archive has no " + record);
  return bytes_of_record(*zip_, prefix_ + record);
}

Constant TorchScriptArchive::stored(const TensorValue& tensor) const {
  Constant result;
  result.dtype = dtype_name(tensor.dtype);
  result.shape = tensor.sizes;
  if (tensor.layout == TensorLayout::kStrided) {
    result.stride = tensor.strides;
    result.storage_offset = tensor.offset;
  }
  const bool is_dense = tensor.layout == TensorLayout::kStrided && !is_quantized(tensor.dtype);
  if (is_dense && tensor.storage && tensor.storage->device.type != "meta" && tensor.storage->bytes != 0)
    result.record = tensor.storage->record;
  return result;
}

Constant TorchScriptArchive::stored_bytes(const TensorValue& tensor) const {
  Constant result = stored(tensor);
  if (is_quantized(tensor.dtype) && tensor.storage && tensor.storage->bytes != 0)
    result.record = tensor.storage->record;
  return result;
}

Constant TorchScriptArchive::constant(const TensorValue& tensor) const {
  Constant result = stored(tensor);
  const bool is_dense = tensor.layout == TensorLayout::kStrided && !is_quantized(tensor.dtype);
  if (is_dense) result.data = elements(tensor, kMaxConstantElements);
  result.content = content_key(tensor);
  // Bytes alone do not tell what another tensor is: among the constants of the code it has a place.
  for (std::size_t i = 0; !is_dense && i < constants_.size(); ++i) {
    if (!constants_[i].is_tensor() || &constants_[i].to_tensor() != &tensor) continue;
    result.record = "constants.pkl";
    result.object_type = kTensorConstant;
    result.object_index = static_cast<std::int64_t>(i);
  }
  return result;
}

}  // namespace fxtrace::internal::interpreter
