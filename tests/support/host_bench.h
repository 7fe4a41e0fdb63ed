// SPDX-License-Identifier: Apache-2.0
// One host whose transport and background are scripted, and the other ends of its links, which send
// what they are told to and note what arrives.

#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/engine.h"
#include "fabric/flow.h"
#include "fabric/host.h"

namespace heddle::host_bench {

constexpr Duration kLink = 1_us;
constexpr uint8_t kDataClass = 3;
constexpr uint8_t kBackgroundClass = 5;
constexpr uint8_t kControlClass = 1;
constexpr HostId kOther = 1;

inline Time At(Duration since_start) { return Time{} + since_start; }
inline std::string Microsecond(Time at) {
  return fmt::format("{:.12g}", Microseconds(at - Time{}));
}

// The other end of a link: sends what it is told to, and notes what arrives.
class Peer final : public Node {
 public:
  void Run(const Window& window) override {
    for (; next_ < offers.size() && offers[next_].first - kLink < window.end; ++next_) {
      Packet& slot = wire.Slot();
      slot = offers[next_].second;
      slot.arrival = offers[next_].first;
      wire.Commit(slot.arrival, std::exchange(last_, slot.arrival), window.Horizon(wire));
    }
    for (; arrivals_.Next() < window.end; arrivals_.Pop()) received.push_back(arrivals_.Front());
  }
  Time Due() const override {
    return std::min(arrivals_.Next(), next_ < offers.size() ? offers[next_].first - kLink : kNever);
  }

  WireTail wire;
  std::vector<std::pair<Time, Packet>> offers;  // By arrival at the host.
  std::vector<Packet> received;

 private:
  size_t next_ = 0;
  Time last_{-kNever.ps};
};

// The transport of the host, or its background: flows with so many packets left to send, by slot.
class Actor final : public Transport {
 public:
  Actor(Host& host, Lane lane) : host_(host), lane_(lane) {}

  // Lets the flow send this number of packets more.
  void Offer(uint32_t slot, int packets) {
    Flow& flow = flows_[slot];
    flow.left += packets;
    if (!std::exchange(flow.in_round, true)) host_.Ready(slot, lane_);
  }
  // It may not send after all; the NIC will learn so when its turn comes.
  void Withdraw(uint32_t slot) { flows_[slot].left = 0; }
  // Calls `action` at `at`, among the timers of that instant by `key`.
  void Schedule(Time at, uint64_t key, std::function<void()> action) {
    actions_[key] = std::move(action);
    host_.SetTimer(at, key, lane_);
    host_.Wake(at);
  }
  void SendAck() {
    Packet& ack = host_.ControlSlot({kOther, 0});
    ack.kind = PacketKind::kAck;
    ack.bytes = 125;
    ack.dst = kOther;
    host_.SendControl();
  }

  void OnPacket(const Packet& packet) override {
    if (on_packet) on_packet(packet);
  }
  Pulled Pull(uint32_t slot, Packet& packet) override {
    Flow& flow = flows_[slot];
    pulls.push_back(Microsecond(host_.now()) + " " + Name(slot));
    if (flow.left == 0) {
      flow.in_round = false;
      return {.sent = false, .more = false};
    }
    packet.kind = lane_ == Lane::kTransport ? PacketKind::kData : PacketKind::kDatagram;
    packet.flow = slot;
    packet.dst = kOther;
    packet.bytes = 1'250;
    packet.data.tx_id = flow.sent++;
    packet.data.payload = 1'000;
    if (on_build) on_build();
    flow.in_round = --flow.left > 0;
    return {.sent = true, .more = flow.in_round};
  }
  void OnTimer(uint64_t key) override { actions_.at(key)(); }
  Tuple TupleOf(uint32_t slot) const override {
    const auto asked = nics.find(slot);
    return {kOther, HashOf(slot), asked == nics.end() ? kAnyNic : asked->second};
  }
  static uint32_t HashOf(uint32_t slot) { return 7'919 * slot; }
  void AddBlocked(uint32_t slot, Duration blocked) override { blocked_[slot] += blocked; }
  void StartFlow(const FlowSpec& spec) override {
    started.push_back(spec.id);
    Offer(spec.id, 1);
  }
  void ExpectFlow(const FlowSpec&) override {}
  void OnDropNotice(const DropNotice& notice) override { drops.push_back(notice); }
  void OnFlowEnded(const FlowEnded&) override {}
  size_t most_flows() const override { return flows_.size(); }
  void CollectUnfinishedSenders(std::vector<FlowRecord>&) override {}
  void CollectUnfinishedReceivers(std::vector<FlowRecord>&) override {}
  size_t memory_bytes() const override { return 0; }

  // Flows of the transport are A, B, ..., those of the background a, b, ...
  std::string Name(uint32_t slot) const {
    return std::string(1, static_cast<char>((lane_ == Lane::kTransport ? 'A' : 'a') + slot));
  }
  Duration blocked(uint32_t slot) const {
    const auto found = blocked_.find(slot);
    return found == blocked_.end() ? Duration{0} : found->second;
  }

  std::map<uint32_t, uint8_t> nics;  // The links that flows ask for, by slot.
  std::vector<std::string> pulls;    // "1.5 A": at 1.5 us flow A was asked for a packet.
  std::vector<FlowId> started;
  std::vector<DropNotice> drops;
  std::function<void(const Packet&)> on_packet;
  std::function<void()> on_build;  // While the packet lies in the NIC, incomplete.

 private:
  struct Flow {
    int left = 0;
    uint32_t sent = 0;
    bool in_round = false;
  };

  Host& host_;
  const Lane lane_;
  std::map<uint32_t, Flow> flows_;
  std::map<uint32_t, Duration> blocked_;
  std::map<uint64_t, std::function<void()>> actions_;
};

// Notes what it is told of, and does nothing by itself. With a policy the host has a view for its
// part to look through.
struct Policy final : HostPolicy {
  explicit Policy(std::vector<std::string>* its) : calls(its) {}
  void OnData(HostView&, const Packet&) override { calls->push_back("data"); }
  void OnControl(HostView&, const Packet&) override { calls->push_back("control"); }
  void OnTimer(HostView& view, uint32_t id) override {
    calls->push_back(fmt::format("{} policy {}", Microsecond(view.now()), id));
  }
  size_t StateBytes() const override { return 0; }

