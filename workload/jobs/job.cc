// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/job.h"

#include <algorithm>

#include "core/check.h"
#include "core/random.h"

namespace heddle {
namespace {

constexpr uint16_t kFirstPort = 10'000;
constexpr uint64_t kPorts = 65'536 - kFirstPort;
constexpr uint16_t kDestinationPort = 300;

}  // namespace

Job::Job(uint32_t number, JobSettings settings, std::shared_ptr<const Schedule> schedule)
    : number_(number),
      settings_(std::move(settings)),
      schedule_(std::move(schedule)),
      slots_(schedule_->slots()) {
  if (settings_.domain_hosts == 1) return;
  server_of_rank_ = ServersOf(settings_.host_of_rank, settings_.domain_hosts);
}

std::vector<uint32_t> ServersOf(std::span<const HostId> host_of_rank, uint32_t domain_hosts) {
  std::map<HostId, uint32_t> numbers;
  std::vector<uint32_t> servers;
  for (const HostId host : host_of_rank) {
    const uint32_t next = static_cast<uint32_t>(numbers.size());
    servers.push_back(numbers.emplace(host, next).first->second / domain_hosts);
  }
  return servers;
}

Duration Job::NewsDelay(uint32_t from, uint32_t to) const {
  const HostId from_host = HostOf(from);
  const HostId to_host = HostOf(to);
  if (from_host == to_host) return Duration{0};
  return settings_.release_delay ? *settings_.release_delay : news_delays_.at({from_host, to_host});
}

FlowSpec Job::SpecOf(Place place, const Message& message) const {
  const int64_t size = std::max<int64_t>(message.bytes, 1);
  const bool measured = IsMeasured(place.iteration);
  return {.id = IdOf(place),
          .src = HostOf(message.src),
          .dst = HostOf(message.dst),
          .sport = PortOf(place, message),
          .dport = kDestinationPort,
          .workload = settings_.workload,
          .size_class = class_of_(size, measured),
          .measured = measured,
          .src_nic = NicOf(message.src, message.src_nic),
          .dst_nic = NicOf(message.dst, message.dst_nic),
          .lane = message.lane,
          .job = number_,
          .iter = place.iteration,
          .step = message.step,
          .size = size,
          .start = Time{}};
}

// Both ends of a message must find the same port, so the queue pair's turn follows from the
// message's number alone.
uint16_t Job::PortOf(Place place, const Message& message) const {
  const uint64_t pair = uint64_t{message.src} << 32 | message.dst;
  const uint32_t qp = (place.iteration + message.turn) % settings_.qps;
  uint64_t connection = uint64_t{number_} << 32 | uint64_t{message.channel} << 8 | qp;
  if (settings_.ports == JobSettings::Ports::kMessage) connection ^= place.index;
  return static_cast<uint16_t>(kFirstPort + (Mix64(Mix64(connection) ^ pair) >> 32) % kPorts);
}

JobMessage FindMessage(std::span<const std::unique_ptr<Job>> jobs, FlowId id) {
  const auto job =
      std::ranges::find_if(jobs, [id](const std::unique_ptr<Job>& its) { return its->Owns(id); });
  HEDDLE_CHECK(job != jobs.end(), "flow {} belongs to no job", id);
  const Job::Place place = (*job)->PlaceOf(id);
  return {**job, place, (*job)->schedule().MessageOf(place.index)};
}

}  // namespace heddle
