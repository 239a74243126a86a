// Plain operators on lists, tuples and dicts, and comparisons of strings, lists and other values that are
// not numbers.
#include "torchscript/operators/plain_call.h"

#include <algorithm>
#include <cstdint>
#include <locale>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "opinfo/values/list_changes.h"

namespace fxtrace::internal::torchscript {
namespace {

// --- lists ---

std::int64_t size_of(const ListValue& list) { return std::ssize(list.items); }

std::size_t position_in(const ListValue& list, std::int64_t index) {
  const auto place = find_position(size_of(list), index);
  if (!place) throw Raised("list index out of range");
  return *place;
}

Value append(Arguments arguments) {
  list_argument(arguments, 0).items.push_back(argument(arguments, 1));
  return arguments[0];
}

void insert(Arguments arguments, ResultValues& /*results*/) {
  insert_item(list_argument(arguments, 0).items, int_argument(arguments, 1), argument(arguments, 2));
}

void extend(Arguments arguments, ResultValues& /*results*/) {
  append_items(list_argument(arguments, 0).items, list_argument(arguments, 1).items);
}

Value pop(Arguments arguments) {
  ListValue& list = list_argument(arguments, 0);
  if (list.items.empty()) throw Raised("pop from empty list");
  return take_item(list.items, position_in(list, int_argument(arguments, 1)));
}

void delete_item(Arguments arguments, ResultValues& /*results*/) {
  ListValue& list = list_argument(arguments, 0);
  if (list.items.empty()) throw Raised("pop index out of range");
  take_item(list.items, position_in(list, int_argument(arguments, 1)));
}

void reverse(Arguments arguments, ResultValues& /*results*/) {
  std::ranges::reverse(list_argument(arguments, 0).items);
}

void clear(Arguments arguments, ResultValues& /*results*/) { list_argument(arguments, 0).items.clear(); }

Value copy_list(Arguments arguments) {
  const ListValue& list = list_argument(arguments, 0);
  return make_list(list.element_type, list.items);
}

Value add_texts(Arguments arguments) { return text_argument(arguments, 0) + text_argument(arguments, 1); }

Value add(Arguments arguments) {
  Value result = copy_list(arguments);
  append_items(result.to_list().items, list_argument(arguments, 1).items);
  return result;
}

Value add_in_place(Arguments arguments) {
  append_items(list_argument(arguments, 0).items, list_argument(arguments, 1).items);
  return arguments[0];
}

void repeat(ListValue& list, const std::vector<Value>& items, std::int64_t times) {
  if (items.empty()) return;
  for (std::int64_t i = 0; i < times; ++i) list.items.insert(list.items.end(), items.begin(), items.end());
}

// Throws what LibTorch's request of memory for `size` elements throws; negative sizes are large ones there.
void check_reserve(std::uint64_t size) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 59;
  if (size >= kMost) throw Raised("vector::reserve");
  if (size > kMaxPlainSize) throw Raised("a list of too many elements", RefusalKind::kLimit);
}

Value multiply(Arguments arguments) {
  const std::size_t at = argument(arguments, 0).is_list() ? 0 : 1;
  const ListValue& list = list_argument(arguments, at);
  Value result = make_list(list.element_type);
  const std::int64_t times = int_argument(arguments, 1 - at);
  check_reserve(bits(times) * list.items.size());
  repeat(result.to_list(), list.items, times);
  return result;
}

Value multiply_in_place(Arguments arguments) {
  ListValue& list = list_argument(arguments, 0);
  const std::int64_t times = int_argument(arguments, 1);
  if (times <= 0) {
    list.items.clear();
  } else {
    const std::vector<Value> items = list.items;
    repeat(list, items, times - 1);
  }
  return arguments[0];
}

Value item_of_list(Arguments arguments) {
  const ListValue& list = list_argument(arguments, 0);
  return list.items[position_in(list, int_argument(arguments, 1))];
}

Value set_item_of_list(Arguments arguments) {
  ListValue& list = list_argument(arguments, 0);
  list.items[position_in(list, int_argument(arguments, 1))] = argument(arguments, 2);
  return arguments[0];
}

Value slice(Arguments arguments) {
  const ListValue& list = list_argument(arguments, 0);
  std::vector<Value> items;
  for_each_position(slice_argument(arguments, list.items.size()),
                    [&](std::size_t place) { items.push_back(list.items[place]); });
  return make_list(list.element_type, std::move(items));
}

std::size_t find_in(const ListValue& list, const Value& wanted) {
  const auto found = std::ranges::find_if(list.items, [&](const Value& item) { return equal(item, wanted); });
  return static_cast<std::size_t>(found - list.items.begin());
}

void remove(Arguments arguments, ResultValues& /*results*/) {
  ListValue& list = list_argument(arguments, 0);
  const std::size_t place = find_in(list, argument(arguments, 1));
  if (place == list.items.size()) throw Raised("list.remove(x): x not in list");
  list.items.erase(list.items.begin() + static_cast<std::ptrdiff_t>(place));
}

// Returns the text of a value as C++ streams print it.
std::string text_of_item(const Value& value) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  if (value.is_bool()) {
    out << value.to_bool();
  } else if (value.is_double()) {
    out << value.to_double();
  } else {
    print(out, value);
  }
  return out.str();
}

