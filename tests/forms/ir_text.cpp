#include "tests/forms/ir_text.h"

#include <charconv>
#include <utility>
#include <vector>

#include "support/error.h"
#include "support/text/identifier.h"
#include "torchscript/compiler/schema_match.h"
#include "torchscript/language/type_relations.h"

namespace fxtrace::internal::torchscript {
namespace {

// --- printing ---

class GraphPrinter {
 public:
  std::string print(const IrGraph& graph) {
    print_graph(graph);
    for (std::size_t i = 0; i < subgraphs_.size(); ++i) {
      text_ += "with " + subgraph_name(i) + " = ";
      names_.clear();
      taken_.clear();
      print_graph(*subgraphs_[i].second);
    }
    return std::move(text_);
  }

  std::string print_line(const IrNode& node) {
    print_head(node);
    return std::move(text_);
  }

 private:
  void print_graph(const IrGraph& graph) {
    text_ += "graph(";
    print_values(graph.inputs(), ",\n      ");
    text_ += "):\n";
    print_nodes(*graph.block(), 1);
    text_ += "  return (";
    print_names(graph.outputs());
    text_ += ")\n";
  }

  void print_nodes(const IrBlock& block, std::size_t level) {
    for (const IrNode* node : block.nodes()) {
      text_.append(level * 2, ' ');
      print_head(*node);
      text_ += "\n";
      for (std::size_t i = 0; i < node->blocks().size(); ++i) {
        const IrBlock& inner = *node->blocks()[i];
        text_.append((level + 1) * 2, ' ');
        text_ += "block" + std::to_string(i) + "(";
        print_values(inner.inputs(), ", ");
        text_ += "):\n";
        print_nodes(inner, level + 2);
        text_.append((level + 2) * 2, ' ');
        text_ += "-> (";
        print_names(inner.outputs());
        text_ += ")\n";
      }
    }
  }

  void print_head(const IrNode& node) {
    print_values(node.outputs(), ", ");
    text_ += " = ";
    text_ += to_text(node.kind());
    const IrAttribute* subgraph = node.find_attribute(Symbol::kAttrSubgraph);
    if (subgraph != nullptr) {
      subgraphs_.emplace_back(node.kind(), std::get<std::shared_ptr<IrGraph>>(subgraph->value).get());
      text_ += "_" + std::to_string(subgraphs_.size() - 1);
    }
    print_attributes(node);
    text_ += "(";
    print_names(node.inputs());
    text_ += ")";
  }

  std::string subgraph_name(std::size_t i) const {
    return std::string(to_text(subgraphs_[i].first)) + "_" + std::to_string(i);
  }

  void print_attributes(const IrNode& node) {
    std::string all;
    for (const IrAttribute& attribute : node.attributes()) {
      if (attribute.name == Symbol::kAttrSubgraph) continue;
      if (!all.empty()) all += ", ";
      all += attribute_text(attribute);
    }
    if (!all.empty()) text_ += "[" + all + "]";
  }

  static std::string attribute_text(const IrAttribute& attribute) {
    std::string name(to_text(attribute.name));
    if (const auto* value = std::get_if<ScriptConstant>(&attribute.value)) {
      if (const auto* function = value->get_if<ScriptConstant::FunctionValue>()) {
        const std::string& full = schema_of(*function->function).name;
        return "name=" + quoted(full.substr(full.rfind('.') + 1));
      }
      if (const auto* flag = value->get_if<bool>()) return name + "=" + (*flag ? "1" : "0");
      return name + "=" + to_text(*value);
    }
    if (const auto* value = std::get_if<std::int64_t>(&attribute.value))
      return name + "=" + std::to_string(*value);
    if (const auto* value = std::get_if<std::string>(&attribute.value)) return name + "=" + quoted(*value);
    if (const auto* value = std::get_if<std::vector<TypePtr>>(&attribute.value)) {
      std::string types;
      for (const TypePtr& type : *value) types += (types.empty() ? "" : ", ") + type->ir_str();
      return name + "=[" + types + "]";
    }
    return name + "=?";
  }

  const std::string& name_of(const IrValue* value) {
    std::string& name = names_[value];
    if (!name.empty()) return name;
    if (!value->has_name()) return name = "%" + std::to_string(value->id());
    const std::size_t count = taken_[value->name()]++;
    return name = "%" + value->name() + (count == 0 ? "" : "." + std::to_string(count));
  }

  void print_names(const std::vector<IrValue*>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) text_ += (i == 0 ? "" : ", ") + name_of(values[i]);
  }
  void print_values(const std::vector<IrValue*>& values, const char* between) {
    for (std::size_t i = 0; i < values.size(); ++i)
      text_ += (i == 0 ? "" : between) + name_of(values[i]) + " : " + values[i]->type()->ir_str();
  }

  std::string text_;
  std::unordered_map<const IrValue*, std::string> names_;
  std::unordered_map<std::string, std::size_t> taken_;
  std::vector<std::pair<Symbol, const IrGraph*>> subgraphs_;
};

// --- parsing ---

class IrParser {
 public:
  IrParser(std::string_view text, const ResolveTypeName& resolve) : text_(text), resolve_(resolve) {}

