// SPDX-License-Identifier: Apache-2.0
// The spraying of STrack (Le et al., arXiv 2407.15266): as `bitmap`, but an entropy that met
// congestion or loss is passed over only once. It is made for `transport: {kind: uet, preset:
// strack}`. Both are approximations.

#include "lb/parts/entropy_spray.h"

namespace heddle {
namespace {

class StrackBits {
 public:
  void Start(uint32_t paths, Rng& rng) {
    walk_.Start(paths, rng);
    bits_.Start(paths);
  }
  uint16_t Next(Rng& rng) { return walk_.Whole(bits_.Choose(walk_, rng)); }
  void Note(uint16_t entropy, EntropyNews news) { bits_.Note(walk_.Lower(entropy), news); }
  size_t bytes() const { return sizeof(*this) + bits_.bytes(); }

 private:
  EntropyWalk walk_;
  EntropyPenalties bits_{/*most=*/1};
};

class StrackBalancer final : public EntropySpray<StrackBits> {
 public:
  StrackBalancer() : EntropySpray("strack") {}
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<StrackBalancer>(
    {"strack",
     "Hosts spray packets and pass once over entropies that met congestion; an approximation.",
     "Le et al., arXiv 2407.15266"});

}  // namespace
}  // namespace heddle
