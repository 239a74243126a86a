#include "verify/inputs/given_inputs.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <regex>
#include <string_view>

#include "archive/zip_archive.h"
#include "exported/program/exported_program.h"
#include "support/error.h"
#include "verify/calls/graph_run.h"

namespace fxtrace::internal::verify {
namespace {

constexpr std::string_view kNumpyMagic = "\x93NUMPY";
constexpr std::string_view kNumpySuffix = ".npy";

struct DtypeName {
  const char* numpy;
  const char* torch;
};
constexpr DtypeName kDtypes[] = {
    {"f2", "float16"}, {"f4", "float32"}, {"f8", "float64"},   {"i1", "int8"},       {"i2", "int16"},
    {"i4", "int32"},   {"i8", "int64"},   {"u1", "uint8"},     {"u2", "uint16"},     {"u4", "uint32"},
    {"u8", "uint64"},  {"b1", "bool"},    {"c8", "complex64"}, {"c16", "complex128"}};

std::string torch_dtype(const std::string& order, const std::string& numpy) {
  if (order == ">") throw RunError("its numbers are big-endian, which torch does not support");
  for (const DtypeName& dtype : kDtypes) {
    if (numpy == dtype.numpy) return dtype.torch;
  }
  throw RunError("torch has no dtype '" + numpy.substr(0, 20) + "' of numpy");
}

// Parses the sizes of a shape: "2, 3" -> {2, 3}.
std::vector<std::int64_t> numbers_of(std::string_view text) {
  std::vector<std::int64_t> numbers;
  for (const char* at = text.data(); at < text.data() + text.size();) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(at, text.data() + text.size(), number);
    if (error == std::errc::result_out_of_range) throw RunError("a size is too large");
    if (end == at) {
      ++at;
    } else {
      numbers.push_back(number);
      at = end;
    }
  }
  return numbers;
}

// Reads an array: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
RunValue read_array(const Engine& engine, std::string bytes) {
  constexpr std::size_t kVersionOne = 10;  // begin of the header; two bytes later in later versions
  if (!bytes.starts_with(kNumpyMagic) || bytes.size() < kVersionOne + 2)
    throw RunError("it is not an array of numpy");
  const auto byte = [&](std::size_t at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[at]));
  };
  const bool is_first_version = byte(6) == 1;
  const std::size_t begin = is_first_version ? kVersionOne : kVersionOne + 2;
  std::size_t length = byte(8) | byte(9) << 8;
  if (!is_first_version) length |= byte(10) << 16 | byte(11) << 24;
  constexpr std::size_t kMostHeader = 10'000;
  if (length > kMostHeader || bytes.size() - begin < length)
    throw RunError("the header of the array is cut off");
  const std::string header = bytes.substr(begin, length);
  static const std::regex dtype_pattern(R"('descr': *'([<>|=])([a-zA-Z]\d+)')");
  static const std::regex shape_pattern(R"('shape': *\(([\d, ]*)\))");
  std::smatch dtype;
  std::smatch shape;
  if (!std::regex_search(header, dtype, dtype_pattern) || !std::regex_search(header, shape, shape_pattern))
    throw RunError("it is not an array of plain numbers");
  const std::vector<std::int64_t> sizes = numbers_of(shape[1].str());
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t stride = 1;
  const bool first_is_fastest = header.find("'fortran_order': True") != std::string::npos;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t at = first_is_fastest ? i : sizes.size() - 1 - i;
    strides[at] = stride;
    if (__builtin_mul_overflow(stride, std::max<std::int64_t>(sizes[at], 1), &stride))
      throw RunError("the array is too large");
  }
  bytes.erase(0, begin + length);  // so that the numbers are aligned in memory
  const RunValue view =
      engine.tensor(torch_dtype(dtype[1], dtype[2]), sizes, strides, 0, bytes.data(), bytes.size());
  return engine.copy(view);
}

CallInputs read_arrays(const Engine& engine, const ZipArchive& zip) {
  CallInputs inputs;
  for (const ZipArchive::Entry& entry : zip.entries()) {
    const std::string name = entry.name.substr(0, entry.name.size() - kNumpySuffix.size());
    inputs.named.emplace_back(name,
                              read_array(engine, zip.read(entry.name, static_cast<std::size_t>(entry.size))));
  }
  return inputs;
}

bool holds_arrays(const ZipArchive& zip) {
  return !zip.entries().empty() && std::ranges::all_of(zip.entries(), [](const ZipArchive::Entry& entry) {
    return entry.name.ends_with(kNumpySuffix);
  });
}

bool has_names(const Engine& engine, const RunValue& dict) {
  if (engine.kind(dict) != kFxtraceDict) return false;
  for (std::size_t i = 0; i < engine.size(dict); ++i) {
    if (engine.kind(engine.key(dict, i)) != kFxtraceText) return false;
  }
  return true;
}

void add_named(const Engine& engine, const RunValue& dict, CallInputs& to) {
  for (std::size_t i = 0; i < engine.size(dict); ++i)
    to.named.emplace_back(engine.text_of(engine.key(dict, i)), engine.item(dict, i));
}

CallInputs call_inputs(const Engine& engine, const RunValue& value) {
  CallInputs inputs;
  const FxtraceKind kind = engine.kind(value);
  if (kind == kFxtraceTuple || kind == kFxtraceList) {
    inputs.positional = engine.items(value);
    const bool is_call = kind == kFxtraceTuple && inputs.positional.size() == 2 &&
                         engine.kind(inputs.positional[0]) == kFxtraceTuple &&
                         has_names(engine, inputs.positional[1]);
    if (!is_call) return inputs;
    add_named(engine, inputs.positional[1], inputs);
    inputs.positional = engine.items(inputs.positional[0]);
  } else if (has_names(engine, value)) {
    add_named(engine, value, inputs);
  } else {
    inputs.positional = {value};
  }
  return inputs;
}

