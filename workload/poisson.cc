// SPDX-License-Identifier: Apache-2.0

#include "workload/poisson.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/due_tree.h"
#include "settings/status.h"

namespace heddle {
namespace {

// Returns `load` with three significant digits, rounded down.
std::string RoundedDown(double load) {
  const double step = std::pow(10, std::floor(std::log10(load)) - 2);
  return fmt::format("{:.3g}", std::floor(load / step * (1 + 1e-12)) * step);
}

}  // namespace

class Poisson::Source final : public FlowSource {
 public:
  explicit Source(const Poisson& settings)
      : settings_(settings),
        end_(settings.duration_ ? Time{settings.start_.ps} + *settings.duration_ : kNever),
        left_(settings.flows_.value_or(std::numeric_limits<int64_t>::max())) {
    const size_t hosts = settings.stage_.hosts;
    due_.Resize(hosts);
    for (size_t h = 0; h < hosts; ++h) {
      arrival_.push_back(settings.stage_.Stream("arrival", h));
      size_.push_back(settings.stage_.Stream("size", h));
      dst_.push_back(settings.stage_.Stream("dst", h));
      next_.push_back(Time{settings.start_.ps});
      Advance(h);
    }
    Draw();
  }

  const FlowRequest* Front() override { return has_front_ ? &front_ : nullptr; }

  void Pop() override {
    Advance(front_.src);
    Draw();
  }

 private:
  // Draws the next arrival at `host`, a gap after the last.
  void Advance(size_t host) {
    const double rate = settings_.flows_per_ps_[host];
    if (rate <= 0) return;
    next_[host] = std::min(next_[host] + arrival_[host].ExponentialDuration(1 / rate), kNever);
    due_.Set(host, next_[host]);
  }

  void Draw() {
    const Time start = due_.Min();
    has_front_ = start < end_ && left_ > 0;
    if (!has_front_) return;
    --left_;
    const size_t src = due_.First();
    front_.start = start;
    front_.src = static_cast<HostId>(src);
    front_.dst = settings_.partners_->Draw(src, dst_[src]);
    front_.size = settings_.sizes_->Sample(size_[src]);
  }

