#include "interpreter/code/input_guesses.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "interpreter/program/convert.h"
#include "opinfo/operator_row.h"
#include "support/integers.h"
#include "support/json_emitter.h"

namespace fxtrace::internal::interpreter {
namespace {

constexpr int kMaxDepth = 50;  // of nested calls
constexpr std::size_t kMaxNodes = 100'000;

// The facts about a value of the code: its value, if it is an object, a parameter or a constant, or the
// inputs that it is made from.
struct ValueFacts {
  Value value;  // None: unknown
  std::set<std::size_t> inputs;
  // If the value is a number: the inputs of which it is the size of `dimension`.  If it is a list: the inputs
  // of which it has all sizes.
  std::set<std::size_t> sizes_of;
  std::optional<std::int64_t> dimension;
};
constexpr std::int64_t kRank = INT64_MAX;  // as a dimension: the number of dimensions

constexpr const char* kAnyItem = "*";

// The facts that the code expects of an input, or of a part of one.
struct Asked {
  TypePtr type;                              // of a container that the code takes apart; may be null
  std::map<std::string, std::size_t> parts;  // its parts as inputs of their own: by key, of a list kAnyItem
  std::map<std::int64_t, std::int64_t>
      sizes;  // by dimension: a number that it is compared with, or one above an index
  std::optional<std::int64_t> rank;
  std::int64_t least_rank = 0;
  std::vector<std::string> keys, tested_keys;  // keys of a dict that are read, or tested with `in`
  std::vector<std::string> texts;              // texts that a text is compared with
  std::int64_t length = 0;                     // the least length of a list
};

const OperatorFacts& facts_of(const IrNode& node) {
  std::string_view name = to_text(node.kind());
  if (name.ends_with('_')) name.remove_suffix(1);
  return internal::facts_of(name);
}

class Guesser {
 public:
  Guesser(const TorchScriptArchive& archive, const std::vector<FunctionArgument>& formals)
      : archive_(archive) {
    for (std::size_t i = 1; i < formals.size(); ++i) add_input(formals[i].type);
  }

  ValueFacts run(const IrGraph& graph, const std::vector<ValueFacts>& arguments, int depth) {
    const auto& formals = graph.inputs();
    for (std::size_t i = 0; i < formals.size(); ++i) {
      told_[formals[i]] = i < arguments.size() ? arguments[i] : ValueFacts{};
    }
    run(*graph.block(), depth);
    return graph.outputs().empty() ? ValueFacts{} : told_[graph.outputs()[0]];
  }

  const std::vector<std::vector<std::string>>& specs() const { return specs_; }
  const std::vector<Asked>& asked() const { return asked_; }

 private:
  std::size_t add_input(TypePtr type) {
    if (const auto optional = type->as<OptionalType>()) type = optional->element();
    specs_.emplace_back();
    asked_.emplace_back().type = std::move(type);
    return asked_.size() - 1;
  }

  // Returns the part of containers that a node takes, in the terms of inputs; nothing for other values.
  std::optional<ValueFacts> part_of(const ValueFacts& whole, const Value& key) {
    constexpr std::size_t kMost = 1000;
    ValueFacts told;
    for (const std::size_t input : whole.inputs) {
      const TypePtr type = asked_[input].type;
      const auto dict = type->as<DictType>();
      const auto list = type->as<ListType>();
      const auto tuple = type->as<TupleType>();
      const bool is_known = tuple ? key.is_int() : dict ? key.is_string() : bool(list);
      if (!is_known || asked_.size() >= kMost) return std::nullopt;
      TypePtr part = list ? list->element() : dict ? dict->value() : TypePtr();
      if (tuple) {
        const auto& items = tuple->items();
        const std::int64_t index = key.to_int() + (key.to_int() < 0 ? std::ssize(items) : 0);
        if (index < 0 || index >= std::ssize(items)) return std::nullopt;
        part = items[static_cast<std::size_t>(index)];
        told.inputs.insert(part_of(input, std::to_string(index), part));
      } else {
        told.inputs.insert(part_of(input, dict ? key.to_string() : kAnyItem, part));
      }
    }
    if (told.inputs.empty()) return std::nullopt;
    return told;
  }

