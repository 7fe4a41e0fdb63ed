// SPDX-License-Identifier: Apache-2.0
// RLB (Hu et al., ICPP 2023, and IEEE/ACM ToN 32(5), 2024): an addition to another load balancer,
// for lossless fabrics. A switch predicts from the growth of an input when it will pause the sender
// (PFC), and warns the switch at the far end of the link in time. That switch sends packets around
// the warned port if this keeps the order of their flow, and otherwise lets them recirculate until
// the port is free again.
//
// This is a reconstruction: the papers' rules in outline, with constants of our own.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/random.h"
#include "core/ring.h"
#include "fabric/around_policy.h"
#include "lb/parts/flow_table.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/ties.h"
#include "lb/rlb/pause_forecast.h"

namespace heddle {
namespace {

struct RlbSettings {
  Duration sample_every = 2_us;
  std::optional<Duration> warn_before;
  Duration warned_for = 10_us;
  Duration recirculation = 1_us;
  int64_t recirculations = 4;
  int64_t recirculating = 256;
  FlowTableSettings table{.age = 1_ms};
};

constexpr uint16_t kWarningBytes = 64;
constexpr FlowId kWarning = ~FlowId{0};    // Packet::flow of warnings, which belong to no flow.
constexpr uint32_t kSample = 0xffff'fffe;  // Ids of timers, above those of the schemes wrapped.
constexpr uint32_t kReturn = 0xffff'fffd;

class Rlb final : public AroundSwitchPolicy {
 public:
  Rlb(SwitchPolicyPtr scheme, const RlbSettings& settings, Duration warn_before, Rng rng)
      : AroundSwitchPolicy(std::move(scheme)),
        settings_(settings),
        warn_before_(warn_before),
        rng_(rng),
        flows_(settings.table) {}

  // Warnings come with one next hop, too.
  Packets asked_about() const override { return Packets::kEvery; }

  void Attach(SwitchView& view) override {
    AroundSwitchPolicy::Attach(view);
    waits_.resize(view.ports());
    warned_until_.resize(view.ports());
    for (uint8_t cls = 1; cls < kClasses; ++cls) {
      if (view.FillOf(0, cls)) classes_.push_back(cls);
    }
    for (size_t p = 0; p < view.ports(); ++p) {
      const PortIndex port = static_cast<PortIndex>(p);
      if (!view.FacesHost(port)) inputs_.push_back({.port = port, .warned = Never()});
      input_of_port_.push_back(view.FacesHost(port) ? kNoInput : inputs_.size() - 1);
    }
  }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    if (packet.kind == PacketKind::kControl && packet.flow == kWarning) {
      NoteWarning(packet, in_port, view.now());
      return Decision::Consume();
    }
    if (classes_.empty() || packet.kind != PacketKind::kData) {
      return Decision::Forward(PortOfScheme(view, packet, in_port, candidates));
    }
    Watch(view, packet, in_port);
    const PortIndex wanted = PortOfScheme(view, packet, in_port, candidates);
    if (!candidates.matters()) return Decision::Forward(wanted);
    return Dispatch(view, packet, in_port, candidates, wanted);
  }

  void OnTimer(SwitchView& view, uint32_t id) override {
    if (id == kSample) return Sample(view);
    if (id == kReturn) return Return(view);
    AroundSwitchPolicy::OnTimer(view, id);
  }

  size_t StateBytes() const override {
    return AroundSwitchPolicy::StateBytes() + flows_.memory_bytes() +
           warned_until_.size() * sizeof(warned_until_[0]) + inputs_.size() * sizeof(Input);
  }
  std::vector<Counter> Counters() const override {
    std::vector<Counter> counters = AroundSwitchPolicy::Counters();
    const std::vector<Counter> own = {{"warnings", warnings_},
                                      {"warning_bytes", warnings_ * kWarningBytes},
                                      {"warned_packets", warned_packets_},
                                      {"sent_around", sent_around_},
                                      {"recirculations", recirculations_},
                                      {"not_recirculated", not_recirculated_}};
    counters.insert(counters.end(), own.begin(), own.end());
    return counters;
  }

 private:
  static constexpr size_t kNoInput = ~size_t{0};
  static std::array<Time, kClasses> Never() {
    std::array<Time, kClasses> never;
    never.fill(Time{-kNever.ps});
    return never;
  }

