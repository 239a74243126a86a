// Assignments of forward to attributes of modules, and in-place changes of the lists and dicts that modules
// hold: the state that a call leaves for the next one.
//
// A tensor is written into the attribute's own tensor with aten.copy_; a plain value is an assignment of the
// graph, carried out after the run.  An attribute that forward assigns has another value in the next call:
// where it is read before the assignment, it is a get_attr node, of which nothing but the type is known.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "interpreter/evaluate/evaluator.h"

namespace fxtrace::internal::interpreter {

class Assignments : RecordingPart {
 public:
  using RecordingPart::RecordingPart;

  // Sets the attribute; throws TraceFailure where a graph cannot express that.
  void set(const AttributePlace& place, const Value& value, const IrNode* node);
  // Returns whether the attribute's value at this point may differ between calls of the graph.
  bool is_open(const ObjectValue& object, std::size_t slot) const;
  // Returns whether the module is in a leaf, or is one, whose code sets the attribute.
  bool is_set_by_leaf(ModuleId module, const ClassType& type, const std::string& name) const;
  // Notes that an operator changes the value in place.  Throws TraceFailure where that is a list or dict that
  // a module holds and a graph cannot express the change; TraceAgain as set() does.
  void note_change(const Value& container, const IrNode* node);
  // Notes that the result of the call is, or holds, a list or dict that the leaf at `path` keeps.
  void note_owned(const NodeRef& call, const std::string& path);
  // Throws TraceFailure where the leaf may read a plain value that is to be assigned after the run.
  void check_leaf(ModuleId leaf, const IrNode* node) const;
  // Records the plain values, at the end of a graph with this output.  Throws as set() does.
  void finish(const Value& output);
  // Has the complete graph change copies of the lists and dicts that it is given, as torch.jit does.
  void copy_changed_inputs();

 private:
  using Attribute = AssignedAttributes::Attribute;
  using Entry = AssignedAttributes::Entry;

  // Notes that forward assigns the attribute.  Throws TraceAgain when its value in the file was taken before.
  void open(const Attribute& attribute);
  std::string target_of(ModuleId module, const std::string& name) const;
  // Returns whether the attribute's value is, or is in, the value.
  bool gives(const Value& value, const std::string& target) const;
  // Notes that a list or dict of the graph is changed in place.  Throws TraceFailure when a leaf keeps it, or
  // when it is inside of an input.
  void note_change_of(const Proxy& container, const IrNode* node);
  [[noreturn]] void refuse_change(const std::string& target, const IrNode* node) const;
  // Writes the tensor into the attribute; returns the value that the attribute has from now on.
  Value write(const Entry& entry, const Value& before, const Value& value, const IrNode* node);
  bool is_itself(const Entry& entry, const Value& before, const Value& value) const;
  void check_form(const TensorValue& own, const Value& value, const std::string& target, const IrNode* node);
  void check_plain(const Value& value, const Type& type, const std::string& target, const IrNode* node) const;

  std::vector<std::pair<NodeRef, std::string>> owned_;  // calls of leaves that give what they keep
  struct ChangedInput {
    NodeId placeholder;
    bool is_dict = false;
  };
  std::vector<ChangedInput> changed_inputs_;
  std::set<std::string> changed_;  // targets of attributes whose lists or dicts are changed in place
};

}  // namespace fxtrace::internal::interpreter
