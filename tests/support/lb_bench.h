// SPDX-License-Identifier: Apache-2.0
// A load balancer on a real, idle switch or host of its own. Tests ask its policy at chosen times;
// the policy sees all that it would see in a network.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine.h"
#include "fabric/host.h"
#include "fabric/paths.h"
#include "fabric/switch.h"
#include "lb/parts/load_balancer.h"

namespace heddle {

// Reads the settings of an experiment: "ecmp" or "{kind: letflow, gap: 100us}". Settings with
// mistakes fail the test.
Chosen<LoadBalancer> BalancerFrom(std::string_view settings, const FabricShape& fabric = {});

// A data packet to a host behind the uplinks.
Packet LbPacket(uint32_t tuple_hash, uint32_t payload = 1460);

// `count` tuple hashes as of flows between random hosts and ports.
std::vector<uint32_t> RandomTuples(uint64_t seed, size_t count);

// The far end of a bench's wires. It takes everything and does nothing.
class LbSink final : public Node {
 public:
  void Run(const Window& window) override;
  Time Due() const override { return arrivals_.Next(); }
};

// Leaf 0, whose ports 0 .. n-1 are uplinks towards hosts 1, 2, ..., on leaves 1, 2, ..., and whose
// port n leads to host 0.
class LbSwitch {
 public:
  struct Shape {
    std::vector<BitRate> uplinks = std::vector<BitRate>(4, 100_Gbps);
    SwitchId id = 0;
    uint64_t seed = 1;
    uint32_t path_divisor = 1;
    size_t remote_leaves = 1;
    // The next hops of the uplinks, by remote leaf; those not given have the capacity of the
    // uplink.
    std::vector<std::vector<NextHop>> next_hops = {};
    std::vector<Way> ways = {};  // By uplink, to all remote leaves; empty: unknown.
    FabricShape fabric = {};
  };

  explicit LbSwitch(std::string_view settings) : LbSwitch(settings, Shape{}) {}
  LbSwitch(std::string_view settings, Shape shape);
  ~LbSwitch();

  // Calls `ask` at `at`, after everything else that is due then. Calls must be in the order of
  // time.
  using Question = std::function<void(SwitchView&, SwitchPolicy&)>;
  void At(Time at, const Question& ask);

  // The policy's decision at `at`; `live` are some of the uplinks, by default all.
  Decision Decide(const Packet& packet, Time at, std::span<const PortIndex> live);
  PortIndex PortFor(const Packet& packet, Time at, std::span<const PortIndex> live);
  PortIndex PortFor(const Packet& packet, Time at = {}) { return PortFor(packet, at, uplinks_); }

  std::span<const PortIndex> uplinks() const { return uplinks_; }
  const SwitchPolicy& policy() const;
  int64_t Count(std::string_view counter) const;

 private:
  class Prompter;
  // The map of the uplinks that the shape describes.
  struct Map final : FabricMap {
    std::vector<Way> ways;
    std::optional<Way> WayTo(SwitchId, PortIndex port, uint16_t leaf) const override {
      if (leaf == 0 || port >= ways.size()) return std::nullopt;
      return ways[port];
    }
    std::optional<SwitchId> PeerOf(SwitchId, PortIndex) const override { return std::nullopt; }
    Bytes BufferOf(SwitchId, PortIndex) const override { return 375_KB; }
  };

  void MakePorts(const Shape& shape);
  void TellNextHops();

  const Shape shape_;
  Prompter* prompter_;  // Owned by the switch.
  Engine engine_;
  Switch switch_;
  SwitchView view_;
  LbSink sink_;
  Map map_;
  std::vector<PortIndex> uplinks_;
  std::vector<uint16_t> leaf_of_host_;
  std::vector<PortIndex> live_;  // The live uplinks of the last decision.
  uint32_t version_ = 1;
};

// The host of a leaf, with the given paths to others.
class LbHost {
 public:
  LbHost(std::string_view settings, const PathTable& paths, HostId id = 0, uint64_t seed = 1,
         const FabricShape& fabric = {});
  ~LbHost();

  bool has_policy() const;
  bool Wants(HostPolicy::Hook hook) const { return host_.Wants(hook); }
  const HostPolicy& policy() const;
  int64_t Count(std::string_view counter) const;

  using Question = std::function<void(HostView&, HostPolicy&)>;
  void At(Time at, const Question& ask);

  // Starts a new flow to `dst`; sends a packet of it as the policy lets it go.
  HostFlow Start(HostId dst, FlowId id = 0, Time at = {});
  Packet Send(HostFlow& flow, uint32_t payload = 1460, Time at = {});

 private:
  class Prompter;

  Prompter* prompter_;  // Owned by the host.
  static constexpr uint16_t kLeafOfHost[] = {0, 1, 0, 1};

  Engine engine_;
  Host host_;
  HostView view_;
  LbSink sink_;
};

// Paths of these weights, with ids from 0, between host 0 on leaf 0 and host 1 on leaf 1; host 2 is
// on leaf 0 too.
PathTable PathsOfWeights(const std::vector<uint16_t>& weights);

}  // namespace heddle
