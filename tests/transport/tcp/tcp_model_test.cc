// SPDX-License-Identifier: Apache-2.0
// TCP with NewReno or SACK, Reno or DCTCP, beside plain models of the sender and the receiver,
// which see what the hosts' policies see. The sender's model keeps sets of segments and follows
// RFCs 5681, 6298, 6582, 6675, 3042, 3168 and 8257 step by step, and with options RFC 8985 (RACK
// and tail loss probes), 6937 (PRR), 3708 (undo) and NextSeg's rule 4 of RFC 6675 (rescue).

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/rack_model.h"
#include "tests/support/scripted_policy.h"
#include "transport/rtt.h"
#include "transport/tcp/tcp.h"

namespace heddle::tcp_model_test {

constexpr BitRate kRate = 10_Gbps;

struct Scenario {
  std::string name = "";
  std::string transport = "";  // What follows says the same to the models.
  bool sack = true;
  bool dctcp = false;
  bool ecn = false;  // RFC 3168; DCTCP has its own.
  double g = 1.0 / 16;
  uint32_t dupthresh = 3;
  uint32_t iw = 10;
  uint32_t most = 65'535;  // Segments in flight.
  bool limited_transmit = true;
  bool timestamps = false;
  Duration min_rto = 1_ms;
  Duration max_rto = 2_s;
  int64_t delack_count = 1;
  Duration delack_timeout = 100_us;
  bool rack = false;
  bool tlp = false;
  bool prr = false;
  bool undo = false;
  bool rescue = false;
  bool adapt = false;
  std::vector<int64_t> sizes = {2'000'000};
  double loss = 0;  // Of data, as the others but lost_acks.
  double marks = 0;
  double overtaken = 0;  // By 5 segments.
  double lost_acks = 0;
  bool pauses = false;  // What leaves in the first 40 us of a millisecond is late by 200 us.
  bool recovers = false;
  bool times_out = false;

  int64_t mss() const { return timestamps ? 1'448 : 1'460; }
  int64_t headers() const { return 1'518 - mss(); }
  bool marks_each() const { return dctcp; }
  bool extended() const { return rack || prr || undo || rescue || adapt; }
};

void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.name; }

class SenderModel {
 public:
  SenderModel(const Scenario& scenario, int64_t size)
      : rules_(scenario),
        size_(size),
        mss_(static_cast<double>(scenario.mss())),
        segments_(static_cast<uint32_t>((size + scenario.mss() - 1) / scenario.mss())),
        cwnd_(mss_ * scenario.iw),
        observed_to_(std::min(scenario.iw, segments_)),
        dupthresh_(scenario.dupthresh) {}
  SenderModel(const SenderModel&) = delete;

  double cwnd() const { return cwnd_; }
  double ssthresh() const { return ssthresh_; }
  double alpha() const { return alpha_; }
  int64_t in_flight() const {
    return PayloadUpTo(static_cast<uint32_t>(std::max<size_t>(nxt_, sent_.size()))) - acked();
  }
  int64_t acked() const { return PayloadUpTo(una_); }

  // What has happened.
  struct Counts {
    int64_t timeouts = 0;
    int64_t recoveries = 0;
    int64_t repairs = 0;
    int64_t probes = 0;
    int64_t probe_losses = 0;  // Probes that have shown a loss.
    int64_t undone = 0;
    int64_t rescues = 0;

    void Add(const Counts& other) {
      timeouts += other.timeouts;
      recoveries += other.recoveries;
      probes += other.probes;
      probe_losses += other.probe_losses;
      undone += other.undone;
      rescues += other.rescues;
    }
  };
  const Counts& counts() const { return counts_; }

  void OnSent(Time now, const Packet& packet) {
    SCOPED_TRACE(fmt::format("segment {} at {} ps", packet.seq, now.ps));
    RunTimers(now);
    EXPECT_FALSE(loss_due_);
    EXPECT_LE(now, timeout_at_);
    ASSERT_TRUE(CanSend());
    const uint32_t segment = Next();
    ASSERT_EQ(packet.seq, segment);
    const bool was_probe_due = probe_due_;
    if (rules_.extended() && !HasLost() && (rules_.rack || !resend_first_)) NoteBeyondLost();
    resend_first_ = false;
    const bool again = segment < sent_.size();
    EXPECT_EQ(packet.Has(Packet::kRetransmission), again);
    EXPECT_EQ(packet.Has(Packet::kEct), rules_.marks_each() || (rules_.ecn && !again));
    if (again) {
      ++counts_.repairs;
      if (recover_ && una_ < *recover_) ++unproven_;
      sent_[segment].again = true;
      if (lost_.contains(segment)) resent_.insert(segment);
    } else {
      sent_.push_back({});
      rack_.segments.push_back({});
      EXPECT_EQ(packet.Has(Packet::kCwr), std::exchange(cwr_due_, false));
    }
    sent_[segment].at = now;
    rack_.segments[segment] = {.sent = now, .retransmitted = sent_[segment].again};
    if (segment == nxt_) ++nxt_;
    if (recovering_) ++prr_out_;
    const int64_t payload = PayloadUpTo(segment + 1) - PayloadUpTo(segment);
    EXPECT_EQ(packet.data.payload, payload);
    EXPECT_EQ(packet.bytes, std::max<int64_t>(payload + rules_.headers(), 64));
    if (timeout_at_ == kNever || was_probe_due) RestartTimer(now);
    ScheduleProbe(now);
    busy_until_ = now + SerializationDelay(Bytes{packet.bytes + 20}, kRate);
  }

