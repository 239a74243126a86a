#include "exported/verifier/program_verifier.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "archive/content_check.h"
#include "archive/stored_tensors.h"
#include "archive/zip_archive.h"
#include "exported/format/inert_texts.h"
#include "exported/program/encoded_texts.h"
#include "exported/program/exported_archive.h"
#include "exported/program/exported_program.h"
#include "exported/program/graph_reader.h"
#include "exported/program/stack_trace.h"
#include "exported/verifier/call_check.h"
#include "support/error.h"
#include "support/text/identifier.h"
#include "support/text/unicode.h"

namespace fxtrace::internal {
namespace {

using FaultKind = ProgramFaultKind;

constexpr std::size_t kMostFaults = 500;

std::string name_text(std::string_view name) {
  constexpr std::size_t kMost = 100;
  return "'" + cut(name, kMost) + "'";
}

std::string count_text(std::size_t count, const char* one, const char* several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}

std::string tensor_text(const std::string& dtype, const std::vector<std::int64_t>& sizes) {
  std::string text = dtype + "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(sizes[i]);
  return text + "]";
}

std::string meta_text(const Meta& meta) {
  std::string text = meta.dtype_text().value_or("") + "[";
  for (std::size_t i = 0; meta.shape && i < meta.shape->size(); ++i)
    text += (i == 0 ? "" : ",") + (*meta.shape)[i].text();
  return text + "]";
}

// Calls f(name) for each symbol; returns whether the whole text could be parsed.
template <class F>
bool for_each_symbol(const Expression& value, const F& f) {
  if (const SymInt* size = value.size()) {
    for (const std::string& name : size->symbols()) f(name);
    return true;
  }
  if (value.kind() == Expression::Kind::kVerbatim) return false;
  bool is_read = true;
  for (std::size_t i = value.kind() == Expression::Kind::kCall ? 1 : 0; i < value.parts().size(); ++i)
    is_read = for_each_symbol(value.parts()[i], f) && is_read;
  return is_read;
}

using TellFault = std::function<void(ProgramFault)>;

// --- what is in the archive ---

// The sizes of the storages in records that are archives of torch.save.
class PackedStorages {
 public:
  explicit PackedStorages(const ZipArchive& zip) : zip_(zip) {}

  std::optional<std::uint64_t> size(const std::string& record, const std::string& key) {
    const auto [place, is_new] = known_.try_emplace(record);
    if (is_new) {
      const ZipArchive inner(zip_, record);
      for (const ZipArchive::Entry& entry : inner.entries()) {
        const std::size_t at = entry.name.find("data/");
        if (at != std::string::npos) place->second.emplace(entry.name.substr(at + 5), entry.size);
      }
    }
    const auto found = place->second.find(key);
    return found == place->second.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  const ZipArchive& zip_;
  std::unordered_map<std::string, std::unordered_map<std::string, std::uint64_t>> known_;
};

class ArchiveVerifier {
 public:
  ArchiveVerifier(const ExportedArchive& archive, const FileInfo& info, const TellFault& tell)
      : archive_(archive),
        zip_(*info.zip),
        root_(info.root.empty() ? "" : info.root + "/"),
        tell_(tell),
        packed_(zip_) {}

  void run(const ProgramChecks& checks) {
    for (const std::string& model : archive_.models()) tensors(model);
    records();
    if (checks.contents) contents();
  }

 private:
  void add(const std::string& record, const std::string& tensor, const std::string& message) {
    tell_({.kind = FaultKind::kRecord, .message = message, .subject = tensor, .record = record});
  }

