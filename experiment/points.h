// SPDX-License-Identifier: Apache-2.0
// The points of a document's `sweep`: what its axes offer, in all combinations but those excluded.

#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "settings/diagnostics.h"
#include "settings/value.h"

namespace heddle {

// What an axis says: a list, or a range; `path` is where it says so. Empty if there is an error.
std::vector<Value> AxisValues(const Value& value, const std::string& path,
                              Diagnostics& diagnostics);

// A value in one line, as in labels and in points.csv: "letflow.gap=100us".
std::string ChoiceLabel(const Value& value);

// Whether `value` is what an exclusion means by `pattern`: the same, one of a list, or a map with
// at least what the pattern says. `letflow` is short for {kind: letflow}, as everywhere.
bool MatchesChoice(const Value& pattern, const Value& value);

class Points {
 public:
  // Reads the key `sweep` of `document`; what the other keys say holds for all points. Without a
  // sweep there is one point, with a mistake in it there may be none. Keys in `fixed` were given on
  // the command line or by a scale, which may have taken them out of the sweep, or values of
  // theirs. Axes are of the keys `top_level` of the document, or of any if there are none.
  Points(const Value& document, const std::set<std::string>& fixed, Diagnostics& diagnostics,
         const std::vector<std::string>& top_level = {});

  size_t size() const { return kept_.size(); }

  // Keys, in the order written.
  std::vector<std::string> Axes() const;

  // The rules of `exclude`, as a list, without what means nothing since keys have been fixed.
  const Value& exclusions() const { return exclusions_; }

  // The keys that change together with `key`, it among them; none if it is not swept.
  std::vector<std::string> MovingWith(const std::string& key) const;

  // What `key` is at a point, whether it is swept or not; nullptr if it is not given.
  const Value* ChoiceOf(size_t point, const std::string& key) const {
    return ChoiceAt(key, kept_[point]);
  }

  // The experiment of a point, without a sweep.
  Value DocumentOf(size_t point, Diagnostics& diagnostics) const;

  // The value of each axis there, as text: "ecmp", "letflow.gap=100us", "0.6".
  std::vector<std::pair<std::string, std::string>> ChoicesOf(size_t point) const;

 private:
  // Keys that take their next values together, and their values, by step and key.
  struct Axis {
    std::vector<std::string> keys;
    std::vector<std::vector<Value>> steps;
    std::vector<Place> places{};  // Of keys.
  };

  void Read(const Value::Entry& entry, Diagnostics& diagnostics);
  bool IsSetting(const Value::Entry& entry, Diagnostics& diagnostics);
  void ReadTogether(const Value& list, Diagnostics& diagnostics);
  void ReadSeeds(const Value& count, Diagnostics& diagnostics);
  Axis AxisFrom(const Value& map, const std::string& path, Diagnostics& diagnostics) const;
  void Add(Axis axis, const Place& place, const std::string& path, Diagnostics& diagnostics);
  void Exclude(const Value& rules, const std::set<std::string>& fixed, Diagnostics& diagnostics);
  bool CheckRule(const Value& rule, const std::string& path, const std::set<std::string>& fixed,
                 Diagnostics& diagnostics) const;
  bool Fits(const Value& rule, size_t combination) const;
  void NoteRule(const Value& rule);
  bool Offers(const std::string& key, const Value& pattern, std::vector<std::string>& labels) const;
  const Value* ChoiceAt(const std::string& key, size_t combination) const;
  template <class Visit>
  void ForEachChoice(size_t combination, const Visit& visit) const;

  Value document_;  // Without its sweep.
  std::vector<std::string> top_level_;
  Value exclusions_;
  std::vector<Axis> axes_;
  std::set<std::string> unread_;  // Keys of axes with mistakes in them, of which enough is said.
  size_t combinations_ = 1;
  std::vector<uint32_t> kept_;  // Combinations, the last axis fastest, by point.
};

}  // namespace heddle
