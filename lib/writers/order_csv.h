// Writes the order of use as CSV (writers/csv_text.h): a row for each module in the order of first calls,
// then for each parameter in the order of first uses, then for what is never called or used, without a
// number.
#pragma once

#include <ostream>

#include "summaries/use_order.h"

namespace fxtrace {

void write_order_csv(const UseOrder& order, std::ostream& out);

}  // namespace fxtrace
