// SPDX-License-Identifier: Apache-2.0
// The header by which Themis' first leaf tells the last one how it sprays a flow.

#pragma once

#include <cstdint>

namespace heddle {

// The header that the first leaf writes into a data packet.
struct ThemisHeader {
  uint16_t paths = 0;  // Paths that the flow's packets take in turn; 0: no header.
  uint8_t set = 0;     // Changes with the set of paths.
  bool is_again = false;

  bool HasPathsOf(const ThemisHeader& other) const {
    return paths == other.paths && set == other.set;
  }
};

}  // namespace heddle
