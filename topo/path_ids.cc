// SPDX-License-Identifier: Apache-2.0

#include "topo/path_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace heddle {
namespace {

class Walker {
 public:
  Walker(const Routing& routing, HostId dst, std::optional<SwitchId> via)
      : routing_(routing), dst_(dst), via_(via) {}

  // The ids that the remaining hops of paths add up to, from a switch on.
  struct Ids {
    std::set<uint32_t> through;  // Ids of paths that pass `via` here or later.
    std::set<uint32_t> past;     // Ids of paths that do not.
  };

  const Ids& From(SwitchId s) {
    if (const auto known = known_.find(s); known != known_.end()) return known->second;
    Ids ids;
    if (routing_.IsAttached(s, dst_)) {
      ids.past.insert(0);
    } else {
      for (const PortIndex port : routing_.TableOf(s).Towards(dst_)) AddStep(s, port, ids);
    }
    if (s == via_) ids.through.merge(ids.past);
    if (s == via_) ids.past.clear();
    return known_.emplace(s, std::move(ids)).first->second;
  }

 private:
  void AddStep(SwitchId s, PortIndex port, Ids& ids) {
    const Ids& rest = From(routing_.SwitchAt(routing_.PortsOf(s)[port].peer));
    const uint32_t part = routing_.PathPart(s, port);
    for (const uint32_t id : rest.through) ids.through.insert(part + id);
    for (const uint32_t id : rest.past) ids.past.insert(part + id);
  }

  const Routing& routing_;
  const HostId dst_;
  const std::optional<SwitchId> via_;
  std::map<SwitchId, Ids> known_;
};

// Walks every path from a leaf to a host, and back again.
class MirrorCheck {
 public:
  MirrorCheck(const Routing& routing, HostId src, HostId dst)
      : routing_(routing), src_(src), dst_(dst) {}

  // Returns the first switch at which the way back would take another link than the way there.
  std::optional<SwitchId> WalkFrom(SwitchId s, uint32_t id) {
    passed_.push_back(s);
    std::optional<SwitchId> strayed;
    if (routing_.IsAttached(s, dst_)) {
      strayed = WalkBack(id);
    } else {
      for (const PortIndex port : routing_.TableOf(s).Towards(dst_)) {
        if (strayed) break;
        strayed = WalkFrom(routing_.SwitchAt(routing_.PortsOf(s)[port].peer),
                           id + routing_.PathPart(s, port));
      }
    }
    passed_.pop_back();
    return strayed;
  }

 private:
  std::optional<SwitchId> WalkBack(uint32_t id) const {
    for (size_t i = passed_.size() - 1; i > 0; --i) {
      if (!LeadsBack(passed_[i], passed_[i - 1], id)) return passed_[i];
    }
    return std::nullopt;
  }

  bool LeadsBack(SwitchId s, SwitchId to, uint32_t id) const {
    const RoutingTable& table = routing_.TableOf(s);
    const std::span<const PortIndex> ports = table.Towards(src_);
    const auto leads = [&](PortIndex port) {
      const VertexId peer = routing_.PortsOf(s)[port].peer;
      return !routing_.IsHost(peer) && routing_.SwitchAt(peer) == to;  // src may have a link to s.
    };
    if (!table.uplinks.empty()) {
      const PortIndex named = table.uplinks[id / table.path_divisor % table.uplinks.size()];
      if (std::ranges::binary_search(ports, named)) return leads(named);
    }
    return std::ranges::all_of(ports, leads);  // The switch chooses, which makes no difference.
  }

  const Routing& routing_;
  const HostId src_;
  const HostId dst_;
  std::vector<SwitchId> passed_;
};

// Returns the uplinks of `s` that begin a shortest path to `dst`; none if the path goes up no more.
std::vector<PortIndex> UplinksTowards(const Routing& routing, SwitchId s, HostId dst) {
  std::vector<PortIndex> ports;
  if (routing.IsAttached(s, dst)) return ports;
  const RoutingTable& table = routing.TableOf(s);
  std::ranges::set_intersection(table.Towards(dst), table.uplinks, std::back_inserter(ports));
  return ports;
}

SwitchId Behind(const Routing& routing, SwitchId s, PortIndex port) {
  return routing.SwitchAt(routing.PortsOf(s)[port].peer);
}

// Returns the number of uplinks on a path from `s` to `dst`.
size_t CountUplinks(const Routing& routing, SwitchId s, HostId dst) {
  size_t count = 0;
  for (std::vector<PortIndex> up; !(up = UplinksTowards(routing, s, dst)).empty(); ++count) {
    s = Behind(routing, s, up.front());
  }
  return count;
}

}  // namespace

uint16_t PathIdOf(const Routing& routing, HostId src, HostId dst, std::span<const int64_t> uplinks,
                  const std::function<void(std::string_view)>& refuse) {
  SwitchId at = routing.LeafOf(src);
  const size_t needed = CountUplinks(routing, at, dst);
  if (needed != uplinks.size()) {
    refuse(fmt::format("names {} uplinks, but a path from host {} to host {} has {}{}",
                       uplinks.size(), src, dst, needed,
                       needed == 0 ? "; there is nothing to choose, leave it empty" : ""));
    return kNoPath;
  }
  uint32_t id = 0;
  for (const int64_t uplink : uplinks) {
    const std::vector<PortIndex>& all = routing.TableOf(at).uplinks;
    const bool exists = uplink >= 0 && static_cast<size_t>(uplink) < all.size();
    const PortIndex port = exists ? all[static_cast<size_t>(uplink)] : PortIndex{0};
    if (!exists || !std::ranges::binary_search(UplinksTowards(routing, at, dst), port)) {
      refuse(fmt::format(
          "no shortest path from host {} to host {} takes uplink {}; that switch has {}, numbered "
          "from 0",
          src, dst, uplink, all.size()));
      return kNoPath;
    }
    id += routing.PathPart(at, port);
    at = Behind(routing, at, port);
  }
  return static_cast<uint16_t>(id);
}

std::string FindUnmirroredPath(const Routing& routing, const Graph& graph) {
  for (const HostId src : routing.first_hosts()) {
    for (const HostId dst : routing.first_hosts()) {
      const auto strayed = MirrorCheck(routing, src, dst).WalkFrom(routing.LeafOf(src), 0);
      if (!strayed) continue;
      return graph.NameOf(graph.VertexOfHost(src)) + " to " +
             graph.NameOf(graph.VertexOfHost(dst)) + " cannot go back through " +
             graph.switches[*strayed].name;
    }
  }
  return "";
}

std::vector<uint16_t> PathIds(const Routing& routing, HostId src, HostId dst,
                              std::optional<SwitchId> via) {
  if (routing.IsAttached(routing.LeafOf(src), dst)) return {};
  Walker walker(routing, dst, via);
  const Walker::Ids& ids = walker.From(routing.LeafOf(src));
  std::vector<uint32_t> found(ids.past.begin(), ids.past.end());
  if (via) {
    found.clear();
    std::ranges::set_difference(ids.through, ids.past, std::back_inserter(found));
  }
  return {found.begin(), found.end()};
}

}  // namespace heddle
