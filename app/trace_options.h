// The options of a trace on the command line, shared by the commands that load a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/config.h"

namespace CLI {
class App;
}

namespace fxtrace::cli {

// What the command line said; add_to() fills it while CLI11 parses, so it must stay where it is until then.
class TraceArguments {
 public:
  void add_to(CLI::App& app);

  // The configuration file, if any, with the command line on top.  Throws Error(kUsage).
  Config resolve() const;

 private:
  struct Rule {
    enum class Kind { kLeaf, kNoLeaf, kWrap, kNoWrap };
    Kind kind;
    std::string text;
  };

  std::optional<std::string> config_file_;
  std::optional<std::string> method_, model_;
  std::vector<Rule> rules_;  // in the order given, across the options
  bool no_default_leaves_ = false;
  std::optional<std::int64_t> max_depth_;
  std::optional<std::string> hooks_, defaults_;
  std::vector<std::string> concrete_;  // NAME=VALUE
  std::optional<std::string> input_names_;
  std::vector<std::string> inputs_;      // NAME=SPEC, SPEC
  std::vector<std::string> dimensions_;  // NAME=LO..HI
  bool param_shapes_constant_ = false;
  std::vector<std::string> op_libraries_, op_schemas_;
  bool strict_ = false;
  std::optional<std::int64_t> max_iterations_, max_nodes_, max_call_depth_;
};

}  // namespace fxtrace::cli
