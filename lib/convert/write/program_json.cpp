#include "convert/write/program_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "convert/lower/written_program.h"
#include "exported/program/graph_reader.h"
#include "operators/operators.h"
#include "support/json_emitter.h"
#include "symbolic/expression_text.h"

namespace fxtrace::internal {
namespace {

constexpr std::int64_t kStrided = 7;                   // Layout
constexpr std::int64_t kPositional = 1, kKeyword = 2;  // ArgumentKind

// Writes a program as torch.export does, with the field names of schema.py.  Lowering has refused everything
// that has no form there (lowering.h).
class ProgramWriter {
 public:
  ProgramWriter(const WrittenProgram& program, JsonEmitter& json) : program_(program), json_(json) {
    for (const auto& [name, symbol] : program.symbols) {
      if (symbol.hint) hints_.emplace(name, *symbol.hint);
    }
    std::unordered_set<std::string_view> trained;
    for (const WrittenTensor& weight : program.weights) {
      if (weight.requires_grad) trained.insert(weight.name);
    }
    for (const GraphSignature::Entry& input : program.signature.inputs) {
      if (input.target && trained.contains(*input.target)) trained_.insert(input.node.index);
    }
  }

  void program() {
    json_.key("graph_module").object([&] {
      json_.key("graph").object([&] { graph(program_.graph.view()); });
      json_.key("signature").object([&] { signature(); });
      // Only here does the file name modules without operations.
      json_.key("module_call_graph").list(program_.modules, [&](const std::string& path) {
        path.empty() ? root_call() : json_.object([&] {
          json_.field("fqn", path);
          json_.key("signature").null();
        });
      });
      json_.key("metadata").object([] {});
      json_.key("treespec_namedtuple_fields").object([] {});
    });
    // The newest version of operators on which torch 2.9 to 2.15 agree (_get_max_operator_version()).
    json_.key("opset_version").object([&] { json_.field("aten", 10); });
    json_.key("range_constraints").object([&] {
      for (const auto& [name, symbol] : program_.symbols) {
        json_.key(symbol.name).object([&] {
          json_.field("min_val", symbol.range.low);
          json_.field("max_val", symbol.range.high);
        });
      }
    });
    json_.key("schema_version").object([&] {
      json_.field("major", kProgramSchemaMajor);
      json_.field("minor", kProgramSchemaMinor);
    });
    json_.field("verifiers", std::array{program_.is_functional ? "ATEN" : "TRAINING"});
    json_.field("torch_version", "<unknown>");
    json_.field("guards_code", program_.guards);
  }

  void tensor_places(const std::vector<WrittenTensor>& tensors,
                     const std::function<std::string(const WrittenTensor&)>& path_of) {
    json_.key("config").object([&] {
      for (const WrittenTensor& tensor : tensors) {
        json_.key(tensor.name).object([&] {
          json_.field("path_name", path_of(tensor));
          json_.field("is_param", tensor.is_parameter);
          json_.field("use_pickle", false);
          json_.key("tensor_meta").object([&] {
            json_.field("dtype", dtype_number(tensor.dtype));
            sizes("sizes", {tensor.shape.begin(), tensor.shape.end()});
            json_.field("requires_grad", tensor.requires_grad);
            device(tensor.device);
            sizes("strides", {tensor.stride.begin(), tensor.stride.end()});
            json_.key("storage_offset").object([&] { json_.field("as_int", tensor.storage_offset); });
            json_.field("layout", kStrided);
          });
        });
      }
    });
  }

 private:
  std::string symbol_text(const std::string& name) const {
    const auto found = program_.symbols.find(name);
    const std::string& symbol = found == program_.symbols.end() ? name : found->second.name;
    return srepr_symbol(symbol, symbol.starts_with('s'));
  }

  // --- values ---

  void expression(const Expression& value, std::string_view kind_of_hint) {
    json_.key("as_expr").object([&] {
      json_.field("expr_str",
                  srepr(value, [&](const std::string& name) { return symbol_text(name); }).value_or(""));
      json_.key("hint");
      const auto hint = kind_of_hint == "as_int" ? hint_of(value) : std::nullopt;
      hint ? json_.object([&] { json_.field(kind_of_hint, *hint); }) : json_.null();
    });
  }

  std::optional<std::int64_t> hint_of(const Expression& value) const {
    return value.size() == nullptr ? std::nullopt : value.size()->evaluate(hints_);
  }

