// SPDX-License-Identifier: Apache-2.0
// LetFlow (Vanini et al., NSDI 2017). A flow keeps its port until it has been silent for longer
// than the gap, then draws one at random. With a gap above the largest difference in path delay, no
// packet overtakes an earlier one of its flow. The draw ignores congestion on purpose: a slow path
// stretches the gaps between packets, which ends flowlets early and so moves traffic off that path.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/random.h"
#include "lb/load_balancer.h"

namespace heddle {
namespace {

enum class Detector { kTimestamp, kAgeBit };

struct LetFlowSettings {
  Duration gap = 500_us;
  int64_t slots = 65'536;
  Detector detector = Detector::kTimestamp;
};

class LetFlow final : public SwitchPolicy {
 public:
  LetFlow(const LetFlowSettings& settings, Rng rng)
      : gap_(settings.gap),
        detector_(settings.detector),
        rng_(rng),
        slots_(static_cast<size_t>(settings.slots)) {}

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    Slot& slot = slots_[packet.tuple_hash % slots_.size()];
    if (HasEnded(slot, view.now()) || !std::ranges::binary_search(candidates.ports, slot.port)) {
      // May draw the same port again.
      slot.port = candidates.ports[rng_.Below(static_cast<uint32_t>(candidates.ports.size()))];
      ++flowlets_;
    }
    slot.last = view.now();
    return Decision::Forward(slot.port);
  }

  // As in hardware: a port and, for the age bit, two bits.
  size_t StateBytes() const override { return slots_.size() * sizeof(Slot); }
  std::vector<Counter> Counters() const override { return {{"flowlets", flowlets_}}; }

 private:
  // Without a key, as in hardware: flows that collide keep each other's flowlet alive.
  struct Slot {
    Time last{-kNever.ps};
    PortIndex port = 0;
  };

  bool HasEnded(const Slot& slot, Time now) const {
    if (detector_ == Detector::kTimestamp) return now - slot.last > gap_;
    // A sweep at each multiple of the gap marks an entry, and ends it if the mark of the sweep
    // before still stands: two sweeps without a packet between them.
    return now.ps / gap_.ps - FloorOfGaps(slot.last) >= 2;
  }
  int64_t FloorOfGaps(Time at) const { return at.ps < 0 ? -2 : at.ps / gap_.ps; }

  const Duration gap_;
  const Detector detector_;
  Rng rng_;
  std::vector<Slot> slots_;
  int64_t flowlets_ = 0;
};

class LetFlowBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.Add("gap", settings_.gap, {.above = Duration{0}, .at_most = 10_s},
               "Silence after which a flow may change its path. 500us is the paper's, for 10Gbps; "
               "100us is common at 100Gbps.");
    fields.Add(
        "slots", settings_.slots, Between<int64_t>(1, 1 << 26),
        "Entries of each switch's flowlet table; flows that share one share their flowlets.");
    fields.Choice(
        "detector", settings_.detector,
        {{"timestamp", Detector::kTimestamp}, {"age_bit", Detector::kAgeBit}},
        "timestamp: a flowlet ends after exactly the gap; age_bit: as in hardware, after one "
        "to two gaps, by a periodic sweep.");
  }

  std::unique_ptr<SwitchPolicy> ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<LetFlow>(settings_, Rng::Stream(seed, "letflow", id));
  }

 private:
  LetFlowSettings settings_;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<LetFlowBalancer>(
    {"letflow", "A flow draws a new path at random after a pause in its packets.",
     "Vanini et al., NSDI 2017"});

}  // namespace
}  // namespace heddle
