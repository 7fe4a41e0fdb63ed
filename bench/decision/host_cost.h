// SPDX-License-Identifier: Apache-2.0
// The hosts on which CostMeter measures the decisions of a load balancer. CostMeter calls Send()
// with the recorded packets of one visit; the pair returns the nanoseconds that the policies of the
// hosts take, without those of network and transport.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bench/decision/clock.h"
#include "bench/decision/recording.h"
#include "core/engine.h"
#include "fabric/around_policy.h"
#include "fabric/host.h"
#include "fabric/paths.h"
#include "lb/parts/load_balancer.h"

namespace heddle {

// Host 0 sends to host 1, with as many paths as a leaf has uplinks. Host 1 answers each packet with
// an ACK, which arrives in the visit after.
class HostPair {
 public:
  // Nanoseconds that the policies take.
  struct Times {
    double send = 0;  // The question about each packet sent.
    double all = 0;   // Also both policies' work when it arrives, when its ACK does, and by timers.
  };

  HostPair(const LoadBalancer& balancer, size_t paths)
      : paths_({0, 1}, 2), sender_(balancer, 0), receiver_(balancer, 1) {
    std::vector<PathChoice> choices;
    for (size_t p = 0; p < paths; ++p) choices.push_back({static_cast<uint16_t>(p), 1});
    paths_.Set(0, 1, choices);
    paths_.Set(1, 0, std::move(choices));
    engine_.Add(sink_, engine_.AddGroup());
    for (End* end : {&sender_, &receiver_}) end->Join(engine_, sink_);
    engine_.Place(1);
    for (End* end : {&sender_, &receiver_}) {
      end->host.SetPaths(&paths_);
      end->host.SetLeaves({kLeafOfHost, 2});
      end->host.Attach();
    }
  }

  // Returns the bytes of state of the sending host's policy.
  size_t state_bytes() const {
    const auto has_started = [](const HostFlow& flow) { return flow.size != 0; };
    const auto started = static_cast<size_t>(std::ranges::count_if(flows_, has_started));
    return sender_.prompter->StateBytes() + sender_.prompter->FlowBytes() * started;
  }

  // Sends `packets`, all at the time of the first; the packets of the visit before arrive.
  Times Send(std::span<const RecordedPacket> packets, Time start) {
    const Time at = start + (packets.front().at - Time{});
    Times times;
    for (End* end : {&sender_, &receiver_}) times.all += end->RunBefore(at, sink_);
    MakeAcks();
    receiver_.At(at, sink_, [&](HostView& view, HostPolicy& policy) {
      times.all += Nanoseconds([&] { Receive(view, policy); });
    });
    sender_.At(at, sink_, [&](HostView& view, HostPolicy& policy) {
      times.all += Nanoseconds([&] { HearAcks(view, policy); });
      for (const RecordedPacket& recorded : packets) MakeFlow(view, policy, recorded.packet);
      times.send = Nanoseconds([&] { SendAll(packets, view, policy); });
    });
    times.all += times.send;
    return times;
  }

 private:
  using Question = std::function<void(HostView&, HostPolicy&)>;

  class Prompter final : public AroundHostPolicy {
   public:
    using AroundHostPolicy::AroundHostPolicy;
    void OnTimer(HostView& view, uint32_t id) override {
      if (id != kPrompt) return AroundHostPolicy::OnTimer(view, id);
      question(view, scheme());
    }
    Question question;
  };

  struct End {
    End(const LoadBalancer& balancer, HostId id)
        : prompter(new Prompter(balancer.ForHost(id, /*seed=*/1))),
          host(id, 1, std::unique_ptr<Prompter>(prompter)),
          view(host) {}

    void Join(Engine& engine, CostSink& sink) {
      engine.Add(host, engine.AddGroup());
      FifoPort& nic =
          host.AddNic({.rate = 100_Gbps, .delay = kCostLinkDelay, .wire_overhead = 24_B});
      engine.Connect(host, nic.wire(), sink, kCostLinkDelay);
    }
    bool Wants(HostPolicy::Hook hook) const { return (prompter->scheme_hooks() & hook) != 0; }