  void size(const Expression& value) {
    json_.object([&] {
      if (const auto number = value.number())
        json_.field("as_int", *number);
      else
        expression(value, "as_int");
    });
  }
  void sizes(const char* name, const std::vector<Expression>& values) {
    json_.key(name).list(values, [&](const Expression& value) { size(value); });
  }

  void device(const std::string& name) {
    json_.key("device").object([&] {
      const std::size_t colon = name.find(':');
      json_.field("type", name.empty() ? "cpu" : name.substr(0, colon));
      json_.key("index");
      colon == std::string::npos ? json_.null() : json_.raw(name.substr(colon + 1));
    });
  }

  void tensor(const Meta& meta, const std::vector<Expression>& strides, bool requires_grad) {
    json_.field("dtype", dtype_number(dtype_name(*meta.dtype)));
    sizes("sizes", *meta.shape);
    json_.field("requires_grad", requires_grad);
    device(meta.device_or_cpu().text());
    sizes("strides", strides);
    json_.key("storage_offset").object([&] { json_.field("as_int", 0); });
    json_.field("layout", kStrided);
  }

  void values(const ProgramView& graph) {
    const auto table = [&](const char* name, ValueKind kind, auto&& write) {
      json_.key(name).object([&] {
        for_each_made_value(graph, [&](NodeId id) {
          const Meta& meta = graph.meta(id);
          if (meta.kind() == kind) json_.key(graph.value_name(id)).object([&] { write(meta, id); });
        });
      });
    };
    const auto numbers = [&](const char* name, ValueKind kind, const char* kind_of_hint) {
      table(name, kind, [&](const Meta& meta, NodeId) { expression(*meta.value, kind_of_hint); });
    };
    const bool is_root = &graph.module_graph() == &program_.graph.module_graph;
    table("tensor_values", ValueKind::kTensor, [&](const Meta& meta, NodeId id) {
      tensor(meta, graph.table().strides.at(id.index), is_root && trained_.contains(id.index));
    });
    numbers("sym_int_values", ValueKind::kInt, "as_int");
    numbers("sym_bool_values", ValueKind::kBool, "as_bool");
    json_.field("is_single_tensor_return", graph.has_single_output());
    json_.key("custom_obj_values").object([] {});
    numbers("sym_float_values", ValueKind::kFloat, "as_float");
  }

  // --- arguments ---

  void real(double value) {
    if (std::isnan(value)) return json_.string("NaN");
    if (std::isinf(value)) return json_.string(value > 0 ? "Infinity" : "-Infinity");
    json_.real(value);
  }

  // Returns the name of the field of schema.py for a value of this kind: "as_tensor".
  static const char* form_of(ValueKind kind, bool is_list) {
    switch (kind) {
      case ValueKind::kInt:
        return is_list ? "as_sym_ints" : "as_sym_int";
      case ValueKind::kFloat:
        return is_list ? "as_sym_floats" : "as_sym_float";
      case ValueKind::kBool:
        return is_list ? "as_sym_bools" : "as_sym_bool";
      default:
        return is_list ? "as_tensors" : "as_tensor";
    }
  }

  template <class T>
  static const T& item_as(const Argument& item, const char* kind) {
    const T* found = item.get_if<T>();
    if (found == nullptr)
      throw input_error(std::string("a list of the program has an item that is no ") + kind);
    return *found;
  }

  void value(const ProgramView& graph, NodeId value) {
    const bool is_tensor = graph.meta(value).kind() == ValueKind::kTensor;
    json_.object([&] { json_.field(is_tensor ? "name" : "as_name", graph.value_name(value)); });
  }

