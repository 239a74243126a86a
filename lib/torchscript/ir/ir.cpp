#include "torchscript/ir/ir.h"

#include <algorithm>
#include <utility>

#include "support/error.h"

namespace fxtrace::internal::torchscript {

// --- values ---

IrValue* IrValue::set_type(TypePtr type) {
  type_ = std::move(type);
  return this;
}

IrValue* IrValue::set_name(std::string_view name) {
  name_ = name;
  return this;
}

void IrValue::replace_all_uses_with(IrValue* other) {
  if (other == this) return;
  for (const IrUse& use : uses_) {
    use.user->inputs_[use.offset] = other;
    use.user->use_slots_[use.offset] = static_cast<std::uint32_t>(other->uses_.size());
    other->uses_.push_back(use);
  }
  uses_.clear();
}

// --- nodes ---

void IrNode::add_input(IrValue* value) { insert_input(inputs_.size(), value); }

void IrNode::insert_input(std::size_t i, IrValue* value) {
  graph_->spend(1);
  const auto at = static_cast<std::ptrdiff_t>(i);
  inputs_.insert(inputs_.begin() + at, value);
  use_slots_.insert(use_slots_.begin() + at, static_cast<std::uint32_t>(value->uses_.size()));
  value->uses_.push_back({this, i});
  renumber_uses(i + 1);
}

void IrNode::renumber_uses(std::size_t from) {
  for (std::size_t i = from; i < inputs_.size(); ++i) inputs_[i]->uses_[use_slots_[i]].offset = i;
}

void IrNode::drop_use(std::size_t i) {
  std::vector<IrUse>& uses = inputs_[i]->uses_;
  const std::uint32_t slot = use_slots_[i];
  uses[slot] = uses.back();
  uses[slot].user->use_slots_[uses[slot].offset] = slot;
  uses.pop_back();
}

void IrNode::remove_input(std::size_t i) {
  drop_use(i);
  const auto at = static_cast<std::ptrdiff_t>(i);
  inputs_.erase(inputs_.begin() + at);
  use_slots_.erase(use_slots_.begin() + at);
  renumber_uses(i);
}

void IrNode::remove_all_inputs() {
  for (std::size_t i = 0; i < inputs_.size(); ++i) drop_use(i);
  inputs_.clear();
  use_slots_.clear();
}

IrValue* IrNode::add_output(TypePtr type) {
  outputs_.push_back(graph_->new_value(this, type != nullptr ? std::move(type) : tensor_type()));
  outputs_.back()->offset_ = outputs_.size() - 1;
  return outputs_.back();
}

void IrNode::erase_output(std::size_t i) {
  outputs_.erase(outputs_.begin() + static_cast<std::ptrdiff_t>(i));
  for (std::size_t j = i; j < outputs_.size(); ++j) outputs_[j]->offset_ = j;
}

void IrNode::permute_outputs(const std::vector<std::size_t>& order) {
  std::vector<IrValue*> permuted;
  for (const std::size_t i : order) permuted.push_back(outputs_[i]);
  outputs_ = std::move(permuted);
  for (std::size_t i = 0; i < outputs_.size(); ++i) outputs_[i]->offset_ = i;
}

void IrNode::permute_inputs(const std::vector<std::size_t>& order) {
  std::vector<IrValue*> permuted;
  for (const std::size_t i : order) permuted.push_back(inputs_[i]);
  remove_all_inputs();
  for (IrValue* value : permuted) add_input(value);
}

IrBlock* IrNode::add_block() {
  blocks_.push_back(graph_->new_block(this));
  return blocks_.back();
}

void IrNode::erase_block(std::size_t i) {
  IrBlock* block = blocks_[i];
  block->return_node_->remove_all_inputs();
  while (!block->nodes().empty()) block->nodes().back()->destroy();
  blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i));
}

IrNode* IrNode::insert_before(IrNode* other) {
  block_ = other->block_;
  previous_ = other->previous_;
  next_ = other;
  previous_->next_ = this;
  other->previous_ = this;
  return this;
}

IrNode* IrNode::insert_after(IrNode* other) { return insert_before(other->next_); }

void IrNode::unlink() {
  previous_->next_ = next_;
  next_->previous_ = previous_;
  // `next_` is kept, so that an iterator at the node can go on.
}

void IrNode::move_before(IrNode* other) {
  unlink();
  insert_before(other);
}

void IrNode::destroy() {
  std::vector<IrNode*> open{this};
  while (!open.empty()) {
    IrNode* node = open.back();
    open.pop_back();
    node->remove_all_inputs();
    for (IrBlock* block : node->blocks_) {
      for (IrNode* inner : block->nodes()) open.push_back(inner);
      block->return_node_->remove_all_inputs();
    }
  }
  if (block_ != nullptr) unlink();
  block_ = nullptr;
}

