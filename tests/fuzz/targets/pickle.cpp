// Fuzz target: pickles.
#include <string>

#include "archive/pickle_machine.h"
#include "tests/fuzz/targets.h"

namespace fxtrace::internal::fuzz {

void pickle(std::string_view input) {
  constexpr std::size_t kMaxOpcodes = 100'000;
  constexpr std::size_t kMaxName = 50;
  PickleMachine machine(input);
  machine.run(kMaxOpcodes);
  require(machine.position() <= input.size(), "the position is in the pickle");
  const auto exists = [&](PickleMachine::Id id) { return id < machine.value_count(); };
  for (PickleMachine::Id id = 0; exists(id); ++id) {
    for (const PickleMachine::Id part : machine.parts(id)) require(exists(part), "parts are values");
    for (const auto& [key, value] : machine.items(id))
      require(exists(key) && exists(value), "items are values");
    require(machine.global_name(id, kMaxName).size() <= 2 * kMaxName + 1, "names are cut");
    machine.is_global(id, "torch", "FloatStorage");
  }
  if (const auto result = machine.find_result()) require(exists(*result), "the result is a value");

  const PickleScan scan = scan_pickle(input);
  require(scan.end <= input.size(), "the end is in the pickle");
  require(!describe(scan).empty(), "there is a description");
}

}  // namespace fxtrace::internal::fuzz