  // `type` is null if no schema is known, and `operation` if it is no argument of one.
  void argument(const Argument& argument, const ProgramView& graph, const SchemaType* type = nullptr,
                const Node* operation = nullptr) {
    const std::string_view wanted = type == nullptr ? std::string_view() : type->required().name;
    json_.object([&] {
      std::visit(
          [&](const auto& given) {
            using T = std::decay_t<decltype(given)>;
            if constexpr (std::is_same_v<T, NodeId>) {
              json_.key(form_of(graph.meta(given).kind(), false));
              value(graph, given);
            } else if constexpr (std::is_same_v<T, bool>) {
              json_.field("as_bool", given);
            } else if constexpr (std::is_same_v<T, std::int64_t>) {
              if (wanted == "float")
                json_.field("as_float", static_cast<double>(given));
              else
                json_.field("as_int", given);
            } else if constexpr (std::is_same_v<T, double>) {
              json_.key("as_float");
              real(given);
            } else if constexpr (std::is_same_v<T, std::complex<double>>) {
              json_.key("as_complex").object([&] {
                json_.key("real");
                real(given.real());
                json_.key("imag");
                real(given.imag());
              });
            } else if constexpr (std::is_same_v<T, std::string>) {
              json_.field("as_string", given);
            } else if constexpr (std::is_same_v<T, Argument::Dtype>) {
              json_.field("as_scalar_type", dtype_number(given.name));
            } else if constexpr (std::is_same_v<T, Argument::Device>) {
              json_.key("as_device");
              json_.object([&] { device_fields(given.name); });
            } else if constexpr (std::is_same_v<T, Argument::Layout>) {
              json_.field("as_layout", layout_number(given.name));
            } else if constexpr (std::is_same_v<T, Argument::MemoryFormat>) {
              json_.field("as_memory_format", memory_format_number(given.name));
            } else if constexpr (std::is_same_v<T, Argument::GraphRef>) {
              json_.key("as_graph").object([&] { subgraph(given.name, graph); });
            } else if constexpr (std::is_same_v<T, Argument::Function>) {
              json_.field("as_operator", full_target(given.name));
            } else if constexpr (std::is_same_v<T, Argument::List> || std::is_same_v<T, Argument::Tuple>) {
              const bool is_operands =
                  operation != nullptr && target_parts(*operation).kind == TargetKind::kHigherOrder;
              list(given.items, type == nullptr ? nullptr : &type->required(), graph, is_operands);
            } else {
              json_.field("as_none", true);  // no operator takes any other kind
            }
          },
          argument.value);
    });
  }

  void device_fields(const std::string& name) {
    const std::size_t colon = name.find(':');
    json_.field("type", name.substr(0, colon));
    json_.key("index");
    colon == std::string::npos ? json_.null() : json_.raw(name.substr(colon + 1));
  }

  void list(const std::vector<Argument>& items, const SchemaType* type, const ProgramView& graph,
            bool is_operands) {
    const SchemaType* element = type != nullptr && type->is_list() ? &type->parts.front() : nullptr;
    const std::string_view wanted = element == nullptr ? std::string_view() : element->required().name;
    const auto kind_of = [&](const Argument& item) {
      const auto* id = item.get_if<NodeId>();
      return id == nullptr ? ValueKind::kOther : graph.meta(*id).kind();
    };
    const auto is_any = [&](auto&& holds) { return std::ranges::any_of(items, holds); };
    const bool has_values = is_any([](const Argument& item) { return item.is<NodeId>(); });
    if (element != nullptr && element->is_optional() && wanted == "Tensor") {
      return json_.key("as_optional_tensors").list(items, [&](const Argument& item) {
        json_.object([&] {
          if (item.is<NodeId>()) {
            json_.key("as_tensor");
            value(graph, value_of(item));
          } else {
            json_.field("as_none", true);
          }
        });
      });
    }
    if (has_values) {
      const auto first = std::ranges::find_if(items, [](const Argument& item) { return item.is<NodeId>(); });
      // Operands of control flow are one list of tensors and integers, which is written as a list of tensors.
      const bool has_tensors =
          is_any([&](const Argument& item) { return kind_of(item) == ValueKind::kTensor; });
      const ValueKind kind = has_tensors || is_operands ? ValueKind::kTensor : kind_of(*first);
      return json_.key(form_of(kind, true)).list(items, [&](const Argument& item) {
        if (item.is<NodeId>()) {
          return json_.object([&] {
            json_.field(kind == ValueKind::kTensor ? "name" : "as_name", graph.value_name(value_of(item)));
          });
        }
        json_.object([&] {
          if (const auto* number = item.get_if<std::int64_t>()) json_.field("as_int", *number);
          if (const auto* number = item.get_if<double>()) {
            json_.key("as_float");
            real(*number);
          }
          if (const auto* flag = item.get_if<bool>()) json_.field("as_bool", *flag);
        });
      });
    }
    if (wanted == "Tensor" || is_operands) return json_.key("as_tensors").list(items, [](const Argument&) {});
    if (wanted == "str" || is_any([](const Argument& item) { return item.is<std::string>(); }))
      return json_.key("as_strings").list(items, [&](const Argument& item) {
        json_.string(item_as<std::string>(item, "text"));
      });
    if (wanted == "bool" || is_any([](const Argument& item) { return item.is<bool>(); }))
      return json_.key("as_bools").list(items, [&](const Argument& item) {
        json_.boolean(item_as<bool>(item, "bool"));
      });
    if (wanted == "float" || is_any([](const Argument& item) { return item.is<double>(); }))
      return json_.key("as_floats").list(items, [&](const Argument& item) {
        const auto* whole = item.get_if<std::int64_t>();
        real(whole != nullptr ? static_cast<double>(*whole) : item_as<double>(item, "number"));
      });
    json_.key("as_ints").list(
        items, [&](const Argument& item) { json_.integer(item_as<std::int64_t>(item, "integer")); });
  }

