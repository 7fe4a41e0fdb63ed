// SPDX-License-Identifier: Apache-2.0

#include "topo/trim_rule.h"

#include "fabric/shared_memory.h"

namespace heddle {

void TrimRule::Declare(Fields& fields) {
  using When = TrimSettings::When;
  using Victim = TrimSettings::Victim;
  using Overflow = TrimSettings::Overflow;
  fields.Choice("when", when,
                {{"never", When::kOff},
                 {"port", When::kPort},
                 {"admission", When::kAdmission},
                 {"mark", When::kMark}},
                "When a port cuts the payload off a data packet and sends the header ahead of all "
                "data. port: the queue of its class would exceed threshold; admission: the port's "
                "buffer, or the threshold of the shared buffer, has no room; mark: the packet "
                "would be ECN-marked on arrival, and packets are then not marked. A packet that "
                "the port has no room for is cut in each of the three cases.");
  constexpr Range<Bytes> kSizes{.at_least = Bytes{1}, .at_most = Bytes{1'000'000'000}};
  fields.AddOr("auto", "threshold", threshold, kSizes,
               "when: port: the longest queue, the packet in transmission included. auto: the "
               "longest idle round trip times the rate of hosts, in whole packets; in proportion "
               "to the rate at ports of other rates.");
  fields.Add("header", header, {.at_least = Bytes{40}, .at_most = Bytes{1'024}},
             "Bytes that are left of a trimmed packet.");
  fields.Choice(
      "victim", victim,
      {{"coin", Victim::kCoin}, {"arriving", Victim::kArriving}, {"newest", Victim::kNewest}},
      "Which packet is cut: the arriving one; the newest one in the queue, whose place "
      "the arriving one takes; or one of the two by chance (coin).");
  fields.AddOr("auto", "header_limit", header_limit, kSizes,
               "The most bytes of headers, ACKs and other packets of class 0 at a port. auto: "
               "twice the threshold.");
  fields.Choice("overflow", overflow, {{"drop", Overflow::kDrop}, {"back", Overflow::kBack}},
                "What happens to a header beyond header_limit. back: it returns to its sender, as "
                "in NDP (Handley et al., SIGCOMM 2017).");
  fields.List("classes", classes, Between<int64_t>(1, kClasses - 1),
              "Classes whose data packets may be trimmed.");
}

TrimSettings TrimRule::settings() const {
  TrimSettings settings{.when = when,
                        .victim = victim,
                        .overflow = overflow,
                        .header = static_cast<uint16_t>(header.count)};
  for (const int64_t cls : classes) {
    settings.classes = static_cast<uint8_t>(settings.classes | 1u << cls);
  }
  return settings;
}

}  // namespace heddle
