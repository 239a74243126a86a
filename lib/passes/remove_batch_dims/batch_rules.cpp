#include "passes/remove_batch_dims/batch_rules.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "opinfo/rules/shape_helpers.h"
#include "passes/remove_batch_dims/batch_call.h"
#include "support/integers.h"

namespace fxtrace::internal {
namespace {

// Returns the equation with a letter for each level in front of the operands and the result; nothing when the
// equation is malformed, or there are not enough letters.
std::optional<std::string> einsum_of_batch(std::string equation, const Levels& levels,
                                           const std::vector<Batched>& values) {
  std::erase(equation, ' ');
  std::string letters;
  for (char letter = 'A'; letter <= 'z' && letters.size() < levels.size(); ++letter) {
    const bool is_letter = letter <= 'Z' || letter >= 'a';
    if (is_letter && equation.find(letter) == std::string::npos) letters += letter;
  }
  const std::size_t arrow = equation.find("->");
  const std::string inputs = equation.substr(0, arrow);
  if (letters.size() < levels.size()) return std::nullopt;
  if (static_cast<std::size_t>(std::ranges::count(inputs, ',')) + 1 != values.size()) return std::nullopt;
  std::string result;
  std::size_t begin = 0;
  for (const Batched& value : values) {
    for (const LevelNumber level : value.levels) {
      result += letters[static_cast<std::size_t>(std::ranges::find(levels, level) - levels.begin())];
    }
    const std::size_t end = std::min(inputs.find(',', begin), inputs.size());
    result += inputs.substr(begin, end - begin);
    if (end < inputs.size()) result += ',';
    begin = end + 1;
  }
  result += "->" + letters;
  if (arrow != std::string::npos) return result + equation.substr(arrow + 2);
  // The implicit result has the letters that occur once, in alphabetical order.
  if (inputs.find('.') != std::string::npos) result += "...";
  for (char letter = 'A'; letter <= 'z'; ++letter) {
    const bool is_letter = letter <= 'Z' || letter >= 'a';
    if (is_letter && std::ranges::count(inputs, letter) == 1) result += letter;
  }
  return result;
}

// The rules of opinfo/batching.h, each as a member function of its name.
class OperatorCall final : public BatchCall, private BatchRules {
 public:
  OperatorCall(const Node& node, const OperatorEntry& info, Semantics& semantics, BatchPlan& plan)
      : BatchCall(node, info, plan), semantics_(semantics) {}

  void run() {
    check_fixed();
    if (std::ranges::any_of(info_.schema.arguments, &SchemaArgument::is_written)) check_write();
    if (rule_.empty()) return none();
    (this->*rule_.rule)();
  }

 private:
  // --- arguments ---

  void check_fixed() const {
    const auto refuse = [&](std::string_view name) {
      throw CannotBatch{node_.name + " has an unsupported " + std::string(name)};
    };
    if (const Argument* given = args_.find_argument("memory_format")) {
      const auto* format = given->get_if<Argument::MemoryFormat>();
      if (format == nullptr || format->name.starts_with("channels_last")) refuse("memory_format");
    }
    for (const std::string_view name : rule_.fixed) {
      const Argument* given = args_.find_argument(name);
      if (given == nullptr) continue;
      const auto* text = given->get_if<std::string>();
      if (text == nullptr || args_.formal(name).default_value != "\"" + *text + "\"") refuse(name);
    }
  }

  // Checks a write in place: the written tensor must vary over all levels, as it keeps its memory and size.
  void check_write() {
    if (!is_in_place(info_) ||
        std::ranges::count_if(info_.schema.arguments, &SchemaArgument::is_written) != 1) {
      throw CannotBatch{node_.name + " writes to its arguments"};
    }
    if ((info_.traits & traits::kChangesShape) != 0) {
      throw CannotBatch{node_.name + " changes sizes in place"};
    }
    if (!rule_.may_write) none();
    const Batched self = first();
    const std::vector<Batched> values = tensors();
    // torch.vmap refuses it too.
    if (BatchPlan::common_levels(values) != self.levels) {
      throw CannotBatch{node_.name + " writes a value of each sample to a tensor that all samples share"};
    }
    if (max_rank(values) > self.rank()) {
      throw CannotBatch{node_.name + " writes to a tensor with too few dimensions"};
    }
  }