  // `cwnd` is the sender's after congestion control has heard of the ACK.
  void OnAck(Time now, const Packet& ack, const AckNews& news, double cwnd) {
    SCOPED_TRACE(fmt::format("ACK {} at {} ps", ack.seq, now.ps));
    RunTimers(now - 1_ps);
    EXPECT_FALSE(loss_due_);
    EXPECT_LE(now, timeout_at_);
    EXPECT_FALSE(rules_.sizes.size() == 1 && CanSend() && now > busy_until_);
    EXPECT_EQ(news.ecn_echo, ack.Has(Packet::kEce));
    const uint32_t arrived_before = Arrived();
    const uint32_t newly_sacked = TakeBlocks(now, ack);
    EXPECT_EQ(news.newly_sacked, newly_sacked * rules_.mss());
    if (ack.seq > una_) {
      Advance(now, ack, news, cwnd);
      if (una_ == segments_) return;
    } else {
      EXPECT_EQ(news.newly_acked, 0);
      EXPECT_EQ(news.rtt, Duration{0});
      if (ack.seq == una_ && Outstanding() > 0 && (newly_sacked > 0 || !rules_.sack)) {
        ++dupacks_;
        if (recovering_ && !rules_.sack) cwnd_ += mss_;
      }
      EXPECT_DOUBLE_EQ(cwnd, cwnd_);
    }
    LearnFrom(ack);
    Repair(now, newly_sacked, Arrived() - arrived_before);
  }

  void OnHole(Time now) {
    RunTimers(now);
    EXPECT_TRUE(std::exchange(loss_due_, false));
  }

  void OnTimeout(Time now) {
    SCOPED_TRACE(fmt::format("timeout at {} ps", now.ps));
    RunTimers(now - 1_ps);
    EXPECT_FALSE(loss_due_);
    EXPECT_EQ(now, timeout_at_);
    ++counts_.timeouts;
    backoff_ *= 2;
    if (!IsInEpisode()) BeginEpisode();
    if (timed_out_at_ != una_) Halve();
    timed_out_at_ = una_;
    cwnd_ = mss_;
    recovering_ = resend_first_ = false;
    dupacks_ = 0;
    recover_ = sent_.size();
    if (rules_.sack) {
      lost_.clear();
      resent_.clear();
      for (uint32_t i = una_; i < sent_.size(); ++i) {
        if (!sacked_.contains(i)) lost_.insert(i);
        rack_.segments[i].lost = !sacked_.contains(i);
      }
    } else {
      nxt_ = una_;
    }
    probe_due_ = false;
    probe_end_.reset();
    if (rules_.dctcp) {  // A new observation, and slow start.
      acked_ = marked_ = 0;
      observed_to_ = nxt_;
      held_to_ = 0;
    }
    RestartTimer(now);
  }

  void CheckEnd(const SenderRecord& record) const {
    EXPECT_EQ(una_, segments_);
    EXPECT_FALSE(loss_due_);
    EXPECT_EQ(record.packets, segments_);
    EXPECT_EQ(record.timeouts, counts_.timeouts);
    EXPECT_EQ(record.fast_retransmits, counts_.recoveries);
    EXPECT_EQ(record.retransmissions, counts_.repairs);
    EXPECT_EQ(record.packets_sent, segments_ + counts_.repairs);
  }

 private:
  struct Sent {
    Time at{};
    bool again = false;
  };

