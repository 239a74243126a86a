#include "convert/lower/program_symbols.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/program_operations.h"
#include "graph/analysis/input_sizes.h"
#include "support/error.h"
#include "support/text/did_you_mean.h"
#include "support/text/words.h"
#include "symbolic/expression_text.h"
#include "symbolic/shape_env.h"

namespace fxtrace::internal {
namespace {

class SymbolNames {
 public:
  SymbolNames(Lowered& lowered, const ModuleGraph& source, const LoweringOptions& options)
      : lowered_(lowered), source_(source), options_(options) {}

  void run() {
    WrittenProgram& program = lowered_.program;
    std::vector<std::string> of_inputs, of_data;
    std::set<std::string> seen;
    const auto add = [&](std::vector<std::string>& to) {
      return [&](const Expression& value) {
        value.map_sizes([&](const SymInt& size) {
          for (const std::string& name : size.symbols()) {
            if (seen.insert(name).second) to.push_back(name);
          }
          return size;
        });
      };
    };
    const ProgramView graph = program.graph.view();
    for (const NodeId input : graph.inputs()) {
      const Meta& meta = graph.meta(input);
      if (meta.shape) std::ranges::for_each(*meta.shape, add(of_inputs));
      if (meta.value) add(of_inputs)(*meta.value);
    }
    for_each_expression(graph, add(of_data));
    for_each_expression(graph, [&](const Expression& value) {
      if (!value.number() && !srepr(value, [](const std::string& name) { return name; }))
        lowered_.refusals.push_back({.what = value.text(), .why = "a program cannot express this size"});
    });
    std::set<std::string> taken;
    const ShapeEnv known = known_ranges();
    const auto name = [&](const std::string& symbol, char kind) {
      const bool is_free =
          (is_name_of_torch(symbol) && symbol[0] == kind) || (kind == 'u' && is_float_of_data(symbol));
      if (is_free && taken.insert(symbol).second) return symbol;
      for (std::size_t i = 0;; ++i) {
        std::string free = kind + std::to_string(i);
        const bool is_taken = taken.contains(free) || seen.contains(free);
        if (!is_taken && taken.insert(free).second) return free;
      }
    };
    for (const std::string& symbol : of_inputs) {
      program.symbols.emplace(symbol, WrittenSymbol{name(symbol, 's'), known.range(symbol), std::nullopt});
    }
    choose_hints();
    std::set<std::string> in_sizes;
    for_each_size(graph, [&](const SymInt& size) {
      for (const std::string& symbol : size.symbols()) in_sizes.insert(symbol);
    });
    for (const std::string& symbol : of_data) {
      // The range holds for sizes only: another number may be negative.
      const bool is_told =
          in_sizes.contains(symbol) ||
          std::ranges::find(options_.dimensions, symbol, &DimensionRange::name) != options_.dimensions.end();
      program.symbols.emplace(
          symbol, WrittenSymbol{name(symbol, 'u'), is_told ? known.range(symbol) : Range{}, std::nullopt});
    }
    for_each_expression(graph, [&](const Expression& value) {
      if (value.kind() == Expression::Kind::kVerbatim && is_float_of_data(value.text()))
        program.symbols.emplace(value.text(), WrittenSymbol{value.text(), Range{}, std::nullopt});
    });
    for (const auto& [given, hint] : options_.hints) {
      if (std::ranges::find(of_inputs, given) == of_inputs.end())
        throw usage_error("no input has a dimension " + shell_word(given) + " (--hint)", list_of(of_inputs));
    }
  }

 private:
  template <class F>
  static void for_each_meta(const ProgramView& graph, const F& f) {
    for_each_made_value(graph, [&](NodeId value) { f(graph.meta(value)); });
    for (const NodeId operation : graph.operations()) {
      graph.for_each_subgraph(operation,
                              [&](const std::string&, const ProgramView& body) { for_each_meta(body, f); });
    }
  }

  template <class F>
  static void for_each_expression(const ProgramView& graph, F&& f) {
    for_each_meta(graph, [&](const Meta& meta) {
      if (meta.shape) {
        for (const Expression& size : *meta.shape) f(size);
      }
      if (meta.value) f(*meta.value);
    });
  }

  template <class F>
  static void for_each_size(const ProgramView& graph, F&& f) {
    for_each_meta(graph, [&](const Meta& meta) {
      if (!meta.shape) return;
      for (const Expression& size : *meta.shape) {
        if (size.size() != nullptr) f(*size.size());
      }
    });
  }

  static bool is_name_of_torch(const std::string& name) {
    return name.size() > 1 && (name[0] == 's' || name[0] == 'u') &&
           std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
  }

  using Hints = std::map<std::string, std::int64_t>;

  // What is wrong with examples, the worst first; fewer is better.
  struct Faults {
    std::size_t divisions = 0, sizes_without_value = 0, guards = 0, reshapes = 0, empty = 0, ones = 0,
                coincidences = 0;
    std::int64_t sum = 0;
    auto operator<=>(const Faults&) const = default;
  };

