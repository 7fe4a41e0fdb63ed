// SPDX-License-Identifier: Apache-2.0

#include "workload/poisson.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/due_tree.h"
#include "workload/derangement.h"

namespace heddle {
namespace {

// The hosts on each leaf.
std::vector<std::vector<HostId>> HostsByLeaf(const Stage& stage) {
  std::vector<std::vector<HostId>> hosts(stage.leaves);
  for (size_t h = 0; h < stage.hosts; ++h) {
    hosts[stage.leaf_of_host[h]].push_back(static_cast<HostId>(h));
  }
  return hosts;
}

}  // namespace

// Who may send, and to whom.
class Poisson::Partners {
 public:
  Partners(Pairs pairs, const Stage& stage) : pairs_(pairs), stage_(stage) {
    const std::vector<std::vector<HostId>> by_leaf = HostsByLeaf(stage);
    for (const std::vector<HostId>& hosts : by_leaf) {
      first_on_leaf_.push_back(in_leaf_order_.size());
      in_leaf_order_.insert(in_leaf_order_.end(), hosts.begin(), hosts.end());
    }
    first_on_leaf_.push_back(in_leaf_order_.size());
    if (pairs == Pairs::kPermutation) destinations_ = Derangement(stage, false);
  }

  bool Sends(size_t host) const {
    return pairs_ != Pairs::kClientServer || stage_.leaf_of_host[host] >= ClientLeaves();
  }

  HostId Draw(size_t src, Rng& rng) const {
    switch (pairs_) {
      case Pairs::kPermutation:
        return destinations_[src];
      case Pairs::kClientServer:
        return in_leaf_order_[rng.Below(static_cast<uint32_t>(first_on_leaf_[ClientLeaves()]))];
      case Pairs::kInterRack: {
        const size_t leaf = stage_.leaf_of_host[src];
        const size_t here = first_on_leaf_[leaf + 1] - first_on_leaf_[leaf];
        size_t drawn = rng.Below(static_cast<uint32_t>(stage_.hosts - here));
        if (drawn >= first_on_leaf_[leaf]) drawn += here;
        return in_leaf_order_[drawn];
      }
      case Pairs::kAny:
        break;
    }
    const uint32_t drawn = rng.Below(static_cast<uint32_t>(stage_.hosts - 1));
    return static_cast<HostId>(drawn + (drawn >= src ? 1 : 0));
  }

  // What each host receives if each of those that send sends `from[h]`.
  std::vector<double> Received(const std::vector<double>& from) const {
    std::vector<double> to(stage_.hosts, 0);
    double total = 0;
    std::vector<double> of_leaf(stage_.leaves, 0);
    for (size_t h = 0; h < stage_.hosts; ++h) {
      total += from[h];
      of_leaf[stage_.leaf_of_host[h]] += from[h] / OthersOutside(h);
    }
    double outside = 0;  // Of all leaves, to each host that is not theirs.
    for (const double share : of_leaf) outside += share;
    for (size_t h = 0; h < stage_.hosts; ++h) {
      const size_t leaf = stage_.leaf_of_host[h];
      switch (pairs_) {
        case Pairs::kPermutation:
          to[destinations_[h]] += from[h];
          break;
        case Pairs::kClientServer:
          if (!Sends(h)) to[h] = total / static_cast<double>(first_on_leaf_[ClientLeaves()]);
          break;
        case Pairs::kInterRack:
          to[h] = outside - of_leaf[leaf];
          break;
        case Pairs::kAny:
          to[h] = (total - from[h]) / static_cast<double>(stage_.hosts - 1);
          break;
      }
    }
    return to;
  }

  // The share of `src`'s flows that leave its rack.
  double Leaving(size_t src) const {
    const size_t leaf = stage_.leaf_of_host[src];
    if (pairs_ == Pairs::kPermutation) {
      return stage_.leaf_of_host[destinations_[src]] == leaf ? 0 : 1;
    }
    if (pairs_ != Pairs::kAny) return 1;
    const double others = static_cast<double>(first_on_leaf_[leaf + 1] - first_on_leaf_[leaf] - 1);
    return 1 - others / static_cast<double>(stage_.hosts - 1);
  }

 private:
  // Hosts on other leaves than `h`, at least 1.
  double OthersOutside(size_t h) const {
    const size_t leaf = stage_.leaf_of_host[h];
    const size_t here = first_on_leaf_[leaf + 1] - first_on_leaf_[leaf];
    return static_cast<double>(std::max<size_t>(stage_.hosts - here, 1));
  }
  size_t ClientLeaves() const { return stage_.leaves / 2; }

