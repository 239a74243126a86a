#include "support/text/name_pattern.h"

#include "support/log.h"
#include "support/text/shell_word.h"

namespace fxtrace::internal {

void NamePattern::report_last_part() const {
  log::info(shell_quoted(text_) + " matches no whole name: it means names that end in it, as '**." + text_ +
            "' does");
}

}  // namespace fxtrace::internal
