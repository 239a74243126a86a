#include "convert/lower/rewrite_table.h"

#include <utility>

#include "analysis/program_operations.h"

namespace fxtrace {
namespace {

bool is_of(const Body& body, const Argument& operand, const std::string& type) {
  const ValueKind kind = body.meta_of(operand).kind();
  if (type == "number")
    return kind == ValueKind::kInt || kind == ValueKind::kFloat || kind == ValueKind::kBool;
  Meta wanted;
  wanted.type = type;
  return kind == wanted.kind();
}

}  // namespace

RewriteTable::RewriteTable(std::span<const RewriteRow> rows, MakeCall make) : make_(make) {
  for (const RewriteRow& row : rows) {
    rows_.push_back({row.function, {row.before, row.after}});
    for (const std::string& target : rows_.back().text.before.targets())
      by_target_[target].push_back(rows_.size() - 1);
  }
}

Result RewriteTable::apply(std::string_view target, const LoweredCall& call, Body& body) const {
  const auto found = by_target_.find(std::string(target));
  if (found == by_target_.end()) return {};
  const TextLookup lookup{
      [&](NodeId id) -> const Node& { return body.view().node(id); },
      [&](const Argument& operand, const std::string& type) { return is_of(body, operand, type); }};
  const auto make = [&](const std::string& name, std::vector<Argument> args, Kwargs kwargs, bool is_last) {
    return make_(call, body, name, std::move(args), std::move(kwargs), is_last);
  };
  for (const std::size_t place : found->second) {
    const Compiled& row = rows_[place];
    Result result;
    if (row.function != nullptr)
      result = row.function(call, body);
    else if (auto variables = row.text.before.match(target, call.args, call.kwargs, lookup))
      result = row.text.after.make(*std::move(variables), make);
    if (result || body.is_refused(call.node)) return result;
  }
  return {};
}

Result make_operation(const LoweredCall& call, Body& body, const std::string& target,
                      std::vector<Argument> args, Kwargs kwargs, bool is_last) {
  const Meta& own = *call.node.meta;
  if (is_last && own.items)
    return Argument::Tuple{body.emit_all(call.node, target, std::move(args), *own.items)};
  Meta meta = own;
  if (!is_last || !own.shape || !own.dtype) meta = body.inferred_meta(target, args, kwargs);
  if (!meta.shape || !meta.dtype) {
    body.refuse(call.node, "the shape of its result is not known", body.help_for_shapes());
    return {};
  }
  const Argument result = body.emit(call.node, target, std::move(args), std::move(kwargs), std::move(meta),
                                    is_last ? call.node.name : std::string());
  if (effect_of(body.view(), *result.get_if<NodeId>()) > Effect::kPure) body.keep_maker(result);
  return result;
}

Result make_operations(std::string_view text, const TextVariables& variables, const LoweredCall& call,
                       Body& body, bool is_result) {
  return TextReplacement(text).make(
      variables, [&](const std::string& target, std::vector<Argument> args, Kwargs kwargs, bool is_last) {
        return make_operation(call, body, target, std::move(args), std::move(kwargs), is_result && is_last);
      });
}

}  // namespace fxtrace
