// SPDX-License-Identifier: Apache-2.0

#include "workload/incast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <queue>
#include <vector>

#include "workload/request_list.h"

namespace heddle {
namespace {

constexpr uint16_t kIncastPort = 200;

}  // namespace

// Draws the next query once all flows that start before it have been handed out.
class Incast::Source final : public FlowSource {
 public:
  explicit Source(const Incast& settings)
      : settings_(settings),
        query_rng_(settings.stage_.Stream("incast", 0)),
        time_rng_(settings.stage_.Stream("arrival", 0)),
        jitter_rng_(settings.stage_.Stream("jitter", 0)),
        next_query_{settings.start_.ps},
        end_(settings.duration_ ? Time{settings.start_.ps} + *settings.duration_ : kNever) {
    if (settings_.load_) next_query_ += time_rng_.ExponentialDuration(settings_.mean_gap_ps_);
    Draw();
  }

  const FlowRequest* Front() override {
    return pending_.empty() ? nullptr : &pending_.top().request;
  }
  void Pop() override {
    pending_.pop();
    Draw();
  }

 private:
  struct Pending {
    FlowRequest request;
    uint64_t order;
    bool operator<(const Pending& other) const {
      return request.start != other.request.start ? request.start > other.request.start
                                                  : order > other.order;
    }
  };

  bool HasQuery() const {
    return next_query_ < end_ && (settings_.load_ || queries_drawn_ < settings_.queries_);
  }

  // A later query's flows start no earlier than the query.
  void Draw() {
    while (HasQuery() && (pending_.empty() || next_query_ <= pending_.top().request.start)) {
      DrawQuery();
    }
  }

  void DrawQuery() {
    ++queries_drawn_;
    const HostId receiver = settings_.receiver_ ? static_cast<HostId>(*settings_.receiver_)
                                                : static_cast<HostId>(query_rng_.Below(Hosts()));
    const std::vector<HostId> senders = DrawSenders(receiver);
    for (size_t i = 0; i < senders.size(); ++i) {
      const FlowRequest request{.start = next_query_ + Jitter(settings_.jitter_, jitter_rng_),
                                .src = senders[i],
                                .dst = receiver,
                                .size = SizeOf(i),
                                .dport = kIncastPort,
                                .sport = std::nullopt,
                                .job = static_cast<uint32_t>(queries_drawn_),
                                .asked = next_query_};
      pending_.push({request, order_++});
    }
    next_query_ += settings_.load_ ? time_rng_.ExponentialDuration(settings_.mean_gap_ps_)
                                   : settings_.period_.value_or(Duration{0});
  }

  // Draws `fan_in` distinct hosts, none of them the receiver.
  std::vector<HostId> DrawSenders(HostId receiver) {
    const Stage& stage = settings_.stage_;
    std::vector<HostId> hosts;
    for (uint32_t h = 0; h < Hosts(); ++h) {
      const bool same_rack = stage.leaf_of_host[h] == stage.leaf_of_host[receiver];
      if (h == receiver || (same_rack && settings_.senders_ == Senders::kOtherRacks)) continue;
      hosts.push_back(static_cast<HostId>(h));
    }
    const size_t wanted = std::min(static_cast<size_t>(settings_.fan_in_), hosts.size());
    query_rng_.MoveToFront(hosts, wanted);
    hosts.resize(wanted);
    return hosts;
  }

  // A total that does not divide evenly gives the first senders a byte more.
  int64_t SizeOf(size_t i) const {
    if (settings_.bytes_each_) return settings_.bytes_each_->count;
    const int64_t total = settings_.bytes_total_->count;
    return total / settings_.fan_in_ +
           (static_cast<int64_t>(i) < total % settings_.fan_in_ ? 1 : 0);
  }

  uint32_t Hosts() const { return static_cast<uint32_t>(settings_.stage_.hosts); }

