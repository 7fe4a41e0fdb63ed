// SPDX-License-Identifier: Apache-2.0
// A closed-loop job of a run: ranks on hosts that repeat a schedule. It is made once the workload
// has been prepared, and is immutable while the run lasts.
//
// The messages of a job have the flow ids base() + iteration * slots + number, so that each host
// knows from the id of a packet's flow which message it belongs to.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/packet.h"
#include "core/units.h"
#include "fabric/flow.h"
#include "workload/jobs/job_operation.h"
#include "workload/jobs/schedule.h"

namespace heddle {

struct JobSettings {
  // When a message that a rank has sent is finished for those that wait for it: its last byte has
  // been acknowledged, its last packet has been handed to the NIC, or it has been asked for.
  enum class SendDone { kAcked, kHanded, kPosted };
  // Which source port a message has: that of its connection, or one of its own.
  enum class Ports { kConnection, kMessage };
  // A rank waits before its next iteration for nothing, a barrier of messages among the
  // ranks, or the release that follows once all ranks have finished.
  enum class Between { kNone, kBarrier, kIdeal };

  std::string kind;
  std::string label;
  std::string placement;
  JobOperation operation;  // If each iteration is one collective.
  uint16_t workload = 0;   // Index of the workload entry.
  uint64_t seed = 1;
  std::vector<HostId> host_of_rank;
  Time start;
  uint32_t iterations = 1;
  uint32_t warm_up = 0;  // Iterations that are not measured.
  bool measured = true;
  Duration gap{0};     // Before each iteration.
  Duration jitter{0};  // Up to this much more, at random for each rank.
  // A message waits until the last packet of the one before on its connection has been handed to
  // the NIC.
  bool ordered = true;
  Ports ports = Ports::kConnection;
  uint32_t qps = 1;  // Queue pairs that take turns with the messages of a connection.
  SendDone send_done = SendDone::kAcked;
  BitRate local_rate{3'600'000'000'000};  // Between ranks of one host, each way.
  Duration local_latency{1'000'000};
  uint32_t unfinished = 0;     // The unfinished messages that a connection may have. 0: any number.
  Duration overhead{0};        // A message leaves this much later than it may,
  Duration local_overhead{0};  // or this much to a rank of the same host.
  bool share_hosts = false;    // Other jobs may use its hosts.
  Between between = Between::kNone;
  std::optional<Duration> release_delay;  // Between::kIdeal: how long news travels.
};

class Job {
 public:
  // `number` counts jobs from 1.
  Job(uint32_t number, JobSettings settings, std::shared_ptr<const Schedule> schedule)
      : number_(number), settings_(std::move(settings)), schedule_(std::move(schedule)) {}

  const JobSettings& settings() const { return settings_; }
  const Schedule& schedule() const { return *schedule_; }
  uint32_t number() const { return number_; }
  HostId HostOf(uint32_t rank) const { return settings_.host_of_rank[rank]; }
  bool IsMeasured(uint32_t iteration) const {
    return settings_.measured && iteration >= settings_.warm_up;
  }

  // The ids that the job needs, and the first of them.
  uint64_t ids() const { return schedule_->slots() * settings_.iterations; }
  FlowId base() const { return base_; }
  void SetBase(FlowId base) { base_ = base; }
  bool Owns(FlowId id) const { return id >= base_ && id - base_ < ids(); }

  // The class of a flow by its size and whether it is measured; see FlowSpec::size_class.
  using ClassOf = std::function<uint16_t(int64_t size, bool measured)>;
  void SetClassOf(ClassOf class_of) { class_of_ = std::move(class_of); }

  struct Place {
    uint32_t iteration;
    uint64_t index;
  };
  Place PlaceOf(FlowId id) const {
    const uint64_t offset = id - base_;
    return {static_cast<uint32_t>(offset / schedule_->slots()), offset % schedule_->slots()};
  }
  FlowId IdOf(Place place) const {
    return static_cast<FlowId>(base_ + place.iteration * schedule_->slots() + place.index);
  }

  // Returns the flow of a message, without its start.
  FlowSpec SpecOf(Place place, const Message& message) const;

 private:
  uint16_t PortOf(Place place, const Message& message) const;

  const uint32_t number_;
  const JobSettings settings_;
  const std::shared_ptr<const Schedule> schedule_;
  FlowId base_ = 0;
  ClassOf class_of_ = [](int64_t, bool) { return uint16_t{0}; };
};

// A message of a job, found by its id.
struct JobMessage {
  const Job& job;
  Job::Place place;
  Message message;
};

// Finds a message among `jobs`, one of which must own it.
JobMessage FindMessage(std::span<const std::unique_ptr<Job>> jobs, FlowId id);

}  // namespace heddle