  // The header of a warning.
  struct Warning {
    uint8_t cls;
  };
  // An input from another switch.
  struct Input {
    PortIndex port;
    HostId source = 0;  // A host whose packets come through it: routes of its peer lead there.
    std::array<int64_t, kClasses> before = {};  // Bytes held at the last sample.
    std::array<Time, kClasses> warned;          // When its peer was last warned.
  };
  // The packets of a flow that recirculate have the numbers from `left` to `entered` - 1.
  struct Flow {
    Time leaves;               // When the last bit of all its packets has left, without pauses;
    PortIndex port = kNoPort;  // and the port of the last one to leave.
    uint16_t entered = 0;
    uint16_t left = 0;

    bool recirculates() const { return entered != left; }
    bool Knows(uint16_t number) const {
      return static_cast<uint16_t>(number - left) < static_cast<uint16_t>(entered - left);
    }
  };
  struct Recirculating {
    Packet packet;
    Time due;
    PortIndex in_port;
    PortIndex port;  // Room is reserved for it there.
    uint16_t number;
    uint16_t rounds;
  };

  // --- Warning the switch at the far end of an input ---

  void Watch(SwitchView& view, const Packet& packet, PortIndex in_port) {
    const size_t input = input_of_port_[in_port];
    if (input == kNoInput) return;
    inputs_[input].source = packet.src;
    if (is_sampling_) return;
    is_sampling_ = true;
    SetSampleTimer(view);
  }

  void SetSampleTimer(SwitchView& view) const {
    const int64_t period = settings_.sample_every.ps;
    view.SetTimer(Time{(view.now().ps / period + 1) * period}, kSample);
  }

  // Samples are taken at multiples of the period, as long as an input holds anything.
  void Sample(SwitchView& view) {
    is_sampling_ = false;
    for (Input& input : inputs_) {
      for (const uint8_t cls : classes_) SampleInput(view, input, cls);
    }
    if (is_sampling_) SetSampleTimer(view);
  }

  void SampleInput(SwitchView& view, Input& input, uint8_t cls) {
    const InputFill fill = *view.FillOf(input.port, cls);
    const Duration left =
        TimeToPause(Bytes{input.before[cls]}, fill.held, fill.pause_above, settings_.sample_every);
    input.before[cls] = fill.held.count;
    is_sampling_ = is_sampling_ || fill.held > 0_B;
    if (left >= warn_before_) return;
    // A warning is renewed at half of its life.
    if (view.now() - input.warned[cls] < settings_.warned_for / 2) return;
    input.warned[cls] = view.now();
    Warn(view, input, cls);
  }

  void Warn(SwitchView& view, const Input& input, uint8_t cls) {
    Packet packet;
    packet.kind = PacketKind::kControl;
    packet.flow = kWarning;
    packet.bytes = kWarningBytes;
    packet.src = packet.dst = input.source;
    packet.SetScheme(Warning{cls});
    view.SendControl(packet, input.port);
    ++warnings_;
  }

  void NoteWarning(const Packet& packet, PortIndex port, Time now) {
    warned_until_[port][packet.Scheme<Warning>().cls] = now + settings_.warned_for;
  }

  // --- Heeding warnings ---

  PortIndex PortOfScheme(SwitchView& view, const Packet& packet, PortIndex in_port,
                         const Candidates& candidates) {
    if (!AsksAbout(candidates)) return candidates.ports.front();
    return scheme().OnPacket(view, packet, in_port, candidates).port;
  }

  // A paused port counts as warned.
  bool IsWarned(const SwitchView& view, PortIndex port, uint8_t cls) const {
    return view.now() < warned_until_[port][cls] || view.IsPaused(port, cls);
  }

  // A packet waits behind the packets of its flow that recirculate.
  Decision Dispatch(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates, PortIndex wanted) {
    Flow& flow = flows_.Touch(packet, view.now()).state;
    std::optional<PortIndex> port;
    if (!flow.recirculates()) port = PortNow(view, packet, candidates, wanted, flow);
    const bool may_enter = flow.recirculates() || MostRounds(view, candidates) > 0;
    if (!port && may_enter && Enter(view, packet, in_port, wanted, flow)) return Decision::Hold();
    const PortIndex chosen = port.value_or(wanted);
    NoteLeaving(view, packet, chosen, flow);
    return Decision::Forward(chosen);
  }

