#include "verify/constants.h"

#include "archive/zip_archive.h"
#include "support/error.h"

namespace fxtrace::verify {

RunValue ConstantReader::tensor_of(const std::vector<Argument>& data, const Constant& constant) const {
  std::vector<RunValue> sizes;
  for (const std::int64_t size : constant.shape) sizes.push_back(engine_.integer(size));
  const RunValue dtype = engine_.constant(Argument::Dtype{constant.dtype});
  if (data.empty())
    return engine_.call("aten::empty", "memory_format", {{engine_.list(sizes)}, {{"dtype", dtype}}});
  const RunValue flat = engine_.call("aten::tensor", std::nullopt,
                                     {{engine_.constant(Argument::List{data})}, {{"dtype", dtype}}});
  return engine_.call("aten::reshape", "", {{flat, engine_.list(sizes)}, {}});
}

RunValue ConstantReader::read(const Constant& constant) {
  if (!constant.object_type.empty())
    throw RunError("an object of " + constant.object_type + " is a constant of the code");
  if (constant.data) return tensor_of(*constant.data, constant);
  try {
    const ZipArchive zip(file_);
    const std::string folder = root_.empty() ? "" : root_ + "/";
    const std::string name = zip.contains(constant.record) ? constant.record : folder + constant.record;
    kept_.push_back(zip.read(name, static_cast<std::size_t>(zip.size(name))));
  } catch (const Error& error) {
    throw RunError(error.what());
  }
  return engine_.tensor(constant.dtype, constant.shape, constant.stride, constant.storage_offset,
                        kept_.back().data(), kept_.back().size());
}

}  // namespace fxtrace::verify