const IrAttribute* IrNode::find_attribute(Symbol name) const {
  for (const IrAttribute& attribute : attributes_) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

IrNode* IrNode::set_attribute(Symbol name, IrAttribute::Value value) {
  for (IrAttribute& attribute : attributes_) {
    if (attribute.name != name) continue;
    attribute.value = std::move(value);
    return this;
  }
  attributes_.push_back({name, std::move(value)});
  return this;
}

void IrNode::remove_attribute(Symbol name) {
  std::erase_if(attributes_, [&](const IrAttribute& attribute) { return attribute.name == name; });
}

namespace {

template <class T>
const T& get_attribute(const IrNode& node, Symbol name) {
  const IrAttribute* found = node.find_attribute(name);
  const T* value = found == nullptr ? nullptr : std::get_if<T>(&found->value);
  if (value == nullptr)
    throw input_error("a node of kind " + std::string(to_text(node.kind())) + " has no attribute '" +
                      std::string(to_text(name)) + "' of the expected type");
  return *value;
}

}  // namespace

const std::string& IrNode::text(Symbol name) const { return get_attribute<std::string>(*this, name); }
const std::vector<TypePtr>& IrNode::types() const {
  return get_attribute<std::vector<TypePtr>>(*this, Symbol::kAttrTypes);
}
const std::shared_ptr<IrGraph>& IrNode::subgraph() const {
  return get_attribute<std::shared_ptr<IrGraph>>(*this, Symbol::kAttrSubgraph);
}

bool IrNode::is_inside(const IrNode& holder) const {
  const IrBlock* block = block_;
  while (block != nullptr && block->owning_node() != &holder)
    block = block->owning_node() == nullptr ? nullptr : block->owning_node()->owning_block();
  return block != nullptr;
}

const ScriptConstant* IrNode::constant() const {
  if (kind_ != Symbol::kPrimConstant) return nullptr;
  static const ScriptConstant none;
  const IrAttribute* value = find_attribute(Symbol::kAttrValue);
  return value == nullptr ? &none : std::get_if<ScriptConstant>(&value->value);
}

bool IrNode::must_be_none() const {
  const ScriptConstant* value = constant();
  if (value != nullptr && value->is_none()) return true;
  return kind_ == Symbol::kNone || (outputs_.size() == 1 && outputs_[0]->type()->kind() == TypeKind::kNone);
}

IrNode* IrNode::set_operator_schema(const FunctionSchema* schema) {
  schema_ = schema;
  return this;
}

IrNode* IrNode::set_source_range(const SourceRange& range) {
  range_ = range;
  return this;
}

// --- blocks and graphs ---

IrValue* IrBlock::add_input(TypePtr type, std::string_view name) {
  IrValue* value = param_node_->add_output(std::move(type));
  if (!name.empty()) value->set_name(name);
  return value;
}

IrGraph::IrGraph() {
  block_ = new_block(nullptr);
  insert_point_ = block_->return_node();
}
IrGraph::~IrGraph() = default;

void IrGraph::refuse() { throw input_error("the code unfolds to more nodes than fxtrace supports"); }

namespace {

bool is_variable(Symbol kind) { return kind == Symbol::kPrimLoad || kind == Symbol::kPrimStore; }

}  // namespace

void IrGraph::free_variables() { variables_ = {}; }

IrNode* IrGraph::new_node(Symbol kind) {
  spend(1);
  IrNode& node = (is_variable(kind) ? variables_ : kept_).nodes.add();
  node.kind_ = kind;
  node.graph_ = this;
  return &node;
}

IrValue* IrGraph::new_value(IrNode* node, TypePtr type) {
  IrValue& value = (is_variable(node->kind_) ? variables_ : kept_).values.add();
  value.node_ = node;
  value.type_ = std::move(type);
  value.id_ = values_++;
  return &value;
}

IrBlock* IrGraph::new_block(IrNode* owner) {
  IrBlock& block = blocks_.add();
  block.owning_node_ = owner;
  block.param_node_ = new_node(Symbol::kPrimParam);
  block.return_node_ = new_node(Symbol::kPrimReturn);
  block.param_node_->block_ = &block;
  block.return_node_->block_ = &block;
  block.return_node_->next_ = block.return_node_->previous_ = block.return_node_;
  return &block;
}

IrNode* IrGraph::create(Symbol kind, const std::vector<IrValue*>& inputs, std::size_t outputs) {
  IrNode* node = new_node(kind);
  node->inputs_.reserve(inputs.size());
  for (IrValue* value : inputs) node->add_input(value);
  for (std::size_t i = 0; i < outputs; ++i) node->add_output();
  return node;
}

IrNode* IrGraph::create_constant(ScriptConstant value, TypePtr type) {
  IrNode* node = create(Symbol::kPrimConstant);
  node->output()->set_type(std::move(type));
  if (!value.is_none()) node->set_attribute(Symbol::kAttrValue, std::move(value));
  return node;
}

// --- copies ---

IrValue* IrCloner::value(IrValue* original) {
  const auto copy = copies_.find(original);
  return copy != copies_.end() ? copy->second : map_(original);
}

IrNode* IrCloner::clone(const IrNode& node) {
  IrNode* copy = graph_.create(node.kind(), {}, 0);
  for (IrValue* input : node.inputs()) copy->add_input(value(input));
  for (const IrValue* output : node.outputs()) {
    IrValue* made = copy->add_output(output->type());
    if (output->has_name()) made->set_name(output->name());
    copies_[output] = made;
  }
  for (const IrAttribute& attribute : node.attributes()) copy->set_attribute(attribute.name, attribute.value);
  copy->set_operator_schema(node.operator_schema())->set_source_range(node.source_range());
  for (const IrBlock* block : node.blocks()) {
    IrBlock* inner = copy->add_block();
    for (const IrValue* input : block->inputs())
      copies_[input] = inner->add_input(input->type(), input->name());
    clone_block(*block, *inner);
  }
  return copy;
}

std::vector<IrValue*> IrCloner::clone_nodes(const IrBlock& block, IrNode* place) {
  for (const IrNode* node : block.nodes()) clone(*node)->insert_before(place);
  std::vector<IrValue*> results;
  for (IrValue* output : block.outputs()) results.push_back(value(output));
  return results;
}

void IrCloner::clone_block(const IrBlock& from, IrBlock& into) {
  for (IrValue* result : clone_nodes(from, into.return_node())) into.add_output(result);
}

void move_nodes(const IrBlock& block, IrNode* place) {
  while (!block.nodes().empty()) block.nodes().front()->move_before(place);
}

}  // namespace fxtrace::internal::torchscript