  const Poisson& settings_;
  const Time end_;
  int64_t left_;
  DueTree due_;  // The next arrival at each host.
  std::vector<Rng> arrival_;
  std::vector<Rng> size_;
  std::vector<Rng> dst_;
  std::vector<Time> next_;
  FlowRequest front_;
  bool has_front_ = false;
};

void Poisson::Declare(Fields& fields) {
  fields.Add("sizes", sizes_text_,
             "Flow sizes: a table (see heddle list), or fixed:SIZE, uniform:SIZE:SIZE, "
             "pareto:MEAN:SHAPE, pareto_bounded:MIN:MAX:SHAPE, classes:S:M:L:XL, "
             "mix:SHARE:FIRST:SECOND, file:PATH.",
             Fields::kRequired);
  fields.Choice("interpolation", interpolation_,
                {{"linear", Interpolation::kLinear}, {"step", Interpolation::kStep}},
                "Between the points of a table: on the line, or the upper point's size.");
  fields.AddOr("none", "max_size", largest_, {.at_least = 1_B},
               "Larger flows are cut to this; the mean that the load is computed from follows.");
  fields.Add("load", load_, {.above = 0.0, .at_most = 10.0},
             "Offered load, as a share of the capacity that load_ref names.", Fields::kRequired);
  fields.Choice(
      "load_ref", load_of_, {{"host", LoadOf::kHost}, {"fabric", LoadOf::kFabric}},
      "host: of the links from the hosts that send; fabric: of all links from their leaves "
      "to other switches, by the flows that leave their leaf.");
  fields.Add("load_headers", headers_, "Count headers in the load, not payload alone.");
  fields.Add("overload", overload_,
             "Accept a load of more than 1 on the hosts' links or the leaves' uplinks.");
  fields.Choice(
      "pairs", pairs_,
      {{"any", Pairs::kAny},
       {"inter_rack", Pairs::kInterRack},
       {"client_server", Pairs::kClientServer},
       {"permutation", Pairs::kPermutation},
       {"random_halves", Pairs::kRandomHalves}},
      "Destinations: any other host; one on another leaf; hosts of the second half of the "
      "leaves to those of the first; always the same, by a random permutation; or a half of "
      "all hosts, drawn by the seed, to the other half.");
  fields.List("from", from_, AtLeast<int64_t>(0),
              "The hosts that send, instead of pairs; none named: all.");
  fields.List(
      "to", to_, AtLeast<int64_t>(0),
      "The hosts that receive, all equally likely; no host sends to itself; none named: all.");
  fields.Add("start", start_, {.at_least = Duration{0}, .at_most = 1000_s},
             "When the workload begins; each host's first flow comes one gap later.");
  fields.AddOr("none", "duration", duration_, {.above = Duration{0}, .at_most = 1000_s},
               "Time for which flows start. Set duration, flows or both; the limit reached first "
               "ends the workload.");
  fields.AddOr("none", "flows", flows_, Between<int64_t>(1, 4'000'000'000),
               "Number of flows that start, on all hosts together.");
  DeclareCommon(fields);
  fields.Require((from_.empty() && to_.empty()) || pairs_ == Pairs::kAny, "pairs",
                 "from and to say who sends to whom; leave out either them or pairs");
  fields.Require(duration_ || flows_, "duration",
                 "set duration, flows or both: the workload must end");
}

void Poisson::Load(const Stage& stage, std::string_view path, FilesRead& files,
                   Diagnostics& diagnostics) {
  const std::string sizes = fmt::format("{}.sizes", path);
  if (!diagnostics.IsSound(sizes)) return;
  if (const size_t file = sizes_text_.find("file:"); file != std::string::npos) {
    const size_t name = file + std::strlen("file:");
    sizes_text_.replace(name, std::string::npos, stage.PathTo(sizes_text_.substr(name)));
  }
  auto parsed = ParseSizes(sizes_text_, {interpolation_, largest_}, files);
  if (!parsed.ok()) {
    const std::vector<std::string> mistakes = absl::StrSplit(MessageOf(parsed.status()), '\n');
    for (const std::string& mistake : mistakes) diagnostics.ErrorAt(sizes, mistake);
    return;
  }
  sizes_ = *std::move(parsed);
}

void Poisson::Prepare(const Stage& stage, std::string_view path, FilesRead& /*files*/,
                      Diagnostics& diagnostics) {
  stage_ = stage;
  if (sizes_->max() > stage.max_flow_size) {
    return diagnostics.ErrorAt(
        fmt::format("{}.sizes", path),
        fmt::format("reaches {}, more than the transport can number: {}; set max_size",
                    FormatQuantity(Bytes{sizes_->max()}),
                    FormatQuantity(Bytes{stage.max_flow_size})));
  }
  const bool needs_racks = pairs_ == Pairs::kInterRack || pairs_ == Pairs::kClientServer;
  if (needs_racks && stage.leaves < 2) {
    return diagnostics.ErrorAt(fmt::format("{}.pairs", path),
                               "needs at least two leaves that have hosts");
  }
  if (stage.hosts < 2) {
    return diagnostics.ErrorAt(fmt::format("{}.pairs", path), "needs at least two hosts");
  }
  if (FindPartners(path, diagnostics)) PrepareRates(path, diagnostics);
}

// Returns true if every host that sends has a destination.
bool Poisson::FindPartners(std::string_view path, Diagnostics& diagnostics) {
  if (from_.empty() && to_.empty()) {
    partners_ = std::make_shared<Partners>(pairs_, stage_);
    return true;
  }
  const auto from = HostsOf("from", from_, path, diagnostics);
  const auto to = HostsOf("to", to_, path, diagnostics);
  if (!from || !to) return false;
  partners_ = std::make_shared<Partners>(*from, *to, stage_);
  for (size_t i = 0; i < from->size(); ++i) {
    if (partners_->Choices((*from)[i]) > 0) continue;
    const std::string key = from_.empty() ? "to" : fmt::format("from[{}]", i);
    diagnostics.ErrorAt(
        fmt::format("{}.{}", path, key),
        fmt::format("host {} has none to send to but itself; add another to \"to\"", (*from)[i]));
    return false;
  }
  return true;
}

// Returns all hosts if none is named; nothing if one does not exist or comes twice.
std::optional<std::vector<HostId>> Poisson::HostsOf(std::string_view key,
                                                    const std::vector<int64_t>& named,
                                                    std::string_view path,
                                                    Diagnostics& diagnostics) const {
  std::vector<HostId> hosts(named.begin(), named.end());
  if (named.empty()) {
    hosts.resize(stage_.hosts);
    std::iota(hosts.begin(), hosts.end(), HostId{0});
  }
  std::vector<bool> seen(stage_.hosts, false);
  for (size_t i = 0; i < named.size(); ++i) {
    const size_t host = static_cast<size_t>(named[i]);
    const bool exists = host < stage_.hosts;
    if (exists && !seen[host]) {
      seen[host] = true;
      continue;
    }
    diagnostics.ErrorAt(fmt::format("{}.{}[{}]", path, key, i),
                        exists ? fmt::format("host {} is named twice", host)
                               : fmt::format("there is no host {}; there are {}, numbered from 0",
                                             host, stage_.hosts));
    return std::nullopt;
  }
  return hosts;
}

// Returns the bits per second of the uplinks of leaves with hosts that send.
double Poisson::SendersUplinks() const {
  std::vector<bool> sends(stage_.leaves, false);
  for (size_t h = 0; h < stage_.hosts; ++h) {
    if (partners_->Sends(h)) sends[stage_.leaf_of_host[h]] = true;
  }
  double bps = 0;
  for (size_t l = 0; l < stage_.leaves; ++l) {
    if (sends[l]) bps += static_cast<double>(stage_.uplink_bps[l]);
  }
  return bps;
}

// Reports a load that the links cannot carry: an error, or a warning if only the headers exceed
// their capacity. `wire` is the ratio of bytes on the wire to the bytes that the load counts.
void Poisson::CheckLoads(double host_load, double fabric_load, double wire, std::string_view path,
                         Diagnostics& diagnostics) const {
  if (overload_) return;
  const double load = std::max(host_load, fabric_load);
  const std::string key = fmt::format("{}.load", path);
  constexpr double kFull = 1 + 1e-9;
  if (load > kFull) {
    // With load_ref: fabric the same figure is a share of the uplinks, which carry it.
    const bool fits_fabric =
        load_of_ == LoadOf::kHost && load_ <= kFull && host_load * load_ / fabric_load <= kFull;
    diagnostics.ErrorAt(
        key,
        fmt::format("offers {:.3g} of the hosts' links and {:.3g} of the leaves' uplinks, more "
                    "than they carry, so queues grow without end; lower it to {} or less{}, or "
                    "set overload: true",
                    host_load, fabric_load, RoundedDown(load_ / load),
                    fits_fabric ? ", set load_ref: fabric if it is meant as a share of the "
                                  "leaves' uplinks"
                                : ""));
  } else if (load * wire > 1) {
    diagnostics.WarningAt(
        key,
        fmt::format("with headers the {} are loaded to {:.3g} times their capacity; queues "
                    "grow as long as it lasts",
                    host_load >= fabric_load ? "hosts' links" : "leaves' uplinks", load * wire));
  }
}

void Poisson::PrepareRates(std::string_view path, Diagnostics& diagnostics) {
  packets_ = sizes_->MeanPackets(stage_.mss);
  host_bps_ = 0;
  double leaving_bps = 0;
  for (size_t h = 0; h < stage_.hosts; ++h) {
    if (!partners_->Sends(h)) continue;
    const double bps = static_cast<double>(stage_.host_rate[h].bps);
    host_bps_ += bps;
    leaving_bps += bps * partners_->Leaving(h);
  }
  leaving_ = leaving_bps / host_bps_;
  uplink_bps_ = SendersUplinks();
  if (load_of_ == LoadOf::kFabric && leaving_ == 0) {
    return diagnostics.ErrorAt(fmt::format("{}.load_ref", path), "no flow crosses the fabric");
  }
  const double header_bytes = packets_ * static_cast<double>(stage_.packet_overhead);
  const double counted = sizes_->mean() + (headers_ ? header_bytes : 0);
  const double capacity = load_of_ == LoadOf::kHost ? host_bps_ : uplink_bps_ / leaving_;
  const double flows_per_second = load_ * capacity / (8 * counted);
  const double offered = flows_per_second * counted * 8;
  const double host_load = offered / host_bps_;
  const double fabric_load = uplink_bps_ > 0 ? offered * leaving_ / uplink_bps_ : 0;
  CheckLoads(host_load, fabric_load, (sizes_->mean() + header_bytes) / counted, path, diagnostics);
  flows_per_ps_.assign(stage_.hosts, 0);
  for (size_t h = 0; h < stage_.hosts; ++h) {
    if (!partners_->Sends(h)) continue;
    flows_per_ps_[h] =
        flows_per_second * 1e-12 * static_cast<double>(stage_.host_rate[h].bps) / host_bps_;
  }
  total_rate_ = flows_per_second * 1e-12;
}

Forecast Poisson::Expect() const {
  Forecast forecast;
  const double by_time = duration_ ? total_rate_ * static_cast<double>(duration_->ps)
                                   : std::numeric_limits<double>::max();
  const double by_count =
      flows_ ? static_cast<double>(*flows_) : std::numeric_limits<double>::max();
  forecast.flows = std::min(by_time, by_count);
  forecast.most_flows = flows_;
  forecast.bytes = forecast.flows * sizes_->mean();
  forecast.packets = forecast.flows * packets_;
  forecast.large_flow = sizes_->LargeFlow();
  forecast.first = Time{start_.ps};
  const Duration length{static_cast<int64_t>(std::min(by_count / total_rate_, 1e18))};
  forecast.last = forecast.first + (duration_ ? std::min(length, *duration_) : length);
  forecast.open_loop = true;
  forecast.overload = overload_;
  forecast.crossing = leaving_;
  const double flow_bits = sizes_->mean() * 8e12;
  for (const double rate : flows_per_ps_) forecast.from_host_bps.push_back(rate * flow_bits);
  forecast.to_host_bps = partners_->Received(forecast.from_host_bps);
  const double payload_bps = total_rate_ * 1e12 * sizes_->mean() * 8;
  const double wire_bps =
      payload_bps + total_rate_ * 1e12 * packets_ * static_cast<double>(stage_.packet_overhead) * 8;
  forecast.host_load = payload_bps / stage_.AllHostsBps();
  forecast.host_load_with_headers = wire_bps / stage_.AllHostsBps();
  forecast.fabric_load = uplink_bps_ > 0 ? payload_bps * leaving_ / stage_.AllUplinksBps() : 0;
  return forecast;
}

std::unique_ptr<FlowSource> Poisson::Open() const { return std::make_unique<Source>(*this); }

}  // namespace heddle
