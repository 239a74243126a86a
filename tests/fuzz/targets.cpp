// Helpers that several fuzz targets share.
#include "tests/fuzz/targets.h"
#include "trace/options/options.h"

#include <sstream>

#include "graph/lint.h"
#include "readers/collection_reader.h"
#include "trace/search/trace.h"
#include "writers/graphs/collection_writers.h"

namespace fxtrace::internal::fuzz {

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
