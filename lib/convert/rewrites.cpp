#include "convert/rewrites.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "operators/name_rows.h"
#include "operators/python_functions.h"
#include "symbolic/shape_env.h"
#include "symbolic/srepr.h"

namespace fxtrace {
namespace {

using Result = std::optional<Operand>;

Meta plain_meta(const char* type, std::optional<Expression> value = {}) {
  Meta meta;
  meta.type = type;
  meta.value = std::move(value);
  return meta;
}

bool is_tensor(const Body& body, const Operand& operand) {
  return body.meta_of(operand).kind() == ValueKind::kTensor;
}

// --- sizes ---

// The size of a dimension: a number where it is known, else a question of the tensor.
Operand size_of(const LoweredCall& call, Body& body, const Operand& tensor, std::int64_t dim,
                std::string_view name = {}) {
  const Meta meta = body.meta_of(tensor);
  const auto rank = static_cast<std::int64_t>(meta.shape->size());
  const Expression& size = (*meta.shape)[static_cast<std::size_t>(dim < 0 ? dim + rank : dim)];
  if (const auto number = size.number()) return *number;
  return body.emit(call.node, "aten.sym_size.int", {tensor, dim}, {}, plain_meta("int", size), name);
}

bool has_dimension(const Body& body, const Operand& tensor, std::int64_t dim) {
  const Meta meta = body.meta_of(tensor);
  if (!meta.shape) return false;
  const auto rank = static_cast<std::int64_t>(meta.shape->size());
  return dim >= -rank && dim < rank;
}

Result size_int(const LoweredCall& call, Body& body) {
  const Operand tensor = call.argument(0, "self");
  const Operand place = call.argument(1, "dim");
  const auto* dim = place.get_if<std::int64_t>();
  if (dim == nullptr || !has_dimension(body, tensor, *dim)) {
    body.refuse(call.node, "which size it asks for is not known");
    return {};
  }
  return size_of(call, body, tensor, *dim, call.node.name);
}

Result all_sizes(const LoweredCall& call, Body& body) {
  const Operand tensor = call.argument(0, "self");
  const Meta meta = body.meta_of(tensor);
  if (!meta.shape) {
    body.refuse(call.node, "the rank of the tensor is not known");
    return {};
  }
  Operand::List sizes;
  for (std::size_t i = 0; i < meta.shape->size(); ++i)
    sizes.items.push_back(size_of(call, body, tensor, static_cast<std::int64_t>(i)));
  return sizes;
}

Result length(const LoweredCall& call, Body& body) {
  const Operand given = call.argument(0);
  if (const auto* items = items_of(given)) return static_cast<std::int64_t>(items->size());
  if (const auto* dict = given.get_if<Operand::Dict>()) return static_cast<std::int64_t>(dict->items.size());
  if (is_tensor(body, given) && has_dimension(body, given, 0))
    return size_of(call, body, given, 0, call.node.name);
  body.refuse(call.node, "the length is not known");
  return {};
}

// Asks the tensor a question about its sizes, under the name that torch.export has for it.
template <const char* TorchTarget>
Result sym_question(const LoweredCall& call, Body& body) {
  Meta meta = *call.node.meta;
  if (!meta.value) meta = body.unknown_integer();
  return body.emit(call.node, TorchTarget, call.args, call.kwargs, std::move(meta), call.node.name);
}
constexpr char kSymNumel[] = "aten.sym_numel.default";
constexpr char kSymStride[] = "aten.sym_stride.int";
constexpr char kSymOffset[] = "aten.sym_storage_offset.default";

// --- attributes of tensors ---

Result attribute(const LoweredCall& call, Body& body) {
  const Operand tensor = call.argument(0);
  const Operand given = call.argument(1);
  const Meta meta = body.meta_of(tensor);
  const auto* name = given.get_if<std::string>();
  if (name == nullptr || meta.kind() != ValueKind::kTensor || !meta.dtype || !meta.shape) {
    body.refuse(call.node, "it is an attribute of something that is not known");
    return {};
  }
  if (const Quantization* quantization = body.quantization(tensor)) {
    if (*name == "is_quantized") return true;
    if (*name == "dtype") return Operand::Dtype{quantization->dtype};
  }
  const std::string device = meta.device.value_or("cpu");
  if (*name == "dtype") return Operand::Dtype{*meta.dtype};
  if (*name == "device") return Operand::Device{device};
  if (*name == "layout") return Operand::Layout{"strided"};
  if (*name == "ndim") return static_cast<std::int64_t>(meta.shape->size());
  if (*name == "is_cuda") return device.starts_with("cuda");
  if (*name == "shape") return all_sizes(call, body);
  // Without gradients nothing but parameters has one.
  if (*name == "requires_grad" && tensor.is<ValueId>()) {
    if (const auto is_trained = body.is_trained(*tensor.get_if<ValueId>())) return *is_trained;
  }
  for (const char* other : {"is_sparse", "is_quantized", "is_mkldnn", "is_mps", "is_xpu", "is_meta",
                            "is_nested", "is_sparse_csr", "is_vulkan", "is_ipu", "is_xla", "is_maia"}) {
    if (*name == other) return false;
  }
  if (*name == "T" || *name == "mT")
    return body.emit(call.node, *name == "T" ? "aten.numpy_T.default" : "aten.mT.default", {tensor}, {},
                     *call.node.meta, call.node.name);
  body.refuse(call.node, "a program has no attribute " + *name + " of tensors");
  return {};
}

// --- numbers ---

const char* symbol_of(std::string_view target) {
  static const std::unordered_map<std::string_view, const char*> symbols{
      {"operator.eq", "=="}, {"operator.ne", "!="}, {"operator.lt", "<"},
      {"operator.le", "<="}, {"operator.gt", ">"},  {"operator.ge", ">="}};
  const auto found = symbols.find(target);
  return found == symbols.end() ? nullptr : found->second;
}

bool can_be_written(const Expression& value) {
  return srepr(value, [](const std::string& name) { return name; }).has_value();
}

// What numbers that are known give, in Python's arithmetic.
Result folded(const std::string& target, const std::vector<Operand>& args) {
  if (args.size() != 2) return {};
  const std::string name = target.substr(target.find('.') + 1);
  const auto* a = args[0].get_if<std::int64_t>();
  const auto* b = args[1].get_if<std::int64_t>();
  if (a != nullptr && b != nullptr) {
    std::int64_t result = 0;
    if (name == "add" && !__builtin_add_overflow(*a, *b, &result)) return result;
    if (name == "sub" && !__builtin_sub_overflow(*a, *b, &result)) return result;
    if (name == "mul" && !__builtin_mul_overflow(*a, *b, &result)) return result;
    if ((name == "floordiv" || name == "mod") && *b > 0) {
      const std::int64_t rest = (*a % *b + *b) % *b;
      return name == "mod" ? rest : (*a - rest) / *b;
    }
  }
  const auto real = [](const Operand& operand) -> std::optional<double> {
    if (const auto* whole = operand.get_if<std::int64_t>()) return static_cast<double>(*whole);
    if (const auto* number = operand.get_if<double>()) return *number;
    return std::nullopt;
  };
  const auto x = real(args[0]), y = real(args[1]);
  if (!x || !y) return {};
  if (name == "truediv" && *y != 0) return *x / *y;
  if (a == nullptr || b == nullptr) {
    if (name == "add") return *x + *y;
    if (name == "sub") return *x - *y;
    if (name == "mul") return *x * *y;
  }
  if (name == "eq") return *x == *y;
  if (name == "ne") return *x != *y;
  if (name == "lt") return *x < *y;
  if (name == "le") return *x <= *y;
  if (name == "gt") return *x > *y;
  if (name == "ge") return *x >= *y;
  return {};
}

// Arithmetic and comparisons of numbers stay as they are, if what they give is known.
Result arithmetic(const LoweredCall& call, Body& body) {
  Meta meta = *call.node.meta;
  const std::string& target = *call.node.target;
  if (auto known = folded(target, call.args)) return known;
  const auto value_of = [&](std::size_t i) { return body.meta_of(call.argument(i)).value; };
  if (!meta.value && call.args.size() == 2 && value_of(0) && value_of(1)) {
    if (const char* symbol = symbol_of(target); symbol != nullptr) {
      meta.value = Expression::comparison(symbol, *value_of(0), *value_of(1));
    } else if (target == "operator.truediv") {
      meta.value = Expression::binary("/", *value_of(0), *value_of(1));
    } else if (meta.kind() == ValueKind::kFloat) {
      const std::string_view text = python_symbol(target);
      if (!text.empty()) meta.value = Expression::binary(std::string(text), *value_of(0), *value_of(1));
    }
  }
  if (meta.value && meta.kind() == ValueKind::kBool && meta.value->kind() == Expression::Kind::kConstant)
    return meta.value->text() == "True";
  if (!meta.value && meta.kind() == ValueKind::kInt) meta = body.unknown_integer();
  if (!meta.value || !can_be_written(*meta.value)) {
    body.refuse(call.node, "what it gives is known as no expression of sizes");
    return {};
  }
  return body.emit(call.node, target, call.args, call.kwargs, std::move(meta), call.node.name);
}

// list += list changes the list itself, of an attribute that has it.
Result extended(const LoweredCall& call, Body& body) {
  const Operand list = call.argument(0), more = call.argument(1);
  const auto* items = list.get_if<Operand::List>();
  const auto* added = items_of(more);
  if (items == nullptr || added == nullptr) return {};
  Operand::List whole = *items;
  whole.items.insert(whole.items.end(), added->begin(), added->end());
  if (!body.change_attribute(call.node.args[0], whole)) return {};
  return whole;
}

template <const char* TorchTarget>
Result renamed(const LoweredCall& call, Body& body) {
  Meta meta = *call.node.meta;
  if (!meta.value && meta.kind() == ValueKind::kInt) meta = body.unknown_integer();
  if (!meta.value) {
    const auto value = body.meta_of(call.argument(0)).value;
    if (value && std::string_view(TorchTarget) == "torch.sym_not") meta.value = Expression::negation(*value);
    if (value && std::string_view(TorchTarget) == "torch.sym_float")
      meta.value = Expression::call(Expression::variable("float"), {*value});
    if (value && std::string_view(TorchTarget) == "torch.sym_sqrt")
      meta.value = Expression::call(Expression::attribute(Expression::variable("math"), "sqrt"), {*value});
  }
  if (!meta.value || !can_be_written(*meta.value)) {
    body.refuse(call.node, "what it gives is known as no expression of sizes");
    return {};
  }
  return body.emit(call.node, TorchTarget, call.args, {}, std::move(meta), call.node.name);
}
constexpr char kSymNot[] = "torch.sym_not";
constexpr char kSymFloat[] = "torch.sym_float";
constexpr char kSymInt[] = "torch.sym_int";
constexpr char kSymSqrt[] = "torch.sym_sqrt";
constexpr char kSymMax[] = "torch.sym_max";
constexpr char kSymMin[] = "torch.sym_min";

// ceil(a/b) is -(-a//b), and floor(a/b) is a//b.
Result rounded_up(const LoweredCall& call, Body& body) {
  const Operation* quotient = body.maker(call.argument(0));
  const auto& value = call.node.meta->value;
  const bool is_quotient = quotient != nullptr && quotient->target == "operator.truediv" &&
                           std::ranges::all_of(quotient->args, [&](const Operand& part) {
                             return body.meta_of(part).kind() == ValueKind::kInt;
                           });
  if (!is_quotient || !value || value->size() == nullptr) {
    body.refuse(call.node, "what it rounds is known as no quotient of integers");
    return {};
  }
  const std::vector<Operand> parts = quotient->args;
  const Operand minus = body.emit(call.node, "operator.neg", {parts[0]}, {},
                                  plain_meta("int", -*body.meta_of(parts[0]).value->size()));
  const Operand rounded =
      body.emit(call.node, "operator.floordiv", {minus, parts[1]}, {}, plain_meta("int", -*value->size()));
  return body.emit(call.node, "operator.neg", {rounded}, {}, *call.node.meta, call.node.name);
}

// Sizes are not negative, so that nothing is to be rounded but towards zero.
Result rounded_down(const LoweredCall& call, Body& body) {
  const auto& value = call.node.meta->value;
  if (value && value->size() != nullptr && ShapeEnv().bounds(*value->size()).low.value_or(-1) >= 0)
    return renamed<kSymInt>(call, body);
  body.refuse(call.node, "it may round a negative number, which a program has no function for");
  return {};
}

// int(x), float(x), bool(x): of a tensor its element, of a number another one.
Result item_of(const LoweredCall& call, Body& body, ValueKind wanted) {
  Operand tensor = call.argument(0);
  const Meta meta = body.meta_of(tensor);
  const std::string dtype = meta.dtype.value_or("");
  if (const Operation* made = body.maker(tensor);
      made != nullptr && made->target == "aten.scalar_tensor.default") {
    if (body.meta_of(made->args[0]).kind() == wanted)
      return made->args[0];  // torch.jit.trace made it of a size
  }
  const bool is_integer = dtype.starts_with("int") || dtype.starts_with("uint");
  const bool is_real = dtype.starts_with("float") || dtype.starts_with("bfloat");
  if (wanted == ValueKind::kInt && is_integer) {
    Meta item = body.unknown_integer();
    if (call.node.meta->value) item.value = call.node.meta->value;
    return body.emit(call.node, "aten.item.default", {tensor}, {}, std::move(item), call.node.name);
  }
  if (wanted == ValueKind::kFloat && is_real) {
    body.refuse(call.node, "a float that depends on data has no expression in a program",
                "keep it a tensor of no dimension");
    return {};
  }
  if (wanted == ValueKind::kBool && body.is_condition(call.node)) {
    // A loop asks a tensor of no dimension, which must be none that it is given.
    Meta truth;
    truth.type = "Tensor";
    truth.dtype = "bool";
    truth.shape = meta.shape;
    tensor = body.emit(call.node, "aten.ne.Scalar", {tensor, std::int64_t{0}}, {}, truth, call.node.name);
    if (meta.shape && meta.shape->empty()) return tensor;
    truth.shape.emplace();
    return body.emit(call.node, "aten.reshape.default", {tensor, Operand::List{}}, {}, truth, call.node.name);
  }
  if (wanted == ValueKind::kBool) {
    body.refuse(call.node, "whether a tensor holds decides here, and a program does not know its elements",
                "torch.cond, or --concrete for what decides it");
    return {};
  }
  body.refuse(call.node, "its element has no form in a program as a number of another type");
  return {};
}

// float(self.scale), where that quantizes: the number that the file has.
Result stored_scale(const LoweredCall& call, Body& body) {
  const bool quantizes = body.are_users(call.node, [](const std::string& target) {
    return target.starts_with("aten.quantize_per_tensor.") || target.starts_with("quantized.");
  });
  if (!quantizes || call.node.args.empty() || call.node.users.empty()) return {};
  const auto number = body.stored_number(call.node.args[0]);
  if (!number) return {};
  return map_references<ValueId>(*number, [](NodeId) { return Operand(); });
}

Result to_int(const LoweredCall& call, Body& body) {
  if (auto number = stored_scale(call, body)) return number;
  const Operand given = call.argument(0);
  const ValueKind kind = body.meta_of(given).kind();
  if (kind == ValueKind::kTensor) return item_of(call, body, ValueKind::kInt);
  if (kind == ValueKind::kInt) return given;
  if (kind == ValueKind::kBool)
    return body.emit(call.node, "torch.sym_ite", {given, std::int64_t{1}, std::int64_t{0}}, {},
                     body.unknown_integer(), call.node.name);
  return renamed<kSymInt>(call, body);
}
Result to_float(const LoweredCall& call, Body& body) {
  if (auto number = stored_scale(call, body)) return number;
  const Operand given = call.argument(0);
  if (const auto* number = given.get_if<std::int64_t>()) return static_cast<double>(*number);
  const ValueKind kind = body.meta_of(given).kind();
  if (kind == ValueKind::kTensor) return item_of(call, body, ValueKind::kFloat);
  if (kind == ValueKind::kFloat) return given;
  return renamed<kSymFloat>(call, body);
}
Result to_bool(const LoweredCall& call, Body& body) {
  const Operand given = call.argument(0);
  if (const auto* number = given.get_if<std::int64_t>()) return *number != 0;
  const ValueKind kind = body.meta_of(given).kind();
  if (kind == ValueKind::kBool) return given;
  if (kind == ValueKind::kInt)
    return body.emit(call.node, "operator.ne", {given, std::int64_t{0}}, {},
                     plain_meta("bool", Expression::comparison("!=", *body.meta_of(given).value, 0)),
                     call.node.name);
  return item_of(call, body, ValueKind::kBool);
}
Result item(const LoweredCall& call, Body& body) {
  if (auto number = stored_scale(call, body)) return number;
  const std::string dtype = body.meta_of(call.argument(0)).dtype.value_or("");
  if (dtype == "bool") return item_of(call, body, ValueKind::kBool);
  return item_of(call, body, dtype.find("float") == std::string::npos ? ValueKind::kInt : ValueKind::kFloat);
}

// --- tensors of numbers ---

// A tensor of one number: what torch.jit.trace makes of sizes.
Result tensor_of_number(const LoweredCall& call, Body& body) {
  const Operand number = call.argument(0);
  const ValueKind kind = body.meta_of(number).kind();
  Meta meta = *call.node.meta;
  const char* dtype = kind == ValueKind::kInt ? "int64" : kind == ValueKind::kBool ? "bool" : "float64";
  meta.type = "Tensor";
  meta.shape.emplace();
  meta.dtype = dtype;
  return body.emit(call.node, "aten.scalar_tensor.default", {number}, {{"dtype", Operand::Dtype{dtype}}},
                   std::move(meta), call.node.name);
}

void add_elements(const Operand& data, std::vector<Operand>& elements) {
  const auto* items = items_of(data);
  if (items == nullptr) return elements.push_back(data);
  for (const Operand& item : *items) add_elements(item, elements);
}

// torch.tensor(): a number is scalar_tensor, a list of plain numbers a constant of the model.
Result tensor_of_data(const LoweredCall& call, Body& body) {
  const Operand data = call.argument(0);
  Meta meta = *call.node.meta;
  if (!meta.dtype || !meta.shape) {
    body.refuse(call.node, "the type of its elements is not known");
    return {};
  }
  if (items_of(data) == nullptr) {
    if (is_tensor(body, data))
      return body.emit(call.node, "aten.clone.default", {data}, {}, std::move(meta), call.node.name);
    NamedOperands kwargs{{"dtype", Operand::Dtype{*meta.dtype}}};
    if (meta.device) kwargs.emplace_back("device", Operand::Device{*meta.device});
    return body.emit(call.node, "aten.scalar_tensor.default", {data}, std::move(kwargs), std::move(meta),
                     call.node.name);
  }
  std::vector<Operand> elements;
  add_elements(data, elements);
  Constant constant;
  constant.dtype = *meta.dtype;
  constant.data.emplace();
  for (const Expression& size : *meta.shape) constant.shape.push_back(size.number().value_or(-1));
  bool is_plain = std::ranges::find(constant.shape, -1) == constant.shape.end();
  for (const Operand& element : elements) {
    is_plain = is_plain && (element.is<bool>() || element.is<std::int64_t>() || element.is<double>());
    if (is_plain) constant.data->push_back(constant_argument(element));
  }
  if (!is_plain) {  // sizes among them
    Operand::List parts;
    const Operand::Dtype dtype{*meta.dtype};
    Meta part = meta;
    part.shape.emplace();
    for (const Operand& element : elements)
      parts.items.push_back(
          body.emit(call.node, "aten.scalar_tensor.default", {element}, {{"dtype", dtype}}, part));
    if (meta.shape->size() != 1) {
      body.refuse(call.node, "a tensor of several dimensions is made of numbers that are not known");
      return {};
    }
    return body.emit(call.node, "aten.stack.default", {std::move(parts)}, {}, std::move(meta),
                     call.node.name);
  }
  const auto lifted = body.lift(constant);
  if (!lifted) {
    body.refuse(call.node, "a tensor is made of numbers within control flow",
                "make it a buffer of the model");
    return {};
  }
  return body.emit(call.node, "aten.lift_fresh_copy.default", {*lifted}, {}, std::move(meta), call.node.name);
}

// --- containers ---

Result get_item(const LoweredCall& call, Body& body) {
  const Operand whole = call.argument(0);
  const Operand key = call.argument(1);
  if (const auto* items = items_of(whole)) {
    const auto* index = key.get_if<std::int64_t>();
    const auto count = static_cast<std::int64_t>(items->size());
    if (index != nullptr && *index >= -count && *index < count)
      return (*items)[static_cast<std::size_t>(*index < 0 ? *index + count : *index)];
  }
  if (const auto* dict = whole.get_if<Operand::Dict>()) {
    for (const auto& [name, item] : dict->items) {
      if (name == key) return item;
    }
  }
  body.refuse(call.node, "which item it takes is not known");
  return {};
}

Result is_in(const LoweredCall& call, Body& body) {
  const Operand whole = call.argument(0), wanted = call.argument(1);
  if (const auto* items = items_of(whole)) {
    const bool is_plain = !wanted.is<ValueId>() && std::ranges::none_of(*items, [](const Operand& item) {
      return item.is<ValueId>();
    });
    if (is_plain) return std::ranges::find(*items, wanted) != items->end();
  }
  if (const auto* dict = whole.get_if<Operand::Dict>())
    return std::ranges::any_of(dict->items, [&](const auto& item) { return item.key == wanted; });
  body.refuse(call.node, "whether it is among them is not known");
  return {};
}

template <bool Same>
Result is_identical(const LoweredCall& call, Body& body) {
  const Operand left = call.argument(0), right = call.argument(1);
  if (left.is<Operand::None>() || right.is<Operand::None>())
    return (left.is<Operand::None>() && right.is<Operand::None>()) == Same;
  body.refuse(call.node, "whether both are one object is not known");
  return {};
}

Result same(const LoweredCall& call, Body&) { return call.argument(0); }

// --- operators ---

// The form without what only chooses a kernel, which torch can decompose.
Result convolution(const LoweredCall& call, Body& body) {
  std::vector<Operand> args = call.args;
  constexpr std::size_t kArguments = 9;  // of aten.convolution
  if (args.size() < kArguments) return {};
  args.resize(kArguments);
  return body.emit(call.node, "aten.convolution.default", std::move(args), {}, *call.node.meta,
                   call.node.name);
}

struct Row {
  std::string_view space, names;
  Rewrite rewrite = nullptr;
};

constexpr Row kRows[] = {
    {"aten.size", "int", size_int},
    {"aten.size", "default", all_sizes},
    {"", "builtins.len aten.len.Tensor aten.len.t", length},
    {"aten", "numel.default", sym_question<kSymNumel>},
    {"aten", "stride.int", sym_question<kSymStride>},
    {"aten", "storage_offset.default", sym_question<kSymOffset>},
    {"builtins", "getattr", attribute},
    {"operator", "add sub mul floordiv mod truediv pow neg eq ne lt le gt ge and_ or_ lshift rshift",
     arithmetic},
    {"operator", "iadd", extended},
    {"", "operator.not_ torch.sym_not", renamed<kSymNot>},
    {"", "math.sqrt torch.sym_sqrt", renamed<kSymSqrt>},
    {"", "math.trunc torch.sym_int", renamed<kSymInt>},
    {"math", "floor", rounded_down},
    {"math", "ceil", rounded_up},
    {"", "builtins.max torch.sym_max", renamed<kSymMax>},
    {"", "builtins.min torch.sym_min", renamed<kSymMin>},
    {"builtins", "int", to_int},
    {"", "builtins.float torch.sym_float", to_float},
    {"builtins", "bool", to_bool},
    {"aten", "item.default", item},
    {"prim.NumToTensor", "Scalar bool", tensor_of_number},
    {"torch", "tensor as_tensor", tensor_of_data},
    {"operator", "getitem", get_item},
    {"operator", "contains", is_in},
    {"operator", "is_", is_identical<true>},
    {"operator", "is_not", is_identical<false>},
    {"builtins", "list tuple", same},
    {"aten._convolution", "default deprecated", convolution},
};

}  // namespace

Rewrite find_rewrite(std::string_view target) {
  static const NameTable<Row> rows(kRows);
  const Row* row = rows.find(target);
  return row == nullptr ? nullptr : row->rewrite;
}

}  // namespace fxtrace