  // Shifts the dimensions that arguments name behind those of the batch.
  void shift_dimensions(std::size_t levels, std::size_t rank) {
    for (const SchemaArgument& argument : info_.schema.arguments) {
      if (!names_dimensions(argument)) continue;
      if (rank == 0 && !rule_.of_result) throw CannotBatch{node_.name + " gets a tensor without dimensions"};
      if (args_.find_argument(argument.name) == nullptr && argument.default_value == "[0, 1]") {
        args_.set(argument.name, range(0, 2));
      }
      const Argument* given = args_.find_argument(argument.name);
      const auto* list = given == nullptr ? nullptr : given->get_if<Argument::List>();
      if (given == nullptr && argument.default_value == "[-2, -1]") continue;
      if (list != nullptr && !list->items.empty()) {
        Argument::List shifted;
        for (const Argument& item : list->items) {
          const auto* dim = item.get_if<std::int64_t>();
          if (dim == nullptr) throw CannotBatch{"a dimension is not known"};
          shifted.items.emplace_back(behind(levels, *dim));
        }
        args_.set(argument.name, std::move(shifted));
        continue;
      }
      const auto dim = list == nullptr ? args_.integer(argument.name) : std::nullopt;
      if (!dim) throw CannotBatch{node_.name + " is over all dimensions"};
      if (*dim >= 0) args_.set(argument.name, behind(levels, *dim));
    }
  }
  static std::int64_t behind(std::size_t levels, std::int64_t dim) {
    return dim < 0 ? dim : dim + static_cast<std::int64_t>(levels);
  }

  [[noreturn]] void none() override {
    throw CannotBatch{"there is no rule for " + std::string(info_.row->name) + " over a batch"};
  }

  // --- one tensor ---

  void leading() override {
    const Batched value = only();
    shift_dimensions(value.levels.size(), value.rank());
    replace_tensors();
    finish(value.levels);
  }

  // The result has a dimension of classes, whose size depends on the data unless the call gives it.
  void one_hot() override {
    if (args_.integer("num_classes").value_or(-1) <= 0) {
      throw CannotBatch{"the number of classes of " + node_.name + " is not known"};
    }
    leading();
  }

  void permute() override {
    const Batched value = only();
    shift_dimensions(value.levels.size(), value.rank());
    const auto* given = args_.find_argument("dims")->get_if<Argument::List>();
    if (given == nullptr) throw CannotBatch{"a list of dimensions is not known"};
    Argument::List dims = range(0, value.levels.size());
    std::ranges::copy(given->items, std::back_inserter(dims.items));
    args_.set("dims", std::move(dims));
    replace_tensors();
    finish(value.levels);
  }

  void transpose_matrix() override { finish(only().rank() < 2 ? only() : steps_.transposed(only())); }
  void reverse() override { finish(reversed()); }
  Batched reversed() {
    const Batched value = only();
    if (!rule_.target.empty()) {
      if (value.rank() != 2) throw CannotBatch{node_.name + " expects a matrix"};
      return plan_.emit(node_, {std::string(rule_.target), {value.tensor}}, value.levels, node_.meta);
    }
    if (value.rank() < 2) return value;
    Argument::List dims = range(0, value.levels.size() + value.rank());
    std::reverse(dims.items.begin() + static_cast<std::ptrdiff_t>(value.levels.size()), dims.items.end());
    return plan_.emit(node_, {"aten.permute.default", {value.tensor, std::move(dims)}}, value.levels,
                      node_.meta);
  }

  // Chooses between vector norm and matrix norm as ATen/native/LinearAlgebra.cpp does.
  void norm() override {
    const Batched value = only();
    const Argument* dim = args_.find_argument("dim");
    const auto* list = dim == nullptr ? nullptr : dim->get_if<Argument::List>();
    if (dim != nullptr && list == nullptr) throw CannotBatch{"a list of dimensions is not known"};
    const bool has_order = args_.find_argument("ord") != nullptr;
    const bool is_text = has_order && args_.find_argument("ord")->is<std::string>();
    const std::size_t dims = list != nullptr ? list->items.size() : value.rank();
    if (has_order && list == nullptr && dims != 1 && dims != 2) {
      throw CannotBatch{node_.name + " expects a vector or a matrix"};
    }
    const bool is_matrix = is_text || (has_order && dims == 2);
    const std::string target = !is_matrix ? "aten.linalg_vector_norm.default"
                               : is_text  ? "aten.linalg_matrix_norm.str_ord"
                                          : "aten.linalg_matrix_norm.default";
    NamedArguments args(*semantics_.find_operator(target));
    args.copy(args_);
    if (!has_order) args.set("ord", std::int64_t{2});
    Batched given = value;
    if (given.rank() == 0) given = steps_.unsqueezed(given, 0);
    Argument::List shifted = range(given.levels.size(), given.rank());
    for (std::size_t i = 0; list != nullptr && i < list->items.size(); ++i) {
      if (i == 0) shifted.items.clear();
      const auto* number = list->items[i].get_if<std::int64_t>();
      if (number == nullptr || value.rank() == 0) throw CannotBatch{"a dimension is not known"};
      shifted.items.emplace_back(behind(given.levels.size(), *number));
    }
    if (value.rank() == 0 && args.find_argument("keepdim") != nullptr &&
        *args.find_argument("keepdim") == Argument(true)) {
      throw CannotBatch{node_.name + " is over all dimensions, and keeps them"};
    }
    args.set("dim", std::move(shifted));
    args.set("self", given.tensor);
    finish(plan_.emit(node_, call(target, args), given.levels, node_.meta));
  }