  const Incast& settings_;
  Rng query_rng_;
  Rng time_rng_;
  Rng jitter_rng_;
  Time next_query_;
  const Time end_;
  int64_t queries_drawn_ = 0;
  uint64_t order_ = 0;
  std::priority_queue<Pending> pending_;
};

void Incast::Declare(Fields& fields) {
  fields.Add("fan_in", fan_in_, Between<int64_t>(1, 65'535), "Hosts that answer a query.",
             Fields::kRequired);
  fields.AddOr("unset", "bytes_each", bytes_each_, {.at_least = 1_B}, "Size of each answer.");
  fields.AddOr("unset", "bytes_total", bytes_total_, {.at_least = 1_B},
               "Size of all answers to a query together.");
  fields.AddOr("random", "receiver", receiver_, AtLeast<int64_t>(0),
               "The host that asks; random: another for each query.");
  fields.Choice("senders", senders_,
                {{"any", Senders::kAny}, {"other_racks", Senders::kOtherRacks}},
                "Who answers: any other hosts, or only hosts on other leaves.");
  fields.Add("queries", queries_, Between<int64_t>(1, 1'000'000'000),
             "How many queries there are, unless load is set.");
  fields.AddOr("unset", "period", period_, {.above = Duration{0}, .at_most = 1000_s},
               "Time from query to query.");
  fields.AddOr("unset", "load", load_, {.above = 0.0, .at_most = 1.0},
               "Queries come as a Poisson process with this load on all hosts' links.");
  fields.Add("overload", overload_, "Accept a load of more than 1 on a receiver's link.");
  fields.AddOr("none", "duration", duration_, {.above = Duration{0}, .at_most = 1000_s},
               "Duration of the queries; needed with load.");
  fields.Add("start", start_, {.at_least = Duration{0}, .at_most = 1000_s}, "The first query.");
  fields.Add("jitter", jitter_, {.at_least = Duration{0}, .at_most = 1000_s},
             "Each answer starts up to this much after its query, at random.");
  DeclareCommon(fields);
  fields.Require(bytes_each_.has_value() != bytes_total_.has_value(), "bytes_each",
                 "set either bytes_each or bytes_total");
  fields.Require(!bytes_total_ || bytes_total_->count >= fan_in_, "bytes_total",
                 "is less than a byte for each sender");
  fields.Require(!load_ || !period_, "period", "set either period or load");
  fields.Require(!load_ || duration_, "duration", "is needed with load: it must end");
  fields.Require(load_ || period_ || queries_ == 1, "period",
                 "several queries need a period or a load");
}

void Incast::Prepare(const Stage& stage, std::string_view path, FilesRead& /*files*/,
                     Diagnostics& diagnostics) {
  stage_ = stage;
  const std::string fan_in = fmt::format("{}.fan_in", path);
  if (receiver_ && static_cast<size_t>(*receiver_) >= stage.hosts) {
    return diagnostics.ErrorAt(
        fmt::format("{}.receiver", path),
        fmt::format("there is no host {}; there are {}, numbered from 0", *receiver_, stage.hosts));
  }
  // Returns the fewest senders that any receiver can have.
  std::vector<size_t> on_leaf(stage.leaves, 0);
  for (const uint16_t leaf : stage.leaf_of_host) ++on_leaf[leaf];
  const size_t excluded = senders_ == Senders::kAny ? 1
                          : receiver_ ? on_leaf[stage.leaf_of_host[static_cast<size_t>(*receiver_)]]
                                      : std::ranges::max(on_leaf);
  if (static_cast<size_t>(fan_in_) > stage.hosts - excluded) {
    return diagnostics.ErrorAt(fan_in, fmt::format("{} hosts are to answer, but only {} can",
                                                   fan_in_, stage.hosts - excluded));
  }
  CheckFlowSize(bytes_each_ ? *bytes_each_ : *bytes_total_, stage,
                fmt::format("{}.{}", path, bytes_each_ ? "bytes_each" : "bytes_total"),
                diagnostics);
  if (!load_) return CheckPeriod(path, diagnostics);
  mean_gap_ps_ = QueryBytes() * 8 / (*load_ * stage.AllHostsBps()) * 1e12;
}

// Returns the bytes of all answers to a query.
double Incast::QueryBytes() const {
  return bytes_each_ ? static_cast<double>(bytes_each_->count * fan_in_)
                     : static_cast<double>(bytes_total_->count);
}

// Reports queries that come faster than a receiver's link carries their answers, unless overload is
// meant: they pile up.
void Incast::CheckPeriod(std::string_view path, Diagnostics& diagnostics) const {
  if (!period_ || queries_ == 1 || overload_) return;
  const double receivers = receiver_ ? 1 : static_cast<double>(stage_.hosts);
  const BitRate rate = receiver_ ? stage_.downlink_rate[static_cast<size_t>(*receiver_)]
                                 : std::ranges::min(stage_.downlink_rate);
  const double share = QueryBytes() * 8e12 / static_cast<double>(period_->ps) / receivers /
                       static_cast<double>(rate.bps);
  if (share <= 1) return;
  diagnostics.WarningAt(
      fmt::format("{}.period", path),
      fmt::format(
          "the load on a receiver's link is {:.3g} times its capacity, as long as the queries last",
          share));
}

// Returns the time from the first query to the last; with a load, the time in which there may be
// queries.
Duration Incast::Length() const {
  if (load_) return *duration_;
  const double periods =
      static_cast<double>(period_.value_or(Duration{0}).ps) * static_cast<double>(queries_ - 1);
  const Duration length{static_cast<int64_t>(std::min(periods, 1e18))};
  // A query at the very end of the duration is not asked any more.
  return std::min(length, duration_ ? *duration_ - 1_ps : length);
}

Forecast Incast::Expect() const {
  Forecast forecast;
  const double queries = load_     ? static_cast<double>(duration_->ps) / mean_gap_ps_
                         : period_ ? static_cast<double>(Length() / *period_ + 1)
                                   : 1;
  const double each = bytes_each_
                          ? static_cast<double>(bytes_each_->count)
                          : static_cast<double>(bytes_total_->count) / static_cast<double>(fan_in_);
  forecast.flows = queries * static_cast<double>(fan_in_);
  if (!load_) forecast.most_flows = static_cast<int64_t>(queries) * fan_in_;
  forecast.bytes = forecast.flows * each;
  forecast.packets = forecast.flows * std::ceil(each / static_cast<double>(stage_.mss));
  forecast.large_flow = static_cast<int64_t>(std::ceil(each));
  forecast.first = Time{start_.ps};
  forecast.last = std::min(forecast.first + Length() + jitter_, kNever);
  forecast.open_loop = load_.has_value();
  if (load_) {
    // Bits per second, spread over the senders and receivers that may be drawn.
    const double bps = each * static_cast<double>(fan_in_) * 8e12 / mean_gap_ps_;
    const double hosts = static_cast<double>(stage_.hosts);
    forecast.from_host_bps.assign(stage_.hosts, bps / hosts);
    forecast.to_host_bps.assign(stage_.hosts, receiver_ ? 0 : bps / hosts);
    if (receiver_) forecast.to_host_bps[static_cast<size_t>(*receiver_)] = bps;
    double wire = forecast.bytes + forecast.packets * static_cast<double>(stage_.packet_overhead);
    forecast.overload = overload_;
    forecast.host_load = *load_;
    forecast.host_load_with_headers = *load_ * wire / forecast.bytes;
    const bool crosses = senders_ == Senders::kOtherRacks && stage_.AllUplinksBps() > 0;
    if (crosses) forecast.fabric_load = bps / stage_.AllUplinksBps();
  }
  forecast.flows_per_query = fan_in_;
  forecast.query_spread = jitter_;
  if (senders_ == Senders::kOtherRacks) forecast.crossing = 1;
  return forecast;
}

std::unique_ptr<FlowSource> Incast::Open() const { return std::make_unique<Source>(*this); }

}  // namespace heddle
