#include "torchscript/assignments.h"

#include <algorithm>

#include "families/operator_entry.h"
#include "graph/text_form.h"
#include "operators/operators.h"
#include "operators/target.h"
#include "support/qualified_name.h"
#include "torchscript/abstract.h"
#include "torchscript/convert.h"
#include "torchscript/run.h"
#include "torchscript/structure.h"

namespace fxtrace::torchscript {
namespace {

// The value that the node is, written in place or not: add_(x, y) is x.
NodeId origin(const Graph& graph, NodeId id) {
  for (;;) {
    const Node& node = graph.node(id);
    const auto* first = node.args.empty() ? nullptr : node.args[0].get_if<NodeId>();
    if (node.op != Opcode::kCallFunction || first == nullptr) return id;
    const Operator* op = find_operator(parse_target(node.target));
    if (op == nullptr) return id;
    const Schema schema = op->schema();
    if (schema.arguments.empty() || !schema.arguments[0].is_written()) return id;
    const std::vector<Alias>& all = entry_of(*op).aliases;
    const bool is_first = all.size() == 1 && all[0].argument == 0 && all[0].always && !all[0].of_elements;
    if (!is_first) return id;
    id = *first;
  }
}

// Numbers, strings, None, and lists, tuples and dicts of them.
bool is_plain_type(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kNone:
    case TypeKind::kBool:
    case TypeKind::kInt:
    case TypeKind::kFloat:
    case TypeKind::kComplex:
    case TypeKind::kString:
      return true;
    case TypeKind::kTuple:
      if (type.as<TupleType>()->is_named()) return false;
      [[fallthrough]];
    case TypeKind::kOptional:
    case TypeKind::kList:
    case TypeKind::kDict:
      return std::ranges::all_of(type.contained_types(),
                                 [](const auto& part) { return is_plain_type(*part); });
    default:
      return false;
  }
}

bool is_tensor_value(const Value& value) {
  const Proxy* proxy = find_proxy(value);
  return value.is_tensor() || (proxy != nullptr && proxy->static_type->kind() == TypeKind::kTensor);
}

}  // namespace

std::string Assignments::target_of(ModuleId module, const std::string& name) const {
  const std::string& path = run_.program.modules()[module.index].path;
  return (path.empty() ? "" : path + ".") + part_of_name(name);
}

bool Assignments::has_set(const ObjectValue& object, std::size_t slot) const {
  return std::ranges::any_of(
      entries_, [&](const Entry& entry) { return entry.object.get() == &object && entry.slot == slot; });
}

bool Assignments::is_open(const ObjectValue& object, std::size_t slot) const {
  return run_.findings->state_of(run_.root).assigned.contains({&object, slot}) && !has_set(object, slot);
}

bool Assignments::is_set_by_leaf(ModuleId module, const ClassType& type, const std::string& name) const {
  for (std::optional<ModuleId> holder = module; holder;
       holder = run_.program.modules()[holder->index].parent) {
    if (run_.tracer->is_leaf(*holder) && run_.program.is_set_inside(*holder, type, name)) return true;
  }
  return false;
}

void Assignments::open(const Attribute& attribute) {
  if (!run_.findings->state_of(run_.root).assigned.insert(attribute).second) return;
  if (read_.contains(attribute)) throw TraceAgain();
}

void Assignments::add(Entry entry) {
  run_.changes.add([this, before = entries_] { entries_ = before; });
  std::erase_if(entries_, [&](const Entry& other) {
    return other.object.get() == entry.object.get() && other.slot == entry.slot;
  });
  entries_.push_back(std::move(entry));
}

void Assignments::set(const Ref<ObjectValue>& object, const std::string& name, const Value& value,
                      const IrNode* node) {
  const auto found = class_of(*object).find_slot(name);
  if (!found) frames_.raise("AttributeError: no attribute '" + name + "'", node);
  const std::size_t slot = *found;
  const Value before = slot < object->slots.size() ? object->slots[slot] : Value();
  Value after = value;
  // An object that the code makes goes with the call, as does what is set in vain.
  const bool is_models = run_.mode != Mode::kState && run_.program.holds(object.get());
  const bool is_new = is_models && (has_set(*object, slot) || !is_same(before, value) ||
                                    (run_.records() && is_open(*object, slot)));
  if (is_new) {
    const auto module = run_.program.find_module(object.get());
    if (run_.records() && !module)
      frames_.refuse("attribute '" + name + "' of an object that a module holds is set", node);
    if (run_.records() && run_.program.object(*module) != object) {
      frames_.refuse("attribute '" + name +
                         "' is set, and the file does not tell whether its module is also " +
                         run_.program.modules()[module->index].path,
                     node);
    }
    Entry entry{object, slot, name, module.value_or(ModuleId{}), std::nullopt, false};
    if (run_.records()) {
      const Type& type = *class_of(*object).attributes()[slot].type;
      entry.target = target_of(*module, name);
      entry.source = frames_.location(node);
      entry.is_tensor = may_hold_tensor(type);
      if (entry.is_tensor) {
        after = write(entry, before, value, node);
      } else {
        check_plain(value, type, entry.target, node);
        if (changed_.contains(entry.target)) refuse_change(entry.target, node);
        open({object.get(), slot});
      }
    }
    add(std::move(entry));
  }
  run_.changes.add([object, slot, before] { object->slots.at(slot) = before; });
  object->slots.at(slot) = std::move(after);
}

