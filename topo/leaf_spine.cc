// SPDX-License-Identifier: Apache-2.0

#include "topo/leaf_spine.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <span>

#include "core/random.h"

namespace heddle {
namespace {

constexpr int64_t kMaxLinks = 4'000'000;

// `count` of `all`, chosen at random, in ascending order.
std::vector<size_t> Draw(int64_t count, size_t all, Rng& rng) {
  std::vector<size_t> items(all);
  std::iota(items.begin(), items.end(), size_t{0});
  const size_t chosen = std::min(static_cast<size_t>(count), all);
  rng.MoveToFront(items, chosen);
  items.resize(chosen);
  std::ranges::sort(items);
  return items;
}

void Change(Graph::Link& link, const LinkChange& change) {
  const auto apply = [&](Channel& channel) {
    channel.rate = change.rate.value_or(channel.rate);
    channel.delay = change.delay.value_or(channel.delay);
  };
  // a is the lower end.
  if (change.direction != LinkChange::Direction::kDown) apply(link.a_to_b);
  if (change.direction != LinkChange::Direction::kUp) apply(link.b_to_a);
}

// The links that one change names, as indices into the graph's.
class LinkPicker {
 public:
  LinkPicker(const LeafSpine& shape, const Graph& graph, const std::string& path,
             Diagnostics& diagnostics)
      : shape_(shape), graph_(graph), path_(path), diagnostics_(diagnostics) {}

  std::set<size_t> Pick(const LinkChange& change, Rng rng) {
    for (size_t i = 0; i < change.links.size(); ++i) PickNamed(change.links[i], i);
    for (size_t i = 0; i < change.spines.size(); ++i) {
      if (change.spines[i] >= shape_.spines) {
        diagnostics_.ErrorAt(fmt::format("{}.spines[{}]", path_, i),
                             fmt::format("there is no spine {}; there are {}, numbered from 0",
                                         change.spines[i], shape_.spines));
        continue;
      }
      PickSpine(static_cast<size_t>(change.spines[i]));
    }
    CheckCount("random_spines", change.random_spines, shape_.spines);
    for (const size_t s : Draw(change.random_spines, static_cast<size_t>(shape_.spines), rng)) {
      PickSpine(s);
    }
    const size_t fabric_links = graph_.links.size() - graph_.hosts;
    CheckCount("random_links", change.random_links, static_cast<int64_t>(fabric_links));
    for (const size_t l : Draw(change.random_links, fabric_links, rng)) {
      picked_.insert(graph_.hosts + l);
    }
    return picked_;
  }

 private:
  void PickNamed(const std::string& name, size_t index) {
    bool found = false;
    for (size_t l = 0; l < graph_.links.size(); ++l) {
      const std::string& link = graph_.links[l].name;
      // A name without the number of a parallel link means all of them.
      if (link != name && link.substr(0, link.find('#')) != name) continue;
      picked_.insert(l);
      found = true;
    }
    if (found) return;
    diagnostics_.ErrorAt(
        fmt::format("{}.links[{}]", path_, index),
        fmt::format("no link is called \"{}\"; links are called host0-leaf0 to host{}-leaf{} and "
                    "leaf0-spine0 to leaf{}-spine{}",
                    name, graph_.hosts - 1, shape_.leaves - 1, shape_.leaves - 1,
                    shape_.spines - 1));
  }

  void PickSpine(size_t spine) {
    const size_t vertex = graph_.hosts + static_cast<size_t>(shape_.leaves) + spine;
    for (size_t l = 0; l < graph_.links.size(); ++l) {
      if (graph_.links[l].b == vertex) picked_.insert(l);
    }
  }

  void CheckCount(std::string_view name, int64_t count, int64_t all) {
    if (count <= all) return;
    diagnostics_.ErrorAt(fmt::format("{}.{}", path_, name),
                         fmt::format("{} are to be chosen, but there are only {}", count, all));
  }