  std::unique_ptr<IrGraph> parse() {
    auto graph = std::make_unique<IrGraph>();
    graph_ = graph.get();
    expect("graph");
    parse_parameters(*graph->block());
    next_line();
    parse_nodes(*graph->block(), 0);
    return graph;
  }

 private:
  static constexpr int kMaxDepth = 100;

  // Reads the parameters of a graph or block: "(%a : T, %b : T):".
  void parse_parameters(IrBlock& block) {
    expect("(");
    while (!accept(")")) {
      if (!block.inputs().empty()) expect(",");
      const std::string name = value_name();
      define(name, block.add_input(optional_annotation()));
    }
    expect(":");
  }

  TypePtr optional_annotation() { return accept(":") ? type(0) : tensor_type(); }

  // Reads nodes up to the "->" or "return" of the block.
  void parse_nodes(IrBlock& block, int depth) {
    if (depth > kMaxDepth) fail("fewer levels");
    while (true) {
      if (accept("->") || accept("return")) {
        for (IrValue* value : value_list()) block.add_output(value);
        next_line();
        return;
      }
      if (at_end()) fail("the end of a block");
      parse_node(block, depth);
    }
  }

  void parse_node(IrBlock& block, int depth) {
    struct Output {
      std::string name;
      TypePtr type;
    };
    std::vector<Output> outputs;
    while (peek() == '%') {
      Output output;
      output.name = value_name();
      output.type = optional_annotation();
      outputs.push_back(std::move(output));
      if (!accept(",")) break;
    }
    accept("=");
    const Symbol kind = intern(operator_name());
    IrNode* node = graph_->create(kind, {}, 0);
    for (const Output& output : outputs) node->add_output(output.type);
    if (accept("[")) parse_attributes(*node);
    for (IrValue* value : value_list()) node->add_input(value);
    block.append(node);
    next_line();
    while (accept("block")) {
      while (is_digit(peek())) ++at_;
      IrBlock* inner = node->add_block();
      parse_parameters(*inner);
      next_line();
      parse_nodes(*inner, depth + 1);
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) define(outputs[i].name, node->output(i));
    if (kind != Symbol::kPrimConstant && node->blocks().empty())
      node->set_operator_schema(find_overload(kind, *node));
  }

  void parse_attributes(IrNode& node) {
    do {
      const Symbol name = intern(word());
      expect("=");
      if (name == Symbol::kAttrTypes) {
        expect("[");
        std::vector<TypePtr> types;
        while (!accept("]")) {
          if (!types.empty()) expect(",");
          types.push_back(type(0));
        }
        node.set_attribute(name, std::move(types));
      } else {
        ScriptConstant value = constant(node.kind() == Symbol::kPrimConstant && node.outputs().size() == 1
                                            ? *node.output()->type()
                                            : *any_type(),
                                        0);
        if (node.kind() == Symbol::kPrimConstant) {
          node.set_attribute(name, std::move(value));
        } else if (const auto* text = value.get_if<std::string>()) {
          node.set_attribute(name, *text);
        } else if (const auto* number = value.get_if<std::int64_t>()) {
          node.set_attribute(name, *number);
        } else {
          fail("an attribute that is a text or an integer");
        }
      }
    } while (accept(","));
    expect("]");
  }

  ScriptConstant constant(const Type& wanted, int depth) {
    if (depth > kMaxDepth) fail("fewer levels");
    skip();
    if (accept("annotate")) {
      while (!at_end() && peek() != '\n' && !accept("[])")) ++at_;
      return ScriptConstant(ScriptConstant::List{list_element(wanted), {}});
    }
    const bool is_list = accept("[");
    if (is_list || accept("(")) {
      std::vector<ScriptConstant> items;
      const std::string_view close = is_list ? "]" : ")";
      while (!accept(close)) {
        if (!items.empty()) expect(",");
        if (accept(close)) break;
        items.push_back(constant(*list_element(wanted), depth + 1));
      }
      if (!is_list) return ScriptConstant(ScriptConstant::Tuple{std::move(items)});
      return ScriptConstant(ScriptConstant::List{list_element(wanted), std::move(items)});
    }
    if (peek() == '"') {
      std::string text = string();
      if (wanted.kind() == TypeKind::kDevice) return ScriptConstant(ScriptConstant::Device{std::move(text)});
      return ScriptConstant(std::move(text));
    }
    if (accept("True")) return ScriptConstant(true);
    if (accept("False")) return ScriptConstant(false);
    if (accept("None")) return ScriptConstant();
    return number(wanted);
  }

  static TypePtr list_element(const Type& type) {
    const auto* list = type.as<ListType>();
    return list != nullptr ? list->element() : any_type();
  }

