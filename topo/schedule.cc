// SPDX-License-Identifier: Apache-2.0

#include "topo/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/random.h"
#include "topo/links.h"

namespace heddle {
namespace {

std::vector<SwitchId> TopsOf(const Graph& graph) {
  int top = 0;
  for (const Graph::SwitchVertex& s : graph.switches) top = std::max(top, s.tier);
  std::vector<SwitchId> switches;
  for (size_t s = 0; s < graph.switches.size(); ++s) {
    if (graph.switches[s].tier == top) switches.push_back(static_cast<SwitchId>(s));
  }
  return switches;
}

// Returns the switches of an entry, each once. `seed` and the entry's `index` draw random ones.
std::vector<SwitchId> SwitchesOf(const ScheduledChange& change, uint64_t seed, size_t index,
                                 const std::string& path, const Graph& graph,
                                 Diagnostics& diagnostics) {
  std::vector<SwitchId> switches;
  if (change.random_switches > 0) {
    const std::vector<SwitchId> tops = TopsOf(graph);
    Rng rng = Rng::Stream(seed, "scheduled switches", index);
    LinkPicker picker(graph, path, diagnostics);
    for (const size_t i :
         picker.Draw("random_switches", change.random_switches, tops.size(), rng)) {
      switches.push_back(tops[i]);
    }
  }
  for (size_t i = 0; i < change.switches.size(); ++i) {
    const std::string& name = change.switches[i];
    const auto found = std::ranges::find(graph.switches, name, &Graph::SwitchVertex::name);
    if (found != graph.switches.end()) {
      const SwitchId s = static_cast<SwitchId>(found - graph.switches.begin());
      if (std::ranges::find(switches, s) == switches.end()) switches.push_back(s);
    } else {
      diagnostics.ErrorAt(fmt::format("{}.switches[{}]", path, i),
                          fmt::format("no switch with links is called \"{}\"", name));
    }
  }
  return switches;
}

std::set<size_t> LinksOf(const ScheduledChange& change, uint64_t seed, size_t index,
                         const std::string& path, const Graph& graph, Diagnostics& diagnostics) {
  Rng rng = Rng::Stream(seed, "schedule", index);
  LinkPicker picker(graph, path, diagnostics);
  picker.PickNamed(change.links);
  for (const SwitchId s : SwitchesOf(change, seed, index, path, graph, diagnostics)) {
    picker.PickAllOf(graph.VertexOfSwitch(s));
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
        fmt::format("{} has {} in the topology, and a change must not make a link better; set the "
                    "better value in the topology, and the worse one by an entry at 0ps",
                    link.name, at_start));
  };
  if (change.rate && *change.rate > rate) refuse("rate", FormatQuantity(rate));
  if (change.delay && *change.delay < delay) refuse("delay", FormatQuantity(delay));
}

std::vector<bool> HostsOf(const std::vector<int64_t>& hosts, const std::string& key,
                          const Graph& graph, Diagnostics& diagnostics) {
  std::vector<bool> chosen(hosts.empty() ? 0 : graph.hosts, false);
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (hosts[i] < static_cast<int64_t>(graph.hosts)) {
      chosen[static_cast<size_t>(hosts[i])] = true;
    } else {
      diagnostics.ErrorAt(
          fmt::format("{}[{}]", key, i),
          fmt::format("there is no host {}; hosts are 0 to {}", hosts[i], graph.hosts - 1));
    }
  }
  return chosen;
}

// Marks the ports of switch `s` that `links` lead to.
std::vector<bool> PortsOf(const std::set<size_t>& links, SwitchId s, const std::string& key,
                          const Graph& graph, Diagnostics& diagnostics) {
  const Adjacency adjacency(graph);
  std::vector<bool> chosen;
  for (const Adjacency::Port& port : adjacency.Of(graph.VertexOfSwitch(s))) {
    chosen.push_back(links.contains(port.link));
  }
  if (std::ranges::find(chosen, true) == chosen.end()) {
    diagnostics.ErrorAt(key, fmt::format("none of these links leads to {}, so no packet arrives "
                                         "there over them; name links of that switch",
                                         graph.switches[s].name));
  }
  return chosen;
}

