#include "interpreter/code/same_code.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace fxtrace::internal::interpreter {

namespace {

bool same_constant(const IrNode& first, const IrNode& second) {
  const torchscript::ScriptConstant* a = first.constant();
  const torchscript::ScriptConstant* b = second.constant();
  return a != nullptr && b != nullptr && *a == *b;
}

class Comparison {
 public:
  explicit Comparison(const TorchScriptArchive& archive) : archive_(archive) {}

  bool functions(Function& first, Function& second) {
    if (&first == &second || !begun_.insert({&first, &second}).second) return true;
    if (!first.has_code() || !second.has_code()) return false;
    const IrGraph* a = archive_.find_graph(first);
    const IrGraph* b = archive_.find_graph(second);
    return a != nullptr && b != nullptr && blocks(*a->block(), *b->block());
  }

 private:
  bool blocks(const IrBlock& first, const IrBlock& second) {
    if (!pair(first.inputs(), second.inputs())) return false;
    auto a = first.nodes().begin();
    auto b = second.nodes().begin();
    for (; a != first.nodes().end() && b != second.nodes().end(); ++a, ++b) {
      if (!nodes(**a, **b)) return false;
    }
    return a == first.nodes().end() && b == second.nodes().end() &&
           same_values(first.outputs(), second.outputs());
  }

  bool nodes(const IrNode& first, const IrNode& second) {
    if (first.kind() != second.kind() || !same_values(first.inputs(), second.inputs()) ||
        first.blocks().size() != second.blocks().size() || !pair(first.outputs(), second.outputs())) {
      return false;
    }
    if (first.kind() == Symbol::kPrimConstant) return constants(first, second);
    if (first.kind() == Symbol::kPrimCallMethod) return methods(first, second);
    const bool same = std::ranges::equal(first.attributes(), second.attributes(),
                                         [](const torchscript::IrAttribute& a,
                                            const torchscript::IrAttribute& b) { return attributes(a, b); });
    if (!same) return false;
    for (std::size_t i = 0; i < first.blocks().size(); ++i) {
      if (!blocks(*first.blocks()[i], *second.blocks()[i])) return false;
    }
    return true;
  }

  bool constants(const IrNode& first, const IrNode& second) {
    const auto a = first.output()->type()->as<FunctionType>();
    const auto b = second.output()->type()->as<FunctionType>();
    if (a && b) return functions(*a->function(), *b->function());
    return same_constant(first, second);
  }

  bool methods(const IrNode& first, const IrNode& second) {
    const auto type = first.input(0)->type()->as<ClassType>();
    if (!type) return first.text() == second.text();
    Function* a = type->find_method(first.text());
    Function* b = type->find_method(second.text());
    return a != nullptr && b != nullptr && functions(*a, *b);
  }

  static bool attributes(const torchscript::IrAttribute& first, const torchscript::IrAttribute& second) {
    if (first.name != second.name || first.value.index() != second.value.index()) return false;
    if (const auto* types = std::get_if<std::vector<TypePtr>>(&first.value)) {
      return std::ranges::equal(*types, std::get<std::vector<TypePtr>>(second.value),
                                [](const TypePtr& a, const TypePtr& b) { return *a == *b; });
    }
    if (const auto* number = std::get_if<std::int64_t>(&first.value))
      return *number == std::get<std::int64_t>(second.value);
    if (const auto* text = std::get_if<std::string>(&first.value))
      return *text == std::get<std::string>(second.value);
    return false;
  }

  template <class Values>
  bool pair(const Values& first, const Values& second) {
    if (first.size() != second.size()) return false;
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (!(*first[i]->type() == *second[i]->type())) return false;
      partner_[first[i]] = second[i];
    }
    return true;
  }

  template <class Values>
  bool same_values(const Values& first, const Values& second) const {
    return std::ranges::equal(first, second, [&](const IrValue* a, const IrValue* b) {
      const auto it = partner_.find(a);
      return it != partner_.end() && it->second == b;
    });
  }

  std::unordered_map<const IrValue*, const IrValue*> partner_;
  std::set<std::pair<Function*, Function*>> begun_;
  const TorchScriptArchive& archive_;
};

}  // namespace

bool have_same_code(const TorchScriptArchive& archive, Function& first, Function& second) {
  return Comparison(archive).functions(first, second);
}

}  // namespace fxtrace::internal::interpreter
