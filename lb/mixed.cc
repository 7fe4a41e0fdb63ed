// SPDX-License-Identifier: Apache-2.0
// Spraying by recycled entropies first, and by penalties otherwise: an entropy whose packet came
// back without a mark is used again, in the order in which they came; if there is none, the walk of
// `bitmap` gives one.

#include "lb/parts/entropy_spray.h"

namespace heddle {
namespace {

class Mixed {
 public:
  void Start(uint32_t paths, Rng& rng) {
    walk_.Start(paths, rng);
    penalties_.Start(paths);
    good_.clear();
  }
  uint16_t Next(Rng& rng) {
    if (good_.empty()) return walk_.Whole(penalties_.Choose(walk_, rng));
    const uint16_t entropy = good_.front();
    good_.pop_front();
    return entropy;
  }
  void Note(uint16_t entropy, EntropyNews news) {
    if (news == EntropyNews::kGood) good_.push_back(entropy);
    penalties_.Note(walk_.Lower(entropy), news);
  }
  size_t bytes() const {
    return sizeof(*this) + penalties_.bytes() + good_.capacity() * sizeof(uint16_t);
  }

 private:
  EntropyWalk walk_;
  EntropyPenalties penalties_;
  Ring<uint16_t> good_;
};

class MixedBalancer final : public EntropySpray<Mixed> {
 public:
  MixedBalancer() : EntropySpray("mixed") {}
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<MixedBalancer>(
    {"mixed", "Hosts reuse entropies that came back unmarked, and otherwise spray as bitmap does.",
     "uet-htsim (Ultra Ethernet Consortium, 2025)"});

}  // namespace
}  // namespace heddle
