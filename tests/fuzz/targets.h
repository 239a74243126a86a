// The fuzz targets: each function takes an input, runs a part of fxtrace on it, and returns unless it has
// found a defect.  Bad input is not a defect: Error of the kinds kInput and kUsage is caught inside.
//
// A defect is any other exception (Error(kInternal), std::bad_alloc, ...), a report of a sanitizer, and a
// broken promise, such as a text that does not read back as the value that it was written from.
#pragma once

#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/error.h"

namespace fxtrace::internal {
struct Config;
struct TraceResult;
struct TraceRequest;
}  // namespace fxtrace::internal

namespace fxtrace::internal::fuzz {

void collection(std::string_view input);     // `render`: JSON of a collection, passes, writers
void config(std::string_view input);         // --config and --concrete
void database(std::string_view input);       // `query`: a catalog's SQLite database
void exported(std::string_view input);       // a program's JSON, or that of a whole archive; see exported.cpp
void file_kind(std::string_view input);      // any file: its kind, and its zip archive if it is one
void glob(std::string_view input);           // a glob, and on further lines the texts to match
void input_spec(std::string_view input);     // --input and --dim, one a line
void leaf_rule(std::string_view input);      // --leaf, one rule a line, decided for some modules
void objects(std::string_view input);        // data.pkl of a TorchScript archive
void operator_call(std::string_view input);  // shapes and costs of a call that the bytes describe
void pickle(std::string_view input);
void questions(std::string_view input);   // `diff`, `extract`, `order`, `why`, `catalog` of a collection
void rules(std::string_view input);       // `check --rules`
void script(std::string_view input);      // a code file of a TorchScript archive
void security(std::string_view input);    // `check --security`: pickles, sizes, guards, trees, programs
void state_dict(std::string_view input);  // data.pkl as torch.save wrote it
void sympy(std::string_view input);       // sizes of an exported program
void trace(std::string_view input);       // a whole TorchScript archive; see trace.cpp
void tree_spec(std::string_view input);   // pytree specifications
void zip_archive(std::string_view input);

// The body of `exported`: the archive itself, traced with the configuration, written and read back.
void exported_archive(std::string_view bytes, const Config& config);

// Traces, and checks the result: lint, written, read back.
void check_traced(const Config& config, const std::function<TraceResult(const TraceRequest&)>& trace_it);

struct Target {
  const char* name;
  void (*run)(std::string_view input);
};
#ifdef FXTRACE_READING_ALONE
inline constexpr Target kTargets[] = {
    {"glob", glob}, {"pickle", pickle}, {"state_dict", state_dict}, {"zip_archive", zip_archive}};
#else
inline constexpr Target kTargets[] = {
    {"collection", collection}, {"config", config},
    {"database", database},     {"exported", exported},
    {"file_kind", file_kind},   {"glob", glob},
    {"input_spec", input_spec}, {"leaf_rule", leaf_rule},
    {"objects", objects},       {"operator_call", operator_call},
    {"pickle", pickle},         {"questions", questions},
    {"rules", rules},           {"script", script},
    {"security", security},     {"state_dict", state_dict},
    {"sympy", sympy},           {"trace", trace},
    {"tree_spec", tree_spec},   {"zip_archive", zip_archive},
};
#endif

// Runs f; returns false when it reports bad input.
template <class F>
bool accepts(F&& f) {
  try {
    f();
    return true;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInternal) throw;
    return false;
  }
}

inline void require(bool holds, const std::string& promise) {
  if (!holds) throw std::logic_error("broken promise: " + promise);
}

// Returns the first `limit` lines; the last one is the rest.
inline std::vector<std::string_view> lines_of(std::string_view input, std::size_t limit) {
  std::vector<std::string_view> lines;
  while (lines.size() + 1 < limit) {
    const std::size_t end = input.find('\n');
    if (end == std::string_view::npos) break;
    lines.push_back(input.substr(0, end));
    input.remove_prefix(end + 1);
  }
  lines.push_back(input);
  return lines;
}

}  // namespace fxtrace::internal::fuzz
