// SPDX-License-Identifier: Apache-2.0
// The Ultra Ethernet transport beside plain models of its sender and its receiver, which see what
// the hosts' policies see: each packet that leaves, each ACK, NACK and timeout. The sender's model
// says which packet must leave, how many bytes are in flight and how large the window is; NSCC
// itself, and credit, have tests of their own.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
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
#include "transport/rtt.h"
#include "transport/uet/nscc.h"
#include "transport/uet/uet.h"
#include "transport/uet/uet_ack.h"

namespace heddle::uet_model_test {

constexpr int64_t kMss = 4'086;
constexpr int64_t kHeaders = 64;
constexpr int64_t kFull = kMss + kHeaders;
constexpr BitRate kRate = 100_Gbps;

struct Rules {
  NsccRules control;
  int64_t size = 0;
  double window = 0;  // The first; 0: the greatest.
  Duration rto{};
  bool sleek = false;
  int penalty = 255;
  bool base_rtt_on_nack = true;
  bool is_alone = true;  // Nothing else leaves its host.
};

class SenderModel {
 public:
  SenderModel(const Rules& rules, Duration base_rtt) : rules_(rules) {
    data_ = static_cast<uint32_t>((rules.size + kMss - 1) / kMss);
    control_.Start(rules_.control, base_rtt, rules.window);
  }
  SenderModel(const SenderModel&) = delete;

  double window() const { return control_.window(); }
  int64_t in_flight() const { return in_flight_; }
  int64_t timeouts() const { return timeouts_; }
  int64_t recoveries() const { return recoveries_; }
  int64_t repairs() const { return repairs_; }
  int64_t requests() const { return requests_; }
  bool done() const { return done_; }
  Duration srtt() const { return rtt_.srtt(); }

  void OnSent(Time now, const Packet& packet) {
    SCOPED_TRACE(fmt::format("packet {} at {} ps", packet.seq, now.ps));
    ASSERT_FALSE(done_);
    if (packet.kind == PacketKind::kSyn) return OnControl(now, packet);
    ExpectNothingDue();
    ASSERT_TRUE(HasWork());
    const uint32_t number = Next();
    ASSERT_EQ(packet.seq, number);
    const bool is_repair = number < packets_.size();
    if (!is_repair) packets_.push_back({.payload = PayloadOfNew()});
    Entry& its = packets_[number];
    const int64_t size = its.payload + kHeaders;
    EXPECT_EQ(packet.bytes, size);
    EXPECT_EQ(packet.data.payload, its.payload);
    EXPECT_TRUE(packet.Has(Packet::kEct));
    EXPECT_EQ(packet.Has(Packet::kRetransmission), is_repair);
    in_flight_ += size;
    const bool is_full = static_cast<double>(in_flight_ + size) >= control_.window();
    EXPECT_EQ(packet.Has(Packet::kCwr), is_repair || !HasNew() || is_full);
    repairs_ += is_repair ? 1 : 0;
    Send(its, now, packet);
    busy_until_ = now + SerializationDelay(Bytes{size}, kRate);
    RestartTimers(now, false);
  }

  // `window` is the sender's after the penalty, before it has heeded the ACK.
  void OnAck(Time now, const Packet& packet, const AckNews& news, double window) {
    SCOPED_TRACE(fmt::format("ACK {} at {} ps", packet.seq, now.ps));
    ExpectInTime(now);
    const UetAck ack = UetAck::From(packet);
    const bool marked = packet.Has(Packet::kEce);
    const int64_t last = rules_.size - (data_ - 1) * kMss + kHeaders;
    int64_t total = ack.held * kFull - (ack.holds_last ? kFull - last : 0);
    for (uint32_t i = 0; i < ack.expected; ++i) total += SizeOf(packets_[i]);
    const int64_t newly = std::max<int64_t>(total - reported_, 0);
    reported_ += newly;
    in_flight_ -= newly;
    control_.OnBytes(newly);
    control_.OnPenalty(newly, rules_.penalty);
    Duration delay = control_.average();
    if (const Entry& its = packets_[ack.acked];
        !its.arrived && !its.is_request &&
        its.sends == (packet.Has(Packet::kRetransmission) ? 2 : 1)) {
      delay = control_.OnRoundTrip(now - its.at);
      control_.OnSample(delay, marked);
    }
    const int64_t data = DataBelow(una_);
    for (uint32_t i = 0; i < packets_.size(); ++i) {
      const bool is_mapped =
          i >= ack.first && i < ack.first + 64 && (ack.map >> (i - ack.first) & 1);
      if (i < ack.expected || is_mapped) Arrive(packets_[i]);
    }
    while (una_ < packets_.size() && packets_[una_].arrived) ++una_;
    if (una_ >= recover_) recovering_ = false;
    EXPECT_EQ(news.newly_acked, std::min((DataBelow(una_) - data) * kMss, rules_.size));
    EXPECT_EQ(news.ecn_echo, marked);
    EXPECT_EQ(news.rtt, now - packet.sent);
    rtt_.Sample(now - packet.sent);
    EXPECT_DOUBLE_EQ(window, control_.window());
    control_.OnAck(now, marked, delay, newly, in_flight_);
    if (una_ == packets_.size() && !HasNew()) {
      done_ = true;
      return;
    }
    if (rules_.sleek) Recover(ack.expected, ack.held);
    RestartTimers(now, true);
  }

