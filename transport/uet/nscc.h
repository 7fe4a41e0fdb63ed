// SPDX-License-Identifier: Apache-2.0
// NSCC (Network Signal-based Congestion Control), the sender's congestion control of Ultra Ethernet
// as the public simulator uet-htsim (August 2025) has it. The window reacts to each ACK by two
// signals: the ECN mark, and the queueing delay of the acknowledged packet against a target. After
// a loss or a very long delay, quick adapt sets the window to what arrived in the last period, if
// that was little. A period lasts a round trip and the target.
//
// The alternatives of that simulator are here, too: per-packet rules without delay, a constant
// window, and none beside receivers' credit. So is SMaRTT (Bonato et al., arXiv 2404.01630), from
// which NSCC comes: an ECN mark without delay shrinks the window a little, and windows shrink only
// where marks are common.

#pragma once

#include <cstdint>

#include "core/units.h"

namespace heddle {

// The values that all connections share. They follow from the network's longest round trip.
struct NsccRules {
  enum class Kind { kNscc, kDctcpAck, kMprdmaAck, kConstant, kSmartt, kNone };

  Kind kind = Kind::kNscc;
  double packet = 0;   // Bytes of a full packet, as buffered.
  double payload = 0;  // Its payload.
  double rate = 0;     // Bits per second of the host.
  Duration rtt{0};     // The network's longest idle round trip.
  Duration target{0};  // Queueing delay.
  int gate = 3;        // Quick adapt acts if less than the greatest window >> gate has arrived.

  double Bdp(Duration round_trip) const { return static_cast<double>(round_trip.ps) * rate / 8e12; }
  double scale() const { return Bdp(rtt) / 150'000; }  // Against 100 Gbps and 12 us.
  double proportional() const;                         // Bytes per microsecond.
  double fair() const { return 5 * payload * scale(); }
  double eta() const { return 0.15 * payload * scale(); }
  double fast() const { return 0.25 * scale(); }
  double GreatestWindow(Duration round_trip) const { return 1.5 * Bdp(round_trip); }
  bool has_window() const { return kind != Kind::kNone; }
  bool is_fixed() const { return kind == Kind::kConstant || kind == Kind::kNone; }
  bool aims_at_delay() const { return kind == Kind::kNscc || kind == Kind::kSmartt; }
};

class Nscc {
 public:
  // Begins a connection whose idle round trip is at most `base_rtt`. `window` is the first window
  // in bytes; 0: the greatest.
  void Start(const NsccRules& rules, Duration base_rtt, double window);

  // Without a window this is the greatest one, which nothing has to fit.
  double window() const { return window_; }
  // Returns true if `bytes` may be in flight.
  bool Allows(int64_t bytes) const {
    return static_cast<double>(bytes) <= window_ || !rules_->has_window();
  }
  double greatest() const { return greatest_; }
  Duration base_rtt() const { return base_rtt_; }
  Duration average() const { return Duration{static_cast<int64_t>(average_)}; }

  // A round trip has been measured; the base never grows. Returns the queueing delay.
  Duration OnRoundTrip(Duration rtt);
  // The queueing delay of a valid sample enters the average.
  void OnSample(Duration delay, bool marked);

  // `newly` bytes have arrived, as an ACK tells.
  void OnBytes(int64_t newly);
  // The receiver asks for a smaller window: `penalty` 255ths of the `newly` bytes stay in it. 255
  // asks for nothing.
  void OnPenalty(int64_t newly, int penalty);
  void OnAck(Time now, bool marked, Duration delay, int64_t newly, int64_t in_flight);
  // A packet of `size` bytes was trimmed. `receiver_acts`: at the last hop, which receivers' credit
  // takes care of, so windows by delay keep its bytes.
  void OnNack(Time now, int64_t size, int64_t in_flight, bool receiver_acts = false);
  // A packet of `size` bytes timed out.
  void OnTimeout(int64_t size);

 private:
  bool QuickAdapt(Time now, bool is_loss, Duration delay, int64_t in_flight);
  void Increase(Time now, Duration delay, int64_t newly);
  bool IncreaseFast(Duration delay, int64_t newly);
  void OnMark(Time now, Duration delay, int64_t newly);
  void Decrease(Time now);
  void Adjust(Time now);
  void Clamp();

  const NsccRules* rules_ = nullptr;
  double window_ = 0;
  double greatest_ = 0;
  Duration base_rtt_{0};
  double average_ = 0;  // Queueing delay in picoseconds.
  double marked_ = 0;   // SMaRTT: the share of ACKs with a mark.

  double increase_ = 0;    // Bytes squared; the window grows by increase_ / window_.
  double fast_count_ = 0;  // Bytes in a row with almost no delay.
  bool is_fast_ = false;
  int64_t received_ = 0;  // Bytes since the last adjustment,
  int64_t achieved_ = 0;  // in this period of quick adapt,
  int64_t ignored_ = 0;   // and since quick adapt acted.
  int64_t to_ignore_ = 0;
  bool trigger_ = false;  // A loss in this period of quick adapt.
  Time period_end_;       // Of quick adapt; 0: no period yet.
  Time adjusted_;
  Time decreased_{-kNever.ps};
};

}  // namespace heddle
