// Writes rows of CSV (RFC 4180) that a spreadsheet reads as text and numbers, never as formulas.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "symbolic/sym_int.h"

namespace fxtrace::internal {

class Csv {
 public:
  explicit Csv(std::ostream& out) : out_(out) {}
  // Starts with a row of column names; `columns` has them separated by single spaces.
  Csv(std::ostream& out, std::string_view columns);

  void cell(std::int64_t number) { put(std::to_string(number)); }
  void cell(double number);
  // Writes a text that may come from the model's file.
  void cell(std::string_view untrusted);
  void cell(const std::string& untrusted) { cell(std::string_view(untrusted)); }
  void cell(const char* text) { cell(std::string_view(text)); }
  // Writes an empty cell for nothing.
  void cell(const std::optional<SymInt>& size);
  void end_row();
  template <class... Cells>
  void cells(const Cells&... cells) {
    (cell(cells), ...);
  }
  template <class... Cells>
  void row(const Cells&... cells) {
    this->cells(cells...);
    end_row();
  }

 private:
  void put(std::string_view text);

  std::ostream& out_;
  bool is_first_ = true;
};

}  // namespace fxtrace::internal