  std::vector<std::string>* const calls;
};

class Bench {
 public:
  // Every link but the first has `others`.
  explicit Bench(size_t links = 1, BitRate others = 10_Gbps, uint8_t background = kBackgroundClass)
      : host_(0, links, std::make_unique<Policy>(&policy_calls)) {
    engine_.Add(host_, engine_.AddGroup());
    for (size_t link = 0; link < links; ++link) {
      FifoPort& nic = host_.AddNic(
          {.rate = link == 0 ? 10_Gbps : others, .delay = kLink, .wire_overhead = 0_B});
      peers_.push_back(std::make_unique<Peer>());
      engine_.Add(*peers_.back(), engine_.AddGroup());
      engine_.Connect(host_, nic.wire(), *peers_.back(), kLink);
      engine_.Connect(*peers_.back(), peers_.back()->wire, host_, kLink);
    }
    auto actor = std::make_unique<Actor>(host_, Lane::kTransport);
    transport_ = actor.get();
    host_.SetTransport(std::move(actor));
    host_.SetBackground(&background_, background);
    host_.SetClasses(kDataClass, kControlClass);
    host_.SetLeaves({.of_host = kLeafOfHost, .leaves = 2});
    host_.Attach();
    engine_.Place(1);
  }

  std::vector<std::string> policy_calls;

  static constexpr std::array<uint16_t, 2> kLeafOfHost = {0, 1};

  Host& host() { return host_; }
  Actor& transport() { return *transport_; }
  Actor& background() { return background_; }

  // Makes a packet arrive at the host. Packets of one link must be in the order of time.
  void Arrive(Time at, const Packet& packet, size_t link = 0) {
    peers_[link]->offers.push_back({at, packet});
    peers_[link]->Wake(peers_[link]->Due());
  }
  void ArriveData(Time at) {
    Packet data;
    data.dst = 0;
    data.bytes = 1'250;
    Arrive(at, data);
  }
  void ArrivePause(Time at, unsigned classes, bool stop, size_t link = 0) {
    Packet frame;
    frame.kind = PacketKind::kPause;
    frame.bytes = 64;
    frame.pause.classes = static_cast<uint8_t>(classes);
    frame.pause.stop = stop;
    Arrive(at, frame, link);
  }

  // Calls `action` between windows, before anything else of its instant. Calls must be in the order
  // of time.
  void Do(Time at, std::function<void()> action) { actions_.push_back({at, std::move(action)}); }

  void Run() {
    Script script(actions_);
    engine_.Run(script);
  }

  const std::vector<Packet>& received(size_t link = 0) const { return peers_[link]->received; }

  // "2 A": at 2 us the last bit of a packet of flow A had left.
  std::vector<std::string> Left(size_t link = 0) const {
    std::vector<std::string> left;
    for (const Packet& packet : peers_[link]->received) {
      left.push_back(Microsecond(packet.arrival - kLink) + " " + NameOf(packet));
    }
    return left;
  }

 private:
  class Script final : public Conductor {
   public:
    explicit Script(const std::vector<std::pair<Time, std::function<void()>>>& actions)
        : actions_(actions) {}
    Time Next() override { return next_ < actions_.size() ? actions_[next_].first : kNever; }
    Time Open(Time start, Time latest) override {
      while (Next() <= start) actions_[next_++].second();
      return std::min(latest, Next());
    }
    void Close(Time /*end*/) override {}
    Time End() const override { return kNever; }

   private:
    const std::vector<std::pair<Time, std::function<void()>>>& actions_;
    size_t next_ = 0;
  };

  std::string NameOf(const Packet& packet) const {
    if (packet.kind == PacketKind::kAck) return "ack";
    if (packet.kind == PacketKind::kControl) return "control";
    const bool data = packet.kind == PacketKind::kData;
    return (data ? *transport_ : background_).Name(packet.flow);
  }

  Engine engine_;
  Host host_;
  std::vector<std::unique_ptr<Peer>> peers_;
  Actor* transport_ = nullptr;
  Actor background_{host_, Lane::kBackground};
  std::vector<std::pair<Time, std::function<void()>>> actions_;
};

constexpr unsigned Bit(uint8_t cls) { return 1u << cls; }

}  // namespace heddle::host_bench
