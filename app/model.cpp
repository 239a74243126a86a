#include "app/model.h"

#include "support/log.h"

namespace fxtrace::cli {

TraceResult& trace_file(const InputFile& input, const FileInfo& info, const Config& config,
                        const Wanted& wanted, Isolated& isolated, Console& console) {
  log::info(input.display() + " is " + info.what);
  const Listener listener = listener_of(console);
  TraceResult& result = isolated.keep(with_input(
      input, [&] { return run_front_end(input.file(), info, config.options, wanted, listener); }));
  finish_trace(result, config, listener);
  result.collection.model.file = input.base_name();
  return result;
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
