#include "tests/forms/graph_text.h"

#include <charconv>
#include <cmath>
#include <map>
#include <stdexcept>

#include "graph/analysis/text_form.h"
#include "support/error.h"
#include "support/text/identifier.h"

namespace fxtrace::internal {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Reads one line; a cursor with one function per rule of the grammar.
class LineParser {
 public:
  LineParser(std::string_view line, std::size_t number, const std::map<std::string, NodeId>& nodes)
      : line_(line), number_(number), nodes_(nodes) {}

  Graph::NodeSpec parse() {
    Graph::NodeSpec spec;
    expect('%');
    spec.name = word();
    expect('=');
    spec.op = opcode(word());
    expect('[');
    const auto end = line_.find("](", position_);
    if (end == std::string_view::npos) fail("the target does not end with ]");
    spec.target = std::string(line_.substr(position_, end - position_));
    position_ = end + 1;
    expect('(');
    while (!accept(')')) {
      if (auto name = keyword(); !name.empty()) {
        spec.kwargs.emplace_back(std::move(name), argument());
      } else {
        if (!spec.kwargs.empty()) fail("a positional argument behind a keyword argument");
        spec.args.push_back(argument());
      }
      if (!accept(',') && peek() != ')') fail("expected , or )");
    }
    if (accept('-')) {
      expect('>');
      const auto end_of_value = std::min(line_.find("  #", position_), line_.size());
      spec.meta = value(trimmed(line_.substr(position_, end_of_value - position_)));
      position_ = end_of_value;
    }
    if (accept('#')) {
      auto text = trimmed(line_.substr(position_));
      Scope scope;
      constexpr std::string_view kCall = ", call ";
      if (const auto call = text.find(kCall); call != std::string_view::npos) {
        const std::string_view number = text.substr(call + kCall.size());
        std::from_chars(number.data(), number.data() + number.size(), scope.call);
        text = text.substr(0, call);
      }
      const auto colon = text.find(": ");
      scope.module_path = text.substr(0, colon);
      if (colon != std::string_view::npos) scope.module_type = trimmed(text.substr(colon + 2));
      spec.scope = std::move(scope);
      position_ = line_.size();
    }
    if (peek() != '\0') fail("something stands behind the node");
    return spec;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw input_error("graph text, line " + std::to_string(number_) + ", column " +
                      std::to_string(position_ + 1) + ": " + what);
  }

  // Reads "Tensor", "float32[2, n]", "int 2*n", "bool[] on cuda:0".
  Meta value(std::string_view text) const {
    Meta meta;
    if (const auto on = text.find(" on "); on != std::string_view::npos) {
      meta.device = Device::named(text.substr(on + 4));
      text = text.substr(0, on);
    }
    const auto open = text.find('[');
    const auto space = text.find(' ');
    if (open != std::string_view::npos && text[0] >= 'a' && text[0] <= 'z' && text.ends_with("]")) {
      meta.type = "Tensor";
      meta.set_dtype(text.substr(0, open));
      const Expression sizes = Expression::parse(text.substr(open));
      if (sizes.kind() != Expression::Kind::kList) fail("expected sizes in brackets");
      meta.shape = sizes.parts();
    } else {
      meta.type = text.substr(0, space);
      if (space != std::string_view::npos) meta.value = Expression::parse(text.substr(space + 1));
    }
    return meta;
  }

  char peek() {
    while (position_ < line_.size() && (line_[position_] == ' ' || line_[position_] == '\t')) ++position_;
    return position_ < line_.size() ? line_[position_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++position_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("expected ") + c);
  }
  std::string word() {
    peek();
    const auto start = position_;
    while (position_ < line_.size() && is_word(line_[position_])) ++position_;
    if (position_ == start) fail("expected a name");
    return std::string(line_.substr(start, position_ - start));
  }
  // Reads the name of a keyword argument with its "=", if there is one.
  std::string keyword() {
    peek();
    auto end = position_;
    while (end < line_.size() && is_word(line_[end])) ++end;
    if (end == position_ || end >= line_.size() || line_[end] != '=') return {};
    std::string name(line_.substr(position_, end - position_));
    position_ = end + 1;
    return name;
  }

  Opcode opcode(const std::string& text) const {
    for (const auto op : {Opcode::kPlaceholder, Opcode::kGetAttr, Opcode::kCallFunction, Opcode::kCallMethod,
                          Opcode::kCallModule, Opcode::kOutput}) {
      if (text == to_string(op)) return op;
    }
    fail("no opcode: " + text);
  }

  std::vector<Argument> items(char close, bool* has_comma = nullptr) {
    std::vector<Argument> found;
    while (!accept(close)) {
      found.push_back(argument());
      const bool comma = accept(',');
      if (has_comma != nullptr) *has_comma = *has_comma || comma;
      if (!comma && peek() != close) fail(std::string("expected , or ") + close);
    }
    return found;
  }

  Argument argument() {
    const char c = peek();
    if (c == '%') {
      ++position_;
      const auto name = word();
      const auto found = nodes_.find(name);
      if (found == nodes_.end()) fail("no node above has the name " + name);
      return found->second;
    }
    if (c == '"') return string();
    if (accept('[')) return Argument::List{items(']')};
    if (accept('(')) {
      bool has_comma = false;
      auto found = items(')', &has_comma);
      if (found.size() == 1 && !has_comma) fail("a tuple of one needs a comma");
      return Argument::Tuple{std::move(found)};
    }
    if (accept('{')) return dict();
    if (c == '-' || c == '+' || (c >= '0' && c <= '9')) return number();
    return named(word());
  }