  int64_t PayloadUpTo(uint32_t segments) const { return std::min(segments * rules_.mss(), size_); }
  uint32_t Outstanding() const { return static_cast<uint32_t>(sent_.size()) - una_; }
  uint32_t Arrived() const { return una_ + static_cast<uint32_t>(sacked_.size()); }
  uint32_t Flight() const { return nxt_ - una_; }
  size_t Pipe() const { return Outstanding() - sacked_.size() - lost_.size() + resent_.size(); }
  bool Fits(size_t segments) const { return static_cast<double>(segments + 1) * mss_ <= cwnd_; }
  bool HasNew() const { return Flight() < rules_.most && nxt_ < segments_; }
  bool HasLost() const { return lost_.size() > resent_.size(); }
  bool CanSend() const {
    if (resend_first_ && (!rules_.rack || HasLost())) return true;
    if (!resend_first_ && (probe_due_ || (MayRescue() && Fits(Pipe())))) return true;
    if (rules_.sack) return Fits(Pipe()) && (HasLost() || HasNew());
    const uint32_t more =
        !recovering_ && rules_.limited_transmit ? std::min(dupacks_, 2u) : 0;  // RFC 3042.
    return HasNew() && (Flight() < more || Fits(Flight() - more));
  }
  // RFC 6675 section 4: NextSeg().
  uint32_t Next() const {
    if (resend_first_ && !rules_.rack) return una_;
    if (!rules_.sack) return nxt_;
    for (const uint32_t segment : lost_) {
      if (!resent_.contains(segment)) return segment;
    }
    if (HasNew() || !rules_.extended()) return nxt_;
    uint32_t highest = static_cast<uint32_t>(sent_.size()) - 1;
    while (sacked_.contains(highest)) --highest;
    return highest;
  }
  bool MayRescue() const {
    return rules_.rescue && recovering_ && !rescued_ && Outstanding() > sacked_.size();
  }
  // A segment leaves that is not known to be lost.
  void NoteBeyondLost() {
    const bool has_new = HasNew();
    if (std::exchange(probe_due_, false)) {
      ++counts_.probes;
      probe_is_old_ = !has_new;
      probe_end_ = sent_.size() + (has_new ? 1 : 0);
    } else if (!has_new) {
      ++counts_.rescues;
      rescued_ = true;
    }
  }

  // RFC 6675 section 4: Update() with the blocks of an ACK.
  uint32_t TakeBlocks(Time now, const Packet& ack) {
    const size_t before = sacked_.size();
    if (!rules_.sack) return 0;
    for (const SackBlock& block : ack.ack.sack) {
      for (uint32_t i = 0; i < block.length; ++i) {
        const uint32_t segment = ack.seq + block.start + i;
        if (segment < una_ || segment >= sent_.size()) continue;
        rack_.OnDelivered(segment, now);
        sacked_.insert(segment);
        lost_.erase(segment);
        resent_.erase(segment);
      }
    }
    return static_cast<uint32_t>(sacked_.size() - before);
  }
  // IsLost(): so many segments above it have arrived.
  void MarkLost() {
    for (uint32_t i = una_; i < sent_.size(); ++i) {
      const auto above = std::distance(sacked_.upper_bound(i), sacked_.end());
      if (static_cast<uint32_t>(above) < dupthresh_) return;
      if (!sacked_.contains(i)) lost_.insert(i);
    }
  }

  // Returns true if there is a sign of loss that starts a recovery.
  bool FindLosses(Time now, uint32_t newly_sacked) {
    if (!rules_.rack) {
      if (newly_sacked > 0) MarkLost();
      return dupacks_ >= dupthresh_ || (Outstanding() > 0 && lost_.contains(una_));
    }
    const bool many_sacked = sacked_.size() >= dupthresh_;
    reorder_at_ = rack_.Detect(now, rack_.Patience(recovering_, many_sacked, rtt_.srtt()));
    for (uint32_t i = una_; i < sent_.size(); ++i) {
      if (!rack_.segments[i].lost) continue;
      lost_.insert(i);
      resent_.erase(i);
    }
    return HasLost();
  }
  void Repair(Time now, uint32_t newly_sacked, uint32_t arrived) {
    if (FindLosses(now, newly_sacked) && !recovering_ && MayRecover()) EnterRecovery();
    if (!rules_.prr || !recovering_ || !may_undo_) return;
    // RFC 6937 section 3, with the slow start reduction bound. Parts of segments are not sent.
    const double pipe = static_cast<double>(Pipe());
    const double ssthresh = ssthresh_ / mss_;
    prr_arrived_ += arrived;
    double more = 0;
    if (pipe > ssthresh) {
      more = std::ceil(prr_arrived_ * ssthresh / prr_flight_) - prr_out_;
    } else {
      more = std::max(prr_arrived_ - prr_out_, 1.0 * arrived) + 1;
      more = std::min(more, std::floor(ssthresh) - pipe);
    }
    cwnd_ = (pipe + std::max(more, 0.0)) * mss_;
  }

