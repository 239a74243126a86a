// Subgraphs of control flow: their bodies, the lists and dicts that these change, and what they give back.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "torchscript/recording.h"

namespace fxtrace::torchscript {

struct Run;

// A list or dict that a subgraph changes in place.
struct ChangedContainer {
  std::string name;
  Value container;
  Value before;  // a copy
  Value after;   // likewise, at the end of the subgraph
};

class Subgraphs {
 public:
  // A subgraph that is being recorded.
  struct Body {
    const IrNode* node = nullptr;  // the branch or loop
    std::size_t frame = 0;         // that runs it
    Values handed_in = {};         // made for the body, in the place of values from around
    std::optional<std::unordered_set<const void*>> around = {};  // that can change; found when asked for
    std::vector<ChangedContainer> changed = {};                  // of those
  };

  Subgraphs(Run& run, Frames& frames, Recording& recording)
      : run_(run), frames_(frames), recording_(recording) {}

  // What `run` does as a subgraph.  What is assumed and found out inside holds nowhere else.
  GraphTracer::OpenSubgraph record(const std::string& name, const IrBlock& block,
                                   const std::vector<NodeId>& operands, const std::function<void()>& run);
  Body& innermost() { return bodies_.back(); }

  // Fails when what is changed in place is from around the subgraph that is being recorded, or may be.
  void check_change(const Value& container, const std::string& what, const IrNode* node);
  // A list or dict from around: what becomes of it is a result of the subgraph.
  void note_change(const Value& container, const std::string& name, const IrNode* node);
  void change(const Value& container, const Value& content, const std::string& name, const IrNode* node);
  // At the end of a subgraph: the containers are again as they were before.
  std::vector<ChangedContainer> take_changes();
  // Where one of `others` can be seen from elsewhere, neither it nor the container may change from now on.
  void may_be_another(const Value& container, const Values& others, const IrNode* node);

  // What a subgraph gives back for the value: what it got is copied, as torch's control flow asks for.
  // `known`: of the result.
  Argument result(const Value& value, const TypePtr& type, const AbstractValue& known, const IrNode* node);

 private:
  bool is_from_around(const Value& container);
  Argument unread_value(const TypePtr& type, const AbstractValue& known);

  Run& run_;
  Frames& frames_;
  Recording& recording_;
  std::vector<Body> bodies_;  // innermost last
  // Lists and dicts that may be another one, or a copy of it: two ways of a branch made one of them.
  std::unordered_map<const void*, Value> may_be_other_;
};

}  // namespace fxtrace::torchscript
