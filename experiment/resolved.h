// SPDX-License-Identifier: Apache-2.0
// The values that settings come to in the network that is built: those that follow from rates,
// delays and other settings where the user has written auto or nothing. run.yaml has them in the
// section `resolved`, which readers skip; `heddle check` prints them, and reports show them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "experiment/experiment.h"
#include "fabric/marking.h"
#include "fabric/shared_memory.h"
#include "fabric/trimming.h"
#include "transport/auto_values.h"

namespace heddle {

// The section of run.yaml.
inline constexpr const char* kResolvedSection = "resolved";

// The switch ports that send on links of one kind with the same values.
struct ResolvedPorts {
  std::string tier;  // As in links.csv.
  BitRate rate;
  bool count_packets = false;  // `buffer` and the lengths of `marking` are packets, not bytes.
  int64_t buffer = kUnlimited;
  Marking marking;
  int64_t headroom = 0;       // PFC: bytes for each lossless class of the input,
  int64_t xoff = kUnlimited;  // the bytes above which it pauses its sender,
  double alpha_in = 0;        // or the share of the free pool, if that is less; 0: none.
  TrimLimits trim;            // Its `marking` is as above.
  size_t ports = 0;           // How many they are.

  bool trims() const { return trim.headers != kUnlimited; }
};

struct ResolvedValues {
  Duration base_rtt;
  Bytes bdp;
  Duration warm_up;
  Duration t_max;
  std::string congestion_control;
  AutoValues transport;  // Settings of the transport that are auto.
  MemorySettings memory;
  bool has_pfc = false;
  std::vector<ResolvedPorts> ports;  // By first link.
};

// Asks the same objects that the network is built from.
ResolvedValues ResolvedOf(const Experiment& experiment);

// The section `resolved` of run.yaml.
std::string ResolvedYaml(const ResolvedValues& resolved);

// Lines for people: a topic, such as "ports", and a text.
std::vector<std::pair<std::string, std::string>> ResolvedLines(const ResolvedValues& resolved);

}  // namespace heddle
