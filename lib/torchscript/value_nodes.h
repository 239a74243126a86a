// Nodes that make, take apart or hand on values: containers, attributes, casts, `is`, isinstance.
#pragma once

#include <string>

#include "torchscript/recording.h"

namespace fxtrace::torchscript {

struct Run;

class ValueNodes {
 public:
  ValueNodes(Run& run, Frames& frames, Recording& recording)
      : run_(run), frames_(frames), recording_(recording) {}

  // False when the node is of another kind.
  bool run(const IrNode* node);

 private:
  void construct(const IrNode* node);
  void unpack(const IrNode* node);
  void cast(const IrNode* node);
  void index_tuple(const IrNode* node);
  void slice_tuple(const IrNode* node);
  void index_modules(const IrNode* node);
  void is_instance(const IrNode* node);
  bool compare_identity(const IrNode* node);
  bool compare_tensors(const IrNode* node, const Value& left, const Value& right);
  void get_attribute(const IrNode* node);
  void set_attribute(const IrNode* node);
  Value attribute(const ObjectValue& object, const std::string& name, const IrNode* node);
  // `fits`: as many elements are taken as there are.
  Value item(const Value& sequence, std::size_t index, const TypePtr& type, const IrNode* node,
             bool fits = true);

  Run& run_;
  Frames& frames_;
  Recording& recording_;
};

}  // namespace fxtrace::torchscript