  // DSACKs, probes and reordering.
  void LearnFrom(const Packet& ack) {
    const bool twice = ack.Has(Packet::kDsack);
    if (twice) rack_.OnDsack();
    if (twice && rules_.undo && may_undo_ && unproven_ > 0 && --unproven_ == 0) {
      cwnd_ = std::max(cwnd_, cwnd_before_);
      ssthresh_ = std::max(ssthresh_, ssthresh_before_);
      may_undo_ = false;
      ++counts_.undone;
    }
    rack_.EndAck();
    if (rules_.adapt) dupthresh_ = std::max(dupthresh_, std::min(rack_.extent() + 1, 300u));
    // RFC 8985 section 7.4.2.
    if (!probe_end_ || ack.seq < *probe_end_) return;
    const bool is_needless = !probe_is_old_ || twice;
    if (!is_needless && ack.seq == *probe_end_) return;
    probe_end_.reset();
    if (is_needless) return;
    ++counts_.probe_losses;
    Halve();
    cwnd_ = ssthresh_;
    reduced_to_ = held_to_ = static_cast<uint32_t>(sent_.size());
  }
  // RFC 8985 sections 7.2 and 7.3.
  bool MayProbe() const {
    return Outstanding() > 0 && sacked_.empty() && !IsInEpisode() && !probe_end_;
  }
  void ScheduleProbe(Time now) {
    probe_due_ = false;
    probe_at_ = kNever;
    if (!rules_.tlp || !MayProbe() || rtt_.srtt() == Duration{0}) return;
    Time due = now + 2 * rtt_.srtt();
    if (Outstanding() == 1 && rules_.delack_count > 1) due += rules_.delack_timeout;
    if (due < timeout_at_) probe_at_ = due;
  }
  // The timers of RACK and probes, in order; no policy hears of them.
  void RunTimers(Time now) {
    while (std::min(reorder_at_, probe_at_) <= now) {
      if (reorder_at_ <= probe_at_) {
        Repair(std::exchange(reorder_at_, kNever), 0, 0);
      } else {
        probe_at_ = kNever;
        probe_due_ = MayProbe();
      }
    }
  }

  void Advance(Time now, const Packet& ack, const AckNews& news, double cwnd) {
    const double flight = Flight() * mss_;
    const int64_t bytes = PayloadUpTo(ack.seq) - PayloadUpTo(una_);
    // Karn's rule: no sample if a segment that the ACK covers was sent again.
    bool ambiguous = false;
    std::optional<Time> sent;
    for (; una_ < ack.seq; ++una_) {
      ambiguous = ambiguous || sent_[una_].again;
      if (!sacked_.contains(una_)) {
        sent = sent_[una_].at;
        rack_.OnDelivered(una_, now);
      }
      sacked_.erase(una_);
      lost_.erase(una_);
      resent_.erase(una_);
    }
    nxt_ = std::max(nxt_, una_);
    rack_.una = una_;
    Duration rtt = sent && !ambiguous ? now - *sent : Duration{0};
    if (rules_.timestamps) rtt = now - ack.sent;
    if (rtt.ps > 0) {
      rtt_.Sample(rtt);
      backoff_ = 1;
    }
    EXPECT_EQ(news.newly_acked, bytes);
    EXPECT_EQ(news.rtt, rtt);
    timed_out_at_.reset();
    const bool uses_window = flight >= cwnd_ - mss_ || (cwnd_ < ssthresh_ && cwnd_ < 2 * flight);
    Control(bytes, ack.Has(Packet::kEce), uses_window);
    EXPECT_DOUBLE_EQ(cwnd, cwnd_);
    const bool is_first_partial = !std::exchange(seen_partial_, seen_partial_);
    if (recovering_) Continue(bytes);
    dupacks_ = 0;
    if (una_ == segments_) return;
    if (Outstanding() == 0) {
      timeout_at_ = kNever;
    } else if (!recovering_ || rules_.sack || is_first_partial) {
      RestartTimer(now);
    }
    ScheduleProbe(now);
  }

  // Marks and growth: RFC 3168 section 6.1.2, RFC 8257 section 3.3, RFC 5681 section 3.1.
  void Control(int64_t bytes, bool echo, bool uses_window) {
    if (rules_.dctcp) {
      acked_ += bytes;
      if (echo) marked_ += bytes;
      if (una_ > observed_to_) {
        const double share = static_cast<double>(marked_) / static_cast<double>(acked_);
        alpha_ = (1 - rules_.g) * alpha_ + rules_.g * share;
        acked_ = marked_ = 0;
        observed_to_ = nxt_;
      }
    }
    if (echo && una_ > reduced_to_ && !recovering_) {
      if (rules_.dctcp) {
        ssthresh_ = std::max(cwnd_ * (1 - alpha_ / 2), 2 * mss_);
        cwnd_ = std::min(cwnd_, ssthresh_);
      } else {
        Halve();
        cwnd_ = std::min(cwnd_, ssthresh_);
      }
      reduced_to_ = held_to_ = nxt_;
      return;
    }
    const bool is_held = rules_.dctcp && una_ <= held_to_;
    if (echo || recovering_ || is_held || !uses_window) return;
    const double acked = static_cast<double>(bytes);
    const int limit = rules_.delack_count == 1 ? 1 : 2;
    cwnd_ += cwnd_ < ssthresh_ ? std::min(acked, limit * mss_) : mss_ * acked / cwnd_;
  }
  // For marks and losses alike: RFC 3168 section 6.1.2 tells the receiver of each reduction.
  void Halve() {
    ssthresh_ = std::max(Flight() * mss_ / 2, 2 * mss_);
    if (rules_.ecn) cwr_due_ = true;
  }

