#include "convert/write/safetensors_file.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "shapes/abstract_value.h"
#include "shapes/tensor_options.h"
#include "support/error.h"
#include "support/integers.h"
#include "support/json_emitter.h"

namespace fxtrace::internal {
namespace {

struct TypeName {
  ScalarType type;
  std::string_view name;
};
constexpr std::array<TypeName, 18> kTypeNames{{{ScalarType::kFloat64, "F64"},
                                               {ScalarType::kFloat32, "F32"},
                                               {ScalarType::kFloat16, "F16"},
                                               {ScalarType::kBfloat16, "BF16"},
                                               {ScalarType::kInt64, "I64"},
                                               {ScalarType::kInt32, "I32"},
                                               {ScalarType::kInt16, "I16"},
                                               {ScalarType::kInt8, "I8"},
                                               {ScalarType::kUint8, "U8"},
                                               {ScalarType::kUint16, "U16"},
                                               {ScalarType::kUint32, "U32"},
                                               {ScalarType::kUint64, "U64"},
                                               {ScalarType::kBool, "BOOL"},
                                               {ScalarType::kComplex64, "C64"},
                                               {ScalarType::kFloat8E4m3fn, "F8_E4M3"},
                                               {ScalarType::kFloat8E4m3fnuz, "F8_E4M3FNUZ"},
                                               {ScalarType::kFloat8E5m2, "F8_E5M2"},
                                               {ScalarType::kFloat8E5m2fnuz, "F8_E5M2FNUZ"}}};

const TypeName* find_type(const WrittenTensor& tensor) {
  const Dtype dtype = find_scalar_type(tensor.dtype);
  const auto found = std::ranges::find_if(kTypeNames, [&](const TypeName& row) { return row.type == dtype; });
  return found == kTypeNames.end() ? nullptr : found;
}

std::int64_t item_size(const WrittenTensor& tensor) {
  const TypeName* type = find_type(tensor);
  return type == nullptr ? 0 : item_size(type->type);
}

// Calls f(offset) for each element in row order; offsets count elements from the first.
template <class F>
void for_each_element(const WrittenTensor& tensor, F&& f) {
  std::vector<std::int64_t> position(tensor.shape.size());
  std::int64_t offset = 0;
  for (std::int64_t left = tensor.count(); left > 0; --left) {
    f(static_cast<std::size_t>(offset));
    for (std::size_t i = position.size(); i-- > 0;) {
      offset += tensor.stride[i];
      if (++position[i] < tensor.shape[i]) break;
      offset -= tensor.stride[i] * std::exchange(position[i], 0);
    }
  }
}

void write_elements(const WrittenTensor& tensor, const RecordBytes& bytes, const ModelFile& file,
                    std::ostream& out) {
  const bool is_plain = is_contiguous(tensor.shape, tensor.stride);
  std::int64_t begin = tensor.storage_offset, size = is_plain ? tensor.count() : tensor.span();
  multiply_saturated(begin, item_size(tensor));
  multiply_saturated(size, item_size(tensor));
  const auto first = static_cast<std::uint64_t>(begin), length = static_cast<std::uint64_t>(size);
  if (bytes.size == 0 && length > 0)
    throw input_error("the tensor " + tensor.name + " has no bytes: it was written without weights");
  if (first > bytes.size || length > bytes.size - first)
    throw input_error("the tensor " + tensor.name + " is larger than its record " + tensor.record);
  std::string memory;
  const auto take = [&](std::string_view piece) {
    if (is_plain)
      out.write(piece.data(), static_cast<std::streamsize>(piece.size()));
    else
      memory += piece;
  };
  if (bytes.offset)
    file.for_each_piece(*bytes.offset + first, length, take);
  else
    take(std::string_view(bytes.content).substr(first, length));
  if (is_plain) return;
  const auto item = static_cast<std::size_t>(item_size(tensor));
  for_each_element(tensor, [&](std::size_t element) {
    out.write(memory.data() + element * item, static_cast<std::streamsize>(item));
  });
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::vector<ProgramRecords>& programs) {
  std::map<std::string_view, const WrittenTensor*> names;
  std::map<decltype(std::declval<WrittenTensor>().place()), const WrittenTensor*> places;
  for (const ProgramRecords& program : programs) {
    for (const WrittenTensor& tensor : program.weights) {
      if (const auto [known, is_new] = names.emplace(tensor.name, &tensor); !is_new) {
        if (known->second->place() != tensor.place()) refuse(tensor, "it differs between the methods");
        continue;
      }
      if (!tensor.record.empty()) {
        const auto [known, is_new] = places.emplace(tensor.place(), &tensor);
        if (!is_new) {
          tied_.emplace_back(&tensor, known->second);
          continue;
        }
      }
      look_at(tensor);
      tensors_.push_back(&tensor);
    }
  }
  // In this order each tensor is aligned to its elements.
  std::ranges::stable_sort(tensors_, std::ranges::greater(),
                           [](const WrittenTensor* tensor) { return item_size(*tensor); });
}

void SafetensorsFile::refuse(const WrittenTensor& tensor, std::string why) {
  refusals_.push_back({.what = tensor.name, .why = std::move(why), .help = "weights in the program"});
}

void SafetensorsFile::look_at(const WrittenTensor& tensor) {
  if (find_type(tensor) == nullptr) return refuse(tensor, "safetensors cannot store " + tensor.dtype);
  if (tensor.name == "__metadata__") return refuse(tensor, "safetensors reserves the name");
  const bool is_tensor = tensor.stride.size() == tensor.shape.size() &&
                         std::ranges::all_of(tensor.shape, [](std::int64_t size) { return size >= 0; }) &&
                         std::ranges::all_of(tensor.stride, [](std::int64_t step) { return step >= 0; });
  if (!is_tensor) return refuse(tensor, "its sizes or strides are not valid");
  if (!is_contiguous(tensor.shape, tensor.stride) && tensor.count() > tensor.span())
    refuse(tensor, "several of its elements share memory");
}

void SafetensorsFile::write(const Program& model, const ModelFile& file, std::ostream& out) const {
  std::map<std::string, std::string> metadata{{"format", "pt"}};
  for (const auto& [tensor, first] : tied_) metadata[tensor->name] = first->name;
  std::ostringstream text;
  JsonEmitter json(text, JsonLayout::kCompact);
  json.object([&] {
    json.field("__metadata__", metadata);
    std::int64_t place = 0;
    for (const WrittenTensor* tensor : tensors_) {
      std::int64_t end = tensor->count();
      multiply_saturated(end, item_size(*tensor));
      add_saturated(end, place);
      json.key(tensor->name).object([&] {
        json.field("dtype", find_type(*tensor)->name);
        json.field("shape", tensor->shape);
        json.field("data_offsets", std::array{place, end});
      });
      place = end;
    }
  });
  json.flush();
  std::string header = text.str();
  constexpr std::size_t kLength = 8;  // bytes of the length; the header is padded to a multiple
  header.resize((header.size() + kLength - 1) / kLength * kLength, ' ');
  for (std::size_t i = 0; i < kLength; ++i) out.put(static_cast<char>(header.size() >> (8 * i) & 0xFF));
  out << header;
  for (const WrittenTensor* tensor : tensors_) {
    const bool is_stored = !tensor->record.empty();
    write_elements(*tensor,
                   is_stored ? model.record_bytes(tensor->record)
                             : RecordBytes{{}, tensor->content.size(), {}, tensor->content},
                   file, out);
  }
}

}  // namespace fxtrace::internal
