// Implementation: each expression of a guard is rewritten over the places of inputs, L['x'][0].  Forms of
// guards are those of PyTorch's torch/fx/experimental/symbolic_shapes.py (BSD-3-Clause, see NOTICE).
#include "convert/lower/guards_and_mutations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/analysis/input_sizes.h"
#include "operators/schema.h"
#include "support/text/identifier.h"
#include "symbolic/shape_env.h"

namespace fxtrace::internal {
namespace {

class GuardCode {
 public:
  GuardCode(Lowered& lowered, const ModuleGraph& source) : lowered_(lowered), source_(source) {}

  void run(std::span<const Expression> assumed) {
    const InputSizes sizes(source_);
    const auto sources = sizes.sources();
    find_places();
    for (const auto& [name, place] : places_) {
      while (place.text().find(stand_in_) != std::string::npos) stand_in_ += '_';
    }
    std::set<std::string> seen;
    const auto add = [&](const Expression& guard, bool is_over_inputs = true) {
      const auto code = guard_code(guard, is_over_inputs, sizes, sources);
      if (code && seen.insert(*code).second) lowered_.program.guards.push_back(*code);
      return code.has_value();
    };
    for (const auto& [name, symbol] : lowered_.program.symbols) {
      // torch does not check the lower bound of a range that begins at 1 or 2.
      const auto source = sources.find(name);
      const std::int64_t low = symbol.range.low.value_or(0);
      if (source != sources.end() && (low == 1 || low == 2))
        add(Expression::comparison(Relation::kGreaterEqual, SymInt::symbol(name), SymInt(low)), false);
    }
    for (const Expression& guard : assumed) add(guard, false);
    for (const Guard& guard : source_.guards) {
      if (guard.reason == GuardReason::kDim || is_told_by_ranges(guard, sizes)) continue;
      const bool is_of_rank =
          guard.expr.kind() == Expression::Kind::kComparison && is_rank(guard.expr.parts()[0]);
      const bool is_told = sizes.is_told_by_shapes(guard.expr);
      if (is_told && (!is_of_rank || guard.reason == GuardReason::kExported)) continue;
      const bool is_checked = add(guard.expr) || is_fixed_input(guard.expr);
      if (guard.reason == GuardReason::kExported || guard.reason == GuardReason::kInput ||
          guard.reason == GuardReason::kConcrete)
        continue;
      lowered_.notes.push_back("holds only where " + guard.expr.text() +
                               (is_checked ? "" : ", which the program cannot check"));
    }
  }

 private:
  // Returns whether the guard is one of an exported program that the ranges of symbols imply.
  bool is_told_by_ranges(const Guard& guard, const InputSizes& sizes) const {
    if (guard.reason != GuardReason::kExported) return false;
    ShapeEnv known;
    for (const auto& [name, symbol] : lowered_.program.symbols) known.narrow(name, symbol.range);
    const auto holds = [&](const Expression& part) {
      const Expression over = sizes.over_dimensions(part);
      const auto relation = over.relation();
      return relation && known.decide(*relation, *over.parts()[0].size(), *over.parts()[1].size()) == true;
    };
    return guard.expr.kind() == Expression::Kind::kAnd ? std::ranges::all_of(guard.expr.parts(), holds)
                                                       : holds(guard.expr);
  }

  // Returns whether the guard says that an input has the value that the program has fixed, which torch
  // checks.
  bool is_fixed_input(const Expression& guard) const {
    if (guard.kind() != Expression::Kind::kComparison || (guard.name() != "==" && guard.name() != "is"))
      return false;
    const std::string name = guard.parts()[0].text();
    const WrittenProgram& program = lowered_.program;
    for (const GraphSignature::Entry& entry : program.signature.inputs) {
      if (entry.name == name && entry.value) return guard.name() == "==";
    }
    // An input that was left at its default is not an input of the program.
    if (!source_.signature) return false;
    const auto& entries = source_.signature->inputs;
    const bool is_input = std::ranges::find(entries, name, &GraphSignature::Entry::name) != entries.end();
    return is_input && std::ranges::find(program.arguments, name) == program.arguments.end();
  }

  // Returns the expression of a nested item: x["a"][0].
  static Expression item_at(Expression holder, std::span<const Argument> path) {
    for (const Argument& step : path) {
      const auto* key = step.get_if<std::string>();
      const auto* position = step.get_if<std::int64_t>();
      if (key == nullptr && position == nullptr) break;
      holder = Expression::item(std::move(holder),
                                key == nullptr ? Expression(*position) : Expression::text_literal(*key));
    }
    return holder;
  }