  // What torch asks of sizes.  Each expression stands once.
  struct Questions {
    std::map<std::string, SymInt> sizes;                 // of tensors, by text
    std::map<std::string, SymInt> values;                // other integers
    std::set<std::int64_t> numbers;                      // in sizes and arguments
    std::map<std::string, SymInt> divisors;              // which torch divides by when it loads the program
    std::vector<std::pair<SymInt, SymInt>> reshapes;     // numbers of elements before and after
    std::vector<std::pair<Relation, Expression>> holds;  // guards over dimensions
  };

  static SymInt count_of(const std::vector<Expression>& shape) {
    SymInt count = 1;
    for (const Expression& size : shape) {
      if (size.size() != nullptr) count = count * *size.size();
    }
    return count;
  }

  // Adds the divisor of a division of numbers, or what it is the float of.
  static void add_divisor(const ProgramView& graph, const Node& operation, Questions& asked) {
    const std::string& target = *operation.target;
    if (target != "operator.truediv" && target != "operator.floordiv" && target != "operator.mod") return;
    const auto* id = operation.args.size() == 2 ? operation.args[1].get_if<NodeId>() : nullptr;
    if (id == nullptr || !graph.meta(*id).value) return;
    const Expression* divisor = &*graph.meta(*id).value;
    if (divisor->kind() == Expression::Kind::kCall && divisor->parts().size() == 2)
      divisor = &divisor->parts()[1];
    if (const SymInt* size = divisor->size()) asked.divisors.emplace(size->text(), *size);
  }

  static void add_questions(const ProgramView& graph, Questions& asked) {
    const auto add_operand = [&](const Argument& operand) {
      for_each_value(operand, [&](const Argument& part) {
        if (const auto* number = part.get_if<std::int64_t>()) asked.numbers.insert(*number);
      });
    };
    for (const NodeId id : graph.operations()) {
      const Node& operation = graph.node(id);
      for_each_argument(operation, add_operand);
      graph.for_each_subgraph(
          id, [&](const std::string&, const ProgramView& body) { add_questions(body, asked); });
      add_divisor(graph, operation, asked);
      const std::string_view name = aten_name(operation);
      const auto* from = operation.args.empty() ? nullptr : operation.args[0].get_if<NodeId>();
      if ((name != "reshape" && name != "view" && name != "_unsafe_view" && name != "unflatten") ||
          from == nullptr || !graph.facts(id).gives_value)
        continue;
      const auto &before = graph.meta(*from).shape, &after = operation.meta->shape;
      try {
        if (before && after && count_of(*before) != count_of(*after))
          asked.reshapes.emplace_back(count_of(*before), count_of(*after));
      } catch (const SymbolicError&) {  // too large to be an example
      }
    }
  }

  Questions questions() const {
    Questions asked;
    const ProgramView graph = lowered_.program.graph.view();
    for_each_expression(graph, [&](const Expression& value) {
      value.map_sizes([&](const SymInt& size) {
        if (const auto number = size.number())
          asked.numbers.insert(*number);
        else
          asked.values.emplace(size.text(), size);
        return size;
      });
    });
    for_each_size(graph, [&](const SymInt& size) {
      if (!size.is_number()) asked.sizes.insert(asked.values.extract(size.text()));
    });
    add_questions(graph, asked);
    const InputSizes sizes(source_.graph);
    for (const Guard& guard : source_.guards) {
      const Expression over = sizes.over_dimensions(guard.expr);
      if (const auto relation = over.relation()) asked.holds.emplace_back(*relation, over);
    }
    return asked;
  }

  static Faults faults_of(const Hints& hints, const Questions& asked) {
    Faults faults;
    std::map<std::int64_t, std::size_t> values;
    for (const auto& [text, divisor] : asked.divisors)
      faults.divisions += is_of(divisor, hints) && divisor.evaluate(hints).value_or(0) == 0 ? 1 : 0;
    for (const auto& [text, size] : asked.sizes) {
      if (!is_of(size, hints)) continue;  // it depends on data
      const auto value = size.evaluate(hints);
      faults.sizes_without_value += value && *value >= 0 ? 0 : 1;
      if (!value) continue;
      faults.empty += *value == 0 ? 1 : 0;
      faults.ones += *value == 1 ? 1 : 0;
      ++values[*value];
    }
    for (const auto& [text, integer] : asked.values) {
      if (const auto value = integer.evaluate(hints)) ++values[*value];
    }
    for (const auto& [value, count] : values)
      faults.coincidences += count - 1 + (asked.numbers.contains(value) ? count : 0);
    for (const auto& [before, after] : asked.reshapes) {
      if (!is_of(before, hints) || !is_of(after, hints)) continue;
      faults.reshapes += before.evaluate(hints) == after.evaluate(hints) ? 0 : 1;
    }
    for (const auto& [relation, guard] : asked.holds) {
      const auto left = guard.parts()[0].size()->evaluate(hints);
      const auto right = guard.parts()[1].size()->evaluate(hints);
      if (left && right && !holds(relation, *left, *right)) ++faults.guards;
    }
    for (const auto& [symbol, hint] : hints) faults.sum += hint;
    return faults;
  }

