// SPDX-License-Identifier: Apache-2.0
// PDLB's model of flow completion time by the size of flowcells (Gao et al., "PDLB: Path
// Diversity-aware Load Balancing", J. Cloud Computing 12:173, 2023). The paper's controller
// minimises it; heddle model pdlb prints it.
//
// A flow of F packets is cut into cells of g packets, and each cell draws one of m paths. A share
// P_b of the paths is slow: their delay is X times the delay D of the others. In each round, a
// round trip, the flow sends a window of W packets as n = ceil(W / g) cells, at most m. With
// probability P(n) a cell on a slow path is followed by one on a fast path; this halves the window.
// Otherwise the window grows by a packet.
//
// The model is inconsistent as printed, so it comes in two forms:
//   literal    charges the delay of slow paths only if all *packets* of a window take one, and
//              the transmission time of one cell for the whole flow;
//   corrected  charges it if any of the window's *cells* takes one, and transmits the whole
//              flow over the n paths in use. It counts one more window in the mean than the
//              paper, which divides a sum of r + 1 windows by r.
// In both forms n_i follows from W_{i-1}: the paper prints W_i, which is not known yet.

#pragma once

#include <span>
#include <vector>

#include "core/units.h"

namespace heddle {

enum class PdlbForm { kLiteral, kCorrected };

struct PdlbCase {
  double packets = 10'000;  // F: the flow's packets.
  int paths = 8;            // m
  double slow_share = 0;    // P_b, 0 to 1. The paper's N_b / m.
  double slowness = 1;      // X: slow delay / fast delay.
  Duration delay = 100_us;  // D_g: the fast round trip.
  BitRate rate = 1_Gbps;    // The rate of each path. With N > m flows in the fabric, m / N of it.
  double max_window = 28;   // Packets of a window that one path holds.
};

// P(n): the probability that a cell on a slow path comes before one on a fast path.
double PdlbDisorder(int cells, double slow_share);

// The model's prediction for cells of one size.
struct PdlbPrediction {
  double mean_window = 0;  // Packets.
  double mean_cells = 0;   // Per window.
  Duration fct;
};
PdlbPrediction PredictPdlb(const PdlbCase& given, int granularity, PdlbForm form);

// Returns the granularity with the least completion time, of several the first. `granularities`
// ascend.
int BestPdlbGranularity(const PdlbCase& given, PdlbForm form, std::span<const int> granularities);

// 1 to 44 packets: 44 of 1460 bytes are the 64 KB of a segmentation offload.
inline constexpr int kLargestPdlbCell = 44;
std::vector<int> AllPdlbGranularities();

// Returns the full-sized packets that fit a path: its bandwidth-delay product, and the `queue`
// packets that DCTCP leaves waiting. The paper does not say which value it uses.
double PdlbMaxWindow(BitRate rate, Duration delay, double queue);

}  // namespace heddle
