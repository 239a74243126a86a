#include "interpreter/state/changes.h"

#include "interpreter/state/structure.h"

namespace fxtrace::internal::interpreter {

void Changes::remember(const Value& container) {
  const void* identity = container.identity();
  const auto known = remembered_.find(identity);
  if (known != remembered_.end() && known->second >= stretch_) return;
  budget_.spend(container.is_list() ? container.items().size() : container.to_dict().size());
  remembered_[identity] = mark();
  add([this, identity, container, before = copy_of(container)] {
    set_content(container, before);
    remembered_.erase(identity);
  });
}

}  // namespace fxtrace::internal::interpreter
