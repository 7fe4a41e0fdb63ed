// SPDX-License-Identifier: Apache-2.0
// The link settings that regular topologies share: the rate and delay of each class of links, and
// the links that differ from their class. Topologies apply the changes when they build their graph.

#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/random.h"
#include "settings/diagnostics.h"
#include "settings/fields.h"
#include "topo/graph.h"

namespace heddle {

inline constexpr Range<BitRate> kLinkRates{.at_least = 1_Mbps,
                                           .at_most = BitRate{10'000'000'000'000}};
inline constexpr Range<Duration> kLinkDelays{.above = Duration{0}, .at_most = 1_s};

struct LinkSettings {
  BitRate rate;
  Duration delay;

  void Declare(Fields& fields);
  Channel channel() const { return {rate, delay}; }
};

// Collects the links that a setting names, as indices into Graph::links. Mistakes go to
// `diagnostics` below the path of that setting.
class LinkPicker {
 public:
  LinkPicker(const Graph& graph, std::string path, Diagnostics& diagnostics)
      : graph_(graph), path_(std::move(path)), diagnostics_(diagnostics) {}

  // Picks the links with these names. A name without the number of a parallel link means all of
  // them.
  void PickNamed(const std::vector<std::string>& names);
  void PickAllOf(VertexId vertex);
  // Picks `count` random links between switches.
  void PickRandom(int64_t count, Rng& rng);

  // Draws `count` of `all` indices at random and returns them in ascending order. `key` is the
  // setting that asks for them.
  std::vector<size_t> Draw(std::string_view key, int64_t count, size_t all, Rng& rng);

  const std::set<size_t>& picked() const { return picked_; }

 private:
  const Graph& graph_;
  const std::string path_;
  Diagnostics& diagnostics_;
  std::set<size_t> picked_;
};

// A setting that makes some links differ from the others. It can name switches of the top tier to
// mean all their links; each topology has its own word for these switches, which names the
// settings.
struct LinkChange {
  enum class Direction { kBoth, kUp, kDown };

  std::vector<std::string> links;  // By name.
  std::vector<int64_t> tops;       // Top-tier switches, meaning all their links.
  int64_t random_tops = 0;
  int64_t random_links = 0;  // Number drawn among links between switches.
  Direction direction = Direction::kBoth;
  std::optional<BitRate> rate;
  std::optional<Duration> delay;

 protected:
  // `top` is the topology's word for a switch of the top tier, such as "spine".
  void DeclareFor(std::string_view top, Fields& fields);
};

// Applies `change`, which is entry `index` of the setting `path`, to `graph`. The hosts' links come
// first in `graph`, and every link leads from its lower end to its upper end.
void ApplyChange(const LinkChange& change, std::string_view top, size_t index, uint64_t seed,
                 const std::string& path, Graph& graph, Diagnostics& diagnostics);

// Later changes win over earlier ones.
template <class Change>
void ApplyChanges(const std::vector<Change>& changes, uint64_t seed, const std::string& path,
                  Graph& graph, Diagnostics& diagnostics) {
  for (size_t i = 0; i < changes.size(); ++i) {
    ApplyChange(changes[i], Change::kTop, i, seed, path, graph, diagnostics);
  }
}

}  // namespace heddle
