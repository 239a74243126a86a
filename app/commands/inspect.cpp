#include "app/commands/inspect.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "app/model.h"
#include "app/output.h"
#include "app/trace_options.h"
#include "exported/archive.h"
#include "graph/text_form.h"
#include "support/log.h"
#include "trace/leaf_rules.h"

namespace fxtrace::cli {
namespace {

constexpr std::size_t kMaxColumn = 60;

struct Arguments {
  TraceArguments trace;
  std::string model;
  bool json = false;
  bool verbose = false;
};

// Elements of a module's parameters and buffers: its own, and with all submodules, tied ones once.
struct Counts {
  std::int64_t own_parameters = 0, parameters = 0, own_buffers = 0, buffers = 0;
};

std::int64_t elements(const ParameterRecord& parameter) {
  std::int64_t count = 1;
  for (const std::int64_t size : parameter.shape) {
    if (__builtin_mul_overflow(count, size, &count)) return INT64_MAX;
  }
  return count;
}

void add(std::int64_t& total, std::int64_t count) {
  if (__builtin_add_overflow(total, count, &total)) total = INT64_MAX;
}

std::string_view parent_path(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

// By module of the collection.  A tensor that is shared counts once in every module that has it below, be it
// through a shared module, and a module under a later name has the counts of its first.
std::vector<Counts> count_parameters(const GraphCollection& collection) {
  const auto& modules = collection.modules;
  std::unordered_map<std::string_view, std::size_t> by_path;
  for (std::size_t i = 0; i < modules.size(); ++i) by_path.emplace(modules[i].path, i);
  std::unordered_map<std::string_view, std::vector<std::string_view>> later_names;  // by first path
  for (const auto& module : modules) {
    if (module.alias_of) later_names[*module.alias_of].push_back(module.path);
  }
  std::unordered_map<std::string_view, std::vector<const ParameterRecord*>> names;  // by first name
  std::vector<std::string_view> tensors;
  for (const auto& parameter : collection.parameters) {
    if (parameter.kind == ParameterKind::kCustomObject) continue;
    const std::string_view first = parameter.alias_of ? *parameter.alias_of : parameter.name;
    auto& list = names[first];
    if (list.empty()) tensors.push_back(first);
    list.push_back(&parameter);
  }

  std::vector<Counts> counts(modules.size());
  std::vector<std::size_t> counted_for(modules.size(), SIZE_MAX);
  std::vector<std::string_view> pending;  // modules that have the tensor, and their parents
  for (std::size_t tensor = 0; tensor < tensors.size(); ++tensor) {
    const auto& list = names[tensors[tensor]];
    const std::int64_t count = elements(*list.front());
    const bool is_parameter = list.front()->kind == ParameterKind::kParameter;
    for (const ParameterRecord* parameter : list) {
      const std::string_view owner = parent_path(parameter->name);
      const bool seen =
          std::find(pending.begin(), pending.end(), owner) != pending.end();  // two names in one module
      const auto found = by_path.find(owner);
      if (found != by_path.end() && !seen) {
        Counts& of = counts[found->second];
        add(is_parameter ? of.own_parameters : of.own_buffers, count);
      }
      pending.push_back(owner);
    }
    while (!pending.empty()) {
      const std::string_view path = pending.back();
      pending.pop_back();
      if (!path.empty()) pending.push_back(parent_path(path));
      const auto found = by_path.find(path);
      if (found == by_path.end()) continue;
      if (counted_for[found->second] == tensor) {
        if (!path.empty()) pending.pop_back();  // its parents were counted as well
        continue;
      }
      counted_for[found->second] = tensor;
      Counts& of = counts[found->second];
      add(is_parameter ? of.parameters : of.buffers, count);
      const auto later = later_names.find(path);
      if (later == later_names.end()) continue;
      for (const std::string_view name : later->second) pending.push_back(parent_path(name));
    }
  }
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const auto first = modules[i].alias_of ? by_path.find(*modules[i].alias_of) : by_path.end();
    if (first != by_path.end()) counts[i] = counts[first->second];
  }
  return counts;
}

std::string status_text(const ModuleRecord& module) {
  std::string text = to_string(module.status);
  if (module.alias_of) {
    text = "the same as ";
    text += module.alias_of->empty() ? "the root" : *module.alias_of;
  } else if (module.rule) {
    text += " (" + *module.rule + ")";
  } else if (module.failure) {
    text += " (" + module.failure->message + ")";
  }
  return one_line(text);
}

std::string with_separators(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

// Characters, not bytes.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

using Row = std::vector<std::string>;

// Columns with two spaces between; those in `right` are aligned to the right; one that is very wide does not
// push the others away.
void write_table(std::ostream& out, const std::vector<Row>& rows, const std::vector<bool>& right) {
  std::vector<std::size_t> widths(right.size(), 0);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], std::min(width(row[i]), kMaxColumn));
  }
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t used = width(row[i]);
      const std::string padding(used < widths[i] ? widths[i] - used : 0, ' ');
      const bool last = i + 1 == row.size();
      out << (right[i] ? padding : "") << row[i] << (right[i] || last ? "" : padding) << (last ? "\n" : "  ");
    }
  }
}

