// SPDX-License-Identifier: Apache-2.0

#include "bench/decision/recording.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "core/check.h"
#include "core/random.h"
#include "experiment/experiment.h"
#include "experiment/experiment_file.h"
#include "experiment/simulation.h"
#include "fabric/flow.h"
#include "lb/parts/load_balancer.h"
#include "settings/diagnostics.h"
#include "settings/status.h"

namespace heddle {
namespace {

// Records each packet that it is asked about, and forwards it by its hash.
class Recorder final : public SwitchPolicy {
 public:
  explicit Recorder(std::vector<RecordedPacket>* into) : into_(into) {}
  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    if (into_ != nullptr) into_->push_back({view.now(), packet});
    return Decision::Forward(candidates.ports[packet.tuple_hash % candidates.ports.size()]);
  }
  size_t StateBytes() const override { return 0; }

 private:
  std::vector<RecordedPacket>* const into_;
};

class RecorderBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& /*fields*/) override {}
  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t /*seed*/) const override {
    return std::make_unique<Recorder>(id == 0 ? into : nullptr);
  }

  std::vector<RecordedPacket>* into = nullptr;
};

}  // namespace

std::vector<RecordedPacket> RecordLeaf() {
  Diagnostics diagnostics;
  std::vector<Experiment> experiments = LoadExperimentsFromText(
      "name: recorded\n"
      "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 16,"
      " host_link: {rate: 25Gbps, delay: 1us}, fabric_link: {rate: 100Gbps, delay: 1us}}\n"
      "lb: ecmp\n"
      "workload: [{kind: poisson, sizes: websearch, load: 0.6, duration: 2ms}]\n"
      "measure: {warm_up: 0us, unfinished: drop, t_max: 2ms}\n",
      "recorded", "", {}, diagnostics);
  HEDDLE_CHECK(diagnostics.ok(), "{}", diagnostics.Report());
  std::vector<RecordedPacket> packets;
  auto recorder = std::make_unique<RecorderBalancer>();
  recorder->into = &packets;
  experiments.front().settings.lb = {"recorder", std::move(recorder)};
  const auto run = Simulate(experiments.front(), {}, [](std::string_view) { return true; });
  HEDDLE_CHECK(run.ok(), "{}", MessageOf(run.status()));
  const Duration begin = packets.front().at - Time{};
  for (RecordedPacket& recorded : packets) {
    recorded.at = recorded.at - begin;
    recorded.packet.src = 0;  // Host 0 stands for all hosts of the measured leaf.
    recorded.packet.dst = 1;
  }
  return packets;
}

std::vector<RecordedPacket> WithLiveFlows(const std::vector<RecordedPacket>& recorded, size_t count,
                                          size_t flows) {
  std::map<FlowId, FlowId> number_of;
  for (const RecordedPacket& one : recorded) number_of.emplace(one.packet.flow, number_of.size());
  const size_t kinds = number_of.size();
  const auto copies = static_cast<uint32_t>(std::max<size_t>(1, (flows + kinds / 2) / kinds));
  Rng rng = Rng::Stream(1, "decision_cost", 0);
  std::vector<RecordedPacket> packets;
  packets.reserve(count);
  Time start;
  while (packets.size() < count) {
    const RecordedPacket& from = recorded[packets.size() % recorded.size()];
    packets.push_back(from);
    packets.back().at = start + (from.at - Time{});
    Packet& packet = packets.back().packet;
    packet.flow = number_of[packet.flow] + static_cast<FlowId>(kinds) * rng.Below(copies);
    packet.tuple_hash = TupleHash(0, 1, static_cast<uint16_t>(packet.flow),
                                  static_cast<uint16_t>(packet.flow >> 16));
    if (packets.size() % recorded.size() == 0) start = packets.back().at + 1_ns;
  }
  return packets;
}

std::vector<RecordedPacket> WithLiveFlows(const std::vector<RecordedPacket>& recorded,
                                          size_t flows) {
  return WithLiveFlows(recorded, std::max(recorded.size(), 2 * flows), flows);
}

}  // namespace heddle