Value index(Arguments arguments) {
  const ListValue& list = list_argument(arguments, 0);
  const std::size_t place = find_in(list, argument(arguments, 1));
  if (place == list.items.size()) throw Raised("'" + text_of_item(arguments[1]) + "' is not in list");
  return static_cast<std::int64_t>(place);
}

Value count(Arguments arguments) {
  return std::int64_t{std::ranges::count_if(list_argument(arguments, 0).items, [&](const Value& item) {
    return equal(item, argument(arguments, 1));
  })};
}

// Compares by LibTorch's order.  Values with NaN, which have none, do not come here (plain_call.cpp).
bool is_before(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) not_supported("values of different types are sorted");
  switch (a.kind()) {
    case ValueTag::kBool:
      return !a.to_bool() && b.to_bool();
    case ValueTag::kInt:
      return a.to_int() < b.to_int();
    case ValueTag::kDouble:
      return a.to_double() < b.to_double();
    case ValueTag::kString:
      return a.to_string() < b.to_string();
    case ValueTag::kTuple: {
      const auto &x = a.items(), &y = b.items();
      if (x.size() != y.size()) not_supported("tuples of different sizes are sorted");
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (!equal(x[i], y[i])) return is_before(x[i], y[i]);
      }
      return false;
    }
    default:
      not_supported("values that have no order are sorted");
  }
}

// Uses std::sort, which is not stable, as LibTorch does: equal elements end in the same order as there.
void sort_items(std::vector<Value>& items, bool backwards) {
  std::sort(items.begin(), items.end(), [backwards](const Value& a, const Value& b) {
    if (equal(a, b)) return false;
    return is_before(a, b) != backwards;
  });
}

bool is_sortable(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kBool:
    case TypeKind::kFloat:
    case TypeKind::kInt:
    case TypeKind::kString:
    case TypeKind::kTensor:
      return true;
    case TypeKind::kTuple:
      return std::ranges::all_of(type.contained_types(),
                                 [](const TypePtr& part) { return is_sortable(*part); });
    default:
      return false;
  }
}

void check_sortable(const ListValue& list) {
  const Type& type = *list.element_type;
  if (list.items.empty() || is_sortable(type)) return;
  if (type.kind() == TypeKind::kClass) not_supported("objects are sorted");
  constexpr const char* kOthers =
      "a User Defined Class that defines the __lt__ compare method or Tuples of aforementioned types";
  if (type.kind() != TypeKind::kTuple) {
    throw Raised(std::string("Only list of Tensors, ints, floats, bools, strs, ") + kOthers +
                 " can be sorted, got list of " + type.repr_str());
  }
  throw Raised(
      "Contained elements in " + type.str() +
      " are not sortable. Only Int, Bool, Float, String, Tensor, a User Defined Class with __lt__ method "
      "defined or Tuples of aforementioned types can be sorted.");
}

void sort(Arguments arguments, ResultValues& /*results*/) {
  ListValue& list = list_argument(arguments, 0);
  check_sortable(list);
  std::vector<Value> items = list.items;  // the list is unchanged when sorting throws
  sort_items(items, bool_argument(arguments, 1));
  list.items = std::move(items);
}

Value sorted(Arguments arguments) {
  check_sortable(list_argument(arguments, 0));
  Value result = copy_list(arguments);
  sort_items(result.to_list().items, false);
  return result;
}

Value size(Arguments arguments) {
  const Value& value = argument(arguments, 0);
  if (value.is_string()) return static_cast<std::int64_t>(value.to_string().size());
  if (value.is_dict()) return static_cast<std::int64_t>(value.to_dict().size());
  return size_of(list_argument(arguments, 0));
}

Value numbers_below(Arguments arguments) {
  check_reserve(bits(int_argument(arguments, 0)));
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < int_argument(arguments, 0); ++i) numbers.push_back(i);
  return make_int_list(numbers);
}