RunValue unpickled(const Engine& engine, const std::string& bytes) {
  return engine.checked(engine.api().unpickle(bytes.data(), bytes.size()));
}

// Returns the part of `value` to which the steps of `path` lead, from its second on.
RunValue part_of(const Engine& engine, RunValue value, const std::vector<Argument>& path) {
  for (std::size_t i = 1; i < path.size(); ++i) {
    const FxtraceKind kind = engine.kind(value);
    const auto* index = path[i].get_if<std::int64_t>();
    std::optional<RunValue> found;
    if ((kind == kFxtraceTuple || kind == kFxtraceList) && index != nullptr && *index >= 0 &&
        static_cast<std::size_t>(*index) < engine.size(value)) {
      found = engine.item(value, static_cast<std::size_t>(*index));
    } else if (kind == kFxtraceDict) {
      const std::string wanted = engine.text_of(engine.constant(path[i]));
      for (std::size_t k = 0; k < engine.size(value) && !found; ++k) {
        if (engine.text_of(engine.key(value, k)) == wanted) found = engine.item(value, k);
      }
    }
    if (!found) throw RunError("it is not nested as the input of the model");
    value = *found;
  }
  return value;
}

const RunValue* find_named(const CallInputs& inputs, const std::string& name) {
  for (const auto& [given, value] : inputs.named) {
    if (given == name) return &value;
  }
  return nullptr;
}

// Returns the argument that is the input of the program, or has it as a part; null if there is none.
const RunValue* argument_of(const CallInputs& inputs, const ExportedProgram& program,
                            const std::vector<Argument>& path) {
  const auto* name = path.front().get_if<std::string>();
  const auto* position = path.front().get_if<std::int64_t>();
  std::size_t at = SIZE_MAX;
  if (name != nullptr) {
    if (const RunValue* value = find_named(inputs, *name)) return value;
    const std::vector<std::string>& names = program.argument_names();
    at = static_cast<std::size_t>(std::ranges::find(names, *name) - names.begin());
  } else if (position != nullptr && *position >= 0) {
    at = static_cast<std::size_t>(*position);
  }
  return at < inputs.positional.size() ? &inputs.positional[at] : nullptr;
}

}  // namespace

CallInputs read_inputs(const Engine& engine, const ModelFile& file) {
  try {
    if (file.read_at(0, kNumpyMagic.size()) == kNumpyMagic)
      return {{read_array(engine, file.read_whole())}, {}};
    if (!ZipArchive::has_end_record(file))
      throw RunError("it is neither an array of numpy (.npy, .npz) nor what torch.save writes");
    const ZipArchive zip(file);
    if (holds_arrays(zip)) return read_arrays(engine, zip);
    return call_inputs(engine, unpickled(engine, file.read_whole()));
  } catch (const Error& error) {
    throw RunError(error.what());
  }
}

GivenValues values_for_graph(const CallInputs& inputs, const ModuleGraph& graph,
                             const std::vector<std::string>& fixed) {
  GivenValues given;
  std::vector<std::string> names;
  for_each_placeholder(graph.graph, [&](const Node& node) { names.push_back(*node.target); });
  if (inputs.positional.size() > names.size()) {
    throw RunError("it holds " + std::to_string(inputs.positional.size()) + " values, and the graph has " +
                   std::to_string(names.size()) + " inputs");
  }
  for (std::size_t i = 0; i < inputs.positional.size(); ++i) given[names[i]] = inputs.positional[i];
  for (const auto& [name, value] : inputs.named) {
    if (std::ranges::find(names, name) != names.end()) {
      given[name] = value;
    } else if (std::ranges::find(fixed, name) == fixed.end()) {
      throw RunError("the graph has no input '" + name + "'");
    }
  }
  return given;
}

GivenValues values_for_program(const Engine& engine, const CallInputs& inputs,
                               const ExportedProgram& program) {
  GivenValues given;
  const GraphSignature& signature = program.signature();
  std::size_t count = 0;
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    const GraphSignature::Entry& entry = signature.inputs[i];
    if (entry.role != SignatureRole::kUserInput) continue;
    const std::vector<Argument> in_order{Argument(static_cast<std::int64_t>(count++))};
    const std::vector<Argument>& path = entry.path.empty() ? in_order : entry.path;
    const std::string name = input_name(entry.name, i);
    if (const RunValue* same = find_named(inputs, name)) {
      given[name] = *same;
    } else if (const RunValue* argument = argument_of(inputs, program, path)) {
      given[name] = part_of(engine, *argument, path);
    }
  }
  for (const auto& [name, value] : inputs.named) {
    const auto is_named = [&](const GraphSignature::Entry& entry) {
      return entry.role == SignatureRole::kUserInput &&
             (entry.name == name || (!entry.path.empty() && entry.path.front() == Argument(name)));
    };
    if (std::ranges::none_of(signature.inputs, is_named))
      throw RunError("the program has no input '" + name + "'");
  }
  return given;
}

GivenValues sample_values(const Engine& engine, const ExportedProgram& program) {
  try {
    const std::string bytes = program.archive().sample_inputs(program.name());
    if (bytes.empty()) return {};
    return values_for_program(engine, call_inputs(engine, unpickled(engine, bytes)), program);
  } catch (const RunError&) {  // objects of Python classes
    return {};
  } catch (const Error&) {
    return {};
  }
}

}  // namespace fxtrace::internal::verify
