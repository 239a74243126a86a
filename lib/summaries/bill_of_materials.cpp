#include "summaries/bill_of_materials.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "archive/zip_archive.h"
#include "support/error.h"
#include "support/json_document.h"
#include "support/text/unicode.h"

namespace fxtrace::internal {
namespace {

struct LicenceRow {
  const char* id;
  const char*
      phrase;  // of its text, in words_of(); texts of GNU licences do not say whether later ones count
};
constexpr auto kLicences = std::to_array<LicenceRow>({
    {"Apache-2.0", "apache license version 2.0"},
    {"MIT", "permission is hereby granted free of charge"},
    {"BSD-3-Clause", "neither the name of"},
    {"BSD-2-Clause", "redistributions in binary form must reproduce"},
    {"MPL-2.0", "mozilla public license version 2.0"},
    {"CC0-1.0", "cc0 1.0 universal"},
    {"CC-BY-NC-4.0", "attribution-noncommercial 4.0 international"},
    {"CC-BY-SA-4.0", "attribution-sharealike 4.0 international"},
    {"CC-BY-4.0", "attribution 4.0 international"},
    {"GPL-2.0-only", nullptr},
    {"GPL-2.0-or-later", nullptr},
    {"GPL-3.0-only", nullptr},
    {"GPL-3.0-or-later", nullptr},
    {"LGPL-3.0-or-later", nullptr},
    {"AGPL-3.0-or-later", nullptr},
});

// Returns the text in lower case, with single spaces instead of spaces and commas.
std::string words_of(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0 && c != ',') {
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!result.empty() && result.back() != ' ') {
      result += ' ';
    }
  }
  return result.substr(0, result.find_last_not_of(' ') + 1);
}

void add_of_json(const std::string& text, const std::string& record, std::vector<FoundLicence>& found) {
  try {
    const JsonDocument document(text, record);
    if (!document.root().is_object()) return;
    for (const char* key : {"license", "licence"}) {
      const auto value = document.root().find(key);
      if (value && value->is_string()) found.push_back(licence_of(value->string(), record));
    }
  } catch (const Error&) {  // it is not JSON
    return;
  }
}

void count(const ModuleGraph& graph, Material& material) {
  for (NodeId id = graph.graph.first(); id.valid(); id = graph.graph.next(id)) {
    const Node& node = graph.graph.node(id);
    if (node.op == Opcode::kCallFunction)
      ++material.operators[node.target->substr(0, node.target->find('.'))];
  }
  for (const Subgraph& subgraph : graph.subgraphs) count(subgraph.graph, material);
}

}  // namespace

FoundLicence licence_of(std::string_view text, const std::string& record) {
  constexpr std::string_view kTag = "SPDX-License-Identifier:";
  if (const std::size_t at = text.find(kTag); at != std::string_view::npos)
    text.remove_prefix(at + kTag.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  FoundLicence found{"", short_line(text.substr(0, text.find_first_of("\r\n"))), record};
  const std::string name = words_of(found.text), words = words_of(text);
  const auto* const row = std::ranges::find_if(kLicences, [&](const LicenceRow& licence) {
    return name == words_of(licence.id) ||
           (licence.phrase != nullptr && words.find(licence.phrase) != std::string::npos);
  });
  if (row != kLicences.end()) found.id = row->id;
  return found;
}

std::vector<FoundLicence> find_licences(const ZipArchive& archive) {
  constexpr std::size_t kMostBytes = 1 << 20;  // of one record
  constexpr std::size_t kMost = 100;
  std::vector<FoundLicence> found;
  for (const ZipArchive::Entry& entry : archive.entries()) {
    if (entry.size == 0 || entry.size > kMostBytes || found.size() >= kMost) continue;
    const std::filesystem::path record = entry.name;
    const std::string stem = words_of(record.stem().string());
    if (stem == "license" || stem == "licence" || stem == "copying" || stem == "notice") {
      found.push_back(licence_of(archive.read(entry, kMostBytes), entry.name));
    } else if (std::ranges::any_of(record,
                                   [](const auto& part) { return part.string().starts_with("extra"); })) {
      add_of_json(archive.read(entry, kMostBytes), entry.name, found);
    }
  }
  return found;
}

void count_operators(const GraphCollection& collection, Material& material) {
  for (const ModuleGraph& graph : collection.graphs) count(graph, material);
  material.failed = std::ranges::count(collection.modules, ModuleStatus::kFailed, &ModuleRecord::status);
}

}  // namespace fxtrace::internal
