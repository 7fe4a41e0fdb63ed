// SPDX-License-Identifier: Apache-2.0

#include "experiment/idle_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topo/port_rule.h"

namespace heddle {
namespace {

using Texts = std::map<std::string, std::string, std::less<>>;  // By path.

// Collects settings as texts. With `like`, nested settings of several kinds are first set to the
// kinds that `like` has, with their defaults.
class Taker final : public Fields {
 public:
  Taker(std::string prefix, const Texts* like, Texts& texts)
      : prefix_(std::move(prefix)), like_(like), texts_(texts) {}

 protected:
  void OnScalar(std::string_view name, const Scalar& scalar, Presence /*presence*/,
                std::string_view /*meaning*/) override {
    texts_[Path(name)] = scalar.text();
  }
  void OnScalars(std::string_view name, size_t count, const std::function<void(size_t)>& /*resize*/,
                 const std::function<Scalar(size_t)>& at, Presence /*presence*/,
                 std::string_view /*meaning*/, const std::string& /*type*/) override {
    std::string& text = texts_[Path(name)];
    for (size_t i = 0; i < count; ++i) text += at(i).text() + " ";
  }
  void OnBlock(std::string_view name, const Block& block, Presence /*presence*/,
               std::string_view /*meaning*/) override {
    const std::string path = Path(name);
    if (block.kinds != nullptr) {
      const std::string kind = path + ".kind";
      if (like_ != nullptr) block.choose(like_->at(kind));
      texts_[kind] = block.kind();
    }
    Taker inner(path, like_, texts_);
    block.declare(inner);
  }
  void OnBlocks(std::string_view /*name*/, size_t /*count*/,
                const std::function<void(size_t)>& /*resize*/,
                const std::function<Block(size_t)>& /*at*/, Presence /*presence*/,
                std::string_view /*meaning*/) override {}
  void OnBrokenRule(std::string_view /*name*/, std::string_view /*message*/) override {}

 private:
  std::string Path(std::string_view name) const { return fmt::format("{}.{}", prefix_, name); }

  const std::string prefix_;
  const Texts* const like_;
  Texts& texts_;
};

// Holds if another setting is `value`, or if it is not.
struct Condition {
  std::string_view path;
  std::string_view value;
  bool is = true;

  bool HoldsIn(const Texts& texts) const {
    const auto found = texts.find(path);
    return found != texts.end() && (found->second == value) == is;
  }
};

// If all conditions hold, the setting `path` has no effect; `why` gives the reason.
struct Rule {
  std::string_view path;
  std::vector<Condition> conditions;
  std::string_view why;

