// Fuzz target: the commands that answer questions about a collection.
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>

#include "catalog/model_rows.h"
#include "catalog/tables.h"
#include "compare/comparison.h"
#include "extract/extract.h"
#include "graph/lint.h"
#include "passes/pass.h"
#include "readers/collection_reader.h"
#include "summaries/explanation.h"
#include "summaries/use_order.h"
#include "tests/fuzz/targets.h"
#include "writers/graphs/collection_writers.h"
#include "writers/pictures/dot_writer.h"
#include "writers/reports/report_writers.h"

namespace fxtrace::internal::fuzz {
namespace {

// Returns whether they are equal.
bool compare_both(const GraphCollection& before, const GraphCollection& after) {
  ModelComparison comparison = compare(before, after, {DifferenceKinds::all()});
  const bool is_equal = comparison.is_equal();
  std::ostringstream out;
  write_dot(merge(before, after, comparison, DifferenceKinds::all()).collection, out, {});
  fold_equal_modules(comparison);
  write_comparison_json(comparison, out);
  write_comparison(comparison, out, {.is_markdown = true});
  write_comparison(comparison, out, {80, true});
  return is_equal;
}

void put_in_order(const GraphCollection& collection) {
  UseOrder order = order_of_use(collection);
  make_buckets(order, 100);
  const FsdpPlan plan = plan_fsdp(collection, order);
  std::ostringstream out;
  write_order_text(order, out, {80, true});
  write_order_json(order, plan, out);
  write_order_csv(order, out);
  write_order_python(order, plan, out);
}

void explain(const GraphCollection& collection) {
  Explanation explanation;
  explanation.model = collection.model;
  accepts([&] {
    explanation.asked_module = "**";
    std::optional<std::string> asked;
    explanation.explained = explain_modules(collection, find_modules(collection, "**", asked));
    fold_alike(explanation.explained);
  });
  accepts([&] { explanation.dimension = explain_dimension(collection, "s77", {}); });
  std::ostringstream out;
  write_explanation_json(explanation, out);
  write_explanation_text(explanation, out, {80, true});
}

void take(const GraphCollection& collection, const ExtractRequest& part) {
  GraphCollection taken;
  if (!accepts([&] { taken = extract(collection, part); })) return;
  lint(taken);
  std::ostringstream out, again;
  write_json(taken, out);
  write_json(read_collection(out.str(), "part"), again);
  require(again.str() == out.str(), "a part that was written reads back");
}

void take_parts(const GraphCollection& collection, std::size_t seed) {
  if (collection.modules.empty() || collection.graphs.empty()) return;
  ExtractRequest part;
  part.module = collection.modules[seed % collection.modules.size()].path;
  take(collection, part);
  const ModuleGraph& graph = collection.graphs[seed % collection.graphs.size()];
  if (graph.graph.size() == 0) return;
  std::size_t left = seed % graph.graph.size();
  NodeId node = graph.graph.first();
  while (left-- > 0) node = graph.graph.next(node);
  part = {};
  part.graph = graph.module;
  part.from = {graph.graph.node(node).name};
  take(collection, part);
  std::swap(part.from, part.to);
  take(collection, part);
}

void catalog_rows(const GraphCollection& collection) {
  std::ostringstream out;
  catalog::RowWriter rows(out);
  write_model_rows(collection, {}, rows);
  const std::string bytes = out.str();
  catalog::RowReader reader(bytes);
  while (reader.next()) {
  }
}

}  // namespace

void questions(std::string_view input) {
  GraphCollection collection;
  if (!accepts([&] { collection = read_collection(std::string(input), "collection.json"); })) return;
  GraphCollection changed = collection;
  const auto all = passes();
  run_pass(all[input.size() % all.size()], changed);
  compare_both(collection, changed);
  // Models of two kinds are compared in a separate way.
  changed.model.kind = changed.model.kind == "torchscript" ? "exported_program" : "torchscript";
  compare_both(collection, changed);
  require(compare_both(collection, collection), "a collection does not differ from itself");
  put_in_order(collection);
  explain(collection);
  take_parts(collection, input.size());
  catalog_rows(collection);
}

}  // namespace fxtrace::internal::fuzz