  void subgraph(const std::string& name, const ProgramView& around) {
    const auto found = around.find_subgraph(name);
    if (!found) throw input_error("the program has no subgraph " + name);
    json_.field("name", name);
    json_.key("graph").object([&] { graph(*found); });
  }

  // --- operations ---

  static std::string full_target(const std::string& target) {
    const TargetParts parts = parse_target(target);
    if (parts.kind == TargetKind::kPython) return (parts.space == "operator" ? "_" : "") + target;
    return "torch.ops." + target;
  }

  void operation(const ProgramView& graph, NodeId id) {
    const Node& operation = graph.node(id);
    const ProgramNode& facts = graph.facts(id);
    const std::optional<Schema> schema = program_.schema_of(*operation.target, facts.op);
    const bool is_higher_order = target_parts(operation).kind == TargetKind::kHigherOrder;
    json_.field("target", full_target(*operation.target));
    json_.key("inputs");
    json_.open('[');
    const auto input = [&](const std::string& name, const Argument& given, const SchemaType* type,
                           std::int64_t kind) {
      json_.item();
      json_.object([&] {
        json_.field("name", name);
        json_.key("arg");
        argument(given, graph, type, &operation);
        json_.field("kind", kind);
      });
    };
    for (std::size_t i = 0; i < operation.args.size(); ++i) {
      const SchemaArgument* formal = schema && i < schema->arguments.size() ? &schema->arguments[i] : nullptr;
      const std::string name = is_higher_order ? "" : formal != nullptr ? formal->name : i == 0 ? "a" : "b";
      input(name, operation.args[i], formal == nullptr ? nullptr : &formal->type, kPositional);
    }
    for (const auto& [name, given] : operation.kwargs) {
      const SchemaArgument* formal = schema ? schema->find_formal(name) : nullptr;
      input(name, given, formal == nullptr ? nullptr : &formal->type, kKeyword);
    }
    json_.close(']');
    json_.key("outputs");
    const bool gives_list = schema && schema->results.size() == 1 && schema->results.front().is_list();
    outputs(graph, id, gives_list);
    json_.key("metadata").object([&] {
      if (!facts.stack_trace.empty()) json_.field("stack_trace", facts.stack_trace.view());
      json_.field("nn_module_stack", checked_at(program_.stacks, facts.call, "calls of modules"));
    });
    json_.key("is_hop_single_tensor_return");
    is_higher_order ? json_.boolean(facts.gives_value) : json_.null();
    json_.field("name", graph.operation_name(id));
  }

  // Writes the outputs.  Those that are items of an item form a list; an item that no node takes is None.
  void outputs(const ProgramView& graph, NodeId operation, bool gives_list) {
    json_.open('[');
    const auto write = [&](const Argument& output) {
      json_.item();
      argument(output, graph);
    };
    const auto write_list = [&](auto begin, auto end) {
      json_.item();
      json_.object([&] {
        json_.key(form_of(graph.meta(begin->value).kind(), true));
        json_.open('[');
        for (; begin != end; ++begin) {
          json_.item();
          value(graph, begin->value);
        }
        json_.close(']');
      });
    };
    const std::vector<ProgramResult> all = graph.results(operation);
    if (graph.facts(operation).gives_value) {
      write(operation);
    } else if (gives_list) {
      if (!all.empty()) write_list(all.begin(), all.end());
    } else {
      const auto& items = graph.meta(operation).items;
      auto at = all.begin();
      for (std::size_t i = 0; items && i < items->size(); ++i) {
        const auto end = std::find_if(at, all.end(), [&](const ProgramResult& result) {
          return result.path.front() != static_cast<std::int64_t>(i);
        });
        if (at == end && !(*items)[i].items)
          write(Argument());
        else if (at != end)
          at->path.size() > 1 ? write_list(at, end) : write(at->value);
        at = end;
      }
    }
    json_.close(']');
  }

