// SPDX-License-Identifier: Apache-2.0

#include "topo/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/random.h"
#include "topo/connected.h"
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
  std::set<size_t> links = picker.picked();
  if (change.share_of_links) {
    Rng share = Rng::Stream(seed, "share of links", index);
    links.merge(DrawShare(graph, *change.share_of_links, change.keep_connected, share));
  }
  return links;
}

// Warns of an entry that ends something on links or switches that it draws anew: those of an
// earlier entry are others.
void CheckDraw(const ScheduledChange& change, const std::string& path, Diagnostics& diagnostics) {
  const bool draws =
      change.random_links > 0 || change.random_switches > 0 || change.share_of_links.has_value();
  const char* key = change.state == ScheduledChange::State::kUp ? "state"
                    : change.loss == 0.0                        ? "loss"
                    : change.drop == 0.0                        ? "drop"
                                                                : nullptr;
  if (!draws || key == nullptr) return;
  diagnostics.WarningAt(
      fmt::format("{}.{}", path, key),
      "this entry draws its links or switches anew: they are not those of an earlier "
      "entry; name links or switches in both, or use flap for links that fail and "
      "come back");
}

// Refuses losses that only switches can bring about where a host receives the packets.
void CheckReceivers(const ScheduledChange& change, const Graph::Link& link, const std::string& path,
                    const Graph& graph, Diagnostics& diagnostics) {
  if (!change.loses_in_patterns()) return;
  const bool up = change.direction != LinkChange::Direction::kDown;
  const bool down = change.direction != LinkChange::Direction::kUp;
  if (!(up && graph.IsHost(link.b)) && !(down && graph.IsHost(link.a))) return;
  const char* key = change.bit_errors ? "bit_errors" : change.lose_every ? "lose_every" : "bursts";
  diagnostics.ErrorAt(fmt::format("{}.{}", path, key),
                      fmt::format("packets over {} arrive at a host; use loss there, or "
                                  "direction: up for packets from the host",
                                  link.name));
}

// Adds the events of a link that flaps. Each time varies by up to the jitter, either way.
void AddFlaps(const ScheduledChange& change, uint32_t link, Rng rng,
              std::vector<LinkEvent>& events) {
  const auto vary = [&](Duration time) {
    const double factor = 1 + change.flap.jitter * (2 * rng.Uniform() - 1);
    return Duration{std::max<int64_t>(
        1, static_cast<int64_t>(std::llround(static_cast<double>(time.ps) * factor)))};
  };
  const auto add = [&](Duration at, bool up) {
    LinkEvent event{.at = Time{} + at, .link = link, .up = up, .rate = {}, .delay = {}};
    event.direction = change.direction;
    event.silent = change.silent;
    events.push_back(event);
  };
  for (Duration at = change.at; at < change.flap.until;) {
    add(at, false);
    at = std::min(at + vary(change.flap.down), change.flap.until);
    add(at, true);
    at += vary(change.flap.up);
  }
}

// The most events that one link may have, so that a misspelt unit does not exhaust memory.
constexpr int64_t kMostFlaps = 1'000'000;

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

void FlapSettings::Declare(Fields& fields) {
  fields.Add("down", down, {.at_least = Duration{0}, .at_most = 1000_s},
             "Time for which the link is down, each time, beginning at the time of the entry. "
             "0ps: the link does not flap.");
  fields.Add("up", up, {.at_least = Duration{0}, .at_most = 1000_s},
             "Time for which it is up in between.");
  fields.Add("jitter", jitter, Between(0.0, 0.9),
             "The seed changes each of these times by up to this share of it, either way.");
  fields.Add("until", until, {.at_least = Duration{0}, .at_most = 1'000'000_s},
             "The link stays up from this time on; a time like at, not a duration.");
  fields.Require(!is_set() || up > Duration{0}, "up", "set how long the link is up between times");
  fields.Require(!is_set() || until.ps / (down.ps + up.ps) < kMostFlaps, "until",
                 "the link would fail more than a million times; set an earlier end");
}

