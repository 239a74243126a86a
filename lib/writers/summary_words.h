// What the writers of summaries for people say alike.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "summaries/model_summary.h"

namespace fxtrace::summary_words {

// Texts come from a file that nobody has checked: each is one line of printable characters.

// "model.pt: pkg.Net, TorchScript of PyTorch 2.13.0"
std::string headline(const ModelSummary& summary);

// "layer1", "0 - 11", "layer0 - 11", "(root)"; with `whole` the path, "h.0 - h.11".
std::string name(const SummaryRow& row, bool whole);
// The type without its package, how many there are, and what is special: "12 x Block", "ReLU (2 calls)".
std::string type(const SummaryRow& row);
// "[1, 64, 112, 112]", of several tensors the first and how many more there are; with the dtype where it is
// not `usual_dtype`.
std::string outputs(const SummaryRow& row, const std::string& usual_dtype);
// That most outputs have; empty when there is none.
std::string usual_dtype(const ModelSummary& summary);

enum class Style { kExact, kRounded };
// "1,814,073,344" or "1.81 G"; an expression as it is or with such numbers: "1.81G*batch".  "?" when it is
// not known, "-" for 0, and "+" behind it when a part is not known.
std::string macs(const SummaryRow& row, Style style);
// "38,597,376"; what is counted in another row is in parentheses.
std::string parameters(const SummaryRow& row, Style style);
std::string parameter_bytes(const SummaryRow& row);

// Of what was measured, "" where nothing was: "1.24 ms"; the part of `all`, "12.5 %"; the most bytes at one
// time; twice the MACs in a second, "12.3 G".
double seconds(const SummaryRow& row);
std::string time(const SummaryRow& row);
std::string share(const SummaryRow& row, double all);
std::string memory(const SummaryRow& row);
std::string operations_per_second(const SummaryRow& row);

// "x", "float32[1, 3, 224, 224]"
using Line = std::pair<std::string, std::string>;
std::vector<Line> inputs(const ModelSummary& summary);
std::vector<Line> outputs(const ModelSummary& summary);
// Below the table: "MACs", "1,814,073,344 (1.81 G)".
std::vector<Line> totals(const ModelSummary& summary);
// What has to be said of the table: modules that failed, what is left out, what marks mean.
std::vector<std::string> notes(const ModelSummary& summary);

}  // namespace fxtrace::summary_words
