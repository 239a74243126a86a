#include "rules/check_reports.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "support/json_fields.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {
namespace {

class ReportReader : public FieldReader<ReportReader> {
 public:
  static constexpr std::tuple kLast{RuleKind::kSecurity, Severity::kWarning};

  CheckReport report(const JsonValue& root) {
    CheckReport report;
    std::vector<std::int64_t> amounts;
    object(root, [&] {
      describe(*this, report);
      field("amounts", amounts);
      field("unknown", report.unknown);
    });
    if (amounts.size() != report.offences.size()) root.at("amounts").fail("expected one of each offence");
    for (std::size_t i = 0; i < amounts.size(); ++i) report.offences[i].amount = amounts[i];
    for (const CheckReport::Unknown& unknown : report.unknown) {
      if (unknown.rule >= report.rules.size())
        root.at("unknown").fail("the rule of the name is not among the rules");
    }
    return report;
  }
};

}  // namespace

CheckReport read_check_report(const std::string& text, const std::string& name) {
  const JsonDocument document(text, name);
  return ReportReader().report(document.root());
}

namespace {

constexpr JsonRules kBaselineRules{ErrorKind::kUsage, 32, true};
constexpr const char* kFormat = "fxtrace.check_baseline";

std::optional<std::string> find_string(const JsonValue& object, std::string_view key) {
  const auto value = object.find_or_null(key);
  return value ? std::optional(std::string(value->string())) : std::nullopt;
}

KnownOffence read_known_offence(const JsonValue& value) {
  object_fields(value, "an offence: an object");
  check_keys(value, {"model", "rule", "subject", "undecided", "module", "record", "count"},
             "key of an offence");
  KnownOffence offence;
  offence.model = read_string(value.at("model"));
  offence.rule = read_string(value.at("rule"));
  offence.subject = find_string(value, "subject").value_or("");
  if (const auto undecided = value.find_or_null("undecided")) offence.is_undecided = read_boolean(*undecided);
  offence.module = find_string(value, "module");
  offence.record = find_string(value, "record");
  if (offence.module && offence.record) value.fail("expected 'module' or 'record', got both");
  return offence;
}

// Calls visit(offence, place, amount) for each place, or once without a place if it is about the whole model.
template <class Visit>
void for_each_known(const CheckReport& report, const Offence& offence, const Visit& visit) {
  const Rule& rule = report.rules[offence.rule];
  const bool is_of_file = rule.kind == RuleKind::kSecurity || rule.kind == RuleKind::kProgram ||
                          rule.kind == RuleKind::kVerifyContent;
  KnownOffence known{path_from_here(report.path), rule.name, offence.subject, offence.is_undecided, {}, {}};
  if (known.subject.empty() && is_of_file) known.subject = without_numbers(offence.message);
  if (offence.places.empty()) visit(known, nullptr, offence.amount);
  for (const OffencePlace& place : offence.places) {
    known.module = place.module;
    known.record = place.module ? std::nullopt : std::optional(place.record);
    visit(known, &place, std::int64_t{1});
  }
}

std::map<KnownOffence, std::int64_t> counts_of(const CheckReport& report) {
  std::map<KnownOffence, std::int64_t> counts;
  for (const Offence& offence : report.offences) {
    for_each_known(report, offence, [&](const KnownOffence& known, const OffencePlace*, std::int64_t amount) {
      counts[known] += amount;
    });
  }
  return counts;
}

// Calls visit for the offences of one model, which are adjacent in the map.
template <class Visit>
void for_each_of(const Baseline& baseline, const std::string& model, const Visit& visit) {
  const KnownOffence first{.model = model, .rule = "", .subject = "", .module = {}, .record = {}};
  for (auto at = baseline.offences.lower_bound(first);
       at != baseline.offences.end() && at->first.model == model; ++at) {
    visit(at->first, at->second);
  }
}

}  // namespace

Baseline read_baseline(std::string_view text, const std::string& file) {
  const JsonDocument document(text, file, kBaselineRules);
  const JsonValue root = document.root();
  object_fields(root, "an object, as check --write-baseline writes it");
  const auto format = root.find("format");
  if (!format || !format->is_string() || format->string() != kFormat)
    root.fail("not a baseline: 'format' is not " + std::string(kFormat));
  check_document(root, kFormat, {"rules", "offences"}, "key of a baseline");
  static_cast<void>(root.at("version"));
  Baseline baseline;
  for (const JsonValue item : array_items(root.at("rules"), "an array of rules")) {
    object_fields(item, "a rule: an object");
    check_keys(item, {"name", "text"}, "key of a rule");
    baseline.rules[read_string(item.at("name"))] = read_string(item.at("text"));
  }
  for (const JsonValue item : array_items(root.at("offences"), "an array of offences")) {
    KnownOffence offence = read_known_offence(item);
    if (!baseline.rules.contains(offence.rule))
      item.fail("the rule of this offence is not among the rules of the baseline");
    const std::int64_t count = read_integer(item.at("count"), 0);
    // A merge of two versions of a file can leave an offence twice.
    if (!baseline.offences.emplace(std::move(offence), count).second) item.fail("this offence appears twice");
  }
  return baseline;
}