  void squeeze_all() override {
    const Batched value = only();
    Argument::List dims;
    for (std::size_t i = 0; i < value.rank(); ++i) {
      if (value.shape()[i].number() != 1) continue;
      dims.items.emplace_back(static_cast<std::int64_t>(value.levels.size() + i));
    }
    if (!node_.meta->shape || node_.meta->shape->size() + dims.items.size() != value.rank()) {
      throw CannotBatch{"a size is not known"};
    }
    if (dims.items.empty()) return finish(value);
    finish(
        plan_.emit(node_, {"aten.squeeze.dims", {value.tensor, std::move(dims)}}, value.levels, node_.meta));
  }

  bool reduces_everything() const {
    const Argument* dim = args_.find_argument("dim");
    const auto* list = dim == nullptr ? nullptr : dim->get_if<Argument::List>();
    // An empty list of the type int[1] means all dimensions too; one of the type int[] does not.
    const bool is_empty = list != nullptr && list->items.empty();
    return dim == nullptr || (is_empty && args_.formal("dim").length);
  }

  void reduce() override {
    Batched value = only();
    if (!reduces_everything()) return leading();
    const std::string target = rule_.target.empty() ? *node_.target : std::string(rule_.target);
    const OperatorEntry& over_dimensions = *semantics_.find_operator(target);
    NamedArguments args(over_dimensions);
    args.copy(args_);
    const bool takes_list = args.formal("dim").type.required().is_list();
    const bool keeps_rank =
        args.find_argument("keepdim") != nullptr && *args.find_argument("keepdim") == Argument(true);
    if (keeps_rank && (value.rank() == 0 || !takes_list)) {
      throw CannotBatch{node_.name + " is over all dimensions, and keeps them"};
    }
    if (value.rank() == 0) value = steps_.unsqueezed(value, 0);
    if (takes_list) {
      args.set("dim", range(value.levels.size(), value.rank()));
    } else {
      if (value.rank() > 1) value = steps_.flattened(value);
      args.set("dim", -1);
    }
    args.set(name_at(0), value.tensor);
    finish(plan_.emit(node_, call(target, args), value.levels, node_.meta));
  }

  void sizes() override { set_sizes(info_.sizes, plan_.sizes_of(only().levels), false); }
  void expand() override { set_sizes(info_.sizes, plan_.sizes_of(only().levels), true); }
  void repeat() override {
    Argument::List once;
    once.items.assign(only().levels.size(), 1);
    set_sizes(rule_.counts, std::move(once), true);
  }
  // Puts entries for the batch in front of those of the list.  `has_more`: the list may be longer than the
  // tensor has dimensions.
  void set_sizes(std::string_view name, Argument::List sizes, bool has_more) {
    const Batched value = only();
    const Argument* given = args_.find_argument(name);
    const auto* list = given == nullptr ? nullptr : given->get_if<Argument::List>();
    if (list == nullptr) throw CannotBatch{"a list of sizes is not known"};
    std::ranges::copy(list->items, std::back_inserter(sizes.items));
    args_.set(name_at(0), plan_.align(node_, value, value.levels, has_more ? list->items.size() : 0));
    args_.set(name, std::move(sizes));
    finish(value.levels);
  }

  // --- several tensors ---

  void broadcast() override {
    if (is_in_place(info_) && common_type(tensors())) {
      throw CannotBatch{node_.name + " would compute in another dtype"};
    }
    broadcast_all();
  }
  void broadcast_all() {
    const std::vector<Batched> values = tensors();
    const Levels levels = BatchPlan::common_levels(values);
    const std::size_t rank = max_rank(values);
    shift_dimensions(levels.size(), rank);
    const Dtype to = rule_.keeps_dtypes ? Dtype{} : common_type(values);
    replace_tensors([&](const Batched& value) {
      return plan_.align(node_, to && is_scalar(value) ? converted(value, *to) : value, levels, rank);
    });
    finish(levels);
  }

