// SPDX-License-Identifier: Apache-2.0
// What topologies of a regular shape say of their links: the classes of them, and the links that
// differ from their class.

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

// Links of a graph that a setting names, as indices into Graph::links. Mistakes go to `diagnostics`
// below the path of that setting.
class LinkPicker {
 public:
  LinkPicker(const Graph& graph, std::string path, Diagnostics& diagnostics)
      : graph_(graph), path_(std::move(path)), diagnostics_(diagnostics) {}

  // Without the number of a parallel link, a name means all of them.
  void PickNamed(const std::vector<std::string>& names);
  void PickAllOf(VertexId vertex);
  // `count` of the links between switches.
  void PickRandom(int64_t count, Rng& rng);

  // `count` of `all`, chosen at random, in ascending order; what `key` asks for.
  std::vector<size_t> Draw(std::string_view key, int64_t count, size_t all, Rng& rng);

  const std::set<size_t>& picked() const { return picked_; }

 private:
  const Graph& graph_;
  const std::string path_;
  Diagnostics& diagnostics_;
  std::set<size_t> picked_;
};

// Some links, and how they differ from the others. The switches of the top tier can be meant as a
// whole; a topology has its own word for them, which names the settings.
struct LinkChange {
  enum class Direction { kBoth, kUp, kDown };

  std::vector<std::string> links;  // By name.
  std::vector<int64_t> tops;       // All links of these.
  int64_t random_tops = 0;
  int64_t random_links = 0;  // Of all links between switches.
  Direction direction = Direction::kBoth;
  std::optional<BitRate> rate;
  std::optional<Duration> delay;

 protected:
  // `top`: "spine".
  void DeclareFor(std::string_view top, Fields& fields);
};

// Changes what entry `index` of the setting `path` names. The links of hosts come first in `graph`,
// and all lead from the lower end to the upper.
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
