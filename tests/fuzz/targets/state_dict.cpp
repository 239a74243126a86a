// Fuzz target: checkpoints.
#include "archive/stored_tensors.h"

#include <string>

#include "archive/zip_archive.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/stored_zip.h"
#include "tests/fuzz/targets.h"

namespace fxtrace::internal::fuzz {

void state_dict(std::string_view input) {
  const std::string saved =
      stored_zip({{"weights/data.pkl", std::string(input)}, {"weights/version", "3\n"}});
  const ModelFile file = memory_file(stored_zip({{"model/weights.pt", saved}}));
  accepts([&] { read_state_dict(ZipArchive(file), "model/weights.pt"); });
}

}  // namespace fxtrace::internal::fuzz
