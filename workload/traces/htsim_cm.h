// SPDX-License-Identifier: Apache-2.0
// Reads connection matrices (.cm) of htsim (Broadcom/csg-htsim, ultraethernet/uet-htsim) as a
// graph: each connection is a send and a receive, which starts at a time or when a trigger lets it.
// A rank is a node of the file.

#pragma once

#include <optional>
#include <string_view>

#include "workload/file_errors.h"
#include "workload/jobs/operation_graph.h"

namespace heddle {

struct HtsimCmSettings {
  // The unit of `start`.
  enum class Unit { kPs, kUs };
  Unit unit = Unit::kPs;
  // What becomes of connections that start at another node than the one where their trigger fires.
  enum class CrossHost {
    kDelay,    // They start when the news has travelled.
    kReceive,  // Likewise; but a send_done_trigger whose connections all start at the receiver of
               // the one that fires it fires there, when that one has been received.
    kRefuse,
  };
  CrossHost cross_host = CrossHost::kDelay;
};

std::optional<OperationGraph> ReadHtsimCm(std::string_view text, const HtsimCmSettings& settings,
                                          FileErrors& errors);

}  // namespace heddle
