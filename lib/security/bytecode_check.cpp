#include "security/bytecode_check.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "operators/names/allow_lists.h"
#include "operators/operators.h"
#include "security/bytecode_objects.h"
#include "security/code_check.h"
#include "support/integers.h"
#include "support/text/unicode.h"
#include "support/text/words.h"
#include "torchscript/compiler/builtins.h"
#include "torchscript/compiler/script_program.h"

namespace fxtrace::internal::security {
namespace {

using TypeId = BytecodeTypes::Id;
using Form = BytecodeTypes::Form;
using PickledId = BytecodePickle::Id;

enum class Opcode : std::uint8_t {
  kOperator,
  kVariadic,
  kInterfaceCall,
  kLoad,
  kMove,
  kStore,
  kStoreSome,
  kDrop,
  kClear,
  kConstant,
  kGetAttribute,
  kSetAttribute,
  kJumpIfNot,
  kJump,
  kLoop,
  kReturn,
  kList,
  kListUnpack,
  kDict,
  kTuple,
  kNamedTuple,
  kTupleSlice,
  kTupleIndex,
  kRaise,
  kIsInstance,
  kFormat,
  kToList,
  kWarn,
  kDictIndex,
  kPlain,  // takes `takes` values, and gives an opaque one
};

// What X and N of an instruction are.
enum class Operand : std::uint8_t {
  kNone,
  kOperator,
  kConstant,
  kRegister,
  kRegisters,
  kSlot,
  kJump,
  kCount,
  kType,
  kTypes
};

struct OpcodeRow {
  std::string_view name;
  Opcode opcode;
  Operand operand;
  std::size_t takes = 0;  // values from the stack; of kPlain all
};
constexpr auto kOpcodes = std::to_array<OpcodeRow>({
    {"OP", Opcode::kOperator, Operand::kOperator},
    {"OPN", Opcode::kVariadic, Operand::kOperator},
    {"INTERFACE_CALL", Opcode::kInterfaceCall, Operand::kConstant},
    {"LOAD", Opcode::kLoad, Operand::kRegister},
    {"MOVE", Opcode::kMove, Operand::kRegister},
    {"STORE", Opcode::kStore, Operand::kRegister, 1},
    {"STOREN", Opcode::kStoreSome, Operand::kRegisters},
    {"DROP", Opcode::kDrop, Operand::kNone, 1},
    {"DROPR", Opcode::kClear, Operand::kRegister},
    {"LOADC", Opcode::kConstant, Operand::kConstant},
    {"GET_ATTR", Opcode::kGetAttribute, Operand::kSlot, 1},
    {"SET_ATTR", Opcode::kSetAttribute, Operand::kSlot, 2},
    {"JF", Opcode::kJumpIfNot, Operand::kJump, 1},
    {"JMP", Opcode::kJump, Operand::kJump},
    {"LOOP", Opcode::kLoop, Operand::kJump},
    {"RET", Opcode::kReturn, Operand::kNone},
    {"LIST_CONSTRUCT", Opcode::kList, Operand::kType},
    {"LIST_UNPACK", Opcode::kListUnpack, Operand::kCount, 1},
    {"DICT_CONSTRUCT", Opcode::kDict, Operand::kType},
    {"TUPLE_CONSTRUCT", Opcode::kTuple, Operand::kCount},
    {"NAMED_TUPLE_CONSTRUCT", Opcode::kNamedTuple, Operand::kType},
    {"TUPLE_SLICE", Opcode::kTupleSlice, Operand::kCount, 1},
    {"TUPLE_INDEX", Opcode::kTupleIndex, Operand::kNone, 2},
    {"RAISE_EXCEPTION", Opcode::kRaise, Operand::kNone, 2},
    {"ISINSTANCE", Opcode::kIsInstance, Operand::kTypes, 1},
    {"FORMAT", Opcode::kFormat, Operand::kCount},
    {"TO_LIST", Opcode::kToList, Operand::kNone, 3},
    {"WARN", Opcode::kWarn, Operand::kNone, 2},
    {"DICT_INDEX", Opcode::kDictIndex, Operand::kNone, 2},
    {"UN_INITIALIZED", Opcode::kPlain, Operand::kNone, 0},
    {"__IS__", Opcode::kPlain, Operand::kNone, 2},
    {"__ISNOT__", Opcode::kPlain, Operand::kNone, 2},
    {"__NOT__", Opcode::kPlain, Operand::kNone, 1},
    {"DEVICE", Opcode::kPlain, Operand::kNone, 1},
    {"DTYPE", Opcode::kPlain, Operand::kNone, 1},
    {"DIM", Opcode::kPlain, Operand::kNone, 1},
    {"NUM_TO_TENSOR", Opcode::kPlain, Operand::kNone, 1},
    {"IS_CUDA", Opcode::kPlain, Operand::kNone, 1},
});

struct Instruction {
  const OpcodeRow* row = nullptr;
  std::int64_t x = 0;
  std::size_t n = 0;
};

struct OperatorUse {
  std::string name;  // "aten::add.Tensor"
  const Schema* schema = nullptr;
  std::optional<std::size_t> given;  // arguments on the stack, where the file says how many
};

constexpr std::int32_t kNoNumber = std::numeric_limits<std::int32_t>::min();
struct Value {
  TypeId type = BytecodeTypes::kAbsent;
  std::int32_t number = kNoNumber;  // of a small integer that is known
  bool operator==(const Value&) const = default;
};

struct TypedConstant {
  Value value;
  std::optional<std::string> text;
};

struct Method {
  std::string name;   // "__torch__.M.forward"
  std::string owner;  // the class of which the loader makes it a method, by its argument `self`; else empty
  std::string short_name;  // "forward"
  std::string makes;       // the class whose objects it makes: it is the __setstate__ of that
  std::vector<Instruction> instructions;
  std::vector<OperatorUse> operators;
  std::vector<TypedConstant> constants;
  std::vector<WrittenType> types;
  std::size_t registers = 0;
  std::vector<TypeId> parameters;
  std::vector<PickledId> defaults;  // of the parameters; None where there is none
  std::vector<bool> is_open;        // the parameter has the types of what calls give
  TypeId result = BytecodeTypes::kAbsent;
  std::set<std::size_t> calls;  // methods, by number
  bool is_run = true;           // by whoever has loaded the archive, or by another method
  bool is_refused = false;
};

struct Refusal {
  SecurityKind kind;
  std::string why;
};
[[noreturn]] void refuse_size(std::string why) { throw Refusal{SecurityKind::kSize, std::move(why)}; }
[[noreturn]] void refuse_unknown(std::string why) { throw Refusal{SecurityKind::kUnknown, std::move(why)}; }

std::string counted(std::size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// What is known when an instruction begins.
struct Frame {
  std::vector<Value> stack, registers;
  std::size_t slots = 0;  // that the object has which __setstate__ makes
};

// The instruction TO_LIST, in versions that do not have that.
constexpr std::string_view kToList = "prim::tolist";

// Operators that the lite interpreter has functions of its own for, which take all arguments from the stack.
bool is_own_operator(std::string_view name) {
  static const std::unordered_set<std::string_view> known = words_of(
      "aten::Bool.Tensor aten::__getitem__.Dict_str aten::__is__ aten::__isnot__ aten::__not__ aten::dim "
      "aten::format prim::NumToTensor.Scalar prim::RaiseException prim::TupleIndex prim::Uninitialized "
      "prim::device prim::dtype prim::is_cuda prim::layout prim::unchecked_cast");
  return known.contains(name);
}

class BytecodeCheck {
 public:
  BytecodeCheck(const MobileRecords& records, const Tell& tell)
      : records_(records), tell_(tell), code_(records.bytecode), data_(records.data) {}

  void run() {
    try {
      read();
    } catch (const Refusal& refusal) {
      return tell_(refusal.kind, "", refusal.why);
    }
    find_types();
    follow_all();
    for (const Method& method : methods_) {
      if (!method.makes.empty()) on_load(method);
    }
    find_recursion();
  }

 private:
  // --- the tables ---

  // Returns the parts of a tuple of at least `least`.
  static std::span<const PickledId> parts(const BytecodePickle& pickle, PickledId id, std::size_t least,
                                          const char* what) {
    const auto found = pickle.items(id);
    if (!pickle.is_tuple(id) || found.size() < least)
      refuse_unknown(std::string("its bytecode has no ") + what + " where one is expected");
    return found;
  }
  // Returns the value of the field `name`, which is at `at`: ('operators', (..)).
  PickledId field(std::span<const PickledId> table, std::size_t at, std::string_view name) const {
    const auto row = at < table.size() ? code_.items(table[at]) : std::span<const PickledId>();
    if (row.size() < 2 || code_.find_text(row[0]) != name)
      refuse_unknown("a method of its bytecode has no field '" + std::string(name) +
                     "' where it is expected");
    return row[1];
  }
  std::string text(PickledId id, const char* what) const {
    const auto found = code_.find_text(id);
    if (!found) refuse_unknown(std::string("its bytecode has no text for ") + what);
    return std::string(*found);
  }
  std::int64_t integer(PickledId id, const char* what) const {
    const auto found = code_.find_integer(id);
    if (!found) refuse_unknown(std::string("its bytecode has no integer for ") + what);
    return *found;
  }

  void read() {
    constexpr std::int64_t kOldest = 4, kNewest = 9;
    if (!code_.result() || !data_.result()) refuse_unknown("its pickles cannot be followed");
    const auto all = parts(code_, *code_.result(), 1, "tuple of methods");
    const std::int64_t version = integer(all[0], "its version");
    if (version < kOldest || version > kNewest)
      refuse_unknown("its bytecode is of version " + std::to_string(version) + ", which is not known");
    for (const PickledId each : all.subspan(1)) read_method(parts(code_, each, 2, "method"));
    if (!records_.debug_handles.empty()) read_debug_handles();
  }

  void read_method(std::span<const PickledId> row) {
    Method method;
    method.name = text(row[0], "the name of a method");
    method.short_name = method.name.substr(method.name.rfind('.') + 1);
    try {
      if (row.size() < 3) refuse_unknown("it does not say which arguments it takes");
      const auto table = parts(code_, row[1], 5, "table");
      enum : std::size_t { kInstructions, kOperators, kConstants, kTypes, kRegisters };
      for (const PickledId each :
           parts(code_, field(table, kOperators, "operators"), 0, "table of operators"))
        read_operator(method, parts(code_, each, 2, "operator"));
      for (const PickledId each :
           parts(code_, field(table, kConstants, "constants"), 0, "table of constants"))
        constants_.emplace_back(methods_.size(), each);
      for (const PickledId each : parts(code_, field(table, kTypes, "types"), 0, "table of types")) {
        method.types.push_back(read_type(types_, text(each, "a type")));
        if (method.types.back().is_hostile)
          refuse_unknown("its type " + short_line(text(each, "a type")) +
                         " is none that the loader can make");
      }
      const std::int64_t registers = integer(field(table, kRegisters, "register_size"), "register_size");
      read_instructions(method, field(table, kInstructions, "instructions"), registers);
      read_arguments(method, row[2]);
    } catch (const Refusal& refusal) {
      throw Refusal{refusal.kind, short_line(method.name) + ": " + refusal.why};
    }
    methods_.push_back(std::move(method));
  }

  void read_operator(Method& method, std::span<const PickledId> row) {
    const std::string base = text(row[0], "an operator"), overload = text(row[1], "an overload");
    OperatorUse use;
    use.name = overload.empty() ? base : base + "." + overload;
    if (row.size() > 2) {
      const std::int64_t given = integer(row[2], "the number of an operator's arguments");
      if (given >= 0) use.given = static_cast<std::size_t>(given);
    }
    auto [place, is_new] = schemas_.emplace(use.name, nullptr);
    if (is_new) {
      if (const Operator* known = find_operator(base, overload)) {
        place->second = std::make_unique<Schema>(known->schema());
      }
      names_operator(base, use.name);
    }
    use.schema = place->second.get();
    method.operators.push_back(std::move(use));
  }

  void names_operator(const std::string& base, const std::string& name) {
    const std::string shown = short_line(base);
    // Its schema says nothing of what it takes and gives, but follow() knows that.
    if (const std::string_view reach = operator_reach(name); !reach.empty() && name != kToList)
      tell_(SecurityKind::kCode, shown, "it calls " + shown + ", which touches " + std::string(reach));
    const std::size_t colons = base.find("::");
    const std::string space = base.substr(0, colons);
    if (colons == std::string::npos || space == "aten" || space == "prim") return;
    has_library_objects_ = true;  // its operators may make objects of C++ classes
    const std::string named = short_line(space + "." + base.substr(colons + 2));
    tell_(SecurityKind::kLibrary, named, "it needs " + named);
  }

  void read_instructions(Method& method, PickledId id, std::int64_t registers) {
    std::size_t stored = 0;
    for (const PickledId each : parts(code_, id, 0, "table of instructions")) {
      const auto row = parts(code_, each, 3, "instruction");
      const std::string name = text(row[0], "an instruction");
      Instruction instruction;
      const auto* found = std::ranges::find(kOpcodes, name, &OpcodeRow::name);
      const std::string place = "instruction " + std::to_string(method.instructions.size());
      if (row.size() != 3) refuse_unknown(place + " has more than three parts");
      if (found == kOpcodes.end())
        refuse_unknown(place + ": " + short_line(name) + " is not an instruction of the lite interpreter");
      instruction.row = found;
      instruction.x = integer(row[1], "X of an instruction");
      const std::int64_t n = integer(row[2], "N of an instruction");
      if (n < 0 || n > std::numeric_limits<std::uint16_t>::max() ||
          instruction.x < std::numeric_limits<std::int32_t>::min() ||
          instruction.x > std::numeric_limits<std::int32_t>::max())
        refuse_size(place + " has numbers that do not fit into an instruction");
      instruction.n = static_cast<std::size_t>(n);
      if (found->opcode == Opcode::kStore) ++stored;
      if (found->opcode == Opcode::kStoreSome) stored += instruction.n;
      method.instructions.push_back(instruction);
    }
    constexpr std::size_t kFree = 1'000;
    if (registers < 0 || static_cast<std::uint64_t>(registers) > stored + kFree)
      refuse_size("it has " + std::to_string(registers) + " registers, but stores into " +
                  std::to_string(stored) + " at most");
    method.registers = static_cast<std::size_t>(registers);
  }

  void read_arguments(Method& method, PickledId id) {
    const auto schema = parts(code_, id, 2, "schema");
    for (const PickledId each : parts(code_, field(schema, 0, "arguments"), 0, "table of arguments")) {
      const auto [name, type, initial] = read_argument(each);
      method.defaults.push_back(initial);
      const bool is_object = types_.is(type, Form::kObject);
      if (method.parameters.empty() && is_object && name == "self") method.owner = types_[type].name;
      method.parameters.push_back(type);
    }
    // The loader looks for `self` among the results, too.
    for (const PickledId each : parts(code_, field(schema, 1, "returns"), 0, "table of results")) {
      if (read_argument(each).name == "self") refuse_unknown("its result has the name self");
    }
    if (method.short_name != kSetState) return;
    method.makes =
        method.name.substr(0, method.name.size() - std::min(method.name.size(), kSetState.size() + 1));
    if (is_library_class(method.makes)) refuse_unknown("it replaces what a library does");
    if (method.parameters.size() != 2 || method.parameters[0] != types_.object(method.makes))
      refuse_unknown("it does not take an object of its class and a state");
    set_states_.emplace(method.makes, method.parameters[1]);  // the loader takes the first
  }

  struct Argument {
    std::string name;
    TypeId type;
    PickledId initial;
  };
  Argument read_argument(PickledId id) {
    const auto row = parts(code_, id, 3, "argument");
    const std::string written = text(field(row, 1, "type"), "a type");
    const WrittenType type = read_type(types_, written);
    // The loader takes a union, with or without parts, for a tensor.
    if (type.is_hostile && !written.starts_with("Union"))
      refuse_unknown("its type " + short_line(written) + " is none that the loader can make");
    return {text(field(row, 0, "name"), "an argument"), type.is_hostile ? BytecodeTypes::kOpaque : type.id,
            field(row, 2, "default_value")};
  }

  // The loader takes parts of it without looking whether they are there.
  void read_debug_handles() {
    const BytecodePickle handles(records_.debug_handles);
    const auto row = [&](PickledId id, std::size_t least) {
      return parts(handles, id, least, "table of debug handles");
    };
    if (!handles.result() || handles.has_objects()) refuse_unknown("its debug handles cannot be followed");
    const auto all = row(*handles.result(), methods_.size() + 1);
    for (const PickledId each : all.subspan(1)) {
      const auto table = row(row(row(each, 2)[1], 1)[0], 2);
      row(table[1], 1);
    }
  }

  // --- types ---

  void find_types() {
    code_.find_types(types_, classes_, {}, tell_);
    data_.find_types(types_, classes_, set_states_,
                     [this](SecurityKind kind, const std::string& subject, const std::string& message) {
                       tell_(kind, subject, "data.pkl: " + message);
                     });
    has_library_objects_ |= code_.has_library_objects() || data_.has_library_objects();
    for (auto& [name, own] : classes_) {
      if (own.is_pickled && set_states_.contains(name)) {
        tell_(SecurityKind::kUnknown, short_line(name),
              "an object of " + short_line(name) + " stands in its code, where no __setstate__ makes it");
      }
    }
    for (const auto& [number, id] : constants_) {
      TypedConstant constant{{code_.type(id)}, std::nullopt};
      if (const auto text = code_.find_text(id)) constant.text = std::string(*text);
      if (const auto integer = code_.find_integer(id);
          integer && *integer > kNoNumber && *integer <= std::numeric_limits<std::int32_t>::max())
        constant.value.number = static_cast<std::int32_t>(*integer);
      methods_[number].constants.push_back(std::move(constant));
    }
    std::set<std::string> made;
    for (std::size_t i = 0; i < methods_.size(); ++i) {
      Method& method = methods_[i];
      if (!method.makes.empty()) {
        // Only the first of the name runs when an object is made.
        if (made.insert(method.makes).second) {
          classes_[method.makes].has_set_state = true;
          method.parameters[0] = BytecodeTypes::kPartial;
        } else {
          method.makes.clear();
        }
      }
      // A class without objects is an interface, whose values may be of any class, or a named tuple.  Only
      // methods give such an argument; where anyone else gives none, the loader takes the default.
      for (std::size_t j = 0; j < method.parameters.size(); ++j) {
        TypeId& type = method.parameters[j];
        const bool is_open = types_.is(type, Form::kObject) && !is_library_class(types_[type].name) &&
                             !classes_.contains(types_[type].name);
        method.is_open.push_back(is_open);
        const TypeId given = code_.type(method.defaults[j]);
        if (is_open) type = given;
        if (!types_.fits(given, type))
          tell_(SecurityKind::kUnknown, short_line(method.name),
                short_line(method.name) + ": a default is not of the type of its argument");
      }
      if (!method.owner.empty()) by_class_.emplace(std::pair(method.owner, method.short_name), i);
    }
  }

  // --- following ---

  void follow_all() {
    constexpr int kMaxRounds = 100;
    // The classes' attributes that __setstate__ makes are known when that was followed.
    std::vector<std::size_t> order;
    for (const bool makes : {true, false}) {
      for (std::size_t i = 0; i < methods_.size(); ++i) {
        if (methods_[i].makes.empty() != makes) order.push_back(i);
      }
    }
    for (int round = 0; round < kMaxRounds; ++round) {
      has_changed_ = false;
      for (const std::size_t i : order) {
        if (!methods_[i].is_refused) follow(i);
      }
      if (!has_changed_) return;
    }
    tell_(SecurityKind::kUnknown, "", "the types of its values cannot be found");
  }

  void follow(std::size_t number) {
    Method& method = methods_[number];
    number_ = number;
    at_ = 0;
    try {
      follow(method);
    } catch (const Refusal& refusal) {
      method.is_refused = true;
      std::string place = short_line(method.name);
      if (at_ < method.instructions.size())
        place += ", instruction " + std::to_string(at_) + " (" +
                 std::string(method.instructions[at_].row->name) + ")";
      tell_(refusal.kind, short_line(method.name), place + ": " + refusal.why);
    }
  }

  void check_operands(const Method& method) {
    for (at_ = 0; at_ < method.instructions.size(); ++at_) check_operand(method, method.instructions[at_]);
  }

  // Checks what instructions name, also in code that is not reached: the loader looks at that.
  void check_operand(const Method& method, const Instruction& instruction) const {
    const std::int64_t x = instruction.x;
    const auto n = static_cast<std::int64_t>(instruction.n);
    const auto check = [&](std::size_t size, const char* what) {
      if (x < 0 || x >= static_cast<std::int64_t>(size))
        refuse_size(std::string("there is no ") + what + " " + std::to_string(x) + " among " +
                    std::to_string(size));
    };
    const auto registers = static_cast<std::int64_t>(method.registers);
    switch (instruction.row->operand) {
      case Operand::kNone:
        break;
      case Operand::kOperator:
        check(method.operators.size(), "operator");
        break;
      case Operand::kConstant:
        check(method.constants.size(), "constant");
        break;
      case Operand::kRegister:
        if (x < 1 || x > registers)
          refuse_size("there is no register " + std::to_string(x) + " among " + std::to_string(registers));
        break;
      case Operand::kRegisters:
        if (x < 1 || x + n - 1 > registers)
          refuse_size("there are no registers " + std::to_string(x) + " to " + std::to_string(x + n - 1) +
                      " among " + std::to_string(registers));
        break;
      case Operand::kJump:
        if (const auto to = static_cast<std::int64_t>(at_) + x;
            to < 0 || to >= static_cast<std::int64_t>(method.instructions.size()))
          refuse_size("it jumps to instruction " + std::to_string(to) + " of " +
                      std::to_string(method.instructions.size()));
        break;
      case Operand::kSlot:
      case Operand::kCount:
        if (x < 0) refuse_size("it has a negative number: " + std::to_string(x));
        break;
      case Operand::kType:
        check(method.types.size(), "type");
        break;
      case Operand::kTypes:
        check(method.types.size(), "type");
        if (x + n > static_cast<std::int64_t>(method.types.size()))
          refuse_size("there are no types " + std::to_string(x) + " to " + std::to_string(x + n - 1) +
                      " among " + std::to_string(method.types.size()));
        break;
    }
  }

  void follow(Method& method) {
    check_operands(method);
    const std::size_t count = method.instructions.size();
    if (count == 0) refuse_size("it has no instructions");
    // Frames are kept where several ways meet.
    std::vector<bool> is_met(count, false);
    for (std::size_t i = 0; i < count; ++i) {
      if (method.instructions[i].row->operand == Operand::kJump)
        is_met[static_cast<std::size_t>(static_cast<std::int64_t>(i) + method.instructions[i].x)] = true;
    }
    Frame frame;
    for (const TypeId type : method.parameters) frame.stack.push_back({type, kNoNumber});
    frame.registers.resize(method.registers);
    met_.clear();
    waiting_.clear();
    kept_ = 0;
    least_slots_.reset();
    is_met[0] = true;
    meet(0, std::move(frame));
    while (!waiting_.empty()) {
      at_ = *waiting_.begin();
      waiting_.erase(waiting_.begin());
      frame = met_.at(at_);
      while (true) {
        spend(1);
        const auto next = step(method, frame);
        if (!next) break;
        if (*next >= count) refuse_size("nothing follows it, and it does not return");
        if (is_met[*next]) {
          meet(*next, std::move(frame));
          break;
        }
        at_ = *next;
      }
    }
    at_ = count;
    if (!method.makes.empty()) made(classes_[method.makes]);
  }

  void spend(std::size_t steps) {
    constexpr std::size_t kMaxSteps = 300'000'000;
    spent_ += steps;
    if (spent_ > kMaxSteps) refuse_unknown("its code is too long to follow");
  }

  // Joins what is known on another way to the instruction; when that says less, it is followed again.
  void meet(std::size_t at, Frame frame) {
    constexpr std::size_t kMaxKept = 20'000'000;
    spend(frame.stack.size() + frame.registers.size());
    const auto place = met_.find(at);
    if (place == met_.end()) {
      kept_ += frame.stack.size() + frame.registers.size();
      if (kept_ > kMaxKept) refuse_unknown("its code is too large to follow");
      met_.emplace(at, std::move(frame));
      waiting_.insert(at);
      return;
    }
    Frame& known = place->second;
    if (known.stack.size() != frame.stack.size())
      refuse_size("instruction " + std::to_string(at) + " is reached with stacks of " +
                  counted(known.stack.size(), "value") + " and of " + std::to_string(frame.stack.size()));
    bool is_new = frame.slots < known.slots;
    known.slots = std::min(known.slots, frame.slots);
    const auto join = [&](std::vector<Value>& to, const std::vector<Value>& from) {
      for (std::size_t i = 0; i < to.size(); ++i) {
        const Value joined{types_.join(to[i].type, from[i].type),
                           to[i].number == from[i].number ? to[i].number : kNoNumber};
        is_new |= joined != to[i];
        to[i] = joined;
      }
    };
    join(known.stack, frame.stack);
    join(known.registers, frame.registers);
    if (is_new) waiting_.insert(at);
  }

  // Keeps the slots that every object has when __setstate__ has made it.
  void made(BytecodeClass& own) {
    const std::size_t slots = least_slots_.value_or(0);
    if (is_made_.insert(methods_[number_].makes).second && own.slots.size() > slots)
      refuse_size("it ends with " + counted(slots, "attribute") + " on one way, and with " +
                  std::to_string(own.slots.size()) + " on another");
    own.slots.resize(slots, BytecodeTypes::kAbsent);
  }

  static void need(const Frame& frame, std::size_t count) {
    if (frame.stack.size() < count)
      refuse_size("it takes " + counted(count, "value") + " from a stack of " +
                  std::to_string(frame.stack.size()));
  }
  static Value pop(Frame& frame) {
    need(frame, 1);
    const Value value = frame.stack.back();
    frame.stack.pop_back();
    return value;
  }
  // Takes values off the stack, in the order in which they were pushed.
  static std::vector<Value> pop(Frame& frame, std::size_t count) {
    need(frame, count);
    std::vector<Value> values(frame.stack.end() - static_cast<std::ptrdiff_t>(count), frame.stack.end());
    frame.stack.resize(frame.stack.size() - count);
    return values;
  }
  static void push(Frame& frame, TypeId type) {
    constexpr std::size_t kMaxStack = 1'000'000;
    if (frame.stack.size() >= kMaxStack) refuse_size("its stack has no end");
    frame.stack.push_back({type, kNoNumber});
  }
  void not_partial(TypeId type) const {
    if (type == BytecodeTypes::kPartial)
      refuse_unknown("__setstate__ hands on the object that it makes before that has its attributes");
  }

  // Follows an instruction; returns the next one, or nothing where it returns or raises.
  std::optional<std::size_t> step(Method& method, Frame& frame) {
    const Instruction& instruction = method.instructions[at_];
    const auto x = static_cast<std::size_t>(std::max<std::int64_t>(instruction.x, 0));
    const std::size_t n = instruction.n;
    const auto target = static_cast<std::size_t>(static_cast<std::int64_t>(at_) + instruction.x);
    auto& registers = frame.registers;
    // The interpreter counts registers from the end.
    const auto index = [&](std::size_t number) { return registers.size() - number; };
    need(frame, instruction.row->takes);
    switch (instruction.row->opcode) {
      case Opcode::kOperator:
      case Opcode::kVariadic:
        if (!call_operator(method.operators[x], instruction, frame)) return std::nullopt;
        break;
      case Opcode::kInterfaceCall:
        if (!call_method(method, method.constants[x], n, frame)) return std::nullopt;
        break;
      case Opcode::kLoad:
        frame.stack.push_back(registers[index(x)]);
        break;
      case Opcode::kMove:
        frame.stack.push_back(std::exchange(registers[index(x)], {}));
        break;
      case Opcode::kStore:
        registers[index(x)] = pop(frame);
        break;
      case Opcode::kStoreSome: {
        const auto values = pop(frame, n);
        for (std::size_t i = 0; i < n; ++i) registers[index(x + i)] = values[i];
        break;
      }
      case Opcode::kDrop:
        pop(frame);
        break;
      case Opcode::kClear:
        registers[index(x)] = {};
        break;
      case Opcode::kConstant:
        frame.stack.push_back(method.constants[x].value);
        break;
      case Opcode::kGetAttribute:
        if (!get_attribute(method, x, frame)) return std::nullopt;
        break;
      case Opcode::kSetAttribute:
        if (!set_attribute(method, x, frame)) return std::nullopt;
        break;
      case Opcode::kJumpIfNot: {
        pop(frame);
        meet(target, frame);
        break;
      }
      case Opcode::kJump:
        return target;
      case Opcode::kLoop:
        loop(n, target, frame);
        break;
      case Opcode::kReturn:
        if (frame.stack.size() != 1)
          refuse_size("it returns " + counted(frame.stack.size(), "value") + ", and not one");
        not_partial(frame.stack[0].type);
        least_slots_ = std::min(least_slots_.value_or(frame.slots), frame.slots);
        widen(method.result, frame.stack[0].type);
        return std::nullopt;
      case Opcode::kList:
      case Opcode::kDict:
      case Opcode::kNamedTuple:
        construct(method.types[x], instruction, frame);
        break;
      case Opcode::kListUnpack: {
        const TypeId list = pop(frame).type;
        if (x > kMaxUnpacked) refuse_size("it unpacks a list of " + std::to_string(x));
        const TypeId item = types_.is(list, Form::kList) ? types_[list].parts[0] : BytecodeTypes::kOpaque;
        for (std::size_t i = 0; i < x; ++i) push(frame, item);
        break;
      }
      case Opcode::kTuple: {
        std::vector<TypeId> parts;
        for (const Value& value : pop(frame, x)) {
          not_partial(value.type);
          parts.push_back(value.type);
        }
        push(frame, types_.tuple(std::move(parts)));
        break;
      }
      case Opcode::kTupleSlice:
        slice(x, n, frame);
        break;
      case Opcode::kTupleIndex: {
        const std::int32_t number = pop(frame).number;
        push(frame, item_of(pop(frame).type, number));
        break;
      }
      case Opcode::kRaise:
        return std::nullopt;
      case Opcode::kFormat:
        if (x == 0) refuse_size("it formats no text");
        pop(frame, x);
        push(frame, BytecodeTypes::kAbsent);
        break;
      case Opcode::kToList:
        to_list(frame);
        break;
      case Opcode::kWarn:
        pop(frame, 2);
        break;
      case Opcode::kDictIndex: {
        pop(frame);
        const TypeId dict = pop(frame).type;
        push(frame, types_.is(dict, Form::kDict) ? types_[dict].parts[0] : BytecodeTypes::kOpaque);
        break;
      }
      case Opcode::kIsInstance:
        pop(frame);
        push(frame, BytecodeTypes::kAbsent);
        break;
      case Opcode::kPlain:
        pop(frame, instruction.row->takes);
        push(frame, BytecodeTypes::kAbsent);
        break;
    }
    return at_ + 1;
  }

  // On top are the number of the iteration, the most iterations, whether to go on, and what the loop carries.
  void loop(std::size_t n, std::size_t end, Frame& frame) {
    if (n < 2) refuse_size("a loop needs more than " + counted(n, "value"));
    need(frame, n + 1);
    const std::size_t first = frame.stack.size() - (n + 1);
    Frame done = frame;
    const auto from = done.stack.begin() + static_cast<std::ptrdiff_t>(first);
    done.stack.erase(from, from + 3);
    meet(end, std::move(done));
    for (std::size_t i = 0; i < 3; ++i) frame.stack[first + i] = {};
  }

  void construct(const WrittenType& type, const Instruction& instruction, Frame& frame) {
    const Opcode opcode = instruction.row->opcode;
    const auto values = pop(frame, instruction.n);
    const Form form = opcode == Opcode::kList   ? Form::kList
                      : opcode == Opcode::kDict ? Form::kDict
                                                : Form::kTuple;
    if (!types_.is(type.id, form) || (form == Form::kTuple && !type.is_named_tuple))
      refuse_unknown("it makes a value of a type of another kind");
    const auto& parts = types_[type.id].parts;
    if (form == Form::kTuple && parts.size() != values.size())
      refuse_size("it makes a tuple of " + std::to_string(values.size()) + " for a type of " +
                  counted(parts.size(), "field"));
    if (form == Form::kDict && values.size() % 2 != 0) refuse_size("a key has no value");
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool is_key = form == Form::kDict && i % 2 == 0;
      const TypeId expected = form == Form::kTuple ? parts[i] : is_key ? BytecodeTypes::kOpaque : parts[0];
      if (!types_.fits(values[i].type, expected))
        refuse_unknown("it cannot be told whether an item has the type that it should have");
    }
    push(frame, type.id);
  }

  void slice(std::size_t begin, std::size_t count, Frame& frame) {
    const TypeId tuple = pop(frame).type;
    TypeId result = tuple == BytecodeTypes::kAbsent ? tuple : BytecodeTypes::kOpaque;
    if (types_.is(tuple, Form::kTuple)) {
      const auto& parts = types_[tuple].parts;
      if (begin + count > parts.size())
        refuse_size("it takes items " + std::to_string(begin) + " to " + std::to_string(begin + count) +
                    " of a tuple of " + std::to_string(parts.size()));
      const auto from = parts.begin() + static_cast<std::ptrdiff_t>(begin);
      result = types_.tuple({from, from + static_cast<std::ptrdiff_t>(count)});
    }
    push(frame, result);
  }

  // Takes a tensor, the number of its dimensions and that of an element's type.
  void to_list(Frame& frame) {
    constexpr std::int32_t kMaxDimensions = 30;
    const auto values = pop(frame, 3);
    TypeId type = BytecodeTypes::kOpaque;
    if (values[1].number >= 0 && values[1].number <= kMaxDimensions) {
      for (std::int32_t i = 0; i < values[1].number; ++i) type = types_.list(type);
    }
    push(frame, type);
  }

  // Returns the type of a tuple's item, or of any where the number is not known.
  TypeId item_of(TypeId tuple, std::int32_t number) {
    if (!types_.is(tuple, Form::kTuple)) return BytecodeTypes::kOpaque;
    const auto parts = types_[tuple].parts;
    const auto place = find_position(std::ssize(parts), number);
    if (number != kNoNumber && place) return parts[*place];
    TypeId any = BytecodeTypes::kAbsent;
    for (const TypeId part : parts) any = types_.join(any, part);
    return any;
  }

  void widen(TypeId& known, TypeId type) {
    const TypeId joined = types_.join(known, type);
    has_changed_ |= joined != known;
    known = joined;
  }

  // --- objects ---

  // Returns the class of the object that has an attribute; null for None, which raises.
  BytecodeClass* class_of(const Method& method, TypeId type) {
    if (type == BytecodeTypes::kAbsent) return nullptr;
    const std::string& name = type == BytecodeTypes::kPartial ? method.makes : types_[type].name;
    const auto found = classes_.find(name);
    const bool is_object = type == BytecodeTypes::kPartial || types_.is(type, Form::kObject);
    if (!is_object || found == classes_.end())
      refuse_unknown("it cannot be told of which class the object is whose attribute it takes");
    return &found->second;
  }

  bool get_attribute(const Method& method, std::size_t slot, Frame& frame) {
    const TypeId type = pop(frame).type;
    const BytecodeClass* own = class_of(method, type);
    if (own == nullptr) return false;
    const std::size_t count = type == BytecodeTypes::kPartial ? frame.slots : own->slots.size();
    if (slot >= count)
      refuse_size("the object has " + counted(count, "attribute") + ", and it takes number " +
                  std::to_string(slot));
    push(frame, own->slots[slot]);
    return true;
  }

  bool set_attribute(const Method& method, std::size_t slot, Frame& frame) {
    constexpr std::size_t kMaxSlots = 100'000;
    const TypeId value = pop(frame).type;
    const TypeId type = pop(frame).type;
    not_partial(value);
    BytecodeClass* own = class_of(method, type);
    if (own == nullptr) return false;
    if (type == BytecodeTypes::kPartial) {
      if (slot >= kMaxSlots) refuse_size("it makes attribute number " + std::to_string(slot));
      frame.slots = std::max(frame.slots, slot + 1);
      if (own->slots.size() <= slot) own->slots.resize(slot + 1, BytecodeTypes::kAbsent);
    } else if (slot >= own->slots.size()) {
      refuse_size("the object has " + counted(own->slots.size(), "attribute") + ", and it sets number " +
                  std::to_string(slot));
    }
    widen(own->slots[slot], value);
    return true;
  }

  bool call_method(Method& method, const TypedConstant& name, std::size_t n, Frame& frame) {
    if (n == 0) refuse_size("it calls a method of no object");
    const auto arguments = pop(frame, n);
    const TypeId receiver = arguments[0].type;
    if (receiver == BytecodeTypes::kAbsent) return false;
    if (!name.text) refuse_unknown("the method that it calls has no name");
    const std::string shown = short_line(*name.text);
    for (const Value& value : arguments) not_partial(value.type);
    if (types_.is(receiver, Form::kObject) && is_library_class(types_[receiver].name))
      return call_bound(types_[receiver].name, *name.text, arguments, frame);
    std::vector<std::size_t> called;
    if (types_.is(receiver, Form::kObject) && classes_.contains(types_[receiver].name)) {
      const auto found = by_class_.find(std::pair(types_[receiver].name, *name.text));
      if (found != by_class_.end()) called.push_back(found->second);
    } else if (receiver == BytecodeTypes::kOpaque && !has_library_objects_) {
      spend(by_class_.size());
      for (const auto& [key, number] : by_class_) {
        if (key.second == *name.text) called.push_back(number);
      }
    }
    if (called.empty()) refuse_unknown("it cannot be told what it calls by the name " + shown);
    TypeId result = BytecodeTypes::kAbsent;
    for (const std::size_t number : called) {
      Method& other = methods_[number];
      method.calls.insert(number);
      if (other.parameters.size() != n)
        refuse_size(shown + " takes " + counted(other.parameters.size(), "argument") + ", and is given " +
                    std::to_string(n));
      for (std::size_t i = 1; i < n; ++i) {
        if (other.is_open[i])
          widen(other.parameters[i], arguments[i].type);
        else if (!types_.fits(arguments[i].type, other.parameters[i]))
          refuse_unknown("it cannot be told whether argument " + std::to_string(i) + " of " + shown +
                         " has the type that it should have");
      }
      result = types_.join(result, other.result);
    }
    push(frame, result);
    return true;
  }

  // Calls a method of a C++ class, as far as those are known.
  bool call_bound(std::string_view class_name, std::string_view name, const std::vector<Value>& arguments,
                  Frame& frame) {
    class_name.remove_prefix(std::min(class_name.size(), torchscript::kTorchBindPrefix.size()));
    for (const torchscript::BoundMethod& method : torchscript::bound_methods()) {
      const std::size_t end = method.schema.find('(');
      if (method.schema.substr(0, end) != name || !has_word(method.class_names, class_name)) continue;
      const Schema schema = parse_schema(method.schema.substr(end));
      if (schema.arguments.size() + 1 != arguments.size())
        refuse_size(std::string(name) + " takes " + counted(schema.arguments.size() + 1, "argument") +
                    ", and is given " + std::to_string(arguments.size()));
      push(frame, BytecodeTypes::CallTypes(types_, false).result(schema.results.at(0)));
      return true;
    }
    refuse_unknown("fxtrace does not know the method " + short_line(name) + " of " + short_line(class_name));
  }

  // --- operators ---

  // Returns whether the operator returns.
  bool call_operator(const OperatorUse& use, const Instruction& instruction, Frame& frame) {
    const std::string shown = short_line(use.name);
    if (use.schema == nullptr)
      refuse_unknown("fxtrace does not know " + shown + ", and so not how many values it takes");
    const bool is_variadic = use.schema->is_variadic;
    if (use.name == "prim::TupleUnpack") return unpack(frame, instruction);
    if (use.name == kToList && instruction.row->opcode == Opcode::kOperator) {
      to_list(frame);
      return true;
    }
    if (use.schema->has_variadic_results) refuse_unknown(shown + " may give any number of values");
    if (instruction.row->opcode == Opcode::kVariadic) {
      // Others take as many values as they find.
      static const std::unordered_set<std::string_view> known =
          words_of("aten::einsum.sublist aten::format aten::percentFormat prim::Print");
      if (!is_variadic || !known.contains(use.name))
        refuse_unknown(shown + " is not called with a number of values");
      const std::size_t least = use.name == "prim::Print" ? 0 : 1;
      if (instruction.n < least) refuse_size(shown + " takes a value or more");
      for (const Value& value : pop(frame, instruction.n)) not_partial(value.type);
      for (const SchemaType& result : use.schema->results)
        push(frame, BytecodeTypes::CallTypes(types_, false).result(result));
      return true;
    }
    if (is_variadic) refuse_unknown(shown + " takes a number of values that is computed");
    if (use.name == "prim::unchecked_cast") {
      need(frame, 1);
      return true;  // the value as it is
    }
    const auto given = arguments_of(use);
    std::vector<Value> values = pop(frame, given.size());
    if (use.name == "prim::RaiseException") return false;
    if (use.name == "prim::TupleIndex") {
      push(frame, item_of(values[0].type, values[1].number));
      return true;
    }
    call(*use.schema, given, values, shown, frame);
    return true;
  }

  // Returns the arguments that the operator takes from the stack.  Those with defaults may be missing, but
  // not those that are written to, which are last.
  std::vector<const SchemaArgument*> arguments_of(const OperatorUse& use) const {
    const auto& all = use.schema->arguments;
    const std::string shown = short_line(use.name);
    std::vector<const SchemaArgument*> taken;
    std::size_t outs = 0;
    while (outs + 1 < all.size() && all[all.size() - 1 - outs].keyword_only &&
           all[all.size() - 1 - outs].is_written)
      ++outs;
    std::size_t count = all.size();
    if (use.given && *use.given > count)
      refuse_size(shown + " takes " + counted(count, "argument") + ", and is given " +
                  std::to_string(*use.given));
    if (use.given && !is_own_operator(use.name)) count = *use.given;
    if (count < outs)
      refuse_size(shown + " is given " + counted(count, "argument") + ", and writes to " +
                  std::to_string(outs));
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i < count - outs || i >= all.size() - outs)
        taken.push_back(&all[i]);
      else if (!all[i].default_value)
        refuse_size(shown + " is not given its argument " + all[i].name);
    }
    // The loader calls a function in the place of operators that have changed, which takes all arguments.
    const auto* upgrader = torchscript::find_upgrader(use.name, records_.version);
    if (upgrader != nullptr && parse_schema(upgrader->schema).arguments.size() != taken.size())
      refuse_size(shown + " is not given all the arguments that it had in version " +
                  std::to_string(records_.version));
    return taken;
  }