  std::size_t part_of(std::size_t input, const std::string& key, const TypePtr& type) {
    if (const auto known = asked_[input].parts.find(key); known != asked_[input].parts.end())
      return known->second;
    const std::size_t part = add_input(type);
    asked_[input].parts.emplace(key, part);
    return part;
  }

  void run(const IrBlock& block, int depth) {
    for (const IrNode* node : block.nodes()) {
      if (++nodes_ > kMaxNodes) return;
      run(*node, depth);
    }
  }

  void run(const IrNode& node, int depth) {
    switch (node.kind()) {
      case Symbol::kPrimConstant:
        told_[node.output()].value = archive_.value_of(*node.constant());
        return;
      case Symbol::kPrimGetAttr: {
        const Value holder = told_[node.input(0)].value;
        if (!holder.is_object()) return;
        const auto slot = class_of(holder.to_object()).find_slot(node.text());
        if (slot && *slot < holder.to_object().slots.size()) {
          told_[node.output()].value = holder.to_object().slots[*slot];
        }
        return;
      }
      case Symbol::kPrimListConstruct: {  // of several parameters, the first stands for the list
        ValueFacts all;
        for (const IrValue* item : node.inputs()) {
          const ValueFacts& told = told_[item];
          if (all.value.is_none()) all.value = told.value;
          all.inputs.insert(told.inputs.begin(), told.inputs.end());
        }
        told_[node.output()] = std::move(all);
        return;
      }
      case Symbol::kPrimTupleIndex:
      case Symbol::kPrimTupleUnpack:
        if (const ValueFacts whole = told_[node.input(0)]; !whole.inputs.empty()) {
          bool is_part = false;
          for (std::size_t i = 0; i < node.outputs().size(); ++i) {
            const Value key =
                node.inputs().size() > 1 ? told_[node.input(1)].value : Value(static_cast<std::int64_t>(i));
            auto part = part_of(whole, key);
            if (part) told_[node.output(i)] = std::move(*part);
            is_part = is_part || part.has_value();
          }
          if (is_part) return;
        }
        [[fallthrough]];
      case Symbol::kPrimTupleConstruct:  // the first element stands for the tuple
      case Symbol::kPrimUncheckedCast:
        if (!node.inputs().empty() && !node.outputs().empty())
          told_[node.output(0)] = ValueFacts(told_[node.input(0)]);
        return;
      case Symbol::kPrimCallMethod:
      case Symbol::kPrimCallFunction:
        return call(node, depth);
      case Symbol::kPrimIf:
      case Symbol::kPrimLoop: {
        for (const IrBlock* block : node.blocks()) run(*block, depth);
        if (node.kind() == Symbol::kPrimLoop) return;
        for (std::size_t i = 0; i < node.outputs().size(); ++i) {
          for (const IrBlock* block : node.blocks()) {
            const ValueFacts result = told_[block->outputs()[i]];
            if (!result.inputs.empty()) told_[node.outputs()[i]] = result;
          }
        }
        return;
      }
      default:
        use(node);
    }
  }

  void call(const IrNode& node, int depth) {
    std::vector<ValueFacts> arguments;
    Function* function = nullptr;
    if (node.kind() == Symbol::kPrimCallMethod) {
      const ValueFacts receiver = told_[node.input(0)];
      if (!receiver.value.is_object()) return;
      function = class_of(receiver.value.to_object()).find_method(node.text());
      arguments.push_back(receiver);
    } else if (const auto type = node.input(0)->type()->as<FunctionType>()) {
      function = type->function();
    }
    bool takes_input = false;
    for (std::size_t i = 1; i < node.inputs().size(); ++i) {
      arguments.push_back(told_[node.input(i)]);
      takes_input = takes_input || !arguments.back().inputs.empty();
    }
    if (function == nullptr || !function->has_code() || !takes_input || depth >= kMaxDepth) return;
    const IrGraph* graph = archive_.find_graph(*function);
    if (graph == nullptr) return;
    const ValueFacts result = run(*graph, arguments, depth + 1);
    if (!result.inputs.empty()) told_[node.output()] = result;
  }

