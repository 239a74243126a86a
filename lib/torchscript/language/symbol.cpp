#include "torchscript/language/symbol.h"

#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>

namespace fxtrace::internal::torchscript {
namespace {

class Table {
 public:
  Table() {
#define FXTRACE_SYMBOL(name, text) add(text);
#include "torchscript/language/symbols.inc"
#undef FXTRACE_SYMBOL
  }

  Symbol find_or_add(std::string_view name) {
    const std::scoped_lock lock(mutex_);
    const auto found = numbers_.find(name);
    return found != numbers_.end() ? found->second : add(name);
  }

  std::string_view text(Symbol symbol) {
    const std::scoped_lock lock(mutex_);
    return texts_[static_cast<std::size_t>(symbol)];
  }

 private:
  Symbol add(std::string_view name) {
    const auto symbol = static_cast<Symbol>(texts_.size());
    texts_.emplace_back(name);
    numbers_.emplace(texts_.back(), symbol);
    return symbol;
  }

  std::mutex mutex_;
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, Symbol> numbers_;
};

Table& table() {
  static Table instance;
  return instance;
}

}  // namespace

Symbol intern(std::string_view name) { return table().find_or_add(name); }
std::string_view to_text(Symbol symbol) { return table().text(symbol); }

}  // namespace fxtrace::internal::torchscript
