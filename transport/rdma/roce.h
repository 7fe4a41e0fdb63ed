// SPDX-License-Identifier: Apache-2.0
// The RoCEv2 transport of one host: it holds all RoCEv2 flows there and passes each packet to the
// sender or receiver that it is for.

#pragma once

#include <cstdint>

#include "transport/endpoints.h"
#include "transport/rdma/roce_receiver.h"
#include "transport/rdma/roce_sender.h"

namespace heddle {

class Roce final : public Endpoints<RoceSender, RoceReceiver, RoceShared> {
 public:
  Roce(Host& host, const RoceShared& shared, const ResequencingModel& resequencing)
      : Endpoints(host, shared, resequencing) {
    if (shared.settings.turns == RoceSettings::Turns::kFromEnd) host.LetFlowsJoinAtEnd();
  }

  void OnPacket(const Packet& packet) override;
  void SetRateLimit(FlowId flow, BitRate limit) override {
    RoceSender* sender = Endpoints::FindSender(flow);
    if (sender != nullptr && !sender->done()) sender->SetLimit(limit);
  }
  void OnNewLineRate() override {
    Endpoints::ForEachSender([](RoceSender& sender) { sender.OnNewLineRate(); });
  }
  int64_t cnps() const override { return cnps_; }

 private:
  int64_t cnps_ = 0;
};

}  // namespace heddle