  bool MayRecover() const {
    if (Outstanding() == 0) return false;
    return !recover_ || (rules_.sack ? una_ >= *recover_ : una_ > *recover_);
  }
  bool IsInEpisode() const { return recover_ && una_ < *recover_; }
  void BeginEpisode() {
    cwnd_before_ = cwnd_;
    ssthresh_before_ = ssthresh_;
    unproven_ = 0;
    may_undo_ = true;
    rescued_ = false;
    rack_.BeginEpisode();
    prr_flight_ = Flight();
    prr_arrived_ = prr_out_ = 0;
  }
  void EnterRecovery() {
    ++counts_.recoveries;
    BeginEpisode();
    loss_due_ = true;
    recovering_ = true;
    seen_partial_ = false;
    recover_ = sent_.size();
    Halve();
    cwnd_ = ssthresh_;
    // An earlier recovery may have sent it again beyond its own end.
    resend_first_ = rules_.rack || !resent_.contains(una_);
    if (rules_.sack) {
      if (!rules_.rack) lost_.insert(una_);
    } else {
      cwnd_ += rules_.dupthresh * mss_;
    }
    reduced_to_ = held_to_ = static_cast<uint32_t>(sent_.size());
  }
  void Continue(int64_t bytes) {
    if (una_ >= *recover_) {
      recovering_ = resend_first_ = false;
      rack_.OnRecoveryEnd();
      if (rules_.prr && may_undo_) cwnd_ = ssthresh_;
      if (!rules_.sack) cwnd_ = std::min(ssthresh_, std::max(Flight() * mss_, mss_) + mss_);
    } else if (rules_.sack) {
      resend_first_ = false;
    } else {  // A partial ACK (RFC 6582 section 3.2 step 5).
      seen_partial_ = resend_first_ = true;
      cwnd_ = std::max(cwnd_ - static_cast<double>(bytes), 0.0) + mss_;
    }
  }
  void RestartTimer(Time now) {
    const RtoLimits limits{rules_.min_rto, rules_.max_rto, rules_.min_rto, Duration{0}};
    timeout_at_ = now + std::min(rtt_.Rto(limits) * backoff_, rules_.max_rto);
  }

  const Scenario& rules_;
  const int64_t size_;
  const double mss_;
  const uint32_t segments_;
  std::vector<Sent> sent_;
  std::set<uint32_t> sacked_;
  std::set<uint32_t> lost_;
  std::set<uint32_t> resent_;  // Of the lost ones.
  uint32_t una_ = 0;
  uint32_t nxt_ = 0;
  double cwnd_;
  double ssthresh_ = std::numeric_limits<double>::infinity();
  uint32_t dupacks_ = 0;
  bool recovering_ = false;
  bool resend_first_ = false;
  bool seen_partial_ = false;
  std::optional<size_t> recover_;
  bool loss_due_ = false;  // The policy is to hear of a loss.
  bool cwr_due_ = false;
  uint32_t reduced_to_ = 0;
  uint32_t held_to_ = 0;
  double alpha_ = 1;
  int64_t acked_ = 0;
  int64_t marked_ = 0;
  uint32_t observed_to_;
  RttEstimator rtt_;
  int64_t backoff_ = 1;
  std::optional<uint32_t> timed_out_at_;
  Time timeout_at_ = kNever;
  Time busy_until_{};
  Counts counts_;

  RackModel rack_;
  uint32_t dupthresh_;
  Time reorder_at_ = kNever;
  Time probe_at_ = kNever;
  bool probe_due_ = false;
  bool probe_is_old_ = false;
  std::optional<size_t> probe_end_;
  bool rescued_ = false;
  double cwnd_before_ = 0;  // The last episode.
  double ssthresh_before_ = 0;
  uint32_t unproven_ = 0;
  bool may_undo_ = false;
  double prr_flight_ = 0;
  double prr_arrived_ = 0;
  double prr_out_ = 0;
};

// What the receiver of one flow must acknowledge.
class ReceiverModel {
 public:
  ReceiverModel(const Scenario& scenario, int64_t size) : rules_(scenario), size_(size) {}
  ReceiverModel(const ReceiverModel&) = delete;