  void OnNack(Time now, const Packet& nack, double window, int64_t in_flight) {
    SCOPED_TRACE(fmt::format("NACK of {} at {} ps", nack.nack.trigger, now.ps));
    ExpectInTime(now);
    Entry& its = packets_[nack.nack.trigger];
    ASSERT_FALSE(its.arrived || its.waits);
    if (rules_.base_rtt_on_nack && its.sends == 1) control_.OnRoundTrip(now - its.at);
    control_.OnNack(now, SizeOf(its), in_flight_);
    Queue(its);
    EXPECT_DOUBLE_EQ(window, control_.window());
    EXPECT_EQ(in_flight, in_flight_);
    RestartTimers(now, true);
  }

  // A sign of loss that no ACK gave is the answer to a probe.
  void OnHole(Time now) {
    if (std::exchange(hole_due_, false)) return;
    ExpectInTime(now);
    EXPECT_TRUE(probed_ && rules_.sleek && !recovering_ && una_ < packets_.size());
    BeginRecovery();
    hole_due_ = false;
    QueueHoles(una_);
  }

  void OnTimeout(Time now, std::optional<uint16_t> entropy) {
    SCOPED_TRACE(fmt::format("timeout at {} ps", now.ps));
    ExpectNothingDue();
    ++timeouts_;
    EXPECT_EQ(now, timeout_at_);
    const std::optional<uint32_t> oldest = Oldest();
    ASSERT_TRUE(oldest);
    Entry& its = packets_[*oldest];
    EXPECT_EQ(entropy, its.entropy);
    if (its.is_request) {
      requests_due_.push_back(*oldest);
    } else {
      control_.OnTimeout(SizeOf(its));
      Queue(its);
      if (!HasWork() && now >= requested_ + control_.base_rtt()) {
        requests_due_.push_back(static_cast<uint32_t>(packets_.size()));
        packets_.push_back({.is_request = true});
      }
    }
    RestartTimers(now, false);
  }

 private:
  struct Entry {
    int64_t payload = 0;
    bool is_request = false;
    Time at{};
    int64_t order = 0;  // Of its latest transmission.
    uint16_t entropy = 0;
    int sends = 0;
    bool arrived = false;
    bool waits = false;
  };

  static int64_t SizeOf(const Entry& its) { return its.is_request ? 0 : its.payload + kHeaders; }
  int64_t DataBelow(uint32_t end) const {
    return std::count_if(packets_.begin(), packets_.begin() + end,
                         [](const Entry& its) { return !its.is_request; });
  }
  int64_t sent_data() const { return DataBelow(static_cast<uint32_t>(packets_.size())); }
  bool HasNew() const { return sent_data() < data_; }
  int64_t PayloadOfNew() const { return std::min(kMss, rules_.size - sent_data() * kMss); }
  std::optional<uint32_t> FirstRepair() const {
    const auto first = std::ranges::find_if(packets_, &Entry::waits);
    if (first == packets_.end()) return std::nullopt;
    return static_cast<uint32_t>(first - packets_.begin());
  }
  uint32_t Next() const { return FirstRepair().value_or(static_cast<uint32_t>(packets_.size())); }
  bool HasWork() const {
    const std::optional<uint32_t> repair = FirstRepair();
    if (!repair && !HasNew()) return false;
    if (repair && recovering_) return true;
    const int64_t size = repair ? SizeOf(packets_[*repair]) : PayloadOfNew() + kHeaders;
    return static_cast<double>(in_flight_ + size) <= control_.window();
  }

