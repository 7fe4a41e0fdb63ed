// SPDX-License-Identifier: Apache-2.0
// A CSV table whose columns are declared once, each with its name and with the cell that a row has
// in it. Header and rows follow from the same declaration, so they cannot disagree:
//
//   constexpr Column<Visit> kColumns[] = {
//       {"time_ns", [](const Visit& visit) { return InNs(visit.at); }},
//       {"host", [](const Visit& visit) { return visit.host; }}};
//   constexpr Table kTable(kColumns);
//
// A cell is an integer, a number, a text, a time in nanoseconds, true or false (written 1 or 0), or
// an optional one of these (empty if it is not there).

#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/units.h"

namespace heddle {

// Appends `ps` in units of 10^digits ps, without rounding and without trailing zeros: 1234500 ps is
// "1234.5" ns.
void AppendExact(std::string& out, int64_t ps, int digits);

// A time as a cell in nanoseconds, exact to the picosecond.
struct Nanoseconds {
  int64_t ps;
};
constexpr Nanoseconds InNs(Time at) { return {at.ps}; }
constexpr Nanoseconds InNs(Duration length) { return {length.ps}; }

// The same in microseconds.
struct ExactUs {
  int64_t ps;
};
constexpr ExactUs InUs(Duration length) { return {length.ps}; }

template <std::integral T>
void AppendCell(std::string& csv, T value) {
  using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  const fmt::format_int text(static_cast<Wide>(value));
  csv.append(text.data(), text.size());
}
inline void AppendCell(std::string& csv, std::string_view text) { csv += text; }
inline void AppendCell(std::string& csv, Nanoseconds time) { AppendExact(csv, time.ps, 3); }
inline void AppendCell(std::string& csv, ExactUs time) { AppendExact(csv, time.ps, 6); }
// Appends the shortest text that reads back as the same number; nothing for NaN.
void AppendCell(std::string& csv, double value);
template <class T>
void AppendCell(std::string& csv, const std::optional<T>& value) {
  if (value) AppendCell(csv, *value);
}

template <class Row>
struct Column {
  // `cell` is a lambda without captures that returns a row's cell.
  template <class Cell>
  constexpr Column(std::string_view its_name, Cell /*cell*/)
      : name(its_name),
        append([](std::string& csv, const Row& row) { AppendCell(csv, Cell{}(row)); }) {}

  std::string_view name;
  void (*append)(std::string& csv, const Row& row);
};

template <class Row>
class Table {
 public:
  // The columns must outlive it.
  template <size_t N>
  constexpr explicit Table(const Column<Row> (&columns)[N]) : columns_(columns) {}

  // Returns the table without its last `count` columns.
  constexpr Table WithoutLast(size_t count) const {
    return Table(columns_.first(columns_.size() - count));
  }

  // Returns the header with its line end.
  std::string Header() const {
    std::string csv;
    for (const Column<Row>& column : columns_) {
      if (!csv.empty()) csv += ',';
      csv += column.name;
    }
    return csv + '\n';
  }

  void Append(std::string& csv, const Row& row) const {
    bool is_first = true;
    for (const Column<Row>& column : columns_) {
      if (!is_first) csv += ',';
      is_first = false;
      column.append(csv, row);
    }
    csv += '\n';
  }

  // Returns the header and all rows.
  template <class Rows>
  std::string Text(const Rows& rows) const {
    std::string csv = Header();
    for (const Row& row : rows) Append(csv, row);
    return csv;
  }

 private:
  constexpr explicit Table(std::span<const Column<Row>> columns) : columns_(columns) {}

  std::span<const Column<Row>> columns_;
};

}  // namespace heddle
