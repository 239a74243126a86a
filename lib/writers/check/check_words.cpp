#include "writers/check/check_words.h"

#include <algorithm>
#include <vector>

#include "graph/analysis/text_form.h"
#include "support/text/columns.h"
#include "support/text/printable.h"
#include "support/text/qualified_name.h"
#include "support/text/utf8.h"
#include "support/text/words.h"

namespace fxtrace::internal::check_words {
namespace {

constexpr std::size_t kMostNames = 3;  // names that are listed in full

// Returns "a, b, c"; for more names "a … f (6 modules)".
std::string list(const std::vector<std::string>& names, const char* what) {
  if (names.size() <= kMostNames) return joined(names, short_line);
  return short_line(names.front()) + " … " + short_line(names.back()) + " (" +
         with_separators(static_cast<std::int64_t>(names.size())) + " " + what + ")";
}

// Returns the rules with a count above 0: "deny aten.item.* (2)".
template <class Count>
std::string counted_rules(const CheckReport& report, Count count_of) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < report.rules.size(); ++i) {
    if (const auto count = count_of(i); count > 0)
      names.push_back(short_line(report.rules[i].name) + " (" + std::to_string(count) + ")");
  }
  return joined(names);
}

}  // namespace

std::string headline(const CheckReport& report) {
  std::int64_t broken = 0;
  for (std::size_t i = 0; i < report.rules.size(); ++i) broken += report.count(i) > 0 ? 1 : 0;
  const auto count = static_cast<std::int64_t>(report.rules.size());
  const std::string file = short_line(report.path) + ": ";
  if (count == 0) return file + "no rule to check";
  const std::size_t known = report.count_known();
  const std::string known_text = known == 0 ? "" : ", " + known_offences(known);
  if (broken == 0 && known > 0) return file + "no new offence" + known_text;
  if (broken == 0)
    return file + (count == 1 ? "the rule holds" : "all " + with_separators(count) + " rules hold");
  const std::string of = " of " + with_separators(count) + (count == 1 ? " rule" : " rules");
  const std::string text =
      file + with_separators(broken) + of + (broken == 1 ? " does not hold" : " do not hold") + known_text;
  return report.holds() ? text + ", warnings only" : text;
}

std::string rule(const Rule& rule) {
  constexpr std::string_view kNo = "no ";
  const bool says_it = rule.text == rule.name ||
                       (rule.kind == RuleKind::kDeny && rule.name.ends_with(rule.text.substr(kNo.size())));
  return short_line(rule.name) + (says_it ? "" : ": " + short_line(rule.text));
}

std::vector<const Offence*> new_offences(const CheckReport& report, std::size_t rule) {
  std::vector<const Offence*> offences;
  for (const Offence& offence : report.offences) {
    if (offence.rule == rule && !offence.is_known) offences.push_back(&offence);
  }
  return offences;
}

std::string places(const Offence& offence) {
  // Places are in the order of the model, those of one module together.
  std::vector<std::string> modules, nodes, records;
  for (const OffencePlace& place : offence.places) {
    if (!place.module) {
      if (!place.record.empty()) records.push_back(place.record);
      continue;
    }
    const std::string path = path_text(*place.module);
    if (modules.empty() || modules.back() != path) modules.push_back(path);
    if (place.node) nodes.push_back(*place.node);
  }
  if (!records.empty()) return list(records, "records");
  const std::string text = list(modules, "modules");
  if (modules.size() != 1 || nodes.empty()) return text;
  std::vector<std::string> marked;
  for (const std::string& node : nodes) marked.push_back("%" + node);
  return text + ": " + list(marked, "nodes");
}

std::string source(const Offence& offence) {
  if (!offence.source) return "";
  SourceLocation source = *offence.source;
  source.file = source_file(source);
  return short_line(place_text(source));
}

std::string source_file(const SourceLocation& source) {
  const std::string& file = source.file;
  if (!file.starts_with('/')) return file;
  // The file of an installed package is given by its path in the package.
  for (const std::string_view packages : {"/site-packages/", "/dist-packages/"}) {
    if (const std::size_t at = file.rfind(packages); at != std::string::npos)
      return file.substr(at + packages.size());
  }
  return file.substr(file.rfind('/') + 1);
}

std::string rules_that_hold(const CheckReport& report) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < report.rules.size(); ++i) {
    if (report.count(i) + report.count_known(i) == 0) names.push_back(short_line(report.rules[i].name));
  }
  return joined(names);
}

std::string known_offences(std::size_t count) {
  return counted(static_cast<std::int64_t>(count), "known offence");
}

std::string known_rules(const CheckReport& report) {
  return counted_rules(report, [&](std::size_t rule) { return report.count_known(rule); });
}

std::string gone_rules(const CheckReport& report) {
  return counted_rules(report, [&](std::size_t rule) {
    return std::ranges::count(report.gone, report.rules[rule].name, &GoneOffence::rule);
  });
}

}  // namespace fxtrace::internal::check_words