  // Requests to send and probes.
  void OnControl(Time now, const Packet& packet) {
    EXPECT_EQ(packet.bytes, 64);
    busy_until_ = std::max(busy_until_, now) + SerializationDelay(64_B, kRate);
    // Probes wait with the data, requests go ahead.
    EXPECT_EQ(packet.priority, packet.Has(Packet::kCwr) ? 0 : 3);
    if (!packet.Has(Packet::kCwr)) {
      ExpectNothingDue();
      EXPECT_EQ(now, probe_at_);
      EXPECT_EQ(packet.seq, probes_++);
      probed_ = true;
      probe_at_ = now + 5 * control_.base_rtt();
      return;
    }
    ASSERT_FALSE(requests_due_.empty());
    EXPECT_EQ(packet.seq, requests_due_.front());
    requests_due_.pop_front();
    requested_ = now;
    ++requests_;
    Send(packets_[packet.seq], now, packet);
    RestartTimers(now, false);
  }
  void Send(Entry& its, Time now, const Packet& packet) {
    its.at = now;
    its.order = ++order_;
    its.entropy = packet.entropy;
    ++its.sends;
    its.waits = false;
  }

  void Arrive(Entry& its) {
    if (its.arrived) return;
    its.arrived = true;
    if (std::exchange(its.waits, false)) in_flight_ += SizeOf(its);
  }
  void Queue(Entry& its) {
    its.waits = true;
    in_flight_ -= SizeOf(its);
  }

  void Recover(uint32_t expected, uint16_t held) {
    if (!recovering_ && !FirstRepair() &&
        held >= HeldAtLoss(control_.window(), control_.greatest(), kMss)) {
      BeginRecovery();
    }
    if (recovering_) QueueHoles(expected);
  }
  void BeginRecovery() {
    ++recoveries_;
    recovering_ = true;
    recover_ = static_cast<uint32_t>(packets_.size());
    hole_ = una_;
    hole_due_ = true;
  }
  // Each hole once, up to a window beyond the packet expected.
  void QueueHoles(uint32_t expected) {
    const auto window = static_cast<uint32_t>(control_.window() / double{kMss});
    const uint32_t end = std::min(recover_, expected + window);
    for (hole_ = std::max(hole_, una_); hole_ < end; ++hole_) {
      Entry& its = packets_[hole_];
      if (its.arrived || its.waits) continue;
      if (its.is_request) {
        requests_due_.push_back(hole_);
      } else {
        Queue(its);
      }
    }
  }

  std::optional<uint32_t> Oldest() const {
    std::optional<uint32_t> oldest;
    for (uint32_t i = una_; i < packets_.size(); ++i) {
      const Entry& its = packets_[i];
      if (its.arrived || its.waits || its.sends == 0) continue;
      if (!oldest || its.order < packets_[*oldest].order) oldest = i;
    }
    return oldest;
  }
  void RestartTimers(Time now, bool is_ack) {
    const std::optional<uint32_t> oldest = Oldest();
    timeout_at_ = oldest ? packets_[*oldest].at + rules_.rto : kNever;
    if (!rules_.sleek || !(is_ack || probe_at_ == kNever)) return;
    const Duration base = control_.base_rtt();
    probe_at_ = now + (HasNew() ? 3 * base : base + rules_.control.target);
  }

  void ExpectNothingDue() {
    EXPECT_TRUE(requests_due_.empty());
    EXPECT_FALSE(hole_due_);
  }
  // All that was due has happened by now.
  void ExpectInTime(Time now) {
    ExpectNothingDue();
    EXPECT_TRUE(now <= timeout_at_ || !Oldest());
    EXPECT_LE(now, probe_at_);
    EXPECT_FALSE(rules_.is_alone && now > busy_until_ && HasWork());
  }

