// SPDX-License-Identifier: Apache-2.0

#include "bench/decision/cost_meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "bench/decision/clock.h"
#include "bench/decision/host_cost.h"
#include "bench/decision/leaf_cost.h"
#include "core/check.h"
#include "settings/fields.h"
#include "settings/reader.h"
#include "settings/yaml.h"

namespace heddle {
namespace {

bool IsAtHosts(CostPart part) { return part == CostPart::kSend || part == CostPart::kHost; }

std::vector<RecordedPacket> DataOf(std::span<const RecordedPacket> packets) {
  std::vector<RecordedPacket> data;
  std::ranges::copy_if(packets, std::back_inserter(data), [](const RecordedPacket& recorded) {
    return recorded.packet.kind == PacketKind::kData;
  });
  return data;
}

}  // namespace

Chosen<LoadBalancer> ReadBalancer(const std::string& yaml, Diagnostics& diagnostics) {
  Chosen<LoadBalancer> balancer;
  const std::string source = fmt::format("argument \"{}\"", yaml);
  const std::optional<Value> value = ParseYaml(yaml, source, diagnostics);
  if (!value) return balancer;
  Value document;
  document.kind = Value::Kind::kMap;
  document.place = value->place;
  document.entries.push_back({"lb", value->place, *value});
  const auto declare = [&](Fields& fields) {
    fields.Kind("lb", balancer, LoadBalancers(), "", Fields::kRequired);
  };
  ReadSettings(document, declare, diagnostics);
  return balancer;
}

std::optional<Chosen<LoadBalancer>> PreparedBalancer(const std::string& yaml, size_t candidates) {
  Diagnostics mistakes;
  Chosen<LoadBalancer> balancer = ReadBalancer(yaml, mistakes);
  HEDDLE_CHECK(mistakes.ok(), "{}", mistakes.Report());
  FabricShape fabric;
  fabric.leaf_uplinks = candidates;
  fabric.host_rate = 25_Gbps;
  fabric.fabric_rate = 100_Gbps;
  Diagnostics refusal;
  balancer.settings->Prepare(fabric, "lb", refusal);
  if (!refusal.ok()) return std::nullopt;
  return balancer;
}

bool ActsAtHosts(const LoadBalancer& balancer) {
  return (balancer.ForHost(0, /*seed=*/1).hooks() & HostPolicy::kSend) != 0;
}

CostMeter::CostMeter(const LoadBalancer& balancer, size_t candidates, CostPart part,
                     std::span<const RecordedPacket> packets)
    : part_(part),
      data_(IsAtHosts(part) ? DataOf(packets) : std::vector<RecordedPacket>()),
      packets_(IsAtHosts(part) ? data_ : packets),
      leaves_(IsAtHosts(part) ? nullptr : std::make_unique<LeafPair>(balancer, candidates)),
      hosts_(IsAtHosts(part) ? std::make_unique<HostPair>(balancer, candidates) : nullptr) {}

CostMeter::~CostMeter() = default;

std::span<const RecordedPacket> CostMeter::NextVisit() const {
  size_t last = next_;
  while (last < packets_.size() && packets_[last].at < packets_[next_].at + kCostVisit) ++last;
  return packets_.subspan(next_, last - next_);
}

double CostMeter::Visit() {
  const std::span<const RecordedPacket> visit = NextVisit();
  double ns = 0;
  switch (part_) {
    case CostPart::kDecide:
      ns = leaves_->Ask(visit, start_, misses_);
      break;
    case CostPart::kSwitch:
      ns = leaves_->Forward(visit, start_) / 2;  // Half the packets go the other way.
      break;
    case CostPart::kSend:
      ns = hosts_->Send(visit, start_).send;
      break;
    case CostPart::kHost:
      ns = hosts_->Send(visit, start_).all;
      break;
  }
  next_ += visit.size();
  if (next_ == packets_.size()) {
    next_ = 0;
    start_ = start_ + (packets_.back().at - Time{}) + kCostLinkDelay * 4;
  }
  return ns;
}

double CostMeter::Round() {
  double ns = 0;
  const size_t packets = packets_.size() - next_;
  do {
    ns += Visit();
  } while (next_ != 0);
  return ns / static_cast<double>(packets);
}

size_t CostMeter::state_bytes() const {
  return leaves_ ? leaves_->state_bytes() : hosts_->state_bytes();
}

}  // namespace heddle
