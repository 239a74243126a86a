// Which values may share memory, and where it is written.
#include "analysis/alias_regions.h"

#include "analysis/effects.h"
#include "catch.h"
#include "graph/graph_collection.h"
#include "tests/forms/graph_text.h"

using namespace fxtrace::internal;  // NOLINT(google-build-using-namespace)

namespace {

// A buffer in the storage data/0, `offset` elements from its beginning.
ParameterRecord buffer(std::string name, std::int64_t elements, std::int64_t offset) {
  ParameterRecord record{std::move(name), ParameterKind::kBuffer, {elements}, "float32", "", {}};
  record.record = "data/0";
  record.stride = {1};
  record.storage_offset = offset;
  return record;
}

}  // namespace

TEST_CASE("alias regions: a leaf writes the memory of its buffers, whatever their names", "[passes]") {
  GraphCollection collection;
  collection.modules = {{"", "Net", ModuleStatus::kTraced, {}, {}, 0, {}, {}},
                        {"bn",
                         "torch.nn.modules.batchnorm.BatchNorm1d",
                         ModuleStatus::kLeaf,
                         {},
                         {},
                         0,
                         {},
                         {{"training", Argument(true)}}}};
  ModuleGraph graph;
  graph.graph = parse_graph(R"(
    %x = placeholder[x]() -> float32[4, 2]
    %a = get_attr[a]() -> float32[4]
    %other = get_attr[other]() -> float32[4]
    %first = call_function[aten.sum.default](%a) -> float32[]
    %bn = call_module[bn](%x) -> float32[4, 2]  # bn: torch.nn.modules.batchnorm.BatchNorm1d
    %second = call_function[aten.sum.default](%a) -> float32[]
    %output = output[output]((%first, %bn, %second, %other))
  )");
  const auto written_after_first = [&](std::int64_t offset, const char* name) {
    collection.parameters = {buffer("a", 4, 0), buffer("bn.running_mean", 2, offset),
                             buffer("other", 4, 100)};
    Semantics semantics(collection);
    const AliasRegions regions(graph, semantics);
    return regions.is_written_after(node_named(graph.graph, name), node_named(graph.graph, "first"));
  };
  CHECK(written_after_first(2, "a"));  // the last two elements of `a`
  CHECK_FALSE(written_after_first(2, "other"));
  CHECK_FALSE(written_after_first(4, "a"));  // beside it
}