Value same_list(Arguments arguments) {
  list_argument(arguments, 0);
  return arguments[0];
}

Value item_of_tuple(Arguments arguments) {
  if (!argument(arguments, 0).is_tuple()) not_supported("an argument is not a tuple");
  const auto& items = arguments[0].items();
  const auto place = find_position(std::ssize(items), int_argument(arguments, 1));
  if (!place) throw Raised("Tuple index out of range");
  return items[*place];
}

// --- comparisons of values that are not numbers ---

Value are_equal(Arguments arguments) { return equal(argument(arguments, 0), argument(arguments, 1)); }
Value are_unequal(Arguments arguments) { return !equal(argument(arguments, 0), argument(arguments, 1)); }

template <class Compare>
Value ordered(Arguments arguments) {
  return Compare{}(text_argument(arguments, 0).compare(text_argument(arguments, 1)), 0);
}

// Returns the larger or smaller of two lists by the first items that differ, or else by size.
template <bool Largest>
Value extreme_list(Arguments arguments) {
  const auto &a = list_argument(arguments, 0).items, &b = list_argument(arguments, 1).items;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (!equal(a[i], b[i]))
      return arguments[(Largest ? is_before(b[i], a[i]) : is_before(a[i], b[i])) ? 0 : 1];
  }
  return arguments[(Largest ? a.size() > b.size() : a.size() < b.size()) ? 0 : 1];
}

Value any_text(Arguments arguments) {
  return std::ranges::any_of(list_argument(arguments, 0).items,
                             [](const Value& item) { return !item.to_string().empty(); });
}

// --- dicts ---

const Value& key_argument(Arguments arguments) {
  const Value& key = argument(arguments, 1);
  if (!DictValue::may_be_key(key)) not_supported("a value cannot be the key of a dict");
  return key;
}

Raised no_such(const Value& key) { return Raised("KeyError: " + printed(key)); }

Value item_of_dict(Arguments arguments) {
  const Value* found = dict_argument(arguments, 0).find(key_argument(arguments));
  if (found == nullptr) throw no_such(arguments[1]);
  return *found;
}

void set_item_of_dict(Arguments arguments, ResultValues& /*results*/) {
  dict_argument(arguments, 0).set(key_argument(arguments), argument(arguments, 2));
}

Value pop_of_dict(Arguments arguments) {
  DictValue& dict = dict_argument(arguments, 0);
  const Value* found = dict.find(key_argument(arguments));
  if (found == nullptr) {
    if (arguments.size() > 2) return arguments[2];
    throw no_such(arguments[1]);
  }
  Value taken = *found;
  dict.erase(arguments[1]);
  return taken;
}

void delete_item_of_dict(Arguments arguments, ResultValues& /*results*/) {
  if (!dict_argument(arguments, 0).erase(key_argument(arguments))) throw no_such(arguments[1]);
}

void clear_dict(Arguments arguments, ResultValues& /*results*/) { dict_argument(arguments, 0).clear(); }

Value copy_dict(Arguments arguments) { return dict_argument(arguments, 0).copy(); }

template <bool Keys, bool Values>
Value parts_of_dict(Arguments arguments) {
  const DictValue& dict = dict_argument(arguments, 0);
  std::vector<Value> items;
  items.reserve(dict.size());
  for (const DictValue::Entry& entry : dict.entries()) {
    items.push_back(Keys && Values ? make_tuple({entry.key, entry.value}) : Keys ? entry.key : entry.value);
  }
  const TypePtr type = Keys && Values ? tuple_type({dict.key_type, dict.value_type})
                       : Keys         ? dict.key_type
                                      : dict.value_type;
  return make_list(type, std::move(items));
}

void update(Arguments arguments, ResultValues& /*results*/) {
  DictValue& dict = dict_argument(arguments, 0);
  const std::vector<DictValue::Entry> added = dict_argument(arguments, 1).entries();
  for (const DictValue::Entry& entry : added) dict.set(entry.key, entry.value);
}

Value get(Arguments arguments) {
  const Value* found = dict_argument(arguments, 0).find(key_argument(arguments));
  if (found != nullptr) return *found;
  return arguments.size() > 2 ? arguments[2] : Value();
}

Value set_default(Arguments arguments) {
  DictValue& dict = dict_argument(arguments, 0);
  const Value* found = dict.find(key_argument(arguments));
  if (found != nullptr) return *found;
  dict.set(arguments[1], argument(arguments, 2));
  return arguments[2];
}