  // Returns the wanted port, or another one if the wanted one is warned and the other one keeps the
  // order of the flow; nothing if there is none.
  std::optional<PortIndex> PortNow(const SwitchView& view, const Packet& packet,
                                   const Candidates& candidates, PortIndex wanted,
                                   const Flow& flow) {
    if (!IsWarned(view, wanted, packet.priority)) return wanted;
    ++warned_packets_;
    if (WaitsBehindPause(view, packet, flow)) return std::nullopt;
    for (const PortIndex port : candidates.ports) {
      const Duration wait = view.QueueingDelay(port);
      const bool fits = view.now() + wait >= flow.leaves && !IsWarned(view, port, packet.priority);
      waits_[port] = fits ? wait : Duration{kNever.ps};
    }
    const PortIndex best =
        LeastOf(candidates.ports, kNoPort, rng_, [this](PortIndex port) { return waits_[port]; });
    if (waits_[best] == Duration{kNever.ps}) return std::nullopt;
    ++sent_around_;
    return best;
  }

  // While its last port is paused, nobody knows when the flow's packets there will leave.
  static bool WaitsBehindPause(const SwitchView& view, const Packet& packet, const Flow& flow) {
    return flow.port != kNoPort && view.IsPaused(flow.port, packet.priority) &&
           view.QueuedPackets(flow.port) > 0;
  }

  static void NoteLeaving(const SwitchView& view, const Packet& packet, PortIndex port,
                          Flow& flow) {
    const Time leaves =
        view.now() + view.QueueingDelay(port) + view.TimeToSend(port, view.WireBytes(packet));
    if (leaves < flow.leaves) return;
    flow.leaves = leaves;
    flow.port = port;
  }

  // --- Recirculation ---

  // Where failures leave few paths, packets recirculate less often.
  int64_t MostRounds(const SwitchView& view, const Candidates& candidates) const {
    const std::span<const PortIndex> uplinks = view.Uplinks();
    if (candidates.ports.empty() || !IsAmong(uplinks, candidates.ports.front())) {
      return settings_.recirculations;
    }
    const int64_t live = static_cast<int64_t>(candidates.ports.size());
    return settings_.recirculations * live / static_cast<int64_t>(uplinks.size());
  }

  // Returns false if there is no room.
  bool Enter(SwitchView& view, const Packet& packet, PortIndex in_port, PortIndex port,
             Flow& flow) {
    if (static_cast<int64_t>(loop_.size()) == settings_.recirculating ||
        !view.Hold(packet, in_port, port)) {
      ++not_recirculated_;
      return false;
    }
    ++recirculations_;
    const Time due = view.now() + settings_.recirculation;
    if (loop_.empty()) view.SetTimer(due, kReturn);
    loop_.push_back({packet, due, in_port, port, flow.entered++, 1});
    return true;
  }

  // All packets recirculate for the same time, so they come back in order.
  void Return(SwitchView& view) {
    while (!loop_.empty() && loop_.front().due <= view.now()) {
      Recirculating back = loop_.front();
      loop_.pop_front();
      DecideAgain(view, back);
    }
    if (!loop_.empty()) view.SetTimer(loop_.front().due, kReturn);
  }

  void DecideAgain(SwitchView& view, Recirculating& back) {
    const Packet& packet = back.packet;
    const Candidates candidates = view.CandidatesTo(packet.dst);
    Flow& flow = flows_.Touch(packet, view.now()).state;
    // Without routes it goes where it wanted to, and is lost there.
    if (candidates.ports.empty()) return Leave(view, back, back.port, flow);
    const PortIndex wanted = PortOfScheme(view, packet, back.in_port, candidates);
    const bool is_next = back.number == flow.left || !flow.Knows(back.number);
    std::optional<PortIndex> port;
    if (is_next) port = PortNow(view, packet, candidates, wanted, flow);
    if (!port && (!is_next || back.rounds < MostRounds(view, candidates))) {
      ++recirculations_;
      ++back.rounds;
      back.due = view.now() + settings_.recirculation;
      loop_.push_back(back);
      return;
    }
    Leave(view, back, port.value_or(wanted), flow);
  }

  // If the table has forgotten the flow meanwhile, it does not know the packet.
  void Leave(SwitchView& view, const Recirculating& back, PortIndex port, Flow& flow) {
    if (flow.recirculates() && back.number == flow.left) ++flow.left;
    NoteLeaving(view, back.packet, port, flow);
    view.Release(back.packet, back.in_port, back.port, port);
  }