struct Input {
  std::string name, value;
  bool fixed = false;  // to the value that it had when the program was exported
};

// The inputs of an exported program, which knows their shapes.
std::vector<Input> program_inputs(const GraphCollection& collection) {
  std::vector<Input> inputs;
  if (collection.graphs.empty() || !collection.graphs.front().signature) return inputs;
  const Graph& graph = collection.graphs.front().graph;
  for (const auto& entry : collection.graphs.front().signature->inputs) {
    if (entry.role != "user_input" || !entry.node.valid()) continue;
    const Node& node = graph.node(entry.node);
    inputs.push_back({node.name, entry.value ? print_argument(graph, *entry.value) : value_text(node.meta),
                      entry.value.has_value()});
  }
  return inputs;
}

// "model.pt: a TorchScript archive, version 3"
std::string headline(const std::string& name, const FileInfo& info) {
  std::string line = one_line(name) + ": " + info.what;
  if (!info.producer_version.empty()) line += ", version " + info.producer_version;
  return line;
}

void write_text(const FileInfo& info, const GraphCollection& collection, const std::vector<Counts>& counts,
                std::ostream& out) {
  out << headline(collection.model.file, info) << "\n";
  const Counts total = counts.empty() ? Counts{} : counts.front();
  out << with_separators(total.parameters) << " elements in parameters, " << with_separators(total.buffers)
      << " in buffers\n\n";

  if (const auto inputs = program_inputs(collection); !inputs.empty()) {
    std::vector<Row> rows{{"input", "value"}};
    for (const auto& [name, value, fixed] : inputs) {
      rows.push_back(
          {one_line(name), one_line(value.empty() ? "unknown" : value) + (fixed ? " (fixed)" : "")});
    }
    write_table(out, rows, {false, false});
    out << "\n";
  }
  std::vector<Row> rows{{"module", "type", "own", "total", "status"}};
  for (std::size_t i = 0; i < collection.modules.size(); ++i) {
    const ModuleRecord& module = collection.modules[i];
    const auto depth = module.path.empty() ? 0 : std::count(module.path.begin(), module.path.end(), '.') + 1;
    const std::size_t dot = module.path.rfind('.');
    const std::string name =
        module.path.empty() ? "(root)" : module.path.substr(dot == std::string::npos ? 0 : dot + 1);
    // Indentation stops where a tree gets too deep to be read as one.
    rows.push_back(
        {std::string(2 * static_cast<std::size_t>(std::min<std::ptrdiff_t>(depth, 30)), ' ') + one_line(name),
         module.type.empty() ? "-" : one_line(public_alias(module.type)),
         with_separators(counts[i].own_parameters), with_separators(counts[i].parameters),
         status_text(module)});
  }
  write_table(out, rows, {false, false, true, true, false});
}

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json file_json(const std::string& name, const FileInfo& info) {
  Json json;
  json["format"] = "fxtrace.inspection";
  json["version"] = 1;
  json["file"] = name;
  json["kind"] = to_string(info.kind);
  json["description"] = info.what;
  json["advice"] = info.advice.empty() ? Json(nullptr) : Json(info.advice);
  json["size"] = info.size;
  json["producer_version"] = info.producer_version.empty() ? Json(nullptr) : Json(info.producer_version);
  return json;
}

