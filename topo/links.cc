// SPDX-License-Identifier: Apache-2.0

#include "topo/links.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace heddle {
namespace {

void Change(Graph::Link& link, const LinkChange& change) {
  const auto apply = [&](Channel& channel) {
    channel.rate = change.rate.value_or(channel.rate);
    channel.delay = change.delay.value_or(channel.delay);
  };
  if (change.direction != LinkChange::Direction::kDown) apply(link.a_to_b);
  if (change.direction != LinkChange::Direction::kUp) apply(link.b_to_a);
}

std::vector<VertexId> TopVertices(const Graph& graph) {
  const int top = std::ranges::max(graph.switches, {}, &Graph::SwitchVertex::tier).tier;
  std::vector<VertexId> vertices;
  for (size_t s = 0; s < graph.switches.size(); ++s) {
    if (graph.switches[s].tier == top) vertices.push_back(graph.VertexOfSwitch(s));
  }
  return vertices;
}

std::string_view WithoutNumber(std::string_view link) { return link.substr(0, link.find('#')); }

// Example: "host0-leaf0 to host7-leaf1 and leaf0-spine0 to leaf1-spine3".
std::string NamesOfLinks(const Graph& graph) {
  std::string names;
  for (size_t first = 0; first < graph.links.size();) {
    size_t last = first;
    while (last + 1 < graph.links.size() &&
           graph.TierOf(graph.links[last + 1].a) == graph.TierOf(graph.links[first].a)) {
      ++last;
    }
    names +=
        fmt::format("{}{} to {}", first == 0 ? "" : " and ", WithoutNumber(graph.links[first].name),
                    WithoutNumber(graph.links[last].name));
    first = last + 1;
  }
  return names;
}

// What may be meant by a name that no link has.
std::string MeantBy(std::string_view name, const Graph& graph) {
  for (const Graph::Link& link : graph.links) {
    if (fmt::format("{}-{}", graph.NameOf(link.b), graph.NameOf(link.a)) != name) continue;
    return fmt::format("did you mean \"{}\"?", WithoutNumber(link.name));
  }
  return "links are called " + NamesOfLinks(graph);
}

}  // namespace

void LinkPicker::PickNamed(const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    bool found = false;
    for (size_t l = 0; l < graph_.links.size(); ++l) {
      const std::string& link = graph_.links[l].name;
      if (link != names[i] && WithoutNumber(link) != names[i]) continue;
      picked_.insert(l);
      found = true;
    }
    if (found) continue;
    diagnostics_.ErrorAt(
        fmt::format("{}.links[{}]", path_, i),
        fmt::format("no link is called \"{}\"; {}", names[i], MeantBy(names[i], graph_)));
  }
}

void LinkPicker::PickAllOf(VertexId vertex) {
  for (size_t l = 0; l < graph_.links.size(); ++l) {
    if (graph_.links[l].a == vertex || graph_.links[l].b == vertex) picked_.insert(l);
  }
}

void LinkPicker::PickRandom(int64_t count, Rng& rng) {
  std::vector<size_t> fabric;
  for (size_t l = 0; l < graph_.links.size(); ++l) {
    if (!graph_.IsHost(graph_.links[l].a) && !graph_.IsHost(graph_.links[l].b)) fabric.push_back(l);
  }
  for (const size_t i : Draw("random_links", count, fabric.size(), rng)) picked_.insert(fabric[i]);
}

std::vector<size_t> LinkPicker::Draw(std::string_view key, int64_t count, size_t all, Rng& rng) {
  if (count > static_cast<int64_t>(all)) {
    diagnostics_.ErrorAt(fmt::format("{}.{}", path_, key),
                         fmt::format("{} are to be chosen, but there are only {}", count, all));
  }
  std::vector<size_t> items(all);
  std::iota(items.begin(), items.end(), size_t{0});
  const size_t chosen = std::min(static_cast<size_t>(count), all);
  rng.MoveToFront(items, chosen);
  items.resize(chosen);
  std::ranges::sort(items);
  return items;
}

void LinkSettings::Declare(Fields& fields) {
  fields.Add("rate", rate, kLinkRates, "Rate of each direction.");
  fields.Add("delay", delay, kLinkDelays,
             "Propagation delay plus the latency of the switch at the far end. Not zero, because "
             "nodes can be simulated independently only for as long as the shortest delay.");
}

void LinkChange::DeclareFor(std::string_view top, Fields& fields) {
  const std::string random = fmt::format("random_{}s", top);
  fields.List("links", links, {}, "Links by name: links of hosts or links between switches.");
  fields.List(fmt::format("{}s", top), tops, AtLeast<int64_t>(0),
              fmt::format("Numbers of {}s; the entry concerns all their links.", top));
  fields.Add(
      random, random_tops, AtLeast<int64_t>(0),
      fmt::format("The seed chooses this many {}s; the entry concerns all their links.", top));
  fields.Add("random_links", random_links, AtLeast<int64_t>(0),
             "The seed chooses this many links between switches.");
  fields.Choice("direction", direction,
                {{"both", Direction::kBoth}, {"up", Direction::kUp}, {"down", Direction::kDown}},
                fmt::format("The directions that differ; up is towards the {}.", top));
  fields.AddOr("unchanged", "rate", rate, kLinkRates, "Rate of these links.");
  fields.AddOr("unchanged", "delay", delay, kLinkDelays, "Delay of these links.");
  fields.Require(
      !links.empty() || !tops.empty() || random_tops > 0 || random_links > 0, "links",
      fmt::format("names no link; set one of links, {}s, {}, random_links", top, random));
  fields.Require(rate || delay, "rate", "nothing differs; set rate, delay or both");
}

void ApplyChange(const LinkChange& change, std::string_view top, size_t index, uint64_t seed,
                 const std::string& path, Graph& graph, Diagnostics& diagnostics) {
  const std::string entry = fmt::format("{}[{}]", path, index);
  const std::vector<VertexId> tops = TopVertices(graph);
  Rng rng = Rng::Stream(seed, "asymmetry", index);
  LinkPicker picker(graph, entry, diagnostics);
  picker.PickNamed(change.links);
  for (size_t i = 0; i < change.tops.size(); ++i) {
    if (static_cast<size_t>(change.tops[i]) < tops.size()) {
      picker.PickAllOf(tops[static_cast<size_t>(change.tops[i])]);
      continue;
    }
    diagnostics.ErrorAt(fmt::format("{}.{}s[{}]", entry, top, i),
                        fmt::format("there is no {} {}; there are {}, numbered from 0", top,
                                    change.tops[i], tops.size()));
  }
  const std::string random_tops = fmt::format("random_{}s", top);
  for (const size_t t : picker.Draw(random_tops, change.random_tops, tops.size(), rng)) {
    picker.PickAllOf(tops[t]);
  }
  picker.PickRandom(change.random_links, rng);
  for (const size_t l : picker.picked()) Change(graph.links[l], change);
}

}  // namespace heddle
