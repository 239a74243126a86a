// A replacement for operator_libraries.cpp in programs that cannot load LibTorch, as static ones.
#include <string>
#include <utility>
#include <vector>

#include "fxtrace/plugin_folder.h"
#include "pipelines/libtorch/operator_libraries.h"
#include "support/error.h"

namespace fxtrace::internal {
namespace {

[[noreturn]] void refuse(const std::string& user) {
  std::vector<std::string> hints{"the wheel (pip install fxtrace) and the Debian package for Linux can"};
  if (user == "--op-library") hints.emplace_back("--op-schema declares operators without it");
  throw input_error("this fxtrace is built without a way to load LibTorch, and " + user + " needs it",
                    std::move(hints));
}

}  // namespace

std::vector<std::string> plugin_series() { return {}; }

void open_execute_plugin(const Listener& /*listener*/, const std::string& user) { refuse(user); }

const FxtraceEngine& open_engine(const Listener& /*listener*/) { refuse("fxtrace verify"); }

RegisteredOperators load_operators(const std::vector<std::string>& /*libraries*/,
                                   const Listener& /*listener*/) {
  refuse("--op-library");
}

}  // namespace fxtrace::internal

void fxtrace::set_plugin_folder(const std::filesystem::path& /*folder*/) {}
