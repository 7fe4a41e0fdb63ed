// SPDX-License-Identifier: Apache-2.0
// Collects the errors and warnings about a document that a user wrote, each with its place. Readers
// add problems as they find them, and the program reports all of them at once.

#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// Where a value was written. Lines and columns count from 1; 0 means that the whole source is
// meant.
struct Place {
  std::string source;  // A file's name as the user gave it, or "--set topology.leaves".
  int line = 0;
  int column = 0;
};

class Diagnostics {
 public:
  struct Problem {
    Place place;
    std::string path;
    std::string line;  // The whole message, as it is printed.
  };

  // `path` is that of the setting, as in workload[0].load; empty for the document as a whole.
  void Error(const Place& place, std::string_view path, std::string_view message);
  void Warning(const Place& place, std::string_view path, std::string_view message);

  // The same for a path that has been read before: its place is the one noted for it, or for the
  // nearest setting around it.
  void Note(std::string_view path, const Place& place);
  void ErrorAt(std::string_view path, std::string_view message);
  void WarningAt(std::string_view path, std::string_view message);

  bool ok() const { return errors_.empty(); }
  // Returns true if there is no error at `path` or within it.
  bool IsSound(std::string_view path) const;
  std::vector<std::string> errors() const;  // Ordered by line and column within each source.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // Adds the problems of `other` that are new.
  void Take(const Diagnostics& other);
  void TakeWarnings(const Diagnostics& other);
  void Take(const Problem& error);

  const std::vector<Problem>& problems() const { return errors_; }  // Errors in the order found.

  // All errors, one per line, and their number.
  std::string Report() const;

 private:
  const Place& PlaceOf(std::string_view path) const;

  std::vector<Problem> errors_;
  std::vector<std::string> warnings_;
  std::map<std::string, Place, std::less<>> places_;
};

// The word in `known` that `name` may be a misspelling of; null if none is near.
const std::string* Nearest(std::string_view name, const std::vector<std::string>& known);

// "; did you mean "letflow"?" if a word in `known` is near, otherwise "; expected one of: ...".
std::string Suggestion(std::string_view name, const std::vector<std::string>& known);

}  // namespace heddle
