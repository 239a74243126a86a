// Writes the answer of `fxtrace order`.
#pragma once

#include <ostream>

#include "summaries/fsdp_plan.h"
#include "summaries/use_order.h"
#include "writers/formats/text_layout.h"

namespace fxtrace::internal {

// Writes text: modules in the order of their calls, parameters in the order of their first uses, and those
// that are tied, shared or unused.  Consecutive equal blocks, such as h.0 and h.1, are written once.
void write_order_text(const UseOrder& order, std::ostream& out, const TextLayout& layout);
// Writes JSON: schemas/order.schema.json.
void write_order_json(const UseOrder& order, const FsdpPlan& plan, std::ostream& out);
// Writes CSV (writers/formats/csv_text.h): a row for each module in the order of first calls, then for each
// parameter in the order of first uses, then, without a number, for those that are never called or used.
void write_order_csv(const UseOrder& order, std::ostream& out);
// Writes Python source that applies FSDP2 (torch.distributed.fsdp.fully_shard) to a model, with the
// prefetches of a plan: a function shard(model, **options), which takes the options of fully_shard().
void write_order_python(const UseOrder& order, const FsdpPlan& plan, std::ostream& out);

}  // namespace fxtrace::internal
