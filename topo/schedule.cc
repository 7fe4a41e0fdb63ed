// SPDX-License-Identifier: Apache-2.0

#include "topo/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/random.h"
#include "topo/links.h"

namespace heddle {
namespace {

std::set<size_t> LinksOf(const ScheduledChange& change, Rng rng, const std::string& path,
                         const Graph& graph, Diagnostics& diagnostics) {
  LinkPicker picker(graph, path, diagnostics);
  picker.PickNamed(change.links);
  for (size_t i = 0; i < change.switches.size(); ++i) {
    const std::string& name = change.switches[i];
    const auto found = std::ranges::find(graph.switches, name, &Graph::SwitchVertex::name);
    if (found != graph.switches.end()) {
      picker.PickAllOf(static_cast<uint32_t>(graph.hosts) +
                       static_cast<uint32_t>(found - graph.switches.begin()));
    } else {
      diagnostics.ErrorAt(fmt::format("{}.switches[{}]", path, i),
                          fmt::format("no switch with links is called \"{}\"", name));
    }
  }
  picker.PickRandom(change.random_links, rng);
  return picker.picked();
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
    for (const size_t link : LinksOf(change, rng, entry, graph, diagnostics)) {
      CheckNoBetter(change, graph.links[link], entry, diagnostics);
      events.push_back(
          {Time{} + change.at, static_cast<uint32_t>(link), up, change.rate, change.delay});
    }
  }
  std::ranges::stable_sort(events, {}, &LinkEvent::at);
  return events;
}

}  // namespace heddle