  // --- comparisons and accesses ---

  void note_size(const ValueFacts& size, std::int64_t number, bool is_exact) {
    constexpr std::int64_t kMost = 1 << 20;
    if (!size.dimension || number < 0 || number > kMost) return;
    for (const std::size_t input : size.sizes_of) {
      Asked& asked = asked_[input];
      if (*size.dimension != kRank) {
        need_dimension(asked, *size.dimension);
        std::int64_t& known = asked.sizes.try_emplace(*size.dimension, number).first->second;
        if (!is_exact) known = std::max(known, number);
      } else if (is_exact) {
        asked.rank = number;
      } else {
        asked.least_rank = std::max(asked.least_rank, number);
      }
    }
  }

  static void need_dimension(Asked& asked, std::int64_t dimension) {
    asked.least_rank = std::max(asked.least_rank, dimension < 0 ? -dimension : dimension + 1);
  }

  static void add(std::vector<std::string>& to, const Value& text) {
    constexpr std::size_t kMost = 50;
    if (text.is_string() && to.size() < kMost && std::ranges::find(to, text.to_string()) == to.end())
      to.push_back(text.to_string());
  }

  // Handles nodes that ask for a size, take a part or compare, and notes the facts about their results.
  // Returns false for nodes that operators handle.
  bool asks(const IrNode& node) {
    if (node.inputs().empty()) return false;
    const ValueFacts first = told_[node.input(0)];
    const ValueFacts second = node.inputs().size() > 1 ? told_[node.input(1)] : ValueFacts{};
    const std::string_view name = to_text(node.kind());
    const bool is_tensor = node.input(0)->type()->kind() == TypeKind::kTensor;
    const auto is_size = [&](std::int64_t dimension) {
      ValueFacts size;
      size.sizes_of = first.inputs.empty() ? first.sizes_of : first.inputs;
      size.dimension = dimension;
      if (dimension != kRank) {
        for (const std::size_t input : size.sizes_of) need_dimension(asked_[input], dimension);
      }
      told_[node.output()] = std::move(size);
      return true;
    };
    if (!first.inputs.empty() && is_tensor) {
      if (name == "aten::size" && node.inputs().size() == 1) {
        ValueFacts sizes;
        sizes.sizes_of = first.inputs;
        told_[node.output()] = std::move(sizes);
        return true;
      }
      if (name == "aten::size" && second.value.is_int()) return is_size(second.value.to_int());
      if (name == "aten::len") return is_size(0);
      if (name == "aten::dim") return is_size(kRank);
      if ((name == "aten::select" || name == "aten::slice") && second.value.is_int()) {
        const Value index = node.inputs().size() > 2 ? told_[node.input(2)].value : Value();
        ValueFacts size;
        size.sizes_of = first.inputs;
        size.dimension = second.value.to_int();
        if (index.is_int() && name == "aten::select") {
          note_size(size, index.to_int() < 0 ? -index.to_int() : index.to_int() + 1, false);
        } else {
          for (const std::size_t input : first.inputs) need_dimension(asked_[input], *size.dimension);
        }
      }
      return false;
    }
    const bool is_item = name == "aten::__getitem__", is_contained = name == "aten::__contains__";
    if (!first.sizes_of.empty() && !first.dimension) {
      if (is_item && second.value.is_int()) return is_size(second.value.to_int());
      if (name != "prim::ListUnpack") return false;
      for (const std::size_t input : first.sizes_of)
        asked_[input].rank = static_cast<std::int64_t>(node.outputs().size());
      for (std::size_t i = 0; i < node.outputs().size(); ++i) {
        ValueFacts size;
        size.sizes_of = first.sizes_of;
        size.dimension = static_cast<std::int64_t>(i);
        told_[node.outputs()[i]] = std::move(size);
      }
      return true;
    }
    static constexpr std::string_view kOrders[] = {"aten::lt", "aten::le", "aten::gt", "aten::ge"};
    const bool is_equality = name == "aten::eq" || name == "aten::ne";
    if (is_equality || std::ranges::find(kOrders, name) != std::end(kOrders)) {
      // `size > 3` suggests 4, and `size >= 3` suggests 3.  So do their negations, as nothing tells which
      // should hold.
      const std::int64_t more = name == "aten::gt" || name == "aten::le" ? 1 : 0;
      if (second.value.is_int()) note_size(first, second.value.to_int() + more, is_equality);
      if (first.value.is_int())
        note_size(second, first.value.to_int() + (is_equality ? 0 : 1 - more), is_equality);
      for (const std::size_t input : first.inputs) add(asked_[input].texts, second.value);
      for (const std::size_t input : second.inputs) add(asked_[input].texts, first.value);
      return true;
    }
    if (is_contained) {
      for (const std::size_t input : first.inputs) add(asked_[input].tested_keys, second.value);
      for (const std::size_t input : second.inputs) add(asked_[input].texts, first.value);
      return true;
    }
    for (const std::size_t input : first.inputs) {
      Asked& asked = asked_[input];
      if (is_item) add(asked.keys, second.value);
      std::int64_t length = 0;
      if (is_item && second.value.is_int())
        length = second.value.to_int() < 0 ? -second.value.to_int() : second.value.to_int() + 1;
      if (name == "prim::ListUnpack") length = static_cast<std::int64_t>(node.outputs().size());
      constexpr std::int64_t kMost = 64;
      if (length <= kMost) asked.length = std::max(asked.length, length);
    }
    if (is_item || name == "prim::ListUnpack") {
      for (const IrValue* output : node.outputs()) {
        if (auto part = part_of(first, second.value)) told_[output] = std::move(*part);
      }
      return !first.inputs.empty();
    }
    return false;
  }

