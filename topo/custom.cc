// SPDX-License-Identifier: Apache-2.0

#include "topo/custom.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "settings/files.h"
#include "topo/graph_maker.h"
#include "topo/link_file.h"

namespace heddle {
namespace {

constexpr int64_t kMaxTier = 15;

// Names stand in CSV files, which have no quotes.
bool IsPlain(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '.' || c == '-';
  });
}

// Makes a graph from names, and reports mistakes at the settings below `path`.
class NamedGraph {
 public:
  NamedGraph(int64_t hosts, std::string_view path, Diagnostics& diagnostics)
      : path_(path), diagnostics_(diagnostics), hosts_(hosts), maker_(static_cast<size_t>(hosts)) {
    for (size_t h = 0; h < maker_.graph().hosts; ++h) {
      AddVertex(fmt::format("host{}", h), maker_.graph().VertexOfHost(h));
    }
  }

  void AddSwitch(size_t index, const Custom::Switch& added) {
    const std::string at = fmt::format("switches[{}].name", index);
    if (!IsPlain(added.name)) {
      Fail(at, fmt::format("\"{}\" is no name; use letters, digits and _ . -", added.name));
    } else if (!AddVertex(added.name, maker_.graph().VertexOfSwitch(switches_.size()))) {
      Fail(at, fmt::format("something else is called \"{}\"", added.name));
    }
    std::optional<int> tier;
    if (added.tier) tier = static_cast<int>(*added.tier);
    switches_.push_back(added.name);
    maker_.AddSwitch(added.name, tier);
  }

  void AddLink(size_t index, const Custom::Link& link, const LinkSettings& usual) {
    const std::string at = fmt::format("links[{}]", index);
    const auto a = Find(at + ".a", link.a);
    const auto b = Find(at + ".b", link.b);
    if (!a || !b) return;
    const Channel channel{link.rate.value_or(usual.rate), link.delay.value_or(usual.delay)};
    if (const auto mistake = maker_.AddLink(*a, *b, channel)) Fail(at, *mistake);
  }

  Graph Finish() {
    if (!sound_) return {};
    if (const auto mistake = maker_.Finish()) Fail("links", *mistake);
    return maker_.Take();
  }

 private:
  bool AddVertex(const std::string& name, VertexId vertex) {
    return vertices_.emplace(name, vertex).second;
  }

  std::optional<VertexId> Find(const std::string& at, const std::string& name) {
    if (const auto found = vertices_.find(name); found != vertices_.end()) return found->second;
    constexpr size_t kFew = 32;  // Not to fill the screen.
    const std::string known = switches_.size() <= kFew ? Suggestion(name, switches_) : "";
    Fail(at, fmt::format("no switch is called \"{}\", and hosts are host0 to host{}{}", name,
                         hosts_ - 1, known));
    return std::nullopt;
  }

  void Fail(const std::string& at, const std::string& message) {
    sound_ = false;
    diagnostics_.ErrorAt(fmt::format("{}.{}", path_, at), message);
  }

  const std::string_view path_;
  Diagnostics& diagnostics_;
  const int64_t hosts_;
  std::map<std::string, VertexId> vertices_;  // By name.
  std::vector<std::string> switches_;
  GraphMaker maker_;
  bool sound_ = true;
};

}  // namespace

void Custom::Switch::Declare(Fields& fields) {
  fields.Add("name", name, "Letters, digits and _ . -", Fields::kRequired);
  fields.AddOr("auto", "tier", tier, Between<int64_t>(0, kMaxTier),
               "Links to a higher tier are uplinks. auto: the number of links to the nearest "
               "switch that has hosts.");
}

void Custom::Link::Declare(Fields& fields) {
  fields.Add("a", a, "One end: a host, such as host0, or the name of a switch.", Fields::kRequired);
  fields.Add("b", b, "The other end.", Fields::kRequired);
  fields.AddOr("usual", "rate", rate, kLinkRates,
               "Rate of each direction. usual: the rate that link sets.");
  fields.AddOr("usual", "delay", delay, kLinkDelays,
               "Delay of each direction. usual: the delay that link sets.");
}

void Custom::Declare(Fields& fields) {
  fields.AddOr("none", "hosts", hosts, Between<int64_t>(2, kMaxHosts),
               "The number of hosts, called host0, host1 and so on. Each host has one link, or "
               "several with the same rate and delay.");
  fields.Sections("switches", switches, "The switches.");
  fields.Sections("links", links, "The links. Each has two directions.");
  fields.Section("link", link, "Rate and delay of links that set none.");
  fields.Add("file", file,
             "A file that describes the network, instead of hosts, switches and links: the link "
             "list of simulators built on ns-3, relative to the experiment's folder.");
  fields.Section("port", port, "The ports of all switches.");
  const bool any = hosts || !switches.empty() || !links.empty();
  const bool all = hosts && !switches.empty() && !links.empty();
  fields.Require(file.empty() || !any, "file",
                 "describes the whole network; leave out hosts, switches and links");
  fields.Require(!file.empty() || all, "links", "set hosts, switches and links, or file");
  fields.Require(switches.size() <= static_cast<size_t>(kMaxSwitches), "switches",
                 fmt::format("more than {} switches", kMaxSwitches));
}

void Custom::ResolveFiles(const std::string& folder) {
  if (!file.empty()) file = AbsolutePath(folder, file);
}

Graph Custom::Build(uint64_t /*seed*/, std::string_view path, FilesRead& files,
                    Diagnostics& diagnostics) const {
  if (!file.empty()) return ReadLinkFile(file, fmt::format("{}.file", path), files, diagnostics);
  NamedGraph graph(*hosts, path, diagnostics);
  for (size_t s = 0; s < switches.size(); ++s) graph.AddSwitch(s, switches[s]);
  for (size_t l = 0; l < links.size(); ++l) graph.AddLink(l, links[l], link);
  return graph.Finish();
}

}  // namespace heddle
