// SPDX-License-Identifier: Apache-2.0
// A host of FLB with rate control (Hu et al., USENIX ATC 2025, section 3.3) beside a plain list of
// limited flows: random notices arrive, and every change of a flow's rate is compared.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <ostream>
#include <utility>
#include <vector>

#include "core/engine.h"
#include "core/random.h"
#include "fabric/around_policy.h"
#include "fabric/host.h"
#include "lb/flb/header.h"
#include "lb/flb/host.h"
#include "tests/support/lb_control.h"
#include "tests/support/printers.h"

namespace heddle::flb_host_model_test {

constexpr BitRate kNic = 100_Gbps;
constexpr Duration kAge = 100_us;

struct Limit {
  Time at;
  FlowId flow = 0;
  int64_t bps = 0;

  friend bool operator==(const Limit&, const Limit&) = default;
};
void PrintTo(const Limit& limit, std::ostream* out) {
  *out << "flow " << limit.flow << " at " << limit.at.ps << " ps: " << limit.bps;
}

// Notes the limits that the policy sets.
class LimitLog final : public Transport {
 public:
  LimitLog(const Host& host, std::vector<Limit>* limits) : host_(host), limits_(limits) {}

  void SetRateLimit(FlowId flow, BitRate limit) override {
    limits_->push_back({host_.now(), flow, limit.bps});
  }

  void OnPacket(const Packet&) override {}
  Pulled Pull(uint32_t, Packet&) override { return {false, false}; }
  void OnTimer(uint64_t) override {}
  Tuple TupleOf(uint32_t) const override { return {0, 0}; }
  size_t memory_bytes() const override { return 0; }
  void StartFlow(const FlowSpec&) override {}
  void ExpectFlow(const FlowSpec&) override {}
  void OnDropNotice(const DropNotice&) override {}
  void OnFlowEnded(const FlowEnded&) override {}
  size_t most_flows() const override { return 0; }
  void CollectUnfinishedSenders(std::vector<FlowRecord>&) override {}
  void CollectUnfinishedReceivers(std::vector<FlowRecord>&) override {}

 private:
  const Host& host_;
  std::vector<Limit>* const limits_;
};

// A policy between the host and FLB's, which delivers packets at chosen times.
class Deliverer final : public AroundHostPolicy {
 public:
  using AroundHostPolicy::AroundHostPolicy;
  void OnTimer(HostView& view, uint32_t id) override {
    if (id != kDeliver) return AroundHostPolicy::OnTimer(view, id);
    OnControl(view, packet);
  }
  const HostPolicy& flb() { return scheme(); }

  static constexpr uint32_t kDeliver = 0xffff'ffff;
  Packet packet;
};

class Bench {
 public:
  explicit Bench(size_t flows)
      : deliverer_(new Deliverer(std::make_unique<FlbHost>(kAge, flows))),
        host_(0, 1, std::unique_ptr<Deliverer>(deliverer_)),
        view_(host_) {
    engine_.Add(host_, engine_.AddGroup());
    FifoPort& nic = host_.AddNic({.rate = kNic, .delay = 1_us, .wire_overhead = 24_B});
    engine_.Connect(host_, nic.wire(), host_, 1_us);
    engine_.Place(1);
    host_.SetTransport(std::make_unique<LimitLog>(host_, &limits_));
    host_.Attach();
  }

  void Deliver(const FlbControl& control, FlowId flow, Time at) {
    RunTo(at);
    deliverer_->packet = ControlPacket(control, flow);
    view_.SetTimer(at, Deliverer::kDeliver);
    RunTo(at + 1_ps);
  }
  // Runs all that is due before `end`.
  void RunTo(Time end) {
    while (host_.Due() < end) host_.Run(Window::Until(host_.Due() + 1_ps));
  }

  std::vector<Limit> TakeLimits() { return std::exchange(limits_, {}); }
  int64_t Count(std::string_view name) const {
    for (const auto& [counter, value] : deliverer_->flb().Counters()) {
      if (counter == name) return value;
    }
    return -1;
  }

