// SPDX-License-Identifier: Apache-2.0
// Parts of load balancers at hosts that give every packet an entropy of its own: the order in which
// entropies are used, penalties of entropies, and the echo that ACKs bring back. The names and
// rules are those of uet-htsim (August 2025).

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/random.h"
#include "core/ring.h"
#include "fabric/host_policy.h"
#include "lb/parts/follow_path.h"
#include "lb/parts/load_balancer.h"

namespace heddle {

// The fate of the packet that had an entropy.
enum class EntropyNews : uint8_t { kGood, kMarked, kTrimmed, kTimeout };

// The header of ACKs and NACKs, about the data packet that they answer.
struct EntropyEcho {
  uint16_t entropy;
  bool is_set;
  bool marked;
  bool at_last_hop;  // A packet trimmed there says nothing about the paths before.
};

// Walks through `paths` entropies, a power of two. Each round uses every entropy once, in an order
// that a random number changes.
class EntropyWalk {
 public:
  void Start(uint32_t paths, Rng& rng) {
    mask_ = static_cast<uint16_t>(paths - 1);
    upper_ = static_cast<uint16_t>(rng.Below(65'536)) & static_cast<uint16_t>(~mask_);
    at_ = 0;
    flip_ = static_cast<uint16_t>(rng.Below(65'536)) & mask_;
  }
  uint16_t Current() const { return static_cast<uint16_t>((at_ ^ flip_) & mask_); }
  void Advance(Rng& rng) {
    at_ = static_cast<uint16_t>((at_ + 1) & mask_);
    if (at_ == 0) flip_ = static_cast<uint16_t>(rng.Below(65'536)) & mask_;
  }
  // The entropy whose lower bits are `lower`.
  uint16_t Whole(uint16_t lower) const { return static_cast<uint16_t>(upper_ | lower); }
  uint16_t Lower(uint16_t entropy) const { return entropy & mask_; }

 private:
  uint16_t mask_ = 0;
  uint16_t upper_ = 0;  // Bits that never change.
  uint16_t at_ = 0;
  uint16_t flip_ = 0;
};

// Entropies with a penalty are passed over; each time costs them one point.
class EntropyPenalties {
 public:
  static constexpr uint8_t kMost = 15;

  // A choice takes a point off the first entropy that it passes over, or off all of them.
  enum class Forgives : uint8_t { kFirst, kAll };

  // No entropy has more than `most` points.
  explicit EntropyPenalties(uint8_t most = kMost, Forgives forgives = Forgives::kFirst)
      : most_(most), forgives_(forgives) {}

  void Start(uint32_t paths) { points_.assign(paths, 0); }

  void Note(uint16_t lower, EntropyNews news) {
    static constexpr uint8_t kPoints[] = {0, 1, 4, kMost};
    const int sum = points_[lower] + kPoints[static_cast<size_t>(news)];
    points_[lower] = static_cast<uint8_t>(sum < most_ ? sum : most_);
  }

  // Only the first one passed over in a choice loses a point, or each one. If all have some, the
  // walk goes once around.
  uint16_t Choose(EntropyWalk& walk, Rng& rng) {
    for (size_t passed = 0; passed < points_.size(); ++passed) {
      uint8_t& points = points_[walk.Current()];
      if (points == 0) break;
      if (passed == 0 || forgives_ == Forgives::kAll) --points;
      walk.Advance(rng);
    }
    const uint16_t lower = walk.Current();
    walk.Advance(rng);
    return lower;
  }

  size_t bytes() const { return points_.size(); }

 private:
  uint8_t most_;
  Forgives forgives_;
  std::vector<uint8_t> points_;
};

// A host that sprays with a State for each flow, a copy of one that the balancer makes. It has
//   void Start(uint32_t paths, Rng& rng);
//   uint16_t Next(Rng& rng);
//   void Note(uint16_t entropy, EntropyNews news);
//   size_t bytes() const;
template <class State>
class EntropyHost final : public HostPolicy {
 public:
  EntropyHost(const State& blank, uint32_t paths, Rng rng)
      : blank_(blank), paths_(paths), rng_(rng) {}

  bool sends_packets() const override { return false; }

  void OnFlowStart(HostView& /*view*/, HostFlow& flow) override {
    if (free_.empty()) {
      free_.push_back(static_cast<uint32_t>(states_.size()));
      states_.push_back(blank_);
    }
    flow.State<uint32_t>() = free_.back();
    free_.pop_back();
    Of(flow).Start(paths_, rng_);
  }
  void OnFlowEnd(HostView& /*view*/, HostFlow& flow) override {
    free_.push_back(flow.State<uint32_t>());
  }

  void OnSend(HostView& /*view*/, HostFlow& flow, Packet& packet) override {
    packet.entropy = Of(flow).Next(rng_);
    ++sent_;
  }

  void OnSendAck(HostView& /*view*/, const Packet& data, Packet& ack) override {
    ack.entropy = data.entropy;
    ack.SetScheme(EntropyEcho{data.entropy, true, data.Has(Packet::kCe),
                              data.Has(Packet::kTrimmed) && data.Has(Packet::kCutAtLastHop)});
  }

  void OnAck(HostView& /*view*/, HostFlow& flow, const Packet& ack,
             const AckNews& /*news*/) override {
    const EntropyEcho echo = ack.Scheme<EntropyEcho>();
    if (!echo.is_set) return;
    const bool is_trimmed =
        ack.kind == PacketKind::kNack && ack.Has(Packet::kTrimmed) && !echo.at_last_hop;
    Tell(flow, echo.entropy,
         is_trimmed    ? EntropyNews::kTrimmed
         : echo.marked ? EntropyNews::kMarked
                       : EntropyNews::kGood);
  }

  void OnLoss(HostView& /*view*/, HostFlow& flow, LossSign sign) override {
    if (sign == LossSign::kTimeout && flow.lost_entropy) {
      Tell(flow, *flow.lost_entropy, EntropyNews::kTimeout);
    }
  }

  size_t StateBytes() const override {
    size_t bytes = sizeof(rng_);
    for (const State& state : states_) bytes += state.bytes();
    return bytes;
  }
  size_t FlowBytes() const override { return sizeof(uint32_t); }
  std::vector<Counter> Counters() const override {
    return {
        {"sprayed", sent_}, {"marked", told_[1]}, {"trimmed", told_[2]}, {"timeouts", told_[3]}};
  }

 private:
  State& Of(HostFlow& flow) { return states_[flow.State<uint32_t>()]; }
  void Tell(HostFlow& flow, uint16_t entropy, EntropyNews news) {
    Of(flow).Note(entropy, news);
    ++told_[static_cast<size_t>(news)];
  }

  const State blank_;
  const uint32_t paths_;
  Rng rng_;
  std::vector<State> states_;
  std::vector<uint32_t> free_;
  int64_t sent_ = 0;
  int64_t told_[4] = {};
};

// A load balancer whose hosts are EntropyHosts and whose switches hash.
template <class State>
class EntropySpray : public LoadBalancer {
 public:
  explicit EntropySpray(std::string name) : name_(std::move(name)) {}

  void Declare(Fields& fields) override {
    fields.Add("paths", paths_, Between<int64_t>(1, 65'536),
               "Number of entropies of a flow, a power of two.");
    fields.Require((paths_ & (paths_ - 1)) == 0, "paths", "is not a power of two");
  }
  bool reorders() const override { return true; }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<FollowPath>(EcmpSalt(id, seed));  // Hashes packets that name no path.
  }
  HostPolicyPtr ForHost(HostId id, uint64_t seed) const override {
    return MakeHost(blank_, id, seed);
  }

 protected:
  HostPolicyPtr MakeHost(const State& blank, HostId id, uint64_t seed) const {
    return std::make_unique<EntropyHost<State>>(blank, static_cast<uint32_t>(paths_),
                                                Rng::Stream(seed, name_, id));
  }

  State blank_;  // The state of a flow before its start.

 private:
  const std::string name_;
  int64_t paths_ = 64;
};

}  // namespace heddle