  bool HoldsIn(const Texts& texts) const {
    return std::ranges::all_of(conditions, [&](const Condition& c) { return c.HoldsIn(texts); });
  }
};

void AddTransport(std::vector<Rule>& rules) {
  const Condition gbn{"transport.recovery", "gbn"};
  const Condition irn{"transport.recovery", "irn"};
  const Condition ddp{"transport.recovery", "ddp"};
  const Condition not_ddp{"transport.recovery", "ddp", false};
  constexpr std::string_view kDdp = "recovery: ddp does not use it";
  constexpr std::string_view kToDdp = "it belongs to recovery: ddp";
  for (const char* path :
       {"transport.nack", "transport.nack_interval", "transport.rto", "transport.rto_low",
        "transport.rto_high", "transport.rto_low_packets"}) {
    rules.push_back({path, {ddp}, kDdp});
  }
  for (const char* path : {"transport.ddp_loss", "transport.ddp_rto", "transport.ddp_window"}) {
    rules.push_back({path, {not_ddp}, kToDdp});
  }
  rules.push_back({"transport.nack_threshold",
                   {ddp, {"transport.ddp_loss", "timeout"}},
                   "it belongs to ddp_loss: threshold"});
  rules.push_back({"transport.bdp",
                   {ddp, {"transport.window", "none"}},
                   "no window is limited to it; set window: bdp or bdp_var"});
  for (const Condition& nic : {gbn, Condition{"transport.recovery", "sr"}}) {
    constexpr std::string_view kToIrn = "it belongs to recovery: irn";
    for (const char* path : {"transport.nack_threshold", "transport.rto_low", "transport.rto_high",
                             "transport.rto_low_packets"}) {
      rules.push_back({path, {nic}, kToIrn});
    }
    rules.push_back({"transport.nack_interval",
                     {nic, {"transport.nack", "per_gap"}},
                     "it belongs to nack: timer"});
    rules.push_back({"transport.bdp",
                     {nic, {"transport.window", "none"}},
                     "no window is limited to it; set window: bdp or bdp_var"});
    rules.push_back({"transport.bdp_scope",
                     {nic, {"transport.window", "none"}},
                     "no window is limited to the bdp; set window: bdp or bdp_var"});
  }
  constexpr std::string_view kIrn = "recovery: irn does not use it";
  rules.insert(rules.end(),
               {{"transport.limited_transmit",
                 {{"transport.recovery", "sack"}},
                 "recovery: sack sends these segments in any case"},
                {"transport.delack_timeout",
                 {{"transport.delack_count", "1"}},
                 "no ACK is delayed with delack_count: 1"},
                {"transport.nack", {irn}, kIrn},
                {"transport.nack_interval", {irn}, kIrn},
                {"transport.ack_interval", {irn}, kIrn},
                {"transport.rto", {irn}, "recovery: irn has rto_low and rto_high"},
                {"transport.bdp_scope", {{"transport.bdp", "auto", false}}, "bdp is set"}});
}

void AddUet(std::vector<Rule>& rules) {
  const Condition other{"transport.cc", "nscc", false};
  const Condition nor_smartt{"transport.cc", "smartt", false};
  constexpr const char* kWhy = "it belongs to cc: nscc and cc: smartt";
  rules.push_back({"transport.target", {other, nor_smartt}, kWhy});
  rules.push_back({"transport.qa_gate", {other, nor_smartt}, kWhy});
  rules.push_back({"transport.base_rtt",
                   {{"transport.cc", "constant"}, {"transport.loss", "timeout"}},
                   "cc: constant does not use it"});
  rules.push_back({"transport.base_rtt_on_nack",
                   {{"topology.port.trim.when", "never"}},
                   "no packet is trimmed with trim.when: never"});
  rules.push_back({"transport.rcv_pen", {{"transport.cc", "constant"}}, "the window is constant"});
  for (const char* path : {"transport.rcv_pen", "transport.window"}) {
    rules.push_back({path, {{"transport.cc", "none"}}, "cc: none has no window"});
  }
  for (const char* path :
       {"transport.rccc.fabric", "transport.rccc.grants", "transport.rccc.quantum",
        "transport.rccc.pull", "transport.rccc.interval", "transport.rccc.first_window"}) {
    rules.push_back(
        {path, {{"transport.receiver", "rccc", false}}, "it belongs to receiver: rccc"});
  }
  for (const char* path : {"transport.rccc.quantum", "transport.rccc.pull"}) {
    rules.push_back({path,
                     {{"transport.rccc.grants", "arrivals"}},
                     "with grants: arrivals a pull grants one packet"});
  }
}

void AddRateControl(std::vector<Rule>& rules) {
  const Condition nic{"transport.cc.rp", "nic"};
  const Condition paper{"transport.cc.rp", "paper"};
  const Condition flag{"transport.cc.cnp_mode", "ack_flag"};
  constexpr std::string_view kNic = "it belongs to rp: nic";
  constexpr std::string_view kFlag = "with cnp_mode: ack_flag every mark is echoed";
  rules.insert(
      rules.end(),
      {{"transport.cc.byte_counter", {nic}, "rp: nic counts only time"},
       {"transport.cc.decrease_interval", {paper}, kNic},
       {"transport.cc.clamp_target", {paper}, kNic},
       {"transport.cc.rate_on_first_cnp", {paper}, kNic},
       {"transport.cc.cnp_interval", {flag}, kFlag},
       {"transport.cc.cnp_trailing", {flag}, kFlag},
       {"transport.cc.rtt_scope", {{"transport.cc.base_rtt", "auto", false}}, "base_rtt is set"},
       {"transport.cc.flows", {{"transport.cc.w_ai", "auto", false}}, "w_ai is set"},
       {"transport.cc.flows", {{"transport.cc.ai_rate", "none", false}}, "ai_rate is set"}});
}

void AddLoadBalancers(std::vector<Rule>& rules) {
  rules.push_back({"lb.samples",
                   {{"lb.kind", "conga"}, {"lb.mode", "path", false}},
                   "only mode: path samples paths"});
  for (const char* path : {"lb.red_from", "lb.red_to", "lb.red_drop"}) {
    rules.push_back({path, {{"lb.selective_red", "false"}}, "it belongs to selective_red: true"});
  }
  for (const char* path : {"lb.freeze_for", "lb.freeze_below", "lb.rtt_window"}) {
    rules.push_back({path, {{"lb.freeze", "false"}}, "it belongs to freeze: true"});
  }
}

void AddPorts(std::vector<Rule>& rules) {
  constexpr const char* kMarking = "topology.port.marking";
  for (const char* path :
       {"topology.port.red.min", "topology.port.red.max", "topology.port.red.probability"}) {
    rules.push_back({path, {{kMarking, "step"}}, "it belongs to marking: red"});
    rules.push_back({path,
                     {{kMarking, "auto"},
                      {"transport.kind", "rocev2", false},
                      {"transport.kind", "uet", false}},
                     "only rocev2 and uet have marking: red unless it is set"});
  }
  constexpr const char* kTrims = "topology.port.trim.when";
  for (const char* path : {"topology.port.trim.threshold", "topology.port.trim.header",
                           "topology.port.trim.victim", "topology.port.trim.header_limit",
                           "topology.port.trim.overflow", "topology.port.trim.classes"}) {
    rules.push_back({path, {{kTrims, "never"}}, "no packet is trimmed with trim.when: never"});
  }
  rules.push_back(
      {"topology.port.trim.threshold", {{kTrims, "port", false}}, "it belongs to trim.when: port"});
  rules.push_back({"topology.port.quanta",
                   {{"topology.port.scheduler", "dwrr", false}},
                   "it belongs to scheduler: dwrr"});
  rules.push_back({"topology.port.memory.alpha_in",
                   {{"topology.port.memory.model", "broadcom_mmu", false}},
                   "it belongs to model: broadcom_mmu"});
  rules.push_back({"topology.port.memory.reserve",
                   {{"topology.port.memory.model", "hpcc_mmu", false}},
                   "it belongs to model: hpcc_mmu"});
  for (const char* path : {"topology.port.pfc.watchdog.restore", "topology.port.pfc.watchdog.poll",
                           "topology.port.pfc.watchdog.action"}) {
    rules.push_back({path, {{"topology.port.pfc.watchdog.detect", "off"}}, "detect is off"});
  }
}

const std::vector<Rule>& Rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> all;
    AddTransport(all);
    AddUet(all);
    AddRateControl(all);
    AddLoadBalancers(all);
    AddPorts(all);
    return all;
  }();
  return rules;
}

