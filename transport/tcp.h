// SPDX-License-Identifier: Apache-2.0
// All TCP or DCTCP flows of one host.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "fabric/host.h"
#include "fabric/transport.h"
#include "transport/flow_table.h"
#include "transport/tcp_receiver.h"
#include "transport/tcp_sender.h"

namespace heddle {

class Tcp final : public Transport {
 public:
  // `shared` outlives this.
  Tcp(Host& host, const TcpShared& shared) : host_(host), shared_(shared) {}

  void StartFlow(const FlowSpec& spec) override;
  void ExpectFlow(const FlowSpec& spec) override;
  void OnPacket(const Packet& packet) override;
  Pulled Pull(uint32_t slot, Packet& packet) override { return senders_.slots[slot].Pull(packet); }
  void OnTimer(uint64_t key) override;
  void OnDropNotice(const DropNotice& notice) override;
  void OnFlowEnded(const FlowEnded& ended) override;
  void CollectUnfinishedSenders(std::vector<FlowRecord>& records) override;
  void CollectUnfinishedReceivers(std::vector<FlowRecord>& records) override;
  size_t memory_bytes() const override;

  // Packets for flows that have ended here.
  int64_t late_packets() const override { return late_packets_; }

  // For tests: a flow that is being sent from here, nullptr if there is none of that id.
  const TcpSender* FindSender(FlowId flow) const;

 private:
  // Slots are used again, with the memory they have, when their flow has ended.
  template <class Half>
  struct Halves {
    std::deque<Half> slots;  // Stays in place while it grows.
    std::vector<uint32_t> free;
    FlowTable table;

    uint32_t Take(FlowId flow);
    void Release(FlowId flow);
    Half* Find(FlowId flow);
  };

  void OnSenderDone(const TcpSender& sender);
  void SettleSender(FlowId flow);
  void CloseReceiver(FlowId flow);

  Host& host_;
  const TcpShared& shared_;
  Halves<TcpSender> senders_;
  Halves<TcpReceiver> receivers_;
  std::map<HostId, TcpSender::Memory> memories_;  // By destination (setup: persistent).
  int64_t late_packets_ = 0;
};

}  // namespace heddle
