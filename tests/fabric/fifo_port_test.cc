// SPDX-License-Identifier: Apache-2.0
// A port commits each departure when a packet is enqueued. It must be as if arrivals and departures
// were separate events: here they are, one after the other, in a reference that knows no shortcut.

#include "fabric/fifo_port.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <vector>

#include "core/random.h"
#include "tests/support/port_bench.h"
#include "tests/support/printers.h"

namespace heddle::fifo_port_test {

__extension__ using Wide = __int128;

constexpr Duration kDelay = 1_us;

Packet DataOf(uint16_t bytes, bool ect = false) {
  Packet packet;
  packet.bytes = bytes;
  packet.data.payload = bytes / 2;
  if (ect) packet.Set(Packet::kEct);
  return packet;
}

// --- The reference: one event at a time ---

class EventPort {
 public:
  explicit EventPort(const PortSettings& settings) : settings_(settings) {}

  struct Sent {
    Time start;
    Time departure;
    Packet packet;
  };
  std::vector<Sent> sent;  // Ordered by departure; the last may not have left yet.
  std::vector<bool> accepted;
  int64_t marked = 0;

  void Arrive(Time now, Packet packet) {
    RunTo(now);
    const int64_t after = Backlog() + SizeOf(packet);
    accepted.push_back(after <= settings_.buffer);
    if (!accepted.back()) return;
    if (after > settings_.mark_above && packet.Has(Packet::kEct)) {
      packet.Set(Packet::kCe);
      ++marked;
    }
    queue_.push_back(packet);
    if (queue_.size() > 1) return;
    busy_since_ = now;
    bits_ = 0;
    Start(now);
  }

  // Handles everything that departs up to and at `now`.
  void RunTo(Time now) {
    while (!queue_.empty() && sent.back().departure <= now) {
      queue_.pop_front();
      if (!queue_.empty()) Start(sent.back().departure);
    }
  }

  int64_t Packets() const { return static_cast<int64_t>(queue_.size()); }
  int64_t Backlog() const {
    int64_t backlog = 0;
    for (const Packet& p : queue_) backlog += SizeOf(p);
    return backlog;
  }

 private:
  int64_t SizeOf(const Packet& p) const { return settings_.count_packets ? 1 : p.bytes; }

  // A busy period sends its n-th bit at the exact time, rounded up.
  void Start(Time now) {
    bits_ += (queue_.front().bytes + settings_.wire_overhead.count) * 8;
    const Wide ps =
        (Wide{bits_} * kPicosecondsPerSecond + settings_.rate.bps - 1) / settings_.rate.bps;
    sent.push_back({now, busy_since_ + Duration{static_cast<int64_t>(ps)}, queue_.front()});
  }

