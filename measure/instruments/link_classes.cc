// SPDX-License-Identifier: Apache-2.0
// measure.link_classes: the bytes that each switch port sends, by size class of their flows, in the
// time that links.csv covers. The instrument wraps the policy of each switch; the wrapper is told
// when the first bit of a packet leaves. Runs that do not ask for it have no wrapper.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fabric/around_policy.h"
#include "measure/flow_atoms.h"
#include "measure/instruments.h"
#include "measure/link_time.h"
#include "measure/table.h"
#include "measure/tier_name.h"

namespace heddle {
namespace {

// Counts the bytes of flows that each port of one switch has begun to send.
class Meter final : public AroundSwitchPolicy {
 public:
  Meter(SwitchPolicyPtr scheme, const FlowAtoms& flows, size_t atoms)
      : AroundSwitchPolicy(std::move(scheme)), flows_(flows), atoms_(atoms) {}

  void Attach(SwitchView& view) override {
    payload_.assign(view.ports() * atoms_, 0);
    AroundSwitchPolicy::Attach(view);
  }

  void OnTransmit(SwitchView& view, Packet& packet, PortIndex port) override {
    if (packet.kind == PacketKind::kData) {
      payload_[port * atoms_ + flows_.Of(packet.flow).atom] += packet.data.payload;
    }
    AroundSwitchPolicy::OnTransmit(view, packet, port);
  }

  const std::vector<int64_t>& payload() const { return payload_; }

 private:
  const FlowAtoms& flows_;
  const size_t atoms_;
  std::vector<int64_t> payload_;  // By port, then atom.
};

struct LinkClassRow {
  size_t link;
  const Network::Egress& egress;
  const Graph& graph;
  std::string_view scope;
  std::string_view label;
  int64_t payload_bytes;
};

constexpr Column<LinkClassRow> kLinkClassesColumns[] = {
    {"link_id", [](const LinkClassRow& row) { return row.link; }},
    {"node", [](const LinkClassRow& row) { return row.graph.NameOf(row.egress.vertex); }},
    {"port", [](const LinkClassRow& row) { return row.egress.port; }},
    {"peer", [](const LinkClassRow& row) { return row.graph.NameOf(row.egress.peer); }},
    {"tier",
     [](const LinkClassRow& row) {
       return TierName(row.graph, row.egress.vertex, row.egress.peer);
     }},
    {"scope", [](const LinkClassRow& row) { return row.scope; }},
    {"class", [](const LinkClassRow& row) { return row.label; }},
    {"payload_bytes", [](const LinkClassRow& row) { return row.payload_bytes; }}};

class LinkClasses final : public LinkTime, public FlowObserver {
 public:
  explicit LinkClasses(const RunPlan& plan) : classes_(*plan.classes), flows_(plan) {}

  SwitchPolicyPtr Around(SwitchPolicyPtr scheme) override {
    auto meter = std::make_unique<Meter>(std::move(scheme), flows_, classes_.atoms());
    meters_.push_back(meter.get());
    return meter;
  }

  void OnStart(const FlowSpec& spec) override { flows_.Add(spec); }

 private:
  void Start(Time /*now*/) override { payload_ = Payload(); }
  void Stop(Time /*now*/) override {
    const std::vector<int64_t> payload = Payload();
    for (size_t i = 0; i < payload.size(); ++i) payload_[i] = payload[i] - payload_[i];
  }

  // Returns the counts of all ports so far, in the order of switches, then ports, then atoms.
  std::vector<int64_t> Payload() const {
    std::vector<int64_t> all;
    for (const Meter* meter : meters_) {
      all.insert(all.end(), meter->payload().begin(), meter->payload().end());
    }
    return all;
  }

  // The egresses of switches come last, in the order in which meters count.
  void Write(RunNotes& /*notes*/) override {
    const size_t atoms = classes_.atoms();
    const size_t first = network().egresses().size() - payload_.size() / atoms;
    std::string csv = Table(kLinkClassesColumns).Header();
    for (size_t link = first; link < network().egresses().size(); ++link) {
      const int64_t* payload = payload_.data() + (link - first) * atoms;
      classes_.ForEachClass([&](const ClassSet& set, size_t cls, const std::vector<size_t>& of) {
        LinkClassRow row{
            link, network().egresses()[link], network().graph(), set.name, set.labels[cls], 0};
        for (const size_t atom : of) row.payload_bytes += payload[atom];
        Table(kLinkClassesColumns).Append(csv, row);
      });
    }
    run().Write("link_classes.csv", csv);
  }

  const SizeClasses& classes_;
  FlowAtoms flows_;
  std::vector<Meter*> meters_;  // By switch.
  std::vector<int64_t>
      payload_;  // Ordered as Payload() is: up to the start, then in the time covered.
};

[[maybe_unused]] const bool registered = RegisterOption<LinkClasses>(
    {.name = "link_classes", .place = InstrumentPlace::kMeasure, .order = 20},
    "link_classes.csv: payload bytes that each port of each switch sends, by flow size.");

}  // namespace
}  // namespace heddle
