// Traces archives whose code texts, pickles and JSON are damaged, with sanitizers (scripts/damage).
//
//   damaged_files --models FOLDER [--files N] [--seconds N] [--seed N] [--findings FOLDER]
//   damaged_files --read FOLDER [--findings FOLDER]     reads the files of the folder as they are
//
// Every archive of the folder is damaged in turn: one record is cut, blanked or doubled, its lines are moved
// in or out, or one token of it is dropped, doubled, exchanged with its neighbour or replaced by another
// token of the text.  What is refused is refused with an Error about the input; anything else is a finding,
// which is left in FOLDER.  A report of a sanitizer ends the process after the finding's name is printed.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/file_kind.h"
#include "archive/zip_archive.h"
#include "exported/program/exported_program.h"
#include "graph/lint.h"
#include "interpreter/load.h"
#include "security/security_scan.h"
#include "support/error.h"
#include "support/text/identifier.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/stored_zip.h"
#include "tests/fuzz/targets.h"
#include "trace/search/trace.h"

namespace fxtrace::internal::fuzz {
namespace {

using Records = std::vector<std::pair<std::string, std::string>>;

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t count) {
    return count == 0 ? 0 : static_cast<std::size_t>(engine_() % count);
  }

 private:
  std::mt19937_64 engine_;
};

struct Piece {
  std::size_t begin, end;
};

// Returns the tokens of code or JSON: words, numbers, and single other characters, without blanks.
std::vector<Piece> tokens_of(std::string_view text) {
  std::vector<Piece> tokens;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    if (is_word(text[at])) {
      while (end < text.size() && is_word(text[end])) ++end;
    }
    if (text[at] != ' ' && text[at] != '\n') tokens.push_back({at, end});
    at = end;
  }
  return tokens;
}

std::string reindented(std::string_view text, Chance& chance) {
  std::string result;
  const std::size_t lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
  const std::size_t chosen = chance.below(lines);
  const bool is_all = chance.below(4) == 0, goes_in = chance.below(2) == 0;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    if (is_all || number++ == chosen) {
      if (goes_in) result += chance.below(2) == 0 ? "  " : "\t ";
      if (!goes_in && line.starts_with("  ")) line.remove_prefix(2);
    }
    result += line;
  }
  return result;
}

enum class Damage : std::uint8_t {
  kCut,
  kBlank,
  kDouble,
  kEmpty,
  kReindent,
  kDrop,
  kTwice,
  kExchange,
  kReplace,
  kFlip
};
constexpr std::array<const char*, 10> kDamages = {"cut",  "blanked", "doubled",   "emptied",  "reindented",
                                                  "drop", "twice",   "exchanged", "replaced", "flipped"};

std::string damaged(std::string_view text, Damage damage, Chance& chance) {
  const auto tokens = tokens_of(text);
  std::string result(text);
  if (text.empty() || tokens.size() < 2) return result + "(";
  const std::size_t at = chance.below(tokens.size() - 1);
  const Piece token = tokens[at], next = tokens[at + 1];
  const auto text_of = [&](Piece piece) {
    return std::string(text.substr(piece.begin, piece.end - piece.begin));
  };
  switch (damage) {
    case Damage::kCut:
      return result.substr(0, token.end);
    case Damage::kBlank:
      return std::string(text.size(), ' ');
    case Damage::kDouble:
      return result + result;
    case Damage::kEmpty:
      return {};
    case Damage::kReindent:
      return reindented(text, chance);
    case Damage::kDrop:
      return result.erase(token.begin, token.end - token.begin);
    case Damage::kTwice:
      return result.insert(token.end, " " + text_of(token));
    case Damage::kExchange:
      return result.replace(token.begin, next.end - token.begin, text_of(next) + " " + text_of(token));
    case Damage::kReplace:
      return result.replace(token.begin, token.end - token.begin,
                            text_of(tokens[chance.below(tokens.size())]));
    case Damage::kFlip:
      result[chance.below(result.size())] = static_cast<char>(chance.below(256));
      return result;
  }
  return result;
}

struct Model {
  std::string name;
  Records records;
  std::vector<std::size_t> texts;  // of code, pickles and JSON
};