  void copy() override {
    const Batched self = first(), source = second();
    if (BatchPlan::common_levels({self, source}) != self.levels || source.rank() > self.rank()) {
      throw CannotBatch{node_.name + " writes a value of each sample to a tensor that all samples share"};
    }
    if (rule_.target.empty()) return broadcast_all();
    if (source.levels.empty()) return leading();  // fill() takes one number
    const std::string target = is_in_place(info_) ? "aten.copy_.default" : std::string(rule_.target);
    finish(steps_.elementwise(target, {self, source}, node_.meta));
  }

  static bool is_scalar(const Batched& value) { return !value.levels.empty() && value.rank() == 0; }

  // In type promotion, a tensor without dimensions gives way to the dtype of others; with batch dimensions it
  // no longer does.  Returns the dtype to which such tensors must be converted first; nothing when none must.
  Dtype common_type(const std::vector<Batched>& values) const {
    if (values.size() < 2 || std::ranges::none_of(values, is_scalar)) return std::nullopt;
    Promotion of_sample, of_all;
    for (const Batched& value : values) {
      const Dtype dtype = value.sample.dtype;
      if (!dtype) throw CannotBatch{"a dtype is not known"};
      of_sample.add({Sizes(value.rank(), 1), dtype});
      of_all.add({Sizes(value.rank() + value.levels.size(), 1), dtype});
    }
    const Dtype wanted = of_sample.result();
    if (!wanted || !of_all.result()) throw CannotBatch{"a dtype is not known"};
    // torch's own rules do not convert all: the result of where() has the dtype of the batch.
    const bool is_as_it_is = wanted == of_all.result() || node_.meta->dtype == of_all.result();
    return is_as_it_is ? Dtype{} : wanted;
  }
  Batched converted(const Batched& value, ScalarType dtype) {
    Meta meta = value.sample;
    meta.dtype = dtype;
    return plan_.emit(node_, {"aten.to.dtype", {value.tensor, Argument::Dtype{dtype_name(dtype)}}},
                      value.levels, meta);
  }

  void equal() override {
    const std::vector<Batched> values = tensors();
    const Levels levels = BatchPlan::common_levels(values);
    spread(levels, max_rank(values));
    finish(levels);
  }
  void join() override {
    const std::vector<Batched> values = tensors();
    const std::size_t rank = max_rank(values);
    if (std::ranges::any_of(values, [&](const Batched& value) { return value.rank() != rank; })) {
      throw CannotBatch{node_.name + " gets tensors of several ranks"};
    }
    equal();
  }
  // Expands all tensors over the levels, and shifts the dimensions that arguments name.
  void spread(const Levels& levels, std::size_t rank) {
    shift_dimensions(levels.size(), rank);
    replace_tensors([&](const Batched& value) { return plan_.spread(node_, value, levels, rank); });
  }

  // A tensor without dimensions is treated as one with one element.
  void gather() override {
    if (is_in_place(info_) && first().rank() == 0) {
      throw CannotBatch{node_.name + " writes to a tensor with too few dimensions"};
    }
    const std::vector<Batched> values = tensors();
    const Levels levels = BatchPlan::common_levels(values);
    const bool has_dimensions = tensor(rule_.argument).rank() > 0;
    spread(levels, std::max<std::size_t>(max_rank(values), 1));
    if (has_dimensions) return finish(levels);
    const Batched one = plan_.emit(node_, call(node_.target, args_), levels, with_shape(node_.meta, {1}));
    finish(plan_.emit(node_, {"aten.squeeze.dim", {one.tensor, -1}}, levels, node_.meta));
  }

  // Finds the dimension as at::_default_cross_dim does: the first of size 3.
  void cross() override {
    if (args_.integer("dim")) return equal();
    if (args_.find_argument("dim") != nullptr) throw CannotBatch{"a dimension is not known"};
    const Batched value = first();
    const auto rank = static_cast<std::int64_t>(value.rank());
    if (second().rank() != value.rank()) throw CannotBatch{node_.name + " gets tensors of several ranks"};
    for (std::int64_t i = 0; i < rank; ++i) {
      const auto size = value.shape()[static_cast<std::size_t>(i)].number();
      if (!size) break;
      if (*size != 3) continue;
      args_.set("dim", i - rank);
      return equal();
    }
    throw CannotBatch{"the dimension of " + node_.name + " is not known"};
  }