  void call(const Schema& schema, const std::vector<const SchemaArgument*>& given,
            const std::vector<Value>& values, const std::string& shown, Frame& frame) {
    BytecodeTypes::CallTypes call(types_, schema.writes());
    for (std::size_t i = 0; i < values.size(); ++i) {
      not_partial(values[i].type);
      if (!call.give(*given[i], values[i].type))
        refuse_unknown("it cannot be told whether the argument " + given[i]->name + " of " + shown +
                       " has the type that it should have");
    }
    for (const SchemaType& result : schema.results) push(frame, call.result(result));
  }

  bool unpack(Frame& frame, const Instruction& instruction) {
    if (instruction.row->opcode != Opcode::kOperator)
      refuse_unknown("a tuple is unpacked with a number of values");
    const TypeId tuple = pop(frame).type;
    if (tuple == BytecodeTypes::kAbsent) return false;
    if (!types_.is(tuple, Form::kTuple)) refuse_unknown("it cannot be told how many values the tuple has");
    const auto parts = types_[tuple].parts;
    for (const TypeId part : parts) push(frame, part);
    return true;
  }

  // --- what runs when, and how often ---

  // Checks __setstate__, which runs when the archive is loaded.
  void on_load(const Method& method) {
    std::size_t growths = 0;
    for (const Instruction& instruction : method.instructions) {
      const auto x = static_cast<std::size_t>(std::max<std::int64_t>(instruction.x, 0));
      const bool jumps = instruction.row->operand == Operand::kJump;
      if (jumps && (instruction.x <= 0 || instruction.row->opcode == Opcode::kLoop))
        refuse_load(method, "has a loop");
      if (instruction.row->opcode == Opcode::kInterfaceCall) refuse_load(method, "calls a method");
      if (instruction.row->opcode == Opcode::kFormat) ++growths;
      if (instruction.row->operand == Operand::kOperator && x < method.operators.size()) {
        const std::string& name = method.operators[x].name;
        if (!may_run_on_load(name))
          refuse_load(method, "calls " + short_line(name.substr(0, name.find('.'))));
        if (grows(name)) ++growths;
      }
    }
    if (growths > kMaxGrowths) refuse_load(method, "makes values larger and larger");
  }
  void refuse_load(const Method& method, const std::string& why) {
    tell_(SecurityKind::kCode, short_line(method.name),
          short_line(method.name) + ", which runs when the archive is loaded, " + why);
  }

