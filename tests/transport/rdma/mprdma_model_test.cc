// SPDX-License-Identifier: Apache-2.0
// MP-RDMA's sender beside a plain model of its rules (Lu et al., NSDI 2018, sections 3 and 4),
// which sees what the host's policy sees: each packet that leaves, each ACK and each timeout. The
// model says which packet must leave, on which path, and how large the window is.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"
#include "transport/rdma/mprdma.h"

namespace heddle::mprdma_model_test {

constexpr uint32_t kMss = 1'024;
constexpr Channel kLink{100_Gbps, 1_us};

struct Rules {
  uint32_t packets = 0;
  uint32_t message = 0;  // Packets; 0: a flow is one message.
  int64_t delta = 32;
  bool probes = false;    // Once in an idle round trip, always or never.
  double window = 0;      // The first.
  Duration round_trip{};  // Of an idle network.
  Duration rto{};
  bool is_alone = true;  // Nothing else leaves its host.
};

class Model {
 public:
  explicit Model(const Rules& rules, Time start)
      : rules_(rules), window_(rules.window), probe_from_(start + rules.round_trip) {
    message_end_ = rules.message == 0 ? rules.packets : std::min(rules.message, rules.packets);
    fresh_ = std::min(static_cast<uint32_t>(std::floor(window_)), message_end_);
  }

  double window() const { return window_; }
  Duration srtt() const { return rtt_.srtt(); }