  void tensors(const std::string& model) {
    std::map<std::string, std::pair<std::string, std::string>> dtypes;  // by record: a tensor and its dtype
    for (const auto& [name, tensor] : archive_.tensors(model)) {
      const std::string shown = "the tensor " + name_text(name);
      used_.insert(tensor.record);
      if (!zip_.contains(tensor.record)) {
        add(tensor.record, name, "the archive does not have this record of " + shown);
        continue;
      }
      if (tensor.packed) {
        packed(name, tensor);
        continue;
      }
      if (const auto problem = problem_of_size(name, tensor, zip_.size(tensor.record)))
        add(tensor.record, name, *problem);
      const auto [first, is_new] = dtypes.try_emplace(tensor.record, name, tensor.dtype);
      if (!is_new && first->second.second != tensor.dtype) {
        add(tensor.record, name,
            shown + " has dtype " + tensor.dtype + " in the record of " + name_text(first->second.first) +
                ", which has dtype " + first->second.second);
      }
    }
    for (const auto& [name, record] : archive_.objects(model)) {
      used_.insert(record);
      if (!zip_.contains(record))
        add(record, name, "the archive does not have this record of the object " + name_text(name));
    }
  }

  void packed(const std::string& name, const TensorRecord& tensor) {
    const std::vector<StoredTensor> itself{tensor};
    for (const StoredTensor& part : tensor.parts.empty() ? itself : tensor.parts) {
      // In a state_dict the key follows the name of the record.
      const std::string key = part.storage.starts_with(tensor.record + ":")
                                  ? part.storage.substr(tensor.record.size() + 1)
                                  : part.storage;
      if (key == tensor.record) continue;  // not a plain tensor
      const auto size = packed_.size(tensor.record, key);
      const auto problem = size ? problem_of_size(name, part, *size)
                                : std::optional("it does not have the storage " + name_text(key) +
                                                " of the tensor " + name_text(name));
      if (problem) add(tensor.record, name, *problem);
    }
  }

  // Reports records that nothing names: the tensor of such a record was probably given another's.
  void records() {
    for (const ZipArchive::Entry& entry : zip_.entries()) {
      for (const char* folder : {"data/weights/", "data/constants/"}) {
        if (!entry.name.starts_with(root_ + folder) || entry.name.ends_with(".json") ||
            entry.name.ends_with('/') || used_.contains(entry.name) ||
            is_whole(entry.name.substr((root_ + folder).size())))
          continue;
        add(entry.name, "", "no tensor or object of a program uses this record");
      }
    }
  }

  // Returns whether the record has all weights of a program, of which there may be none.
  bool is_whole(const std::string& name) const {
    return std::ranges::any_of(archive_.models(),
                               [&](const std::string& model) { return name == model + ".pt"; });
  }

  void contents() {
    for_each_record(zip_,
                    [&](const ZipArchive& archive, const ZipArchive::Entry& entry, const std::string& name) {
                      if (!archive.is_intact(entry)) add(name, "", kWrongBytes);
                    });
  }

  const ExportedArchive& archive_;
  const ZipArchive& zip_;
  const std::string root_;  // with a slash
  const TellFault& tell_;
  PackedStorages packed_;
  std::unordered_set<std::string> used_;
};

// --- one program ---

class ProgramVerifier {
 public:
  ProgramVerifier(const ExportedProgram& program, const FileInfo& info, const TellFault& tell)
      : program_(program), zip_(*info.zip), tell_(tell), json_(program.json()) {}

  void run() {
    const JsonValue module = json_.at("graph_module");
    ranges();
    graph(program_.graph(), module.at("graph"), "");
    signature();
    if (const auto calls = module.find("module_call_graph")) module_calls(*calls);
    guards();
    sample_inputs();
  }

 private:
  void add(FaultKind kind, const std::string& message, std::optional<std::string> node = {},
           const std::string& graph = "") {
    tell_({.kind = kind, .message = message, .node = std::move(node), .graph = graph});
  }

  // --- ranges ---