  // Reports methods that call themselves: no compiler of TorchScript makes such, and an interpreter may need
  // memory for each call.
  void find_recursion() {
    enum class Mark : std::uint8_t { kNew, kOpen, kDone };
    std::vector<Mark> marks(methods_.size(), Mark::kNew);
    for (std::size_t start = 0; start < methods_.size(); ++start) {
      std::vector<std::size_t> path{start};
      while (!path.empty()) {
        const std::size_t number = path.back();
        if (marks[number] == Mark::kNew) {
          marks[number] = Mark::kOpen;
          for (const std::size_t next : methods_[number].calls) {
            if (marks[next] == Mark::kOpen)
              return tell_(SecurityKind::kUnknown, short_line(methods_[next].name),
                           short_line(methods_[next].name) + " calls itself, perhaps endlessly");
            if (marks[next] == Mark::kNew) path.push_back(next);
          }
        } else {
          path.pop_back();
          marks[number] = Mark::kDone;
        }
      }
    }
  }

  static constexpr std::size_t kMaxUnpacked = 100'000;

  const MobileRecords& records_;
  const Tell& tell_;
  BytecodePickle code_, data_;
  BytecodeTypes types_;
  BytecodeClasses classes_;
  std::vector<Method> methods_;
  std::vector<std::pair<std::size_t, PickledId>> constants_;             // with the number of their method
  std::map<std::string, TypeId, std::less<>> set_states_;                // the types of states, by class
  std::map<std::pair<std::string, std::string>, std::size_t> by_class_;  // methods by class and name
  std::map<std::string, std::unique_ptr<Schema>> schemas_;               // of operators; null if unknown
  std::set<std::string> is_made_;  // classes whose __setstate__ was followed
  bool has_library_objects_ = false;

  // Of the method that is followed:
  std::size_t number_ = 0, at_ = 0;
  std::map<std::size_t, Frame> met_;  // by instruction
  std::set<std::size_t> waiting_;     // instructions to be followed, again perhaps
  std::size_t kept_ = 0;
  std::optional<std::size_t> least_slots_;

  bool has_changed_ = false;
  std::size_t spent_ = 0;
};

}  // namespace

void check_bytecode(const MobileRecords& records, const Tell& tell) { BytecodeCheck(records, tell).run(); }

}  // namespace fxtrace::internal::security
