// The answer of `fxtrace check` as SARIF 2.1.0, for GitHub's code scanning.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "support/json_emitter.h"
#include "support/repeated.h"
#include "support/text/numbers.h"
#include "support/text/qualified_name.h"
#include "support/text/unicode.h"
#include "support/text/words.h"
#include "writers/check/check_writers.h"
#include "writers/formats/markup_text.h"

namespace fxtrace::internal {
namespace {

// Returns a path as a URI reference relative to the repository, without a scheme and percent-encoded, as
// GitHub expects it.
std::string uri_of(std::string_view path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string uri;
  for (const char c : path) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          std::string_view("-._~/").find(c) != std::string_view::npos;
    const auto byte = static_cast<unsigned char>(c);
    uri += is_plain ? std::string(1, c) : std::string{'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return uri;
}

// Returns the given path relative to the current folder, where GitHub's jobs have the repository.  A file
// outside of it is given by its name alone, so that no folder of the machine is disclosed.
std::string uri_of_model(const std::string& given) {
  const std::filesystem::path path = path_from_here(given);
  const bool is_outside = path.empty() || path.is_absolute() || *path.begin() == "..";
  return uri_of(is_outside ? std::filesystem::path(given).filename().string() : path.string());
}

std::string uri_of_source(const SourceLocation& source) {
  const std::string file = check_words::source_file(source);
  const std::filesystem::path path = std::filesystem::path(file).lexically_normal();
  return uri_of(path.empty() || *path.begin() == ".." ? path.filename().string() : path.string());
}

// Escapes braces and brackets, which are markup in SARIF's messages.
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

// The rules of all models that share an id.
struct SarifRule {
  const Rule* first = nullptr;
  bool is_error = false;                     // one of them
  std::vector<std::string> texts, messages;  // each once

  void add(const Rule& rule) {
    if (first == nullptr) first = &rule;
    is_error = is_error || rule.severity == Severity::kError;
    const auto add_new = [](std::vector<std::string>& all, const std::string& text) {
      if (std::ranges::find(all, text) == all.end()) all.push_back(text);
    };
    add_new(texts, short_line(rule.text));
    if (rule.message) add_new(messages, short_line(*rule.message));
  }
};

// The address of the repository whose pages help links lead to; empty in a build that does not know it.
constexpr std::string_view kRepository = FXTRACE_REPOSITORY;  // NOLINT: a macro

void write_sarif_rule(JsonEmitter& json, const SarifRule& rule) {
  const RuleClass& about = class_of(*rule.first);
  const std::string page = "docs/how-to/check.md#" + std::string(heading_of(about));
  json.field("id", rule.first->id);
  write_message(json, "shortDescription", short_line(title_of(*rule.first)));
  write_message(json, "fullDescription", short_line(joined(rule.texts, std::identity(), "; ")));
  std::vector<std::string> help = rule.messages;
  help.push_back("See " + page);
  write_message(json, "help", joined(help, std::identity(), ". "));
  if (!kRepository.empty())
    json.field("helpUri", std::string(kRepository) + "/blob/v" FXTRACE_VERSION "/" + page);
  json.key("defaultConfiguration").object([&] { json.field("level", rule.is_error ? "error" : "warning"); });
  json.key("properties").object([&] {
    std::vector<std::string> tags = {about.category};
    if (*about.weakness != '\0') tags.push_back("external/cwe/" + std::string(about.weakness));
    json.field("tags", tags);
    if (*about.security_severity != '\0') json.field("security-severity", about.security_severity);
  });
}

// Writes each location once, as SARIF requires: nodes of two graphs may have the same module and name.
void write_logical_locations(JsonEmitter& json, std::vector<OffencePlace> places) {
  for (OffencePlace& place : places) place.graph.reset();
  remove_repeated(places);
  json.key("logicalLocations").objects(places, [&](const OffencePlace& place) {
    json.field("fullyQualifiedName", place.module ? path_text(*place.module) : place.record);
    if (place.node) json.field("name", *place.node);
    json.field("kind", place.module ? "module" : "resource");
  });
}

void write_physical_location(JsonEmitter& json, const std::string& uri, std::int64_t line,
                             const std::string& text = "") {
  json.key("physicalLocation").object([&] {
    json.key("artifactLocation").object([&] { json.field("uri", uri); });
    json.key("region").object([&] {
      json.field("startLine", line);
      if (!text.empty()) json.key("snippet").object([&] { json.field("text", text); });
    });
  });
}

// Returns a hash that is the same in every run, whatever other offences there are: GitHub tells new offences
// by it, as a binary file has no lines.
std::string fingerprint(const CheckReport& report, const Offence& offence) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    hash = (hash ^ 0xFF) * 0x100000001b3ULL;
  };
  add(report.rules[offence.rule].name);
  add(offence.message);
  if (offence.source) add(offence.source->text);  // not the line number, which moves
  for (const OffencePlace& place : offence.places) {
    add(place.module.value_or(""));
    add(place.record);
  }
  return hexadecimal(hash) + ":1";
}

void write_result(JsonEmitter& json, const CheckReport& report, const Offence& offence, std::size_t index) {
  const Rule& rule = report.rules[offence.rule];
  json.field("ruleId", rule.id);
  json.field("ruleIndex", index);
  json.field("level", to_string(rule.severity));
  std::string text = short_line(offence.message);
  if (const std::string places = check_words::places(offence); !places.empty()) text += " (" + places + ")";
  if (rule.message) text += ". " + short_line(*rule.message);
  text = message_of(text);
  const bool has_source = offence.source && !offence.source->file.empty();
  const std::int64_t line = has_source ? std::max<std::int64_t>(offence.source->line, 1) : 1;
  if (has_source) {  // a link to the related location
    const std::string name = check_words::source_file(*offence.source) + ":" + std::to_string(line);
    text += " at [" + message_of(short_line(name)) + "](1)";
  }
  json.key("message").object([&] { json.field("text", text); });
  json.key("locations").objects(std::array{&report}, [&](const CheckReport* model) {
    write_physical_location(json, uri_of_model(model->path), 1);
    if (!offence.places.empty()) write_logical_locations(json, offence.places);
  });
  if (has_source) {
    json.key("relatedLocations").objects(std::array{&*offence.source}, [&](const SourceLocation* source) {
      json.field("id", 1);
      write_physical_location(json, uri_of_source(*source), line, source->text);
      write_message(json, "message", source->function.empty() ? "source" : short_line(source->function));
    });
  }
  json.key("partialFingerprints").object([&] {
    json.field("primaryLocationLineHash", fingerprint(report, offence));
  });
  if (report.has_baseline) json.field("baselineState", offence.is_known ? "unchanged" : "new");
  if (offence.is_known) {
    json.key("suppressions").objects(std::array{"external"}, [&](const char* kind) {
      json.field("kind", kind);
      json.field("status", "accepted");
    });
  }
  json.key("properties").object([&] {
    json.field("model", report.model.file);
    json.field("rule", rule.name);
    json.field("undecided", offence.is_undecided);
  });
}

void write_invocation(JsonEmitter& json, const CheckReports& reports) {
  json.field("executionSuccessful", reports.unread.empty());
  if (reports.unread.empty()) return;
  json.key("toolExecutionNotifications")
      .objects_lines(reports.unread, [&](const CheckReports::Unread& unread) {
        json.field("level", "error");
        write_message(json, "message", short_line(unread.message));
        json.key("locations").objects(std::array{&unread.path}, [&](const std::string* path) {
          write_physical_location(json, uri_of_model(*path), 1);
        });
      });
}

}  // namespace

