// Helpers that several fuzz targets share.
#include "tests/fuzz/targets.h"

#include <sstream>

#include "graph/lint.h"
#include "readers/collection_reader.h"
#include "trace/search/trace_program.h"
#include "writers/graphs/json_writer.h"

namespace fxtrace::internal::fuzz {

std::vector<std::string_view> lines_of(std::string_view input, std::size_t limit) {
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

void check_traced(const Config& config, const std::function<TraceResult(const TraceRequest&)>& trace_it) {
  TraceResult result;
  TraceRequest wanted;
  wanted.description = true;
  wanted.hint = true;
  if (!accepts([&] { result = trace_it(wanted); })) return;
  lint(result.collection);
  result.collection.options_json = options_json(config);
  std::ostringstream out;
  write_json(result.collection, out);
  std::ostringstream again;
  write_json(read_collection(out.str(), "result"), again);
  require(again.str() == out.str(), "a collection that was written reads back");
}

}  // namespace fxtrace::internal::fuzz
