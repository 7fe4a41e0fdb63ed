// SPDX-License-Identifier: Apache-2.0

#include "transport/rdma/mprdma_settings.h"

#include <algorithm>

namespace heddle {

void MpRdmaSettings::Declare(Fields& fields, Chosen<RoceFraming>& framing) {
  fields.Kind("framing", framing, RoceFramings(),
              "As for rocev2, with 16 bytes more on each data packet: its address.");
  fields.AddOr("auto", "mtu", mtu, Between<int64_t>(256, 9000),
               "Payload of a full packet in bytes. auto: that of rocev2's framing.");
  DeclareLbHeader(fields, lb_header);
  fields.AddOr("auto", "first_window", first_window, Between<int64_t>(1, 65'535),
               "The first window in packets, each over a random virtual path. auto: one "
               "bandwidth-delay product of the two hosts.");
  fields.Add("delta", delta, Between<int64_t>(1, kBitmap),
             "A path whose ACKs are this many packets behind the highest packet acknowledged gets "
             "no new packet.");
  fields.Add("probe", probe, {.at_least = 0.0, .at_most = 1.0},
             "Probability that, once in an idle round trip, a packet takes a random virtual path "
             "instead of that of the ACK.");
  fields.AddOr("none", "message", message, {.at_least = Bytes{1}, .at_most = Bytes{1'000'000'000}},
               "A flow is a sequence of messages of this size, in whole packets, which must be "
               "placed in order: a message begins delta packets' time after the one before, and "
               "its first packet makes the receiver ask for what is missing. none: one message.");
  fields.Choice("beyond", beyond, {{"drop", Beyond::kDrop}, {"nack", Beyond::kNack}},
                "What the receiver does with a packet beyond its bitmap of 64 packets, which it "
                "cannot place: drop it silently, or also ask for the packet expected.");
  fields.AddOr("auto", "rto", rto, {.above = Duration{0}, .at_most = 100_s},
               "Retransmission timeout since the last ACK, not doubled. auto: three of the longest "
               "idle round trips, at least 320us.");
  fields.Add("priority", priority, Between<int64_t>(1, 7), "Priority class of data packets.");
  fields.Add("control_priority", control_priority, Between<int64_t>(0, 7),
             "Priority class of ACKs and NACKs.");
  fields.Require(
      !mtu || framing.settings->uses_mtu(), "mtu",
      "goes with a framing that has a name; framing.payload says how much a packet holds");
}

PacketSizes MpRdmaSettings::Sizes(const RoceFraming& framing) const {
  constexpr int64_t kAddressHeader = 16;  // RETH, which says where the packet's data belongs.
  PacketSizes sizes = framing.Sizes(mtu).With(lb_header);
  sizes.data_overhead += kAddressHeader;
  return sizes;
}

MpRdmaShared PrepareMpRdma(const MpRdmaSettings& settings, const PacketSizes& sizes,
                           const BandwidthDelay& bandwidth_delay, Duration close_delay) {
  MpRdmaShared shared{.settings = settings,
                      .sizes = sizes,
                      .bandwidth_delay = &bandwidth_delay,
                      .close_delay = close_delay};
  shared.rto = settings.rto.value_or(std::max(3 * bandwidth_delay.LongestRoundTrip(), 320_us));
  if (settings.message) {
    shared.message_packets =
        static_cast<uint32_t>((settings.message->count + sizes.mss - 1) / sizes.mss);
  }
  return shared;
}

}  // namespace heddle
