// SPDX-License-Identifier: Apache-2.0
// Draws the values of settings at random, for anything that declares its settings. So a setting
// that is added takes part in the random experiments without a line of theirs.
//
//   std::string lb = DrawKind(LoadBalancers(), "letflow", {.share = 0.2}, rng);
//   // "{kind: letflow, gap: 20us}"

#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/random.h"
#include "settings/fields.h"

namespace heddle {

// The values that durations get: short enough for a small experiment, but not so short that timers
// or series take most of the time.
extern const std::vector<std::string> kUsualDurations;

struct DrawRule {
  double share = 0.1;        // The share of optional settings that get a value.
  double kinds_share = 0.4;  // The same of optional settings that choose a kind.
  // Values that are given, by path ("red.min"), as YAML. An empty text leaves the setting out.
  std::map<std::string, std::string, std::less<>> given = {};
  std::vector<std::string> durations = kUsualDurations;
};

// A value that fits `shape`; now and then one that is out of its bounds.
std::string DrawValue(const ScalarShape& shape, const DrawRule& rule, Rng& rng);

// Writes what Declare() declares as a map in YAML's flow style, without its braces: "gap: 20us,
// slots: 7". Texts and lists of maps are left out unless they are given.
std::string DrawFields(const std::function<void(Fields&)>& declare, const DrawRule& rule, Rng& rng);

// Writes the settings of one kind, "{kind: letflow, gap: 20us}".
template <class T>
std::string DrawKind(const Kinds<T>& kinds, const std::string& kind, const DrawRule& rule,
                     Rng& rng) {
  const Chosen<T> chosen = kinds.Make(kind);
  const auto declare = [&](Fields& fields) { chosen.settings->Declare(fields); };
  const std::string fields = DrawFields(declare, rule, rng);
  return "{kind: " + kind + (fields.empty() ? "" : ", " + fields) + "}";
}

}  // namespace heddle
