// SPDX-License-Identifier: Apache-2.0
// A closed-loop job of a run: ranks on hosts that repeat a schedule. It is made once the workload
// has been prepared, and is immutable while the run lasts.
//
// The messages of a job have the flow ids base() + iteration * slots + number, so that each host
// knows from the id of a packet's flow which message it belongs to.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/packet.h"
#include "core/units.h"
#include "fabric/flow.h"
#include "workload/jobs/job_operation.h"
#include "workload/jobs/schedule.h"

namespace heddle {

struct JobSettings {
  // When a message that a rank has sent is finished for operations that wait for it: its last byte
  // has been acknowledged, its last packet has been handed to the NIC, or Send() has been called.
  enum class SendDone { kAcked, kHanded, kPosted };
  // Which source port a message has: that of its connection, or one of its own.
  enum class Ports { kConnection, kMessage };
  // A rank waits before its next iteration for nothing, for a barrier of messages among the ranks,
  // or for the news, which takes no messages, that all ranks have finished.
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
  // How long news travels between hosts; not set: as long as packets that wait for nothing.
  std::optional<Duration> release_delay;
  uint32_t domain_hosts = 1;  // So many hosts in a row, in the order of ranks, are one server.
  bool nic_by_rank = false;   // The ranks of a host with several NICs take turns with them.
};

class Job {
 public:
  // `number` counts jobs from 1.
  Job(uint32_t number, JobSettings settings, std::shared_ptr<const Schedule> schedule);

  const JobSettings& settings() const { return settings_; }
  const Schedule& schedule() const { return *schedule_; }
  uint32_t number() const { return number_; }
  HostId HostOf(uint32_t rank) const { return settings_.host_of_rank[rank]; }
  // Ranks of one server have a link of their own between them.
  bool AreLocal(uint32_t a, uint32_t b) const {
    return HostOf(a) == HostOf(b) ||
           (!server_of_rank_.empty() && server_of_rank_[a] == server_of_rank_[b]);
  }
  // Returns true if servers have several hosts.
  bool has_domains() const { return !server_of_rank_.empty(); }
  bool IsMeasured(uint32_t iteration) const {
    return settings_.measured && iteration >= settings_.warm_up;
  }

  // The ids that the job needs, and the first of them.
  uint64_t ids() const { return slots_ * settings_.iterations; }
  FlowId base() const { return base_; }
  void SetBase(FlowId base) { base_ = base; }
  bool Owns(FlowId id) const { return id >= base_ && id - base_ < ids(); }

  // The class of a flow by its size and whether it is measured; see FlowSpec::size_class.
  using ClassOf = std::function<uint16_t(int64_t size, bool measured)>;
  void SetClassOf(ClassOf class_of) { class_of_ = std::move(class_of); }

  // How long the news travels that an operation of `from` has finished for which one of `to` waits.
  Duration NewsDelay(uint32_t from, uint32_t to) const;
  // Sets it for two hosts, unless it is among the settings.
  void SetNewsDelay(HostId from, HostId to, Duration delay) { news_delays_[{from, to}] = delay; }

  // With nic_by_rank: the NIC of each rank on a host with several.
  void SetNics(std::vector<uint8_t> nic_of_rank) { nic_of_rank_ = std::move(nic_of_rank); }
  // For messages that name their NICs: how many each rank's host has.
  void SetNicCounts(std::vector<uint8_t> nics_at_rank) { nics_at_rank_ = std::move(nics_at_rank); }

  struct Place {
    uint32_t iteration;
    uint64_t index;
  };
  Place PlaceOf(FlowId id) const {
    const uint64_t offset = id - base_;
    return {static_cast<uint32_t>(offset / slots_), offset % slots_};
  }
  FlowId IdOf(Place place) const {
    return static_cast<FlowId>(base_ + place.iteration * slots_ + place.index);
  }

  // Returns the flow of a message, without its start.
  FlowSpec SpecOf(Place place, const Message& message) const;

 private:
  uint16_t PortOf(Place place, const Message& message) const;
  // `named`: the NIC that the message names.
  uint8_t NicOf(uint32_t rank, uint16_t named) const {
    if (named != kUnnamedNic && !nics_at_rank_.empty()) {
      return static_cast<uint8_t>(named % nics_at_rank_[rank]);
    }
    return nic_of_rank_.empty() ? kAnyNic : nic_of_rank_[rank];
  }

  const uint32_t number_;
  const JobSettings settings_;
  const std::shared_ptr<const Schedule> schedule_;
  const uint64_t slots_;  // Of the schedule.
  FlowId base_ = 0;
  ClassOf class_of_ = [](int64_t, bool) { return uint16_t{0}; };
  std::vector<uint32_t> server_of_rank_;  // Empty if each host is a server of its own.
  std::map<std::pair<HostId, HostId>, Duration> news_delays_;
  std::vector<uint8_t> nic_of_rank_;   // Empty unless ranks have NICs of their own.
  std::vector<uint8_t> nics_at_rank_;  // Empty unless messages name NICs.
};

// The server of each rank: hosts are numbered in the order in which ranks name them first, and
// `domain_hosts` in a row are one server.
std::vector<uint32_t> ServersOf(std::span<const HostId> host_of_rank, uint32_t domain_hosts);

// A message of a job, found by its id.
struct JobMessage {
  const Job& job;
  Job::Place place;
  Message message;
};

// Finds a message among `jobs`, one of which must own it.
JobMessage FindMessage(std::span<const std::unique_ptr<Job>> jobs, FlowId id);

}  // namespace heddle
