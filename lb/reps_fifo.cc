// SPDX-License-Identifier: Apache-2.0
// The older form of REPS in uet-htsim: entropies that came back without a mark are used again in
// the order in which they came, without a limit and without freezing. The packets of the first
// window use one entropy after the other.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/ring.h"
#include "lb/parts/entropy_spray.h"

namespace heddle {
namespace {

class RepsFifo {
 public:
  // `window` is the number of packets in the first window.
  void SetWindow(uint32_t window) { window_ = window; }

  void Start(uint32_t paths, Rng& /*rng*/) {
    paths_ = paths;
    in_turn_ = std::min(window_, paths);
    sent_ = 0;
    good_.clear();
  }
  uint16_t Next(Rng& rng) {
    if (sent_ < in_turn_) return static_cast<uint16_t>(++sent_ % paths_);
    if (good_.empty()) return static_cast<uint16_t>(rng.Below(paths_));
    const uint16_t entropy = good_.front();
    good_.pop_front();
    return entropy;
  }
  void Note(uint16_t entropy, EntropyNews news) {
    if (news == EntropyNews::kGood) good_.push_back(entropy);
  }
  size_t bytes() const { return sizeof(*this) + good_.capacity() * sizeof(uint16_t); }

 private:
  uint32_t window_ = 1;
  uint32_t paths_ = 1;
  uint32_t in_turn_ = 0;  // Packets at the start that take one entropy after the other,
  uint32_t sent_ = 0;     // and how many of them have.
  Ring<uint16_t> good_;
};

class RepsFifoBalancer final : public EntropySpray<RepsFifo> {
 public:
  RepsFifoBalancer() : EntropySpray("reps_fifo") {}

  // The first window of Ultra Ethernet is 1.5 bandwidth-delay products.
  void Prepare(const FabricShape& fabric, std::string_view /*path*/,
               Diagnostics& /*diagnostics*/) override {
    const int64_t window =
        fabric.base_rtt * 3 / (2 * SerializationDelay(fabric.packet, fabric.host_rate));
    blank_.SetWindow(static_cast<uint32_t>(std::clamp<int64_t>(window, 1, 65'536)));
  }
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<RepsFifoBalancer>(
    {"reps_fifo", "Hosts reuse all entropies that came back unmarked, and otherwise draw one.",
     "uet-htsim (Ultra Ethernet Consortium, 2025)"});

}  // namespace
}  // namespace heddle
