// Writes the answer of `fxtrace order`.
#pragma once

#include <ostream>

#include "summaries/fsdp_plan.h"
#include "summaries/use_order.h"
#include "writers/formats/text_layout.h"

namespace fxtrace {

// For people: modules in the order of their calls, parameters in that of their first uses, and what is tied,
// shared and unused.  Equal blocks that follow one another, such as h.0 and h.1, are written once.
void write_order_text(const UseOrder& order, std::ostream& out, const TextLayout& layout);
// schemas/order.schema.json describes it.
void write_order_json(const UseOrder& order, const FsdpPlan& plan, std::ostream& out);
// CSV (writers/formats/csv_text.h): a row for each module in the order of first calls, then for each
// parameter in the order of first uses, then for what is never called or used, without a number.
void write_order_csv(const UseOrder& order, std::ostream& out);
// Python that applies FSDP2 (torch.distributed.fsdp.fully_shard) to a model, with the prefetches of a plan:
// shard(model, **options), which takes the options of fully_shard().
void write_order_python(const UseOrder& order, const FsdpPlan& plan, std::ostream& out);

}  // namespace fxtrace