  void grid() override {
    const Argument* given = args_.find_argument("tensors");
    const auto* items = given == nullptr ? nullptr : given->get_if<Argument::List>();
    if (items == nullptr || items->items.empty()) throw CannotBatch{"a list of tensors is not known"};
    const Argument* indexing = args_.find_argument("indexing");
    const std::size_t rank = items->items.size();
    const bool swaps = rank > 1 && indexing != nullptr && *indexing == Argument("xy");
    const Levels levels = BatchPlan::common_levels(tensors());
    Argument::List aligned;
    for (std::size_t i = 0; i < rank; ++i) {
      const auto* id = items->items[i].get_if<NodeId>();
      if (id == nullptr) throw CannotBatch{"a list of tensors is not known"};
      Batched value = plan_.value(*id);
      if (value.rank() > 1) throw CannotBatch{node_.name + " gets too many dimensions"};
      if (value.rank() == 0) value = steps_.unsqueezed(value, 0);
      const std::size_t place = swaps && i < 2 ? 1 - i : i;
      for (std::size_t behind = place + 1; behind < rank; ++behind) value = steps_.unsqueezed(value, 1);
      aligned.items.emplace_back(plan_.align(node_, value, levels, rank));
    }
    finish(plan_.emit(node_, {"aten.broadcast_tensors.default", {std::move(aligned)}}, levels, node_.meta));
  }

  // The result has a[i, k] * b[j, l] at [i * J + j, k * L + l].
  void kron() override { finish(kron_of_all()); }
  Batched kron_of_all() {
    std::vector<Batched> values{first(), second()};
    const std::size_t rank = max_rank(values);
    if (rank == 0 && common_type(values)) throw CannotBatch{node_.name + " would have another dtype"};
    for (std::size_t i = 0; i < 2; ++i) {
      while (values[i].rank() < rank) values[i] = steps_.unsqueezed(values[i], 0);
      for (std::size_t dim = 0; dim < rank; ++dim) {
        values[i] = steps_.unsqueezed(values[i], 2 * dim + (i == 0 ? 1 : 0));
      }
    }
    Shape shape = broadcast_shape(values);
    Batched result = steps_.elementwise("aten.mul.Tensor", values, with_shape(node_.meta, shape));
    for (std::size_t dim = 0; dim < rank; ++dim) {
      const auto at = shape.begin() + static_cast<std::ptrdiff_t>(dim);
      *at = product({*at, *(at + 1)});
      shape.erase(at + 1);
      const auto from = static_cast<std::int64_t>(result.levels.size() + dim);
      result = plan_.emit(node_, {"aten.flatten.using_ints", {result.tensor, from, from + 1}}, result.levels,
                          with_shape(node_.meta, shape));
    }
    return result;
  }

  // The sequence and the values have the same number of dimensions, unless the sequence is one row: then
  // values may have any shape.
  void search_sorted() override { finish(search_sorted_of_all()); }
  Batched search_sorted_of_all() {
    const std::string sequence = name_at(0);
    const bool is_number = args_.formal("self").type.name != "Tensor";
    const Batched sorted = first();
    if (!is_batched(sequence) && !is_batched("sorter") && sorted.rank() == 1) {
      const Levels levels = is_number ? Levels{} : tensor("self").levels;
      replace_tensors();
      return plan_.emit(node_, call(node_.target, args_), levels, node_.meta);
    }
    Batched value = is_number ? number_for(sorted, *args_.find_argument("self")) : tensor("self");
    if (!is_number && common_type({sorted, value})) {
      throw CannotBatch{node_.name + " would compare in another dtype"};
    }
    const Shape shape = value.shape();
    if (sorted.rank() == 1 && value.rank() == 0) value = steps_.unsqueezed(value, 0);
    if (sorted.rank() == 1 && value.rank() > 1) value = steps_.flattened(value);
    if (sorted.rank() == 0 || sorted.rank() != value.rank()) {
      throw CannotBatch{node_.name + " gets tensors of several ranks"};
    }
    std::vector<Batched> all{sorted, value};
    if (args_.find_argument("sorter") != nullptr) all.push_back(tensor("sorter"));
    const Levels levels = BatchPlan::common_levels(all);
    const OperatorEntry& of_tensors = *semantics_.find_operator("aten.searchsorted.Tensor");
    NamedArguments args(of_tensors);
    args.copy(args_);
    const auto spread = [&](const Batched& one) { return plan_.spread(node_, one, levels, one.rank()); };
    args.set(sequence, spread(sorted));
    args.set("self", spread(value));
    if (all.size() > 2) args.set("sorter", spread(all[2]));
    const Batched found =
        plan_.emit(node_, call(of_tensors.target, args), levels, with_shape(node_.meta, value.shape()));
    if (value.rank() == shape.size()) return found;
    if (shape.empty()) return plan_.emit(node_, {"aten.squeeze.dim", {found.tensor, -1}}, levels, node_.meta);
    Argument::List sizes;
    for (const Meta::Dim& size : shape) {
      if (!size.number()) throw CannotBatch{"a size is not known"};
      sizes.items.emplace_back(*size.number());
    }
    return plan_.emit(node_, {"aten.unflatten.int", {found.tensor, -1, std::move(sizes)}}, levels,
                      node_.meta);
  }
  // Returns the number as a tensor without dimensions, the same for all samples.
  Batched number_for(const Batched& like, const Argument& number) {
    const Dtype dtype = like.sample.dtype;
    const bool fits = dtype && (is_floating(*dtype) || (is_integral(*dtype) && number.is<std::int64_t>()));
    if (!fits || (!number.is<std::int64_t>() && !number.is<double>())) {
      throw CannotBatch{node_.name + " compares in a dtype that is not known"};
    }
    Meta meta = with_shape(like.sample, {});
    Kwargs kwargs{{"dtype", Argument::Dtype{dtype_name(*dtype)}}};
    if (meta.device) kwargs.emplace_back("device", Argument::Device{meta.device->text()});
    return plan_.emit(node_, {"aten.scalar_tensor.default", {number}, std::move(kwargs)}, {}, meta);
  }

