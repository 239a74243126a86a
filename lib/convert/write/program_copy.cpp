#include "convert/write/program_copy.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fxtrace::internal {

ProgramRecords copy_program(const ExportedProgram& program, bool example_inputs,
                            std::vector<Refusal>& refusals) {
  const auto refuse = [&](const std::string& what, std::string why) {
    refusals.push_back({.what = what, .why = std::move(why)});
  };
  ProgramRecords records;  // has the name that torch.export.load looks for
  records.json = program.archive().json(program.name());
  const std::string examples = program.archive().example_inputs_record(program.name());
  if (example_inputs && program.archive().has(examples))
    records.example_inputs = program.archive().storage(examples);

  const std::map<std::string, TensorRecord> tensors = program.archive().tensors(program.name());
  struct Lifted {
    bool is_constant = false;
    std::string device;
  };
  std::unordered_map<std::string, Lifted> lifted;  // by qualified name
  const ProgramView graph = program.graph();
  const std::vector<NodeId> inputs = graph.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const GraphSignature::Entry& entry = checked_at(program.signature().inputs, i, "inputs in the signature");
    if (!entry.target) continue;
    if (entry.role == SignatureRole::kCustomObject)
      refuse(*entry.target, "it is an object of a C++ class, which is pickled");
    else if (!tensors.contains(*entry.target))
      refuse(*entry.target, "the archive has no tensor of that name");
    const bool is_constant = entry.role == SignatureRole::kConstantTensor || !entry.persistent.value_or(true);
    lifted[*entry.target] = {is_constant, graph.meta(inputs[i]).device_or_cpu().text()};
  }
  std::vector<const std::pair<const std::string, TensorRecord>*> in_order;
  for (const auto& each : tensors) in_order.push_back(&each);
  std::ranges::sort(in_order, {}, [](const auto* each) { return each->second.position; });
  for (const auto* each : in_order) {
    const auto& [name, tensor] = *each;
    if (tensor.is_pickled) {
      refuse(name, "it is a tensor of a subclass, which is pickled");
      continue;
    }
    const auto found = lifted.find(name);
    const Lifted as = found == lifted.end() ? Lifted{false, "cpu"} : found->second;
    const std::string record = tensor.storage_name();
    (as.is_constant ? records.constants : records.weights)
        .push_back({name,
                    tensor.is_parameter,
                    tensor.requires_grad,
                    tensor.dtype,
                    as.device,
                    tensor.sizes,
                    tensor.strides,
                    tensor.offset,
                    record,
                    {}});
  }
  return records;
}

}  // namespace fxtrace::internal