  void ranges() {
    const auto constraints = json_.find("range_constraints");
    if (!constraints) return;
    constexpr std::int64_t kNoBound = std::int64_t{1} << 61;
    for (const JsonValue range : constraints->fields()) {
      const Expression of = Expression::parse(range.key());
      const bool is_read = for_each_symbol(of, [&](const std::string& name) { symbols_.insert(name); });
      if (!is_read)
        add(FaultKind::kMeta, "the range of " + name_text(range.key()) + " is not the range of a size");
      const auto bound = [&](const char* key) -> std::optional<std::int64_t> {
        const auto value = range.find(key);
        if (!value || value->kind() != JsonValue::Kind::kInteger) return std::nullopt;
        const std::int64_t number = value->integer();
        return number >= kNoBound || number <= -kNoBound ? std::nullopt : std::optional(number);
      };
      const Range limits{bound("min_val"), bound("max_val")};
      if (limits.low && limits.high && *limits.low > *limits.high)
        add(FaultKind::kMeta, "the range of " + name_text(range.key()) + " is empty: " + to_string(limits));
      else if (const SymInt* size = of.size(); size != nullptr && size->symbol_name())
        dimensions_.narrow(*size->symbol_name(), limits);
    }
  }

  // --- graphs ---

  // The facts that the program states of the values of a graph.
  struct Said {
    std::vector<bool> is_opaque;  // by value: a tensor of another layout than strided
    std::unordered_map<std::string_view, ValueKind> kinds;
  };

  // `is_cast`: autocast is on, under which operators compute in dtypes of their own.
  void graph(const ProgramView& graph, const JsonValue& json, const std::string& place,
             bool is_cast = false) {
    const Said said = metas(graph, json, place);
    CallCheck calls(graph, dimensions_, said.is_opaque);
    std::unordered_set<std::string_view> names;
    auto node = json.at("nodes").items().begin();
    for (const NodeId id : graph.operations()) {
      const Node& operation = graph.node(id);
      const std::string& target = *operation.target;
      const auto tell = [&](FaultKind kind, const std::string& message) {
        tell_({.kind = kind,
               .message = message,
               .subject = target,
               .module = program_.hierarchy().calls()[graph.facts(id).call].path,
               .node = name_of_node(graph, id),
               .graph = place,
               .source = innermost_frame(graph.facts(id).stack_trace.view())});
      };
      const std::string& name = graph.operation_name(id);
      if (!name.empty() && !names.insert(name).second)
        tell(FaultKind::kForm, "two nodes have the name " + name_text(name));
      results(said, *node, tell);
      const bool is_region = target.find("autocast") != std::string::npos;
      if (is_region && graph.count_subgraphs(id) == 0) is_cast = target.find("exit") == std::string::npos;
      calls.check(operation, *node, is_cast, tell);
      std::vector<JsonValue> bodies;
      for (const JsonValue input : (*node).at("inputs").items()) add_bodies(input.at("arg"), bodies);
      std::size_t next = 0;
      graph.for_each_subgraph(id, [&](const std::string& body, const ProgramView& view) {
        if (next < bodies.size()) this->graph(view, bodies[next++], place + ":" + body, is_cast || is_region);
      });
      ++node;
    }
  }

  // Appends the graphs of an argument, in the order in which the reader makes subgraphs of them.
  static void add_bodies(const JsonValue& argument, std::vector<JsonValue>& to) {
    const auto [kind, value] = argument.alternative();
    if (kind == "as_graph") to.push_back(value.at("graph"));
    if (kind != "as_string_to_argument") return;
    for (const JsonValue field : value.fields()) add_bodies(field, to);
  }

  // Checks that the form of each result matches the table that describes the value.
  template <class Tell>
  static void results(const Said& said, const JsonValue& node, const Tell& tell) {
    for (const JsonValue output : node.at("outputs").items()) {
      const auto [form, value] = output.alternative();
      const std::optional<ValueKind> kind = kind_of_form(form);
      if (!kind || value.is_array()) continue;
      const auto named = value_name(output);
      const auto found = named.empty() ? said.kinds.end() : said.kinds.find(named);
      if (found != said.kinds.end() && found->second != *kind)
        tell(FaultKind::kMeta, "its result " + name_text(named) + " has the form " + name_text(form) +
                                   ", but the program describes it as another kind");
    }
  }

  static std::optional<ValueKind> kind_of_form(std::string_view form) {
    if (form == "as_tensor") return ValueKind::kTensor;
    if (form == "as_sym_int") return ValueKind::kInt;
    if (form == "as_sym_float") return ValueKind::kFloat;
    if (form == "as_sym_bool") return ValueKind::kBool;
    return std::nullopt;
  }