  Argument named_tuple() {
    argument::TupleNames names;
    names.type = string();
    Argument::Tuple tuple;
    while (accept(',')) {
      names.fields.push_back(keyword());
      tuple.items.push_back(argument());
    }
    expect(')');
    tuple.names = std::make_shared<argument::TupleNames>(std::move(names));
    return tuple;
  }

  Argument dict() {
    Argument::Dict dict;
    while (!accept('}')) {
      auto key = argument();
      expect(':');
      dict.items.emplace_back(std::move(key), argument());
      if (!accept(',') && peek() != '}') fail("expected , or }");
    }
    return dict;
  }

  std::string string() {
    expect('"');
    std::string out;
    for (;;) {
      if (position_ >= line_.size()) fail("the string does not end");
      char c = line_[position_++];
      if (c == '"') return out;
      if (c == '\\') {
        c = position_ < line_.size() ? line_[position_++] : '\0';
        if (c == 'n') {
          c = '\n';
        } else if (c == 't') {
          c = '\t';
        } else if (c == 'x') {
          unsigned value = 0;
          const auto* first = line_.data() + position_;
          if (position_ + 2 > line_.size() || std::from_chars(first, first + 2, value, 16).ptr != first + 2) {
            fail("expected two hexadecimal digits");
          }
          position_ += 2;
          c = static_cast<char>(value);
        } else if (c != '"' && c != '\\') {
          fail("unknown escape in a string");
        }
      }
      out += c;
    }
  }

  Argument number() {
    const auto start = position_;
    if (line_.substr(position_).starts_with("-inf")) {
      position_ += 4;
      return -HUGE_VAL;
    }
    const auto end = line_.find_first_not_of("+-.0123456789eE", start);
    const auto text = line_.substr(start, end == std::string_view::npos ? end : end - start);
    const char* first = text.data();
    const char* last = first + text.size();
    position_ += text.size();
    if (text.find_first_of(".eE") == std::string_view::npos) {
      std::int64_t value = 0;
      if (const auto [ptr, error] = std::from_chars(first, last, value);
          ptr == last && error == std::errc{}) {
        return value;
      }
    } else {
      double value = 0;
      if (const auto [ptr, error] = std::from_chars(first, last, value);
          ptr == last && error == std::errc{}) {
        return value;
      }
    }
    position_ = start;
    fail("no number");
  }

  Argument named(const std::string& name) {
    if (name == "None") return Argument{};
    if (name == "True") return true;
    if (name == "False") return false;
    if (name == "inf") return HUGE_VAL;
    if (name == "nan") return std::nan("");
    expect('(');
    if (name == "namedtuple") return named_tuple();
    auto parts = items(')');
    if (name == "slice" && parts.size() == 3) return Argument::Slice{std::move(parts)};
    if (name == "complex" && parts.size() == 2 && parts[0].is<double>() && parts[1].is<double>()) {
      return std::complex<double>(*parts[0].get_if<double>(), *parts[1].get_if<double>());
    }
    const auto* text = parts.size() == 1 ? parts[0].get_if<std::string>() : nullptr;
    if (text != nullptr) {
      if (name == "dtype") return Argument::Dtype{*text};
      if (name == "device") return Argument::Device{*text};
      if (name == "layout") return Argument::Layout{*text};
      if (name == "memory_format") return Argument::MemoryFormat{*text};
      if (name == "graph") return Argument::GraphRef{*text};
      if (name == "function") return Argument::Function{*text};
    }
    fail("no argument: " + name + "(...)");
  }

  std::string_view line_;
  std::size_t position_ = 0;
  std::size_t number_;
  const std::map<std::string, NodeId>& nodes_;
};

std::string print(const Graph& graph, bool values) {
  std::string out;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    out += print_node(graph, node);
    if (const std::string value = values ? known_value_text(node.meta) : ""; !value.empty())
      out += " -> " + value;
    if (const std::string scope = print_scope(node.scope); !scope.empty()) out += "  # " + scope;
    out += "\n";
  }
  for (const Assignment& assignment : graph.assignments())
    out += "assign[" + assignment.target + "](" + print_argument(graph, assignment.value) + ")\n";
  return out;
}

}  // namespace

std::string print_graph(const Graph& graph) { return print(graph, false); }
std::string print_graph_with_values(const Graph& graph) { return print(graph, true); }

Graph parse_graph(std::string_view text) {
  Graph graph;
  std::map<std::string, NodeId> nodes;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const auto line = trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (line.empty()) continue;
    if (line.starts_with("assign[")) {
      auto assigned = LineParser("%assign = output" + std::string(line.substr(6)), number, nodes).parse();
      graph.assign({std::move(assigned.target), std::move(assigned.args.at(0)), std::nullopt});
      continue;
    }
    auto spec = LineParser(line, number, nodes).parse();
    const std::string name = spec.name;
    const NodeId id = graph.append(std::move(spec));
    if (graph.node(id).name != name) {
      throw input_error("graph text, line " + std::to_string(number) + ": torch.fx would not name a node " +
                        name + " here but " + graph.node(id).name);
    }
    nodes.emplace(name, id);
  }
  return graph;
}

NodeId node_named(const Graph& graph, std::string_view name) {
  for (const NodeId id : graph.order()) {
    if (graph.node(id).name == name) return id;
  }
  throw std::out_of_range("no node " + std::string(name));
}

}  // namespace fxtrace::internal
