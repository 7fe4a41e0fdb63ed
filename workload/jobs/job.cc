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