  Said metas(const ProgramView& graph, const JsonValue& json, const std::string& place) {
    const std::unordered_map<std::string_view, NodeId> by_name = graph.values_by_name();
    Said said{std::vector<bool>(graph.graph().id_count()), {}};
    const auto each = [&](const char* table, ValueKind kind, auto&& look) {
      const auto values = json.find(table);
      if (!values) return;
      for (const JsonValue field : values->fields()) {
        const std::string name(field.key());
        if (!said.kinds.emplace(field.key(), kind).second)
          add(FaultKind::kMeta, "the program describes the value twice", name, place);
        const auto value = by_name.find(field.key());
        if (value == by_name.end()) {
          add(FaultKind::kMeta, "the program describes this value, which the graph does not have", name,
              place);
          continue;
        }
        look(field, name, value->second);
      }
    };
    each("tensor_values", ValueKind::kTensor,
         [&](const JsonValue& meta, const std::string& name, NodeId value) {
           std::size_t rank = 0, strides = 0;
           for (const JsonValue size : meta.at("sizes").items()) {
             ++rank;
             symbols_of(size, name, place);
           }
           for (const JsonValue stride : meta.at("strides").items()) {
             ++strides;
             symbols_of(stride, name, place);
           }
           constexpr std::int64_t kStrided = 7;
           const bool is_strided = meta.at("layout").integer() == kStrided;
           said.is_opaque[value.index] = !is_strided;
           if (is_strided && rank != strides)
             add(FaultKind::kMeta,
                 "it has " + count_text(rank, "size", "sizes") + " and " +
                     count_text(strides, "stride", "strides"),
                 name, place);
         });
    const auto number = [&](const JsonValue& meta, const std::string& name, NodeId) {
      symbols_of(meta, name, place);
    };
    each("sym_int_values", ValueKind::kInt, number);
    each("sym_float_values", ValueKind::kFloat, number);
    each("sym_bool_values", ValueKind::kBool, number);
    each("custom_obj_values", ValueKind::kOther, [](const JsonValue&, const std::string&, NodeId) {});
    for (const auto& [name, value] : by_name) {
      if (!graph.meta(value).type)
        add(FaultKind::kMeta, "the program does not describe the value", std::string(name), place);
    }
    return said;
  }

  // `size`: {"as_int": 3} or {"as_expr": ...}.
  void symbols_of(const JsonValue& size, const std::string& name, const std::string& place) {
    const auto [form, value] = size.alternative();
    if (form != "as_expr") return;
    const std::string_view text = value.at("expr_str").string();
    const auto [known, is_new] = texts_.try_emplace(text);
    std::optional<std::string>& problem = known->second;
    if (is_new) {
      std::string missing;
      const bool is_read = for_each_symbol(expression_of_sympy(text), [&](const std::string& symbol) {
        if (!symbols_.contains(symbol)) missing = symbol;
      });
      if (!is_read) problem = "it has a size that cannot be parsed: " + cut(text, 100);
      if (!missing.empty()) problem = "it has the symbol " + name_text(missing) + ", which has no range";
    }
    if (problem) add(FaultKind::kMeta, *problem, name, place);
  }

  // --- what it takes and gives ---