  const Rules rules_;
  Nscc control_;
  int64_t data_ = 0;            // Packets with data.
  std::vector<Entry> packets_;  // By number.
  uint32_t una_ = 0;
  int64_t in_flight_ = 0;
  int64_t reported_ = 0;
  int64_t order_ = 0;
  bool recovering_ = false;
  uint32_t recover_ = 0;
  uint32_t hole_ = 0;
  bool hole_due_ = false;  // The policy is to hear of a recovery.
  std::deque<uint32_t> requests_due_;
  Time requested_{-kNever.ps};
  bool probed_ = false;
  uint32_t probes_ = 0;
  RttEstimator rtt_;
  Time timeout_at_ = kNever;
  Time probe_at_ = kNever;
  Time busy_until_{};
  bool done_ = false;
  int64_t timeouts_ = 0;
  int64_t recoveries_ = 0;
  int64_t repairs_ = 0;
  int64_t requests_ = 0;
};

// What the receiver of one flow must answer.
class ReceiverModel {
 public:
  ReceiverModel(int64_t size, int64_t ack_bytes) : size_(size), ack_bytes_(ack_bytes) {}
  ReceiverModel(const ReceiverModel&) = delete;

  void OnData(const Packet& data) {
    EXPECT_FALSE(answer_) << "an answer to " << seq_ << " was due";
    seq_ = data.seq;
    if (data.Has(Packet::kTrimmed)) {
      ++trimmed_;
      answer_ = Has(seq_) ? PacketKind::kAck : PacketKind::kNack;
      names_ = data.Has(Packet::kCe);
    } else if (Has(seq_)) {
      ++duplicates_;
      answer_ = PacketKind::kAck;
      names_ = data.Has(Packet::kCe) || data.Has(Packet::kCwr);
    } else {
      Take(data);
    }
  }

  // Requests to send are not shown to policies before their answer.
  void OnAnswer(const Packet& data, const Packet& answer) {
    SCOPED_TRACE(fmt::format("answer to {}", data.seq));
    if (data.kind == PacketKind::kSyn) {
      EXPECT_FALSE(answer_);
      if (Has(data.seq)) {
        answer_ = PacketKind::kAck;
        names_ = true;
      } else {
        requests_.insert(data.seq);
        Take(data);
      }
    }
    EXPECT_EQ(answer.kind, answer_);
    EXPECT_EQ(answer.seq, expected_);
    EXPECT_EQ(answer.entropy, data.entropy);
    EXPECT_EQ(answer.sent, data.sent);
    EXPECT_EQ(answer.Has(Packet::kEce), data.Has(Packet::kCe));
    EXPECT_EQ(answer.bytes, 64);
    if (answer_ == PacketKind::kNack) {
      EXPECT_EQ(answer.nack.trigger, data.seq);
      EXPECT_TRUE(answer.Has(Packet::kTrimmed));
      ++nacks_;
    } else {
      EXPECT_EQ(answer.Has(Packet::kRetransmission), data.Has(Packet::kRetransmission));
      CheckAck(UetAck::From(answer), data.seq);
    }
    answer_.reset();
  }

  void CheckEnd(const ReceiverRecord& record) const {
    EXPECT_FALSE(answer_);
    EXPECT_EQ(bytes_, size_);
    EXPECT_EQ(record.trimmed, trimmed_);
    EXPECT_EQ(record.duplicates, duplicates_);
    EXPECT_EQ(record.discarded, 0);
    EXPECT_EQ(record.max_out_of_order_bytes, most_ahead_);
  }
  int64_t nacks() const { return nacks_; }

 private:
  bool Has(uint32_t packet) const { return packet < expected_ || ahead_.contains(packet); }

  void Take(const Packet& packet) {
    const bool is_request = packet.kind == PacketKind::kSyn;
    const int64_t payload = is_request ? 0 : packet.data.payload;
    const bool is_first = expected_ == 0 && ahead_.empty();
    const bool had_holes = !ahead_.empty();
    names_ = packet.Has(Packet::kCe) || packet.Has(Packet::kCwr);
    bytes_ += payload;
    if (!is_request && payload < kMss) short_ = packet.seq;
    ahead_.insert(packet.seq);
    payloads_.resize(std::max<size_t>(payloads_.size(), packet.seq + 1), 0);
    payloads_[packet.seq] = payload;
    if (packet.seq != expected_) {
      int64_t beyond = 0;
      for (const uint32_t number : ahead_) beyond += payloads_[number];
      most_ahead_ = std::max(most_ahead_, beyond);
    }
    while (ahead_.erase(expected_) > 0) ++expected_;
    unanswered_ += packet.bytes;
    asked_ = asked_ || packet.Has(Packet::kCwr);
    const bool closed = had_holes && ahead_.empty() && asked_;
    if (ahead_.empty()) asked_ = false;
    if (names_ || closed || is_first || unanswered_ >= ack_bytes_) answer_ = PacketKind::kAck;
  }

