// SPDX-License-Identifier: Apache-2.0
// Oblivious spraying: each packet takes the next entropy of a walk through all of them, whatever
// becomes of the packets.

#include "lb/parts/entropy_spray.h"

namespace heddle {
namespace {

class Oblivious {
 public:
  void Start(uint32_t paths, Rng& rng) { walk_.Start(paths, rng); }
  uint16_t Next(Rng& rng) {
    const uint16_t lower = walk_.Current();
    walk_.Advance(rng);
    return walk_.Whole(lower);
  }
  void Note(uint16_t /*entropy*/, EntropyNews /*news*/) {}
  size_t bytes() const { return sizeof(*this); }

 private:
  EntropyWalk walk_;
};

class ObliviousBalancer final : public EntropySpray<Oblivious> {
 public:
  ObliviousBalancer() : EntropySpray("oblivious") {}
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<ObliviousBalancer>(
    {"oblivious", "Hosts spray packets over all entropies in turn, without feedback.",
     "uet-htsim (Ultra Ethernet Consortium, 2025)"});

}  // namespace
}  // namespace heddle
