// Unique node names, made as torch.fx's graph namespace makes them: "conv1", "add", "add_1".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace fxtrace::internal {

class Namespace {
 public:
  // Returns a unique name made from `candidate`: characters that are not valid in a Python identifier become
  // "_"; keywords and builtins of Python, and names already taken, get a number.
  std::string create(std::string_view candidate);

  void reserve(std::size_t names) {  // makes room for so many
    used_.reserve(names);
    log_.reserve(names);
  }

  // roll_back() forgets the names created since mark().
  std::size_t mark() const { return log_.size(); }
  void roll_back(std::size_t mark);

 private:
  struct Entry {
    std::string name;
    std::size_t base_length;  // the base is the name without its number
    std::int64_t old_count;   // -1: the base was new
  };
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, std::int64_t> count_;
  std::vector<Entry> log_;
};

// Returns the candidate name that torch.fx takes for a node with this target, in snake case;
// Namespace::create() makes it a unique name.  `__magic__` loses its underscores.
//   not a function: the whole target ("a.b" -> "a.b", which create() makes "a_b");
//   an operator:    the name without namespace and overload ("aten.add.Tensor" -> "add");
//   a Python name:  the last part ("torch.nn.functional.relu" -> "relu", "higher_order.cond" -> "cond").
// parse_target() distinguishes the cases.  For a function of the model's own code, which may have three
// parts as well ("pkg.ops.nms"), the caller passes its last part.
std::string name_candidate(std::string_view target, bool is_function);

// Returns whether torch may have made the name from the target of a function: "add", "add_3" and "add_tensor"
// from "aten.add.Tensor".
bool is_name_from(std::string_view name, std::string_view target);

}  // namespace fxtrace::internal
