// Node names, made as torch.fx's graph namespace makes them: "conv1", "add", "add_1".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace fxtrace {

class Namespace {
 public:
  // A unique name from `candidate`: characters that no Python identifier has become "_", Python's keywords
  // and builtins get a number, and so does a name that is taken.
  std::string create(std::string_view candidate);

  // Names can be given back, last first: what was created after mark() is forgotten by roll_back().
  std::size_t mark() const { return log_.size(); }
  void roll_back(std::size_t mark);

 private:
  struct Entry {
    std::string name, base;
    std::int64_t old_count;  // -1: the base was new
  };
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, std::int64_t> count_;
  std::vector<Entry> log_;
};

// The candidate that torch.fx would take for a node with this target, in snake case; Namespace::create()
// makes it a name.  `__magic__` loses its underscores.
//   not a function: the whole target ("a.b" -> "a.b", which create() makes "a_b");
//   an operator:    the name without namespace and overload ("aten.add.Tensor" -> "add");
//   a Python name:  the last part ("torch.nn.functional.relu" -> "relu", "higher_order.cond" -> "cond").
// What is what says parse_target().  Of a function of the model's own, which may have three parts too
// ("pkg.ops.nms"), the candidate is made from its last part.
std::string name_candidate(std::string_view target, bool is_function);

}  // namespace fxtrace
