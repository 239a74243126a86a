#include "graph/analysis/text_form.h"

#include <charconv>
#include <cmath>

#include "support/text/numbers.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\x" + hexadecimal(byte, 2);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string double_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// Appends to one text, so that deeply nested values are not copied at every level.
class Printer {
 public:
  Printer(const Graph& graph, std::string& out, std::size_t most = SIZE_MAX)
      : graph_(graph), out_(out), most_(most) {}

  void operator()(const Argument& argument) const {
    if (!is_full()) std::visit(*this, argument.value);
  }

  void operator()(Argument::None) const { out_ += "None"; }
  void operator()(bool value) const { out_ += value ? "True" : "False"; }
  void operator()(std::int64_t value) const { out_ += std::to_string(value); }
  void operator()(double value) const { out_ += double_text(value); }
  void operator()(const std::complex<double>& value) const {
    out_ += "complex(" + double_text(value.real()) + ", " + double_text(value.imag()) + ")";
  }
  void operator()(const std::string& value) const { out_ += quoted(value); }
  void operator()(const Argument::List& list) const { items("[", list.items, "]"); }
  void operator()(const Argument::Tuple& tuple) const {
    if (tuple.names != nullptr) return named_tuple(tuple);
    items("(", tuple.items, tuple.items.size() == 1 ? ",)" : ")");
  }
  void operator()(const Argument::Dict& dict) const {
    out_ += '{';
    for (std::size_t i = 0; i < dict.items.size() && !is_full(); ++i) {
      if (i != 0) out_ += ", ";
      (*this)(dict.items[i].key);
      out_ += ": ";
      (*this)(dict.items[i].value);
    }
    out_ += '}';
  }
  void operator()(const Argument::Slice& slice) const { items("slice(", slice.parts, ")"); }
  void operator()(NodeId id) const { out_ += "%" + graph_.node(id).name; }
  void operator()(const Argument::Dtype& dtype) const { call("dtype", dtype.name); }
  void operator()(const Argument::Device& device) const { call("device", device.name); }
  void operator()(const Argument::Layout& layout) const { call("layout", layout.name); }
  void operator()(const Argument::MemoryFormat& format) const { call("memory_format", format.name); }
  void operator()(const Argument::Function& function) const { call("function", function.name); }
  void operator()(const Argument::GraphRef& graph) const { call("graph", graph.name); }

  void node(const Node& node) const {
    out_ += "%" + node.name + " = " + to_string(node.op) + "[" + *node.target + "]";
    items("(", node.args, "");
    bool first = node.args.empty();
    for (const auto& [name, value] : node.kwargs) {
      if (is_full()) break;
      out_ += (first ? "" : ", ") + name + "=";
      (*this)(value);
      first = false;
    }
    out_ += ')';
  }

 private:
  bool is_full() const { return out_.size() > most_; }
  void items(const char* open, const std::vector<Argument>& items, const char* close) const {
    out_ += open;
    for (std::size_t i = 0; i < items.size() && !is_full(); ++i) {
      if (i != 0) out_ += ", ";
      (*this)(items[i]);
    }
    out_ += close;
  }
  void named_tuple(const Argument::Tuple& tuple) const {
    out_ += "namedtuple(" + quoted(tuple.names->type);
    for (std::size_t i = 0; i < tuple.items.size() && !is_full(); ++i) {
      out_ += ", " + tuple.names->fields.at(i) + "=";
      (*this)(tuple.items[i]);
    }
    out_ += ')';
  }
  void call(const char* name, const std::string& text) const { out_ += name + ("(" + quoted(text) + ")"); }

  const Graph& graph_;
  std::string& out_;
  std::size_t most_;
};

}  // namespace

std::string print_node(const Graph& graph, const Node& node, std::size_t most) {
  std::string out;
  Printer(graph, out, most).node(node);
  return out;
}

std::string print_scope(const Scope& scope) {
  std::string out = scope.module_path;
  if (scope.module_type) out += ": " + *scope.module_type;
  if (!scope.method.empty()) out += ", method " + scope.method;
  if (scope.call != 1) out += ", call " + std::to_string(scope.call);
  return out;
}

std::string print_argument(const Graph& graph, const Argument& argument, std::size_t most) {
  std::string out;
  Printer(graph, out, most)(argument);
  return out;
}

std::string print_argument(const Argument& argument) {
  static const Graph none;
  return print_argument(none, argument);
}

std::string value_text(const Meta& meta) {
  std::string text = meta.dtype_text().value_or(meta.type.value_or(""));
  if (meta.value) {
    if (!text.empty()) text += ' ';
    text += meta.value->text();
  }
  return meta.shape ? text + "[" + joined(*meta.shape, &Meta::Dim::text) + "]" : text;
}

std::string known_value_text(const Meta& meta) {
  std::string text = value_text(meta);
  // A dtype implies that the value is a tensor.
  if (meta.has_dtype() && meta.type && meta.kind() != ValueKind::kTensor) text = *meta.type + " " + text;
  return meta.device ? text + " on " + meta.device->text() : text;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return "[" + joined(shape, [](std::int64_t size) { return std::to_string(size); }) + "]";
}

std::string place_text(const SourceLocation& source) {
  const std::string place = source.file + ":" + std::to_string(source.line);
  return source.text.empty() ? place : place + ": " + source.text;
}

}  // namespace fxtrace::internal