std::vector<std::filesystem::path> files_in(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

std::vector<Model> read_models(const std::string& folder) {
  std::vector<Model> models;
  for (const auto& path : files_in(folder)) {
    if (path.extension() != ".pt" && path.extension() != ".pt2") continue;
    const ModelFile file(path.string());
    if (!ZipArchive::has_end_record(file)) continue;
    const ZipArchive zip(file);
    Model model{path.filename().string(), {}, {}};
    for (const ZipArchive::Entry& entry : zip.entries()) {
      const std::string_view name = entry.name;
      if (name.ends_with(".py") || name.ends_with(".pkl") || name.ends_with(".json"))
        model.texts.push_back(model.records.size());
      model.records.emplace_back(entry.name, zip.read(entry, 100'000'000));
    }
    if (!model.texts.empty()) models.push_back(std::move(model));
  }
  return models;
}

// Reads the archive as all commands do.  Throws what is a finding.
void read(std::string_view bytes) {
  const ModelFile file = memory_file(bytes);
  TraceOptions options;
  options.limits.iterations = 300;
  options.limits.nodes = 2'000;
  accepts([&] {
    const FileInfo info = identify_file(file);
    accepts([&] { static_cast<void>(scan_security(file, info)); });
    TraceResult result;
    if (info.kind == FileKind::kTorchScript)
      result = trace_program(interpreter::load_torchscript(info, options, {}), options, {}, {});
    else if (info.kind == FileKind::kExportedProgram)
      result = trace_program(std::make_unique<const ExportedProgram>(info, options.model), options, {}, {});
    else
      return;
    lint(result.collection);
  });
}

// Reads files one by one; what ends otherwise than with an Error about the input is left in a folder.
class Reading {
 public:
  explicit Reading(std::filesystem::path findings) : findings_(std::move(findings)) {
    std::filesystem::create_directories(findings_);
  }

  void file(const std::string& label, const std::string& bytes) {
    std::ofstream(findings_ / "last_file", std::ios::binary) << label << "\n"
                                                             << bytes;  // for a sanitizer's report
    ++count_;
    try {
      read(bytes);
    } catch (const std::exception& error) {
      std::cout << label << ": " << error.what() << "\n";
      std::ofstream(findings_ / ("file_" + std::to_string(count_) + ".pt"), std::ios::binary) << bytes;
      ++found_;
    }
  }

  // Returns the exit code.
  int end(const std::string& counts) const {
    std::cout << count_ << " files" << counts << ": " << found_ << " findings\n";
    return found_ == 0 && count_ > 0 ? 0 : 1;
  }

 private:
  std::filesystem::path findings_;
  std::uint64_t count_ = 0, found_ = 0;
};

int run(const std::vector<std::string>& arguments) {
  std::map<std::string, std::string> given;
  for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) given[arguments[i]] = arguments[i + 1];
  const auto number = [&](const std::string& name, std::uint64_t otherwise) {
    return given.contains(name) ? std::stoull(given[name]) : otherwise;
  };
  const std::uint64_t seed = number("--seed", 1), most = number("--files", UINT64_MAX);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(number("--seconds", 100'000));
  Reading reading(given.contains("--findings") ? given["--findings"] : "findings");
  if (given.contains("--read")) {
    for (const auto& path : files_in(given["--read"])) {
      std::ifstream in(path, std::ios::binary);
      reading.file(path.filename().string(), {std::istreambuf_iterator<char>(in), {}});
    }
    return reading.end("");
  }
  const std::vector<Model> models = read_models(given.at("--models"));
  if (models.empty()) throw std::invalid_argument("there is no archive in " + given.at("--models"));
  std::map<std::string, std::uint64_t> counts;
  for (std::uint64_t drawn = 0; drawn < most && std::chrono::steady_clock::now() < end; ++drawn) {
    Chance chance(seed * 1'000'003 + drawn);
    const Model& model = models[drawn % models.size()];
    const auto damage = static_cast<Damage>((drawn / models.size()) % kDamages.size());
    const std::string what = kDamages[static_cast<std::size_t>(damage)];
    Records records = model.records;
    auto& [name, text] = records[model.texts[chance.below(model.texts.size())]];
    text = damaged(text, damage, chance);
    reading.file(model.name + " " + name + " " + what + " (" + std::to_string(seed) + ", " +
                     std::to_string(drawn) + ")",
                 stored_zip(records));
    ++counts[what];
  }
  std::string text;
  for (const auto& [damage, count] : counts) text += ", " + std::to_string(count) + " " + damage;
  return reading.end(text);
}

}  // namespace
}  // namespace fxtrace::internal::fuzz

int main(int argc, char** argv) {
  try {
    return fxtrace::internal::fuzz::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "damaged_files: " << error.what() << "\n";
    return 2;
  }
}
