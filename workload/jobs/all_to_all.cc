// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/all_to_all.h"

#include <bit>
#include <set>
#include <utility>
#include <vector>

#include "core/random.h"

namespace heddle {
namespace {

// --- Orders ---

class RoundOrder final : public PeerOrder {
 public:
  explicit RoundOrder(uint32_t ranks) : ranks_(ranks) {}

  uint32_t PeerOf(uint32_t rank, uint32_t i) const override { return (rank + i + 1) % ranks_; }
  uint32_t PlaceOf(uint32_t rank, uint32_t peer) const override {
    return (peer + ranks_ - rank - 1) % ranks_;
  }

 private:
  const uint32_t ranks_;
};

class NcclOrder final : public PeerOrder {
 public:
  NcclOrder(uint32_t ranks, uint32_t group)
      : group_(group), groups_(ranks / group), place_of_distance_(groups_) {
    const uint32_t round = std::bit_ceil(groups_);
    for (uint32_t t = 0, delta = 0; t < round; delta = (delta + ++t) % round) {
      if (delta >= groups_) continue;
      place_of_distance_[delta] = static_cast<uint32_t>(distances_.size());
      distances_.push_back(delta);
    }
  }

  // The rank itself is the first of this order, and is left out.
  uint32_t PeerOf(uint32_t rank, uint32_t i) const override {
    const uint32_t place = i + 1;
    const uint32_t group = (rank / group_ + distances_[place / group_]) % groups_;
    return group * group_ + (rank % group_ + place % group_) % group_;
  }
  uint32_t PlaceOf(uint32_t rank, uint32_t peer) const override {
    const uint32_t distance = (peer / group_ + groups_ - rank / group_) % groups_;
    const uint32_t local = (peer % group_ + group_ - rank % group_) % group_;
    return place_of_distance_[distance] * group_ + local - 1;
  }

 private:
  const uint32_t group_;
  const uint32_t groups_;
  std::vector<uint32_t> distances_;  // Between groups, in the order of sending.
  std::vector<uint32_t> place_of_distance_;
};

// Each rank has a random permutation of the distances to its peers. A keyed Feistel network gives
// the permutation and its inverse without a table. The network permutes a power of four of numbers;
// a result outside the distances is put in again until it is one of them.
class RandomOrder final : public PeerOrder {
 public:
  RandomOrder(uint32_t ranks, uint64_t seed, uint32_t job)
      : ranks_(ranks),
        half_bits_((std::bit_width(ranks) + 1) / 2),
        key_(Rng::Stream(seed, "all_to_all", job).Next()) {}

  uint32_t PeerOf(uint32_t rank, uint32_t i) const override {
    const uint64_t key = Mix64(key_ ^ rank);
    uint32_t distance = i;
    do {
      distance = Encrypt(key, distance);
    } while (distance >= ranks_ - 1);
    return (rank + distance + 1) % ranks_;
  }
  uint32_t PlaceOf(uint32_t rank, uint32_t peer) const override {
    const uint64_t key = Mix64(key_ ^ rank);
    uint32_t place = (peer + ranks_ - rank - 1) % ranks_;
    do {
      place = Decrypt(key, place);
    } while (place >= ranks_ - 1);
    return place;
  }

 private:
  static constexpr uint64_t kRounds = 4;

  uint32_t Mask() const { return (uint32_t{1} << half_bits_) - 1; }
  uint32_t Round(uint64_t key, uint64_t round, uint32_t half) const {
    return static_cast<uint32_t>(Mix64(key ^ (round << 32 | half)) >> 32) & Mask();
  }
  uint32_t Encrypt(uint64_t key, uint32_t value) const {
    uint32_t left = value >> half_bits_;
    uint32_t right = value & Mask();
    for (uint64_t round = 0; round < kRounds; ++round) {
      left ^= Round(key, round, right);
      std::swap(left, right);
    }
    return left << half_bits_ | right;
  }
  uint32_t Decrypt(uint64_t key, uint32_t value) const {
    uint32_t left = value >> half_bits_;
    uint32_t right = value & Mask();
    for (uint64_t round = kRounds; round-- > 0;) {
      std::swap(left, right);
      left ^= Round(key, round, right);
    }
    return left << half_bits_ | right;
  }

  const uint32_t ranks_;
  const int half_bits_;
  const uint64_t key_;
};

// --- The schedule ---

// A message's number is sender * (n - 1) + its place in the sender's order.
class AllToAll final : public Schedule {
 public:
  AllToAll(AllToAllSettings settings, std::unique_ptr<PeerOrder> order)
      : settings_(std::move(settings)), order_(std::move(order)) {}

