// SPDX-License-Identifier: Apache-2.0
// measure.queueing: how long data waits in the queues of switches, packet by packet.
//
// The instrument wraps the policy of each switch. The wrapper is told when a packet comes to a port
// and when its first bit leaves, and adds the time between to a sum that the packet carries. A tap
// on each host reads the sum. Runs that do not ask for it have neither.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/histogram.h"
#include "core/tap.h"
#include "fabric/around_policy.h"
#include "measure/flow_atoms.h"
#include "measure/instruments.h"
#include "measure/table.h"

namespace heddle {
namespace {

// The wrapper around the policy of one switch.
class Stamp final : public AroundSwitchPolicy {
 public:
  explicit Stamp(SwitchPolicyPtr scheme) : AroundSwitchPolicy(std::move(scheme)) {}

  // Subtracts the instant from the packet's sum; the departure adds its own. A packet that a scheme
  // holds back comes to a port when the scheme releases it.
  void OnEnqueue(SwitchView& view, Packet& packet, PortIndex port) override {
    if (packet.kind == PacketKind::kData) packet.AddWaited(Time{} - view.now());
    AroundSwitchPolicy::OnEnqueue(view, packet, port);
  }

  // Ends its wait as a whole packet. Its wait as a header begins next.
  void OnCut(SwitchView& view, Packet& packet, PortIndex port) override {
    packet.AddWaited(view.now() - Time{});
    AroundSwitchPolicy::OnCut(view, packet, port);
  }

  void OnTransmit(SwitchView& view, Packet& packet, PortIndex port) override {
    if (packet.kind == PacketKind::kData) packet.AddWaited(view.now() - Time{});
    AroundSwitchPolicy::OnTransmit(view, packet, port);
  }
};

// Reads packets that arrive at the hosts of one thread.
class Arrivals final : public Tap {
 public:
  Arrivals(const FlowAtoms& flows, size_t atoms) : flows_(flows), waited_(atoms) {}

  void OnArrival(uint32_t /*point*/, const Packet& packet) override {
    if (packet.kind != PacketKind::kData) return;
    const FlowAtoms::Flow flow = flows_.Of(packet.flow);
    if (flow.measured) waited_[flow.atom].Add(packet.Waited().ps);
  }

  const std::vector<Histogram>& waited() const { return waited_; }

 private:
  const FlowAtoms& flows_;
  std::vector<Histogram> waited_;  // Waiting times, by atom.
};

struct QueueingRow {
  std::string_view scope;
  std::string_view label;
  Histogram waited_ps;

  template <class T>
  std::optional<T> IfAny(T cell) const {
    return waited_ps.count() == 0 ? std::nullopt : std::optional<T>(cell);
  }
};

constexpr Column<QueueingRow> kQueueingColumns[] = {
    {"scope", [](const QueueingRow& row) { return row.scope; }},
    {"class", [](const QueueingRow& row) { return row.label; }},
    {"n_pkts", [](const QueueingRow& row) { return row.waited_ps.count(); }},
    {"mean_ns", [](const QueueingRow& row) { return row.IfAny(row.waited_ps.mean() * 1e-3); }},
    {"p99_ns",
     [](const QueueingRow& row) { return row.IfAny(Nanoseconds{row.waited_ps.Percentile(0.99)}); }},
    {"max_ns", [](const QueueingRow& row) { return row.IfAny(Nanoseconds{row.waited_ps.max()}); }}};

class Queueing final : public Instrument, public FlowObserver {
 public:
  explicit Queueing(const RunPlan& plan) : classes_(*plan.classes), flows_(plan) {}

  SwitchPolicyPtr Around(SwitchPolicyPtr scheme) override {
    return std::make_unique<Stamp>(std::move(scheme));
  }

  void OnStart(const FlowSpec& spec) override { flows_.Add(spec); }

  void Finish(Time /*end*/, RunNotes& /*notes*/) override {
    std::vector<QueueingRow> rows;
    classes_.ForEachClass([&](const ClassSet& set, size_t cls, const std::vector<size_t>& atoms) {
      QueueingRow& row = rows.emplace_back(set.name, set.labels[cls], Histogram());
      for (const size_t atom : atoms) {
        for (const auto& tap : taps_) row.waited_ps.Merge(tap->waited()[atom]);
      }
    });
    run().Write("queueing.csv", Table(kQueueingColumns).Text(rows));
  }

 private:
  void Begin() override {
    Engine& engine = network().engine();
    for (int i = 0; i < engine.threads(); ++i) {
      taps_.push_back(std::make_unique<Arrivals>(flows_, classes_.atoms()));
    }
    for (size_t h = 0; h < network().hosts(); ++h) {
      Host& host = network().host(h);
      TappedNode& tapped =
          hosts_.emplace_back(host, *taps_[static_cast<size_t>(engine.shard_of(host))]);
      for (PortIndex port = 0; port < host.nics(); ++port) tapped.Watch(port, port);
      engine.Insert(tapped);
    }
  }

  const SizeClasses& classes_;
  FlowAtoms flows_;
  std::vector<std::unique_ptr<Arrivals>> taps_;  // By thread.
  std::deque<TappedNode> hosts_;                 // A deque, so that they keep their addresses.
};

[[maybe_unused]] const bool registered =
    RegisterOption<Queueing>({.name = "queueing", .place = InstrumentPlace::kMeasure, .order = 10},
                             "queueing.csv: how long data packets wait in the queues of switches.");

}  // namespace
}  // namespace heddle
