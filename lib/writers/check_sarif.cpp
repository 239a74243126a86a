#include <string>
#include <string_view>
#include <vector>

#include "support/json_emitter.h"
#include "support/printable.h"
#include "support/qualified_name.h"
#include "support/remove_repeated.h"
#include "writers/check_words.h"
#include "writers/check_writers.h"

namespace fxtrace {
namespace {

// A file as a reference relative to the repository, or as an absolute one.
std::string uri_of(std::string_view path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          std::string_view("-._~/").find(c) != std::string_view::npos;
    const auto byte = static_cast<unsigned char>(c);
    uri += is_plain ? std::string(1, c) : std::string{'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return uri.empty() ? "%2D" : uri;
}

// Braces and brackets are markup in SARIF's messages.
std::string message_of(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '{' || c == '}') result += c;
    if (c == '[' || c == ']' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

void write_message(JsonEmitter& json, std::string_view key, const std::string& text) {
  json.key(key).object([&] { json.field("text", message_of(text)); });
}

void write_sarif_rule(JsonEmitter& json, const Rule& rule) {
  json.field("id", short_line(rule.name));
  write_message(json, "shortDescription", short_line(rule.text));
  if (rule.message) write_message(json, "help", short_line(*rule.message));
  json.key("defaultConfiguration").object([&] { json.field("level", to_string(rule.severity)); });
}

// Each once, as SARIF wants them: nodes of two graphs may have the same module and name.
void write_logical_locations(JsonEmitter& json, std::vector<OffencePlace> places) {
  for (OffencePlace& place : places) place.graph.reset();
  remove_repeated(places);
  json.key("logicalLocations").objects(places, [&](const OffencePlace& place) {
    json.field("fullyQualifiedName", place.record ? *place.record : path_text(place.module));
    if (place.node) json.field("name", *place.node);
    json.field("kind", place.record ? "resource" : "module");
  });
}

void write_location(JsonEmitter& json, const CheckReport& report, const Offence& offence) {
  json.object([&] {
    json.key("physicalLocation").object([&] {
      const bool has_source = offence.source && !offence.source->file.empty();
      json.key("artifactLocation").object([&] {
        json.field("uri", uri_of(has_source ? offence.source->file : report.model.file));
      });
      if (!has_source || offence.source->line <= 0) return;
      json.key("region").object([&] {
        json.field("startLine", offence.source->line);
        if (!offence.source->text.empty())
          json.key("snippet").object([&] { json.field("text", offence.source->text); });
      });
    });
    if (!offence.places.empty()) write_logical_locations(json, offence.places);
  });
}

void write_result(JsonEmitter& json, const CheckReport& report, const Offence& offence) {
  const Rule& rule = report.rules[offence.rule];
  json.field("ruleId", short_line(rule.name));
  json.field("ruleIndex", offence.rule);
  json.field("level", to_string(rule.severity));
  std::string text = short_line(offence.message);
  if (const std::string places = check_words::places(offence); !places.empty()) text += " (" + places + ")";
  if (rule.message) text += ". " + short_line(*rule.message);
  write_message(json, "message", text);
  json.key("locations");
  json.open('[');
  json.item();
  write_location(json, report, offence);
  json.close(']');
  json.key("properties").object([&] {
    json.field("model", report.model.file);
    json.field("undecided", offence.is_undecided);
  });
}

}  // namespace

void write_check_sarif(const CheckReport& report, std::ostream& out) {
  JsonEmitter json(out);
  json.document([&] {
    json.field("$schema",
               "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json");
    json.field("version", "2.1.0");
    json.key("runs");
    json.open_lines('[');
    json.item();
    json.object_lines([&] {
      json.key("tool").object_lines([&] {
        json.key("driver").object_lines([&] {
          json.field("name", "fxtrace");
          json.field("version", FXTRACE_VERSION);
          json.key("rules").objects_lines(report.rules,
                                          [&](const Rule& rule) { write_sarif_rule(json, rule); });
        });
      });
      json.key("results").objects_lines(report.offences,
                                        [&](const Offence& offence) { write_result(json, report, offence); });
    });
    json.close(']');
  });
}

}  // namespace fxtrace