  void sizes_of() override {
    const Batched value = first();
    Argument::List sizes = plan_.sizes_of(value.levels);
    const Batched other = second();
    for (const Meta::Dim& dim : other.shape()) {
      if (!dim.number()) throw CannotBatch{"a size is not known"};
      sizes.items.emplace_back(*dim.number());
    }
    const std::size_t rank = rule_.target == "aten.expand.default" ? other.rank() : 0;
    const NodeId aligned = plan_.align(node_, value, value.levels, rank);
    finish(plan_.emit(node_, {std::string(rule_.target), {aligned, std::move(sizes)}}, value.levels,
                      node_.meta));
  }

  void type_of() override {
    const Levels levels = first().levels;
    replace_tensors();
    finish(levels);
  }

  // --- indices ---

  struct Indices {
    std::vector<Batched> values;
    std::size_t leading = 0;  // the number of dimensions before the first index
    // True if the indexed dimensions are adjacent: then the dimensions of the indices take their place, else
    // they come out in front.
    bool are_adjacent = true;
    bool any_batched = false;
  };
  Indices read_indices(const Argument::List& items) const {
    Indices result;
    bool has_ended = false;
    for (const Argument& item : items.items) {
      if (const auto* id = item.get_if<NodeId>()) {
        result.values.push_back(plan_.value(*id));
        const Dtype dtype = result.values.back().sample.dtype;
        if (!dtype || dtype == ScalarType::kBool || dtype == ScalarType::kUint8)
          throw CannotBatch{node_.name + " may index by a mask"};
        result.are_adjacent = result.are_adjacent && !has_ended;
        result.any_batched = result.any_batched || plan_.is_batched(*id);
      } else {
        has_ended = !result.values.empty();
        if (result.values.empty()) ++result.leading;
      }
    }
    return result;
  }

  // Plans self[items].
  Batched elements(const Batched& self, const Argument::List& items) {
    const Indices given = read_indices(items);
    std::vector<Batched> all = given.values;
    all.push_back(self);
    const Levels levels = BatchPlan::common_levels(all);
    const std::size_t rank = max_rank(given.values);
    // The batch dimensions of self are taken whole, or by position if an index varies over the batch.
    Argument::List places;
    for (const LevelNumber level : self.levels) {
      places.items.push_back(given.any_batched
                                 ? Argument(plan_.align(node_, positions(level, self), levels, rank))
                                 : Argument());
    }
    for (const Argument& item : items.items) {
      const auto* id = item.get_if<NodeId>();
      places.items.push_back(id == nullptr ? item : plan_.align(node_, plan_.value(*id), levels, rank));
    }
    BatchPlan::Call call{"aten.index.Tensor", {self.tensor, std::move(places)}};
    const bool stays = given.are_adjacent && given.leading > 0;
    if (!given.any_batched) {
      // The dimensions of the indices come out in front of those of the batch.
      if (!given.are_adjacent) return moved(std::move(call), levels, rank, levels.size(), 0);
    } else if (self.levels.empty()) {
      if (stays) return moved(std::move(call), levels, given.leading, levels.size(), 0);
    } else if (stays && rank > 0) {
      return moved(std::move(call), levels, levels.size(), rank, levels.size() + given.leading);
    }
    return plan_.emit(node_, std::move(call), levels, node_.meta);
  }
  // Moves the `count` dimensions of the call's result from `from` to `to`.
  Batched moved(BatchPlan::Call call, Levels levels, std::size_t from, std::size_t count, std::size_t to) {
    Shape shape = shape_of(plan_.meta_of_all(levels, node_.meta));
    if (std::max(from, to) + count > shape.size())
      throw CannotBatch{node_.name + " gets a tensor with too few dimensions"};
    const auto at = [&](std::size_t i) { return shape.begin() + static_cast<std::ptrdiff_t>(i); };
    if (from < to) {
      std::rotate(at(from), at(to), at(to + count));
    } else {
      std::rotate(at(to), at(to + count), at(from + count));
    }
    const NodeId found = plan_.emit(node_, std::move(call), with_shape(node_.meta, std::move(shape)));
    return plan_.emit(node_, {"aten.movedim.intlist", {found, range(from, count), range(to, count)}},
                      std::move(levels), node_.meta);
  }

