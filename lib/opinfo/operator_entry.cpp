#include "opinfo/operator_entry.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>

#include "support/text/numbers.h"

namespace fxtrace::internal {
namespace {

constexpr OperatorFacts kNoFacts;

// Returns whether the operator writes a keyword-only argument, one after "*,": `out`.
bool writes_out(const Operator& op) {
  const std::string_view arguments = op.signature.substr(0, op.signature.rfind(" -> "));
  const std::size_t named = arguments.find("*, ");
  return named != std::string_view::npos && arguments.find('!', named) != std::string_view::npos;
}

OperatorEntry make_entry(const Operator& op) {
  OperatorEntry entry;
  entry.row = &op;
  entry.name = op.base_name();
  entry.target = op.target();
  entry.schema = op.schema();
  entry.traits = table_traits(op);
  entry.aliases = find_aliases(op, entry.schema);
  entry.twin = functional_twin(op);
  for (const SchemaArgument& argument : entry.schema.arguments)
    entry.defaults.push_back(default_value(argument.default_value.value_or("")));
  const OperatorFacts& of_name = facts_of(entry.name);
  const OperatorFacts& all = writes_out(op) ? kNoFacts : of_name;
  const OperatorFacts* found = facts_of_overload(op);
  const OperatorFacts& own = found != nullptr ? *found : kNoFacts;
  entry.shape = of_name.shape;
  entry.renamed = of_name.renamed;
  entry.macs = find_cost_rule(op);
  entry.counted = find_counted(op);
  entry.value = own.value != nullptr ? own.value : all.value;
  entry.batch = own.batch.empty() ? all.batch : own.batch;
  if (entry.batch.empty() && (entry.traits & traits::kPointwise) != 0) entry.batch = kBroadcast;
  if (entry.batch.empty() && all.forms != nullptr)
    entry.batch = batching_by_signature(*all.forms, entry.schema);
  entry.sizes = own.sizes.empty() ? all.sizes : own.sizes;
  entry.identity = own.identity.empty() ? all.identity : own.identity;
  entry.inverse = own.inverse.empty() ? all.inverse : own.inverse;
  return entry;
}

// Returns the entry of the operator at a position of its table, and makes it if there is none.  Threads may
// make the same entry; the first one stays.
template <class Table>
const OperatorEntry& entry_in(Table& entries, std::size_t position, const Operator& op) {
  std::atomic<const OperatorEntry*>& place = entries[position];
  if (const OperatorEntry* known = place.load(std::memory_order_acquire)) return *known;
  auto made = std::make_unique<const OperatorEntry>(make_entry(op));
  const OperatorEntry* expected = nullptr;
  if (!place.compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel)) return *expected;
  return *made.release();
}

// Reads a default value of a schema.  What cannot be read is an unknown value.
class DefaultReader {
 public:
  explicit DefaultReader(std::string_view text) : text_(text) {}

  AbstractValue whole() {
    AbstractValue result = value(0);
    return next() == '\0' ? result : AbstractValue();
  }

 private:
  static constexpr int kMaxDepth = 16;

  // Returns the next character but spaces; NUL at the end.
  char next() {
    text_.remove_prefix(std::min(text_.find_first_not_of(' '), text_.size()));
    return text_.empty() ? '\0' : text_.front();
  }
  char take() {
    const char c = text_.front();
    text_.remove_prefix(1);
    return c;
  }

  AbstractValue value(int depth) {
    const char first = next();
    if (depth > kMaxDepth) return {};
    if (first == '"' || first == '\'') return string();
    if (first == '[' || first == '(') return items(depth);
    const std::string_view word = text_.substr(0, text_.find_first_of(" ,])"));
    text_.remove_prefix(word.size());
    return plain(word);
  }

  AbstractValue items(int depth) {
    const char last = take() == '[' ? ']' : ')';
    AbstractValue::Sequence items;
    while (next() != last) {
      if (!items.empty() && take() != ',') return {};
      items.push_back(value(depth + 1));
      if (next() != last && next() != ',') return {};
    }
    take();
    return {std::move(items)};
  }

  AbstractValue string() {
    const char quote = take();
    std::string result;
    while (!text_.empty() && text_.front() != quote) {
      char c = take();
      if (c == '\\' && !text_.empty()) {
        static constexpr std::string_view kLetters = "abfnrtv", kMeant = "\a\b\f\n\r\t\v";
        c = take();
        if (const auto at = kLetters.find(c); at != std::string_view::npos) c = kMeant[at];
      }
      result += c;
    }
    if (text_.empty()) return {};
    take();
    return {std::move(result)};
  }

  static AbstractValue plain(std::string_view word) {
    if (word == "None") return {NoneValue{}};
    if (word == "True" || word == "False") return {word == "True"};
    if (const auto integer = number_in<std::int64_t>(word)) return {SymInt(*integer)};
    if (const auto number = number_in<double>(word)) return {*number};
    static constexpr std::array<std::pair<std::string_view, std::int64_t>, 6> kNamesOfTorch{
        {{"contiguous_format", kContiguousFormat},
         {"preserve_format", 1},
         {"strided", kStridedLayout},
         {"Mean", 1},
         {"Sum", 2},
         {"long", 4}}};
    const auto* const named =
        std::ranges::find(kNamesOfTorch, word, [](const auto& row) { return row.first; });
    return named == kNamesOfTorch.end() ? AbstractValue() : AbstractValue{SymInt(named->second)};
  }

  std::string_view text_;
};

}  // namespace

AbstractValue default_value(std::string_view text) { return DefaultReader(text).whole(); }

const OperatorEntry& entry_of(const Operator& op) {
  // Never freed, as the entries are not: threads may still ask while the process ends.
  using Entries = std::vector<std::atomic<const OperatorEntry*>>;
  static Entries& registered = *new Entries(registered_operators().size());
  static Entries& extensions = *new Entries(extension_operators().size());
  const std::span<const Operator> rows = registered_operators();
  const bool is_registered =
      std::greater_equal<>{}(&op, rows.data()) && std::less<>{}(&op, rows.data() + rows.size());
  if (is_registered) return entry_in(registered, static_cast<std::size_t>(&op - rows.data()), op);
  return entry_in(extensions, static_cast<std::size_t>(&op - extension_operators().data()), op);
}

OperatorEntry declared_entry(std::string name, Schema schema) {
  OperatorEntry entry;
  entry.name = std::move(name);
  entry.defaults.resize(schema.arguments.size());
  entry.schema = std::move(schema);
  return entry;
}

Traits table_traits(const Operator& op) { return op.registered | facts_of(op.base_name()).traits; }
Traits traits_of(const Operator* op) { return op != nullptr ? entry_of(*op).traits : 0; }

bool may_write(const Operator* op) {
  const Traits all = traits_of(op);
  return (all & traits::kKnown) == 0 || (all & traits::kHiddenWrite) != 0 ||
         op->signature.find('!') !=
             std::string_view::npos;  // a "!" occurs in aliases that are written, and nowhere else
}

bool is_pure(const Operator* op) {
  return !may_write(op) && (traits_of(op) & (traits::kSideEffect | traits::kRandom | traits::kAsserts)) == 0;
}

}  // namespace fxtrace::internal
