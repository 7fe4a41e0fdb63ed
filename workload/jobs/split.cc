// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/split.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/random.h"

namespace heddle {
namespace {

// How a message is sent: part p of `parts` takes path `lane` + p of `paths`.
struct Plan {
  uint16_t lane = kNoLane;
  uint16_t paths = 1;
  uint16_t parts = 1;
};

// Part p of a message of `packets` packets ends before this packet. Parts differ by one packet.
int64_t EndOf(int64_t part, int64_t parts, int64_t packets) { return (part + 1) * packets / parts; }

// A group of messages that are planned together.
struct GroupKey {
  uint32_t step;
  uint32_t turn;
  uint32_t from;  // A leaf or a host.
  uint16_t to;    // A leaf.
  int64_t packets;

  friend auto operator<=>(const GroupKey&, const GroupKey&) = default;
};

int64_t PacketsOf(int64_t bytes, int64_t mss) { return (bytes + mss - 1) / mss; }

class Planner {
 public:
  Planner(const Schedule& whole, const SplitSettings& settings)
      : whole_(whole),
        settings_(settings),
        rng_(Rng::Stream(settings.seed, "split", settings.job)) {}

  std::vector<Plan> PlanAll() {
    std::vector<Plan> plans(whole_.slots());
    for (auto& [key, messages] : Groups()) PlanGroup(key, messages, plans);
    return plans;
  }

 private:
  // Unused numbers have messages without bytes.
  std::map<GroupKey, std::vector<uint64_t>> Groups() const {
    std::map<GroupKey, std::vector<uint64_t>> groups;
    for (uint64_t index = 0; index < whole_.slots(); ++index) {
      const Message message = whole_.MessageOf(index);
      const HostId src = settings_.host_of_rank[message.src];
      const HostId dst = settings_.host_of_rank[message.dst];
      if (message.bytes <= 0 || settings_.paths->Between(src, dst).empty()) continue;
      groups[KeyOf(message, src, dst)].push_back(index);
    }
    return groups;
  }

  GroupKey KeyOf(const Message& message, HostId src, HostId dst) const {
    const PathTable& paths = *settings_.paths;
    return {.step = settings_.is_one_step ? 0 : message.step,
            .turn = settings_.is_one_step ? 0 : message.turn,
            .from = settings_.scope == SplitSettings::Scope::kHost ? src : paths.LeafOf(src),
            .to = paths.LeafOf(dst),
            .packets = PacketsOf(message.bytes, settings_.mss)};
  }

  // The order of the messages and the first path are random, so that steps do not begin alike.
  void PlanGroup(const GroupKey& key, std::vector<uint64_t>& messages, std::vector<Plan>& plans) {
    const Message any = whole_.MessageOf(messages.front());
    const uint16_t paths = static_cast<uint16_t>(
        settings_.paths->Between(settings_.host_of_rank[any.src], settings_.host_of_rank[any.dst])
            .size());
    const EqualSplit split = SplitEvenly(static_cast<uint32_t>(messages.size()), paths);
    rng_.MoveToFront(messages, messages.size());
    uint32_t lane = rng_.Below(paths);
    for (size_t i = 0; i < messages.size(); ++i) {
      const uint32_t parts = i < split.whole ? 1 : split.parts;
      // A part has one packet at least.
      const int64_t used = std::min<int64_t>(parts, key.packets);
      plans[messages[i]] = {static_cast<uint16_t>(lane), paths, static_cast<uint16_t>(used)};
      lane = (lane + parts) % paths;
    }
  }

  const Schedule& whole_;
  const SplitSettings& settings_;
  Rng rng_;
};

// The numbers of a message's parts follow each other: number * most parts + part.
class Split final : public Schedule {
 public:
  Split(std::unique_ptr<const Schedule> whole, const SplitSettings& settings)
      : whole_(std::move(whole)),
        mss_(settings.mss),
        plans_(Planner(*whole_, settings).PlanAll()),
        more_arrivals_(whole_->ranks()) {
    for (uint64_t index = 0; index < plans_.size(); ++index) {
      if (plans_[index].parts == 1) continue;
      most_ = std::max<uint64_t>(most_, plans_[index].parts);
      more_arrivals_[whole_->MessageOf(index).dst] += plans_[index].parts - 1u;
    }
  }

  ScheduleTotals Totals() const override {
    ScheduleTotals totals = whole_->Totals();
    totals.messages += static_cast<double>(
        std::accumulate(more_arrivals_.begin(), more_arrivals_.end(), uint64_t{0}));
    return totals;
  }
  uint32_t ranks() const override { return whole_->ranks(); }
  uint64_t slots() const override { return whole_->slots() * most_; }

