// SPDX-License-Identifier: Apache-2.0
// Spraying with penalties: a walk through all entropies passes over those whose packets came back
// marked, trimmed or not at all. Each choice takes one point off the first entropy passed over.

#include "lb/parts/entropy_spray.h"

namespace heddle {
namespace {

class Bitmap {
 public:
  void Start(uint32_t paths, Rng& rng) {
    walk_.Start(paths, rng);
    penalties_.Start(paths);
  }
  uint16_t Next(Rng& rng) { return walk_.Whole(penalties_.Choose(walk_, rng)); }
  void Note(uint16_t entropy, EntropyNews news) { penalties_.Note(walk_.Lower(entropy), news); }
  size_t bytes() const { return sizeof(*this) + penalties_.bytes(); }

 private:
  EntropyWalk walk_;
  EntropyPenalties penalties_;
};

class BitmapBalancer final : public EntropySpray<Bitmap> {
 public:
  BitmapBalancer() : EntropySpray("bitmap") {}
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<BitmapBalancer>(
    {"bitmap", "Hosts spray packets and pass over entropies that met marks, trimming or timeouts.",
     "uet-htsim (Ultra Ethernet Consortium, 2025)"});

}  // namespace
}  // namespace heddle
