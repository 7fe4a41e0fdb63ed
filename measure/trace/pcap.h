// SPDX-License-Identifier: Apache-2.0
// Writes a capture file with nanosecond time stamps: the pcap format of libpcap (IETF
// draft-ietf-opsawg-pcap), which Wireshark and tcpdump read. The tracer calls PcapHeader() once for
// each file, then AppendPcapRecord() for each packet. The bytes are the same on all machines.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/units.h"

namespace heddle {

// A snaplen larger than any frame, so that frames are kept whole.
inline constexpr uint32_t kWholeFrame = 262'144;

// Returns the file header; `snaplen` is the largest number of bytes kept of a frame.
std::string PcapHeader(uint32_t snaplen);

// Appends `frame`, of which the first `snaplen` bytes are kept. The simulation starts at the epoch;
// fractions of a nanosecond are cut off.
void AppendPcapRecord(std::string& out, Time at, std::string_view frame, uint32_t snaplen);

}  // namespace heddle
