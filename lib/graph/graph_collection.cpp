#include "graph/graph_collection.h"

#include <algorithm>
#include <iterator>

#include "support/text/did_you_mean.h"
#include "support/text/glob.h"
#include "support/text/words.h"

namespace fxtrace {

const char* to_string(FailureKind kind) {
  switch (kind) {
    case FailureKind::kDataDependentControlFlow:
      return "data_dependent_control_flow";
    case FailureKind::kUnsupportedOp:
      return "unsupported_op";
    case FailureKind::kRaised:
      return "raised";
    case FailureKind::kLimit:
      return "limit";
    case FailureKind::kOther:
      return "other";
  }
  return "other";
}

const char* to_string(ModuleStatus status) {
  switch (status) {
    case ModuleStatus::kTraced:
      return "traced";
    case ModuleStatus::kLeaf:
      return "leaf";
    case ModuleStatus::kFailed:
      return "failed";
    case ModuleStatus::kUnvisited:
      return "unvisited";
  }
  return "unvisited";
}

const char* to_string(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::kParameter:
      return "parameter";
    case ParameterKind::kBuffer:
      return "buffer";
    case ParameterKind::kCustomObject:
      return "custom_object";
  }
  return "buffer";
}

}  // namespace fxtrace

namespace fxtrace::internal {}  // namespace fxtrace::internal

namespace fxtrace::internal {
namespace {

constexpr std::size_t kMostNames = 3;

std::vector<std::string> suggested(std::vector<std::string> names, bool has_more = false) {
  if (names.empty()) return {};
  std::ranges::transform(names, names.begin(), shell_word);
  return {"did you mean " + listed(names, has_more ? ", " : " or ") + (has_more ? ", ..." : "?")};
}

}  // namespace

std::vector<std::string> match_modules(const GraphCollection& collection, const std::string& text) {
  if (std::ranges::find(collection.modules, text, &ModuleRecord::path) != collection.modules.end())
    return {text};
  NamePattern pattern(text);
  const auto is_match = [&](const ModuleRecord& module) {
    return !module.alias_of && pattern.matches(module.path);
  };
  std::vector<std::string> paths;
  if (!pattern.settle([&] { return std::ranges::any_of(collection.modules, is_match); })) return paths;
  for (const ModuleRecord& module : collection.modules) {
    if (is_match(module)) paths.push_back(module.path);
  }
  return paths;
}

std::string find_module(const GraphCollection& collection, const std::string& text) {
  std::vector<std::string> paths = match_modules(collection, text);
  if (paths.size() == 1) return paths.front();
  if (paths.empty()) throw no_such_module(collection, text);
  const std::string count = std::to_string(paths.size());
  const bool has_more = paths.size() > kMostNames;
  if (has_more) paths.resize(kMostNames);
  throw usage_error("the model has " + count + " modules '" + text + "'",
                    suggested(std::move(paths), has_more));
}

Error no_such_module(const GraphCollection& collection, const std::string& text) {
  std::vector<std::string> paths;
  std::ranges::transform(collection.modules, std::back_inserter(paths), &ModuleRecord::path);
  std::vector<std::string> hints = suggested(find_nearest(text, paths, kMostNames));
  if (hints.empty()) hints.emplace_back("fxtrace inspect lists the modules");
  return usage_error("the model has no module '" + text + "'", std::move(hints));
}

}  // namespace fxtrace::internal
