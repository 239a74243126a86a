#include "torchscript/code_check.h"

#include <torch/csrc/jit/frontend/lexer.h>
#include <torch/csrc/jit/frontend/tree_views.h>

#include <string>

#include "support/error.h"
#include "torchscript/definitions.h"

namespace fxtrace {
namespace {

using namespace torch::jit;  // NOLINT(google-build-using-namespace): kinds of tokens are macros' enumerators

// LibTorch's parser recurses at every bracket, and its types are built again at every level.
constexpr std::size_t kMaxBrackets = 2'000;

bool is_literal(const Expr& expression);

bool are_literals(const List<Expr>& expressions) {
  for (const Expr& expression : expressions) {
    if (!is_literal(expression)) return false;
  }
  return true;
}

// Attributes of a name: CONSTANTS.c0, __torch__.Color.RED.  They are looked up, and nothing is called.
bool is_path_from(Expr expression, std::string_view root) {
  while (expression.kind() == '.') expression = Select(expression).value();
  return expression.kind() == TK_VAR && Var(expression).name().name() == root;
}

// Forms that LibTorch writes: annotate(List[int], []), torch.device("cpu"), float("inf").
bool is_literal_call(const Apply& call) {
  const List<Expr> inputs = call.inputs();
  if (!call.attributes().empty()) return false;
  const Expr callee = call.callee();
  if (callee.kind() == '.') {
    return Select(callee).selector().name() == "device" && is_path_from(Select(callee).value(), "torch") &&
           are_literals(inputs);
  }
  if (callee.kind() != TK_VAR) return false;
  const std::string& name = Var(callee).name().name();
  if (name == "annotate" || name == "unchecked_cast") return inputs.size() == 2 && is_literal(inputs[1]);
  if (name == "uninitialized") return true;  // of a type
  return (name == "float" || name == "complex") && are_literals(inputs);
}

bool is_number(const Expr& expression) {
  if (expression.kind() == TK_UNARY_MINUS) return is_number(Expr(expression.tree()->tree(0)));
  return expression.kind() == TK_CONST;
}

bool is_literal(const Expr& expression) {
  switch (expression.kind()) {
    case TK_CONST:
    case TK_STRINGLITERAL:
    case TK_TRUE:
    case TK_FALSE:
    case TK_NONE:
      return true;
    case TK_UNARY_MINUS:
      return is_literal(Expr(expression.tree()->tree(0)));
    case '+':  // 1.+2.j
    case '-':
      return is_number(Expr(expression.tree()->tree(0))) && is_number(Expr(expression.tree()->tree(1)));
    case TK_LIST_LITERAL:
      return are_literals(ListLiteral(expression).inputs());
    case TK_TUPLE_LITERAL:
      return are_literals(TupleLiteral(expression).inputs());
    case TK_DICT_LITERAL:
      return are_literals(DictLiteral(expression).key_inputs()) &&
             are_literals(DictLiteral(expression).value_inputs());
    case TK_VAR: {
      const std::string& name = Var(expression).name().name();
      return name == "inf" || name == "nan";
    }
    case '.':
      return is_path_from(expression, "CONSTANTS") || is_path_from(expression, "__torch__");
    case TK_APPLY:
      return is_literal_call(Apply(expression));
    default:
      return false;
  }
}

[[noreturn]] void refuse(const std::string& what) {
  throw input_error("its code computes " + what + ", which would be carried out while it is loaded",
                    {"LibTorch writes such values as literals; the archive was made by other means"});
}

// All parameters inside, those of functions in functions too.
void check_parameters(const TreeRef& tree) {
  if (tree->kind() == TK_PARAM) {
    const Param parameter(tree);
    if (parameter.defaultValue().present() && !is_literal(parameter.defaultValue().get()))
      refuse("the default value of '" + parameter.ident().name() + "'");
  }
  if (tree->isAtom()) return;
  for (const TreeRef& part : tree->trees()) check_parameters(part);
}

// Whether a parameter of the function whose definition begins here may have a default value: its `=` stands
// before the parameters end, and nothing before it makes a parenthesis mean something else.
bool may_have_defaults(std::string_view definition) {
  int open = 0;
  for (const char c : definition) {
    if (c == '(') ++open;
    if (c == ')' && --open <= 0) return false;
    if (c == '=' || c == '"' || c == '\'' || c == '#' || c == '\\') return true;
  }
  return true;
}

// Parsing takes as long as it takes LibTorch, so most code is spared it: constants of classes are Final, and
// fields of a NamedTuple may have a value too.
bool may_compute(std::string_view text) {
  for (const std::string_view word : {"Final", "NamedTuple", "import"}) {
    if (text.find(word) != std::string_view::npos) return true;
  }
  constexpr std::string_view kDefinition = "def";
  for (auto at = text.find(kDefinition); at != std::string_view::npos; at = text.find(kDefinition, at + 1)) {
    if (may_have_defaults(text.substr(at))) return true;
  }
  return false;
}

void check_class(const ClassDef& definition) {
  for (const Stmt& statement : definition.body()) {
    if (statement.kind() != TK_ASSIGN) continue;
    const Assign assign(statement);
    if (!assign.rhs().present() || assign.lhs().kind() != TK_VAR) continue;  // what has a subscript is a type
    const std::string& name = Var(assign.lhs()).name().name();
    if (name != "__annotations__" && !is_literal(assign.rhs().get())) refuse("the constant '" + name + "'");
  }
}

}  // namespace

void check_nesting(std::string_view text) {
  std::size_t open = 0;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      if (c == '\\') ++i;
      if (c == quote || c == '\n') quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      if (++open > kMaxBrackets) {
        throw input_error("its code nests brackets more than " + std::to_string(kMaxBrackets) + " deep");
      }
    } else if ((c == ')' || c == ']' || c == '}') && open > 0) {
      --open;
    }
  }
}

void check_defaults(const std::shared_ptr<Source>& source) {
  if (!may_compute(std::string(source->text_str().str()))) return;
  for_each_definition(source, [](const TreeRef& definition) {
    check_parameters(definition);
    if (definition->kind() == TK_CLASS_DEF) check_class(ClassDef(definition));
  });
}

}  // namespace fxtrace