    // Fires the host's timers before `at` and returns the nanoseconds that this takes.
    double RunBefore(Time at, CostSink& sink) {
      double ns = 0;
      while (host.Due() < at) {
        const Window window = Window::Until(host.Due() + 1_ps);
        ns += Nanoseconds([&] { host.Run(window); });
        sink.Run(window);
      }
      return ns;
    }
    void At(Time at, CostSink& sink, Question question) {
      prompter->question = std::move(question);
      view.SetTimer(at, kPrompt);
      while (host.Due() <= at) {
        const Window window = Window::Until(host.Due() + 1_ps);
        host.Run(window);
        sink.Run(window);
      }
    }

    Prompter* const prompter;  // Owned by the host.
    Host host;
    HostView view;
  };

  // Makes the ACKs of the packets sent in the last visit.
  void MakeAcks() {
    acks_.clear();
    for (const Packet& data : sent_) {
      Packet& ack = acks_.emplace_back();
      ack.kind = PacketKind::kAck;
      ack.sent = data.sent;
      ack.flow = data.flow;
      ack.tuple_hash = data.tuple_hash;
      ack.seq = data.seq + 1;
      ack.src = data.dst;
      ack.dst = data.src;
      ack.bytes = kMinPacketBytes;
    }
  }

  void Receive(HostView& view, HostPolicy& policy) {
    for (size_t i = 0; i < sent_.size(); ++i) {
      if (receiver_.Wants(HostPolicy::kData)) policy.OnData(view, sent_[i]);
      if (receiver_.Wants(HostPolicy::kSendAck)) policy.OnSendAck(view, sent_[i], acks_[i]);
    }
  }

  void HearAcks(HostView& view, HostPolicy& policy) {
    for (size_t i = 0; i < acks_.size(); ++i) {
      HostFlow& flow = flows_[acks_[i].flow];
      if (sender_.Wants(HostPolicy::kEcho)) KeepResult(policy.HidesEcho(view, flow));
      if (!sender_.Wants(HostPolicy::kAck)) continue;
      policy.OnAck(view, flow, acks_[i],
                   {.newly_acked = sent_[i].data.payload,
                    .newly_sacked = 0,
                    .rtt = view.now() - acks_[i].sent,
                    .ecn_echo = false});
    }
    sent_.clear();
  }

  void MakeFlow(HostView& view, HostPolicy& policy, const Packet& packet) {
    if (packet.flow >= flows_.size()) flows_.resize(packet.flow + 1);
    HostFlow& flow = flows_[packet.flow];
    if (flow.size != 0) return;
    flow.id = packet.flow;
    flow.dst = packet.dst;
    flow.tuple_hash = packet.tuple_hash;
    flow.size = 1'000'000'000;
    if (sender_.Wants(HostPolicy::kFlows)) policy.OnFlowStart(view, flow);
  }

  void SendAll(std::span<const RecordedPacket> packets, HostView& view, HostPolicy& policy) {
    for (const RecordedPacket& recorded : packets) {
      HostFlow& flow = flows_[recorded.packet.flow];
      Packet& packet = sent_.emplace_back(recorded.packet);
      packet.sent = view.now();
      policy.OnSend(view, flow, packet);
      if (packet.path != kNoPath) packet.taken = packet.path;
      flow.bytes_sent += packet.data.payload;
    }
  }

  static constexpr uint16_t kLeafOfHost[] = {0, 1};

  Engine engine_;
  PathTable paths_;
  CostSink sink_;
  End sender_;
  End receiver_;
  std::vector<HostFlow> flows_;
  std::vector<Packet> sent_;  // Packets sent in the last visit.
  std::vector<Packet> acks_;  // The ACKs of these packets.
};

}  // namespace heddle
