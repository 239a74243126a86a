// Python expressions as data: sizes, their comparisons, and the guards of a graph.
//
// Every expression has one canonical text.  Sizes in it are SymInts, so equal polynomials are always written
// in the same way.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbolic/shape_env.h"
#include "symbolic/sym_int.h"

namespace fxtrace::internal {

class Expression {
 public:
  enum class Kind : std::uint8_t {
    kSize,        // a SymInt; any plain name is one too
    kFloat,       // 1e-07
    kConstant,    // None, True, False
    kText,        // 'mean'
    kNegative,    // -x
    kNot,         // not x
    kBinary,      // x/2, x & y; name() is the symbol
    kComparison,  // x == y, x is None; name() is the symbol
    kAnd,         // all parts hold
    kOr,          // a part holds
    kCall,        // parts[0](parts[1], ...)
    kKeyword,     // name()=parts[0], a part of a call
    kAttribute,   // parts[0].name()
    kItem,        // parts[0][parts[1]]
    kSlice,       // parts[0]:parts[1]:parts[2], the second part of an item
    kList,        // [x, y]
    kTuple,       // (x, y)
    kDict,        // {parts[0]: parts[1], ...}
    kBinding,     // (name() := parts[0])
    kVerbatim     // a variable, or a text that cannot be parsed, unchanged
  };

  Expression(SymInt size) : size_(std::move(size)) {}  // NOLINT: implicit on purpose, sizes read like numbers
  Expression(std::int64_t number = 0) : size_(number) {}  // NOLINT
  static Expression floating(double number);
  static Expression none();
  static Expression boolean(bool value);
  static Expression text_literal(std::string text);
  // Returns an integer variable; its name must be a Python identifier.  A name that is too long for a
  // dimension becomes a variable().
  static Expression name(std::string name);
  static Expression variable(std::string name);  // a value of any type, without arithmetic
  static Expression negative(Expression value);
  // Returns the negation: `==` becomes `!=` and vice versa, `not x` becomes x.  Order comparisons get a
  // `not`, as both x < nan and x >= nan are false.
  static Expression negation(Expression value);
  // `symbol` is one of python_operators.h, which may compare.
  static Expression binary(std::string symbol, Expression left, Expression right);
  // Returns the condition that a dict has these keys, in this order or, if they can be sorted, in any.
  static Expression keys_in_order(const Expression& dict, std::vector<Expression> keys);
  static Expression keys_in_any_order(const Expression& dict, std::vector<Expression> keys);
  // Returns the comparison; for two numbers, its result.
  static Expression comparison(std::string symbol, Expression left, Expression right);
  static Expression comparison(Relation relation, Expression left, Expression right);
  static Expression all(std::vector<Expression> parts);  // `and`, flattened and without True
  static Expression any(std::vector<Expression> parts);
  static Expression call(Expression function, std::vector<Expression> arguments);
  static Expression keyword(std::string name, Expression value);
  static Expression attribute(Expression object, std::string name);
  static Expression method(Expression object, std::string name, std::vector<Expression> arguments = {});
  static Expression item(Expression object, Expression index);
  // Returns a list, tuple, dict or slice with these parts.
  static Expression sequence(Kind kind, std::vector<Expression> parts);
  static Expression binding(std::string name, Expression value);

  // Parses a Python expression; a text that cannot be parsed becomes kVerbatim.
  static Expression parse(std::string_view text);

  Kind kind() const { return node_ == nullptr ? Kind::kSize : node_->kind; }
  const SymInt* size() const { return node_ == nullptr ? &size_ : nullptr; }  // null for other kinds
  std::optional<std::int64_t> number() const { return node_ == nullptr ? size_.number() : std::nullopt; }
  double floating() const { return node_->number; }  // of kFloat
  const std::string& name() const;                   // throws std::logic_error for a size
  const std::vector<Expression>& parts() const;
  // Returns the relation of a comparison of two sizes; nothing for other expressions.
  std::optional<Relation> relation() const;

  // Returns the expression with every size replaced by f(size).
  Expression map_sizes(const std::function<SymInt(const SymInt&)>& f) const;
  // Returns the expression with f(part) in place of every part for which f returns an expression.  A part is
  // tried before the parts in it.
  Expression replace(const std::function<std::optional<Expression>(const Expression&)>& f) const;

  // Returns the Python text: "batch*2", "2 <= s77 <= 64", "x.dim() == 2".  Sizes and arithmetic have no
  // spaces.
  std::string text() const;

  // Compares the texts.
  bool operator==(const Expression& other) const;

 private:
  struct Node {
    Kind kind;
    std::string name;  // see Kind; the text itself for a constant, a string or a verbatim text
    double number = 0;
    std::vector<Expression> parts;
  };
  Expression(Kind kind, std::string name, std::vector<Expression> parts, double number = 0);

  class Printer;
  SymInt size_;
  std::shared_ptr<const Node> node_;  // null for sizes
};

// Returns Python's repr() of a float, which reads back as the same number.
std::string python_float(double number);
// Returns Python's repr() of a string: 'mean', "it's".
std::string python_text_literal(std::string_view text);

}  // namespace fxtrace::internal