  const Pairs pairs_;
  const Stage& stage_;
  std::vector<HostId> in_leaf_order_;
  std::vector<size_t> first_on_leaf_;  // Into in_leaf_order_, and its size.
  std::vector<HostId> destinations_;
};

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
  // The next arrival at `host`, a gap after the last.
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
  fields.Choice("load_ref", load_of_, {{"host", LoadOf::kHost}, {"fabric", LoadOf::kFabric}},
                "host: of the links from the hosts that send; fabric: of all links from leaves to "
                "other switches, by the flows that leave their leaf.");
  fields.Add("load_headers", headers_, "Count headers in the load, not payload alone.");
  fields.Add("overload", overload_,
             "Accept a load of more than 1 on the hosts' links or the leaves' uplinks.");
  fields.Choice(
      "pairs", pairs_,
      {{"any", Pairs::kAny},
       {"inter_rack", Pairs::kInterRack},
       {"client_server", Pairs::kClientServer},
       {"permutation", Pairs::kPermutation}},
      "Destinations: any other host; one on another leaf; hosts of the second half of the "
      "leaves to those of the first; or always the same, by a random permutation.");
  fields.Add("start", start_, {.at_least = Duration{0}, .at_most = 1000_s},
             "When it begins; each host's first flow comes one gap later.");
  fields.AddOr(
      "none", "duration", duration_, {.above = Duration{0}, .at_most = 1000_s},
      "For how long flows start. Set this, or flows, or both: what is reached first ends it.");
  fields.AddOr("none", "flows", flows_, Between<int64_t>(1, 4'000'000'000),
               "How many flows start, on all hosts together.");
  DeclareCommon(fields);
  fields.Require(duration_ || flows_, "duration", "set duration, flows or both: it must end");
}

void Poisson::Load(const Stage& stage, std::string_view path, Diagnostics& diagnostics) {
  const std::string sizes = fmt::format("{}.sizes", path);
  if (!diagnostics.IsSound(sizes)) return;
  if (const size_t file = sizes_text_.find("file:"); file != std::string::npos) {
    const size_t name = file + std::strlen("file:");
    sizes_text_.replace(name, std::string::npos, stage.PathTo(sizes_text_.substr(name)));
  }
  std::string error;
  sizes_ = ParseSizes(sizes_text_, {interpolation_, largest_}, error);
  if (!sizes_) diagnostics.ErrorAt(sizes, error);
}

void Poisson::Prepare(const Stage& stage, std::string_view path, Diagnostics& diagnostics) {
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
  PrepareRates(path, diagnostics);
}

void Poisson::PrepareRates(std::string_view path, Diagnostics& diagnostics) {
  partners_ = std::make_shared<Partners>(pairs_, stage_);
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
  // client_server uses the uplinks of the sending half only.
  const size_t first_leaf = pairs_ == Pairs::kClientServer ? stage_.leaves / 2 : 0;
  uplink_bps_ = 0;
  for (size_t l = first_leaf; l < stage_.leaves; ++l) {
    uplink_bps_ += static_cast<double>(stage_.uplink_bps[l]);
  }
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
  if (std::max(host_load, fabric_load) > 1 + 1e-9 && !overload_) {
    diagnostics.ErrorAt(
        fmt::format("{}.load", path),
        fmt::format(
            "offers {:.3g} of the hosts' links and {:.3g} of the leaves' uplinks, more than "
            "they carry, so queues grow without end; lower it, or set overload: true",
            host_load, fabric_load));
  }
  const double wire = (sizes_->mean() + header_bytes) / counted;
  if (!overload_ && std::max(host_load, fabric_load) <= 1 + 1e-9 &&
      std::max(host_load, fabric_load) * wire > 1) {
    diagnostics.WarningAt(
        fmt::format("{}.load", path),
        fmt::format("with headers the {} are loaded {:.3g} times over; queues grow as long as it "
                    "lasts",
                    host_load >= fabric_load ? "hosts' links" : "leaves' uplinks",
                    std::max(host_load, fabric_load) * wire));
  }
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
  forecast.host_load = payload_bps / host_bps_;
  forecast.host_load_with_headers = wire_bps / host_bps_;
  forecast.fabric_load = uplink_bps_ > 0 ? payload_bps * leaving_ / uplink_bps_ : 0;
  return forecast;
}

std::unique_ptr<FlowSource> Poisson::Open() const { return std::make_unique<Source>(*this); }

}  // namespace heddle