void write_check_sarif(const CheckReports& reports, std::ostream& out) {
  std::vector<SarifRule> rules;
  std::unordered_map<std::string, std::size_t> indices;  // by id
  for (const CheckReport& report : reports.models) {
    for (const Rule& rule : report.rules) {
      const std::size_t index = indices.try_emplace(rule.id, rules.size()).first->second;
      if (index == rules.size()) rules.emplace_back();
      rules[index].add(rule);
    }
  }
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
          if (!kRepository.empty()) json.field("informationUri", kRepository);
          json.key("rules").objects_lines(rules,
                                          [&](const SarifRule& rule) { write_sarif_rule(json, rule); });
        });
      });
      json.key("invocations").objects(std::array{&reports}, [&](const CheckReports* all) {
        write_invocation(json, *all);
      });
      json.key("results");
      json.open_lines('[');
      for (const CheckReport& report : reports.models) {
        for (const Offence& offence : report.offences) {
          json.item();
          json.object(
              [&] { write_result(json, report, offence, indices.at(report.rules[offence.rule].id)); });
        }
      }
      json.close(']');
    });
    json.close(']');
  });
}

// The answer of `fxtrace check` as JUnit's XML.

namespace {

// Returns text of printable characters, for elements and attributes.
std::string xml_text(std::string_view text) {
  std::string result;
  for_each_printable(text, result, "\\", [&](std::string_view bytes, char32_t c) {
    switch (c) {
      case '&':
      case '<':
      case '>':
        result += entity_of(c);
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      case 0xFFFE:  // forbidden in XML
      case 0xFFFF:
        result += escaped(c);
        break;
      default:
        result += bytes;
    }
  });
  return result;
}

std::string attribute(const char* name, std::string_view text) {
  return std::string(" ") + name + "=\"" + xml_text(text) + "\"";
}

// Writes a line for each offence.
void write_offences(const std::vector<const Offence*>& offences, std::size_t known, std::ostream& out) {
  for (const Offence* offence : offences) {
    out << xml_text(short_line(offence->message));
    for (const std::string& more : {check_words::places(*offence), check_words::source(*offence)}) {
      if (!more.empty()) out << "; " << xml_text(more);
    }
    out << "\n";
  }
  if (known > 0) out << check_words::known_offences(known) << "\n";
}

// Returns whether all offences against the rule are known.
bool is_skipped(const CheckReport& report, std::size_t rule) {
  return report.count(rule) == 0 && report.count_known(rule) > 0;
}

// The counts of a test suite.
struct Counts {
  std::size_t tests = 0, failures = 0, errors = 0, skipped = 0;

