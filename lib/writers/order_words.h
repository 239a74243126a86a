// Texts that the writers of the order of use share.
#pragma once

#include <string>
#include <vector>

#include "summaries/use_order.h"

namespace fxtrace::order_words {

// Returns the number of a call: "7"; "b.l#2" in the graph of a submodule; "?" when no call is known.  May
// hold any characters of the file.
std::string place(const UseOrder& order, const UseOrder::Place& place);

// Returns the calls that use a parameter, each once, as far as its uses are listed.
std::vector<UseOrder::Place> calls_of(const UseOrder::Parameter& parameter);

}  // namespace fxtrace::order_words
