// SPDX-License-Identifier: Apache-2.0

#include "network/host_kinds.h"

#include <map>
#include <utility>

namespace heddle {

std::vector<std::vector<HostKind>> HostKindsOf(const Routing& routing) {
  std::vector<std::vector<HostKind>> kinds(routing.leaves());
  using Links = std::pair<Channel, Channel>;  // Up and down.
  std::vector<std::map<Links, size_t>> known(routing.leaves());
  for (size_t h = 0; h < routing.hosts(); ++h) {
    const HostId host = static_cast<HostId>(h);
    const uint16_t leaf = routing.LeafIndexOf(host);
    const Links links{routing.HostUplink(host), routing.HostDownlink(host)};
    const auto [kind, is_new] = known[leaf].try_emplace(links, kinds[leaf].size());
    if (is_new) {
      kinds[leaf].push_back({host, std::nullopt});
    } else if (!kinds[leaf][kind->second].second) {
      kinds[leaf][kind->second].second = host;
    }
  }
  return kinds;
}

}  // namespace heddle
