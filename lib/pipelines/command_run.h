// What the work of a command reports and keeps while it runs, in whichever process that is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "fxtrace/error.h"
#include "fxtrace/listener.h"

namespace fxtrace::internal {

// The code that runs, for the diagnosis of a crash.
enum class Stage { kFxtrace, kLoadLibTorch, kLoadOperators, kRunModel };

// Returns the listener with functions that ignore what the others do not receive.
inline Listener filled(Listener listener) {
  for (auto* receive :
       {&listener.progress, &listener.warning, &listener.note, &listener.hint, &listener.status}) {
    if (!*receive) *receive = Listener::ignore;
  }
  return listener;
}

class Run {
 public:
  static constexpr std::size_t kAllFiles = SIZE_MAX;

  // `process_ends` says that the process ends after the work, so that memory need not be freed.
  explicit Run(Listener listener, bool process_ends = false)
      : listener_(filled(std::move(listener))), process_ends_(process_ends) {}
  virtual ~Run() = default;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const Listener& listener() const { return listener_; }

  // --- the progress, for a supervisor of the process ---

  virtual void begins(Stage /*stage*/) {}
  // Called when no more files will be opened.  `runs_model` says that operators of LibTorch will run, which
  // may generate code.
  virtual void all_is_open(bool /*runs_model*/) {}
  // Says which of the input files is read from here on: 0 is the first, as at the beginning.
  virtual void reads(std::size_t /*file*/) {}

  // --- the result ---

  // Notes that the work did not do something that a strict configuration asks for.
  virtual void fail_strict(const Error& /*what*/) { failed_strict_ = true; }
  bool has_failed_strict() const { return failed_strict_; }

  // Keeps an object until the end of this, or of the process: destroying a large graph takes as long as
  // building it.
  template <class T>
  T& keep_alive(T value) {
    auto kept = std::make_unique<T>(std::move(value));
    if (process_ends_) return *kept.release();
    T& result = *kept;
    kept_.emplace_back(std::move(kept));
    return result;
  }

 private:
  Listener listener_;
  bool process_ends_;
  bool failed_strict_ = false;
  std::vector<std::shared_ptr<void>> kept_;
};

}  // namespace fxtrace::internal