  ScriptConstant number(const Type& wanted) {
    const std::string_view rest = text_.substr(at_);
    double real = 0;
    std::int64_t whole = 0;
    const auto as_real = std::from_chars(rest.data(), rest.data() + rest.size(), real);
    const auto as_whole = std::from_chars(rest.data(), rest.data() + rest.size(), whole);
    if (as_real.ec != std::errc()) fail("a value");
    at_ += static_cast<std::size_t>(as_real.ptr - rest.data());
    if (as_whole.ec == std::errc() && as_whole.ptr == as_real.ptr && wanted.kind() != TypeKind::kFloat) {
      if (wanted.kind() == TypeKind::kBool) return ScriptConstant(whole != 0);
      return ScriptConstant(whole);
    }
    return ScriptConstant(real);
  }

  std::string string() {
    std::string result;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      char c = text_[at_];
      if (c == '\\' && at_ + 1 < text_.size()) {
        c = text_[++at_];
        if (c == 'n') c = '\n';
        if (c == 't') c = '\t';
      }
      result += c;
    }
    expect("\"");
    return result;
  }

  TypePtr type(int depth) {
    if (depth > kMaxDepth) fail("fewer levels");
    TypePtr result;
    if (accept("NamedTuple(")) {
      std::vector<std::string> fields;
      std::vector<TypePtr> items;
      while (!accept(")")) {
        if (!items.empty()) expect(",");
        fields.push_back(word());
        expect(":");
        items.push_back(type(depth + 1));
      }
      result = std::make_shared<TupleType>("NamedTuple", std::move(fields), std::move(items),
                                           std::vector<ScriptConstant>());
    } else if (accept("(")) {
      result = tuple_type(types(")", depth));
    } else {
      result = named_type(qualified(), depth);
    }
    while (true) {
      if (accept("[]")) {
        result = list_type(result);
      } else if (accept("?")) {
        result = optional_type(result);
      } else {
        return result;
      }
    }
  }

  std::vector<TypePtr> types(std::string_view close, int depth) {
    std::vector<TypePtr> result;
    while (!accept(close)) {
      if (!result.empty()) expect(",");
      result.push_back(type(depth + 1));
    }
    return result;
  }

  TypePtr named_type(const std::string& name, int depth) {
    const auto one = [&](std::string_view open, std::string_view close) {
      expect(open);
      TypePtr inner = type(depth + 1);
      expect(close);
      return inner;
    };
    if (name == "Dict") {
      expect("(");
      std::vector<TypePtr> parts = types(")", depth);
      if (parts.size() != 2) fail("two types of a dict");
      return dict_type(parts[0], parts[1]);
    }
    if (name == "Union") {
      expect("(");
      return union_type(types(")", depth));
    }
    if (name == "Future") return future_type(one("[", "]"));
    if (name == "RRef") return rref_type(one("[", "]"));
    if (name == "Await") return await_type(one("(", ")"));
    if (name == "Function") return std::make_shared<FunctionType>("Function", nullptr);
    return schema_type(SchemaType{name, {}}, [&](const std::string& wanted) -> TypePtr {
      if (TypePtr found = resolve_ ? resolve_(wanted) : nullptr) return found;
      return std::make_shared<ClassType>(wanted, ClassType::Form::kScriptClass);
    });
  }

  // --- words ---

  std::vector<IrValue*> value_list() {
    std::vector<IrValue*> result;
    expect("(");
    while (!accept(")")) {
      if (!result.empty()) expect(",");
      const std::string name = value_name();
      const auto found = values_.find(name);
      if (found == values_.end()) fail("value %" + name + " before its use");
      result.push_back(found->second);
    }
    return result;
  }

  void define(const std::string& name, IrValue* value) {
    values_[name] = value;
    const auto dot = name.rfind('.');
    const std::string base = dot == std::string::npos ? name : name.substr(0, dot);
    if (!is_digit(base[0])) value->set_name(base);
  }

  std::string value_name() {
    expect("%");
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '.')) ++at_;
    if (at_ == begin) fail("a value's name");
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string operator_name() {
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == ':')) ++at_;
    if (at_ == begin) fail("an operator");
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string qualified() {
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '.')) ++at_;
    if (at_ == begin) fail("a type");
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string word() {
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (at_ == begin) fail("a name");
    return std::string(text_.substr(begin, at_ - begin));
  }

  void next_line() { skip(); }

  void skip() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_[at_] == ' ' || text_[at_] == '\n') {
        ++at_;
      } else {
        return;
      }
    }
  }
  bool at_end() {
    skip();
    return at_ == text_.size();
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail("'" + std::string(token) + "'");
  }
  [[noreturn]] void fail(const std::string& expected) const {
    throw input_error("the graph's text has no " + expected + " at '" + std::string(text_.substr(at_, 40)) +
                      "'");
  }

  std::string_view text_;
  const ResolveTypeName& resolve_;
  std::size_t at_ = 0;
  IrGraph* graph_ = nullptr;
  std::unordered_map<std::string, IrValue*> values_;
};

}  // namespace

std::string to_text(const IrGraph& graph) { return GraphPrinter().print(graph); }
std::string to_text(const IrNode& node) { return GraphPrinter().print_line(node); }

std::unique_ptr<IrGraph> parse_ir(std::string_view text, const ResolveTypeName& resolve) {
  return IrParser(text, resolve).parse();
}

}  // namespace fxtrace::internal::torchscript