  const RlbSettings settings_;
  const Duration warn_before_;
  Rng rng_;
  std::vector<uint8_t> classes_;  // The lossless ones.
  std::vector<Input> inputs_;
  std::vector<size_t> input_of_port_;
  bool is_sampling_ = false;
  std::vector<std::array<Time, kClasses>> warned_until_;  // By port.
  AgedFlowTable<Flow> flows_;
  Ring<Recirculating> loop_;
  std::vector<Duration> waits_;  // Scratch, by port.
  int64_t warnings_ = 0;
  int64_t warned_packets_ = 0;
  int64_t sent_around_ = 0;
  int64_t recirculations_ = 0;
  int64_t not_recirculated_ = 0;
};

// The load balancers that RLB may wrap: their switches neither hold packets back nor tell each
// other which port a packet has taken. The papers wrap Presto, LetFlow, Hermes and DRILL.
const Kinds<LoadBalancer>& Wrapped() {
  static const Kinds<LoadBalancer> wrapped = [] {
    constexpr std::string_view kNames[] = {"drill", "ecmp",   "hermes", "letflow",
                                           "lq",    "presto", "wcmp"};
    Kinds<LoadBalancer> some = LoadBalancers().Only(kNames);
    some.SetReason([names = some.Names()](const std::string& name) -> std::string {
      if (!LoadBalancers().Knows(name)) return "";
      return fmt::format("is no load balancer that rlb wraps; use {}", fmt::join(names, ", "));
    });
    return some;
  }();
  return wrapped;
}

class RlbBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.Kind("inner", inner_, Wrapped(), "The load balancer that chooses ports.");
    fields.Add("sample_every", settings_.sample_every, {.at_least = 100_ns, .at_most = 1_ms},
               "How often a switch looks how much its inputs hold.");
    fields.AddOr("auto", "warn_before", settings_.warn_before,
                 {.above = Duration{0}, .at_most = 1_s},
                 "An input that will pause its sender within this time warns it. auto: twice the "
                 "idle round trip time of one link.");
    fields.Add("warned_for", settings_.warned_for, {.above = Duration{0}, .at_most = 1_s},
               "A warning lasts so long, unless it is renewed.");
    fields.Add("recirculation", settings_.recirculation, {.at_least = 100_ns, .at_most = 1_ms},
               "The time that a packet needs to pass through the switch once more.");
    fields.Add("recirculations", settings_.recirculations, Between<int64_t>(0, 1'000),
               "How often a packet recirculates at most, if all uplinks lead to its destination. "
               "If some do not, in proportion less often.");
    fields.Add("recirculating", settings_.recirculating, Between<int64_t>(1, 65'536),
               "How many packets of a switch recirculate at once at most.");
    settings_.table.Declare(fields);
  }

  void Prepare(const FabricShape& fabric, std::string_view path,
               Diagnostics& diagnostics) override {
    inner_.settings->Prepare(fabric, fmt::format("{}.inner", path), diagnostics);
    // The longest paths have two links per tier.
    warn_before_ = settings_.warn_before.value_or(fabric.base_rtt / fabric.tiers);
    if (fabric.is_lossless) return;
    diagnostics.WarningAt(
        path, fmt::format("changes nothing: without PFC no port is paused, and rlb does what {} "
                          "does; set topology.port.pfc, or lb: {}",
                          inner_.kind, inner_.kind));
  }

  bool reorders() const override { return inner_.settings->reorders(); }
  std::optional<Duration> flowlet_gap() const override { return inner_.settings->flowlet_gap(); }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<Rlb>(inner_.settings->ForSwitch(id, seed), settings_, warn_before_,
                                 Rng::Stream(seed, "rlb", id));
  }
  HostPolicyPtr ForHost(HostId id, uint64_t seed) const override {
    return inner_.settings->ForHost(id, seed);
  }
  // None of the controllers concerned looks at switches.
  std::unique_ptr<Controller> ForFabric(const FabricView& fabric, uint64_t seed) const override {
    return inner_.settings->ForFabric(fabric, seed);
  }

 private:
  Chosen<LoadBalancer> inner_ = Wrapped().Make("letflow");
  RlbSettings settings_;
  Duration warn_before_ = FabricShape{}.base_rtt / 2;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<RlbBalancer>(
    {"rlb",
     "Packets avoid ports that are about to be paused (PFC), around another load balancer; a "
     "reconstruction.",
     "Hu et al., ICPP 2023"});

}  // namespace
}  // namespace heddle
