// What forward assigns to the attributes of modules, and in-place changes of what they hold: the state that a
// call leaves behind for the next one.
//
// A tensor is written into the attribute's own with aten.copy_; a plain value is an assignment of the graph,
// carried out after the run.  An attribute that forward assigns has another value in the next call: where it
// is read before that, it is a get_attr node, and nothing but its type is known of it.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "torchscript/interpreter/record/recording_part.h"

namespace fxtrace::interpreter {

class Assignments : RecordingPart {
 public:
  explicit Assignments(const RecordingPart& around) : RecordingPart(around) {}

  // Sets the attribute; throws TraceFailure where a graph cannot say so.
  void set(const AttributePlace& place, const Value& value, const IrNode* node);
  // Returns whether the attribute may have another value in another call of the graph, as it has now.
  bool is_open(const ObjectValue& object, std::size_t slot) const;
  // Returns whether a leaf has the module, or is it, and its code sets the attribute.
  bool is_set_by_leaf(ModuleId module, const ClassType& type, const std::string& name) const;
  // Notes that an operator changes the value in place.  Throws TraceFailure where that is a list or dict
  // which a module holds and a graph cannot say so; TraceAgain as set() does.
  void note_change(const Value& container, const IrNode* node);
  // Throws TraceFailure where the leaf may read a plain value that is to be assigned after the run.
  void check_leaf(ModuleId leaf, const IrNode* node) const;
  // Records the plain values, at the end of a graph with this output.  Throws as set() does.
  void finish(const Value& output);

 private:
  using Attribute = AssignedAttributes::Attribute;
  using Entry = AssignedAttributes::Entry;

  // Notes that forward assigns it.  Throws TraceAgain when it was read as if it did not.
  void open(const Attribute& attribute);
  std::string target_of(ModuleId module, const std::string& name) const;
  bool gives(const Value& value, const std::string& target) const;
  [[noreturn]] void refuse_change(const std::string& target, const IrNode* node) const;
  // Writes the tensor into the attribute; returns the value that the attribute has from now on.
  Value write(const Entry& entry, const Value& before, const Value& value, const IrNode* node);
  bool is_itself(const Entry& entry, const Value& before, const Value& value) const;
  void check_form(const TensorValue& own, const Value& value, const std::string& target, const IrNode* node);
  void check_plain(const Value& value, const Type& type, const std::string& target, const IrNode* node) const;

  std::set<std::string> changed_;  // attributes whose lists or dicts are changed in place
};

}  // namespace fxtrace::interpreter
