// SPDX-License-Identifier: Apache-2.0
// The points of a document's `sweep`: all combinations of its axes' values but those excluded.
// ExperimentFile makes an experiment of each.

#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "experiment/choice_labels.h"
#include "settings/diagnostics.h"
#include "settings/value.h"

namespace heddle {

// Returns the values of an axis, given as a list or a range at `path`; none if there is an error.
std::vector<Value> AxisValues(const Value& value, const std::string& path,
                              Diagnostics& diagnostics);

// Returns a value in one line, as in labels and in points.csv: "letflow.gap=100us".
std::string ChoiceLabel(const Value& value);

// Returns true if an exclusion's `pattern` matches `value`: an equal value, a list that contains
// it, or a map whose settings `value` all has. `letflow` is short for {kind: letflow}, as
// everywhere. A pattern for a list with one element, such as a workload, is one for the element.
bool MatchesChoice(const Value& pattern, const Value& value);

class Points {
 public:
  // Reads the key `sweep` of `document`; the other keys hold for all points. Without a sweep there
  // is one point, with a mistake in it there may be none. The command line or a scale has set the
  // keys in `fixed`, so they may be missing from the sweep, or some of their values. Axes must lie
  // below one of the keys `top_level`; if it is empty, any key may be an axis.
  Points(const Value& document, const std::set<std::string>& fixed, Diagnostics& diagnostics,
         const std::vector<std::string>& top_level = {});

  size_t size() const { return kept_.size(); }

  // Returns the keys of all axes, in the order written.
  std::vector<std::string> Axes() const;

  // The rules of `exclude`, as a list, without rules that fixed keys have made meaningless.
  const Value& exclusions() const { return exclusions_; }

  // The labels that `labels` gives to values of axes. ChoicesOf() returns the values.
  const ChoiceLabels& labels() const { return labels_; }

  // Returns the keys that change together with `key`, including `key`; none if it is not swept.
  std::vector<std::string> MovingWith(const std::string& key) const;

  // Returns the value of `key` at a point, whether it is swept or not; nullptr if it is not given.
  const Value* ChoiceOf(size_t point, const std::string& key) const {
    return ChoiceAt(key, kept_[point]);
  }

  // Returns the document of a point, without a sweep.
  Value DocumentOf(size_t point, Diagnostics& diagnostics) const;

  // Returns each axis and its value at a point, as text: "ecmp", "letflow.gap=100us", "0.6".
  std::vector<std::pair<std::string, std::string>> ChoicesOf(size_t point) const;

 private:
  // Keys that change together, and their values by step and key.
  struct Axis {
    std::vector<std::string> keys;
    std::vector<std::vector<Value>> steps;
    std::vector<Place> places{};  // The places of the keys.
  };

  void Read(const Value::Entry& entry, Diagnostics& diagnostics);
  bool IsSetting(const Value::Entry& entry, Diagnostics& diagnostics);
  void ReadTogether(const Value& list, Diagnostics& diagnostics);
  void ReadSeeds(const Value& count, Diagnostics& diagnostics);
  Axis AxisFrom(const Value& map, const std::string& path, Diagnostics& diagnostics) const;
  static void CheckDistinct(const Axis& axis, const std::string& path, Diagnostics& diagnostics);
  void Add(Axis axis, const Place& place, const std::string& path, Diagnostics& diagnostics);
  bool CheckOrder(const Axis& axis, const std::string& path, Diagnostics& diagnostics) const;
  void Exclude(const Value& rules, const std::set<std::string>& fixed, Diagnostics& diagnostics);
  void ReadLabels(const Value& labels, const std::set<std::string>& fixed,
                  Diagnostics& diagnostics);
  bool CheckRule(const Value& rule, const std::string& path, const std::set<std::string>& fixed,
                 Diagnostics& diagnostics) const;
  bool Fits(const Value& rule, size_t combination) const;
  void NoteRule(const Value& rule);
  bool Offers(const std::string& key, const Value& pattern) const;
  const Value* FirstNotOffered(const std::string& key, const Value& pattern) const;
  std::vector<std::string> LabelsOf(const std::string& key) const;
  std::vector<const Value*> ValuesOf(const std::string& key) const;
  const Value* ChoiceAt(const std::string& key, size_t combination) const;
  template <class Visit>
  void ForEachChoice(size_t combination, const Visit& visit) const;

  Value document_;  // The document without its sweep.
  std::vector<std::string> top_level_;
  Value exclusions_;
  ChoiceLabels labels_;
  std::vector<Axis> axes_;
  std::set<std::string>
      unread_;  // Keys of axes with mistakes. No further errors are reported for them.
  size_t combinations_ = 1;
  std::vector<uint32_t> kept_;  // The combination of each point; the last axis varies fastest.
};

}  // namespace heddle
