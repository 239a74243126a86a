// Texts that the writers of summaries for people share.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "summaries/model_summary.h"

namespace fxtrace::summary_words {

// Input comes from an unchecked file: each returned text is one line of printable characters.

// Returns the headline: "model.pt: pkg.Net, TorchScript of PyTorch 2.13.0".
std::string headline(const ModelSummary& summary);

// Returns the row's name: "layer1", "0 - 11", "layer0 - 11", "(root)"; with `whole`, the path: "h.0 - h.11".
std::string name(const SummaryRow& row, bool whole);
// Returns the type without its package, with counts: "12 x Block", "ReLU (2 calls)".
std::string type(const SummaryRow& row);
// Returns the output shape, "[1, 64, 112, 112]"; of several tensors the first and the number of others; with
// the dtype if it is not `usual_dtype`.
std::string outputs(const SummaryRow& row, const std::string& usual_dtype);
// Returns the dtype that most outputs have; empty when there is none.
std::string usual_dtype(const ModelSummary& summary);

enum class Style { kExact, kRounded };

// Numbers for the names of sizes, at which an expression is shown that is too long to be read: "batch=1,
// seq=128".
struct ExampleSizes {
  std::map<std::string, std::int64_t> sizes;
  std::string text;
};
ExampleSizes example_sizes(const ModelSummary& summary);

// Returns the MACs: "1,814,073,344" or "1.81 G", or an expression, "batch·1.81 G"; of a longer one its value
// at the example's sizes, "~1.81 G".  "?" when unknown, "-" for 0, followed by "+" when a part is unknown.
std::string macs(const SummaryRow& row, Style style, const ExampleSizes& example);
// Returns the number of parameters, "38,597,376"; in parentheses when another row counts them.
std::string parameters(const SummaryRow& row, Style style);
std::string parameter_bytes(const SummaryRow& row);

// Returns the title of a column that is shown on request, and its cells.
const char* title(CostColumn column);
std::string cell(const SummaryRow& row, CostColumn column, const ExampleSizes& example);

// Measurements, as text "" when there are none: time, "1.24 ms"; share of `all`, "12.5 %"; peak memory;
// FLOP/s as twice the MACs per second, "12.3 G".
double seconds(const SummaryRow& row);
std::string time(const SummaryRow& row);
std::string share(const SummaryRow& row, double all);
std::string memory(const SummaryRow& row);
std::string operations_per_second(const SummaryRow& row);

// A name and a value: "x", "float32[1, 3, 224, 224]".
using Line = std::pair<std::string, std::string>;
std::vector<Line> ports(const std::vector<ModelSummary::Port>& ports);
// Returns the lines below the table: "MACs", "1,814,073,344 (1.81 G)".
std::vector<Line> totals(const ModelSummary& summary);
// Returns notes about the table: modules that failed, omitted rows, the meaning of marks.
std::vector<std::string> notes(const ModelSummary& summary);

}  // namespace fxtrace::summary_words