// The settings as they are, and the defaults of the kinds that are chosen.
struct Taken {
  Texts set;
  Texts preset;

  template <class T>
  void Take(const std::string& name, const Chosen<T>& chosen, const Kinds<T>& kinds) {
    set[name + ".kind"] = preset[name + ".kind"] = chosen.kind;
    const Chosen<T> fresh = kinds.Make(chosen.kind);
    Take(name, *chosen.settings, *fresh.settings);
  }
  template <class S>
  void Take(const std::string& name, S& settings, S& fresh) {
    Taker now(name, nullptr, set);
    settings.Declare(now);
    Taker before(name, &set, preset);
    fresh.Declare(before);
  }
};

Taken TakenFrom(const ExperimentSettings& settings) {
  Taken taken;
  taken.Take("transport", settings.transport, Transports());
  taken.Take("lb", settings.lb, LoadBalancers());
  PortRule fresh;
  taken.Take("topology.port", settings.topology.settings->port, fresh);
  return taken;
}

}  // namespace

void WarnOfIdleSettings(const ExperimentSettings& settings, Diagnostics& diagnostics) {
  const Taken taken = TakenFrom(settings);
  for (const Rule& rule : Rules()) {
    const auto set = taken.set.find(rule.path);
    if (set == taken.set.end() || !rule.HoldsIn(taken.set)) continue;
    if (set->second == taken.preset.at(set->first)) continue;
    diagnostics.WarningAt(rule.path, fmt::format("changes nothing: {}", rule.why));
  }
}

void CheckNackFilter(const ExperimentSettings& settings, Diagnostics& diagnostics) {
  if (settings.lb.kind != "themis") return;
  const Taken taken = TakenFrom(settings);
  const auto recovery = taken.set.find("transport.recovery");
  if (settings.transport.kind != "rocev2" || recovery == taken.set.end()) return;
  if (recovery->second == "sr" || recovery->second == "ddp") return;
  diagnostics.ErrorAt(
      "lb", fmt::format("themis drops NACKs, which with recovery: {} say more than that one packet "
                        "is missing; set transport.recovery: sr",
                        recovery->second));
}

}  // namespace heddle
