#include "app/model.h"

#include "support/log.h"

namespace fxtrace::cli {

TraceResult& trace_file(const InputFile& input, const FileInfo& info, const Config& config,
                        const Wanted& wanted, Isolated& isolated, Console& console) {
  log::info(input.display() + " is " + info.what);
  try {
    return isolated.keep(
        fxtrace::trace_file(input.file(), info, input.base_name(), config, wanted, listener_of(console)));
  } catch (const Error& error) {
    if (error.place().empty()) throw;
    throw input.with_display(error);
  }
}

GraphCollection read_collection_file(const InputFile& input, Console& console) {
  return with_input(input, [&] {
    return fxtrace::read_collection_file(input.file(), input.display(), listener_of(console));
  });
}

Listener listener_of(Console& console) {
  return {log::info, [&](const std::string& text) { console.warning(text); },
          [&](const std::string& text) { console.remark("note", text); }};
}

}  // namespace fxtrace::cli
