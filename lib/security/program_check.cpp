#include "security/program_check.h"

#include "exported/format/inert_texts.h"
#include "operators/names/operator_reach.h"
#include "support/error.h"
#include "support/text/identifier.h"
#include "support/text/printable.h"

namespace fxtrace::internal::security {
namespace {

SecurityKind kind_of(TextFault::Kind kind) {
  switch (kind) {
    case TextFault::Kind::kRuns:
      return SecurityKind::kCode;
    case TextFault::Kind::kCosts:
      return SecurityKind::kSize;
    case TextFault::Kind::kLeads:
      return SecurityKind::kPath;
    case TextFault::Kind::kUnclear:
      break;
  }
  return SecurityKind::kUnknown;
}

// Reports what the operators that a program calls touch, and the libraries that it needs.
void operators(const JsonValue& value, std::string_view key, const Tell& tell) {
  if (value.is_object()) {
    for (const JsonValue field : value.fields()) operators(field, field.key(), tell);
  } else if (value.is_array()) {
    for (const JsonValue item : value.items()) operators(item, key, tell);
  } else if (value.is_string()) {
    constexpr std::string_view kClass = "__torch__.torch.classes.";
    const std::string_view text = value.string();
    if (key == "target" || key == "as_operator") check_reach(text, tell);
    if (text.starts_with(kClass) && is_dotted_name(text))
      tell(SecurityKind::kLibrary, std::string(text), "it needs " + std::string(text));
  }
}

}  // namespace

void check_program(const JsonValue& program, const Tell& tell) {
  check_texts(program, [&](const TextFault& fault) {
    tell(kind_of(fault.kind), short_line(fault.text), fault.place + ": " + fault.why);
  });
  operators(program, {}, tell);
}

void check_reach(std::string_view target, const Tell& tell) {
  constexpr std::string_view kOperators = "torch.ops.", kHigherOrder = "higher_order.";
  if (!target.starts_with(kOperators) || problem_of_target_text(target)) return;
  const std::string_view path = target.substr(kOperators.size());
  std::string_view reach;
  if (path.starts_with(kHigherOrder)) {
    reach = higher_order_reach(path.substr(kHigherOrder.size()));
  } else {
    const std::size_t dot = path.find('.');
    std::string name = std::string(path.substr(0, dot)) + "::" + std::string(path.substr(dot + 1));
    if (name.ends_with(".default")) name.resize(name.size() - std::string_view(".default").size());
    reach = operator_reach(name);
    // The overload is not reported.
    const std::string named(path.substr(0, path.find('.', dot + 1)));
    tell(SecurityKind::kLibrary, named, "it needs " + named);
  }
  if (!reach.empty())
    tell(SecurityKind::kCode, short_line(target),
         "it calls " + short_line(target) + ", which touches " + std::string(reach));
}

std::map<std::string, Payload, std::less<>> read_payloads(const JsonValue& config, const Tell& tell) {
  std::map<std::string, Payload, std::less<>> payloads;
  check_program(config, tell);
  for (const JsonValue item : config.at("config").fields()) {
    const std::string path(item.at("path_name").string());
    Payload payload;
    if (const auto pickled = item.find("use_pickle")) payload.is_pickled = pickled->boolean();
    payload.is_tensor = item.find("tensor_meta").has_value();
    const auto [place, is_new] = payloads.emplace(path, payload);
    // Tied tensors share a record, which is unpickled if one of them says so.
    if (!is_new) place->second.is_pickled |= payload.is_pickled;
  }
  return payloads;
}

}  // namespace fxtrace::internal::security
