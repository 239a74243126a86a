// Python expressions as data: sizes, comparisons of them, and what a trace assumes of the values of a graph.
//
// Every expression has one text.  Sizes in it are SymInts, so that what expands to the same polynomial is
// written in the same way everywhere.
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

namespace fxtrace {

class Expression {
 public:
  enum class Kind : std::uint8_t {
    kSize,        // a SymInt; a plain name is one too, whatever it stands for
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
    kKeyword,     // name()=parts[0], among the parts of a call
    kAttribute,   // parts[0].name()
    kItem,        // parts[0][parts[1]]
    kSlice,       // parts[0]:parts[1]:parts[2], as the second part of an item
    kList,        // [x, y]
    kTuple,       // (x, y)
    kDict,        // {parts[0]: parts[1], ...}
    kBinding,     // (name() := parts[0])
    kVerbatim     // a variable, or a text that is none of these, as it was
  };

  Expression(SymInt size) : size_(std::move(size)) {}  // NOLINT: implicit on purpose, sizes read like numbers
  Expression(std::int64_t number = 0) : size_(number) {}  // NOLINT
  static Expression floating(double number);
  static Expression none();
  static Expression boolean(bool value);
  static Expression text_literal(std::string text);
  // Of an integer; a Python identifier.  One that is too long for a dimension is a variable.
  static Expression name(std::string name);
  static Expression variable(std::string name);  // of any value: nothing is calculated with it
  static Expression negative(Expression value);
  // Of == and != the other one; of `not x` x.  Other comparisons may be true of no number: not x < nan.
  static Expression negation(Expression value);
  static Expression binary(std::string symbol, Expression left, Expression right);
  // Of two numbers the answer.
  static Expression comparison(std::string symbol, Expression left, Expression right);
  static Expression comparison(Relation relation, Expression left, Expression right);
  static Expression all(std::vector<Expression> parts);  // without True, parts of parts; one part: itself
  static Expression any(std::vector<Expression> parts);
  static Expression call(Expression function, std::vector<Expression> arguments);
  static Expression keyword(std::string name, Expression value);
  static Expression attribute(Expression object, std::string name);
  static Expression method(Expression object, std::string name, std::vector<Expression> arguments = {});
  static Expression item(Expression object, Expression index);
  // `parts` of a list, a tuple, a dict or a slice.
  static Expression sequence(Kind kind, std::vector<Expression> parts);
  static Expression binding(std::string name, Expression value);

  // Reads a Python expression; a text that cannot be read becomes kVerbatim.
  static Expression parse(std::string_view text);

  Kind kind() const { return node_ == nullptr ? Kind::kSize : node_->kind; }
  const SymInt* size() const { return node_ == nullptr ? &size_ : nullptr; }  // null for other kinds
  std::optional<std::int64_t> number() const { return node_ == nullptr ? size_.number() : std::nullopt; }
  const std::string& name() const;  // throws std::logic_error for a size
  const std::vector<Expression>& parts() const;
  // Of a comparison of two sizes.
  std::optional<Relation> relation() const;

  // Every size in it replaced.
  Expression map_sizes(const std::function<SymInt(const SymInt&)>& f) const;

  // As Python writes it: "batch*2", "2 <= s77 <= 64", "x.dim() == 2".  Sizes and arithmetic without spaces.
  std::string text() const;

  // Same text.
  bool operator==(const Expression& other) const;

 private:
  struct Node {
    Kind kind;
    std::string name;  // see Kind; of a constant, a text, a verbatim text the text itself
    double number = 0;
    std::vector<Expression> parts;
  };
  Expression(Kind kind, std::string name, std::vector<Expression> parts, double number = 0);

  class Printer;
  SymInt size_;
  std::shared_ptr<const Node> node_;  // null for sizes
};

// A number as Python writes it; it reads back as the same number.
std::string python_float(double number);
// A text as Python's repr() writes it: 'mean', "it's".
std::string python_text_literal(std::string_view text);

}  // namespace fxtrace