// Removes and returns the oldest entry, as LibTorch does.
Value pop_entry(Arguments arguments) {
  DictValue& dict = dict_argument(arguments, 0);
  if (dict.size() == 0) throw Raised("popitem(): dictionary is empty");
  const DictValue::Entry first = dict.entries()[0];
  dict.erase(first.key);
  return make_tuple({first.key, first.value});
}

// Makes a dict from another dict, or from a list of pairs.
Value make_dict(Arguments arguments) {
  if (arguments.empty()) return make_counted<DictValue>(string_type(), tensor_type());
  if (argument(arguments, 0).is_dict()) return copy_dict(arguments);
  const ListValue& pairs = list_argument(arguments, 0);
  const auto* type = pairs.element_type->as<TupleType>();
  if (type == nullptr || type->items().size() != 2) not_supported("dict() expects a list of pairs");
  auto dict = make_counted<DictValue>(type->items()[0], type->items()[1]);
  for (const Value& pair : pairs.items) {
    if (!pair.is_tuple() || pair.items().size() != 2 || !DictValue::may_be_key(pair.items()[0]))
      not_supported("dict() expects a list of pairs");
    dict->set(pair.items()[0], pair.items()[1]);
  }
  return dict;
}

Value contains(Arguments arguments) {
  if (argument(arguments, 0).is_dict()) {
    return arguments[0].to_dict().find(key_argument(arguments)) != nullptr;
  }
  const ListValue& list = list_argument(arguments, 0);
  return find_in(list, argument(arguments, 1)) != list.items.size();
}

constexpr PlainRow kContainerOperators[] = {
    {"aten::append.t", gives<append>},
    {"aten::insert.t", insert},
    {"aten::extend.t", extend},
    {"aten::pop.t", gives<pop>},
    {"aten::pop", gives<pop_of_dict>},
    {"aten::reverse.t", reverse},
    {"aten::clear.t", clear},
    {"aten::clear", clear_dict},
    {"aten::copy.t aten::list.t", gives<copy_list>},
    {"aten::copy", gives<copy_dict>},
    {"aten::add.str", gives<add_texts>},
    {"aten::add.t", gives<add>},
    {"aten::add_.t", gives<add_in_place>},
    {"aten::mul.left_t aten::mul.right_", gives<multiply>},
    {"aten::mul_.t", gives<multiply_in_place>},
    {"aten::__getitem__.t aten::select.t", gives<item_of_list>},
    {"aten::__getitem__", gives<item_of_dict>},
    {"aten::_set_item.t", gives<set_item_of_list>},
    {"aten::_set_item", set_item_of_dict},
    {"aten::Delete.t", delete_item},
    {"aten::Delete", delete_item_of_dict},
    {"aten::slice.t", gives<slice>},
    {"aten::eq.bool_list aten::eq.device aten::eq.enum aten::eq.float_list aten::eq.int_list aten::eq.str "
     "aten::eq.str_list",
     gives<are_equal>},
    {"aten::ne.bool_list aten::ne.device aten::ne.enum aten::ne.float_list aten::ne.int_list aten::ne.str "
     "aten::ne.str_list",
     gives<are_unequal>},
    {"aten::lt.str", gives<ordered<std::less<>>>},
    {"aten::le.str", gives<ordered<std::less_equal<>>>},
    {"aten::gt.str", gives<ordered<std::greater<>>>},
    {"aten::ge.str", gives<ordered<std::greater_equal<>>>},
    {"prim::min.bool_list prim::min.float_list prim::min.int_list", gives<extreme_list<false>>},
    {"prim::max.bool_list prim::max.float_list prim::max.int_list", gives<extreme_list<true>>},
    {"aten::any.str", gives<any_text>},
    {"aten::remove", remove},
    {"aten::index", gives<index>},
    {"aten::count.bool aten::count.float aten::count.int aten::count.str", gives<count>},
    {"aten::sort", sort},
    {"aten::sorted", gives<sorted>},
    {"aten::len", gives<size>},
    {"aten::Size", gives<same_list>},
    {"prim::rangelist", gives<numbers_below>},
    {"prim::TupleIndex", gives<item_of_tuple>},
    {"aten::keys", gives<parts_of_dict<true, false>>},
    {"aten::values", gives<parts_of_dict<false, true>>},
    {"aten::items", gives<parts_of_dict<true, true>>},
    {"aten::update", update},
    {"aten::get", gives<get>},
    {"aten::setdefault", gives<set_default>},
    {"aten::popitem", gives<pop_entry>},
    {"aten::dict", gives<make_dict>},
    {"aten::__contains__", gives<contains>},
};

}  // namespace

PlainTable container_operators() { return kContainerOperators; }

}  // namespace fxtrace::internal::torchscript