  // Takes the guesses for the operator's first input from its other arguments.
  void use(const IrNode& node) {
    if (asks(node)) return;
    const OperatorFacts& facts = facts_of(node);
    const bool takes_indices = facts.example.form == ExampleForm::kIndices;  // (weight, indices)
    const std::size_t first = takes_indices ? 1 : 0;
    if (node.inputs().size() <= first) return;
    const ValueFacts taken = told_[node.input(first)];
    if (taken.inputs.empty()) return;
    if ((facts.traits & traits::kLikeFirst) != 0 && node.outputs().size() == 1) {
      told_[node.output()] = taken;
      return;
    }
    for (const std::size_t input : taken.inputs) {
      if (specs_[input].empty()) specs_[input] = specs_of(node, facts.example);
    }
  }

  std::vector<std::string> specs_of(const IrNode& node, const Example& example) {
    const auto told = [&](std::size_t index) {
      return index > 0 && index < node.inputs().size() ? told_[node.input(index)].value : Value();
    };
    if (example.form == ExampleForm::kIndices) return {"int64[N,T]"};
    const Value value = told(example.weight);
    if (!value.is_tensor()) return {};
    const TensorValue& weight = value.to_tensor();
    const auto typed = [&](const std::string& sizes) { return dtype_name(weight.dtype) + "[" + sizes + "]"; };
    const auto of_last = [&](std::int64_t size) -> std::vector<std::string> {
      const std::string last = std::to_string(size);
      return {typed("N," + last), typed("N,T," + last)};
    };
    switch (example.form) {
      case ExampleForm::kImages: {
        static constexpr const char* kPlaces[] = {",L", ",H,W", ",D,H,W"};
        const std::int64_t places = weight.dim() - 2;
        if (places < 1 || places > 3) return {};
        const Value groups = told(example.groups), transposed = told(example.transposed);
        const bool is_transposed = transposed.is_bool() && transposed.to_bool();
        std::int64_t channels = weight.sizes.at(is_transposed ? 0 : 1);
        if (!is_transposed && groups.is_int() && groups.to_int() > 0)
          multiply_saturated(channels, groups.to_int());
        return {typed("N," + std::to_string(channels) + kPlaces[places - 1])};
      }
      case ExampleForm::kLast:
        return weight.dim() == 2 ? of_last(weight.sizes.at(1)) : std::vector<std::string>{};
      case ExampleForm::kRows:
        return weight.dim() == 1 || weight.dim() == 2 ? of_last(weight.sizes.at(0))
                                                      : std::vector<std::string>{};
      case ExampleForm::kChannels: {
        if (weight.dim() != 1) return {};
        const std::string channels = "N," + std::to_string(weight.sizes.at(0));
        return {typed(channels + ",H,W"), typed(channels)};
      }
      case ExampleForm::kIndices:
      case ExampleForm::kNone:
        break;
    }
    return {};
  }