  void CheckAck(const UetAck& ack, uint32_t seq) {
    unanswered_ = 0;
    EXPECT_EQ(ack.expected, expected_);
    EXPECT_EQ(ack.acked, seq);
    const uint32_t back = seq < 63 ? 0 : seq - 63;
    EXPECT_EQ(ack.first, names_ ? seq : std::max(back, expected_ + 1));
    for (uint32_t i = 0; i < 64; ++i) {
      EXPECT_EQ(ack.map >> i & 1, ahead_.contains(ack.first + i) ? 1u : 0u) << ack.first + i;
    }
    EXPECT_EQ(ack.held, std::ranges::count_if(
                            ahead_, [&](uint32_t number) { return !requests_.contains(number); }));
    EXPECT_EQ(ack.holds_last, short_ && *short_ >= expected_);
  }

  const int64_t size_;
  const int64_t ack_bytes_;
  uint32_t seq_ = 0;  // The last that came.
  uint32_t expected_ = 0;
  std::set<uint32_t> ahead_;
  std::set<uint32_t> requests_;
  std::vector<int64_t> payloads_;
  std::optional<uint32_t> short_;
  int64_t bytes_ = 0;
  int64_t unanswered_ = 0;
  bool asked_ = false;
  std::optional<PacketKind> answer_;
  bool names_ = false;
  int64_t trimmed_ = 0;
  int64_t nacks_ = 0;
  int64_t duplicates_ = 0;
  int64_t most_ahead_ = 0;
};

using Senders = std::vector<std::unique_ptr<SenderModel>>;
using Receivers = std::vector<std::unique_ptr<ReceiverModel>>;

// Shows the models what a host does, and gives each packet an entropy of its own.
class BesideSender final : public HostPolicy {
 public:
  explicit BesideSender(Senders& models) : models_(models) {}

  void Use(Lab& lab) { transport_ = &dynamic_cast<const Uet&>(lab.network().host(0).transport()); }
  void OnSend(HostView& view, HostFlow& flow, Packet& packet) override {
    packet.entropy = entropy_++;
    SenderModel& model = *models_[flow.id];
    model.OnSent(view.now(), packet);
    EXPECT_DOUBLE_EQ(Sender(flow).control().window(), model.window());
    EXPECT_EQ(Sender(flow).in_flight(), model.in_flight());
  }
  void OnAck(HostView& view, HostFlow& flow, const Packet& packet, const AckNews& news) override {
    const double window = Sender(flow).control().window();
    if (packet.kind == PacketKind::kNack) {
      EXPECT_EQ(news.newly_acked, 0);
      EXPECT_EQ(news.ecn_echo, packet.Has(Packet::kEce));
      EXPECT_EQ(news.rtt, view.now() - packet.sent);
      models_[flow.id]->OnNack(view.now(), packet, window, Sender(flow).in_flight());
    } else {
      models_[flow.id]->OnAck(view.now(), packet, news, window);
      EXPECT_EQ(flow.srtt, models_[flow.id]->srtt());
    }
  }
  void OnLoss(HostView& view, HostFlow& flow, LossSign sign) override {
    if (sign == LossSign::kTimeout) {
      models_[flow.id]->OnTimeout(view.now(), flow.lost_entropy);
    } else {
      models_[flow.id]->OnHole(view.now());
    }
  }
  size_t StateBytes() const override { return 0; }

 private:
  const UetSender& Sender(const HostFlow& flow) const { return *transport_->FindSender(flow.id); }

  Senders& models_;
  const Uet* transport_ = nullptr;
  uint16_t entropy_ = 0;
};

class BesideReceiver final : public HostPolicy {
 public:
  explicit BesideReceiver(Receivers& models) : models_(models) {}
  void OnData(HostView&, const Packet& data) override { models_[data.flow]->OnData(data); }
  void OnSendAck(HostView&, const Packet& data, Packet& ack) override {
    models_[data.flow]->OnAnswer(data, ack);
  }
  size_t StateBytes() const override { return 0; }

