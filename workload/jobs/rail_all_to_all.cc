// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/rail_all_to_all.h"

#include <algorithm>
#include <vector>

#include "workload/jobs/blocks.h"

namespace heddle {
namespace {

// A message's number is sender * slots of a sender + place. Places are, in this order:
// - handed to a rank of the own server for the same rank of another one, by the distance to the
//   former, then the distance to the latter;
// - sent to another server, by the distance to it, then by the distance back to the rank of the own
//   server that the bytes come from; or by the distance to the server alone if they are merged;
// - for a rank of the own server, by the distance to it.
// Distances are counted round, those to others from 0. From place and receiver follows the sender,
// so a place is also a number for the receiver.
class RailAllToAll final : public Schedule {
 public:
  explicit RailAllToAll(const RailAllToAllSettings& settings)
      : settings_(settings),
        blocks_(settings.bytes, settings.ranks),
        peers_(settings.server - 1),
        others_(settings.ranks / settings.server - 1),
        parts_(settings.merges ? 1 : settings.server) {}

  uint32_t ranks() const override { return settings_.ranks; }
  uint64_t slots() const override { return uint64_t{ranks()} * PlacesOfRank(); }
  uint64_t IncomingOf(uint32_t /*rank*/) const override { return PlacesOfRank(); }
  uint64_t OrdinalOf(uint64_t index) const override { return index % PlacesOfRank(); }
  uint64_t ArrivalsAt(uint32_t /*rank*/) const override { return PlacesOfRank(); }
  std::unique_ptr<RankProgram> ProgramOf(uint32_t rank) const override;

  std::vector<uint64_t> MissingAt(uint32_t rank, const HasArrived& has_arrived) const override {
    std::vector<uint64_t> missing;
    for (uint64_t place = 0; place < PlacesOfRank(); ++place) {
      const uint64_t index = SenderOf(rank, place) * PlacesOfRank() + place;
      if (!has_arrived(index)) missing.push_back(index);
    }
    return missing;
  }

  Message MessageOf(uint64_t index) const override {
    const uint32_t src = static_cast<uint32_t>(index / PlacesOfRank());
    uint64_t place = index % PlacesOfRank();
    if (place < Handed()) {
      const uint32_t far = static_cast<uint32_t>(place % others_);
      const uint32_t dst = PeerOf(src, static_cast<uint32_t>(place / others_));
      return {src, dst, BytesTo(ServerAt(dst, far)), 0, 0, far};
    }
    place -= Handed();
    if (place < Sent()) {
      const uint32_t part = static_cast<uint32_t>(place % parts_);
      const uint32_t dst = ServerAt(src, static_cast<uint32_t>(place / parts_));
      return {src, dst, BytesTo(dst) * (settings_.merges ? settings_.server : 1), 0, 1, part};
    }
    const uint32_t dst = PeerOf(src, static_cast<uint32_t>(place - Sent()));
    return {src, dst, BytesTo(dst), 0, 2, others_};
  }

  ScheduleTotals Totals() const override {
    const std::set<uint32_t> looked_at = SampleOfRanks(ranks());
    const double each = static_cast<double>(ranks()) / static_cast<double>(looked_at.size());
    ScheduleTotals totals;
    for (const uint32_t rank : looked_at) {
      double bytes = 0;
      for (uint64_t place = 0; place < PlacesOfRank(); ++place) {
        totals.Add(MessageOf(rank * PlacesOfRank() + place).bytes, each, bytes);
      }
    }
    return totals;
  }

 private:
  class Program;

  uint64_t Handed() const { return uint64_t{peers_} * others_; }
  uint64_t Sent() const { return uint64_t{others_} * parts_; }
  uint64_t PlacesOfRank() const { return Handed() + Sent() + peers_; }

  // The rank that has its message of this place for `rank`.
  uint64_t SenderOf(uint32_t rank, uint64_t place) const {
    if (place >= Handed() && place < Handed() + Sent()) {
      const uint64_t servers = ranks() - ((place - Handed()) / parts_ + 1) * settings_.server;
      return (rank + servers) % ranks();
    }
    const uint64_t distance = (place < Handed() ? place / others_ : place - Handed() - Sent()) + 1;
    const uint32_t g = settings_.server;
    return rank / g * g + (rank % g + g - distance) % g;
  }

  uint32_t PeerOf(uint32_t rank, uint32_t distance) const {
    const uint32_t g = settings_.server;
    return rank / g * g + (rank % g + distance + 1) % g;
  }
  // The same rank of the server at this distance.
  uint32_t ServerAt(uint32_t rank, uint32_t distance) const {
    return (rank + (distance + 1) * settings_.server) % settings_.ranks;
  }
  int64_t BytesTo(uint32_t dst) const { return std::max<int64_t>(blocks_.Size(dst), 1); }

  const RailAllToAllSettings settings_;
  const Blocks blocks_;
  const uint32_t peers_;   // Other ranks of a server.
  const uint32_t others_;  // Other servers.
  const uint32_t parts_;   // Messages from a rank to the same rank of another server.
};

class RailAllToAll::Program final : public RankProgram {
 public:
  Program(const RailAllToAll& all, uint32_t rank)
      : all_(all), first_(rank * all.PlacesOfRank()), handed_(all.others_) {}

  void Begin(RankActions& actions) override {
    missing_ = all_.PlacesOfRank();
    unsent_ = all_.PlacesOfRank();
    std::ranges::fill(handed_, 0);
    for (uint32_t far = 0; far < all_.others_; ++far) {
      for (uint32_t near = 0; near < all_.peers_; ++near) {
        Send(uint64_t{near} * all_.others_ + far, actions);
      }
      Pass(far, 0, actions);
    }
    for (uint32_t near = 0; near < all_.peers_; ++near) {
      Send(all_.Handed() + all_.Sent() + near, actions);
    }
  }

  void OnReceived(uint64_t index, RankActions& actions) override {
    --missing_;
    const uint64_t place = all_.OrdinalOf(index);
    if (place >= all_.Handed()) return;
    Pass(static_cast<uint32_t>(place % all_.others_),
         static_cast<uint32_t>(place / all_.others_) + 1, actions);
  }

  bool finished() const override { return missing_ == 0 && unsent_ == 0; }

 private:
  // The bytes of a rank of this server for the server at distance `far` are here.
  void Pass(uint32_t far, uint32_t from, RankActions& actions) {
    const uint64_t place = all_.Handed() + uint64_t{far} * all_.parts_;
    if (!all_.settings_.merges) return Send(place + from, actions);
    if (++handed_[far] == all_.settings_.server) Send(place, actions);
  }

  void Send(uint64_t place, RankActions& actions) {
    --unsent_;
    actions.Send(first_ + place);
  }

  const RailAllToAll& all_;
  const uint64_t first_;  // The number of this rank's first message.
  uint64_t missing_ = 0;
  uint64_t unsent_ = 0;
  std::vector<uint32_t> handed_;  // By distance to another server: how many ranks' bytes are here.
};

std::unique_ptr<RankProgram> RailAllToAll::ProgramOf(uint32_t rank) const {
  return std::make_unique<Program>(*this, rank);
}

}  // namespace

std::unique_ptr<Schedule> MakeRailAllToAll(const RailAllToAllSettings& settings) {
  return std::make_unique<RailAllToAll>(settings);
}

}  // namespace heddle