void Assignments::check_plain(const Value& value, const Type& type, const std::string& target,
                              const IrNode* node) const {
  if (!is_plain_type(type) || value.is_uninitialized()) {
    frames_.refuse("'" + target + "', of type " + type_name(type) +
                       ", is set: only tensors and plain values can be assigned in a graph",
                   node);
  }
  const Proxy* proxy = find_proxy(value);
  if (proxy != nullptr && proxy->meaning != NumberMeaning::kNumber)
    frames_.refuse("'" + target + "' is set to what is no number in Python", node);
}

bool Assignments::is_itself(const Entry& entry, const Value& before, const Value& value) const {
  const Proxy* proxy = recording_.find_recorded(value);
  if (proxy == nullptr || !before.is_tensor() || proxy->ref.graph != kRootGraph) return value.is(before);
  const Graph& graph = run_.tracer->graph_of(proxy->ref);
  const Node& node = graph.node(origin(graph, proxy->ref.node));
  return node.op == Opcode::kGetAttr && *node.target == entry.target;
}

Value Assignments::write(const Entry& entry, const Value& before, const Value& value, const IrNode* node) {
  const std::string& target = entry.target;
  if (!is_tensor_value(before) || !is_tensor_value(value)) {
    frames_.refuse("'" + target + "' is set, which holds " + kind_text(before) +
                       ": only a tensor in the place of a tensor can be assigned in a graph",
                   node);
  }
  // self.state += x
  if (is_itself(entry, before, value)) return before;
  const ClassType& type = class_of(*entry.object);
  if (is_set_by_leaf(entry.module, type, type.attributes()[entry.slot].name))
    frames_.refuse("'" + target + "' is set, which the leaf that holds it sets too", node);
  const TensorValue* own = run_.program.own_tensor(*entry.object, entry.slot);
  if (own == nullptr) frames_.refuse("'" + target + "' is set, whose tensor is not known", node);
  if (own->requires_grad) {
    frames_.refuse(
        "'" + target + "' is set, a parameter that requires a gradient: nothing can be written into it",
        node);
  }
  if (run_.program.shares_memory(*own)) {
    frames_.refuse("'" + target + "' is set, which shares its memory with another tensor of the model", node);
  }
  check_form(*own, value, target, node);
  const TensorNames::Known known = std::make_shared<AbstractValue>(known_of_value(value));
  Argument source = recording_.argument(value, node);
  Value after = make_proxy(run_.ref(*source.get_if<NodeId>()), tensor_type());
  share_known(after, find_proxy(value) != nullptr ? find_proxy(value)->known : known);
  const Meta meta = meta_of(tensor_type(), known_of_value(Value(TensorRef(const_cast<TensorValue*>(own)))));
  const bool again = run_.tracer->runs_in_leaf(entry.module);
  const NodeId attribute = again ? run_.tracer->get_attr_again(target, meta, entry.source)
                                 : run_.tracer->get_attr(target, meta, entry.source);
  const NodeId copy = run_.tracer->call_function("aten.copy_.default", {attribute, std::move(source)}, {},
                                                 meta, entry.source);
  run_.tracer->note_state_write(copy);
  run_.gradient_writes.any = true;
  return after;
}