  static bool holds(Relation relation, std::int64_t left, std::int64_t right) {
    return ShapeEnv().decide(relation, left, right) == true;
  }

  // Chooses hints: first the same power of two for all, then multiples of it for one after the other.
  void choose_hints() {
    const Questions asked = questions();
    Hints hints;
    const auto& symbols = lowered_.program.symbols;
    const auto within = [](std::int64_t hint, const Range& range) {
      hint = std::max(hint, range.low.value_or(0));
      return range.high ? std::min(hint, *range.high) : hint;
    };
    const auto all_of = [&](std::int64_t example) {
      Hints all;
      for (const auto& [symbol, written] : symbols) {
        const auto given = options_.hints.find(symbol);
        all[symbol] = within(given == options_.hints.end() ? example : given->second, written.range);
      }
      return all;
    };
    constexpr std::int64_t kMostHint = 4096, kMostFactor = 64;
    std::int64_t step = 2;
    std::optional<Faults> least;
    for (std::int64_t example = 2; example <= kMostHint; example *= 2) {
      Hints tried = all_of(example);
      Faults faults = faults_of(tried, asked);
      faults.coincidences = 0;
      faults.sum = 0;
      if (least && *least <= faults) continue;
      step = example;
      least = faults;
      hints = std::move(tried);
    }
    least = faults_of(hints, asked);
    // Enough for some hundred sizes of a dozen symbols, in less than a second.
    std::size_t budget = 2'000'000;
    const std::size_t count = asked.sizes.size() + asked.values.size() + 1;
    for (const auto& [symbol, written] : symbols) {
      if (options_.hints.contains(symbol)) continue;
      for (std::int64_t factor = 1; factor <= kMostFactor && budget > count; ++factor) {
        Hints tried = hints;
        tried[symbol] = within(step * factor, written.range);
        budget -= count;
        const Faults faults = faults_of(tried, asked);
        if (*least <= faults) continue;
        least = faults;
        hints = std::move(tried);
      }
    }
    refuse_sizes(hints, asked);
    for (auto& [symbol, written] : lowered_.program.symbols) written.hint = hints.at(symbol);
    for (const auto& [symbol, hint] : options_.hints) {
      if (hints.contains(symbol) && asked.numbers.contains(hint))
        lowered_.notes.push_back("the hint " + symbol + "=" + std::to_string(hint) +
                                 " is also a number of the model: run_decompositions and compilers may take "
                                 "one for the other, and then the size is fixed");
    }
  }

  void refuse_sizes(const Hints& hints, const Questions& asked) {
    const auto examples_of = [&](const SymInt& size) {
      return joined(size.symbols(), [&](const std::string& symbol) {
        return symbol + "=" + std::to_string(hints.at(symbol));
      });
    };
    for (const auto& [text, divisor] : asked.divisors) {
      if (!is_of(divisor, hints) || divisor.evaluate(hints).value_or(0) != 0) continue;
      lowered_.refusals.push_back(
          {.what = text,
           .why = "torch divides by this number when it loads the program, and it is 0 with " +
                  examples_of(divisor),
           .help = "--dim with the sizes that the model takes, or --hint"});
      return;
    }
    for (const auto& [text, size] : asked.sizes) {
      const auto value = size.evaluate(hints);
      if (!is_of(size, hints) || (value && *value >= 0)) continue;
      lowered_.refusals.push_back(
          {.what = text,
           .why =
               (value ? "this size is negative with " : "this size has no value with ") + examples_of(size),
           .help = "--dim with the sizes that the model takes, or --hint"});
      return;
    }
  }

  static bool is_of(const SymInt& size, const std::map<std::string, std::int64_t>& values) {
    return std::ranges::all_of(size.symbols(), [&](const auto& name) { return values.contains(name); });
  }

  static std::vector<std::string> list_of(const std::vector<std::string>& names) {
    if (names.empty()) return {};
    std::string text = "the dimensions are";
    for (const std::string& name : names) text += (name == names.front() ? " " : ", ") + name;
    return {text};
  }

  // Returns the ranges of dimensions that options, the model and guards tell.
  ShapeEnv known_ranges() const {
    ShapeEnv known;
    for (const DimensionRange& given : options_.dimensions) known.narrow(given.name, {given.low, given.high});
    const InputSizes sizes(source_);
    for (const Guard& guard : source_.guards) {
      const Expression over = sizes.over_dimensions(guard.expr);
      const auto relation = over.relation();
      if (relation) known.assume(*relation, *over.parts()[0].size(), *over.parts()[1].size());
    }
    return known;
  }

  Lowered& lowered_;
  const ModuleGraph& source_;
  const LoweringOptions& options_;
};

}  // namespace

void name_symbols(Lowered& lowered, const ModuleGraph& source, const LoweringOptions& options) {
  SymbolNames(lowered, source, options).run();
}

}  // namespace fxtrace::internal