 private:
  Receivers& models_;
};

struct Scenario {
  std::string name;
  NsccRules::Kind kind;
  std::string cc;
  std::string settings = "";
  bool trims = false;  // Behind a link of 40 Gbps; otherwise all have 100.
  int64_t ack_bytes = 16'384;
  double window = 0;
  int penalty = 255;
  bool base_rtt_on_nack = true;
  std::vector<int64_t> sizes = {2'000'000};
  double loss = 0;  // Of data, as the others but lost_acks.
  double marks = 0;
  double overtaken = 0;  // By 20 packets.
  double lost_acks = 0;
  bool times_out = false;
  bool recovers = false;
  bool requests = false;
};

void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.name; }

class UetModelTest : public testing::TestWithParam<Scenario> {};

TEST_P(UetModelTest, SendsWhatTheRulesSay) {
  const Scenario& scenario = GetParam();
  const BitRate narrow = scenario.trims ? 40_Gbps : 100_Gbps;
  Duration round_trip = 8_us;
  for (const BitRate rate : {kRate, kRate, narrow, kRate}) {
    round_trip += SerializationDelay(Bytes{kFull}, rate) + SerializationDelay(64_B, rate);
  }
  const NsccRules control{.kind = scenario.kind,
                          .packet = kFull,
                          .payload = kMss,
                          .rate = 100e9,
                          .rtt = round_trip,
                          .target = scenario.kind == NsccRules::Kind::kSmartt ? round_trip / 2
                                    : scenario.trims                          ? round_trip * 3 / 4
                                                                              : round_trip};
  int64_t timeouts = 0;
  int64_t recoveries = 0;
  int64_t requests = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Senders senders;
    Receivers receivers;
    for (const int64_t size : scenario.sizes) {
      const Rules rules{.control = control,
                        .size = size,
                        .window = scenario.window,
                        .rto = 120_us,
                        .sleek = !scenario.trims,
                        .penalty = scenario.penalty,
                        .base_rtt_on_nack = scenario.base_rtt_on_nack,
                        .is_alone = scenario.sizes.size() == 1};
      senders.push_back(std::make_unique<SenderModel>(rules, round_trip));
      receivers.push_back(std::make_unique<ReceiverModel>(size, scenario.ack_bytes));
    }
    BesideSender* beside = nullptr;
    const Match data = Anything(PacketKind::kData);
    Lab lab(
        {.graph = Line({{kRate, 1_us}, {kRate, 1_us}, {narrow, 1_us}, {kRate, 1_us}}),
         .transport =
             fmt::format("{{kind: uet, framing: uet_htsim, rto: 120us, cc: {}, ack_bytes: {}B, "
                         "rcv_pen: {}{}{}}}",
                         scenario.cc, scenario.ack_bytes, scenario.penalty,
                         scenario.window > 0 ? fmt::format(", window: {}B", scenario.window) : "",
                         scenario.settings),
         .port = scenario.trims
                     ? "{buffer: unlimited, ecn_above: unlimited, marking: red, red: {min: 11950B, "
                       "max: 47800B, probability: 1}, trim: {when: port}}"
                     : "{buffer: unlimited}",
         .switch_policy =
             Scripted({DropAt(0, WithProbability(scenario.loss, seed, data)),
                       MarkAt(0, WithProbability(scenario.marks, seed + 10, data)),
                       LetPassAt(0, WithProbability(scenario.overtaken, seed + 20, data), 20),
                       DropAt(2, WithProbability(scenario.lost_acks, seed + 30,
                                                 Anything(PacketKind::kAck)))}),
         .host_policy = [&](HostId host) -> HostPolicyPtr {
           if (host == 1) return std::make_unique<BesideReceiver>(receivers);
           auto policy = std::make_unique<BesideSender>(senders);
           beside = policy.get();
           return policy;
         }});
    beside->Use(lab);
    for (const int64_t size : scenario.sizes) lab.AddFlow(0, 1, size);
    lab.Run(Time{} + 1_s);
    ASSERT_TRUE(lab.finished());
    for (FlowId flow = 0; flow < scenario.sizes.size(); ++flow) {
      const SenderModel& model = *senders[flow];
      const SenderRecord& record = lab.Record(flow).sender;
      EXPECT_TRUE(model.done());
      EXPECT_EQ(record.timeouts, model.timeouts());
      EXPECT_EQ(record.fast_retransmits, model.recoveries());
      EXPECT_EQ(record.retransmissions, model.repairs());
      EXPECT_EQ(record.packets_sent, record.packets + model.repairs());
      EXPECT_EQ(record.nacks, receivers[flow]->nacks());
      receivers[flow]->CheckEnd(lab.Record(flow).receiver);
      timeouts += model.timeouts();
      recoveries += model.recoveries();
      requests += model.requests();
    }
    if (HasFailure()) return;
  }
  EXPECT_EQ(timeouts > 0, scenario.times_out);
  EXPECT_EQ(recoveries > 0, scenario.recovers);
  EXPECT_EQ(requests > 0, scenario.requests);
}