  void OnData(Time now, const Packet& data) {
    EXPECT_TRUE(due_.empty());
    ExpectInTime(now);
    if (!rules_.marks_each()) {
      echo_ = data.Has(Packet::kCe) || (echo_ && !data.Has(Packet::kCwr));
    } else {
      // Packets with and without a mark are never answered together.
      const bool changes = data.Has(Packet::kCe) != echo_;
      if (unanswered_ > 0 && changes) Answer(last_, false);
      echo_ = data.Has(Packet::kCe);
    }
    const bool had_hole = !ahead_.empty();
    const bool is_known = data.seq < expected_ || ahead_.contains(data.seq);
    const bool in_order = data.seq == expected_;
    if (is_known) {
      ++duplicates_;
    } else {
      Keep(data);
    }
    if (in_order && !had_hole) {
      if (++unanswered_ == 1) acks_by_ = now + rules_.delack_timeout;
      last_ = data;
      if (unanswered_ < rules_.delack_count) return;
    }
    Answer(data, is_known);
  }

  void OnAnswer(Time now, const Packet& data, const Packet& ack) {
    SCOPED_TRACE(fmt::format("answer to {} at {} ps", data.seq, now.ps));
    if (due_.empty()) {  // The timer of delayed ACKs.
      EXPECT_GT(unanswered_, 0);
      EXPECT_EQ(now, acks_by_);
      Answer(last_, false);
    }
    const Due& answer = due_.front();
    EXPECT_EQ(data.seq, answer.to);
    EXPECT_EQ(ack.seq, answer.expected);
    EXPECT_EQ(ack.sent, data.sent);
    EXPECT_EQ(ack.bytes, rules_.timestamps ? 70 : 64);
    EXPECT_EQ(ack.flags, (answer.again ? Packet::kDsack : 0) | (answer.echo ? Packet::kEce : 0));
    std::vector<std::pair<uint32_t, uint32_t>> blocks;
    for (const SackBlock& block : ack.ack.sack) {
      if (block.length == 0 || answer.blocks.empty()) break;
      blocks.emplace_back(ack.seq + block.start, ack.seq + block.start + block.length);
    }
    EXPECT_EQ(blocks, answer.blocks);
    due_.erase(due_.begin());
  }

  void CheckEnd(const ReceiverRecord& record) const {
    EXPECT_TRUE(due_.empty());
    EXPECT_EQ(bytes_, size_);
    EXPECT_EQ(record.duplicates, duplicates_);
    EXPECT_EQ(record.max_out_of_order_bytes, most_ahead_);
  }

 private:
  using Blocks = std::vector<std::pair<uint32_t, uint32_t>>;
  struct Due {
    uint32_t to;
    uint32_t expected;
    bool echo;
    Blocks blocks;
    bool again;
  };

  void Answer(const Packet& data, bool again) {
    due_.push_back({data.seq, expected_, echo_, ToReport(), again});
    unanswered_ = 0;
  }
  void ExpectInTime(Time now) const { EXPECT_FALSE(unanswered_ > 0 && now > acks_by_); }

  // RFC 2018 section 4: the block of the latest segment first, then those reported before.
  Blocks ToReport() const {
    Blocks blocks;
    for (const uint32_t segment : latest_) {
      if (!ahead_.contains(segment)) continue;
      const auto block = BlockOf(segment);
      if (std::ranges::find(blocks, block) == blocks.end()) blocks.push_back(block);
    }
    return blocks;
  }
  std::pair<uint32_t, uint32_t> BlockOf(uint32_t segment) const {
    uint32_t first = segment;
    uint32_t end = segment + 1;
    while (ahead_.contains(first - 1)) --first;
    while (ahead_.contains(end)) ++end;
    return {first, end};
  }
  void Keep(const Packet& data) {
    bytes_ += data.data.payload;
    ahead_.insert(data.seq);
    if (data.seq == expected_) {
      while (ahead_.erase(expected_) > 0) ++expected_;
      return;
    }
    int64_t beyond = 0;
    for (const uint32_t segment : ahead_) {
      beyond += std::min(rules_.mss(), size_ - segment * rules_.mss());
    }
    most_ahead_ = std::max(most_ahead_, beyond);
    // Three blocks are remembered, each by one segment.
    const auto [first, end] = BlockOf(data.seq);
    std::erase_if(latest_, [&, first = first, end = end](uint32_t segment) {
      return segment < expected_ || (segment >= first && segment < end);
    });
    latest_.insert(latest_.begin(), data.seq);
    if (latest_.size() > 3) latest_.pop_back();
  }

  const Scenario& rules_;
  const int64_t size_;
  uint32_t expected_ = 0;
  std::set<uint32_t> ahead_;
  std::vector<uint32_t> latest_;
  bool echo_ = false;
  int64_t unanswered_ = 0;
  Packet last_;
  Time acks_by_{};
  std::vector<Due> due_;
  int64_t bytes_ = 0;
  int64_t duplicates_ = 0;
  int64_t most_ahead_ = 0;
};

using Senders = std::vector<std::unique_ptr<SenderModel>>;
using Receivers = std::vector<std::unique_ptr<ReceiverModel>>;

class BesideSender final : public HostPolicy {
 public:
  explicit BesideSender(Senders& models) : models_(models) {}

