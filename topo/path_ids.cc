// SPDX-License-Identifier: Apache-2.0

#include "topo/path_ids.h"

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

  // Of what remains of paths that have come to a switch.
  struct Ids {
    std::set<uint32_t> through;  // They pass `via` there or later.
    std::set<uint32_t> past;     // They do not.
  };

  const Ids& From(SwitchId s) {
    if (const auto known = known_.find(s); known != known_.end()) return known->second;
    Ids ids;
    if (s == routing_.LeafOf(dst_)) {
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

}  // namespace

std::vector<uint16_t> PathIds(const Routing& routing, HostId src, HostId dst,
                              std::optional<SwitchId> via) {
  if (routing.LeafOf(src) == routing.LeafOf(dst)) return {};
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
