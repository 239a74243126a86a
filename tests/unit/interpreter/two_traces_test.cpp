// Two TorchScript models in one process share nothing, and neither do two traces of one model: each gives the
// same result as alone, whatever models were read before and are still open, and whatever options they were
// traced with.
#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "catch.h"
#include "folder.h"
#include "interpreter/load.h"
#include "support/error.h"
#include "trace/options/input_spec.h"
#include "trace/search/trace.h"
#include "writers/graphs/collection_writers.h"

using namespace fxtrace::internal;
using fxtrace::internal::interpreter::load_torchscript;

namespace {

std::string traced(const Program& program, const TraceOptions& options) {
  std::ostringstream text;
  try {
    write_json(trace(program, options).collection, text);
  } catch (const Error& error) {
    return error.what();  // the options do not fit
  }
  return text.str();
}

// Returns an archive with one module; `code` is the body of its forward(self, x).
std::string model(const Folder& folder, const std::string& name, const std::string& code) {
  const std::string net =
      "class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n"
      "  def forward(self: __torch__.Net, x: Tensor) -> Tensor:\n" +
      code;
  const std::string data =
      "\x80\x02"
      "c__torch__\nNet\n)\x81}b.";
  const std::string constants =
      "\x80\x02"
      "c__torch__.torch.classes.fxtlib\nThing\n)\x81(X\x01" +
      std::string(3, '\0') + "atb\x85.";
  const std::string path = folder.zip({{"net/version", "10\n"},
                                       {"net/data.pkl", data},
                                       {"net/constants.pkl", constants},
                                       {"net/code/__torch__.py", net}});
  const auto place = folder.path() / name;
  std::filesystem::rename(path, place);
  return place.string();
}

std::unique_ptr<const Program> load(const std::string& path, const TraceOptions& options) {
  return load_torchscript(identify_file(path), options, {});
}

}  // namespace

TEST_CASE("two models: operators and methods of one name", "[torchscript]") {
  const Folder folder;
  const std::vector<std::string> paths{
      model(folder, "one.pt", "    return torch.relu(ops.fxtlib.own(x))\n"),
      model(folder, "two.pt",
            "    a, b = ops.fxtlib.own(x, 2)\n    return torch.add(torch.relu(a), torch.relu(b))\n"),
      model(folder, "three.pt", "    ops.fxtlib.own(x)\n    return torch.relu((CONSTANTS.c0).call(x, ))\n"),
      model(folder, "four.pt", "    return torch.relu((CONSTANTS.c0).call(x, 3, \"a\", ))\n")};
  const TraceOptions options;
  std::vector<std::string> alone;
  for (const std::string& path : paths) {
    alone.push_back(traced(*load(path, options), options));
    CHECK(alone.back().find("\"status\": \"failed\"") == std::string::npos);
  }
  // All are open at once, traced in another order, and each twice.
  std::vector<std::unique_ptr<const Program>> programs;
  for (const std::string& path : paths) programs.push_back(load(path, options));
  for (const std::size_t i : {2U, 0U, 3U, 1U, 0U, 2U, 1U, 3U})
    CHECK(traced(*programs[i], options) == alone[i]);
  programs.erase(programs.begin() + 1);
  for (const std::size_t i : {2U, 0U, 1U}) CHECK(traced(*programs[i], options) == alone[i == 0 ? 0 : i + 1]);
}

TEST_CASE("two traces: what one was made with says nothing of another", "[torchscript]") {
  const std::string folder = FXTRACE_SOURCE_DIR "/sample_models/";
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".pt") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  REQUIRE(paths.size() > 10);

  std::vector<TraceOptions> sets(5);
  sets[1].inputs.push_back(make_input_spec("0", "float32[n,3,h,w]"));
  sets[2].default_leaves = false;
  sets[2].defaults = Defaults::kNever;
  sets[3].param_shapes_constant = true;
  sets[4].max_depth = 1;
  sets[4].limits.nodes = 8;
  std::vector<std::unique_ptr<const Program>> programs;
  std::vector<std::vector<std::string>> alone;  // by program, then by set of options
  for (const std::string& path : paths) {
    auto& results = alone.emplace_back();
    for (const TraceOptions& options : sets) results.push_back(traced(*load(path, options), options));
    programs.push_back(load(path, {}));
  }
  for (std::size_t set = sets.size(); set-- > 0;) {
    for (std::size_t i = 0; i < programs.size(); ++i) {
      INFO(paths[i] << ", options " << set);
      CHECK(traced(*programs[i], sets[set]) == alone[i][set]);
    }
  }
}
