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
  size_t memory_bytes() const override { return sizeof(*this); }

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
  size_t memory_bytes() const override {
    return sizeof(*this) + 2 * distances_.size() * sizeof(uint32_t);
  }

 private:
  const uint32_t group_;
  const uint32_t groups_;
  std::vector<uint32_t> distances_;  // Between groups, in the order of sending.
  std::vector<uint32_t> place_of_distance_;
};

class RandomOrder final : public PeerOrder {
 public:
  RandomOrder(uint32_t ranks, uint64_t seed, uint32_t job)
      : ranks_(ranks), peers_(uint64_t{ranks} * (ranks - 1)), places_(peers_.size()) {
    std::vector<uint32_t> peers;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      peers.clear();
      for (uint32_t i = 1; i < ranks; ++i) peers.push_back((rank + i) % ranks);
      Rng rng = Rng::Stream(seed, "all_to_all", uint64_t{job} << 32 | rank);
      rng.MoveToFront(peers, peers.size());
      for (uint32_t i = 0; i + 1 < ranks; ++i) {
        peers_[At(rank, i)] = peers[i];
        places_[At(rank, (peers[i] + ranks - rank - 1) % ranks)] = i;
      }
    }
  }

  uint32_t PeerOf(uint32_t rank, uint32_t i) const override { return peers_[At(rank, i)]; }
  uint32_t PlaceOf(uint32_t rank, uint32_t peer) const override {
    return places_[At(rank, (peer + ranks_ - rank - 1) % ranks_)];
  }
  size_t memory_bytes() const override {
    return sizeof(*this) + 2 * peers_.size() * sizeof(uint32_t);
  }

 private:
  uint64_t At(uint32_t rank, uint32_t i) const { return uint64_t{rank} * (ranks_ - 1) + i; }

  const uint32_t ranks_;
  std::vector<uint32_t> peers_;   // By rank, then place.
  std::vector<uint32_t> places_;  // By rank, then distance round.
};

// --- The schedule ---

// A message's number is sender * (n - 1) + its place in the sender's order.
class AllToAll final : public Schedule {
 public:
  AllToAll(AllToAllSettings settings, std::unique_ptr<PeerOrder> order)
      : settings_(std::move(settings)), order_(std::move(order)) {}

  ScheduleTotals Totals() const override {
    const std::set<uint32_t> looked_at = {0, 1, ranks() / 2, ranks() - 1};
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
  size_t memory_bytes() const override {
    return sizeof(*this) + open_.capacity() * sizeof(uint32_t);
  }

 private:
  void Advance(RankActions& actions) {
    for (; next_ < all_.peers(); ++next_) {
      const uint32_t window = all_.settings_.window;
      if (!open_.empty() && next_ >= open_.front() + window) return;
      const uint32_t peer = all_.order_->PeerOf(rank_, next_);
      if (all_.settings_.bytes(rank_, peer) == 0) continue;
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
