// Devices, and what a model takes on one.
#include <algorithm>

#include "fxtrace/report_values.h"
#include "summaries/model_summary.h"
#include "support/error.h"
#include "support/integers.h"
#include "support/json_document.h"
#include "support/json_fields.h"
#include "support/text/did_you_mean.h"
#include "support/text/words.h"

namespace fxtrace {

namespace internal {
namespace {

double read_positive(const JsonValue& value) {
  const double number = value.number();
  if (!(number > 0) || number > 1e24) value.fail("expected a positive number");
  return number;
}

Accelerator read_row(const JsonValue& row) {
  check_keys(row, {"name", "other_names", "title", "source", "note", "memory_bytes", "bandwidth", "peaks"},
             "key of a device");
  Accelerator device;
  device.name = read_string(row.at("name"));
  if (const auto names = row.find("other_names")) {
    for_each_string(*names, [&](JsonValue, const std::string& name) { device.other_names.push_back(name); });
  }
  device.title = read_string(row.at("title"));
  device.source = read_string(row.at("source"));
  if (const auto note = row.find("note")) read_string(*note);
  device.memory_bytes = read_integer(row.at("memory_bytes"), 1);
  device.bandwidth = read_positive(row.at("bandwidth"));
  for (const JsonValue peak : object_fields(row.at("peaks"), "an object of dtypes"))
    device.peaks[std::string(peak.key())] = read_positive(peak);
  return device;
}

}  // namespace
}  // namespace internal

std::optional<double> Accelerator::peak(std::string_view dtype) const {
  std::string_view kind = dtype;
  if (kind.starts_with("float8_")) kind = "float8";
  if (kind == "qint8" || kind == "quint8" || kind == "uint8") kind = "int8";
  if (kind == "complex64") kind = "float32";
  if (kind == "complex128") kind = "float64";
  const auto found = peaks.find(std::string(kind));
  return found == peaks.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Accelerator> Accelerator::of_json(std::string_view text, const std::string& file) {
  using namespace internal;
  const JsonDocument document(text, file, {.error = ErrorKind::kUsage, .strict = true});
  check_document(document.root(), "fxtrace.devices", {"devices"}, "key of a table of devices");
  std::vector<Accelerator> devices;
  for (const JsonValue row : array_items(document.root().at("devices"), "an array of devices"))
    devices.push_back(read_row(row));
  if (devices.empty()) document.root().at("devices").fail("expected a device");
  return devices;
}

const std::vector<Accelerator>& Accelerator::shipped() {
  static const std::vector<Accelerator> devices = of_json(internal::devices_text(), "devices.json");
  return devices;
}

const Accelerator& Accelerator::named(const std::string& name) {
  using namespace internal;
  std::vector<std::string> names, known;
  for (const Accelerator& device : shipped()) {
    if (device.name == name || std::ranges::count(device.other_names, name) > 0) return device;
    names.push_back(device.name);
    known.push_back(device.name);
    known.insert(known.end(), device.other_names.begin(), device.other_names.end());
  }
  throw usage_error(
      "--on: there is no device " + shell_quoted(name) + did_you_mean(name, known),
      {"devices: " + joined(names),
       "or a file with one, of the form that fxtrace schema devices shows: --on ./device.json"});
}

std::int64_t DeviceFit::needed_bytes() const {
  std::int64_t bytes = weight_bytes;
  internal::add_saturated(bytes, activation_bytes.value_or(0));
  return bytes;
}

std::optional<bool> DeviceFit::fits() const {
  if (needed_bytes() > device.memory_bytes) return false;
  return activation_bytes ? std::optional(true) : std::nullopt;
}

namespace internal {

void place_on(ModelSummary& summary, const Accelerator& device) {
  DeviceFit& fit = summary.fit.emplace();
  fit.device = device;
  fit.sizes = example_sizes(summary).sizes;
  const auto value = [&](const std::optional<SymInt>& size) {
    return size ? size->evaluate(fit.sizes) : std::nullopt;
  };
  for (const TensorTotal& total : {summary.parameters, summary.buffers, summary.constants})
    add_saturated(fit.weight_bytes, total.bytes);
  fit.activation_bytes = summary.peak_bytes ? value(summary.peak_bytes) : summary.example_peak;
  fit.cache_bytes = summary.cache_buffers;
  for (const auto& part : {summary.cache_inputs, summary.cache_outputs})
    add_saturated(fit.cache_bytes, value(part).value_or(0));
  for (SummaryRow& row : summary.rows) {
    std::optional<double> compute = 0;
    for (const auto& [dtype, macs] : row.macs_by_dtype) {
      const auto peak = device.peak(dtype);
      const auto number = value(macs);
      if (!peak) fit.unknown_dtypes.insert(dtype);
      if (compute && peak && number)
        *compute += 2 * static_cast<double>(*number) / *peak;
      else
        compute.reset();
    }
    double bytes = 0;
    for (const auto& part : {row.inputs_read, row.weights_read, row.activation_bytes})
      bytes += static_cast<double>(value(part).value_or(0));
    if (row.macs && compute) row.least = LeastTime{*compute, bytes / device.bandwidth};
  }
}

}  // namespace internal

}  // namespace fxtrace