  void OnSent(Time now, const Packet& packet) {
    BeginMessageBy(now);
    SCOPED_TRACE(fmt::format("packet {} at {} ps", packet.seq, now.ps));
    EXPECT_LE(now, timeout_at_);
    ASSERT_GT(paths_.size() + fresh_, 0u);
    ASSERT_LT(next_, message_end_);
    EXPECT_EQ(packet.seq, next_);
    if (paths_.empty()) {
      --fresh_;
      EXPECT_GE(packet.entropy, 49'152);  // The dynamic ports.
      fresh_paths_.insert(packet.entropy);
      ++fresh_sent_;
    } else {
      EXPECT_EQ(packet.entropy, paths_.front());
      paths_.pop_front();
    }
    EXPECT_EQ(packet.Has(Packet::kRetransmission), next_ < end_);
    EXPECT_EQ(packet.Has(Packet::kCwr),
              rules_.message > 0 && next_ > 0 && next_ % rules_.message == 0);
    EXPECT_TRUE(packet.Has(Packet::kEct));
    end_ = std::max(end_, ++next_);
    last_sent_ = now;
    if (end_ == message_end_ && end_ < rules_.packets && !message_at_) {
      const Duration rtt = std::max(rtt_.srtt(), rules_.round_trip);
      const double wait = static_cast<double>(rtt.ps * rules_.delta) / window_;
      message_at_ = now + Duration{std::llround(wait)};
    }
    if (timeout_at_ == kNever) timeout_at_ = now + rules_.rto;
  }

  // `window` is the sender's after it has heeded the mark.
  void OnAck(Time now, const Packet& ack, double window) {
    BeginMessageBy(now - 1_ps);
    SCOPED_TRACE(fmt::format("ACK {} of {} at {} ps", ack.seq, ack.nack.trigger, now.ps));
    EXPECT_LE(now, timeout_at_);
    ForgetWhatIsSent(now);
    const uint32_t answered = ack.nack.trigger;
    const bool is_ghost = answered < una_ || answered >= next_;
    const bool is_late = answered + rules_.delta <= max_acked_ && !ack.Has(Packet::kRetransmission);
    window_ = std::max(ack.Has(Packet::kEce) ? window_ - 0.5 : window_ + 1 / window_, 1.0);
    EXPECT_DOUBLE_EQ(window, window_);
    if (!is_ghost) {
      ++ahead_;
      max_acked_ = std::max<int64_t>(max_acked_, answered);
    }
    if (ack.seq > una_) {
      ahead_ -= ack.seq - una_;
      una_ = ack.seq;
      next_ = std::max(next_, una_);
      ahead_ = std::clamp<int64_t>(ahead_, 0, next_ - una_);
      if (una_ >= recover_) recovering_ = false;
    }
    rtt_.Sample(now - ack.sent);
    if (una_ == rules_.packets) return;
    timeout_at_ = una_ < end_ ? now + rules_.rto : kNever;
    if (ack.kind == PacketKind::kNack && !recovering_ && ack.seq == una_) {
      Recover();
      return ReleaseOn(now, ack.entropy);
    }
    if (is_ghost) return;
    if (next_ + waiting() >= rules_.packets) window_ = std::max(window_ - 1, 1.0);
    if (!is_late) ReleaseOn(now, ack.entropy);
    if (una_ == next_ && waiting() == 0) ReleaseFresh(1);
  }

  void OnTimeout(Time now) {
    BeginMessageBy(now);
    EXPECT_EQ(now, timeout_at_);
    Recover();
    timeout_at_ = now + rules_.rto;
    ReleaseFresh(1);
    ++timeouts_;
  }

  void CheckEnd() const {
    EXPECT_EQ(una_, rules_.packets);
    EXPECT_EQ(end_, rules_.packets);
    // Fresh paths are drawn from 16,384.
    EXPECT_GT(10 * fresh_paths_.size(), 8 * fresh_sent_);
  }
  int64_t timeouts() const { return timeouts_; }
  int64_t recoveries() const { return recoveries_; }

 private:
  uint32_t waiting() const { return static_cast<uint32_t>(paths_.size()) + fresh_; }
  double Room() const {
    return std::floor(window_ + static_cast<double>(ahead_) - (next_ - una_) - waiting());
  }
  uint32_t Left() const {
    return message_end_ > next_ + waiting() ? message_end_ - next_ - waiting() : 0;
  }

  // A lone flow's packets leave as soon as the link is free.
  void ForgetWhatIsSent(Time now) {
    const bool is_free = now > last_sent_ + SerializationDelay(1'122_B, 100_Gbps);
    if (next_ >= message_end_) {
      if (!rules_.is_alone || is_free) {
        paths_.clear();
        fresh_ = 0;
      }
    } else if (rules_.is_alone && is_free) {
      EXPECT_EQ(waiting(), 0u);
    }
  }
  void BeginMessageBy(Time now) {
    if (!message_at_ || *message_at_ > now) return;
    message_at_.reset();
    ForgetWhatIsSent(now);
    message_end_ = std::min(message_end_ + rules_.message, rules_.packets);
    ReleaseFresh(rules_.packets);
  }
  void ReleaseFresh(uint32_t most) {
    fresh_ += std::min({static_cast<uint32_t>(std::max(Room(), 0.0)), most, Left()});
  }
  // At most two packets, on the path of the ACK.
  void ReleaseOn(Time now, uint16_t path) {
    for (double room = std::min(Room(), 2.0); room > 0 && Left() > 0; --room) {
      const bool probes = now >= probe_from_;
      if (probes) probe_from_ = now + rules_.round_trip;
      if (probes && rules_.probes) {
        ++fresh_;
      } else {
        paths_.push_back(path);
      }
    }
  }
  void Recover() {
    ++recoveries_;
    recovering_ = true;
    recover_ = end_;
    next_ = una_;
    ahead_ = fresh_ = 0;
    paths_.clear();
    window_ = std::max(window_ / 2, 1.0);
  }

  const Rules rules_;
  double window_;
  Time probe_from_;
  uint32_t una_ = 0;
  uint32_t next_ = 0;
  uint32_t end_ = 0;
  uint32_t recover_ = 0;
  uint32_t message_end_ = 0;
  int64_t ahead_ = 0;
  int64_t max_acked_ = -1;
  bool recovering_ = false;
  uint32_t fresh_ = 0;
  std::deque<uint16_t> paths_;
  std::set<uint16_t> fresh_paths_;
  size_t fresh_sent_ = 0;
  Time last_sent_{-1'000'000};
  Time timeout_at_ = kNever;
  std::optional<Time> message_at_;
  RttEstimator rtt_;
  int64_t timeouts_ = 0;
  int64_t recoveries_ = 0;
};

// Shows a model what its host does. Flows are numbered from 0, and all leave host 0.
class BesideSender final : public HostPolicy {
 public:
  BesideSender(std::vector<Model>& models, const std::vector<Rules>& rules)
      : models_(models), rules_(rules) {}

  void Use(Lab& lab) {
    transport_ = &dynamic_cast<const MpRdma&>(lab.network().host(0).transport());
  }
  void OnFlowStart(HostView& view, HostFlow& flow) override {
    EXPECT_EQ(flow.id, models_.size());
    models_.emplace_back(rules_[flow.id], view.now());
  }
  void OnSend(HostView& view, HostFlow& flow, Packet& packet) override {
    models_[flow.id].OnSent(view.now(), packet);
    EXPECT_DOUBLE_EQ(WindowOf(flow.id), models_[flow.id].window());
  }
  void OnAck(HostView& view, HostFlow& flow, const Packet& ack, const AckNews& news) override {
    EXPECT_EQ(news.ecn_echo, ack.Has(Packet::kEce));
    EXPECT_EQ(news.rtt, view.now() - ack.sent);
    models_[flow.id].OnAck(view.now(), ack, WindowOf(flow.id));
    EXPECT_EQ(flow.srtt, models_[flow.id].srtt());
  }
  void OnLoss(HostView& view, HostFlow& flow, LossSign sign) override {
    if (sign == LossSign::kTimeout) models_[flow.id].OnTimeout(view.now());
  }
  size_t StateBytes() const override { return 0; }

 private:
  double WindowOf(FlowId flow) const { return transport_->FindSender(flow)->window(); }

  std::vector<Model>& models_;
  const std::vector<Rules>& rules_;
  const MpRdma* transport_ = nullptr;
};

// What the receiver of one flow must answer.
class ReceiverModel {
 public:
  ReceiverModel(int64_t size, bool asks_beyond) : size_(size), asks_beyond_(asks_beyond) {}

  void OnData(const Packet& data) {
    EXPECT_FALSE(answer_) << "packet " << seq_ << " was to be answered";
    seq_ = data.seq;
    if (data.seq >= expected_ + 64) {
      ++discarded_;
      if (asks_beyond_) Ask();
      return;
    }
    if (data.seq < expected_ || arrived_.contains(data.seq)) {
      ++duplicates_;
    } else {
      arrived_.insert(data.seq);
      if (data.seq != expected_) most_ahead_ = std::max(most_ahead_, BytesAhead());
      if (data.seq == expected_) asked_ = false;
      while (arrived_.erase(expected_) > 0) ++expected_;
    }
    if (data.Has(Packet::kCwr) && expected_ < data.seq && !asked_) return Ask();
    answer_ = PacketKind::kAck;
  }

  void OnAnswer(const Packet& data, const Packet& answer) {
    SCOPED_TRACE(fmt::format("answer to {}", data.seq));
    EXPECT_EQ(answer.kind, answer_);
    EXPECT_EQ(answer.seq, expected_);
    EXPECT_EQ(answer.nack.trigger, data.seq);
    EXPECT_EQ(answer.entropy, data.entropy);
    EXPECT_EQ(answer.sent, data.sent);
    EXPECT_EQ(answer.Has(Packet::kEce), data.Has(Packet::kCe));
    EXPECT_EQ(answer.Has(Packet::kRetransmission), data.Has(Packet::kRetransmission));
    EXPECT_EQ(answer.bytes, 64);  // The shortest frame.
    answer_.reset();
  }

  void CheckEnd(const ReceiverRecord& record) const {
    EXPECT_FALSE(answer_);
    EXPECT_EQ(record.discarded, discarded_);
    EXPECT_EQ(record.duplicates, duplicates_);
    EXPECT_EQ(record.max_out_of_order_bytes, most_ahead_);
  }

 private:
  void Ask() {
    if (!asked_) answer_ = PacketKind::kNack;
    asked_ = true;
  }
  int64_t BytesAhead() const {
    int64_t bytes = 0;
    for (const uint32_t packet : arrived_) bytes += std::min<int64_t>(kMss, size_ - packet * kMss);
    return bytes;
  }

  const int64_t size_;
  const bool asks_beyond_;
  uint32_t seq_ = 0;  // The last that came.
  uint32_t expected_ = 0;
  std::set<uint32_t> arrived_;  // Beyond it.
  bool asked_ = false;          // For the packet expected.
  std::optional<PacketKind> answer_;
  int64_t discarded_ = 0;
  int64_t duplicates_ = 0;
  int64_t most_ahead_ = 0;
};

class BesideReceiver final : public HostPolicy {
 public:
  explicit BesideReceiver(std::vector<ReceiverModel>& models) : models_(models) {}
  void OnData(HostView&, const Packet& data) override { models_[data.flow].OnData(data); }
  void OnSendAck(HostView&, const Packet& data, Packet& ack) override {
    models_[data.flow].OnAnswer(data, ack);
  }
  size_t StateBytes() const override { return 0; }

 private:
  std::vector<ReceiverModel>& models_;
};

struct Scenario {
  std::string name;
  std::string settings;
  Rules rules;  // The model's, without packets, round trip and timeout.
  std::vector<int64_t> sizes = {2'000'000};
  Duration rto = 320_us;
  double loss = 0;  // Of data, as the others but lost_acks.
  double marks = 0;
  double overtaken = 0;  // By 40 packets.
  double lost_acks = 0;
  bool recovers = false;
  bool times_out = false;
};

void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.name; }

class MpRdmaModelTest : public testing::TestWithParam<Scenario> {};

TEST_P(MpRdmaModelTest, SendsWhatTheRulesSay) {
  const Scenario& scenario = GetParam();
  // Four links: a round trip of a full packet and of its ACK.
  const Duration round_trip =
      8_us + 4 * (SerializationDelay(1'122_B, 100_Gbps) + SerializationDelay(84_B, 100_Gbps));
  std::vector<Rules> rules;
  for (const int64_t size : scenario.sizes) {
    rules.push_back(scenario.rules);
    rules.back().packets = static_cast<uint32_t>((size + kMss - 1) / kMss);
    rules.back().round_trip = round_trip;
    rules.back().rto = scenario.rto;
    rules.back().is_alone = scenario.sizes.size() == 1;
    if (rules.back().window == 0) {
      const Duration product = 8_us + 4 * SerializationDelay(Bytes{kMss}, 100_Gbps);
      rules.back().window =
          std::ceil(static_cast<double>(product.ps) * 100e9 / 8e12 / double{kMss});
    }
  }
  int64_t timeouts = 0;
  int64_t recoveries = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::vector<Model> models;
    models.reserve(rules.size());
    std::vector<ReceiverModel> receivers;
    const bool asks_beyond = scenario.settings.find("beyond: nack") != std::string::npos;
    for (const int64_t size : scenario.sizes) receivers.emplace_back(size, asks_beyond);
    BesideSender* beside = nullptr;
    const Match data = Anything(PacketKind::kData);
    Lab lab({.graph = Line(4, kLink),
             .transport = "{kind: mprdma, " + scenario.settings + "}",
             .switch_policy =
                 Scripted({DropAt(0, WithProbability(scenario.loss, seed, data)),
                           MarkAt(1, WithProbability(scenario.marks, seed + 10, data)),
                           LetPassAt(1, WithProbability(scenario.overtaken, seed + 20, data), 40),
                           DropAt(2, WithProbability(scenario.lost_acks, seed + 30,
                                                     Anything(PacketKind::kAck)))}),
             .host_policy = [&](HostId host) -> HostPolicyPtr {
               if (host == 1) return std::make_unique<BesideReceiver>(receivers);
               auto policy = std::make_unique<BesideSender>(models, rules);
               beside = policy.get();
               return policy;
             }});
    beside->Use(lab);
    for (const int64_t size : scenario.sizes) lab.AddFlow(0, 1, size);
    lab.Run(Time{} + 1_s);
    ASSERT_TRUE(lab.finished());
    for (FlowId flow = 0; flow < rules.size(); ++flow) {
      models[flow].CheckEnd();
      receivers[flow].CheckEnd(lab.Record(flow).receiver);
      const SenderRecord& sender = lab.Record(flow).sender;
      EXPECT_EQ(sender.timeouts, models[flow].timeouts());
      EXPECT_EQ(sender.timeouts + sender.fast_retransmits, models[flow].recoveries());
      timeouts += sender.timeouts;
      recoveries += models[flow].recoveries();
    }
    if (HasFailure()) return;
  }
  EXPECT_EQ(recoveries > 0, scenario.recovers);
  EXPECT_EQ(timeouts > 0, scenario.times_out);
}

INSTANTIATE_TEST_SUITE_P(
    Networks, MpRdmaModelTest,
    testing::Values(Scenario{.name = "Idle", .settings = "probe: 0", .rules = {}},
                    Scenario{.name = "Probing", .settings = "probe: 1", .rules = {.probes = true}},
                    Scenario{.name = "Marks",
                             .settings = "probe: 0, first_window: 7",
                             .rules = {.window = 7},
                             .marks = 0.2},
                    Scenario{.name = "Losses",
                             .settings = "probe: 1",
                             .rules = {.probes = true},
                             .loss = 0.003,
                             .marks = 0.05,
                             .recovers = true,
                             .times_out = true},
                    Scenario{.name = "LossesWithNacks",
                             .settings = "probe: 0, beyond: nack, rto: 100us",
                             .rules = {},
                             .rto = 100_us,
                             .loss = 0.01,
                             .marks = 0.02,
                             .lost_acks = 0.01,
                             .recovers = true,
                             .times_out = true},
                    Scenario{.name = "Messages",
                             .settings = "probe: 0, message: 20000B, first_window: 30",
                             .rules = {.message = 20, .window = 30},
                             .sizes = {700'001},
                             .loss = 0.003,
                             .marks = 0.02,
                             .lost_acks = 0.01,
                             .recovers = true},
                    Scenario{.name = "MessagesOfOnePacket",
                             .settings = "probe: 0, message: 1B, delta: 2, first_window: 3",
                             .rules = {.message = 1, .delta = 2, .window = 3},
                             .sizes = {40'000},
                             .loss = 0.03,
                             .marks = 0.1,
                             .recovers = true},
                    Scenario{.name = "ShortFlowsInShortMessages",
                             .settings = "probe: 0, message: 8192B, delta: 4, beyond: nack, "
                                         "rto: 20us, first_window: 30",
                             .rules = {.message = 8, .delta = 4, .window = 30},
                             .sizes = {20'000, 30'001, 40'000, 25'000, 1, 60'000},
                             .rto = 20_us,
                             .loss = 0.05,
                             .marks = 0.05,
                             .overtaken = 0.03,
                             .lost_acks = 0.1,
                             .recovers = true,
                             .times_out = true},
                    Scenario{.name = "PacketsBeyondTheBitmap",
                             .settings = "probe: 1, delta: 8, first_window: 200",
                             .rules = {.delta = 8, .probes = true, .window = 200},
                             .marks = 0.1,
                             .overtaken = 0.02,
                             .recovers = true,
                             .times_out = true},
                    Scenario{.name = "ManyFlows",
                             .settings = "probe: 0, beyond: nack, rto: 60us, first_window: 30",
                             .rules = {.window = 30},
                             .sizes = {300'000, 1, 1'024, 400'000, 500'000},
                             .rto = 60_us,
                             .loss = 0.02,
                             .marks = 0.05,
                             .overtaken = 0.01,
                             .lost_acks = 0.02,
                             .recovers = true,
                             .times_out = true}),
    [](const auto& test) { return test.param.name; });

}  // namespace heddle::mprdma_model_test