uint64_t OfAllHashes(double share) {
  return static_cast<uint64_t>(share * static_cast<double>(Blackhole::kAll));
}

// Makes the blackhole of `settings`, for packets at any input port.
Blackhole BlackholeOf(const BlackholeSettings& settings, uint64_t salt, const std::string& path,
                      const Graph& graph, Diagnostics& diagnostics) {
  return {.from = HostsOf(settings.from, path + ".from", graph, diagnostics),
          .to = HostsOf(settings.to, path + ".to", graph, diagnostics),
          .pairs = OfAllHashes(settings.share_of_pairs),
          .salt = salt,
          .hash_from = OfAllHashes(settings.hash_from),
          .hash_to = OfAllHashes(settings.hash_to),
          .until = settings.until ? Time{} + *settings.until : kNever};
}

// Makes the blackhole of each of `switches`, at the input ports that the settings name.
std::vector<Blackhole> BlackholesOf(const BlackholeSettings& settings, uint64_t salt,
                                    const std::vector<SwitchId>& switches, const std::string& path,
                                    const Graph& graph, Diagnostics& diagnostics) {
  std::vector<Blackhole> all(switches.size(),
                             BlackholeOf(settings, salt, path, graph, diagnostics));
  LinkPicker picker(graph, path, diagnostics);
  picker.PickNamed(settings.links);
  if (picker.picked().empty()) return all;
  for (size_t i = 0; i < switches.size(); ++i) {
    all[i].in_ports = PortsOf(picker.picked(), switches[i], path + ".links", graph, diagnostics);
  }
  return all;
}

}  // namespace

void BlackholeSettings::Declare(Fields& fields) {
  fields.List("from", from, AtLeast<int64_t>(0), "Source hosts of the packets. Empty: all hosts.");
  fields.List("to", to, AtLeast<int64_t>(0), "Destination hosts of the packets. Empty: all hosts.");
  fields.Add(
      "share_of_pairs", share_of_pairs, {.above = 0.0, .at_most = 1.0},
      "The probability that a pair of source and destination is affected, drawn by the seed.");
  fields.Add("hash_from", hash_from, Between(0.0, 1.0),
             "The lowest hash of the packet's 5-tuple, as a share of the hash's range.");
  fields.Add("hash_to", hash_to, Between(0.0, 1.0), "The hash is below this share of its range.");
  fields.List("links", links, {}, "Names of links over which the packets arrive. Empty: any link.");
  fields.AddOr("forever", "until", until, {.above = Duration{0}, .at_most = 1'000'000_s},
               "When the blackhole ends.");
  fields.Require(hash_from < hash_to, "hash_to", "is not above hash_from, so no packet matches");
  fields.Require(!until || is_set(), "until",
                 "says when a blackhole ends, but no packet falls into it; set one of from, to, "
                 "share_of_pairs, hash_from, hash_to, links, or drop: 1 for all");
}