  void signature() {
    const GraphSignature& signature = program_.signature();
    const ProgramView graph = program_.graph();
    const auto tensors = program_.archive().tensors(program_.name());
    const auto objects = program_.archive().objects(program_.name());
    std::unordered_set<std::string_view> names, targets;
    std::unordered_set<std::string_view> buffers, parameters, inputs;
    for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
      const GraphSignature::Entry& entry = signature.inputs[i];
      const NodeId value = program_.inputs()[i];
      const auto wrong = [&](const std::string& message) { add(FaultKind::kSignature, message, entry.name); };
      if (graph.node(value).args.empty() && entry.name != graph.value_name(value))
        wrong("the signature names it as an input, but the graph has " + name_text(graph.value_name(value)) +
              " at its position");
      if (!entry.name.empty() && !names.insert(entry.name).second)
        wrong("the signature names it twice as an input");
      if (entry.role == SignatureRole::kUserInput) inputs.insert(entry.name);
      if (!entry.target) continue;
      if (entry.role == SignatureRole::kParameter) parameters.insert(*entry.target);
      if (entry.role == SignatureRole::kBuffer) buffers.insert(*entry.target);
      if (!targets.insert(*entry.target).second)
        wrong("its target " + name_text(*entry.target) + " is already the target of another input");
      if (entry.role == SignatureRole::kCustomObject) {
        if (!objects.contains(*entry.target) && !tensors.contains(*entry.target)) missing(entry, "object");
      } else {
        lifted(entry, graph.meta(value), tensors);
      }
    }
    std::unordered_set<std::string_view> changed;
    const std::vector<Argument> outputs = graph.outputs();
    for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
      const GraphSignature::Entry& entry = signature.outputs[i];
      const Argument& output = outputs[i];
      const auto* value = output.get_if<NodeId>();
      const std::string name = value == nullptr ? "" : graph.value_name(*value);
      const auto wrong = [&](const std::string& message) { add(FaultKind::kSignature, message, entry.name); };
      if (value != nullptr && entry.name != name)
        wrong("the signature names it as an output, but the graph has " + name_text(name) +
              " at its position");
      if (value == nullptr &&
          (!entry.value || items_of(output) != nullptr || constant_argument(output) != *entry.value))
        wrong("the signature and the graph have different constants among the outputs");
      if (!entry.target) continue;
      const auto& known =
          entry.role == SignatureRole::kUserInputMutation || entry.role == SignatureRole::kGradientToUserInput
              ? inputs
              : (entry.role == SignatureRole::kBufferMutation ? buffers : parameters);
      if (!known.contains(*entry.target))
        wrong("it changes " + name_text(*entry.target) + ", which is not an input of the program");
      if (!changed.insert(*entry.target).second)
        wrong("its target " + name_text(*entry.target) + " is already changed by another output");
    }
  }

  void missing(const GraphSignature::Entry& entry, const char* what) {
    add(FaultKind::kSignature, std::string("the archive has no ") + what + " " + name_text(*entry.target),
        entry.name);
  }

  void lifted(const GraphSignature::Entry& entry, const Meta& meta,
              const std::map<std::string, TensorRecord>& tensors) {
    const auto found = tensors.find(*entry.target);
    if (found == tensors.end()) return missing(entry, "tensor");
    const TensorRecord& tensor = found->second;
    const auto wrong = [&](const std::string& message) {
      tell_(
          {.kind = FaultKind::kSignature, .message = message, .subject = *entry.target, .node = entry.name});
    };
    const bool is_parameter = entry.role == SignatureRole::kParameter;
    if (tensor.is_parameter != is_parameter && entry.role != SignatureRole::kConstantTensor)
      wrong("it is a " + std::string(is_parameter ? "parameter" : "buffer") + ", but the archive has it as " +
            (is_parameter ? "a buffer" : "a parameter"));
    if (!meta.type || !tensor.parts.empty()) return;
    bool fits = meta.kind() == ValueKind::kTensor && meta.dtype_text() == tensor.dtype && meta.shape &&
                meta.shape->size() == tensor.sizes.size();
    for (std::size_t i = 0; fits && i < tensor.sizes.size(); ++i)
      fits = (*meta.shape)[i].number() == tensor.sizes[i];
    if (!fits)
      wrong("the program says that it is " + meta_text(meta) + ", but " + name_text(*entry.target) +
            " in the archive is " + tensor_text(tensor.dtype, tensor.sizes));
  }

  // --- modules, and how values are nested ---

