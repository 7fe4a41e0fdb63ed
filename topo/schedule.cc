// SPDX-License-Identifier: Apache-2.0

#include "topo/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "core/random.h"
#include "topo/links.h"

namespace heddle {
namespace {

std::set<uint32_t> LinksOf(const ScheduledChange& change, Rng rng, const std::string& path,
                           const Graph& graph, Diagnostics& diagnostics) {
  std::set<uint32_t> picked;
  const auto pick = [&](const std::string& key, const auto& matches, std::string_view noun,
                        const std::string& name) {
    bool found = false;
    for (uint32_t l = 0; l < graph.links.size(); ++l) {
      if (!matches(graph.links[l])) continue;
      picked.insert(l);
      found = true;
    }
    if (found) return;
    diagnostics.ErrorAt(key, fmt::format("no {} is called \"{}\"", noun, name));
  };
  for (size_t i = 0; i < change.links.size(); ++i) {
    const std::string& name = change.links[i];
    const auto is_named = [&](const Graph::Link& link) { return Means(name, link); };
    pick(fmt::format("{}.links[{}]", path, i), is_named, "link", name);
  }
  for (size_t i = 0; i < change.switches.size(); ++i) {
    const std::string& name = change.switches[i];
    const auto is_at = [&](const Graph::Link& link) {
      return graph.NameOf(link.a) == name || graph.NameOf(link.b) == name;
    };
    pick(fmt::format("{}.switches[{}]", path, i), is_at, "switch with links", name);
  }
  std::vector<uint32_t> fabric;
  for (uint32_t l = 0; l < graph.links.size(); ++l) {
    const Graph::Link& link = graph.links[l];
    if (!graph.IsHost(link.a) && !graph.IsHost(link.b)) fabric.push_back(l);
  }
  if (static_cast<size_t>(change.random_links) > fabric.size()) {
    diagnostics.ErrorAt(fmt::format("{}.random_links", path),
                        fmt::format("{} are to be chosen, but there are only {}",
                                    change.random_links, fabric.size()));
    return picked;
  }
  rng.MoveToFront(fabric, static_cast<size_t>(change.random_links));
  picked.insert(fabric.begin(), fabric.begin() + change.random_links);
  return picked;
}

void CheckNoBetter(const ScheduledChange& change, const Graph::Link& link, const std::string& path,
                   Diagnostics& diagnostics) {
  const BitRate rate = std::min(link.a_to_b.rate, link.b_to_a.rate);
  const Duration delay = std::max(link.a_to_b.delay, link.b_to_a.delay);
  const auto refuse = [&](const char* key, const std::string& at_start) {
    diagnostics.ErrorAt(
        fmt::format("{}.{}", path, key),
        fmt::format("{} has {} in the topology, and a link must not become better than there; make "
                    "it so from the start, and worse by an entry at 0ps",
                    link.name, at_start));
  };
  if (change.rate && *change.rate > rate) refuse("rate", FormatQuantity(rate));
  if (change.delay && *change.delay < delay) refuse("delay", FormatQuantity(delay));
}

}  // namespace

void ScheduledChange::Declare(Fields& fields) {
  fields.Add("at", at, {.at_least = Duration{0}, .at_most = 1'000'000_s},
             "When, before all packets of that instant.", Fields::kRequired);
  fields.List("links", links, {}, "Names of links, of hosts or between switches; both ways.");
  fields.List("switches", switches, {}, "Names of switches, all links of which are meant.");
  fields.Add("random_links", random_links, AtLeast<int64_t>(0),
             "This many links between switches, chosen by the seed.");
  fields.Choice(
      "state", state,
      {{"unchanged", State::kUnchanged}, {"up", State::kUp}, {"down", State::kDown}},
      "down: what is queued or on the way is lost, and so is what is sent until it is up again.");
  fields.AddOr("unchanged", "rate", rate, kLinkRates,
               "The rate of packets whose first bit has not left.");
  fields.AddOr("unchanged", "delay", delay, kLinkDelays, "Their delay; none overtakes another.");
  fields.Require(!links.empty() || !switches.empty() || random_links > 0, "links",
                 "names no link; set one of links, switches, random_links");
  fields.Require(state != State::kUnchanged || rate || delay, "state",
                 "nothing changes; set state, rate or delay");
}

std::vector<LinkEvent> Resolve(const std::vector<ScheduledChange>& changes, uint64_t seed,
                               std::string_view path, const Graph& graph,
                               Diagnostics& diagnostics) {
  std::vector<LinkEvent> events;
  for (size_t i = 0; i < changes.size(); ++i) {
    const ScheduledChange& change = changes[i];
    const std::string entry = fmt::format("{}[{}]", path, i);
    std::optional<bool> up;
    if (change.state != ScheduledChange::State::kUnchanged) {
      up = change.state == ScheduledChange::State::kUp;
    }
    const Rng rng = Rng::Stream(seed, "schedule", i);
    for (const uint32_t link : LinksOf(change, rng, entry, graph, diagnostics)) {
      CheckNoBetter(change, graph.links[link], entry, diagnostics);
      events.push_back({Time{} + change.at, link, up, change.rate, change.delay});
    }
  }
  std::ranges::stable_sort(events, {}, &LinkEvent::at);
  return events;
}

}  // namespace heddle
