// SPDX-License-Identifier: Apache-2.0
// The topology `custom`: a network of any shape. An experiment lists its switches and links one by
// one or names a file with them; Build() makes the graph and reports the mistakes.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topo/links.h"
#include "topo/topology.h"

namespace heddle {

class Custom final : public Topology {
 public:
  struct Switch {
    std::string name;
    std::optional<int64_t> tier;

    void Declare(Fields& fields);
  };
  struct Link {
    std::string a;
    std::string b;
    std::optional<BitRate> rate;  // Not set: the rate of `link`.
    std::optional<Duration> delay;

    void Declare(Fields& fields);
  };

  std::optional<int64_t> hosts;
  std::vector<Switch> switches;
  std::vector<Link> links;
  LinkSettings link{10_Gbps, 1_us};
  std::string file;  // Replaces all of the above; see topo/link_file.h.

  void Declare(Fields& fields) override;
  void ResolveFiles(const std::string& folder) override;
  Graph Build(uint64_t seed, std::string_view path, FilesRead& files,
              Diagnostics& diagnostics) const override;
};

}  // namespace heddle