  void module_calls(const JsonValue& calls) {
    std::unordered_set<std::string_view> paths;
    for (const JsonValue call : calls.items()) {
      const std::string_view path = call.at("fqn").string();
      const auto wrong = [&](FaultKind kind, const std::string& message) {
        tell_({.kind = kind, .message = message, .module = std::string(path.substr(0, path.find('@')))});
      };
      if (paths.empty() && !path.empty()) wrong(FaultKind::kModule, "the first module is not the root");
      if (!paths.insert(path).second) wrong(FaultKind::kModule, "the module is listed twice");
      const auto signature = call.find("signature");
      if (!signature) continue;
      if (path.empty()) {
        root_call(*signature, wrong);
        continue;
      }
      for (const auto& [spec, values] : {std::pair("in_spec", "inputs"), std::pair("out_spec", "outputs")}) {
        std::size_t count = 0;
        for (const JsonValue value : signature->at(values).items()) {
          static_cast<void>(value);
          ++count;
        }
        const std::size_t leaves = TreeSpec::parse(signature->at(spec).string(), spec).leaves;
        if (leaves != count)
          wrong(FaultKind::kModule, std::string(spec) + " has " + count_text(leaves, "leaf", "leaves") +
                                        ", but the call has " + std::to_string(count));
      }
    }
  }

  template <class Tell>
  void root_call(const JsonValue& signature, const Tell& wrong) {
    const auto hold = [&](const char* spec, std::size_t count, const char* what) -> std::optional<TreeSpec> {
      const auto text = signature.find(spec);
      if (!text || text->string().empty()) return std::nullopt;
      TreeSpec tree = TreeSpec::parse(text->string(), spec);
      if (tree.leaves != count)
        wrong(FaultKind::kSignature, std::string(spec) + " has " + count_text(tree.leaves, "leaf", "leaves") +
                                         ", but the program has " + std::to_string(count) + " " + what);
      return tree;
    };
    const auto count = [](const std::vector<GraphSignature::Entry>& entries, auto&& is_meant) {
      return static_cast<std::size_t>(std::ranges::count_if(entries, is_meant));
    };
    const auto inputs = hold("in_spec",
                             count(program_.signature().inputs,
                                   [](const auto& entry) { return entry.role == SignatureRole::kUserInput; }),
                             "inputs");
    // The gradients of a joint graph are not part of forward's result.
    hold("out_spec",
         count(program_.signature().outputs, [](const auto& entry) { return is_user_output(entry.role); }),
         "outputs");
    if (inputs && inputs->children.size() != 2)
      wrong(FaultKind::kSignature, "in_spec is not a pair of positional and keyword arguments");
    const auto names = signature.find("forward_arg_names");
    if (!inputs || inputs->children.size() != 2 || !names) return;
    std::size_t listed = 0;
    for (const JsonValue name : names->items()) {
      arguments_.emplace_back(name.string());
      ++listed;
    }
    if (listed < inputs->children[0].children.size())
      wrong(FaultKind::kSignature,
            "forward_arg_names has " + count_text(listed, "name", "names") + " for " +
                count_text(inputs->children[0].children.size(), "argument", "arguments"));
    for (const Argument& key : inputs->children[1].keys) {
      if (const auto* name = key.get_if<std::string>()) arguments_.push_back(*name);
    }
  }

  // --- guards ---

  // Checks the guards on inputs, which use the names of forward's arguments: L['x'].size()[0] <= 64.
  void guards() {
    const auto code = json_.find("guards_code");
    if (!code) return;
    std::size_t next = 0;
    for (const JsonValue guard : code->items()) {
      const std::string_view text = guard.string();
      const std::string shown = cut(text, 200);
      const std::size_t at = next++;
      const Expression& read = program_.conditions().at(at);
      if (read.kind() == Expression::Kind::kVerbatim && !is_identifier(read.text()))
        add(FaultKind::kMeta, "the guard cannot be parsed: " + shown);
      constexpr std::string_view kLocal = "L['";
      for (std::size_t from = text.find(kLocal); from != std::string_view::npos;
           from = text.find(kLocal, from + 1)) {
        const std::size_t begin = from + kLocal.size();
        const std::string name(text.substr(begin, text.find('\'', begin) - begin));
        // The arguments of *name are name_0, name_1, ...
        const bool is_known = std::ranges::any_of(arguments_, [&](const std::string& argument) {
          return argument == name || argument.starts_with(name + "_");
        });
        if (!is_known)
          add(FaultKind::kMeta,
              "the guard is about " + name_text(name) + ", which is not an input: " + shown);
      }
    }
  }

