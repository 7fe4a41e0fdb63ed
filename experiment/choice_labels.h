// SPDX-License-Identifier: Apache-2.0
// The labels of `sweep.labels`: the names that people read in place of an axis's values, such as
// LetFlow for letflow.gap=100us. Points and the reader of a sweep's folder use them. Labels change
// neither experiments nor the names of result files.

#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "settings/diagnostics.h"
#include "settings/value.h"

namespace heddle {

class ChoiceLabels {
 public:
  using ValuesByAxis = std::map<std::string, std::vector<Value>>;

  // Checks the map `labels`, from axes to maps from values to labels, against the axes' `values`.
  // A value is named as in `exclude`. Axes in `fixed` may lack the value, or be missing.
  static ChoiceLabels Read(const Value& labels, const ValuesByAxis& values,
                           const std::set<std::string>& fixed, Diagnostics& diagnostics);

  // Returns the labels of a document that ExperimentFile::Text() has written, without checks.
  static ChoiceLabels Of(const Value& document);

  bool empty() const { return labels_.empty(); }

  // Returns the label of an axis's value, which is given as text; null if it has none.
  const std::string* Find(const std::string& axis, const std::string& value) const;

  // Returns the label, or the value if it has none.
  const std::string& Shown(const std::string& axis, const std::string& value) const;

  // Returns the map that Of() reads. Its keys are the values as text, so no kinds need resolving.
  Value AsValue() const;

 private:
  // The entries of one axis.
  void ReadAxis(const Value::Entry& axis, const std::vector<Value>& values, bool is_fixed,
                Diagnostics& diagnostics);

  std::map<std::string, std::map<std::string, std::string>> labels_;  // By axis, by value.
};

}  // namespace heddle
