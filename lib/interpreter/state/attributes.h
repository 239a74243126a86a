// Attributes of objects during a run: the assignments so far, and the place of one attribute.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "interpreter/program/symbolic_value.h"
#include "interpreter/state/changes.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal::interpreter {

// The attributes of the model that a run has assigned so far: the last assignment to each, in order.
class AssignedAttributes {
 public:
  struct Entry {
    Ref<ObjectValue> object;
    std::size_t slot = 0;
    // Set where a graph is recorded:
    std::string target = {};
    ModuleId module = {};
    std::optional<SourceLocation> source = std::nullopt;
    bool is_tensor = false;
  };

  explicit AssignedAttributes(Changes& changes) : changes_(changes) {}

  void add(Entry entry);
  bool has(const ObjectValue& object, std::size_t slot) const;
  const std::vector<Entry>& entries() const { return entries_; }
  using Attribute = std::pair<const ObjectValue*, std::size_t>;
  // Notes that the attribute's value was taken as it is in the file.
  void note_read(const Attribute& attribute) { read_.insert(attribute); }
  const std::set<Attribute>& read() const { return read_; }

 private:
  Changes& changes_;
  std::vector<Entry> entries_;
  std::set<Attribute> read_;
};

// An attribute of an object, and its current value.
struct AttributePlace {
  Ref<ObjectValue> object;
  std::size_t slot = 0;
  const std::string& name;
  Value current;
};

// Sets the attribute; the change can be undone.
void store(const AttributePlace& place, Value value, Changes& changes);

}  // namespace fxtrace::internal::interpreter