  void graph(const ProgramView& graph) {
    json_.key("inputs").list(graph.inputs(), [&](NodeId input) {
      const std::vector<Argument>& fixed = graph.node(input).args;
      argument(fixed.empty() ? input : fixed.front(), graph);
    });
    json_.key("outputs").list(graph.outputs(), [&](const Argument& output) { argument(output, graph); });
    json_.key("nodes").list(graph.operations(),
                            [&](NodeId each) { json_.object([&] { operation(graph, each); }); });
    values(graph);
  }

  // --- signature ---

  void signature() {
    const ProgramView graph = program_.graph.view();
    json_.key("input_specs").list(program_.signature.inputs, [&](const GraphSignature::Entry& entry) {
      json_.object([&] { input_spec(graph, entry); });
    });
    std::size_t i = 0;
    json_.key("output_specs").list(graph.outputs(), [&](const Argument& output) {
      const auto& entry = checked_at(program_.signature.outputs, i++, "outputs in the signature");
      json_.object([&] { output_spec(graph, entry, output); });
    });
  }

  void output_spec(const ProgramView& graph, const GraphSignature::Entry& entry, const Argument& output) {
    const auto mutation = [&](const char* role, const char* name) {
      json_.key(role).object([&] {
        json_.key("arg");
        value(graph, value_of(output));
        json_.field(name, *entry.target);
      });
    };
    switch (entry.role) {
      case SignatureRole::kParameterMutation:
        return mutation("parameter_mutation", "parameter_name");
      case SignatureRole::kBufferMutation:
        return mutation("buffer_mutation", "buffer_name");
      case SignatureRole::kUserInputMutation:
        return mutation("user_input_mutation", "user_input_name");
      default:
        json_.key("user_output").object([&] {
          json_.key("arg");
          argument(output, graph);
        });
    }
  }

  void input_spec(const ProgramView& graph, const GraphSignature::Entry& entry) {
    const auto lifted = [&](const char* role, const char* name) {
      json_.key(role).object([&] {
        json_.key("arg").object([&] { json_.field("name", entry.name); });
        json_.field(name, *entry.target);
        if (entry.role == SignatureRole::kBuffer) json_.field("persistent", entry.persistent.value_or(true));
      });
    };
    switch (entry.role) {
      case SignatureRole::kParameter:
        return lifted("parameter", "parameter_name");
      case SignatureRole::kBuffer:
        return lifted("buffer", "buffer_name");
      case SignatureRole::kConstantTensor:
        return lifted("tensor_constant", "tensor_constant_name");
      default:
        break;
    }
    json_.key(entry.value ? "constant_input" : "user_input").object([&] {
      if (entry.value) json_.field("name", entry.name);
      json_.key(entry.value ? "value" : "arg");
      argument(entry.value.value_or(entry.node), graph);
    });
  }

  void root_call() {
    json_.object([&] {
      json_.field("fqn", "");
      json_.key("signature").object([&] {
        // Empty, as in torch.export for the root: names would have to follow the graph through every pass.
        json_.key("inputs").list(std::array<int, 0>{}, [](int) {});
        json_.key("outputs").list(std::array<int, 0>{}, [](int) {});
        json_.field("in_spec", tree_text(program_.in_spec));
        json_.field("out_spec", tree_text(program_.out_spec));
        json_.field("forward_arg_names", program_.arguments);
      });
    });
  }

  const WrittenProgram& program_;
  JsonEmitter& json_;
  std::map<std::string, std::int64_t> hints_;
  std::unordered_set<std::uint32_t> trained_;  // values of the root's graph that need a gradient
};

}  // namespace

void write_program_json(const WrittenProgram& program, std::ostream& out) {
  JsonEmitter json(out);
  json.object([&] { ProgramWriter(program, json).program(); });
  json.flush();
}

void write_tensor_places(const std::vector<WrittenTensor>& tensors,
                         const std::function<std::string(const WrittenTensor&)>& path_of, std::ostream& out) {
  JsonEmitter json(out);
  static const WrittenProgram none;
  json.object([&] { ProgramWriter(none, json).tensor_places(tensors, path_of); });
  json.flush();
}

}  // namespace fxtrace::internal
