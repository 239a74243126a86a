// Fuzz target: the JSON of a collection, read, passed through graph passes, written and read back.
#include <cstddef>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "costs/graph_costs.h"
#include "graph/lint.h"
#include "passes/pass.h"
#include "readers/collection_reader.h"
#include "rules/check.h"
#include "summaries/model_summary.h"
#include "tests/fuzz/targets.h"
#include "writers/check/check_writers.h"
#include "writers/graphs/collection_writers.h"
#include "writers/graphs/fx_writer.h"
#include "writers/pictures/dot_writer.h"
#include "writers/pictures/html_writer.h"
#include "writers/pictures/mermaid_writer.h"
#include "writers/pictures/model_explorer_writer.h"
#include "writers/reports/report_writers.h"

namespace fxtrace::internal::fuzz {
namespace {

std::string json_of(const GraphCollection& collection) {
  std::ostringstream out;
  write_json(collection, out);
  return out.str();
}

void write_pictures(const GraphCollection& collection) {
  std::ostringstream out;
  write_text(collection, out);
  write_torch_graph(collection, out);
  write_model_explorer(collection, out);
  write_fx(collection, out);
  write_dot(collection, out, {});
  write_mermaid(collection, out, {});
  PictureOptions options;
  options.parameters = true;
  options.max_label = 3;
  write_dot(collection, out, options);
  write_mermaid(collection, out, options);
  write_html_data(collection, out, {});
  PictureOptions all;
  all.plumbing = true;
  all.parameters = true;
  all.fold = false;
  write_html_data(collection, out, all);
}

void write_summaries(const GraphCollection& collection) {
  std::ostringstream out;
  ModelSummary summary = summarize_model(collection);
  write_summary_json(summary, out);
  write_summary_csv(summary, out);
  limit_rows(summary, 20);
  fold_repeats(summary);
  sort_rows(summary, SortKey::kMacs);
  write_summary(summary, out, {.is_markdown = true});
  write_summary(summary, out, {80, true});
}

void hold_to_rules(const GraphCollection& collection) {
  CheckedModel model;
  model.model = collection.model;
  model.collection = &collection;
  add_guards(collection, model.dimensions);
  std::vector<Rule> rules = {no_failed_rule(), limit_rule(RuleKind::kMaxMacs, 1),
                             limit_rule(RuleKind::kMaxPeak, 1), ops_rule("aten.add\n", "ops")};
  for (const char* text :
       {"no **", "** followed-by aten.relu", "no ** preceded-by **", "** within @*", "** at-most 1"})
    rules.push_back(require_rule(text));
  const CheckReport report = check(std::move(rules), model);
  std::ostringstream out;
  write_check({{report}, {}}, out, {80, true});
  write_check_json({{report}, {}}, out);
  write_check_junit({{report}, {}}, out);
  write_check_sarif({{report}, {}}, out);
  write_check({{report}, {}}, out, {.is_markdown = true});
}

void check_writers(const GraphCollection& collection) {
  const std::string text = json_of(collection);
  require(json_of(read_collection(text, "again")) == text, "a collection that was written reads back");
  write_pictures(collection);
}

}  // namespace

void collection(std::string_view input) {
  GraphCollection collection;
  if (!accepts([&] { collection = read_collection(std::string(input), "collection.json"); })) return;
  check_writers(collection);
  write_summaries(collection);
  hold_to_rules(collection);
  // All passes run one after another, and one of them alone, chosen by the input.
  const auto all = passes();
  const Pass* picked[] = {find_pass("functional"), &all[input.size() % all.size()]};
  for (const Pass* pass : picked) {
    GraphCollection changed = collection;
    run_pass(*pass, changed);
    add_costs(changed);
    lint(changed);
    check_writers(changed);
  }
}

}  // namespace fxtrace::internal::fuzz