  // --- example inputs ---

  void sample_inputs() {
    const std::string record = program_.archive().example_inputs_record(program_.name());
    if (!zip_.contains(record) || zip_.size(record) == 0) return;
    const auto wrong = [&](const std::string& message) {
      tell_({.kind = FaultKind::kSignature, .message = message, .record = record});
    };
    std::optional<std::vector<std::optional<StoredTensor>>> leaves;
    try {
      if (auto problem = problem_of_example_inputs(read_saved_pickle(zip_, record))) wrong(*problem);
      leaves = read_saved_leaves(zip_, record);
    } catch (const Error& error) {
      return wrong(error.what());
    }
    if (!leaves || leaves->empty()) return;  // nested in an object that torch must build, or left out
    const GraphSignature& signature = program_.signature();
    std::vector<std::size_t> inputs;
    for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
      if (signature.inputs[i].role == SignatureRole::kUserInput) inputs.push_back(i);
    }
    if (leaves->size() != inputs.size())
      return wrong("there are " + count_text(leaves->size(), "example input", "example inputs") +
                   ", but the program takes " + std::to_string(inputs.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const NodeId value = program_.inputs()[inputs[i]];
      const Meta& meta = program_.graph().meta(value);
      const std::optional<StoredTensor>& given = (*leaves)[i];
      if (meta.kind() != ValueKind::kTensor) continue;
      bool fits = given && meta.dtype_text() == given->dtype && meta.shape &&
                  meta.shape->size() == given->sizes.size();
      for (std::size_t d = 0; fits && d < given->sizes.size(); ++d) {
        const SymInt* said = (*meta.shape)[d].size();
        fits =
            said == nullptr || dimensions_.decide(Relation::kEqual, *said, SymInt(given->sizes[d])) != false;
      }
      if (!fits)
        wrong("the example of the input " + name_text(program_.graph().value_name(value)) + " is " +
              (given ? tensor_text(given->dtype, given->sizes) : "not a tensor") +
              ", but the program takes " + meta_text(meta));
    }
  }

  const ExportedProgram& program_;
  const ZipArchive& zip_;
  const TellFault& tell_;
  const JsonValue json_;
  ShapeEnv dimensions_;
  std::set<std::string, std::less<>> symbols_;                              // the symbols that have a range
  std::unordered_map<std::string_view, std::optional<std::string>> texts_;  // by size's text: its problem
  std::vector<std::string> arguments_;                                      // names of forward's arguments
};

}  // namespace

std::vector<ProgramFault> verify_programs(const FileInfo& info, const ProgramChecks& checks) {
  std::vector<ProgramFault> faults;
  const ExportedArchive archive(info);
  const auto guarded = [&](const std::string& model, auto&& look) {
    const TellFault tell = [&](ProgramFault fault) {
      if (archive.models().size() > 1 && !model.empty())
        fault.message = "the program " + name_text(model) + ": " + fault.message;
      if (faults.size() < kMostFaults) faults.push_back(std::move(fault));
    };
    try {
      look(tell);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInput) throw;
      tell({.kind = FaultKind::kForm, .message = error.what()});
    }
  };
  guarded("", [&](const TellFault& tell) { ArchiveVerifier(archive, info, tell).run(checks); });
  for (const std::string& model : archive.models()) {
    guarded(model, [&](const TellFault& tell) {
      const ExportedProgram program(info, model);
      check_texts(program.json(), [&](const TextFault& fault) {
        tell({.kind = FaultKind::kForm,
              .message = fault.place + ": " + fault.why,
              .module = fault.module,
              .node = fault.node.empty() ? std::nullopt : std::optional(fault.node)});
      });
      for (const std::string& record : archive.configurations(model)) {
        check_texts(archive.read_configuration(record).root(), [&](const TextFault& fault) {
          tell({.kind = FaultKind::kRecord, .message = fault.place + ": " + fault.why, .record = record});
        });
      }
      ProgramVerifier(program, info, tell).run();
    });
  }
  return faults;
}

}  // namespace fxtrace::internal
