// SPDX-License-Identifier: Apache-2.0
// The Ultra Ethernet transport of one host. It follows the public simulator uet-htsim (August
// 2025); the specification may differ in fields and constants.

#pragma once

#include "transport/endpoints.h"
#include "transport/uet_receiver.h"
#include "transport/uet_sender.h"

namespace heddle {

class Uet final : public Endpoints<UetSender, UetReceiver, UetShared> {
 public:
  using Endpoints::Endpoints;

  void OnPacket(const Packet& packet) override;
};

}  // namespace heddle
