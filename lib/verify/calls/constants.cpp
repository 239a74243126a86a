#include "verify/calls/constants.h"

#include <cerrno>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

#include "support/error.h"

namespace fxtrace::internal::verify {

std::size_t read_file(void* context, std::uint64_t offset, void* to, std::size_t size) {
  return static_cast<const ModelFile*>(context)->read_at(offset, size, static_cast<char*>(to));
}

namespace {

bool is_integral(const std::string& dtype) {
  return dtype == "bool" || dtype.starts_with("int") || dtype.starts_with("uint");
}

std::complex<double> number_of(const Argument& value) {
  if (const auto* real = value.get_if<double>()) return *real;
  if (const auto* integer = value.get_if<std::int64_t>()) return static_cast<double>(*integer);
  if (const auto* complex = value.get_if<std::complex<double>>()) return *complex;
  throw RunError("an element of a constant is not a number");
}

}  // namespace

RunValue ConstantReader::tensor_of(const std::vector<Argument>& data, const Constant& constant) {
  std::vector<RunValue> sizes;
  for (const std::int64_t size : constant.shape) sizes.push_back(engine_.integer(size));
  const RunValue dtype = engine_.constant(Argument::Dtype{constant.dtype});
  if (data.empty())
    return engine_.call("aten::empty", "memory_format", {{engine_.list(sizes)}, {{"dtype", dtype}}});
  if (!is_integral(constant.dtype)) {
    // aten::tensor() would round floats to float32 first.
    auto& numbers = numbers_.emplace_back();
    for (const Argument& item : data) numbers.push_back(number_of(item));
    const auto count = static_cast<std::int64_t>(numbers.size());
    RunValue all = engine_.tensor("complex128", {count}, {1}, 0, numbers.data(),
                                  numbers.size() * sizeof(std::complex<double>));
    if (!constant.dtype.starts_with("complex")) all = engine_.call("aten::real", "", {{all}, {}});
    const RunValue yes = engine_.constant(true);
    const RunValue no = engine_.constant(false);
    const RunValue typed = engine_.call("aten::to", "dtype", {{all, dtype, no, yes}, {}});
    return engine_.call("aten::reshape", "",
                        {{engine_.call("aten::contiguous", "", {{typed}, {}}), engine_.list(sizes)}, {}});
  }
  const RunValue flat = engine_.call("aten::tensor", std::nullopt,
                                     {{engine_.constant(Argument::List{data})}, {{"dtype", dtype}}});
  return engine_.call("aten::reshape", "", {{flat, engine_.list(sizes)}, {}});
}

RunValue ConstantReader::object_of(const Constant& constant) {
  if (!all_) all_ = engine_.checked(engine_.api().constants(read_file, &file_, file_.size()));
  return engine_.item(all_, static_cast<std::size_t>(constant.object_index));
}

RunValue ConstantReader::read(const Constant& constant) {
  if (!constant.object_type.empty()) return object_of(constant);
  if (constant.data) return tensor_of(*constant.data, constant);
  auto record = records_.find(constant.record);
  if (record == records_.end()) {
    try {
      if (!zip_) zip_.emplace(file_);
      const ZipArchive& zip = *zip_;
      const std::string folder = root_.empty() ? "" : root_ + "/";
      const std::string name = zip.contains(constant.record) ? constant.record : folder + constant.record;
      std::string bytes = zip.read(name, static_cast<std::size_t>(zip.size(name)));
      record = records_.emplace(constant.record, std::move(bytes)).first;
    } catch (const Error& error) {
      throw RunError(error.what());
    }
  }
  return engine_.tensor(constant.dtype, constant.shape, constant.stride, constant.storage_offset,
                        record->second.data(), record->second.size());
}

std::optional<RunValue> ConstantReader::find_constant(const std::string& name, const ModuleGraph& graph) {
  const auto [known, is_new] = known_.try_emplace(&graph);
  if (is_new) {
    for (const auto& [of, constant] : graph.constants) known->second.emplace(of, &constant);
  }
  const auto constant = known->second.find(name);
  if (constant == known->second.end()) return std::nullopt;
  const auto value = read_.find(constant->second);
  if (value != read_.end()) return value->second;
  return read_.emplace(constant->second, read(*constant->second)).first->second;
}

FileMappings::~FileMappings() {
  for (const Mapping& mapping : mappings_) ::munmap(mapping.start, mapping.size);
}

void* FileMappings::map(std::uint64_t offset, std::uint64_t size) {
  // Memory beyond the end of the file cannot be mapped.
  if (size == 0 || offset > file_.size() || size > file_.size() - offset) return nullptr;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t start = offset / page * page;
  const auto ahead = static_cast<std::size_t>(offset - start);
  const std::size_t mapped = ahead + static_cast<std::size_t>(size);
  mappings_.reserve(mappings_.size() + 1);
  void* const mapping = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE, file_.descriptor(),
                               static_cast<off_t>(start));
  if (mapping == MAP_FAILED) {
    if (errno == ENOMEM) throw std::bad_alloc();  // --max-memory counts writable memory
    return nullptr;
  }
  mappings_.push_back({mapping, mapped});
  return static_cast<char*>(mapping) + ahead;
}

}  // namespace fxtrace::internal::verify