void check_is_for(const Baseline& baseline, const std::vector<Rule>& rules, const std::string& file) {
  for (const auto& [name, text] : baseline.rules) {
    const auto rule = std::ranges::find(rules, name, &Rule::name);
    if (rule != rules.end() && rule->text == text) continue;
    const std::string what = "this baseline has offences of the rule '" + name + "'";
    throw usage_error(rule == rules.end()
                          ? what + ", which is not checked"
                          : what + ", which asked for '" + text + "' and now asks for '" + rule->text + "'",
                      {"--write-baseline with all models writes one for these rules"})
        .at(file);
  }
}

void apply_baseline(const Baseline& baseline, CheckReport& report) {
  report.has_baseline = true;
  const auto counts = counts_of(report);
  const auto is_known = [&](const KnownOffence& offence) {
    const auto known = baseline.offences.find(offence);
    return known != baseline.offences.end() && counts.at(offence) <= known->second;
  };
  std::vector<Offence> offences;
  for (Offence& offence : report.offences) {
    std::vector<OffencePlace> known_places, new_places;
    bool is_all_known = true;
    for_each_known(report, offence, [&](const KnownOffence& known, const OffencePlace* place, std::int64_t) {
      const bool is = is_known(known);
      is_all_known = is_all_known && is;
      if (place != nullptr) (is ? known_places : new_places).push_back(*place);
    });
    offence.is_known = is_all_known;
    if (!known_places.empty() && !new_places.empty()) {
      Offence known = offence;
      known.is_known = true;
      known.places = std::move(known_places);
      offence.places = std::move(new_places);
      offences.push_back(std::move(known));
    }
    offences.push_back(std::move(offence));
  }
  report.offences = std::move(offences);

  for_each_of(baseline, path_from_here(report.path), [&](const KnownOffence& known, std::int64_t count) {
    const bool is_asked = std::ranges::find(report.rules, known.rule, &Rule::name) != report.rules.end();
    const auto found = counts.find(known);
    const std::int64_t now = found == counts.end() ? 0 : found->second;
    if (is_asked && now < count)
      report.gone.push_back(
          {known.rule, known.subject, known.is_undecided, known.module, known.record, count, now});
  });
}

Baseline baseline_of(const std::vector<CheckReport>& reports, const Baseline& before,
                     const std::vector<Rule>& rules, const std::string& file,
                     const std::function<bool(const std::string& model)>& is_there) {
  Baseline result;
  std::set<std::string> models;
  for (const CheckReport& report : reports) models.insert(path_from_here(report.path));
  for (const std::string& model : models_of(before)) {
    if (models.contains(model) || !is_there(model)) continue;
    for_each_of(before, model, [&](const KnownOffence& known, std::int64_t count) {
      result.offences.emplace(known, count);
      result.rules[known.rule] = before.rules.at(known.rule);
    });
  }
  check_is_for(result, rules, file);
  for (const CheckReport& report : reports) {
    for (const auto& [known, count] : counts_of(report)) {
      // A model that is given twice has its offences once.
      result.offences[known] = count;
      const auto rule = std::ranges::find(report.rules, known.rule, &Rule::name);
      result.rules[known.rule] = rule->text;
    }
  }
  return result;
}

std::vector<std::string> models_of(const Baseline& baseline) {
  std::vector<std::string> models;
  for (const auto& [offence, count] : baseline.offences) {
    if (models.empty() || models.back() != offence.model) models.push_back(offence.model);
  }
  return models;
}

std::string path_from_here(const std::string& given) {
  const std::filesystem::path path = std::filesystem::path(given).lexically_normal();
  if (!path.is_absolute()) return path.string();
  std::error_code failed;
  const auto relative = path.lexically_relative(std::filesystem::current_path(failed));
  return relative.empty() || *relative.begin() == ".." ? path.string() : relative.string();
}

}  // namespace fxtrace::internal