  std::string attributes() const {
    return attribute("tests", std::to_string(tests)) + attribute("failures", std::to_string(failures)) +
           attribute("errors", std::to_string(errors)) +
           (skipped == 0 ? "" : attribute("skipped", std::to_string(skipped)));
  }
};

Counts counts_of(const CheckReport& report) {
  Counts counts{.tests = report.rules.size()};
  for (std::size_t rule = 0; rule < report.rules.size(); ++rule) {
    counts.failures += report.rules[rule].severity == Severity::kError && report.count(rule) > 0 ? 1 : 0;
    counts.skipped += is_skipped(report, rule) ? 1 : 0;
  }
  return counts;
}

void write_suite(const CheckReport& report, std::ostream& out) {
  out << "  <testsuite" << attribute("name", report.path) << counts_of(report).attributes() << ">\n";
  for (std::size_t index = 0; index < report.rules.size(); ++index) {
    const Rule& rule = report.rules[index];
    out << "    <testcase" << attribute("classname", report.path) << attribute("name", rule.name);
    const auto offences = check_words::new_offences(report, index);
    const std::size_t known = report.count_known(index);
    if (offences.empty() && known == 0) {
      out << "/>\n";
      continue;
    }
    out << ">\n";
    if (offences.empty()) {
      out << "      <skipped" << attribute("message", check_words::known_offences(known)) << "/>\n";
    } else if (rule.severity == Severity::kError) {
      const std::string message = rule.message ? short_line(*rule.message) : check_words::rule(rule);
      out << "      <failure" << attribute("type", offences.front()->is_undecided ? "undecided" : "offence")
          << attribute("message", message) << ">";
      write_offences(offences, known, out);
      out << "</failure>\n";
    } else {
      out << "      <system-out>";
      write_offences(offences, known, out);
      out << "</system-out>\n";
    }
    out << "    </testcase>\n";
  }
  out << "  </testsuite>\n";
}

void write_unread(const CheckReports::Unread& unread, std::ostream& out) {
  out << "  <testsuite" << attribute("name", unread.path) << Counts{.tests = 1, .errors = 1}.attributes()
      << ">\n    <testcase" << attribute("classname", unread.path) << attribute("name", "read")
      << ">\n      <error" << attribute("type", "unread") << attribute("message", unread.message)
      << "/>\n    </testcase>\n  </testsuite>\n";
}

}  // namespace

void write_check_junit(const CheckReports& reports, std::ostream& out) {
  Counts all{.tests = reports.unread.size(), .errors = reports.unread.size()};
  for (const CheckReport& report : reports.models) {
    const Counts counts = counts_of(report);
    all.tests += counts.tests;
    all.failures += counts.failures;
    all.skipped += counts.skipped;
  }
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" << attribute("name", "fxtrace check")
      << all.attributes() << ">\n";
  for (const CheckReport& report : reports.models) write_suite(report, out);
  for (const CheckReports::Unread& unread : reports.unread) write_unread(unread, out);
  out << "</testsuites>\n";
}

}  // namespace fxtrace::internal
