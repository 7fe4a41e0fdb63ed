// SPDX-License-Identifier: Apache-2.0
// The Ultra Ethernet transport of one host. It follows the public simulator uet-htsim (August
// 2025); the specification may differ in fields and constants.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "transport/endpoints.h"
#include "transport/uet/uet_pacer.h"
#include "transport/uet/uet_receiver.h"
#include "transport/uet/uet_sender.h"

namespace heddle {

class Uet final : public Endpoints<UetSender, UetReceiver, UetShared> {
 public:
  // `shared` outlives this.
  Uet(Host& host, const UetShared& shared, const ResequencingModel& resequencing);

  void OnPacket(const Packet& packet) override;
  void OnTimer(uint64_t key) override;
  size_t memory_bytes() const override;

 private:
  void NoteDemand(const Packet& packet, bool is_loss);

  std::unique_ptr<UetPacer> pacer_;  // Null unless receivers grant credit.
};

}  // namespace heddle