  const LeafSpine& shape_;
  const Graph& graph_;
  const std::string& path_;
  Diagnostics& diagnostics_;
  std::set<size_t> picked_;
};

}  // namespace

void LinkSettings::Declare(Fields& fields) {
  fields.Add("rate", rate, {.at_least = 1_Mbps, .at_most = BitRate{10'000'000'000'000}},
             "Rate of each direction.");
  fields.Add(
      "delay", delay, {.above = Duration{0}, .at_most = 1_s},
      "Propagation delay plus the latency of the switch at the far end. Not zero: the delays "
      "are what lets parts of the network run apart.");
}

void LinkChange::Declare(Fields& fields) {
  fields.List("links", links, {}, "Names of links, such as leaf0-spine1 or host3-leaf0.");
  fields.List("spines", spines, AtLeast<int64_t>(0), "Spines all of whose links are meant.");
  fields.Add("random_spines", random_spines, AtLeast<int64_t>(0),
             "This many spines, chosen by the seed, all of whose links are meant.");
  fields.Add("random_links", random_links, AtLeast<int64_t>(0),
             "This many leaf-spine links, chosen by the seed.");
  fields.Choice("direction", direction,
                {{"both", Direction::kBoth}, {"up", Direction::kUp}, {"down", Direction::kDown}},
                "Which way; up is towards the spine.");
  fields.AddOr("unchanged", "rate", rate,
               {.at_least = 1_Mbps, .at_most = BitRate{10'000'000'000'000}}, "Their rate.");
  fields.AddOr("unchanged", "delay", delay, {.above = Duration{0}, .at_most = 1_s}, "Their delay.");
  fields.Require(!links.empty() || !spines.empty() || random_spines > 0 || random_links > 0,
                 "links", "names no link; set one of links, spines, random_spines, random_links");
  fields.Require(rate || delay, "rate", "nothing differs; set rate, delay or both");
}

void LeafSpine::Declare(Fields& fields) {
  fields.Add("leaves", leaves, Between<int64_t>(1, kMaxSwitches / 2), "Leaf switches.",
             Fields::kRequired);
  fields.Add("spines", spines, Between<int64_t>(1, kMaxSwitches / 2), "Spine switches.",
             Fields::kRequired);
  fields.Add("hosts_per_leaf", hosts_per_leaf, Between<int64_t>(1, kMaxPorts),
             "Hosts on each leaf.", Fields::kRequired);
  fields.Add("links_per_pair", links_per_pair, Between<int64_t>(1, 64),
             "Parallel links between a leaf and a spine.");
  fields.Section("host_link", host_link, "The link between a host and its leaf.");
  fields.Section("fabric_link", fabric_link, "The links between leaves and spines.");
  fields.Sections("asymmetry", asymmetry,
                  "Links that differ from the others; later entries win over earlier ones.");
  fields.Section("port", port, "The ports of all switches.");
  fields.Require(leaves * hosts_per_leaf <= kMaxHosts, "hosts_per_leaf",
                 fmt::format("more than {} hosts in all", kMaxHosts));
  fields.Require(leaves * hosts_per_leaf >= 2, "hosts_per_leaf", "at least two hosts are needed");
  fields.Require(
      hosts_per_leaf + spines * links_per_pair <= kMaxPorts && leaves * links_per_pair <= kMaxPorts,
      "links_per_pair", fmt::format("a switch would have more than {} ports", kMaxPorts));
  fields.Require(leaves * spines * links_per_pair <= kMaxLinks, "spines",
                 fmt::format("more than {} links in all", kMaxLinks));
}

Graph LeafSpine::Build(uint64_t seed, std::string_view path, Diagnostics& diagnostics) const {
  Graph graph;
  graph.hosts = static_cast<size_t>(leaves * hosts_per_leaf);
  const uint32_t first_leaf = static_cast<uint32_t>(graph.hosts);
  const uint32_t first_spine = first_leaf + static_cast<uint32_t>(leaves);
  for (int64_t l = 0; l < leaves; ++l) graph.switches.push_back({fmt::format("leaf{}", l), 0});
  for (int64_t s = 0; s < spines; ++s) graph.switches.push_back({fmt::format("spine{}", s), 1});
  for (uint32_t h = 0; h < graph.hosts; ++h) {
    const uint32_t leaf = h / static_cast<uint32_t>(hosts_per_leaf);
    graph.links.push_back({h, first_leaf + leaf, host_link.channel(), host_link.channel(),
                           fmt::format("host{}-leaf{}", h, leaf)});
  }
  for (uint32_t l = 0; l < leaves; ++l) {
    for (uint32_t s = 0; s < spines; ++s) {
      for (int64_t n = 0; n < links_per_pair; ++n) {
        const std::string number = links_per_pair > 1 ? fmt::format("#{}", n) : "";
        graph.links.push_back({first_leaf + l, first_spine + s, fabric_link.channel(),
                               fabric_link.channel(),
                               fmt::format("leaf{}-spine{}{}", l, s, number)});
      }
    }
  }
  for (size_t i = 0; i < asymmetry.size(); ++i) {
    const std::string entry = fmt::format("{}.asymmetry[{}]", path, i);
    LinkPicker picker(*this, graph, entry, diagnostics);
    for (const size_t l : picker.Pick(asymmetry[i], Rng::Stream(seed, "asymmetry", i))) {
      Change(graph.links[l], asymmetry[i]);
    }
  }
  return graph;
}

const Kinds<Topology>& Topologies() {
  static const Kinds<Topology> kinds = [] {
    Kinds<Topology> all("topology");
    all.Add<LeafSpine>(
        {"leaf_spine", "Every leaf is linked to every spine; hosts hang on leaves.", ""});
    return all;
  }();
  return kinds;
}

}  // namespace heddle