Json to_json(const FileInfo& info, const GraphCollection& collection, const std::vector<Counts>& counts) {
  Json json = file_json(collection.model.file, info);
  json["type"] = collection.model.type.empty() ? Json(nullptr) : Json(collection.model.type);
  if (const auto inputs = program_inputs(collection); !inputs.empty()) {
    json["inputs"] = Json::array();
    for (const auto& [name, value, fixed] : inputs) {
      json["inputs"].push_back({{"name", name}, {"value", value}, {"fixed", fixed}});
    }
  }
  json["modules"] = Json::array();
  for (std::size_t i = 0; i < collection.modules.size(); ++i) {
    const ModuleRecord& module = collection.modules[i];
    Json item;
    item["path"] = module.path;
    item["type"] = module.type.empty() ? Json(nullptr) : Json(module.type);
    item["status"] = to_string(module.status);
    item["alias_of"] = or_null(module.alias_of);
    item["rule"] = or_null(module.rule);
    item["failure"] = module.failure ? Json(module.failure->message) : Json(nullptr);
    item["parameters"] = {{"own", counts[i].own_parameters}, {"total", counts[i].parameters}};
    item["buffers"] = {{"own", counts[i].own_buffers}, {"total", counts[i].buffers}};
    json["modules"].push_back(std::move(item));
  }
  return json;
}

std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

// Whether the file is at least something; else inspecting it is an error as tracing it is.
bool is_recognised(FileKind kind) {
  return kind != FileKind::kUnknown && kind != FileKind::kEmpty && kind != FileKind::kBrokenZip;
}

// Of an archive that holds several exported programs, when the options name none: all their names.
std::vector<std::string> models_to_choose_from(const InputFile& input, const FileInfo& info,
                                               const TraceOptions& options) {
  if (info.kind != FileKind::kExportedProgram || options.model) return {};
  auto models = with_input(input, [&] { return ExportedArchive(input.path(), info).models(); });
  if (models.size() < 2) models.clear();
  return models;
}

void write_models(const Arguments& arguments, const InputFile& input, const FileInfo& info,
                  const std::vector<std::string>& models, std::ostream& out) {
  if (arguments.json) {
    Json json = file_json(input.base_name(), info);
    json["models"] = models;
    out << dump(json);
    return;
  }
  out << headline(input.base_name(), info) << "\n"
      << "it holds " << models.size() << " models; --model NAME shows one:\n";
  for (const auto& model : models) out << "  " << one_line(model) << "\n";
}

int run(const Arguments& arguments, Console& console) {
  log::set_up(console.err(), {arguments.verbose, console.colour()});
  const Config config = arguments.trace.resolve();
  const InputFile input(arguments.model, console.in());
  FileInfo info = with_input(input, [&] { return identify_file(input.path()); });
  if (!is_recognised(info.kind)) throw input.with_display(not_traceable(info));
  if (!is_traceable(info.kind)) {
    write_stdout(console, [&](std::ostream& out) {
      if (arguments.json) {
        out << dump(file_json(input.base_name(), info));
      } else {
        out << one_line(input.base_name()) << ": " << info.what << "\n";
        if (!info.advice.empty()) out << "to trace it: " << info.advice << "\n";
      }
    });
    return kDone;
  }

  if (const auto models = models_to_choose_from(input, info, config.options); !models.empty()) {
    write_stdout(console, [&](std::ostream& out) { write_models(arguments, input, info, models, out); });
    return kDone;
  }

  const GraphCollection collection = trace_file(input, info, config.options, config.strict, console);
  info.producer_version = collection.model.producer_version;
  const auto counts = count_parameters(collection);
  write_stdout(console, [&](std::ostream& out) {
    if (arguments.json) {
      out << dump(to_json(info, collection, counts));
    } else {
      write_text(info, collection, counts, out);
    }
  });
  const bool failed = std::any_of(collection.modules.begin(), collection.modules.end(),
                                  [](const auto& module) { return module.status == ModuleStatus::kFailed; });
  return config.strict && failed ? kModuleFailed : kDone;
}

}  // namespace

Command make_inspect_command(CLI::App& parent) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* app = parent.add_subcommand(
      "inspect",
      "Show what a file is and, of a model, its modules. Each module with its type, the number of elements "
      "of its own parameters and of all below it, and its status in a trace with these options. Of an archive "
      "with several exported programs their names, unless --model names one.");
  app->footer(
      "  fxtrace inspect model.pt\n"
      "  fxtrace inspect model.pt2 --json --max-depth 2\n");
  app->add_option("MODEL", arguments->model, "the model file, or - for stdin")->required();
  arguments->trace.add_to(*app);

  const char* output = "Output";
  app->add_flag("--json", arguments->json, "JSON instead of text")->group(output);
  app->add_flag("-v,--verbose", arguments->verbose, "say on stderr what is done and how long it takes")
      ->group(output);
  return {app, [arguments](Console& console) { return run(*arguments, console); }};
}

}  // namespace fxtrace::cli
