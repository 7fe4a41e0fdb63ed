// SPDX-License-Identifier: Apache-2.0

#include "study/papers/model_inputs.h"

#include <algorithm>
#include <cmath>

namespace heddle {
namespace {

constexpr int64_t kMss = 1'460;
constexpr int64_t kPacketOnTheWire = 1'500;
constexpr BitRate kLeastRate{1'000};
constexpr BitRate kGreatestRate{100'000'000'000'000};

}  // namespace

void PdlbInputs::Declare(Fields& fields) {
  fields.Add("packets", packets, Between<int64_t>(1, 10'000'000), "Packets that the flow sends.");
  fields.Add("paths", paths, Between<int64_t>(1, 1'024), "Paths in all.");
  fields.Add("slow", slow, Between(0.0, 1'024.0), "Paths that are slow; need not be whole.");
  fields.Add("ratio", ratio, Between(1.0, 1e6),
             "Delay of the slow paths, as a multiple of that of the other paths.");
  fields.Add("delay", delay, {.above = Duration{0}, .at_most = 10_s},
             "Round trip time of the other paths.");
  fields.Add("rate", rate, Between(kLeastRate, kGreatestRate), "Rate of each path.");
  fields.Add("queue", queue, Between<int64_t>(0, 1'000'000), "Packets that may wait on a path.");
  fields.Add("flows", flows, Between<int64_t>(1, 1'000'000), "Flows that share the paths.");
  fields.Add("granularity", granularity, Between<int64_t>(1, kLargestPdlbCell),
             "Packets of a flowcell.");
  fields.Choice("form", form,
                {{"corrected", PdlbForm::kCorrected}, {"literal", PdlbForm::kLiteral}},
                "The equations of the model. literal: as the paper prints them.");
  fields.Require(slow <= static_cast<double>(paths), "slow",
                 "more slow paths than there are paths");
}

// Flows beyond the number of paths share them; the model knows no other flows.
PdlbCase PdlbInputs::Case() const {
  const double max_window = PdlbMaxWindow(rate, delay, static_cast<double>(queue));
  return {.packets = static_cast<double>(packets),
          .paths = static_cast<int>(paths),
          .slow_share = slow / static_cast<double>(paths),
          .slowness = ratio,
          .delay = delay,
          .rate = {rate.bps * paths / std::max(paths, flows)},
          .max_window = std::max(1.0, max_window)};
}

void TrInputs::Declare(Fields& fields) {
  fields.Add("good", good, Between<int64_t>(0, 10'000), "Fast paths.");
  fields.Add("bad", bad, Between<int64_t>(0, 10'000), "Slow paths.");
  fields.Add("buffer", buffer, Between<int64_t>(1, 1'000'000'000), "Packets that a path holds.");
  fields.Add("rate", rate, Between(kLeastRate, kGreatestRate), "Rate of each path.");
  fields.Add("delay", delay, {.above = Duration{0}, .at_most = 10_s},
             "Round trip time of fast paths.");
  fields.Add("dupthresh", dupthresh, Between<int64_t>(1, 100'000),
             "A packet counts as lost when this many packets have overtaken it.");
  fields.Add("flows", flows, Between<int64_t>(1, 1'000'000'000), "Flows that share the paths.");
  fields.Add("size", size, Between(1_B, 1'000_MB), "Size of each flow.");
  fields.Add("ratio", ratio, Between(1.0, 1e6),
             "Delay of slow paths, as a multiple of that of fast paths.");
  fields.Require(good + bad > 0, "good", "there is no path");
}

TrCase TrInputs::Case() const {
  return {.flows = static_cast<double>(flows),
          .packets = static_cast<int>((size.count + kMss - 1) / kMss),
          .good_paths = static_cast<int>(good),
          .bad_paths = static_cast<int>(bad),
          .buffer = static_cast<double>(buffer),
          .packet_time = SerializationDelay(Bytes{kPacketOnTheWire}, rate),
          .good_delay = delay,
          .bad_delay = {std::llround(static_cast<double>(delay.ps) * ratio)},
          .duplicate_acks = static_cast<int>(dupthresh)};
}

}  // namespace heddle