using Kind = NsccRules::Kind;

INSTANTIATE_TEST_SUITE_P(
    Networks, UetModelTest,
    testing::Values(Scenario{.name = "Idle", .kind = Kind::kNscc, .cc = "nscc"},
                    Scenario{.name = "Losses",
                             .kind = Kind::kNscc,
                             .cc = "nscc",
                             .loss = 0.01,
                             .lost_acks = 0.01,
                             .recovers = true},
                    Scenario{.name = "Holes",
                             .kind = Kind::kMprdmaAck,
                             .cc = "mprdma_ack",
                             .ack_bytes = 1,
                             .loss = 0.01,
                             .marks = 0.1,
                             .overtaken = 0.01,
                             .lost_acks = 0.05,
                             .recovers = true},
                    Scenario{.name = "ManyLosses",
                             .kind = Kind::kDctcpAck,
                             .cc = "dctcp_ack",
                             .sizes = {500'000},
                             .loss = 0.2,
                             .marks = 0.1,
                             .lost_acks = 0.3,
                             .times_out = true,
                             .recovers = true},
                    Scenario{.name = "Trims", .kind = Kind::kNscc, .cc = "nscc", .trims = true},
                    Scenario{.name = "TrimsAndLosses",
                             .kind = Kind::kNscc,
                             .cc = "nscc",
                             .settings = ", base_rtt_on_nack: false",
                             .trims = true,
                             .ack_bytes = 1,
                             .base_rtt_on_nack = false,
                             .loss = 0.01,
                             .overtaken = 0.01,
                             .lost_acks = 0.01,
                             .times_out = true,
                             .requests = true},
                    Scenario{.name = "SmarttAndPenalty",
                             .kind = Kind::kSmartt,
                             .cc = "smartt",
                             .trims = true,
                             .penalty = 240,
                             .loss = 0.003,
                             .lost_acks = 0.01,
                             .times_out = true},
                    Scenario{.name = "SmallWindows",
                             .kind = Kind::kMprdmaAck,
                             .cc = "mprdma_ack",
                             .trims = true,
                             .ack_bytes = 1,
                             .window = 12'000,
                             .sizes = {400'000},
                             .loss = 0.15,
                             .marks = 0.3,
                             .lost_acks = 0.2,
                             .times_out = true,
                             .requests = true},
                    Scenario{.name = "ConstantWindow",
                             .kind = Kind::kConstant,
                             .cc = "constant",
                             .trims = true,
                             .window = 100'000,
                             .loss = 0.01,
                             .lost_acks = 0.01,
                             .times_out = true},
                    Scenario{.name = "ManyFlows",
                             .kind = Kind::kNscc,
                             .cc = "nscc",
                             .sizes = {300'000, 1, 4'086, 400'000, 500'001},
                             .loss = 0.02,
                             .marks = 0.05,
                             .overtaken = 0.01,
                             .lost_acks = 0.02,
                             .recovers = true},
                    Scenario{.name = "ManyTrimmedFlows",
                             .kind = Kind::kNscc,
                             .cc = "nscc",
                             .trims = true,
                             .sizes = {300'000, 1, 4'086, 400'000, 500'001},
                             .loss = 0.01,
                             .lost_acks = 0.02,
                             .times_out = true,
                             .requests = true}),
    [](const auto& test) { return test.param.name; });

}  // namespace heddle::uet_model_test