void ScheduledChange::Declare(Fields& fields) {
  fields.Add("at", at, {.at_least = Duration{0}, .at_most = 1'000'000_s},
             "The time of the change, which precedes all packets of that instant.",
             Fields::kRequired);
  fields.List("links", links, {},
              "Links by name, of hosts or between switches; both directions change.");
  fields.List("switches", switches, {},
              "Switches by name. The entry concerns all their links; drop and blackhole concern "
              "the switches themselves.");
  fields.Add("random_links", random_links, AtLeast<int64_t>(0),
             "The seed chooses this many links between switches.");
  fields.Add("random_switches", random_switches, AtLeast<int64_t>(0),
             "The seed chooses this many switches of the highest tier, such as spines, as if they "
             "were named in switches.");
  fields.Choice("state", state,
                {{"unchanged", State::kUnchanged}, {"up", State::kUp}, {"down", State::kDown}},
                "down: packets that are queued or on the way are lost, and so are packets sent "
                "before the link is up again.");
  fields.AddOr("unchanged", "rate", rate, kLinkRates,
               "The new rate, for packets whose first bit has not left.");
  fields.AddOr("unchanged", "delay", delay, kLinkDelays,
               "The new delay, for the same packets; no packet overtakes another.");
  fields.AddOr(
      "unchanged", "loss", loss, Between(0.0, 1.0),
      "The probability that the link damages a packet, which is lost on arrival; 0 ends it.");
  fields.AddOr("unchanged", "drop", drop, Between(0.0, 1.0),
               "The probability that the switches drop a packet; 0 ends it.");
  fields.Section("blackhole", blackhole,
                 "The switches always drop packets that match all of these settings.");
  fields.Require(!links.empty() || !switches.empty() || random_links > 0 || random_switches > 0,
                 "links",
                 "names no link; set one of links, switches, random_links, random_switches");
  fields.Require(
      concerns_links() || concerns_switches() || blackhole.until, "state",
      "nothing changes; set state, rate, delay or loss of links, or drop or blackhole of "
      "switches");
  fields.Require(
      !concerns_links() || !concerns_switches(), drop ? "drop" : "blackhole",
      "concerns switches, but state, rate, delay and loss concern links; make two entries");
  fields.Require(!concerns_switches() || (links.empty() && random_links == 0),
                 links.empty() ? "random_links" : "links",
                 "drop and blackhole concern switches; name these in switches, and the links over "
                 "which packets arrive in blackhole.links");
  fields.Require(!blackhole.until || *blackhole.until > at, "blackhole",
                 "ends when it begins, or before; until is a time like at, not a duration");
}

std::vector<LinkEvent> Resolve(const std::vector<ScheduledChange>& changes, uint64_t seed,
                               std::string_view path, const Graph& graph,
                               Diagnostics& diagnostics) {
  std::vector<LinkEvent> events;
  for (size_t i = 0; i < changes.size(); ++i) {
    const ScheduledChange& change = changes[i];
    if (!change.concerns_links()) continue;
    const std::string entry = fmt::format("{}[{}]", path, i);
    std::optional<bool> up;
    if (change.state != ScheduledChange::State::kUnchanged) {
      up = change.state == ScheduledChange::State::kUp;
    }
    for (const size_t link : LinksOf(change, seed, i, entry, graph, diagnostics)) {
      CheckNoBetter(change, graph.links[link], entry, diagnostics);
      events.push_back({Time{} + change.at, static_cast<uint32_t>(link), up, change.rate,
                        change.delay, change.loss});
    }
  }
  std::ranges::stable_sort(events, {}, &LinkEvent::at);
  return events;
}

std::vector<SwitchEvent> ResolveFaults(const std::vector<ScheduledChange>& changes, uint64_t seed,
                                       std::string_view path, const Graph& graph,
                                       Diagnostics& diagnostics) {
  std::vector<SwitchEvent> events;
  for (size_t i = 0; i < changes.size(); ++i) {
    const ScheduledChange& change = changes[i];
    if (!change.concerns_switches()) continue;
    const std::string entry = fmt::format("{}[{}]", path, i);
    const std::vector<SwitchId> switches = SwitchesOf(change, seed, i, entry, graph, diagnostics);
    const uint64_t salt = Rng::Stream(seed, "blackhole", i).Next();
    const std::vector<Blackhole> blackholes =
        BlackholesOf(change.blackhole, salt, switches, entry + ".blackhole", graph, diagnostics);
    for (size_t s = 0; s < switches.size(); ++s) {
      events.push_back({Time{} + change.at, switches[s], change.drop});
      if (change.blackhole.is_set()) events.back().blackhole = blackholes[s];
    }
  }
  std::ranges::stable_sort(events, {}, &SwitchEvent::at);
  return events;
}

}  // namespace heddle