  void Use(Lab& lab) { transport_ = &dynamic_cast<const Tcp&>(lab.network().host(0).transport()); }
  void OnSend(HostView& view, HostFlow& flow, Packet& packet) override {
    SenderModel& model = *models_[flow.id];
    model.OnSent(view.now(), packet);
    const TcpSender& sender = *transport_->FindSender(flow.id);
    EXPECT_DOUBLE_EQ(sender.cwnd(), model.cwnd());
    EXPECT_DOUBLE_EQ(sender.window().ssthresh, model.ssthresh());
    EXPECT_DOUBLE_EQ(sender.state().alpha.value_or(1), model.alpha());
    EXPECT_EQ(sender.state().in_flight, model.in_flight());
    EXPECT_EQ(sender.state().acked, model.acked());
  }
  void OnAck(HostView& view, HostFlow& flow, const Packet& packet, const AckNews& news) override {
    models_[flow.id]->OnAck(view.now(), packet, news, transport_->FindSender(flow.id)->cwnd());
  }
  void OnLoss(HostView& view, HostFlow& flow, LossSign sign) override {
    if (sign == LossSign::kTimeout) {
      models_[flow.id]->OnTimeout(view.now());
    } else {
      models_[flow.id]->OnHole(view.now());
    }
  }
  size_t StateBytes() const override { return 0; }

 private:
  Senders& models_;
  const Tcp* transport_ = nullptr;
};

class BesideReceiver final : public HostPolicy {
 public:
  explicit BesideReceiver(Receivers& models) : models_(models) {}
  void OnData(HostView& view, const Packet& data) override {
    models_[data.flow]->OnData(view.now(), data);
  }
  void OnSendAck(HostView& view, const Packet& data, Packet& ack) override {
    models_[data.flow]->OnAnswer(view.now(), data, ack);
  }
  size_t StateBytes() const override { return 0; }

