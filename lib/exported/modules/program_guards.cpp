// The checks are those of PyTorch's torch/export/_unlift.py and torch/_export/utils.py (BSD-3-Clause, see
// NOTICE); program_guards.h lists them.
#include "exported/modules/program_guards.h"

#include <cctype>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

#include "exported/program/nested_inputs.h"
#include "graph/analysis/input_sizes.h"
#include "support/text/identifier.h"
#include "trace/tracer/guard_expression.h"

namespace fxtrace::internal {
namespace {

class ProgramGuards {
 public:
  ProgramGuards(const BoundExportedProgram& bound, const std::vector<std::string>& placeholders)
      : bound_(bound), placeholders_(placeholders) {}

  std::vector<Expression> all() {
    look_at_structure();
    look_at_inputs();
    for (Expression& guard : bound_.dimensions().guards(sizes_)) add(std::move(guard));
    // Conditions that the tracer of torch.export has met.  They repeat much of what the sizes say.
    for (const Expression& condition : bound_.program().conditions()) {
      Expression over_dimensions = sizes_.over_dimensions(condition);
      if (!bound_.dimensions().implies(over_dimensions)) add(std::move(over_dimensions));
    }
    return std::move(guards_);
  }

 private:
  void add(Expression guard) { guards_.push_back(std::move(guard)); }

  void add_length(const Expression& place, std::size_t length) {
    add(Expression::comparison("==", Expression::call(Expression::name("len"), {place}),
                               static_cast<std::int64_t>(length)));
  }

  void look_at_structure() {
    for (const NestedArgument& argument : nested_arguments(bound_.program())) {
      leaves_.resize(argument.first);
      if (is_identifier(argument.name)) look_at(Expression::variable(argument.name), *argument.spec, true);
    }
  }

  // `is_python`: whether Python finds the place under this expression.  Parts of an instance of some class
  // are known only by the names that torch.export has for them.
  void look_at(const Expression& place, const TreeSpec& spec, bool is_python) {
    const auto child = [&](std::size_t i) -> Expression {
      if (spec.names != nullptr) return Expression::attribute(place, spec.names->fields[i]);
      if (spec.kind != TreeSpec::Kind::kDict) return Expression::item(place, static_cast<std::int64_t>(i));
      return Expression::item(place, guard_expression(Graph(), spec.keys[i]));
    };
    switch (spec.kind) {
      case TreeSpec::Kind::kLeaf:
        leaves_.push_back(place.text());
        return;
      case TreeSpec::Kind::kNone:
        if (is_python) add(Expression::comparison("is", place, Expression::none()));
        return;
      case TreeSpec::Kind::kTuple:
      case TreeSpec::Kind::kList:
        if (is_python && spec.is_builtin) add_length(place, spec.children.size());
        break;
      case TreeSpec::Kind::kDict:
        if (!is_python || !spec.is_builtin) break;
        std::vector<Expression> keys;
        for (const Argument& key : spec.keys) keys.push_back(guard_expression(Graph(), key));
        // torch.export's own module takes them in any order, as operations read values by their keys.
        add(Expression::keys_in_any_order(place, std::move(keys)));
        break;
    }
    const bool has_python_parts = is_python && (spec.is_builtin || spec.names != nullptr);
    for (std::size_t i = 0; i < spec.children.size(); ++i)
      look_at(child(i), spec.children[i], has_python_parts);
  }

  // Returns other names that conditions use for an input: words['ids'][0], flat_args[2], args[1] for args_1.
  std::vector<std::string> other_names(const std::string& name, std::size_t user_input) const {
    std::vector<std::string> names{"flat_args[" + std::to_string(user_input) + "]"};
    if (user_input < leaves_.size() && !leaves_[user_input].empty()) names.push_back(leaves_[user_input]);
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    if (digits > 1 && digits < name.size() && name[digits - 1] == '_')
      names.push_back(name.substr(0, digits - 1) + "[" + name.substr(digits) + "]");
    return names;
  }

  void look_at_inputs() {
    const ProgramView graph = bound_.graph();
    const std::vector<NodeId>& inputs = bound_.program().inputs();
    const GraphSignature& signature = bound_.program().signature();
    const auto meta = [&](std::size_t i) -> const Meta& { return graph.meta(inputs[i]); };
    std::size_t user_input = 0;
    std::vector<std::size_t> ends;  // by input: the end of its sizes in sizes_
    for (std::size_t i = 0; i < placeholders_.size(); ++i) {
      const bool is_users = signature.inputs[i].role == SignatureRole::kUserInput;
      if (!placeholders_[i].empty())
        sizes_.add(placeholders_[i], meta(i), other_names(placeholders_[i], user_input));
      ends.push_back(sizes_.sizes().size());
      user_input += is_users ? 1 : 0;
    }
    sources_ = sizes_.sources();
    std::size_t position = 0;
    for (std::size_t i = 0; i < placeholders_.size(); ++i) {
      if (placeholders_[i].empty()) continue;
      if (const auto& shape = meta(i).shape) {
        add(Expression::comparison(Relation::kEqual,
                                   Expression::method(Expression::variable(placeholders_[i]), "dim"),
                                   static_cast<std::int64_t>(shape->size())));
      }
      for (; position < ends[i]; ++position) look_at_size(position);
    }
  }

  void look_at_size(std::size_t position) {
    const auto& [place, size] = sizes_.sizes()[position];
    const auto equals = [&](Expression value) {
      add(Expression::comparison(Relation::kEqual, place, std::move(value)));
    };
    if (size.is_number()) return equals(size);
    const auto [first, is_new] = first_places_.emplace(size.text(), place);
    if (!is_new) return equals(first->second);
    bool are_known = true;
    for (const std::string& name : size.symbols()) {
      const auto source = sources_.find(name);
      are_known = are_known && source != sources_.end();
      if (source == sources_.end() || source->second.position != position) continue;
      // This place defines the dimension.
      if (const auto rest = sizes_.rest_of(source->second))
        add(Expression::comparison(Relation::kEqual, *rest, 0));
      return;
    }
    if (are_known) equals(size);
  }

  const BoundExportedProgram& bound_;
  const std::vector<std::string>& placeholders_;
  std::vector<std::string> leaves_;  // by user input: the expression by which Python reaches it
  InputSizes sizes_;
  std::map<std::string, DimensionSource> sources_;
  std::unordered_map<std::string, Expression> first_places_;  // by size
  std::vector<Expression> guards_;
};

}  // namespace

std::vector<Expression> program_guards(const BoundExportedProgram& bound,
                                       const std::vector<std::string>& placeholders) {
  return ProgramGuards(bound, placeholders).all();
}

}  // namespace fxtrace::internal
