// The undo log: changes of lists and dicts are rolled back, one nested section after the other.
#include "interpreter/state/changes.h"
#include "catch.h"
#include "torchscript/language/types.h"
#include "trace/options/options.h"

using namespace fxtrace::internal;
using namespace fxtrace::internal::interpreter;

namespace {

void append(Changes& changes, const Value& list, int item) {
  changes.remember(list);
  list.to_list().items.emplace_back(item);
}

}  // namespace

TEST_CASE("a list is as it was at each mark") {
  Budget budget{Limits(), 0};
  Changes changes(budget);
  const Value list = make_list(int_type(), {1});
  append(changes, list, 2);
  append(changes, list, 3);

  const auto inner = changes.mark();
  const auto outer_stretch = changes.begin_stretch(inner);
  append(changes, list, 4);
  CHECK(list.items().size() == 4);
  changes.undo_to(inner);
  CHECK(list.items().size() == 3);
  append(changes, list, 5);  // the inner section again: recorded anew
  changes.undo_to(inner);
  CHECK(list.items().size() == 3);
  changes.begin_stretch(outer_stretch);

  changes.undo_to(0);
  REQUIRE(list.items().size() == 1);
  CHECK(list.items()[0].to_int() == 1);
}

TEST_CASE("what is kept stays, and later changes are taken back to it") {
  Budget budget{Limits(), 0};
  Changes changes(budget);
  const auto dict = make_counted<DictValue>(string_type(), int_type());
  const Value value(dict);
  changes.remember(value);
  dict->set("a", 1);
  changes.commit();
  changes.undo_to(0);
  CHECK(dict->size() == 1);
  changes.remember(value);
  dict->set("b", 2);
  changes.undo_to(0);
  CHECK(dict->size() == 1);
  CHECK(dict->find("a") != nullptr);
}
