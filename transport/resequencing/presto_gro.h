// SPDX-License-Identifier: Apache-2.0
// Presto's receiver (He et al., SIGCOMM 2015, section 3.2), which hides the reordering between
// flowcells from the transport. All packets of a cell take one path, so a gap inside a cell is a
// loss, and the packets behind it go up at once. A gap before a cell may be reordering: the cell
// waits for a time that adapts to the length of such waits.
//
// The paper merges packets into segments when an interrupt ends; here each packet is looked at as
// it comes. lb/presto.cc writes the number of the cell into Packet::scheme.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/packet.h"
#include "core/units.h"
#include "settings/fields.h"
#include "transport/resequencing/resequencer.h"

namespace heddle {

struct PrestoGroSettings {
  double alpha = 2;
  double beta = 2;
  double gain = 1.0 / 8;
  Duration initial = 50_us;

  void Declare(Fields& fields);
};

class PrestoGro final : public Resequencer {
 public:
  PrestoGro(Sink& sink, const HoldLimits& limits, const PrestoGroSettings& settings)
      : Resequencer(sink, limits), settings_(settings) {}

  void Open(uint32_t slot) override;
  Time Deadline(uint32_t slot) const override;
  size_t memory_bytes() const override;

 private:
  struct State {
    uint32_t cell = 0;   // The last one that has gone up.
    Time merging_until;  // The cell at the front has grown: it waits until then in any case.
    double wait_ps = 0;  // Smoothed lateness of packets at the boundary of a cell.
  };

  static uint32_t CellOf(const Packet& packet) { return packet.Scheme<uint32_t>(); }
  Duration Patience(const State& state, double factor) const {
    return {static_cast<int64_t>(state.wait_ps * factor)};
  }
  void Take(uint32_t slot, const Packet& packet) override;
  void Expire(uint32_t slot, Time now) override;
  void Note(uint32_t slot, const Packet& packet) override;
  bool HandUpWhatFollows(uint32_t slot, Time now);
  Time LastMerge(uint32_t slot) const;

  const PrestoGroSettings settings_;
  std::vector<State> states_;  // By slot.
};

}  // namespace heddle
