// SPDX-License-Identifier: Apache-2.0
// BurstBalancer (Liu et al., ICNP 2022). A switch hashes all flows, except bursty flows that own a
// bucket of a small sketch, BalanceSketch: these take another port after a flowlet gap. A flow
// without a bucket votes down the owner of the bucket that it hashes to, and takes the bucket when
// no votes are left. An owner that already has a port of its own keeps both until it falls silent.
//
// The port is drawn at random. The authors' ns-2 code instead hashes the previous port, beginning
// with the port of ECMP (`draw: rehash`).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/random.h"
#include "fabric/ecmp_hash.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/ties.h"

namespace heddle {
namespace {

enum class Draw { kRandom, kRehash };

struct BurstBalancerSettings {
  int64_t buckets = 250;
  Duration gap = 200_us;
  Duration expiry = 50_ms;
  int64_t votes_above = 0;
  Draw draw = Draw::kRandom;
};

class BurstBalancer final : public SwitchPolicy {
 public:
  BurstBalancer(const BurstBalancerSettings& settings, uint64_t salt, Rng rng)
      : settings_(settings),
        salt_(salt),
        rng_(rng),
        buckets_(static_cast<size_t>(settings.buckets)) {}

  Packets asked_about() const override { return Packets::kWithLastUplink; }
  bool only_chooses() const override { return true; }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    const PortIndex pinned = PinOf(packet, view.now(), candidates);
    if (candidates.Has(pinned)) return Decision::Forward(pinned);
    return Decision::Forward(EcmpPort(packet, salt_, candidates.ports));
  }

  // As in hardware: fingerprint, votes and port take 2 bytes each, the time takes 4.
  size_t StateBytes() const override { return buckets_.size() * 10; }
  std::vector<Counter> Counters() const override {
    const auto is_used = [](const Bucket& bucket) { return bucket.last >= Time{}; };
    return {{"flowlets", flowlets_},
            {"reroutes", reroutes_},
            {"replaced", replaced_},
            {"table_entries", std::ranges::count_if(buckets_, is_used)}};
  }

 private:
  struct Bucket {
    Time last{-kNever.ps};
    uint16_t fingerprint = 0;
    uint16_t votes = 0;
    PortIndex port = kNoPort;  // kNoPort: ECMP chooses.
    uint32_t draws = 0;
  };

  // Returns the port that the packet's flow owns; kNoPort if it has no bucket or no port.
  PortIndex PinOf(const Packet& packet, Time now, const Candidates& candidates) {
    const uint64_t hash = Mix64(packet.tuple_hash ^ kSketchSalt);
    const uint16_t fingerprint = static_cast<uint16_t>(hash);
    Bucket& bucket = buckets_[MapToRange(static_cast<uint32_t>(hash >> 32), buckets_.size())];
    if (now - bucket.last > settings_.expiry) {
      bucket = {now, fingerprint, 1, kNoPort, 0};
      return kNoPort;
    }
    if (bucket.fingerprint != fingerprint) {
      Contest(bucket, fingerprint, now);
      return kNoPort;
    }
    // A failed port is forgotten: the flow is hashed until its next burst.
    if (!candidates.Has(bucket.port)) bucket.port = kNoPort;
    // Others may have voted down a flow that has a port; this must not keep it from moving.
    const bool may_move = bucket.port != kNoPort || bucket.votes > settings_.votes_above;
    if (now - bucket.last > settings_.gap && may_move) Pin(bucket, packet, candidates);
    bucket.votes = static_cast<uint16_t>(std::min(bucket.votes + 1, 0xffff));
    bucket.last = now;
    return bucket.port;
  }

  void Contest(Bucket& bucket, uint16_t fingerprint, Time now) {
    if (bucket.votes > 0) {
      --bucket.votes;
    } else if (bucket.port == kNoPort) {
      bucket = {now, fingerprint, 1, kNoPort, 0};
      ++replaced_;
    }
  }

  void Pin(Bucket& bucket, const Packet& packet, const Candidates& candidates) {
    const PortIndex before =
        bucket.port == kNoPort ? EcmpPort(packet, salt_, candidates.ports) : bucket.port;
    bucket.port = settings_.draw == Draw::kRandom ? AtRandom(candidates)
                                                  : Rehashed(bucket, packet, candidates);
    ++flowlets_;
    reroutes_ += bucket.port != before ? 1 : 0;
  }

  PortIndex AtRandom(const Candidates& candidates) {
    return candidates.ports[rng_.Below(static_cast<uint32_t>(candidates.ports.size()))];
  }
  // Returns the port of ECMP for the first burst, then the port of the hash of the hash, and so on.
  PortIndex Rehashed(Bucket& bucket, const Packet& packet, const Candidates& candidates) const {
    const uint32_t draws = bucket.draws++;
    if (draws == 0) return EcmpPort(packet, salt_, candidates.ports);
    const uint64_t hash = Mix64(EcmpHash(packet, salt_) ^ uint64_t{draws} << 32);
    return candidates.ports[MapToRange(static_cast<uint32_t>(hash >> 32), candidates.ports.size())];
  }

  // The sketch's hash differs from ECMP's, so that flows of one bucket spread over all ports.
  static constexpr uint64_t kSketchSalt = 0x5bd1'e995'0000'0000u;

  const BurstBalancerSettings settings_;
  const uint64_t salt_;
  Rng rng_;
  std::vector<Bucket> buckets_;
  int64_t flowlets_ = 0;
  int64_t reroutes_ = 0;
  int64_t replaced_ = 0;
};

class BurstBalancerBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.Add("buckets", settings_.buckets, Between<int64_t>(1, 1 << 26),
               "Buckets of the sketch; 65536 in the paper's switch.");
    fields.Add("gap", settings_.gap, {.above = Duration{0}, .at_most = 10_s},
               "Flowlet gap: a flow with a bucket takes another port after an idle time longer "
               "than this.");
    fields.Add("expiry", settings_.expiry, {.above = Duration{0}, .at_most = 1000_s},
               "A bucket is free when its flow has been idle for longer than this; 20ms in the "
               "paper's switch.");
    fields.Add("votes_above", settings_.votes_above, Between<int64_t>(0, 65'535),
               "A flow gets a port of its own only if it has more votes than this; 30 in the "
               "paper's switch.");
    fields.Choice("draw", settings_.draw, {{"random", Draw::kRandom}, {"rehash", Draw::kRehash}},
                  "random: any port; rehash: as in the authors' ns-2 code, first the flow's ECMP "
                  "port, then the port of a hash of the flow's hash.");
  }

  std::optional<Duration> flowlet_gap() const override { return settings_.gap; }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<BurstBalancer>(settings_, EcmpSalt(id, seed),
                                           Rng::Stream(seed, "burstbalancer", id));
  }

 private:
  BurstBalancerSettings settings_;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<BurstBalancerBalancer>(
    {"burstbalancer",
     "ECMP, but bursty flows, which own a bucket of a small sketch, draw a new port after each "
     "flowlet gap.",
     "Liu et al., ICNP 2022"});

}  // namespace
}  // namespace heddle