  void index() override {
    const Argument* given = args_.find_argument("indices");
    const auto* items = given == nullptr ? nullptr : given->get_if<Argument::List>();
    if (items == nullptr) throw CannotBatch{"a list of indices is not known"};
    finish(elements(first(), *items));
  }

  void index_select() override {
    const Batched self = first(), index = tensor("index");
    if (index.rank() != 1 || self.rank() == 0)
      throw CannotBatch{node_.name + " gets a tensor without dimensions"};
    if (index.levels.empty()) return leading();
    const auto dim = find_position(static_cast<std::int64_t>(self.rank()), args_.integer("dim"));
    if (!dim) throw CannotBatch{"a dimension is not known"};
    Argument::List items;
    items.items.resize(*dim);
    items.items.push_back(*args_.find_argument("index"));
    finish(elements(self, items));
  }

  void embedding() override {
    if (!is_batched("weight")) return leading();
    finish(elements(first(), {{*args_.find_argument("indices")}}));
  }

  // Plans 0, 1, 2, ... along the level.
  Batched positions(LevelNumber level, const Batched& like) {
    Meta meta;
    meta.type = "Tensor";
    meta.dtype = ScalarType::kInt64;
    meta.device = like.sample.device;
    meta.shape.emplace();
    Kwargs kwargs;
    if (meta.device) kwargs.emplace_back("device", Argument::Device{meta.device->text()});
    return plan_.emit(node_, {"aten.arange.default", {plan_.size_of(level)}, std::move(kwargs)}, {level},
                      meta);
  }

  // --- products ---

  void outer() override { finish(outer_of_all()); }
  Batched outer_of_all() {
    return steps_.elementwise("aten.mul.Tensor", {steps_.unsqueezed(first(), 1), second()}, node_.meta);
  }

  void add_matmul() override {
    for (const std::string_view factor : {"beta", "alpha"}) {
      if (args_.integer(factor) != 1) throw CannotBatch{node_.name + " has factors other than 1"};
    }
    const Batched product = steps_.matmul(second(), tensor(name_at(2)), node_.meta);
    finish(steps_.elementwise("aten.add.Tensor", {product, first()}, node_.meta));
  }

  void linear() override {
    if (!is_batched("weight") && !is_batched("bias")) return leading();
    const Batched product = steps_.matmul(first(), steps_.transposed(second()), node_.meta);
    if (args_.find_argument("bias") == nullptr) return finish(product);
    finish(steps_.elementwise("aten.add.Tensor", {product, tensor("bias")}, node_.meta));
  }

  void normalize() override {
    const bool has_own_weight = is_batched("weight");
    if (!has_own_weight && !is_batched("bias")) return leading();
    const Argument* bias = args_.find_argument("bias");
    std::vector<std::pair<const char*, Batched>> after;
    if (has_own_weight) after.emplace_back("aten.mul.Tensor", tensor("weight"));
    if (bias != nullptr) after.emplace_back("aten.add.Tensor", tensor("bias"));
    if (has_own_weight) args_.set("weight", Argument());
    if (bias != nullptr) args_.set("bias", Argument());
    Batched value = first();
    args_.set(name_at(0), value.tensor);
    value = plan_.emit(node_, call(node_.target, args_), value.levels, node_.meta);
    for (const auto& [target, other] : after) value = steps_.elementwise(target, {value, other}, node_.meta);
    finish(std::move(value));
  }