// copy_ would broadcast, convert or move what the attribute gets in the archive as it is.
void Assignments::check_form(const TensorValue& own, const Value& value, const std::string& target,
                             const IrNode* node) {
  const auto wanted = tensor_info(own);
  const auto given = find_tensor_info(value);
  if (wanted && given && given->dtype) {
    const bool fits = given->dtype == wanted->dtype && given->device == wanted->device &&
                      given->sparse_dim == wanted->sparse_dim &&
                      given->sizes.size() == wanted->sizes.size() &&
                      std::ranges::equal(given->sizes, wanted->sizes, [&](const SymInt& a, const SymInt& b) {
                        return run_.dimensions.simplify(a) == b;
                      });
    if (fits) return;
    frames_.refuse("'" + target + "' is set to a tensor of another form: " +
                       value_text(meta_of(tensor_type(), {*given})) + " in the place of " +
                       value_text(meta_of(tensor_type(), {*wanted})),
                   node);
  }
  // Without --input shapes are not followed, and a tensor may be made of what the file tells of.
  if (!run_.shapes) {
    run_.findings->state_of(run_.root).needs_shapes = true;
    throw TraceAgain();
  }
  frames_.refuse("'" + target +
                     "' is set to a tensor whose shape and dtype are not known; --input, which "
                     "describes the inputs, may tell them",
                 node);
}

// A list or dict of plain values that an attribute has is changed in the graph as it is in the code: it is
// the attribute's own.
void Assignments::note_change(const Value& container, const IrNode* node) {
  if (!run_.records()) return;
  if (const Proxy* proxy = recording_.find_recorded(container)) {
    const Node& made = run_.tracer->graph_of(proxy->ref).node(proxy->ref.node);
    if (made.op != Opcode::kGetAttr || made.meta->kind() == ValueKind::kTensor) return;
    for (const Entry& entry : entries_) {
      if (entry.target == *made.target) refuse_change(entry.target, node);
    }
    if (changed_.insert(*made.target).second)
      run_.changes.add([this, target = *made.target] { changed_.erase(target); });
    return;
  }
  if (!run_.program.holds(container.identity())) return;
  const auto holder = run_.program.find_holder(container.identity());
  if (!holder || !is_plain_type(*class_of(*holder->first).attributes()[holder->second].type))
    frames_.refuse("a list or dict that the model holds is changed in place", node);
  read_.insert(*holder);  // as what it is in the file
  open(*holder);
  frames_.refuse("a list or dict that the model holds is changed in place", node);
}

void Assignments::refuse_change(const std::string& target, const IrNode* node) const {
  frames_.refuse("'" + target + "' is set, and what it is is changed in place too", node);
}

void Assignments::check_leaf(ModuleId leaf, const IrNode* node) const {
  for (const Entry& entry : entries_) {
    if (entry.is_tensor) continue;
    for (std::optional<ModuleId> holder = entry.module; holder;
         holder = run_.program.modules()[holder->index].parent) {
      if (*holder == leaf)
        frames_.refuse("a leaf is called after its attribute '" + entry.target + "' was set", node);
    }
  }
}

bool Assignments::gives(const Value& value, const std::string& target) const {
  if (const Proxy* proxy = recording_.find_recorded(value)) {
    const Node& made = run_.tracer->graph_of(proxy->ref).node(proxy->ref.node);
    return made.op == Opcode::kGetAttr && *made.target == target;
  }
  const auto part_gives = [&](const Value& part) { return gives(part, target); };
  if (value.is_list() || value.is_tuple()) return std::ranges::any_of(value.items(), part_gives);
  return value.is_dict() && std::ranges::any_of(value.to_dict().entries(), [&](const auto& entry) {
           return gives(entry.value, target);
         });
}

void Assignments::finish(const Value& output) {
  for (const auto& [object, slot] : read_) {
    const auto module = run_.program.find_module(object);
    const auto& attribute = class_of(*object).attributes()[slot];
    const bool is_set =
        module && run_.tracer->runs_in_leaf(*module) &&
        (!may_hold_tensor(*attribute.type) || is_set_by_leaf(*module, class_of(*object), attribute.name));
    if (is_set) open({object, slot});
  }
  for (const std::string& target : changed_) {
    const auto holder =
        std::ranges::find(run_.program.modules(), QualifiedName(target).parent(), &ModuleInfo::path);
    const ModuleId module{static_cast<std::uint32_t>(holder - run_.program.modules().begin())};
    // In Python it is a copy of what the archive's own module has.
    if (run_.tracer->runs_in_leaf(module))
      frames_.refuse("'" + target + "', which a leaf has too, is changed in place", nullptr);
    if (gives(output, target))
      frames_.refuse("'" + target + "' is given back, and changed in place by the next call", nullptr);
  }
  for (const Entry& entry : entries_) {
    if (entry.is_tensor) continue;
    run_.tracer->assign(
        {entry.target, recording_.argument(entry.object->slots.at(entry.slot), nullptr), entry.source});
  }
}

}  // namespace fxtrace::torchscript