  // Parts have channels of their own: none waits for another one.
  Message MessageOf(uint64_t number) const override {
    Message message = whole_->MessageOf(number / most_);
    const Plan& plan = plans_[number / most_];
    const uint32_t part = static_cast<uint32_t>(number % most_);
    message.channel = static_cast<uint32_t>(message.channel * most_ + part);
    if (plan.lane != kNoLane) {
      message.lane = static_cast<uint16_t>((plan.lane + part) % plan.paths);
    }
    const int64_t packets = PacketsOf(message.bytes, mss_);
    const int64_t begin = mss_ * EndOf(int64_t{part} - 1, plan.parts, packets);
    const int64_t end = mss_ * EndOf(part, plan.parts, packets);
    message.bytes = std::min(end, message.bytes) - begin;
    return message;
  }
  uint64_t IncomingOf(uint32_t rank) const override { return whole_->IncomingOf(rank) * most_; }
  uint64_t OrdinalOf(uint64_t number) const override {
    return whole_->OrdinalOf(number / most_) * most_ + number % most_;
  }
  uint64_t ArrivalsAt(uint32_t rank) const override {
    return whole_->ArrivalsAt(rank) + more_arrivals_[rank];
  }
  bool goes_down_a_tree() const override { return whole_->goes_down_a_tree(); }
  bool waits_for_sends() const override { return whole_->waits_for_sends(); }
  // Of each missing message, the first part that is not there.
  std::vector<uint64_t> MissingAt(uint32_t rank, const HasArrived& has_arrived) const override {
    const auto missing_part = [&](uint64_t index) {
      uint64_t part = 0;
      while (part < plans_[index].parts && has_arrived(index * most_ + part)) ++part;
      return part;
    };
    std::vector<uint64_t> missing = whole_->MissingAt(
        rank, [&](uint64_t index) { return missing_part(index) == plans_[index].parts; });
    for (uint64_t& index : missing) index = index * most_ + missing_part(index);
    return missing;
  }
  std::unique_ptr<RankProgram> ProgramOf(uint32_t rank) const override;
  std::unique_ptr<RankProgram> BoundOf(uint32_t rank) const override;

 private:
  class Program;

  const std::unique_ptr<const Schedule> whole_;
  const int64_t mss_;
  const std::vector<Plan> plans_;        // By message.
  std::vector<uint64_t> more_arrivals_;  // By rank: parts that come beyond its messages.
  uint64_t most_ = 1;                    // The most parts of a message.
};

class Split::Program final : public RankProgram {
 public:
  Program(const Split& all, std::unique_ptr<RankProgram> whole)
      : all_(all), whole_(std::move(whole)) {}

  void Begin(RankActions& actions) override {
    received_.clear();
    sent_.clear();
    Parts parts(all_, actions);
    whole_->Begin(parts);
  }
  void OnReceived(uint64_t number, RankActions& actions) override {
    if (!IsLast(received_, number)) return;
    Parts parts(all_, actions);
    whole_->OnReceived(number / all_.most_, parts);
  }
  void OnSent(uint64_t number, RankActions& actions) override {
    if (!IsLast(sent_, number)) return;
    Parts parts(all_, actions);
    whole_->OnSent(number / all_.most_, parts);
  }
  void OnComputed(uint64_t op, RankActions& actions) override {
    Parts parts(all_, actions);
    whole_->OnComputed(op, parts);
  }
  bool finished() const override { return whole_->finished(); }
  bool is_over() const override { return whole_->is_over(); }

 private:
  // The parts so far of messages of which some are missing.
  using Counts = absl::flat_hash_map<uint64_t, uint32_t>;

  // Sends all parts of a message.
  class Parts final : public RankActions {
   public:
    Parts(const Split& all, RankActions& actions) : all_(all), actions_(actions) {}
    void Send(uint64_t index) override {
      for (uint64_t part = 0; part < all_.plans_[index].parts; ++part) {
        actions_.Send(index * all_.most_ + part);
      }
    }
    void Compute(uint32_t stream, Duration time, uint64_t op) override {
      actions_.Compute(stream, time, op);
    }
    void Note(uint32_t op, OperationStep step) override { actions_.Note(op, step); }

   private:
    const Split& all_;
    RankActions& actions_;
  };

  // Counts a part. Returns true if no other one of its message is missing.
  bool IsLast(Counts& counts, uint64_t number) const {
    const uint64_t index = number / all_.most_;
    const uint32_t parts = all_.plans_[index].parts;
    if (parts == 1) return true;
    const auto at = counts.try_emplace(index, 0).first;
    if (++at->second < parts) return false;
    counts.erase(at);
    return true;
  }

  const Split& all_;
  const std::unique_ptr<RankProgram> whole_;
  Counts received_;
  Counts sent_;
};

std::unique_ptr<RankProgram> Split::ProgramOf(uint32_t rank) const {
  return std::make_unique<Program>(*this, whole_->ProgramOf(rank));
}

std::unique_ptr<RankProgram> Split::BoundOf(uint32_t rank) const {
  return std::make_unique<Program>(*this, whole_->BoundOf(rank));
}

}  // namespace

EqualSplit SplitEvenly(uint32_t flows, uint32_t paths) {
  const uint32_t rest = flows % paths;
  return {.whole = flows - rest, .split = rest, .parts = paths / std::gcd(rest, paths)};
}

std::unique_ptr<Schedule> MakeSplit(std::unique_ptr<const Schedule> whole,
                                    const SplitSettings& settings) {
  return std::make_unique<Split>(std::move(whole), settings);
}

}  // namespace heddle
