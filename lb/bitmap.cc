// SPDX-License-Identifier: Apache-2.0
// Spraying with penalties: a walk through all entropies passes over those whose packets came back
// marked, trimmed or not at all. Each choice takes one point off the first entropy passed over, or
// off each of them: with at most one point, that is the spraying of EQDS (csg-htsim).

#include "lb/parts/entropy_spray.h"

namespace heddle {
namespace {

class Bitmap {
 public:
  Bitmap() = default;
  explicit Bitmap(const EntropyPenalties& penalties) : penalties_(penalties) {}

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

  void Declare(Fields& fields) override {
    EntropySpray::Declare(fields);
    fields.Add("most_points", most_points_, Between<int64_t>(1, EntropyPenalties::kMost),
               "The most points of penalty that an entropy may have. EQDS: 1.");
    using Forgives = EntropyPenalties::Forgives;
    fields.Choice("forgives", forgives_, {{"first", Forgives::kFirst}, {"all", Forgives::kAll}},
                  "Which entropies lose a point when a choice passes over them: the first one, or "
                  "all, as in EQDS.");
  }
  HostPolicyPtr ForHost(HostId id, uint64_t seed) const override {
    const EntropyPenalties penalties(static_cast<uint8_t>(most_points_), forgives_);
    return MakeHost(Bitmap(penalties), id, seed);
  }

 private:
  int64_t most_points_ = EntropyPenalties::kMost;
  EntropyPenalties::Forgives forgives_ = EntropyPenalties::Forgives::kFirst;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<BitmapBalancer>(
    {"bitmap", "Hosts spray packets and pass over entropies that met marks, trimming or timeouts.",
     "uet-htsim (Ultra Ethernet Consortium, 2025)"});

}  // namespace
}  // namespace heddle
