// Writes the order of use as JSON (schemas/order.schema.json).
#pragma once

#include <ostream>

#include "summaries/fsdp_plan.h"
#include "summaries/use_order.h"

namespace fxtrace {

void write_order_json(const UseOrder& order, const FsdpPlan& plan, std::ostream& out);

}  // namespace fxtrace