 private:
  Receivers& models_;
};

Match Paused(bool pauses) {
  return [=](const Packet& p) {
    return pauses && p.kind == PacketKind::kData && p.sent.ps % 1'000'000'000 < 40'000'000;
  };
}

class TcpModelTest : public testing::TestWithParam<Scenario> {};

TEST_P(TcpModelTest, SendsWhatTheRulesSay) {
  const Scenario& scenario = GetParam();
  SenderModel::Counts counts;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Senders senders;
    Receivers receivers;
    for (const int64_t size : scenario.sizes) {
      senders.push_back(std::make_unique<SenderModel>(scenario, size));
      receivers.push_back(std::make_unique<ReceiverModel>(scenario, size));
    }
    BesideSender* beside = nullptr;
    const Match data = Anything(PacketKind::kData);
    Lab lab({.graph = Line(4, {kRate, 5_us}),
             .transport = "{" + scenario.transport + "}",
             .switch_policy =
                 Scripted({DropAt(0, WithProbability(scenario.loss, seed, data)),
                           MarkAt(0, WithProbability(scenario.marks, seed + 10, data)),
                           HoldAt(1, Paused(scenario.pauses), 200_us),
                           LetPassAt(0, WithProbability(scenario.overtaken, seed + 20, data), 5),
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
    lab.Run(Time{} + 10_s);
    ASSERT_TRUE(lab.finished());
    for (FlowId flow = 0; flow < scenario.sizes.size(); ++flow) {
      const FlowRecord& record = lab.Record(flow);
      senders[flow]->CheckEnd(record.sender);
      receivers[flow]->CheckEnd(record.receiver);
      counts.Add(senders[flow]->counts());
    }
    if (HasFailure()) return;
  }
  EXPECT_EQ(counts.timeouts > 0, scenario.times_out);
  EXPECT_EQ(counts.recoveries > 0, scenario.recovers);
  EXPECT_EQ(counts.probes > 0, scenario.tlp);
  EXPECT_EQ(counts.probe_losses > 0, scenario.tlp && scenario.most < 10);
  EXPECT_EQ(counts.undone > 0, scenario.undo);
  EXPECT_EQ(counts.rescues > 0, scenario.rescue);
}

Scenario Extended(const std::string& name, const std::string& options, Scenario rest) {
  rest.name = name;
  rest.transport = "kind: tcp, min_rto: 1ms, " + options;
  rest.sizes = {300'000, 1, 1'460, 400'000, 500'001};
  rest.loss = 0.03;
  rest.overtaken = 0.03;
  rest.lost_acks = 0.05;
  rest.pauses = rest.recovers = rest.times_out = true;
  return rest;
}

// A DSACK widens RACK's reordering window for 16 recoveries (RFC 8985 section 6.2). Here many more
// follow, as little is overtaken.
Scenario LongRack() {
  Scenario all = Extended("RackForgets", "loss: rack", {.rack = true});
  all.sizes = {6'000'000};
  all.loss = 0.01;
  all.overtaken = 0.0005;
  all.pauses = all.times_out = false;
  return all;
}

INSTANTIATE_TEST_SUITE_P(
    Networks, TcpModelTest,
    testing::Values(
        Scenario{.name = "Reno", .transport = "kind: tcp, min_rto: 1ms"},
        Scenario{.name = "RenoLoses",
                 .transport = "kind: tcp, min_rto: 1ms",
                 .loss = 0.02,
                 .overtaken = 0.01,
                 .lost_acks = 0.02,
                 .recovers = true,
                 .times_out = true},
        Scenario{.name = "NewRenoLoses",
                 .transport = "kind: tcp, recovery: newreno, min_rto: 1ms",
                 .sack = false,
                 .loss = 0.02,
                 .overtaken = 0.01,
                 .lost_acks = 0.02,
                 .recovers = true,
                 .times_out = true},
        Scenario{.name = "NewRenoWithDelayedAcks",
                 .transport = "kind: tcp, recovery: newreno, min_rto: 1ms, delack_count: 2, "
                              "delack_timeout: 100us, limited_transmit: false, dupthresh: 5, "
                              "timestamps: true, rwnd: 40",
                 .sack = false,
                 .dupthresh = 5,
                 .most = 40,
                 .limited_transmit = false,
                 .timestamps = true,
                 .delack_count = 2,
                 .sizes = {300'000, 1, 1'460, 400'000, 500'001},
                 .loss = 0.01,
                 .overtaken = 0.01,
                 .lost_acks = 0.02,
                 .recovers = true,
                 .times_out = true},
        Scenario{.name = "Ecn",
                 .transport = "kind: tcp, ecn: rfc3168, min_rto: 1ms, iw: 4, max_rto: 3ms",
                 .ecn = true,
                 .iw = 4,
                 .max_rto = 3_ms,
                 .loss = 0.01,
                 .marks = 0.02,
                 .overtaken = 0.01,
                 .lost_acks = 0.05,
                 .recovers = true,
                 .times_out = true},
        Scenario{.name = "Dctcp",
                 .transport = "kind: dctcp, min_rto: 1ms",
                 .dctcp = true,
                 .marks = 0.05},
        Scenario{.name = "DctcpLoses",
                 .transport = "kind: dctcp, min_rto: 1ms, delack_count: 2, delack_timeout: 100us",
                 .dctcp = true,
                 .delack_count = 2,
                 .loss = 0.02,
                 .marks = 0.05,
                 .overtaken = 0.01,
                 .lost_acks = 0.02,
                 .recovers = true,
                 .times_out = true},
        Scenario{.name = "DctcpManyFlows",
                 .transport = "kind: dctcp, min_rto: 1ms, max_cwnd: 30",
                 .dctcp = true,
                 .most = 30,
                 .sizes = {300'000, 1, 1'460, 400'000, 500'001},
                 .loss = 0.05,
                 .marks = 0.1,
                 .overtaken = 0.02,
                 .lost_acks = 0.1,
                 .recovers = true,
                 .times_out = true},
        Extended("Rack", "loss: rack", {.rack = true}), LongRack(),
        Extended("RackWithEcn", "loss: rack, ecn: rfc3168, timestamps: true, prr: true, tlp: true",
                 {.ecn = true,
                  .timestamps = true,
                  .rack = true,
                  .tlp = true,
                  .prr = true,
                  .marks = 0.02}),
        Extended("RackProbes", "loss: rack, tlp: true", {.rack = true, .tlp = true}),
        Extended(
            "RackProbesInASmallWindow",
            "loss: rack, tlp: true, rwnd: 4, delack_count: 2, delack_timeout: 50us",
            {.most = 4, .delack_count = 2, .delack_timeout = 50_us, .rack = true, .tlp = true}),
        Extended("Prr", "prr: true", {.prr = true}),
        Extended("Undo", "undo: dsack", {.undo = true}),
        Extended("Rescue", "rescue: true", {.rescue = true}),
        Extended("Adapt", "reordering_adapt: true", {.adapt = true}),
        Extended("All",
                 "loss: rack, tlp: true, prr: true, undo: dsack, rescue: true, "
                 "reordering_adapt: true, delack_count: 2, delack_timeout: 100us",
                 {.delack_count = 2,
                  .rack = true,
                  .tlp = true,
                  .prr = true,
                  .undo = true,
                  .rescue = true,
                  .adapt = true})),
    [](const auto& test) { return test.param.name; });

}  // namespace heddle::tcp_model_test
