// SPDX-License-Identifier: Apache-2.0

#include "transport/resequencing/presto_gro.h"

#include <algorithm>

namespace heddle {

void PrestoGroSettings::Declare(Fields& fields) {
  fields.Add("alpha", alpha, {.above = 0.0, .at_most = 1000.0},
             "A cell that came early is held for alpha times the smoothed wait.");
  fields.Add("beta", beta, {.above = 0.0, .at_most = 1000.0},
             "A cell that came early is held in any case until nothing has been added to it for "
             "the smoothed wait / beta.");
  fields.Add("gain", gain, {.above = 0.0, .at_most = 1.0},
             "Weight of the newest wait for the packets missing before a cell.");
  fields.Add("initial", initial, {.above = Duration{0}, .at_most = 1_s},
             "The smoothed wait at the start of a flow.");
}

void PrestoGro::Open(uint32_t slot) {
  Resequencer::Open(slot);
  if (slot >= states_.size()) states_.resize(slot + 1);
  states_[slot] = State{};
  states_[slot].wait_ps = static_cast<double>(settings_.initial.ps);
}

Time PrestoGro::Deadline(uint32_t slot) const {
  if (!buffer().Holds(slot)) return kNever;
  const State& state = states_[slot];
  return std::max(WaitingSince(slot) + Patience(state, settings_.alpha), state.merging_until);
}

void PrestoGro::Take(uint32_t slot, const Packet& packet) {
  if (packet.seq < expected(slot)) return HandUpLate(slot, packet);
  State& state = states_[slot];
  if (packet.seq > expected(slot) && CellOf(packet) > state.cell) {
    Hold(slot, packet);
    return;
  }
  const Time since = buffer().Holds(slot) ? WaitingSince(slot) : packet.arrival;
  HandUp(slot, packet, packet.arrival);
  if (!HandUpWhatFollows(slot, packet.arrival)) return;
  const double waited = static_cast<double>((packet.arrival - since).ps);
  state.wait_ps += settings_.gain * (waited - state.wait_ps);
}

void PrestoGro::Note(uint32_t slot, const Packet& packet) {
  State& state = states_[slot];
  state.cell = std::max(state.cell, CellOf(packet));
  state.merging_until = Time{0};
}

// Hands up packets that are in order or follow a gap inside a cell. Returns true if there were any.
bool PrestoGro::HandUpWhatFollows(uint32_t slot, Time now) {
  bool any = false;
  while (FrontIsNext(slot) ||
         (buffer().Holds(slot) && CellOf(buffer().Front(slot)) <= states_[slot].cell)) {
    HandUpFront(slot, now);
    any = true;
  }
  return any;
}

// Returns when the last packet of the gapless run at the front, within one cell, arrived.
Time PrestoGro::LastMerge(uint32_t slot) const {
  const Packet* packet = &buffer().Front(slot);
  const uint32_t cell = CellOf(*packet);
  Time last = packet->arrival;
  while (packet != nullptr && CellOf(*packet) == cell) {
    last = std::max(last, packet->arrival);
    packet = buffer().Find(slot, packet->seq + 1);
  }
  return last;
}

// The cell at the front goes up, and those behind it go on waiting.
void PrestoGro::Expire(uint32_t slot, Time now) {
  State& state = states_[slot];
  const Time merging_until = LastMerge(slot) + Patience(state, 1 / settings_.beta);
  if (merging_until > now) {
    state.merging_until = merging_until;
    return;
  }
  CountTimeout();
  HandUpFront(slot, now);
  HandUpWhatFollows(slot, now);
}

size_t PrestoGro::memory_bytes() const {
  return Resequencer::memory_bytes() + states_.capacity() * sizeof(State);
}

}  // namespace heddle