  const PortSettings settings_;
  std::deque<Packet> queue_;  // The front is being sent.
  Time busy_since_;
  int64_t bits_ = 0;  // The bits of this busy period.
};

FifoPort::Counters CountersAt(const EventPort& port, Time now, Bytes overhead) {
  FifoPort::Counters counters;
  for (const EventPort::Sent& s : port.sent) {
    if (s.start < now) counters.busy_ps += (std::min(s.departure, now) - s.start).ps;
    if (s.departure > now) continue;
    ++counters.packets;
    counters.wire_bytes += s.packet.bytes + overhead.count;
    counters.payload_bytes += s.packet.data.payload;
  }
  return counters;
}

// Bursts and pauses, so that the port is idle, busy and full by turns.
std::vector<PortBench::Offer> RandomOffers(Rng& rng, const PortSettings& settings) {
  std::vector<PortBench::Offer> offers;
  Time now;
  const double mean = 800.0 * 8e12 / static_cast<double>(settings.rate.bps);
  for (int i = 0; i < 2'000; ++i) {
    const bool burst = i / 50 % 2 == 0;
    if (rng.Below(10) != 0) now += rng.ExponentialDuration(burst ? mean / 3 : mean * 1.5);
    offers.push_back(
        {now, DataOf(static_cast<uint16_t>(64 + rng.Below(1'455)), rng.Below(2) == 0)});
  }
  return offers;
}

void ExpectAsWithEvents(const PortSettings& settings, Rng& rng) {
  const std::vector<PortBench::Offer> offers = RandomOffers(rng, settings);
  PortBench bench(settings);
  EventPort reference(settings);
  size_t next = 0;
  bench.Run(offers, [&](Time end) {
    for (; next < offers.size() && offers[next].at < end; ++next) {
      reference.Arrive(offers[next].at, offers[next].packet);
    }
    reference.RunTo(end);
    // A port that nobody asks does not count.
    if (rng.Below(4) != 0) return;
    const QueueLength queue = bench.port().QueueAt(end);
    ASSERT_EQ(settings.count_packets ? queue.packets : queue.bytes, reference.Backlog());
    ASSERT_EQ(bench.port().QueuedPackets(end), reference.Packets());
    // Where a byte takes whole picoseconds, one that is being sent has not left.
    if (const int64_t byte = 8'000'000'000'000 / settings.rate.bps;
        byte * settings.rate.bps == 8'000'000'000'000) {
      ASSERT_EQ(bench.port().Unsent(end).count,
                (bench.port().QueueingDelay(end).ps + byte - 1) / byte);
    }
    // The reference has begun at most one packet that has not left; what waits has not begun.
    ASSERT_EQ(bench.port().SentBy(end), CountersAt(reference, end, settings.wire_overhead));
  });
  reference.RunTo(kNever);
  ASSERT_EQ(bench.accepted(), reference.accepted);
  ASSERT_EQ(bench.port().marked(), reference.marked);
  ASSERT_EQ(bench.port().dropped(), std::ranges::count(reference.accepted, false));
  ASSERT_EQ(bench.received().size(), reference.sent.size());
  for (size_t i = 0; i < reference.sent.size(); ++i) {
    const Packet& packet = bench.received()[i];
    ASSERT_EQ(packet.arrival, reference.sent[i].departure + settings.delay) << "packet " << i;
    ASSERT_EQ(packet.flags, reference.sent[i].packet.flags) << "packet " << i;
  }
}

TEST(FifoPortTest, BehavesAsIfArrivalsAndDeparturesWereEvents) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    for (const BitRate rate : {10_Gbps, 3_Gbps, 400_Gbps, BitRate{7'777'777'777}}) {
      for (const bool count_packets : {false, true}) {
        SCOPED_TRACE(testing::Message() << rate.bps << " bps, " << count_packets << ", " << seed);
        Rng rng = Rng::Stream(seed, "port", 0);
        ExpectAsWithEvents({.rate = rate,
                            .delay = kDelay,
                            .wire_overhead = 20_B,
                            .count_packets = count_packets,
                            .buffer = count_packets ? 20 : 15'000,
                            .mark_above = count_packets ? 7 : 6'000},
                           rng);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(FifoPortTest, MarksWithoutABufferLimitAndDropsWithoutAThreshold) {
  Rng rng = Rng::Stream(9, "port", 0);
  ExpectAsWithEvents({.rate = 10_Gbps, .delay = kDelay, .wire_overhead = 0_B, .mark_above = 3'000},
                     rng);
  ExpectAsWithEvents({.rate = 10_Gbps, .delay = kDelay, .wire_overhead = 0_B, .buffer = 4'000},
                     rng);
  ExpectAsWithEvents({.rate = 10_Gbps,
                      .delay = kDelay,
                      .wire_overhead = 20_B,
                      .buffer = 60'000,
                      .mark_above = 30'000},
                     rng);
}

// --- Exact arithmetic ---

PortBench::Offer FrameAt(Time at) { return {at, DataOf(1'518)}; }

TEST(FifoPortTest, SendsBackToBackWithoutDrift) {
  constexpr int64_t kFrames = 100'000;
  for (const BitRate rate : {10_Gbps, 3_Gbps, BitRate{9'999'999'999}}) {
    PortBench bench({.rate = rate, .delay = kDelay, .wire_overhead = 20_B});
    bench.Run(std::vector<PortBench::Offer>(kFrames, FrameAt(Time{})));
    const Wide bits = Wide{kFrames} * 1'538 * 8 * kPicosecondsPerSecond;
    const int64_t end = static_cast<int64_t>((bits + rate.bps - 1) / rate.bps);
    EXPECT_EQ(bench.port().busy_until(), Time{end});
    EXPECT_EQ(bench.received().back().arrival, Time{end} + kDelay);
    EXPECT_EQ(bench.port().Committed().busy_ps, end);
  }
}

TEST(FifoPortTest, ForgetsWhatItRoundedUpWhenItIdles) {
  PortBench bench({.rate = 3_Gbps, .delay = kDelay, .wire_overhead = 20_B});
  const Duration frame = SerializationDelay(1'538_B, 3_Gbps);
  EXPECT_EQ(frame, 4'101'334_ps);  // 4101333 1/3.
  bench.Run({FrameAt(Time{}), FrameAt(Time{}), FrameAt(Time{} + 1_ms), FrameAt(Time{} + 1_ms)});
  const std::vector<Packet>& out = bench.received();
  EXPECT_EQ(out[0].arrival, Time{} + frame + kDelay);
  EXPECT_EQ(out[1].arrival, Time{} + 2 * frame - 1_ps + kDelay);
  EXPECT_EQ(out[2].arrival, Time{} + 1_ms + frame + kDelay);
  EXPECT_EQ(out[3].arrival, Time{} + 1_ms + 2 * frame - 1_ps + kDelay);
}

TEST(FifoPortTest, KnowsWhatIsUnsentAndHowLongItTakes) {
  PortBench bench({.rate = 10_Gbps, .delay = kDelay, .wire_overhead = 20_B});
  std::vector<std::pair<Duration, int64_t>> seen;
  bench.Run({FrameAt(Time{}), FrameAt(Time{}), FrameAt(Time{} + 2_us)}, [&](Time end) {
    if (end <= Time{} + 3_us) {
      seen.emplace_back(bench.port().QueueingDelay(end), bench.port().Unsent(end).count);
    }
  });
  ASSERT_EQ(seen.size(), 2u);  // Windows end 1 us after the first frames, and after the last.
  EXPECT_EQ(seen[0], std::pair(1'460'800_ps, int64_t{1'826}));
  EXPECT_EQ(seen[1], std::pair(3 * 1'230'400_ps - 3_us, int64_t{864}));
}

// After 1 us the packet of 125 bytes has left at 10 Gbps, and the one of 1250 is leaving until 1.1
// us. The next two begin at 5 Gbps.
TEST(FifoPortTest, AnotherRateSparesThePacketThatIsLeaving) {
  PortBench bench({.rate = 10_Gbps, .delay = kDelay, .wire_overhead = 0_B});
  std::vector<PortBench::Offer> offers;
  for (const uint16_t bytes : std::vector<uint16_t>{125, 1'250, 125, 125}) {
    offers.push_back({Time{}, DataOf(bytes, false)});
  }
  bool has_changed = false;
  bench.Run(offers, [&](Time end) {
    if (std::exchange(has_changed, true)) return;
    ASSERT_EQ(end, Time{} + 1_us);
    bench.port().SetChannel(end, 5_Gbps, kDelay, [](uint64_t, Time) {});
  });
  std::vector<Duration> left;
  for (const Packet& packet : bench.received()) left.push_back(packet.arrival - kDelay - Time{});
  EXPECT_EQ(left, (std::vector<Duration>{100_ns, 1'100_ns, 1'300_ns, 1'500_ns}));
}

// The second frame takes a picosecond less than the first at 3 Gbps, and begins when the rate
// changes.
TEST(FifoPortTest, APacketThatBeginsWithTheNextRateHasThatRate) {
  const Duration frame = SerializationDelay(1'538_B, 3_Gbps);
  PortBench bench({.rate = 3_Gbps, .delay = frame, .wire_overhead = 20_B});
  std::vector<Time> starts;
  bool has_changed = false;
  bench.Run(std::vector<PortBench::Offer>(3, FrameAt(Time{})), [&](Time end) {
    if (std::exchange(has_changed, true)) return;
    ASSERT_EQ(end, Time{} + frame);
    bench.port().SetChannel(end, 6_Gbps, frame,
                            [&](uint64_t, Time start) { starts.push_back(start); });
  });
  EXPECT_EQ(starts, (std::vector{Time{} + frame, Time{} + frame + 2'050'667_ps}));
}

// A link that fails and whose rate and delay change now and then, with a record of each departure.
class ChangingLink {
 public:
  explicit ChangingLink(const PortSettings& settings)
      : settings_(settings), rate_(settings.rate), delay_(settings.delay) {}

  struct Sent {
    Time start;
    Time departure;
    Time arrival;
    Packet packet;
  };
  std::vector<Sent> sent;  // Without those that the link has lost.
  std::vector<bool> accepted;
  int64_t marked = 0;
  int64_t dropped = 0;
  int64_t dropped_down = 0;

  void Send(Time now, Packet packet) {
    const int64_t after = Backlog(now) + SizeOf(packet);
    accepted.push_back(!down_ && after <= settings_.buffer);
    if (!accepted.back()) {
      ++(down_ ? dropped_down : dropped);
      return;
    }
    if (after > settings_.mark_above && packet.Has(Packet::kEct)) {
      packet.Set(Packet::kCe);
      ++marked;
    }
    Append(now, packet);
  }

  // Packets that have not begun get the new rate and delay. They overtake nothing. Returns their
  // starts.
  std::vector<Time> Change(Time now, BitRate rate, Duration delay) {
    rate_ = rate;
    delay_ = delay;
    const auto first = std::ranges::find_if(sent, [&](const Sent& s) { return s.start >= now; });
    const std::vector<Sent> waiting(first, sent.end());
    sent.erase(first, sent.end());
    busy_since_ = std::max(now, LastDeparture());
    bits_ = 0;
    std::vector<Time> starts;
    for (const Sent& s : waiting) {
      Append(now, s.packet);
      starts.push_back(sent.back().start);
    }
    return starts;
  }

  // The link loses all packets that have not arrived. Returns their sizes. A packet that had left
  // the port stays in the counters.
  std::vector<uint16_t> Fail(Time now) {
    down_ = true;
    std::vector<uint16_t> lost;
    for (const Sent& s : sent) {
      if (s.arrival < now) continue;
      ++dropped_down;
      lost.push_back(s.packet.bytes);
      if (s.departure <= now) gone_.push_back(s);
    }
    std::erase_if(sent, [&](const Sent& s) { return s.arrival >= now; });
    return lost;
  }
  void ComeUp() { down_ = false; }
  bool down() const { return down_; }

  int64_t Packets(Time now) const {
    return std::ranges::count_if(sent, [&](const Sent& s) { return s.departure > now; });
  }
  int64_t Backlog(Time now) const {
    int64_t size = 0;
    for (const Sent& s : sent) size += s.departure > now ? SizeOf(s.packet) : 0;
    return size;
  }
  FifoPort::Counters SentBy(Time now) const {
    FifoPort::Counters counters;
    for (const std::vector<Sent>* list : {&sent, &gone_}) {
      for (const Sent& s : *list) {
        if (s.start < now) counters.busy_ps += (std::min(s.departure, now) - s.start).ps;
        if (s.departure > now) continue;
        ++counters.packets;
        counters.wire_bytes += s.packet.bytes + settings_.wire_overhead.count;
        counters.payload_bytes += s.packet.data.payload;
      }
    }
    return counters;
  }

 private:
  int64_t SizeOf(const Packet& packet) const { return settings_.count_packets ? 1 : packet.bytes; }
  Time LastDeparture() const { return sent.empty() ? Time{} : sent.back().departure; }

  // A busy period sends its n-th bit at the exact time, rounded up.
  void Append(Time now, const Packet& packet) {
    if (LastDeparture() <= now) {
      busy_since_ = now;
      bits_ = 0;
    }
    bits_ += (packet.bytes + settings_.wire_overhead.count) * 8;
    const Wide ps = (Wide{bits_} * kPicosecondsPerSecond + rate_.bps - 1) / rate_.bps;
    const Time departure = busy_since_ + Duration{static_cast<int64_t>(ps)};
    const Time before = sent.empty() ? Time{} : sent.back().arrival;
    sent.push_back(
        {std::max(now, LastDeparture()), departure, std::max(before, departure + delay_), packet});
  }

  const PortSettings settings_;
  std::vector<Sent> gone_;  // Lost after they had left the port.
  BitRate rate_;
  Duration delay_;
  bool down_ = false;
  Time busy_since_;
  int64_t bits_ = 0;  // The bits of this busy period at this rate.
};

// The port keeps no departures: it finds them from arrivals, also where those follow from an
// earlier delay, or from the packet before. Links that fail have rates at which a byte takes whole
// picoseconds.
TEST(FifoPortTest, KnowsItsQueueAndItsCountersWhileTheLinkFailsAndChanges) {
  for (int run = 0; run < 30; ++run) {
    SCOPED_TRACE(run);
    Rng rng = Rng::Stream(static_cast<uint64_t>(run), "channels", 0);
    const bool fails = run % 2 == 0;
    const bool packets = run % 3 == 0;
    PortSettings settings{
        .rate = 10_Gbps, .delay = kDelay, .wire_overhead = 20_B, .count_packets = packets};
    if (run % 5 != 0) settings.buffer = packets ? 30 : 30'000;
    if (run % 5 > 1) settings.mark_above = packets ? 10 : 9'000;
    const std::vector<PortBench::Offer> offers = RandomOffers(rng, settings);
    PortBench bench(settings);
    FifoPort& port = bench.port();
    ChangingLink link(settings);
    size_t next = 0;
    bench.Run(offers, [&](Time end) {
      for (; next < offers.size() && offers[next].at < end; ++next) {
        link.Send(offers[next].at, offers[next].packet);
      }
      if (rng.Below(2) == 0) {
        ASSERT_EQ(port.QueuedPackets(end), link.Packets(end));
        ASSERT_EQ(port.Backlog(end), link.Backlog(end));
        ASSERT_EQ(port.SentBy(end), link.SentBy(end));
        // All that has been put on the wire, whether it has left or not.
        ASSERT_EQ(port.Committed(), link.SentBy(kNever));
        const FifoPort::Counters all = link.SentBy(kNever);
        ASSERT_EQ(port.CommittedBytes(), all.wire_bytes - 20 * all.packets);
      }
      if (fails && link.down()) {
        link.ComeUp();
        port.GoUp(end);
      } else if (fails && rng.Below(20) == 0) {
        std::vector<uint16_t> lost;
        port.GoDown(end, [&](const Packet& packet) { lost.push_back(packet.bytes); });
        ASSERT_EQ(lost, link.Fail(end));
        ASSERT_EQ(port.QueueAt(end).packets, 0);
        ASSERT_EQ(port.QueueingDelay(end), Duration{0});
      }
      ASSERT_EQ(port.is_down(), link.down());
      if (rng.Below(4) != 0) return;
      // The busy time of a packet that is cut off is counted at the present rate, so that of such
      // links does not change while a packet is leaving.
      BitRate rate = port.rate();
      if (!fails || link.Packets(end) == 0) {
        rate = std::vector{5_Gbps, 10_Gbps, 40_Gbps, fails ? 20_Gbps : 7_Gbps}[rng.Below(4)];
      }
      const Duration delay = kDelay + int64_t{rng.Below(5)} * 700_ns;
      std::vector<Time> starts;
      port.SetChannel(end, rate, delay, [&](uint64_t, Time start) { starts.push_back(start); });
      ASSERT_EQ(starts, link.Change(end, rate, delay));
      ASSERT_EQ(port.rate(), rate);
      ASSERT_EQ(port.delay(), delay);
    });
    if (HasFatalFailure()) return;
    ASSERT_EQ(bench.accepted(), link.accepted);
    ASSERT_EQ(port.marked(), link.marked);
    ASSERT_EQ(port.dropped(), link.dropped);
    ASSERT_EQ(port.dropped_down(), link.dropped_down);
    ASSERT_EQ(bench.received().size(), link.sent.size());
    for (size_t i = 0; i < link.sent.size(); ++i) {
      ASSERT_EQ(bench.received()[i].arrival, link.sent[i].arrival) << "packet " << i;
      ASSERT_EQ(bench.received()[i].flags, link.sent[i].packet.flags) << "packet " << i;
    }
  }
}

// Three frames fit. None of the first three has left after 1 us, when the port fails.
TEST(FifoPortTest, ComesBackEmpty) {
  PortBench bench({.rate = 10_Gbps, .delay = kDelay, .wire_overhead = 0_B, .buffer = 3 * 1'518});
  std::vector<PortBench::Offer> offers(3, FrameAt(Time{}));
  offers.resize(6, FrameAt(Time{} + 10_us));
  std::vector<uint16_t> lost;
  bool has_failed = false;
  bench.Run(offers, [&](Time end) {
    if (std::exchange(has_failed, true)) return;
    bench.port().GoDown(end, [&](const Packet& packet) { lost.push_back(packet.bytes); });
    EXPECT_EQ(bench.port().QueueAt(end).bytes, 0);
    EXPECT_EQ(bench.port().QueueAt(end).packets, 0);
    bench.port().GoUp(end);
  });
  EXPECT_EQ(lost, std::vector<uint16_t>(3, 1'518));
  EXPECT_EQ(bench.accepted(), std::vector<bool>(6, true));
  EXPECT_EQ(bench.received().size(), 3u);
}

TEST(FifoPortTest, KnowsHowLongAPacketTakesAtItsRate) {
  for (const BitRate rate : {10_Gbps, 3_Gbps, 400_Gbps, BitRate{9'999'999'999}}) {
    PortBench bench({.rate = rate, .delay = kDelay, .wire_overhead = 20_B});
    for (const Bytes size : {0_B, 1_B, 84_B, 1'538_B, 9'038_B}) {
      EXPECT_EQ(bench.port().TimeToSend(size), SerializationDelay(size, rate));
    }
  }
}

TEST(FifoPortTest, NumbersHopsAndTheWayTaken) {
  PortBench bench({.rate = 10_Gbps, .delay = kDelay, .wire_overhead = 0_B});
  PortBench::Offer offer = FrameAt(Time{});
  offer.packet.hops = 3;
  offer.packet.taken = 20;
  offer.path_part = 7;
  bench.Run({offer});
  EXPECT_EQ(bench.received()[0].hops, 4);
  EXPECT_EQ(bench.received()[0].taken, 27);
}

// --- Waiting ---

TEST(FifoPortTest, KeepsPoissonArrivalsWaitingAsAnMd1Queue) {
  constexpr int kPackets = 400'000;
  for (const auto& [load, waiting] : {std::pair(0.5, 0.5), std::pair(0.8, 2.0)}) {
    Rng rng = Rng::Stream(3, "md1", 0);
    const Duration service = 1'200_ns;  // 1500 bytes at 10 Gbps.
    Time now;
    std::vector<PortBench::Offer> offers;
    offers.reserve(kPackets);
    for (int i = 0; i < kPackets; ++i) {
      now += rng.ExponentialDuration(static_cast<double>(service.ps) / load);
      offers.push_back({now, DataOf(1'500)});
      offers.back().packet.sent = now;
    }
    PortBench bench({.rate = 10_Gbps, .delay = kDelay, .wire_overhead = 0_B});
    bench.Run(std::move(offers));
    double sum = 0;
    for (const Packet& p : bench.received()) {
      sum += Seconds(p.arrival - kDelay - service - p.sent);
    }
    EXPECT_NEAR(sum / kPackets / Seconds(service) / waiting, 1, 0.03) << "load " << load;
  }
}

}  // namespace heddle::fifo_port_test
