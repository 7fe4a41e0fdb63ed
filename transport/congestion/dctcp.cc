// SPDX-License-Identifier: Apache-2.0
// DCTCP (RFC 8257; Alizadeh et al., SIGCOMM 2010): the window shrinks in proportion to the share of
// bytes that were marked. Losses are answered as in any TCP. Also the window of htsim's DCTCP, as a
// variant.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "transport/congestion/htsim.h"
#include "transport/congestion_controls.h"

namespace heddle {
namespace {

struct DctcpSettings {
  enum class Variant { kStandard, kHtsim };

  Variant variant = Variant::kStandard;
  double g = 1.0 / 16;       // Weight of a new observation in alpha; RFC 8257 section 4.2.
  double alpha0 = 1;         // Before the first observation.
  double min_cwnd = 2;       // Segments; marks reduce the window no further.
  bool grow_in_cwr = false;  // Grow between a reduction and the end of that window.

  bool HasDefaultsBesidesG() const { return alpha0 == 1 && min_cwnd == 2 && !grow_in_cwr; }
};

class Dctcp final : public WindowControl {
 public:
  Dctcp(const DctcpSettings& settings, int growth_limit)
      : settings_(settings), growth_limit_(growth_limit) {}

  void Start(CongestionWindow& window, uint32_t first_flight) const override {
    Own& own = window.own.Begin<Own>();
    own.alpha = settings_.alpha0;
    own.window_end = first_flight;
  }

  bool OnAck(CongestionWindow& window, const Acknowledgement& ack) const override {
    Own& own = window.own.As<Own>();
    own.bytes_acked += ack.bytes;
    if (ack.ecn_echo) own.bytes_marked += ack.bytes;
    if (ack.una > own.window_end) CloseObservation(own, ack.nxt);
    if (ack.ecn_echo && ack.una > own.reduced_until && !ack.in_recovery) {
      Reduce(window, own, ack.nxt);
      return true;
    }
    const bool may_grow = ack.una > own.held_until || settings_.grow_in_cwr;
    if (may_grow && !ack.ecn_echo && !ack.in_recovery && ack.window_limited) {
      GrowWindow(window, ack.bytes, growth_limit_);
    }
    return false;
  }

  // One reduction per window, be it for marks or for a loss.
  void OnLoss(CongestionWindow& window, uint32_t recover) const override {
    Own& own = window.own.As<Own>();
    own.reduced_until = own.held_until = recover;
  }

  // Slow start follows (RFC 5681 section 3.1), whatever had reduced the window before.
  void OnTimeout(CongestionWindow& window, uint32_t nxt) const override {
    Own& own = window.own.As<Own>();
    own.bytes_acked = own.bytes_marked = 0;
    own.window_end = nxt;
    own.held_until = 0;
  }

  std::optional<double> MarkedShare(const CongestionWindow& window) const override {
    return window.own.As<Own>().alpha;
  }

 private:
  // RFC 8257 section 3.3.
  struct Own {
    double alpha = 0;
    int64_t bytes_acked = 0;  // Bytes acknowledged in the observation window,
    int64_t bytes_marked = 0;
    uint32_t window_end = 0;     // which ends at this segment.
    uint32_t reduced_until = 0;  // The next reduction comes when `una` has passed it,
    uint32_t held_until = 0;     // and the window grows again when it has passed this one.
  };

  void CloseObservation(Own& own, uint32_t nxt) const {
    const double marked =
        static_cast<double>(own.bytes_marked) / static_cast<double>(own.bytes_acked);
    own.alpha = (1 - settings_.g) * own.alpha + settings_.g * marked;  // Paper, eq. (1).
    own.bytes_acked = own.bytes_marked = 0;
    own.window_end = nxt;
  }

  void Reduce(CongestionWindow& window, Own& own, uint32_t nxt) const {
    const double reduced = window.cwnd * (1 - own.alpha / 2);  // Paper, eq. (2).
    window.ssthresh = std::max(reduced, settings_.min_cwnd * window.mss);
    window.cwnd = std::min(window.cwnd, window.ssthresh);  // After a timeout it may be less.
    own.reduced_until = own.held_until = nxt;
  }

  const DctcpSettings settings_;
  const int growth_limit_;
};

class DctcpModel final : public WindowControlModel {
 public:
  void Declare(Fields& fields) override;

  std::unique_ptr<const WindowControl> Prepare(const TcpSettings& tcp) const override {
    if (is_htsim()) return MakeHtsimDctcp(settings_.g);
    return std::make_unique<Dctcp>(settings_, GrowthLimit(tcp));
  }

  std::optional<TcpSettings::Ecn> own_ecn() const override { return TcpSettings::Ecn::kEachMark; }

  void Check(const TcpSettings& tcp, Fields& fields) const override {
    fields.Require(!is_htsim() || tcp.delack_count == 1, "delack_count",
                   "variant: htsim has no delayed ACKs");
  }

 private:
  bool is_htsim() const { return settings_.variant == DctcpSettings::Variant::kHtsim; }

  DctcpSettings settings_;
};

void DctcpModel::Declare(Fields& fields) {
  using Variant = DctcpSettings::Variant;
  fields.Choice("variant", settings_.variant,
                {{"rfc8257", Variant::kStandard}, {"htsim", Variant::kHtsim}},
                "rfc8257: the window as the RFC has it. htsim: as the simulator htsim has it, to "
                "compare with it: each window reduces cwnd by alpha/2 from the first mark on, even "
                "without marks in the window, to one segment at least; cwnd grows on every ACK, "
                "even if the sender does not use it up; alpha starts at 0.");
  fields.Add("g", settings_.g, {.above = 0.0, .at_most = 1.0},
             "Weight of the newest window in alpha (RFC 8257 section 4.2).");
  fields.Add("alpha0", settings_.alpha0, Between(0.0, 1.0), "alpha before the first window.");
  fields.Add("min_cwnd", settings_.min_cwnd, Between(1.0, 100.0),
             "Segments below which marks don't reduce the window.");
  fields.Add("grow_in_cwr", settings_.grow_in_cwr,
             "Let the window grow between a reduction and the end of that window.");
  fields.Require(!is_htsim() || settings_.HasDefaultsBesidesG(), "variant",
                 "htsim knows no alpha0, min_cwnd and grow_in_cwr; it starts alpha at 0, reduces "
                 "to one segment, and always grows");
}

[[maybe_unused]] const bool registered = CongestionControls().Add<DctcpModel>(
    {"dctcp", "Data Center TCP: the window shrinks with the share of marked packets.",
     "RFC 8257; Alizadeh et al., SIGCOMM 2010"});

}  // namespace
}  // namespace heddle
