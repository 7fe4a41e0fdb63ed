// SPDX-License-Identifier: Apache-2.0
// Ethereal (Addanki et al., arXiv 2407.00550): the messages of a step from one leaf to another are
// planned onto the paths between the two. Most stay whole; of the others each is split into equal
// parts. So every path carries as many bytes as every other one. A part is a flow of its own; the
// message has arrived when all its parts have.
//
// A workload wraps its schedule by MakeSplit(). The parts' lanes tell the load balancer `ethereal`
// which path each is planned for.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/packet.h"
#include "fabric/paths.h"
#include "workload/jobs/schedule.h"

namespace heddle {

// How `flows` equal flows are laid on `paths` equal paths: so many stay whole, and so many are
// split into `parts` each.
struct EqualSplit {
  uint32_t whole;
  uint32_t split;
  uint32_t parts;

  uint32_t flows() const { return whole + split * parts; }
};
EqualSplit SplitEvenly(uint32_t flows, uint32_t paths);

struct SplitSettings {
  // The messages that are planned together: those of all hosts of a leaf, or of one host.
  enum class Scope { kLeaf, kHost };

  Scope scope = Scope::kLeaf;
  bool is_one_step = false;  // All messages of an iteration belong to one step.
  int64_t mss = 1460;        // Parts are whole packets.
  std::vector<HostId> host_of_rank;
  std::shared_ptr<const PathTable> paths;  // At the start of the run.
  uint64_t seed = 1;
  uint32_t job = 0;
};

// Messages of one step belong together if they have as many packets.
std::unique_ptr<Schedule> MakeSplit(std::unique_ptr<const Schedule> whole,
                                    const SplitSettings& settings);

}  // namespace heddle
