// The texts of boxes and nodes of a picture, independent of its format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/analysis/execution_order.h"
#include "pictures/outline.h"
#include "pictures/picture.h"

namespace fxtrace::internal {

struct Label {
  std::string title;                         // "layer1.0", "add", "h.1 ... h.11"
  std::string type;                          // "Bottleneck"; empty unless it is a module
  std::string details;                       // "7x7, stride 2": the important arguments
  std::vector<std::string> attributes = {};  // parameters and constants among its inputs: "weight [64]"
  std::string value;                         // the result: "[1, 64, 112, 112]", "int64[1]"
  std::string order;                         // position in the order of calls: "#12"
  std::string failure;                       // the reason why the module could not be traced
  std::string note;                          // "as layer1.0", "x 11", "12 operations"

  // Returns type and details, which are secondary.
  std::string second() const { return type + (type.empty() || details.empty() ? "" : "  ") + details; }
  // Returns whether they fit on the title's line.
  bool is_short() const { return title.size() + second().size() <= 26; }
};

// Makes labels.  Texts are raw and of any length: writers must cut and quote them.
class Labels {
 public:
  // Both references must outlive this.
  Labels(const GraphCollection& collection, const Outline& outline, bool with_order);

  Label label(Outline::Index item) const;
  // Returns the note of the closed box `item` that has the same structure as `same`, which may be kNone.
  std::string same_note(Outline::Index same, Outline::Index item) const;

  // Returns the path relative to the enclosing box that has a path: "attn" for h.0.attn in h.0.
  std::string relative_path(Outline::Index item) const;
  // Returns an argument as text: a node as its known value, or else as its name.
  std::string argument_text(const ModuleGraph& graph, const Argument& argument) const;
  // Returns "float32[1, 64]"; the collection's most frequent dtype is omitted.
  std::string value_text(const Meta& meta) const;
  std::string value_text(const std::string& dtype, const std::vector<std::int64_t>& shape) const;
  const std::string& usual_dtype() const { return usual_dtype_; }

 private:
  void describe_node(Outline::Index item, Label& label) const;
  std::string order_of_parameter(const Outline::Item& item, std::string_view name) const;
  std::string module_details(const ModuleRecord& module) const;
  std::string weight_details(const ModuleRecord& module) const;
  std::string quantized_text(const ModuleRecord& module) const;
  std::string node_details(const Outline::Item& item) const;
  std::string constant_text(const Outline::Attribute& constant) const;
  std::string attribute_text(const Outline::Attribute& attribute, std::string_view scope) const;
  std::string value_of(const Outline::Item& item) const;
  std::string order_of(const Outline::Item& item) const;
  std::size_t operations(Outline::Index box) const;
  std::string range_text(const Outline::Item& item) const;
  // Returns the number of siblings that a box of repeats stands for, including those in its parts.
  std::size_t members(const Outline::Item& box) const;
  void describe_repeats(const Outline::Item& box, Label& label) const;

  bool is_shown(const Node& node) const;

  const Outline& outline_;
  std::unordered_set<const Node*> shown_;
  std::string usual_dtype_;
  bool with_order_ = false;
  // Positions in a graph's order of use, counted from 1.
  struct Order {
    std::optional<CallOrder> calls;
    std::unordered_map<std::string_view, std::size_t> parameters;
  };
  std::unordered_map<const ModuleGraph*, Order> orders_;
  std::unordered_map<std::string_view, std::vector<const ParameterRecord*>>
      parameters_of_;  // by module: its own parameters
};

}  // namespace fxtrace::internal