  ScheduleTotals Totals() const override {
    const std::set<uint32_t> looked_at =
        settings_.is_even ? SampleOfRanks(ranks()) : AllRanks(ranks());
    const double each = static_cast<double>(ranks()) / static_cast<double>(looked_at.size());
    ScheduleTotals totals;
    for (const uint32_t rank : looked_at) {
      double bytes = 0;
      for (uint32_t dst = 0; dst < ranks(); ++dst) {
        const int64_t size = dst == rank ? 0 : settings_.bytes(rank, dst);
        if (size > 0) totals.Add(size, each, bytes);
      }
    }
    return totals;
  }
  uint32_t ranks() const override { return settings_.ranks; }
  uint64_t slots() const override { return uint64_t{ranks()} * peers(); }

  Message MessageOf(uint64_t index) const override {
    const uint32_t src = static_cast<uint32_t>(index / peers());
    const uint32_t place = static_cast<uint32_t>(index % peers());
    const uint32_t dst = order_->PeerOf(src, place);
    return {src, dst, settings_.bytes(src, dst), 0, place};
  }
  uint64_t IncomingOf(uint32_t /*rank*/) const override { return ranks(); }
  uint64_t OrdinalOf(uint64_t index) const override { return index / peers(); }
  uint64_t ArrivalsAt(uint32_t rank) const override {
    uint64_t count = 0;
    for (uint32_t src = 0; src < ranks(); ++src) {
      count += src != rank && settings_.bytes(src, rank) > 0 ? 1 : 0;
    }
    return count;
  }
  bool waits_for_sends() const override { return settings_.window < peers(); }
  // A matrix may have zeros.
  bool waits_for_all() const override { return settings_.is_even; }
  std::vector<uint64_t> MissingAt(uint32_t rank, const HasArrived& has_arrived) const override {
    std::vector<uint64_t> missing;
    for (uint32_t src = 0; src < ranks(); ++src) {
      if (src == rank || settings_.bytes(src, rank) == 0) continue;
      const uint64_t index = uint64_t{src} * peers() + order_->PlaceOf(src, rank);
      if (!has_arrived(index)) missing.push_back(index);
    }
    return missing;
  }
  std::unique_ptr<RankProgram> ProgramOf(uint32_t rank) const override;

 private:
  class Program;

  uint32_t peers() const { return settings_.ranks - 1; }

  const AllToAllSettings settings_;
  const std::unique_ptr<PeerOrder> order_;
};

// Message i waits for the end of message i - window. So the window counts from the first unfinished
// message on.
class AllToAll::Program final : public RankProgram {
 public:
  Program(const AllToAll& all, uint32_t rank)
      : all_(all), rank_(rank), arrivals_(all.ArrivalsAt(rank)) {}

  void Begin(RankActions& actions) override {
    next_ = 0;
    open_.clear();
    missing_ = arrivals_;
    Advance(actions);
  }
  void OnReceived(uint64_t /*index*/, RankActions& /*actions*/) override { --missing_; }
  void OnSent(uint64_t index, RankActions& actions) override {
    std::erase(open_, static_cast<uint32_t>(index % all_.peers()));
    Advance(actions);
  }
  bool finished() const override { return missing_ == 0 && next_ == all_.peers(); }

 private:
  void Advance(RankActions& actions) {
    for (; next_ < all_.peers(); ++next_) {
      const uint32_t peer = all_.order_->PeerOf(rank_, next_);
      if (all_.settings_.bytes(rank_, peer) == 0) continue;
      if (!open_.empty() && next_ >= open_.front() + all_.settings_.window) return;
      if (all_.waits_for_sends()) open_.push_back(next_);
      actions.Send(uint64_t{rank_} * all_.peers() + next_);
    }
  }

  const AllToAll& all_;
  const uint32_t rank_;
  const uint64_t arrivals_;
  uint64_t missing_ = 0;
  uint32_t next_ = 0;           // The place of the next message to send.
  std::vector<uint32_t> open_;  // The places of unfinished messages, ascending.
};

std::unique_ptr<RankProgram> AllToAll::ProgramOf(uint32_t rank) const {
  return std::make_unique<Program>(*this, rank);
}

}  // namespace

std::unique_ptr<PeerOrder> MakeRoundOrder(uint32_t ranks) {
  return std::make_unique<RoundOrder>(ranks);
}
std::unique_ptr<PeerOrder> MakeNcclOrder(uint32_t ranks, uint32_t group) {
  return std::make_unique<NcclOrder>(ranks, group);
}
std::unique_ptr<PeerOrder> MakeRandomOrder(uint32_t ranks, uint64_t seed, uint32_t job) {
  return std::make_unique<RandomOrder>(ranks, seed, job);
}

std::unique_ptr<Schedule> MakeAllToAll(AllToAllSettings settings,
                                       std::unique_ptr<PeerOrder> order) {
  return std::make_unique<AllToAll>(std::move(settings), std::move(order));
}

}  // namespace heddle
