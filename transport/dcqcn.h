// SPDX-License-Identifier: Apache-2.0
// DCQCN (Zhu et al., SIGCOMM 2015): receivers turn congestion marks into CNPs, each CNP cuts the
// rate of its queue pair, and time and bytes without one raise it again. Two variants of the
// sender: that of the paper, and that of ConnectX-4 NICs, as HPCC's and ConWeave's simulators model
// it.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/units.h"
#include "transport/rate_control.h"

namespace heddle {

struct DcqcnSettings {
  enum class Variant { kPaper, kNic };

  Variant rp = Variant::kPaper;
  double g = 1.0 / 256;
  std::optional<Duration> alpha_interval = std::nullopt;     // Not set: 55 us, nic 1 us.
  std::optional<Duration> increase_interval = std::nullopt;  // 55 us, nic 300 us.
  Duration decrease_interval = 4_us;                         // nic.
  Bytes byte_counter{10'000'000};                            // paper.
  std::optional<int64_t> threshold = std::nullopt;           // F. 5, nic 1.
  std::optional<BitRate> rai = std::nullopt;                 // By the line's rate, see Parameters.
  std::optional<BitRate> rhai = std::nullopt;
  std::optional<BitRate> min_rate = std::nullopt;
  bool clamp_target = false;       // nic.
  double rate_on_first_cnp = 1.0;  // nic.
  CnpRule::Mode cnp_mode = CnpRule::Mode::kPacket;
  std::optional<Duration> cnp_interval = std::nullopt;  // 50 us, nic 4 us.
  bool cnp_trailing = false;
  bool cnp_on_ooo = false;

  bool is_nic() const { return rp == Variant::kNic; }
  void Declare(Fields& fields);
};

std::unique_ptr<const RateControl> MakeDcqcn(const DcqcnSettings& settings);

}  // namespace heddle
