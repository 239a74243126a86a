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

#include "graph/analysis/input_sizes.h"
#include "support/error.h"
#include "support/text/shell_word.h"
#include "symbolic/shape_env.h"
#include "symbolic/srepr.h"

namespace fxtrace {
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
    for (const auto& input : program.graph.inputs) {
      if (!input.value.valid()) continue;
      const Meta& meta = program.graph.values[input.value.index].meta;
      if (meta.shape) std::ranges::for_each(*meta.shape, add(of_inputs));
      if (meta.value) add(of_inputs)(*meta.value);
    }
    for_each_expression(program.graph, add(of_data));
    for_each_expression(program.graph, [&](const Expression& value) {
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
    for_each_size(program.graph, [&](const SymInt& size) {
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
    for_each_expression(program.graph, [&](const Expression& value) {
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
  static void for_each_expression(const ProgramGraph& graph, F&& f) {
    for (const ProgramValue& value : graph.values) {
      if (value.name.empty()) continue;
      if (value.meta.shape) {
        for (const Expression& size : *value.meta.shape) f(size);
      }
      if (value.meta.value) f(*value.meta.value);
    }
    for (const Operation& operation : graph.operations) {
      for (const ProgramSubgraph& subgraph : operation.subgraphs) for_each_expression(subgraph.graph, f);
    }
  }

  template <class F>
  static void for_each_size(const ProgramGraph& graph, F&& f) {
    for (const ProgramValue& value : graph.values) {
      if (value.name.empty() || !value.meta.shape) continue;
      for (const Expression& size : *value.meta.shape) {
        if (size.size() != nullptr) f(*size.size());
      }
    }
    for (const Operation& operation : graph.operations) {
      for (const ProgramSubgraph& subgraph : operation.subgraphs) for_each_size(subgraph.graph, f);
    }
  }

  static bool is_name_of_torch(const std::string& name) {
    return name.size() > 1 && (name[0] == 's' || name[0] == 'u') &&
           std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
  }

  // Chooses hints.  torch computes the sizes of all values from them when it loads the program, and takes
  // sizes of 0 and 1 for constants when it decomposes; so the hint is the least power of two that gives none.
  void choose_hints() {
    std::vector<const SymInt*> sizes;
    for_each_size(lowered_.program.graph, [&](const SymInt& size) {
      if (!size.symbols().empty()) sizes.push_back(&size);
    });
    std::map<std::string, std::int64_t> hints;
    const auto choose = [&](std::int64_t example) {
      for (auto& [symbol, written] : lowered_.program.symbols) {
        const auto given = options_.hints.find(symbol);
        std::int64_t hint =
            given == options_.hints.end() ? std::max(example, written.range.low.value_or(0)) : given->second;
        if (written.range.high) hint = std::min(hint, *written.range.high);
        hints[symbol] = hint;
      }
    };
    // A size without a value depends on data, or divides by zero.
    const auto find_less = [&](std::int64_t least) {
      return std::ranges::find_if(sizes, [&](const SymInt* size) {
        const auto value = size->evaluate(hints);
        return value ? *value < least : is_of(*size, hints);
      });
    };
    constexpr std::int64_t kMostHint = 4096;
    const auto is_found = [&](std::int64_t least) {
      for (std::int64_t example = 2; example <= kMostHint; example *= 2) {
        choose(example);
        if (find_less(least) == sizes.end()) return true;
      }
      return false;
    };
    if (!is_found(2) && !is_found(1)) choose(2);
    if (const auto negative = find_less(0); negative != sizes.end()) {
      std::string with;
      for (const std::string& symbol : (*negative)->symbols())
        with += (with.empty() ? "" : ", ") + symbol + "=" + std::to_string(hints.at(symbol));
      lowered_.refusals.push_back({.what = (*negative)->text(),
                                   .why = ((*negative)->evaluate(hints) ? "this size is negative with "
                                                                        : "this size has no value with ") +
                                          with,
                                   .help = "--dim with the sizes that the model takes, or --hint"});
    }
    for (auto& [symbol, written] : lowered_.program.symbols) written.hint = hints.at(symbol);
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
    const InputSizes sizes(source_.graph);
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

}  // namespace fxtrace