  // Finds the inputs as torch writes them, L['x'][0], by the names that guards have for them.
  void find_places() {
    const WrittenProgram& program = lowered_.program;
    const auto& spec = program.in_spec;
    if (spec.children.size() != 2) return;
    const auto is_plain_key = [](const Argument& key) {
      const auto* name = key.get_if<std::string>();
      return name == nullptr || (is_plain_path(*name) && name->find('\\') == std::string::npos);
    };
    const auto add = [&](const std::string& name, const TreeSpec& argument) {
      for (const std::vector<Argument>& path : argument.paths()) {
        if (!std::ranges::all_of(path, is_plain_key)) continue;
        // torch takes L['x'][0] for the input x_0, if there is one.
        const auto* first = path.empty() ? nullptr : path[0].get_if<std::int64_t>();
        if (first != nullptr && std::ranges::find(program.arguments, name + "_" + std::to_string(*first)) !=
                                    program.arguments.end())
          continue;
        const Expression whole = Expression::item(Expression::variable("L"), Expression::text_literal(name));
        places_.emplace(item_at(Expression::variable(name), path).text(), item_at(whole, path));
      }
    };
    const TreeSpec &positional = spec.children[0], &named = spec.children[1];
    for (std::size_t i = 0; i < positional.children.size() && i < program.arguments.size(); ++i)
      add(program.arguments[i], positional.children[i]);
    for (std::size_t i = 0; i < named.children.size() && i < named.keys.size(); ++i) {
      if (const auto* name = named.keys[i].get_if<std::string>()) add(*name, named.children[i]);
    }
    // The trace has names of its own for parts of inputs.
    if (!source_.signature) return;
    for (const GraphSignature::Entry& entry : source_.signature->inputs) {
      if (!entry.node.valid() || entry.path.empty()) continue;
      const auto* root = entry.path.front().get_if<std::string>();
      if (root == nullptr) continue;
      const Expression part = item_at(Expression::variable(*root), std::span(entry.path).subspan(1));
      if (const auto place = places_.find(part.text()); place != places_.end())
        places_.emplace(*source_.graph.node(entry.node).target, place->second);
    }
  }

  // Returns the code of a guard: x.size(0) % 8 == 0 becomes L['x'].size()[0] % 8 == 0.  Returns nothing if
  // the guard asks anything that torch cannot answer from the inputs: a guard that is written may fail only
  // for what it says.  Names of a guard over inputs are those of inputs before those of dimensions.
  std::optional<std::string> guard_code(const Expression& guard, bool is_over_inputs, const InputSizes& sizes,
                                        const std::map<std::string, DimensionSource>& sources) const {
    using Kind = Expression::Kind;
    bool is_known = true, asks = false;
    std::map<std::string, std::string> texts;  // of places within sums and products, by stand-in
    const std::function<Expression(const Expression&)> coded = [&](const Expression& whole) {
      return whole.replace([&](const Expression& part) -> std::optional<Expression> {
        const auto unknown = [&] {
          is_known = false;
          return std::optional(part);
        };
        const auto place_of = [&](const Expression& holder) {
          const auto found = places_.find(holder.text());
          return found == places_.end() ? nullptr : &found->second;
        };
        if (const Expression* place = place_of(part);
            place != nullptr && (is_over_inputs || part.kind() != Kind::kSize)) {
          asks = true;
          return *place;
        }
        switch (part.kind()) {
          case Kind::kSize: {
            std::map<std::string, SymInt> values;
            for (const std::string& name : part.size()->symbols()) {
              const Expression* place = is_over_inputs ? place_of(Expression::variable(name)) : nullptr;
              const auto source = sources.find(name);
              if (place == nullptr &&
                  (source == sources.end() || (is_over_inputs && sizes.is_other_input(name))))
                return unknown();
              const std::string stand_in = stand_in_ + std::to_string(texts.size()) + "_";
              texts[stand_in] =
                  place != nullptr
                      ? place->text()
                      : (source->second.is_plain ? coded(sizes.value_of(source->second)).text()
                                                 : "(" + coded(sizes.value_of(source->second)).text() + ")");
              values.emplace(name, SymInt::symbol(stand_in));
              asks = true;
            }
            try {
              return Expression(part.size()->substitute(values));
            } catch (const SymbolicError&) {
              return unknown();
            }
          }
          case Kind::kFloat:
          case Kind::kConstant:
            return part;
          case Kind::kNegative:
          case Kind::kNot:
          case Kind::kAnd:
          case Kind::kOr:
          case Kind::kBinary:
          case Kind::kComparison:
            return std::nullopt;
          case Kind::kCall: {
            const Expression& method = part.parts()[0];
            const Expression* place =
                method.kind() == Kind::kAttribute ? place_of(method.parts()[0]) : nullptr;
            if (place == nullptr) return unknown();
            asks = true;
            const bool has_number = part.parts().size() == 2 && part.parts()[1].number();
            if (method.name() == "size" && has_number)
              return Expression::item(Expression::method(*place, "size"), part.parts()[1]);
            if (method.name() == "stride" && has_number)
              return Expression::method(*place, "stride", {part.parts()[1]});
            if (part.parts().size() == 1 && (method.name() == "dim" || method.name() == "is_contiguous"))
              return Expression::method(*place, method.name());
            return unknown();
          }
          case Kind::kAttribute: {
            if (part.text().starts_with("torch.")) return part;  // a dtype
            const Expression* place = place_of(part.parts()[0]);
            if (place == nullptr || part.name() != "dtype") return unknown();
            asks = true;
            return Expression::attribute(*place, "dtype");
          }
          case Kind::kVerbatim:
            return part.text().starts_with("torch.") && is_identifier(part.text().substr(6)) ? part
                                                                                             : unknown();
          default:
            return unknown();
        }
      });
    };
    std::string code = coded(guard).text();
    if (!is_known || !asks) return std::nullopt;
    for (const auto& [stand_in, text] : texts) {
      for (std::size_t at = code.find(stand_in); at != std::string::npos; at = code.find(stand_in, at))
        code.replace(at, stand_in.size(), text);
    }
    return code;
  }

