// SPDX-License-Identifier: Apache-2.0
// The model by which TR's authors compare it with random packet spraying (Zhang et al.,
// "Fine-grained load balancing with traffic-aware rerouting in datacenter networks", J. Cloud
// Computing 10:37, 2021, "Model analysis"). heddle model tr prints it.
//
// N flows of S packets each share n = n_g + n_b paths, each with a buffer of B packets. Their
// windows follow a saw-tooth up to w packets in rounds of length r. A sprayed flow takes a packet
// on a slow path that H later packets have overtaken for a loss, with probability P_fr, and halves
// its window. TR keeps the order, but at worst it puts all packets on slow paths.
//
// The paper uses the greatest window of the saw-tooth for spraying, and its mean, 3/4 of that, for
// TR. So TR comes out worse by 4/3 than by the paper's own argument. f_tr is as printed;
// f_tr_consistent uses the greatest window for both.

#pragma once

#include "core/units.h"

namespace heddle {

struct TrCase {
  double flows = 20;             // N
  int packets = 69;              // S, of each flow
  int good_paths = 5;            // n_g
  int bad_paths = 5;             // n_b
  double buffer = 250;           // B: packets that a path holds.
  Duration packet_time = 12_us;  // t
  Duration good_delay = 200_us;  // d_g, round trip
  Duration bad_delay = 700_us;   // d_b
  int duplicate_acks = 3;        // H, for a fast retransmit
};

struct TrPrediction {
  double disorder = 0;  // P_fr
  double window = 0;    // w of sprayed flows, packets.
  Duration round;       // r of sprayed flows.
  Duration f_rps;
  Duration f_tr;
  Duration f_tr_consistent;
};

// Eq. (4): the first packet on a bad path is followed by at least H on good ones.
double TrDisorder(int packets, int duplicate_acks, int good_paths, int bad_paths);

TrPrediction PredictTr(const TrCase& given);

}  // namespace heddle
