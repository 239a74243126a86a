#include "interpreter/graph/assignments.h"

#include <algorithm>

#include "graph/analysis/text_form.h"
#include "interpreter/program/convert.h"
#include "interpreter/state/value_form.h"
#include "operators/operators.h"
#include "operators/target.h"
#include "opinfo/operator_entry.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal::interpreter {
namespace {

// Returns the node whose value this one is too: of add_(x, y) that is x.
NodeId origin(const Graph& graph, NodeId id) {
  for (;;) {
    const Node& node = graph.node(id);
    const auto* first = node.args.empty() ? nullptr : node.args[0].get_if<NodeId>();
    if (node.op != Opcode::kCallFunction || first == nullptr) return id;
    const Operator* op = find_operator(parse_target(node.target));
    if (op == nullptr) return id;
    const Schema schema = op->schema();
    if (schema.arguments.empty() || !schema.arguments[0].is_written) return id;
    const std::vector<Alias>& all = entry_of(*op).aliases;
    const bool is_first = all.size() == 1 && all[0].argument == 0 && all[0].always && !all[0].of_elements;
    if (!is_first) return id;
    id = *first;
  }
}

// Returns whether values of the type are numbers, strings, None, or lists, tuples and dicts of these.
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

bool Assignments::is_open(const ObjectValue& object, std::size_t slot) const {
  return recorder_.findings().state_of(run_.root).assigned.contains({&object, slot}) &&
         !state_.assigned.has(object, slot);
}

bool Assignments::is_set_by_leaf(ModuleId module, const ClassType& type, const std::string& name) const {
  for (std::optional<ModuleId> holder = module; holder;
       holder = run_.program.modules()[holder->index].parent) {
    if (tracer_.is_leaf(*holder) && run_.program.is_set_inside(*holder, type, name)) return true;
  }
  return false;
}

void Assignments::open(const Attribute& attribute) {
  if (!recorder_.findings().state_of(run_.root).assigned.insert(attribute).second) return;
  if (state_.assigned.read().contains(attribute)) throw TraceAgain();
}

void Assignments::set(const AttributePlace& place, const Value& value, const IrNode* node) {
  const auto& [object, slot, name, before] = place;
  Value after = value;
  // Assignments to an object that the code makes end with the call, and one of the same value changes
  // nothing.
  const bool is_new = run_.program.holds(object.get()) && (state_.assigned.has(*object, slot) ||
                                                           !is_same(before, value) || is_open(*object, slot));
  if (is_new) {
    const auto module = run_.program.find_module(object.get());
    if (!module) frames_.refuse("attribute '" + name + "' of an object that a module holds is set", node);
    const Type& type = *class_of(*object).attributes()[slot].type;
    Entry entry{
        object, slot, target_of(*module, name), *module, frames_.location(node), may_hold_tensor(type)};
    if (entry.is_tensor && is_itself(entry, before, value)) {  // self.state += x
      after = before;
    } else if (run_.program.object(*module) != object) {
      frames_.refuse("attribute '" + name +
                         "' is set, and the file does not tell whether its module is also " +
                         run_.program.modules()[module->index].path,
                     node);
    } else if (entry.is_tensor) {
      after = write(entry, before, value, node);
    } else {
      check_plain(value, type, entry.target, node);
      if (changed_.contains(entry.target)) refuse_change(entry.target, node);
      open({object.get(), slot});
    }
    state_.assigned.add(std::move(entry));
  }
  store(place, std::move(after), state_.changes);
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
    frames_.refuse(
        "'" + target + "' is set to a dtype, layout or memory format, which is not a number in Python", node);
}

bool Assignments::is_itself(const Entry& entry, const Value& before, const Value& value) const {
  const Proxy* proxy = recorder_.find_recorded(value);
  if (proxy == nullptr || !before.is_tensor() || proxy->ref.graph != kRootGraph) return value.is(before);
  const Graph& graph = tracer_.graph_of(proxy->ref);
  const Node& node = graph.node(origin(graph, proxy->ref.node));
  if (node.op != Opcode::kGetAttr) return false;
  return *node.target == entry.target ||
         *node.target == run_.program.first_name(before.to_tensor(), entry.target);
}

Value Assignments::write(const Entry& entry, const Value& before, const Value& value, const IrNode* node) {
  const std::string& target = entry.target;
  if (!is_tensor_value(before) || !is_tensor_value(value)) {
    frames_.refuse("'" + target + "' is set, and holds " + kind_text(before) +
                       ": only a tensor in the place of a tensor can be assigned in a graph",
                   node);
  }
  const ClassType& type = class_of(*entry.object);
  if (is_set_by_leaf(entry.module, type, type.attributes()[entry.slot].name))
    frames_.refuse("'" + target + "' is set, and the leaf that holds it sets it too", node);
  const TensorValue* own = run_.program.own_tensor(*entry.object, entry.slot);
  if (own == nullptr) frames_.refuse("'" + target + "' is set, and its tensor is not known", node);
  if (own->requires_grad) {
    frames_.refuse(
        "'" + target + "' is set, and is a parameter that requires a gradient, which cannot be written",
        node);
  }
  if (run_.program.shares_memory(*own)) {
    frames_.refuse("'" + target + "' is set, and shares its memory with another tensor of the model", node);
  }
  check_form(*own, value, target, node);
  const TensorNames::KnownValue known = std::make_shared<AbstractValue>(known_of_value(value));
  Argument source = recorder_.argument(value, node);
  Value after = make_proxy(tracer_.ref(*source.get_if<NodeId>()), tensor_type());
  share_known(after, find_proxy(value) != nullptr ? find_proxy(value)->known : known);
  const Meta meta = meta_of(tensor_type(), known_of_value(Value(TensorRef(const_cast<TensorValue*>(own)))));
  const bool again = tracer_.runs_in_leaf(entry.module);
  const NodeId attribute = again ? tracer_.get_attr_again(target, meta, entry.source)
                                 : tracer_.get_attr(target, meta, entry.source);
  const NodeId copy =
      tracer_.call_function("aten.copy_.default", {attribute, std::move(source)}, {}, meta, entry.source);
  tracer_.note_state_write(copy);
  state_.gradient_writes.any = true;
  return after;
}

// Checks that the tensor has the form of the attribute's own: copy_ would broadcast, convert or move another
// one, which the archive assigns as it is.
void Assignments::check_form(const TensorValue& own, const Value& value, const std::string& target,
                             const IrNode* node) {
  const auto wanted = tensor_info(own);
  const auto given = find_tensor_info(value);
  if (wanted && given && given->dtype) {
    const bool fits = given->dtype == wanted->dtype && given->device == wanted->device &&
                      given->sparse_dim == wanted->sparse_dim &&
                      given->sizes.size() == wanted->sizes.size() &&
                      std::ranges::equal(given->sizes, wanted->sizes, [&](const SymInt& a, const SymInt& b) {
                        return state_.dimensions.simplify(a) == b;
                      });
    if (fits) return;
    frames_.refuse("'" + target + "' is set to a tensor of another form: " +
                       value_text(meta_of(tensor_type(), {*given})) + " in the place of " +
                       value_text(meta_of(tensor_type(), {*wanted})),
                   node);
  }
  // Without --input shapes are not propagated, though the shapes in the file may suffice to infer this one.
  if (!run_.shapes) {
    recorder_.findings().state_of(run_.root).needs_shapes = true;
    throw TraceAgain();
  }
  frames_.refuse("'" + target +
                     "' is set to a tensor whose shape and dtype are not known; --input, which "
                     "describes the inputs, may tell them",
                 node);
}

// A list or dict of plain values that an attribute holds is changed by nodes of the graph: a get_attr node
// gives the attribute's own.
void Assignments::note_change(const Value& container, const IrNode* node) {
  if (const Proxy* proxy = recorder_.find_recorded(container)) {
    const Graph& graph = tracer_.graph_of(proxy->ref);
    const Node& made = graph.node(proxy->ref.node);
    const TypeKind kind = proxy->static_type->kind();
    if (kind == TypeKind::kList || kind == TypeKind::kDict) note_change_of(*proxy, node);
    if (made.op != Opcode::kGetAttr || made.meta->kind() == ValueKind::kTensor) return;
    for (const Entry& entry : state_.assigned.entries()) {
      if (entry.target == *made.target) refuse_change(entry.target, node);
    }
    if (changed_.insert(*made.target).second)
      state_.changes.add([this, target = *made.target] { changed_.erase(target); });
    return;
  }
  if (!run_.program.holds(container.identity())) return;
  const auto holder = run_.program.find_holder(container.identity());
  if (!holder || !is_plain_type(*class_of(*holder->first).attributes()[holder->second].type))
    frames_.refuse("a list or dict that the model holds is changed in place", node);
  state_.assigned.note_read(*holder);  // its value in the file was taken
  open(*holder);
  frames_.refuse("a list or dict that the model holds is changed in place", node);
}

void Assignments::note_owned(const NodeRef& call, const std::string& path) {
  owned_.emplace_back(call, path);
  state_.changes.add([this] { owned_.pop_back(); });
}

void Assignments::note_change_of(const Proxy& container, const IrNode* node) {
  const Graph& graph = tracer_.graph_of(container.ref);
  NodeRef whole = container.ref;
  while (*graph.node(whole.node).target == "operator.getitem") {
    const auto* from = graph.node(whole.node).args[0].get_if<NodeId>();
    if (from == nullptr) break;
    whole.node = *from;
  }
  for (const auto& [call, path] : owned_) {
    if (call == whole)
      frames_.refuse("a list or dict that " + path + ", which stays one call, keeps is changed", node);
  }
  if (graph.node(whole.node).op != Opcode::kPlaceholder || whole.graph != kRootGraph) return;
  if (whole != container.ref)
    frames_.refuse("a list or dict inside of the input '" + *graph.node(whole.node).target + "' is changed",
                   node);
  if (std::ranges::find(changed_inputs_, whole.node, &ChangedInput::placeholder) != changed_inputs_.end())
    return;
  changed_inputs_.push_back({whole.node, container.static_type->kind() == TypeKind::kDict});
  state_.changes.add([this] { changed_inputs_.pop_back(); });
}

void Assignments::copy_changed_inputs() {
  Graph& graph = tracer_.graph_to_rewrite();
  NodeId behind = graph.first();
  while (graph.node(behind).op == Opcode::kPlaceholder) behind = graph.next(behind);
  for (const auto& [placeholder, is_dict] : changed_inputs_) {
    Graph::NodeSpec spec;
    spec.op = Opcode::kCallFunction;
    spec.target = is_dict ? "builtins.dict" : "builtins.list";
    spec.args = {placeholder};
    spec.scope = graph.node(placeholder).scope;
    spec.meta = graph.node(placeholder).meta;
    const NodeId copy = graph.insert_before(behind, std::move(spec));
    graph.replace_all_uses(placeholder, copy, [&](NodeId user) { return user != copy; });
  }
}

void Assignments::refuse_change(const std::string& target, const IrNode* node) const {
  frames_.refuse("'" + target + "' is set, and its value is changed in place too", node);
}

void Assignments::check_leaf(ModuleId leaf, const IrNode* node) const {
  for (const Entry& entry : state_.assigned.entries()) {
    if (entry.is_tensor) continue;
    for (std::optional<ModuleId> holder = entry.module; holder;
         holder = run_.program.modules()[holder->index].parent) {
      if (*holder == leaf)
        frames_.refuse("a leaf is called after its attribute '" + entry.target + "' was set", node);
    }
  }
}

bool Assignments::gives(const Value& value, const std::string& target) const {
  if (const Proxy* proxy = recorder_.find_recorded(value)) {
    const Node& made = tracer_.graph_of(proxy->ref).node(proxy->ref.node);
    return made.op == Opcode::kGetAttr && *made.target == target;
  }
  const auto part_gives = [&](const Value& part) { return gives(part, target); };
  if (value.is_list() || value.is_tuple()) return std::ranges::any_of(value.items(), part_gives);
  return value.is_dict() && std::ranges::any_of(value.to_dict().entries(), [&](const auto& entry) {
           return gives(entry.value, target);
         });
}

void Assignments::finish(const Value& output) {
  for (const auto& [object, slot] : state_.assigned.read()) {
    const auto module = run_.program.find_module(object);
    const auto& attribute = class_of(*object).attributes()[slot];
    const bool is_set =
        module && tracer_.runs_in_leaf(*module) &&
        (!may_hold_tensor(*attribute.type) || is_set_by_leaf(*module, class_of(*object), attribute.name));
    if (is_set) open({object, slot});
  }
  for (const std::string& target : changed_) {
    const auto holder =
        std::ranges::find(run_.program.modules(), QualifiedName(target).parent(), &ModuleInfo::path);
    const ModuleId module{static_cast<std::uint32_t>(holder - run_.program.modules().begin())};
    // In Python the attribute is a copy of the one in the archive's own module.
    if (tracer_.runs_in_leaf(module))
      frames_.refuse("'" + target + "', which a leaf holds too, is changed in place", nullptr);
    if (gives(output, target))
      frames_.refuse("'" + target + "' is returned, and the next call changes it in place", nullptr);
  }
  for (const Entry& entry : state_.assigned.entries()) {
    if (entry.is_tensor) continue;
    tracer_.assign(
        {entry.target, recorder_.argument(entry.object->slots.at(entry.slot), nullptr), entry.source});
  }
}

}  // namespace fxtrace::internal::interpreter
