// SPDX-License-Identifier: Apache-2.0
// Tells GoogleTest how to print quantities. A test includes it to read them in failure messages.

#pragma once

#include <ostream>

#include "core/units.h"

namespace heddle {

inline void PrintTo(Duration d, std::ostream* out) { *out << d.ps << " ps"; }
inline void PrintTo(Time t, std::ostream* out) { *out << "at " << t.ps << " ps"; }
inline void PrintTo(BitRate rate, std::ostream* out) { *out << rate.bps << " bps"; }
inline void PrintTo(Bytes size, std::ostream* out) { *out << size.count << " B"; }

}  // namespace heddle
