// `fxtrace order`: shows the order in which a model uses its modules and parameters, puts parameters into
// buckets, and writes a plan for FSDP2.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli.h"
#include "app/commands/commands.h"
#include "app/options/option_checks.h"
#include "app/options/trace_options.h"
#include "app/output/formats.h"
#include "app/output/output.h"
#include "app/process/isolation.h"
#include "pipelines/passes.h"
#include "pipelines/read_model.h"
#include "summaries/use_order.h"
#include "support/text/numbers.h"
#include "writers/reports/report_writers.h"

namespace fxtrace::internal::cli {
namespace {

struct OrderAnswer {
  const UseOrder& order;
  const GraphCollection& collection;
  operator const UseOrder&() const { return order; }
};

// Adapts the writer of a format that has the plan for FSDP2.
template <auto Write>
void write_with_plan(const OrderAnswer& answer, std::ostream& out, const TextLayout&) {
  Write(answer.order, plan_fsdp(answer.collection, answer.order), out);
}

constexpr AnswerRow<OrderAnswer> kOrderFormats[] = {
    {{".txt"},
     [](const OrderAnswer& answer, std::ostream& out, const TextLayout& layout) {
       write_order_text(answer.order, out, layout);
     }},
    {{".json", "--json", "write JSON (schemas/order.schema.json)"}, write_with_plan<write_order_json>},
    {{".csv", "--csv", "write CSV (RFC 4180), one row a module and one a parameter"},
     write_plain<write_order_csv>},
    {{.suffix = ".py",
      .option = "--fsdp2",
      .help = "write Python that shards a model by torch.distributed.fsdp.fully_shard: repeated blocks by "
              "themselves, the rest with the root, and each block prefetches the one that was traced next",
      .other_name = "fsdp2"},
     write_with_plan<write_order_python>}};

struct OrderArguments : ModelArguments {
  CostArguments costs;
  std::string model;
  std::optional<std::string> buckets;
  AnswerFormats<OrderAnswer> answer{kOrderFormats};

  // Throws Error(kUsage).
  std::optional<std::int64_t> bucket_bytes() const;
};

std::optional<std::int64_t> OrderArguments::bucket_bytes() const {
  if (!buckets) return std::nullopt;
  std::int64_t size = 0;
  try {
    size = parse_amount(*buckets);
  } catch (const Error& error) {
    throw usage_error(std::string("--buckets: ") + error.what());
  }
  if (size == 0) throw usage_error("--buckets: expected at least one byte");
  if (answer.row().write == write_with_plan<write_order_python>)
    throw usage_error("--buckets does not apply to --fsdp2, whose groups are modules");
  return size;
}

int order(const OrderArguments& arguments, const Config& config, const TextLayout& layout,
          const NamedFile& file, Output& output, Isolated& isolated) {
  GraphCollection& collection =
      read_model_or_collection(config, arguments.trace.any(is_no_pass), file, isolated);
  apply_costs(config, arguments.costs.at, collection, isolated.listener());
  UseOrder& order = isolated.keep_alive(order_of_use(collection));
  if (!arguments.costs.at.empty()) add_macs(collection, order);
  if (const auto bytes = arguments.bucket_bytes()) make_buckets(order, *bytes);
  output.write([&](std::ostream& out) { arguments.answer.row().write({order, collection}, out, layout); });
  check_strict(config, collection, file.file, isolated);
  return kDone;
}

int run_order(const OrderArguments& arguments, Console& console) {
  Config config = arguments.set_up(console);
  config.options.beyond_ranges = true;
  static_cast<void>(arguments.bucket_bytes());  // reports a wrong size before any work
  return run_answer(arguments, std::move(config), console, order);
}

}  // namespace

Command make_order_command(CLI::App& app) {
  auto arguments = std::make_shared<OrderArguments>();
  app.description(
      app.get_description() +
      " Each module has the number of its first call, its parameters with their bytes, and its other calls; "
      "each parameter the calls that use it. Below are parameters that are unused or tied, and modules that "
      "are shared or never called. MODEL is a model file as for fxtrace trace, or the JSON that fxtrace "
      "trace wrote. Consecutive equal blocks are written once.");
  app.footer(
      "  fxtrace order model.pt2\n"
      "  fxtrace order model.pt2 --buckets 25MiB\n"
      "  fxtrace order model.pt2 --fsdp2 -o shard.py\n");
  app.add_option("MODEL", arguments->model, "the model file or a collection's JSON file, or - for stdin")
      ->required();
  add_last_value(app, "Order", "--buckets", arguments->buckets, "SIZE",
                 "put the parameters into buckets of at most SIZE bytes (25MiB, 25MB), in the order of "
                 "their first uses; one that is larger is a bucket by itself");
  arguments->costs.add_to(app, "Order");
  arguments->answer.add_to(app);
  arguments->add_to(app);
  return [arguments](Console& console) { return run_order(*arguments, console); };
}

}  // namespace fxtrace::internal::cli
