#include "catalog/model_rows.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "archive/content_check.h"
#include "archive/zip_archive.h"
#include "graph/analysis/collection_summary.h"
#include "graph/analysis/text_form.h"
#include "summaries/model_summary.h"
#include "summaries/parameter_sizes.h"
#include "support/hashes.h"
#include "support/text/numbers.h"
#include "support/text/words.h"

namespace fxtrace::internal::catalog {
namespace {

using Macs = std::optional<SymInt>;

// Returns a size as an expression; a number is NULL.
Cell expression_of(const Macs& size) { return size && !size->number() ? Cell(size->text()) : Cell(); }

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return "[" + joined(shape, [](std::int64_t size) { return std::to_string(size); }, ",") + "]";
}

Cell shape_of(const Meta& meta) {
  if (!meta.shape) return {};
  return "[" + joined(*meta.shape, &Meta::Dim::text, ",") + "]";
}

class Writer {
 public:
  Writer(const GraphCollection& collection, RowWriter& rows) : collection_(collection), rows_(rows) {
    for (const ModuleRecord& module : collection.modules) types_.emplace(module.path, module.type);
  }

  void write(const ModelOrigin& origin) {
    const ModelSummary summary = summarize_model(collection_);
    model(summary, origin);
    modules(summary);
    parameters();
    for (const ModuleGraph& graph : collection_.graphs) add_graph(graph, std::nullopt, nullptr);
    for (const auto& [called, uses] : operators_) {
      rows_.row(TableId::kOperators,
                {called.first, called.second, uses.count, uses.has_macs ? Cell(uses.macs) : Cell()});
    }
  }

 private:
  void model(const ModelSummary& summary, const ModelOrigin& origin) {
    const auto& model = collection_.model;
    std::int64_t left_out = summary.unsized;
    for (const auto& [name, calls] : summary.unknown) add_saturated(left_out, calls);
    const Summary counts = summarize(collection_);
    rows_.row(TableId::kModels, {cell_unless_empty(origin.program),
                                 Cell(),
                                 Cell(),
                                 model.kind,
                                 cell_unless_empty(model.type),
                                 cell_unless_empty(model.method),
                                 cell_unless_empty(origin.producer),
                                 counts.graphs,
                                 counts.nodes,
                                 summary.modules,
                                 static_cast<std::int64_t>(summary.failed.size()),
                                 summary.parameters.elements,
                                 summary.parameters.bytes,
                                 summary.buffers.elements,
                                 summary.buffers.bytes,
                                 number_cell(summary.macs),
                                 expression_of(summary.macs),
                                 number_cell(summary.flops),
                                 expression_of(summary.flops),
                                 left_out,
                                 number_cell(summary.peak_bytes),
                                 expression_of(summary.peak_bytes)});
  }

  void modules(const ModelSummary& summary) {
    std::unordered_map<std::string_view, const SummaryRow*> costs;
    for (const SummaryRow& row : summary.rows) costs.emplace(row.path, &row);
    const std::vector<ModuleSizes> sizes = count_parameters(collection_);
    for (std::size_t i = 0; i < collection_.modules.size(); ++i) {
      const ModuleRecord& module = collection_.modules[i];
      const auto found = costs.find(module.path);
      const Macs macs = found == costs.end() ? std::nullopt : found->second->macs;
      rows_.row(TableId::kModules, {static_cast<std::int64_t>(i), module.path, cell_unless_empty(module.type),
                                    std::string(to_string(module.status)), cell(module.alias_of),
                                    cell(module.rule), module.calls, sizes[i].parameters.elements,
                                    sizes[i].parameters.bytes, number_cell(macs), expression_of(macs)});
      if (!module.failure || module.alias_of) continue;
      const Failure& failure = *module.failure;
      const auto& source = failure.source;
      rows_.row(TableId::kFailures,
                {module.path, std::string(to_string(failure.kind)), failure.message,
                 cell_unless_empty(failure.op), source ? Cell(source->file) : Cell(),
                 source ? Cell(source->line) : Cell(), source ? Cell(source->text) : Cell()});
    }
  }

  void parameters() {
    const std::unordered_set<std::string_view> unused(collection_.unused_parameters.begin(),
                                                      collection_.unused_parameters.end());
    for (const ParameterRecord& parameter : collection_.parameters) {
      const bool is_tensor = parameter.kind != ParameterKind::kCustomObject;
      rows_.row(
          TableId::kParameters,
          {parameter.name, std::string(to_string(parameter.kind)), cell_unless_empty(parameter.dtype),
           is_tensor ? Cell(shape_text(parameter.shape)) : Cell(),
           is_tensor ? Cell(element_count(parameter)) : Cell(),
           is_tensor ? Cell(byte_count(parameter)) : Cell(), cell(parameter.device), cell(parameter.alias_of),
           std::int64_t{unused.contains(parameter.name) ? 0 : 1}, cell_unless_empty(parameter.content)});
    }
  }