 private:
  Deliverer* deliverer_;  // Owned by the host.
  Engine engine_;
  std::vector<Limit> limits_;
  Host host_;
  HostView view_;
};

class Model {
 public:
  explicit Model(size_t flows) : room_(flows) {}

  int64_t pauses = 0;
  int64_t evictions = 0;

  // A limit ends when no notice has come for longer than the age.
  void RunTo(Time end) {
    while (!flows_.empty() && flows_.front().last + kAge + 1_ps < end) {
      Free(flows_.front().id, flows_.front().last + kAge + 1_ps);
      flows_.pop_front();
    }
  }
  void OnNotice(const FlbControl& control, FlowId id, Time now) {
    const bool pauses_it = control.kind == FlbControl::kCongested;
    Flow its{.id = id, .most = 1, .last = now};
    const auto found = std::ranges::find(flows_, id, &Flow::id);
    if (found != flows_.end()) {
      its.most = found->most;
      flows_.erase(found);
    } else if (!pauses_it) {
      return;
    } else if (flows_.size() == room_) {
      Free(flows_.front().id, now);
      flows_.pop_front();
      ++evictions;
    }
    if (pauses_it) {
      its.most = std::max({its.most, int64_t{control.flows}, int64_t{control.number}});
      ++pauses;
    }
    limits.push_back({now, id, pauses_it ? 0 : kNic.bps / its.most});
    flows_.push_back(its);
  }
  size_t size() const { return flows_.size(); }

  std::vector<Limit> limits;

 private:
  struct Flow {
    FlowId id = 0;
    int64_t most = 1;
    Time last;
  };
  void Free(FlowId id, Time now) { limits.push_back({now, id, kNic.bps}); }

  const size_t room_;
  std::deque<Flow> flows_;  // The longest silent one first.
};

TEST(FlbHostModelTest, LimitsFlowsAsAPlainListDoes) {
  for (const size_t room : {size_t{1}, size_t{3}, size_t{64}}) {
    int64_t ended = 0;
    int64_t evictions = 0;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << room << " flows");
      Rng rng = Rng::Stream(seed, "host", 0);
      Bench bench(room);
      Model model(room);
      Time now = Time{} + 1_ms;
      for (int step = 0; step < 300; ++step) {
        now += 10_us * rng.Below(rng.Below(20) == 0 ? 30 : 5);
        const FlowId flow = rng.Below(6);
        const bool released = rng.Below(3) == 0;
        // At least as many flows have been in the queue as there are now.
        const uint16_t flows = static_cast<uint16_t>(rng.Below(9));
        const FlbControl control =
            released ? FlbControl{FlbControl::kReleased, 0, 0, 0}
                     : FlbControl{FlbControl::kCongested, 0, flows,
                                  static_cast<int32_t>(rng.Below(2) * (flows + rng.Below(9)))};
        model.RunTo(now + 1_ps);
        ended += static_cast<int64_t>(model.limits.size());
        model.OnNotice(control, flow, now);
        bench.Deliver(control, flow, now);
        ASSERT_EQ(bench.TakeLimits(), std::exchange(model.limits, {})) << "step " << step;
        ASSERT_EQ(bench.Count("limited_flows"), static_cast<int64_t>(model.size()));
        ASSERT_EQ(bench.Count("flow_pauses"), model.pauses);
      }
      // The last limits end as well.
      model.RunTo(now + 1_ms);
      bench.RunTo(now + 1_ms);
      ASSERT_EQ(bench.TakeLimits(), model.limits);
      ASSERT_EQ(bench.Count("limited_flows"), 0);
      evictions += model.evictions;
    }
    EXPECT_GT(ended, 100);
    EXPECT_EQ(evictions > 100, room < 6);
  }
}

}  // namespace heddle::flb_host_model_test
