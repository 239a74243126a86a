#include "support/name_pattern.h"

#include "support/log.h"
#include "support/shell_word.h"

namespace fxtrace {

void NamePattern::tell() const {
  log::info(shell_quoted(text_) + " is no name as it stands: it means names that end in it, as '**." + text_ +
            "' does");
}

}  // namespace fxtrace
