// Attributes of objects, as a run of the code finds and leaves them.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "torchscript/interpreter/program/symbolic_value.h"
#include "torchscript/interpreter/state/changes.h"
#include "trace/tracer/program.h"

namespace fxtrace::interpreter {

// The attributes of the model that a run has assigned so far, the last assignment to each, in order.
class AssignedAttributes {
 public:
  struct Entry {
    Ref<ObjectValue> object;
    std::size_t slot = 0;
    // Of a graph that is recorded:
    std::string target = {};
    ModuleId module = {};
    std::optional<SourceLocation> source = std::nullopt;
    bool is_tensor = false;
  };

  explicit AssignedAttributes(Changes& changes) : changes_(changes) {}

  void add(Entry entry);
  bool has(const ObjectValue& object, std::size_t slot) const;
  const std::vector<Entry>& entries() const { return entries_; }
  // Notes that the attribute's value was taken as it is in the file.
  using Attribute = std::pair<const ObjectValue*, std::size_t>;
  void note_read(const Attribute& attribute) { read_.insert(attribute); }
  const std::set<Attribute>& read() const { return read_; }

 private:
  Changes& changes_;
  std::vector<Entry> entries_;
  std::set<Attribute> read_;
};

// An attribute of an object, and what the object holds there now.
struct AttributePlace {
  Ref<ObjectValue> object;
  std::size_t slot = 0;
  const std::string& name;
  Value current;
};

// Sets the attribute, until that is undone.
void store(const AttributePlace& place, Value value, Changes& changes);

}  // namespace fxtrace::interpreter