void BurstLossSettings::Declare(Fields& fields) {
  fields.AddOr("unchanged", "to_bad", to_bad, Between(0.0, 1.0),
               "The probability that a packet finds the link turning bad; 0 ends the bursts.");
  fields.Add("to_good", to_good, {.above = 0.0, .at_most = 1.0},
             "The probability that a packet finds a bad link turning good.");
  fields.Add("bad", bad, {.above = 0.0, .at_most = 1.0},
             "The probability that a bad link loses a packet.");
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
  fields.AddOr("none", "share_of_links", share_of_links, Between(0.0, 1.0),
               "The seed chooses this share of the links between switches.");
  fields.Add("keep_connected", keep_connected,
             "share_of_links leaves out a link if two leaves would lose their last shortest path.");
  fields.Choice(
      "direction", direction,
      {{"both", LinkChange::Direction::kBoth},
       {"up", LinkChange::Direction::kUp},
       {"down", LinkChange::Direction::kDown}},
      "The directions of a link that state, flap and losses concern. up: from the host or "
      "the lower tier (in a custom topology, from a to b).");
  fields.Choice("state", state,
                {{"unchanged", State::kUnchanged}, {"up", State::kUp}, {"down", State::kDown}},
                "down: packets that are queued or on the way are lost, and so are packets sent "
                "before the link is up again.");
  fields.Add("silent", silent,
             "Nobody learns of the state: neither routing, nor the two ends of the link.");
  fields.Section("flap", flap, "The link goes down and up again and again.");
  fields.AddOr("unchanged", "rate", rate, kLinkRates,
               "The new rate, for packets whose first bit has not left.");
  fields.AddOr("unchanged", "delay", delay, kLinkDelays,
               "The new delay, for the same packets; no packet overtakes another.");
  fields.AddOr(
      "unchanged", "loss", loss, Between(0.0, 1.0),
      "The probability that the link damages a packet, which is lost on arrival; 0 ends it.");
  fields.AddOr("unchanged", "bit_errors", bit_errors, Between(0.0, 0.1),
               "The share of bits that the link damages. A packet with a damaged bit is lost on "
               "arrival; 0 ends it.");
  fields.AddOr("unchanged", "lose_every", lose_every, AtLeast<int64_t>(0),
               "The link loses each packet whose number is a multiple of this; 0 ends it.");
  fields.Section("bursts", bursts, "The link loses packets in bursts.");
  fields.AddOr("unchanged", "drop", drop, Between(0.0, 1.0),
               "The probability that the switches drop a packet; 0 ends it.");
  fields.Section("blackhole", blackhole,
                 "The switches always drop packets that match all of these settings.");
  fields.Require(!links.empty() || !switches.empty() || random_links > 0 || random_switches > 0 ||
                     share_of_links.has_value(),
                 "links",
                 "names no link; set one of links, switches, random_links, random_switches, "
                 "share_of_links");
  fields.Require(!flap.is_set() || state == State::kUnchanged, "state",
                 "a link that flaps has no other state; remove state or flap");
  fields.Require(!flap.is_set() || flap.until > at, "flap",
                 "ends when it begins, or before; until is a time like at, not a duration");
  fields.Require(!silent || changes_state(), "silent", "only state and flap can be silent");
  fields.Require(direction == LinkChange::Direction::kBoth || (!rate && !delay), "direction",
                 "rate and delay change in both directions");
  fields.Require(
      concerns_links() || concerns_switches() || blackhole.until, "state",
      "nothing changes; set state, rate, delay or loss of links, or drop or blackhole of "
      "switches");
  fields.Require(
      !concerns_links() || !concerns_switches(), drop ? "drop" : "blackhole",
      "concerns switches, but state, rate, delay and loss concern links; make two entries");
  fields.Require(!concerns_switches() || (links.empty() && random_links == 0 && !share_of_links),
                 !links.empty()     ? "links"
                 : random_links > 0 ? "random_links"
                                    : "share_of_links",
                 "drop and blackhole concern switches; name these in switches, and the links over "
                 "which packets arrive in blackhole.links");
  fields.Require(!blackhole.until || *blackhole.until > at, "blackhole",
                 "ends when it begins, or before; until is a time like at, not a duration");
}

namespace {

LinkEvent EventOf(const ScheduledChange& change, uint32_t link, std::optional<bool> up) {
  LinkEvent event{.at = Time{} + change.at,
                  .link = link,
                  .up = up,
                  .rate = change.rate,
                  .delay = change.delay,
                  .loss = change.loss,
                  .bit_errors = change.bit_errors,
                  .lose_every = change.lose_every};
  if (change.bursts.to_bad) {
    event.bursts = BurstLoss{*change.bursts.to_bad, change.bursts.to_good, change.bursts.bad};
  }
  event.direction = change.direction;
  event.silent = change.silent;
  return event;
}

}  // namespace

std::vector<LinkEvent> Resolve(const std::vector<ScheduledChange>& changes, uint64_t seed,
                               std::string_view path, const Graph& graph,
                               Diagnostics& diagnostics) {
  std::vector<LinkEvent> events;
  for (size_t i = 0; i < changes.size(); ++i) {
    const ScheduledChange& change = changes[i];
    if (!change.concerns_links()) continue;
    const std::string entry = fmt::format("{}[{}]", path, i);
    CheckDraw(change, entry, diagnostics);
    std::optional<bool> up;
    if (change.state != ScheduledChange::State::kUnchanged) {
      up = change.state == ScheduledChange::State::kUp;
    }
    for (const size_t link : LinksOf(change, seed, i, entry, graph, diagnostics)) {
      CheckNoBetter(change, graph.links[link], entry, diagnostics);
      CheckReceivers(change, graph.links[link], entry, graph, diagnostics);
      const auto number = static_cast<uint32_t>(link);
      if (change.flap.is_set()) {
        AddFlaps(change, number, Rng::Stream(seed, "flap", uint64_t{i} << 32 | number), events);
      }
      if (up || change.rate || change.delay || change.loses()) {
        events.push_back(EventOf(change, number, up));
      }
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
    CheckDraw(change, entry, diagnostics);
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
