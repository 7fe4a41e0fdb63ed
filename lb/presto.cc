// SPDX-License-Identifier: Apache-2.0
// Presto (He et al., SIGCOMM 2015), the sending side: the host cuts each flow into flowcells of 64
// KB and sends them over all paths in turn. Its receiver, which hides the reordering at the
// boundaries of cells from TCP, is a resequencer (transport/presto_gro.h).

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/random.h"
#include "lb/follow_path.h"
#include "lb/load_balancer.h"

namespace heddle {
namespace {

constexpr int64_t kLongestOrder = 4096;

enum class Weights { kEqual, kCapacity };

struct PrestoSettings {
  Bytes cell{65'536};
  Weights weights = Weights::kCapacity;
};

// The paths in the order in which cells take them: each as often as its weight says, spread evenly.
std::vector<uint16_t> Interleave(std::span<const PathChoice> paths, Weights weights) {
  std::vector<uint16_t> order;
  std::vector<int64_t> credit(paths.size(), 0);
  int64_t total = 0;
  for (const PathChoice& path : paths) total += path.weight;
  // Capacities without a small common measure are rounded, so that the order stays short.
  const auto weight = [&, unit = std::max<int64_t>(1, total / kLongestOrder)](size_t i) -> int64_t {
    return std::max<int64_t>(1, paths[i].weight / unit);
  };
  const auto is_like_first = [&](const PathChoice& path) {
    return path.weight == paths.front().weight;
  };
  if (weights == Weights::kEqual || std::ranges::all_of(paths, is_like_first)) {
    for (const PathChoice& path : paths) order.push_back(path.id);
    return order;
  }
  total = 0;
  for (size_t i = 0; i < paths.size(); ++i) total += weight(i);
  // Smooth weighted round robin: every path earns its weight, the richest goes and pays for all.
  for (int64_t n = 0; n < total; ++n) {
    for (size_t i = 0; i < paths.size(); ++i) credit[i] += weight(i);
    const size_t richest = static_cast<size_t>(std::ranges::max_element(credit) - credit.begin());
    credit[richest] -= total;
    order.push_back(paths[richest].id);
  }
  return order;
}

class PrestoHost final : public HostPolicy {
 public:
  PrestoHost(const PrestoSettings& settings, Rng rng) : settings_(settings), rng_(rng) {}

  uint32_t hooks() const override { return kFlows | kSend; }

  void OnFlowStart(HostView& view, HostFlow& flow) override {
    State& state = flow.State<State>();
    Route(view, flow, state);
    // Flows that all began with the same path would collide on it.
    if (!state.order->empty()) {
      state.next = rng_.Below(static_cast<uint32_t>(state.order->size()));
    }
  }

  void OnSend(HostView& view, HostFlow& flow, Packet& packet) override {
    State& state = flow.State<State>();
    if (state.version != view.PathsVersion()) Route(view, flow, state);
    if (state.order->empty()) return;
    const int64_t bytes = packet.data.payload;
    if (state.bytes + bytes > settings_.cell.count) {
      state.bytes = 0;
      state.next = static_cast<uint32_t>((state.next + 1) % state.order->size());
      ++state.cell;
      ++cells_;
    }
    state.bytes += bytes;
    packet.path = (*state.order)[state.next];
    packet.SetScheme(state.cell);
  }

  size_t StateBytes() const override {
    size_t bytes = 0;
    for (const auto& [paths, order] : orders_) bytes += order.size() * sizeof(uint16_t);
    return bytes;
  }
  std::vector<Counter> Counters() const override { return {{"cells", cells_}}; }

 private:
  struct State {
    const std::vector<uint16_t>* order;
    int64_t bytes;     // Of the cell under way.
    uint32_t next;     // Of `order`: what that cell takes.
    uint32_t version;  // Of the paths that `order` was made from.
    uint32_t cell;
  };

  // Destinations on one leaf share their paths, and so an entry.
  void Route(HostView& view, const HostFlow& flow, State& state) {
    if (version_ != view.PathsVersion()) orders_.clear();
    version_ = view.PathsVersion();
    state.version = version_;
    const std::span<const PathChoice> paths = view.PathsTo(flow.dst);
    const auto [entry, is_new] = orders_.try_emplace(paths.data());
    if (is_new) entry->second = Interleave(paths, settings_.weights);
    state.order = &entry->second;
    if (state.next >= state.order->size()) state.next = 0;
  }

  const PrestoSettings settings_;
  Rng rng_;
  uint32_t version_ = 0;
  std::map<const PathChoice*, std::vector<uint16_t>> orders_;  // Only for finding.
  int64_t cells_ = 0;
};

class PrestoBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.Add("cell", settings_.cell, {.at_least = 1_B, .at_most = Bytes{1'000'000'000}},
               "Payload bytes that stay on one path.");
    fields.Choice("weights", settings_.weights,
                  {{"capacity", Weights::kCapacity}, {"equal", Weights::kEqual}},
                  "capacity: paths take turns in proportion to their slowest link, as the paper's "
                  "controller arranges; equal: one cell each.");
  }

  std::unique_ptr<SwitchPolicy> ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<FollowPath>(EcmpSalt(id, seed));
  }
  std::unique_ptr<HostPolicy> ForHost(HostId id, uint64_t seed) const override {
    return std::make_unique<PrestoHost>(settings_, Rng::Stream(seed, "presto", id));
  }

 private:
  PrestoSettings settings_;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<PrestoBalancer>(
    {"presto", "Hosts send their flows in cells of 64 KB over all paths in turn.",
     "He et al., SIGCOMM 2015"});

}  // namespace
}  // namespace heddle