  // Each level gets a letter of its own, in front.
  void einsum() override { finish(einsum_of_all()); }
  Batched einsum_of_all() {
    const Argument* given = args_.find_argument("equation");
    const auto* text = given == nullptr ? nullptr : given->get_if<std::string>();
    if (text == nullptr) throw CannotBatch{"an equation is not known"};
    const std::vector<Batched> values = tensors();
    const Levels levels = BatchPlan::common_levels(values);
    const std::optional<std::string> equation = einsum_of_batch(*text, levels, values);
    if (!equation) throw CannotBatch{"the equation of " + node_.name + " is not understood"};
    replace_tensors();
    args_.set("equation", *equation);
    return plan_.emit(node_, call(node_.target, args_), levels, node_.meta);
  }

  // --- losses ---

  static constexpr std::int64_t kNone = 0, kMean = 1;  // at::Reduction

  void loss() override {
    const auto reduction = args_.integer("reduction");
    if (!reduction) throw CannotBatch{"reduction is not known"};
    const std::vector<Batched> values = tensors();
    if (common_type(values)) throw CannotBatch{node_.name + " would have another dtype"};
    if (*reduction == kNone) return equal();
    const Levels levels = BatchPlan::common_levels(values);
    Meta each = with_shape(node_.meta, broadcast_shape(values));
    replace_tensors(
        [&](const Batched& value) { return plan_.spread(node_, value, levels, each.shape->size()); });
    args_.set("reduction", kNone);
    const Batched all = plan_.emit(node_, call(node_.target, args_), levels, std::move(each));
    finish(steps_.reduced(*reduction == kMean ? "aten.mean.dim" : "aten.sum.dim_IntList", all, node_.meta));
  }

  // The rows of all samples are rows of one call; the mean is over the rows that are not ignored.
  void cross_entropy() override {
    const auto reduction = args_.integer("reduction");
    const auto ignored = args_.integer("ignore_index");
    const std::size_t rank = second().rank();
    if (!reduction || !ignored) throw CannotBatch{"reduction or ignore_index is not known"};
    if (args_.find_argument("weight") != nullptr || rank > 1 || first().rank() != rank + 1) {
      throw CannotBatch{"there is no rule for " + node_.name + " with weights, or over several dimensions"};
    }
    const Levels levels = BatchPlan::common_levels({first(), second()});
    const Batched input = spread_to(levels, first());
    const Batched target = spread_to(levels, second());
    args_.set("self", steps_.rows(input, levels.size() + rank));
    args_.set("target", steps_.rows(target, levels.size() + rank));
    args_.set("reduction", kNone);
    Meta each = with_shape(node_.meta, target.shape());
    Argument::List sizes = plan_.sizes_of(levels);
    sizes.items.resize(levels.size() + rank, -1);
    Meta flat = with_shape(each, {product(shape_of(plan_.meta_of_all(levels, each)))});
    const NodeId losses = plan_.emit(node_, call(node_.target, args_), std::move(flat));
    Batched all = plan_.emit(node_, {"aten.view.default", {losses, std::move(sizes)}}, levels, each);
    if (*reduction == kNone) return finish(std::move(all));
    all = steps_.reduced("aten.sum.dim_IntList", all, node_.meta);
    if (*reduction != kMean) return finish(std::move(all));
    each.dtype = ScalarType::kBool;
    const Batched counts = steps_.elementwise("aten.ne.Scalar", {target}, each, {*ignored});
    Meta of_count = node_.meta;
    of_count.dtype = ScalarType::kInt64;
    const Batched count = steps_.reduced("aten.sum.dim_IntList", counts, std::move(of_count));
    finish(steps_.elementwise("aten.div.Tensor", {all, count}, node_.meta));
  }
  void dot() override { finish(steps_.dot(first(), second(), node_.meta)); }
  void matmul() override { finish(steps_.matmul(first(), second(), node_.meta)); }
  void pool() override { batch_pool(node_, info_, plan_); }
  void convolution() override { batch_convolution(node_, info_, plan_, false); }
  void transposed_convolution() override { batch_convolution(node_, info_, plan_, true); }
  void batch_norm() override { batch_batch_norm(node_, info_, plan_); }
  void group_norm() override { batch_group_norm(node_, info_, plan_); }

  Batched spread_to(const Levels& levels, const Batched& value) {
    return {plan_.spread(node_, value, levels, value.rank()), levels, value.sample};
  }

  Semantics& semantics_;
};

}  // namespace

void batch_operator(const Node& node, const OperatorEntry& info, Semantics& semantics, BatchPlan& plan) {
  OperatorCall(node, info, semantics, plan).run();
}

}  // namespace fxtrace::internal