  void add_graph(const ModuleGraph& graph, const std::optional<std::int64_t>& parent,
                 const std::string* name) {
    const std::int64_t id = graphs_++;
    const Macs macs = graph.cost ? graph.cost->macs : std::nullopt;
    rows_.row(TableId::kGraphs,
              {id, cell(parent), name != nullptr ? Cell(*name) : Cell(), graph.module,
               static_cast<std::int64_t>(graph.graph.size()), number_cell(macs), expression_of(macs)});
    add_nodes(graph.graph, id);
    for (const Subgraph& subgraph : graph.subgraphs) add_graph(subgraph.graph, id, &subgraph.name);
  }

  void add_nodes(const Graph& graph, std::int64_t id) {
    std::unordered_map<std::uint32_t, std::int64_t> numbers;
    numbers.reserve(graph.size());
    std::int64_t number = 0;
    for (NodeId place = graph.first(); place.valid(); place = graph.next(place)) {
      const Node& node = graph.node(place);
      numbers.emplace(place.index, number);
      const Macs macs = *node.cost ? (*node.cost)->macs : std::nullopt;
      const auto& source = *node.source;
      rows_.row(
          TableId::kNodes,
          {id, number, node.name, std::string(to_string(node.op)), *node.target, node.scope->module_path,
           cell(node.meta->type), cell(node.meta->dtype_text()), shape_of(*node.meta), number_cell(macs),
           expression_of(macs), source ? Cell(source->file) : Cell(), source ? Cell(source->line) : Cell()});
      std::int64_t position = 0;
      for_each_input(node, [&](NodeId used) {
        const auto found = numbers.find(used.index);
        if (found == numbers.end()) return;  // lint() reports this
        rows_.row(TableId::kEdges, {id, number, position++, found->second});
      });
      count_use(node, macs);
      ++number;
    }
  }

  void count_use(const Node& node, const Macs& macs) {
    std::string target = *node.target;
    if (node.op == Opcode::kCallModule) {
      const auto found = types_.find(called_module(node));
      if (found == types_.end() || found->second.empty()) return;
      target = found->second;
    } else if (node.op != Opcode::kCallFunction && node.op != Opcode::kCallMethod) {
      return;
    }
    Uses& uses = operators_[{to_string(node.op), std::move(target)}];
    ++uses.count;
    if (!macs || !macs->number()) return;
    uses.has_macs = true;
    add_saturated(uses.macs, *macs->number());
  }

  struct Uses {
    std::int64_t count = 0, macs = 0;
    bool has_macs = false;
  };

  const GraphCollection& collection_;
  RowWriter& rows_;
  std::unordered_map<std::string_view, std::string_view> types_;  // types of modules, by path
  std::map<std::pair<std::string, std::string>, Uses> operators_;
  std::int64_t graphs_ = 0;
};

}  // namespace

void write_model_rows(const GraphCollection& collection, const ModelOrigin& origin, RowWriter& rows) {
  Writer(collection, rows).write(origin);
}

void write_error_row(const Error& error, const std::string& program, RowWriter& rows) {
  Cells cells(cell_count(TableId::kModels));
  cells[0] = cell_unless_empty(program);
  cells[kErrorCell] = std::string(error.what());
  cells[kErrorCell + 1] = cell_unless_empty(joined(error.hints(), {}, "\n"));
  rows.row(TableId::kModels, cells);
}

namespace {

std::string key_of_archive(const ZipArchive& archive) {
  FnvHash hash;
  for (const ZipArchive::Entry& entry : archive.entries()) {
    hash.add(entry.name);
    hash.add(entry.size);
    hash.add(entry.crc);
  }
  return "zip:" + hexadecimal(hash.value(), 16);
}

// Makes the key from all bytes.
std::string verified_key(const ModelFile& file, const FileInfo& info) {
  Sha256 hash;
  if (!info.zip) {
    file.for_each_piece(0, file.size(), [&](std::string_view piece) { hash.add(piece); });
    return "file-sha256:" + hash.digits();
  }
  for_each_record(*info.zip, [](const ZipArchive& archive, const ZipArchive::Entry& entry,
                                const std::string&) { static_cast<void>(archive.content_digest(entry)); });
  for (const ZipArchive::Entry& entry : info.zip->entries()) {
    hash.add(entry.name);
    hash.add(entry.size);
    hash.add(info.zip->content_digest(entry));
  }
  return "zip-sha256:" + hash.digits();
}

}  // namespace

std::string content_key(const ModelFile& file, const FileInfo& info) {
  if (file.digests()) return verified_key(file, info);
  if (info.zip) return key_of_archive(*info.zip);
  constexpr std::uint64_t kEnds = std::uint64_t{128} << 20;
  constexpr std::size_t kPart = std::size_t{1} << 20;
  FnvHash hash;
  hash.add(file.size());
  for (std::uint64_t at = 0; at < file.size();) {
    if (file.size() > 2 * kEnds && at == kEnds) at = file.size() - kEnds;
    const std::string part = file.read_at(at, kPart);
    if (part.empty()) break;
    hash.add(part);
    at += part.size();
  }
  return "file:" + hexadecimal(hash.value(), 16);
}

}  // namespace fxtrace::internal::catalog
