#include "writers/formats/field_writer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>

#include "support/error.h"

namespace fxtrace::internal {

void FieldWriter::write(const Cost& cost) {
  Cost nothing_known;
  nothing_known.unsized = 1;
  cost == nothing_known ? json_.null() : record(cost);
}

// --- graphs ---

void FieldWriter::write(const Graph& nodes) {
  json_.list_lines(nodes.order(), [&](NodeId id) { record(nodes.node(id)); });
}

void FieldWriter::write(const SubgraphList& subgraphs) {
  json_.object_lines([&] {
    for (const auto& [name, graph] : subgraphs) field(name, graph);
  });
}

void FieldWriter::write(const ModuleGraph& graph) {
  const Graph* const outer = std::exchange(graph_, &graph.graph);
  record(graph);
  graph_ = outer;
}

namespace {

// Returns whether a shape without elements would need too many empty lists.
bool too_many_lists(const std::vector<std::int64_t>& shape) {
  std::int64_t lists = 1;
  for (const auto size : shape) {
    if (size == 0) return false;
    if (size > kMaxConstantElements / lists) return true;
    lists *= std::max<std::int64_t>(size, 1);
  }
  return false;
}

[[noreturn]] void refuse_data() {
  throw Error(ErrorKind::kInternal, "the number of elements of a constant does not match its shape");
}

}  // namespace

bool FieldWriter::elements(std::string_view name, const Constant& constant) {
  json_.key(name);
  if (!constant.data || too_many_lists(constant.shape)) {
    json_.null();
    return false;
  }
  std::span<const Argument> left = *constant.data;
  data(constant.shape, left);
  if (!left.empty()) refuse_data();
  return true;
}

// Takes the elements of a tensor with this shape from the front of `data`.
void FieldWriter::data(std::span<const std::int64_t> shape, std::span<const Argument>& data) {
  if (!shape.empty()) {
    json_.open('[');
    for (std::int64_t i = 0; i < shape.front(); ++i) {
      json_.item();
      this->data(shape.subspan(1), data);
    }
    return json_.close(']');
  }
  if (data.empty()) refuse_data();
  write(data.front());
  data = data.subspan(1);
}

// --- arguments ---

void FieldWriter::number(double value) {
  if (std::isfinite(value)) return json_.real(value);
  tagged("float", std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
}

void FieldWriter::write(const Argument& argument) {
  struct Visitor {
    FieldWriter& io;
    void operator()(Argument::None) const { io.json_.null(); }
    void operator()(bool value) const { io.json_.boolean(value); }
    void operator()(std::int64_t value) const { io.json_.integer(value); }
    void operator()(double value) const { io.number(value); }
    void operator()(const std::complex<double>& value) const {
      io.tagged("complex", [&] {
        io.json_.list(std::array{value.real(), value.imag()}, [&](double part) { io.number(part); });
      });
    }
    void operator()(const std::string& value) const { io.json_.string(value); }
    void operator()(const Argument::List& list) const { io.write(list.items); }
    void operator()(const Argument::Tuple& tuple) const {
      if (tuple.names == nullptr) return io.tagged("tuple", tuple.items);
      io.tagged("namedtuple", [&] {
        io.json_.object([&] {
          io.field("type", tuple.names->type);
          io.field("fields", tuple.names->fields);
          io.field("values", tuple.items);
        });
      });
    }
    void operator()(const Argument::Dict& dict) const {
      io.tagged("dict", [&] {
        io.json_.list(dict.items, [&](const Argument::DictItem& entry) {
          io.json_.list(std::array{&entry.key, &entry.value}, [&](const Argument* part) { io.write(*part); });
        });
      });
    }
    void operator()(const Argument::Slice& slice) const { io.tagged("slice", slice.parts); }
    void operator()(NodeId node) const { io.tagged("node", node); }
    void operator()(const Argument::Dtype& dtype) const { io.tagged("dtype", dtype.name); }
    void operator()(const Argument::Device& device) const { io.tagged("device", device.name); }
    void operator()(const Argument::Layout& layout) const { io.tagged("layout", layout.name); }
    void operator()(const Argument::MemoryFormat& format) const { io.tagged("memory_format", format.name); }
    void operator()(const Argument::GraphRef& graph) const { io.tagged("graph", graph.name); }
    void operator()(const Argument::Function& function) const { io.tagged("function", function.name); }
  };
  std::visit(Visitor{*this}, argument.value);
}

void write_format(JsonEmitter& json, std::string_view format, int version) {
  json.field("format", format);
  json.field("version", version);
  json.key("producer").object([&] {
    json.field("name", "fxtrace");
    json.field("version", FXTRACE_VERSION);
  });
}

}  // namespace fxtrace::internal
