#include "trace/expression.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "operators/python_functions.h"
#include "operators/target.h"

namespace fxtrace {
namespace {

constexpr int kMaxDepth = 8;
constexpr std::size_t kMaxLength = 160;

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph) {}

  std::string print(const Argument& value, int depth, bool nested) const {
    if (const auto* id = value.get_if<NodeId>()) return node(graph_.node(*id), depth, nested);
    if (value.is<Argument::None>()) return "None";
    if (const auto* flag = value.get_if<bool>()) return *flag ? "True" : "False";
    if (const auto* number = value.get_if<std::int64_t>()) return std::to_string(*number);
    if (const auto* number = value.get_if<double>()) return python_float(*number);
    if (const auto* text = value.get_if<std::string>()) return "'" + *text + "'";
    if (const auto* dtype = value.get_if<Argument::Dtype>()) return "torch." + dtype->name;
    if (const auto* list = value.get_if<Argument::List>()) return "[" + join(list->items, depth) + "]";
    if (const auto* tuple = value.get_if<Argument::Tuple>()) return "(" + join(tuple->items, depth) + ")";
    return "...";
  }

 private:
  std::string join(const std::vector<Argument>& items, int depth) const {
    std::string text;
    for (const auto& item : items) {
      if (!text.empty()) text += ", ";
      if (text.size() > kMaxLength) return text + "...";
      text += print(item, depth + 1, false);
    }
    return text;
  }

  std::string node(const Node& n, int depth, bool nested) const {
    if (n.op != Opcode::kCallFunction || depth > kMaxDepth)
      return n.op == Opcode::kGetAttr ? n.target : n.name;
    if (const auto symbol = python_symbol(n.target); !symbol.empty() && n.args.size() == 2) {
      const std::string text = print(n.args[0], depth + 1, true) + " " + std::string(symbol) + " " +
                               print(n.args[1], depth + 1, true);
      return nested ? "(" + text + ")" : text;
    }
    if (n.target == "operator.not_" && n.args.size() == 1) return "not " + print(n.args[0], depth + 1, true);
    if (n.target == "operator.neg" && n.args.size() == 1) return "-" + print(n.args[0], depth + 1, true);
    if (n.target == "operator.getitem" && n.args.size() == 2) {
      return print(n.args[0], depth + 1, true) + "[" + print(n.args[1], depth + 1, false) + "]";
    }
    if (n.target == "builtins.getattr" && n.args.size() == 2 && n.args[1].is<std::string>()) {
      return print(n.args[0], depth + 1, true) + "." + std::get<std::string>(n.args[1].value);
    }
    const TargetParts parts = parse_target(n.target);
    const bool is_aten = parts.kind == TargetKind::kOperator && parts.space == "aten";
    if (is_aten && !n.args.empty() && n.args[0].is<NodeId>()) {
      const std::vector<Argument> rest(n.args.begin() + 1, n.args.end());
      return print(n.args[0], depth + 1, true) + "." + std::string(parts.name) + "(" + join(rest, depth) +
             ")";
    }
    const std::string name = parts.space == "builtins" ? std::string(parts.name) : n.target;
    return name + "(" + join(n.args, depth) + ")";
  }

  const Graph& graph_;
};

}  // namespace

std::string python_float(double number) {
  if (std::isnan(number)) return "float(\"nan\")";
  if (std::isinf(number)) return number > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  std::array<char, 32> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  std::string text(buffer.data(), written.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string expression(const Graph& graph, const Argument& value) {
  std::string text = Printer(graph).print(value, 0, false);
  if (text.size() > kMaxLength) {
    std::size_t end = kMaxLength;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    text.resize(end);
    text += "...";
  }
  return text;
}

}  // namespace fxtrace