  Lowered& lowered_;
  const ModuleGraph& source_;
  std::unordered_map<std::string, Expression> places_;  // places of inputs, by their text in guards
  std::string stand_in_ = "place";                      // prefix of stand-ins; no text of a place contains it
};

}  // namespace

void lower_guards(Lowered& lowered, const ModuleGraph& source, std::span<const Expression> assumed) {
  GuardCode(lowered, source).run(assumed);
}

namespace {

class InputMutations {
 public:
  InputMutations(WrittenProgram& program, std::vector<Refusal>& refusals)
      : program_(program), refusals_(refusals) {}

  void run() {
    Graph& graph = program_.graph.module_graph.graph;
    const ProgramView view = program_.graph.view();
    program_.is_functional = true;
    Inputs inputs;
    for (const GraphSignature::Entry& entry : program_.signature.inputs)
      inputs.emplace(entry.node.index, &entry);
    std::unordered_set<std::uint32_t> read;  // values that a later operation or the output reads
    std::vector<Argument> results = view.outputs();
    for (const Argument& output : results)
      for_each_reference(output, [&](NodeId id) { read.insert(id.index); });
    std::vector<Argument> changed;
    std::vector<GraphSignature::Entry> entries;
    const std::vector<NodeId> operations = view.operations();
    for (const NodeId id : std::views::reverse(operations)) {
      const Node& operation = graph.node(id);
      if (auto entry = mutation_of(operation, inputs, read)) {
        changed.push_back(operation.args[1]);
        entries.push_back(std::move(*entry));
        read.insert(value_of(operation.args[1]).index);
        graph.erase(id);
        continue;
      }
      refuse_writes(view, id);
      for_each_input(operation, [&](NodeId input) { read.insert(input.index); });
    }
    std::ranges::reverse(changed);
    std::ranges::reverse(entries);
    results.insert(results.begin(), changed.begin(), changed.end());
    graph.set_args(graph.last(), {Argument::Tuple{std::move(results)}}, {});
    auto& outputs = program_.signature.outputs;
    outputs.insert(outputs.begin(), entries.begin(), entries.end());
  }

 private:
  using Inputs = std::unordered_map<std::uint32_t, const GraphSignature::Entry*>;

  // Returns the signature entry of the mutation if the operation is aten.copy_(input, value) and the value is
  // that of the input from then on.
  std::optional<GraphSignature::Entry> mutation_of(const Node& operation, const Inputs& inputs,
                                                   const std::unordered_set<std::uint32_t>& read) const {
    if (operation.target != "aten.copy_.default" || operation.args.size() < 2) return std::nullopt;
    const auto* to = operation.args[0].get_if<NodeId>();
    const auto* value = operation.args[1].get_if<NodeId>();
    const auto input = to == nullptr ? inputs.end() : inputs.find(to->index);
    if (input == inputs.end() || value == nullptr || inputs.contains(value->index) ||
        read.contains(to->index) || read.contains(operation.id.index))
      return std::nullopt;
    const ProgramView view = program_.graph.view();
    const Meta &before = view.meta(*to), &after = view.meta(*value);
    if (before.shape != after.shape || before.dtype != after.dtype) return std::nullopt;
    GraphSignature::Entry entry;
    switch (input->second->role) {
      case SignatureRole::kParameter:
        entry.role = SignatureRole::kParameterMutation;
        break;
      case SignatureRole::kUserInput:
        entry.role = SignatureRole::kUserInputMutation;
        break;
      default:
        entry.role = SignatureRole::kBufferMutation;
    }
    entry.target =
        entry.role == SignatureRole::kUserInputMutation ? input->second->name : *input->second->target;
    return entry;
  }

  void refuse_writes(const ProgramView& graph, NodeId operation) {
    const std::string& target = *graph.node(operation).target;
    const auto schema = program_.schema_of(target, graph.facts(operation).op);
    if (schema && std::ranges::any_of(schema->arguments, &SchemaArgument::is_written))
      refusals_.push_back({.what = target,
                           .why = "it writes to an argument, and no pass could remove the write",
                           .help = "--dialect training"});
    graph.for_each_subgraph(operation, [&](const std::string&, const ProgramView& body) {
      for (const NodeId inner : body.operations()) refuse_writes(body, inner);
    });
  }

  WrittenProgram& program_;
  std::vector<Refusal>& refusals_;
};

}  // namespace

void turn_writes_into_mutations(WrittenProgram& program, std::vector<Refusal>& refusals) {
  InputMutations(program, refusals).run();
}

}  // namespace fxtrace::internal
