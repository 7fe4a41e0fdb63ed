// SPDX-License-Identifier: Apache-2.0

#include "measure/ideal_schedule.h"

#include <algorithm>
#include <map>

#include "core/random.h"
#include "workload/jobs/critical_path.h"
#include "workload/jobs/transfer_time.h"

namespace heddle {

class IdealSchedule::Sums {
 public:
  Sums(IdealSchedule& all, const Job& job, std::span<const uint32_t> ranks)
      : all_(all), job_(job), ranks_(ranks) {}

  Result Of(const Schedule& schedule) {
    Duration& least = result_.time;
    least = CriticalPath(
        schedule, [this](const Message& message) { return Note(message); },
        [this](uint32_t from, uint32_t to) { return job_.NewsDelay(RankOf(from), RankOf(to)); });
    for (const auto& [host, load] : sent_) {
      least = std::max(least, load.Least(RateOf(all_.routing_.HostUplink(host), host)));
    }
    for (const auto& [host, load] : received_) {
      least = std::max(least, load.Least(RateOf(all_.routing_.HostDownlink(host), host)));
    }
    return result_;
  }

 private:
  // The bytes over a host's links, and the least time that a packet spends elsewhere.
  struct Load {
    int64_t wire_bytes = 0;
    Duration rest{kNever.ps};

    Duration Least(double bps) const {
      return rest + Duration{static_cast<int64_t>(static_cast<double>(wire_bytes) * 8e12 / bps)};
    }
  };

  uint32_t RankOf(uint32_t rank) const { return ranks_.empty() ? rank : ranks_[rank]; }

  double RateOf(const Channel& link, HostId host) const {
    return static_cast<double>(link.rate.bps) * static_cast<double>(all_.routing_.LinksOf(host));
  }

  // Adds a message to the sums.
  MessageTimes Note(const Message& message) {
    const int64_t size = std::max<int64_t>(message.bytes, 1);
    const uint32_t from = RankOf(message.src);
    const uint32_t to = RankOf(message.dst);
    if (job_.AreLocal(from, to)) return NoteLocal(size);
    const HostId src = job_.HostOf(from);
    const HostId dst = job_.HostOf(to);
    ++result_.messages;
    result_.bytes_network += size;
    const PacketSizes& sizes = all_.sizes_;
    const int64_t packets = (size + sizes.mss - 1) / sizes.mss;
    const int64_t last = sizes.DataPacket(size - (packets - 1) * sizes.mss) + sizes.wire_overhead;
    const int64_t wire = (packets - 1) * (sizes.DataPacket(sizes.mss) + sizes.wire_overhead) + last;
    const Duration shortest = all_.TimesOf(src, dst, 1).least;
    Add(sent_[src], wire, shortest, all_.routing_.HostUplink(src));
    Add(received_[dst], wire, shortest, all_.routing_.HostDownlink(dst));
    const IdealFct::Times times = all_.TimesOf(src, dst, size);
    return {times.least, waits_for_acks() ? times.least + (times.tx - times.rx) : Duration{0}};
  }

  MessageTimes NoteLocal(int64_t size) {
    result_.bytes_local += size;
    const JobSettings& settings = job_.settings();
    const Duration time = TransferTime(size, settings.local_rate);
    return {settings.local_latency + time, waits_for_acks() ? time : Duration{0}};
  }

  // A message that need only be handed to the NIC may be finished in no time: the sum of a host's
  // bytes bounds how fast it can go on.
  bool waits_for_acks() const { return job_.settings().send_done == JobSettings::SendDone::kAcked; }

  // A packet's time on the host's own link is in the sum. Packets on several links of a host
  // overlap, but each takes its whole time.
  void Add(Load& load, int64_t wire, Duration shortest, const Channel& link) const {
    load.wire_bytes += wire;
    const int64_t smallest = all_.sizes_.DataPacket(1) + all_.sizes_.wire_overhead;
    const double own = static_cast<double>(smallest) * 8e12 / static_cast<double>(link.rate.bps);
    load.rest = std::min(load.rest, shortest - Duration{static_cast<int64_t>(own) + 1});
  }

  IdealSchedule& all_;
  const Job& job_;
  const std::span<const uint32_t> ranks_;
  std::map<HostId, Load> sent_;
  std::map<HostId, Load> received_;
  Result result_;
};

IdealFct::Times IdealSchedule::TimesOf(HostId src, HostId dst, int64_t size) {
  const uint64_t hash =
      Mix64(uint64_t{src} << 48 ^ uint64_t{dst} << 32 ^ static_cast<uint64_t>(size));
  KnownTimes& known = known_[hash % known_.size()];
  if (known.src != src || known.dst != dst || known.size != size) {
    known = {src, dst, size, ideal_.Of(src, dst, size)};
  }
  return known.times;
}

IdealSchedule::Result IdealSchedule::Of(const Schedule& schedule, const Job& job,
                                        std::span<const uint32_t> ranks) {
  return Sums(*this, job, ranks).Of(schedule);
}

}  // namespace heddle