  const TorchScriptArchive& archive_;
  std::unordered_map<const IrValue*, ValueFacts> told_;
  std::vector<std::vector<std::string>> specs_;
  std::vector<Asked> asked_;
  std::size_t nodes_ = 0;
};

// Returns specs with the sizes that the code expects, and with the usual names for other sizes.
std::vector<std::string> possible_specs(const Asked& asked) {
  static constexpr const char* kNames[][5] = {
      {"N"}, {"N", "D"}, {"N", "T", "D"}, {"N", "D", "H", "W"}, {"N", "D", "T", "H", "W"}};
  std::vector<std::int64_t> ranks{std::max<std::int64_t>(asked.least_rank, 2),
                                  std::max<std::int64_t>(asked.least_rank, 4)};
  if (asked.rank) ranks = {*asked.rank};
  std::vector<std::string> specs;
  for (const std::int64_t rank : ranks) {
    if (rank < 0 || rank > std::ssize(kNames)) continue;
    std::string spec = "float32[";
    for (std::int64_t i = 0; i < rank; ++i) {
      auto size = asked.sizes.find(i);
      if (size == asked.sizes.end()) size = asked.sizes.find(i - rank);
      spec += i == 0 ? "" : ",";
      spec += size != asked.sizes.end() ? std::to_string(size->second) : kNames[rank - 1][i];
    }
    specs.push_back(spec + "]");
  }
  return specs;
}

// Returns a possible value of the type as JSON; empty where none is known.
std::string possible_value(const Type& type, const std::vector<Asked>& all, const Asked& asked,
                           int depth = 0) {
  constexpr int kMaxNested = 4;
  const auto quoted = [](const std::string& text) {
    return json_text(JsonLayout::kCompact, [&](JsonEmitter& json) { json.value(text); });
  };
  const auto inner = [&](std::size_t i, const std::string& key) {
    const auto part = asked.parts.find(key);
    return depth < kMaxNested
               ? possible_value(*type.contained_types().at(i), all,
                                part == asked.parts.end() ? Asked{} : all[part->second], depth + 1)
               : "";
  };
  switch (type.kind()) {
    case TypeKind::kTensor:
      return depth > 0 ? "\"$PH\"" : "";
    case TypeKind::kInt:
      return depth > 0 ? "1" : "";
    case TypeKind::kFloat:
      return depth > 0 ? "1.0" : "";
    case TypeKind::kBool:
      return depth > 0 ? "false" : "";
    case TypeKind::kOptional:
      return depth > 0 ? "null" : possible_value(*type.contained_types().at(0), all, asked);
    case TypeKind::kString:
      if (asked.texts.empty()) return depth > 0 ? "\"\"" : "";
      return quoted(asked.texts.front());
    case TypeKind::kList: {
      const std::string item = inner(0, kAnyItem);
      if (item.empty()) return "";
      std::string list = "[" + item;
      for (std::int64_t i = 1; i < asked.length; ++i) list += ", " + item;
      return list + "]";
    }
    case TypeKind::kTuple: {
      const auto& tuple = *type.as<TupleType>();
      std::string items;
      for (std::size_t i = 0; i < tuple.items().size(); ++i) {
        const std::string item = inner(i, std::to_string(i));
        if (item.empty()) return "";
        items += (i == 0 ? "" : ", ") + (tuple.is_named() ? quoted(tuple.fields()[i]) + ": " : "") + item;
      }
      if (items.empty()) return "";
      return tuple.is_named() ? "{" + items + "}" : "[" + items + "]";
    }
    case TypeKind::kDict: {
      if (type.contained_types()[0]->kind() != TypeKind::kString) return "";
      std::vector<std::string> keys = asked.keys.empty() ? asked.tested_keys : asked.keys;
      if (keys.empty()) keys.emplace_back("a");
      std::string dict;
      for (const std::string& key : keys) {
        const std::string item = inner(1, key);
        if (item.empty()) return "";
        dict += (dict.empty() ? "{" : ", ") + quoted(key) + ": " + item;
      }
      return dict + "}";
    }
    default:
      return "";
  }
}

// Returns the weight of the module's first convolution, in the order of registration; null when there is
// none.
TensorRef first_kernel(const ObjectValue& module) {
  std::vector<const ObjectValue*> pending{&module};
  std::unordered_set<const ObjectValue*> seen;
  while (!pending.empty()) {
    const ObjectValue* object = pending.back();
    pending.pop_back();
    if (!seen.insert(object).second) continue;
    std::vector<const ObjectValue*> children;
    for (std::size_t i = 0; i < object->slots.size(); ++i) {
      const Value& value = object->slots[i];
      if (value.is_tensor() && value.to_tensor().dim() == 4) return TensorRef(&value.to_tensor());
      const auto* type = class_of(*object).attributes()[i].type->as<ClassType>();
      if (type && type->is_module() && value.is_object()) children.push_back(&value.to_object());
    }
    pending.insert(pending.end(), children.rbegin(), children.rend());
  }
  return {};
}

}  // namespace

std::vector<InputGuess> guess_inputs(const TorchScriptArchive& archive, const Ref<ObjectValue>& self,
                                     Function& method) {
  std::vector<InputGuess> guesses;
  std::vector<ValueFacts> arguments;
  arguments.push_back({Value(self), {}, {}, {}});
  const auto& formals = method.schema().arguments;
  for (std::size_t i = 1; i < formals.size(); ++i) {
    guesses.push_back(
        {formals[i].name, type_name(*formals[i].type), formals[i].default_value.has_value(), {}, {}, {}});
    arguments.push_back({{}, {i - 1}, {}, {}});
  }
  const IrGraph* graph = archive.find_graph(method);
  if (graph == nullptr) return guesses;
  Guesser guesser(archive, formals);
  guesser.run(*graph, arguments, 0);
  for (std::size_t i = 0; i < guesses.size(); ++i) {
    const Asked& asked = guesser.asked()[i];
    guesses[i].specs = guesser.specs()[i];
    guesses[i].possible = possible_specs(asked);
    if (guesses[i].type != "List[Tensor]" || !guesses[i].specs.empty()) continue;
    if (const auto item = asked.parts.find(kAnyItem); item != asked.parts.end())
      guesses[i].specs = guesser.specs()[item->second];
    if (!guesses[i].specs.empty()) continue;
    // Models that detect objects take a list of images.
    if (const TensorRef kernel = first_kernel(*self)) {
      guesses[i].specs = {dtype_name(kernel->dtype) + "[" + std::to_string(kernel->sizes[1]) + ",H,W]"};
    }
  }
  for (std::size_t i = 0; i < guesses.size(); ++i)
    guesses[i].value = possible_value(*formals[i + 1].type, guesser.asked(), guesser.asked()[i]);
  return guesses;
}

}  // namespace fxtrace::internal::interpreter
