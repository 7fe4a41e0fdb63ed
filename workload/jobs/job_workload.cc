// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/job_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <numeric>

#include "workload/jobs/barrier.h"
#include "workload/jobs/critical_path.h"
#include "workload/request_list.h"

namespace heddle {
namespace {

// Reads "5" or "5-9".
std::optional<std::pair<uint32_t, uint32_t>> ParseHosts(std::string_view text) {
  const auto number = [](std::string_view digits) -> std::optional<uint32_t> {
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return value;
  };
  const size_t dash = text.find('-');
  const auto first = number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : number(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return std::pair(*first, *last);
}

const Choices<JobWorkload::Placement>& Placements() {
  using Placement = JobWorkload::Placement;
  static const Choices<Placement> placements = {{"packed", Placement::kPacked},
                                                {"cyclic", Placement::kCyclic},
                                                {"spread", Placement::kSpread},
                                                {"random", Placement::kRandom},
                                                {"list", Placement::kList}};
  return placements;
}

// Messages between hosts of one server limit the windows of the engine: a shorter latency would
// make the run slow.
constexpr Duration kLeastDomainLatency = 100_ns;

}  // namespace

void JobWorkload::DeclareJob(Fields& fields) {
  fields.Add("ranks", ranks_, Between<int64_t>(2, 1 << 20), "The number of ranks.",
             Fields::kRequired);
  DeclareJobOfFile(fields);
}

void JobWorkload::DeclareJobOfFile(Fields& fields) {
  constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
  fields.List("hosts", hosts_, {},
              "The hosts that may have ranks, by number, as single hosts and ranges: [\"0-15\", "
              "\"32\"]. Default: all.");
  fields.Choice("placement", placement_, Placements(),
                "Which host a rank is on. packed: the first ranks_per_host ranks are on the first "
                "host, and so on. cyclic: ranks go round the hosts. spread: like packed, with the "
                "first host of every leaf first, then the second of every leaf. random: like "
                "packed, with the hosts in random order. list: as placement_list says.");
  fields.List("placement_list", placement_list_, AtLeast<int64_t>(0),
              "placement list: the host of each rank.");
  fields.Add("ranks_per_host", ranks_per_host_, Between<int64_t>(1, 65'536),
             "Ranks on one host. They share its NIC.");
  fields.Add("domain_hosts", domain_hosts_, Between<int64_t>(1, 65'536),
             "So many hosts in a row, in the order in which ranks are placed on them, are one "
             "server: all their ranks have the local link between them.");
  fields.Choice("nic", nic_by_rank_, {{"hash", false}, {"by_rank", true}},
                "For hosts with several links. hash: the 5-tuple chooses the link that a message "
                "leaves through. by_rank: the i-th rank of a host has the i-th link, and the ranks "
                "behind start again with the first. A GOAL trace that names other nics than 0 "
                "chooses the link of each message itself.");
  fields.Add("share_hosts", share_hosts_,
             "Other jobs that say the same may have ranks on the same hosts.");
  fields.Add("start", start_, {.at_least = Duration{0}, .at_most = 1000_s}, "When the job starts.");
  fields.Add("iterations", iterations_, Between<int64_t>(1, kMost),
             "How many times the ranks run through the schedule.");
  fields.Add("warm_up", warm_up_, Between<int64_t>(0, kMost), "Iterations that are not measured.");
  fields.Choice("between", between_,
                {{"none", JobSettings::Between::kNone},
                 {"barrier", JobSettings::Between::kBarrier},
                 {"ideal", JobSettings::Between::kIdeal}},
                "none: a rank begins an iteration when it has finished the one before. barrier: "
                "when it has finished, too, a barrier of messages among all ranks. ideal: when all "
                "ranks have finished, and the news of it has travelled to rank 0 and back.");
  fields.AddOr("auto", "release_delay", release_delay_, {.above = Duration{0}, .at_most = 1_s},
               "How long news travels one way, with between: ideal, and from the host where a "
               "trigger fires (format: htsim_cm) to another one. auto: the sum of the link delays "
               "of the shortest path between the hosts; between: ideal: the longest one from rank "
               "0's host to that of another rank.");
  fields.Add("gap", gap_, {.at_least = Duration{0}, .at_most = 1000_s},
             "A pause before each iteration.");
  fields.Add("jitter", jitter_, {.at_least = Duration{0}, .at_most = 1000_s},
             "Each rank pauses up to this much longer, at random in each iteration.");
  fields.Choice("connections", ordered_, {{"ordered", true}, {"free", false}},
                "ordered: a message waits until the last packet of the one before it, between the "
                "same ranks and on the same channel, has been handed to the NIC. free: it does "
                "not.");
  fields.Choice(
      "ports", ports_,
      {{"connection", JobSettings::Ports::kConnection}, {"message", JobSettings::Ports::kMessage}},
      "Whether a connection's messages all have one source port, as those of a queue "
      "pair, or each has one of its own. ECMP hashes the port.");
  fields.Add("qps", qps_, Between<int64_t>(1, 256),
             "Queue pairs of a connection, which take turns with its messages. Each has a source "
             "port.");
  fields.AddOr("unlimited", "unfinished", unfinished_, Between<int64_t>(1, 1 << 20),
               "A connection has at most so many messages that have not been acknowledged; with "
               "connections: ordered.");
  fields.Add("overhead", overhead_, {.at_least = Duration{0}, .at_most = 1_s},
             "A message leaves this much later than the schedule allows it.");
  fields.Choice("send_done", send_done_,
                {{"acked", JobSettings::SendDone::kAcked},
                 {"handed", JobSettings::SendDone::kHanded},
                 {"posted", JobSettings::SendDone::kPosted}},
                "When a sent message is finished: its last byte is acknowledged, its last packet "
                "has been handed to the NIC, or it has been asked for.");
  fields.Add("local_rate", local_rate_, Above(BitRate{0}),
             "Rate of the link between ranks of one server, each way.");
  fields.Add("local_latency", local_latency_, {.at_least = Duration{0}, .at_most = 1_s},
             "Latency of the link between ranks of one server.");
  fields.Add("label", label_, "Names the job in jobs.csv.");
  DeclareCommon(fields);
  fields.Require(!unfinished_ || ordered_, "unfinished", "goes with connections: ordered");
  fields.Require(domain_hosts_ == 1 || local_latency_ >= kLeastDomainLatency, "local_latency",
                 "must be at least 100ns if servers have several hosts (domain_hosts)");
  fields.Require(warm_up_ < iterations_, "warm_up", "leaves no iteration to measure");
  fields.Require((placement_ == Placement::kList) == !placement_list_.empty(), "placement_list",
                 "goes with placement: list");
}

// --- Placement ---

void JobWorkload::Prepare(const Stage& stage, std::string_view path, FilesRead& files,
                          Diagnostics& diagnostics) {
  stage_ = stage;
  schedule_.reset();
  if (!ReadFiles(path, files, diagnostics)) return;
  CheckSchedule(path, diagnostics);
  std::vector<HostId> candidates = Candidates(path, diagnostics);
  if (diagnostics.IsSound(path)) Place(std::move(candidates), path, diagnostics);
  if (!diagnostics.IsSound(path)) return;
  CheckServers(heddle::ServersOf(host_of_rank_, static_cast<uint32_t>(domain_hosts_)), path,
               diagnostics);
  WarnOfNics(path, diagnostics);
  const std::shared_ptr<const Schedule> schedule = MakeSchedule(0);
  if (!depends_on_number()) schedule_ = schedule;
  totals_ = schedule->Totals();
  if (computes()) computing_ = ComputingTime(*schedule);
  if (totals_.largest > stage.max_flow_size) {
    diagnostics.ErrorAt(path, fmt::format("has messages of {} bytes; the transport's longest flow "
                                          "has {}; use more channels, or chunks",
                                          totals_.largest, stage.max_flow_size));
  }
}

std::vector<HostId> JobWorkload::Candidates(std::string_view path, Diagnostics& diagnostics) const {
  std::vector<bool> chosen(stage_.hosts, hosts_.empty());
  for (size_t i = 0; i < hosts_.size(); ++i) {
    const std::string place = fmt::format("{}.hosts[{}]", path, i);
    const auto range = ParseHosts(hosts_[i]);
    if (!range) {
      diagnostics.ErrorAt(place, fmt::format("\"{}\" is neither a host's number nor a range such "
                                             "as \"0-15\"",
                                             hosts_[i]));
    } else if (range->second >= stage_.hosts) {
      diagnostics.ErrorAt(place, fmt::format("there is no host {}; there are {}, numbered from 0",
                                             range->second, stage_.hosts));
    } else {
      for (uint32_t h = range->first; h <= range->second; ++h) chosen[h] = true;
    }
  }
  std::vector<HostId> hosts;
  for (size_t h = 0; h < chosen.size(); ++h) {
    if (chosen[h]) hosts.push_back(static_cast<HostId>(h));
  }
  return hosts;
}

void JobWorkload::Place(std::vector<HostId> candidates, std::string_view path,
                        Diagnostics& diagnostics) {
  const size_t per_host = static_cast<size_t>(ranks_per_host_);
  const size_t needed = (ranks() + per_host - 1) / per_host;
  if (needed > candidates.size()) {
    return diagnostics.ErrorAt(fmt::format("{}.ranks", path),
                               fmt::format("{} ranks at {} a host need {} hosts, there are {}",
                                           ranks(), per_host, needed, candidates.size()));
  }
  if (placement_ == Placement::kList) return PlaceByList(candidates, path, diagnostics);
  if (placement_ == Placement::kSpread) candidates = Spread(candidates);
  if (placement_ == Placement::kRandom) {
    stage_.Stream("placement", 0).MoveToFront(candidates, candidates.size());
  }
  host_of_rank_.clear();
  for (size_t rank = 0; rank < ranks(); ++rank) {
    const bool goes_round = placement_ == Placement::kCyclic;
    host_of_rank_.push_back(candidates[goes_round ? rank % needed : rank / per_host]);
  }
}

// The first host of every leaf, then the second of every leaf, and so on.
std::vector<HostId> JobWorkload::Spread(const std::vector<HostId>& candidates) const {
  std::map<uint16_t, uint32_t> seen;  // Hosts of each leaf so far.
  std::vector<std::tuple<uint32_t, uint16_t, HostId>> order;
  for (const HostId host : candidates) {
    const uint16_t leaf = stage_.leaf_of_host[host];
    order.emplace_back(seen[leaf]++, leaf, host);
  }
  std::ranges::sort(order);
  std::vector<HostId> spread;
  for (const auto& [turn, leaf, host] : order) spread.push_back(host);
  return spread;
}

void JobWorkload::PlaceByList(const std::vector<HostId>& candidates, std::string_view path,
                              Diagnostics& diagnostics) {
  if (placement_list_.size() != ranks()) {
    return diagnostics.ErrorAt(
        fmt::format("{}.placement_list", path),
        fmt::format("names {} hosts for {} ranks", placement_list_.size(), ranks()));
  }
  std::map<int64_t, int64_t> count;
  host_of_rank_.clear();
  for (size_t rank = 0; rank < ranks(); ++rank) {
    const int64_t host = placement_list_[rank];
    const std::string place = fmt::format("{}.placement_list[{}]", path, rank);
    const bool is_candidate =
        host < 65'536 && std::ranges::binary_search(candidates, static_cast<HostId>(host));
    if (!is_candidate) {
      diagnostics.ErrorAt(place, fmt::format("host {} is not among the job's hosts", host));
    } else if (++count[host] > ranks_per_host_) {
      diagnostics.ErrorAt(
          place, fmt::format("gives host {} more than {} rank{}; ranks_per_host allows no more",
                             host, ranks_per_host_, ranks_per_host_ == 1 ? "" : "s"));
    } else {
      host_of_rank_.push_back(static_cast<HostId>(host));
    }
  }
}

void JobWorkload::WarnOfNics(std::string_view path, Diagnostics& diagnostics) const {
  const bool are_named = CheckNamedNics(diagnostics);
  if (!nic_by_rank_) return;
  const std::string place = fmt::format("{}.nic", path);
  const auto some = [&](const auto& has) { return std::ranges::any_of(host_of_rank_, has); };
  if (!some([&](HostId host) { return stage_.links_of_host[host] > 1; })) {
    return diagnostics.WarningAt(place, "changes nothing: each host of the job has one link");
  }
  if (are_named) {
    return diagnostics.WarningAt(place, "changes nothing: the trace names the nic of each message");
  }
  if (!some([&](HostId host) { return stage_.has_several_leaves[host]; })) return;
  diagnostics.WarningAt(
      place,
      "links of a host lead to different leaves: a message leaves through its "
      "rank's link if a shortest path begins there, but the routes decide through "
      "which link it arrives");
}

// --- The job ---

Forecast JobWorkload::Expect() const {
  const double rounds = static_cast<double>(iterations_);
  Forecast forecast;
  forecast.flows = rounds * totals_.messages;
  forecast.most_flows = static_cast<int64_t>(std::min(forecast.flows, 1e18));
  forecast.bytes = rounds * totals_.bytes;
  forecast.packets = forecast.bytes / static_cast<double>(stage_.mss) + forecast.flows;
  forecast.large_flow = totals_.largest;
  forecast.first = Time{start_.ps};
  // The time for the bytes of a rank at its host's rate; latencies are the run's patience.
  const double bps = static_cast<double>(std::ranges::min(stage_.host_rate).bps);
  const double ps = rounds * (totals_.bytes_of_rank * 8e12 / bps +
                              static_cast<double>((gap_ + jitter_ + computing_).ps));
  forecast.last = forecast.first + Duration{static_cast<int64_t>(std::min(ps, 1e18))};
  return forecast;
}

std::unique_ptr<FlowSource> JobWorkload::Open() const {
  return std::make_unique<RequestList>(std::vector<FlowRequest>());
}

std::unique_ptr<Job> JobWorkload::MakeJob(uint32_t number) const {
  JobSettings settings{.kind = kind(),
                       .label = label_,
                       .placement = WordOf(Placements(), placement_),
                       .operation = Operation(),
                       .workload = stage_.index,
                       .seed = stage_.seed,
                       .host_of_rank = host_of_rank_,
                       .start = Time{start_.ps},
                       .iterations = static_cast<uint32_t>(iterations_),
                       .warm_up = static_cast<uint32_t>(warm_up_),
                       .measured = measured,
                       .gap = gap_,
                       .jitter = jitter_,
                       .ordered = ordered_,
                       .ports = ports_,
                       .qps = static_cast<uint32_t>(qps_),
                       .send_done = send_done_,
                       .local_rate = local_rate_,
                       .local_latency = local_latency_,
                       .unfinished = static_cast<uint32_t>(unfinished_.value_or(0)),
                       .overhead = overhead_,
                       .local_overhead = overhead_,
                       .share_hosts = share_hosts_,
                       .between = between_,
                       .release_delay = release_delay_,
                       .domain_hosts = static_cast<uint32_t>(domain_hosts_),
                       .nic_by_rank = nic_by_rank_};
  Adjust(settings);
  std::shared_ptr<const Schedule> schedule =
      schedule_ != nullptr ? schedule_ : MakeSchedule(number);
  if (between_ == JobSettings::Between::kBarrier && iterations_ > 1) {
    schedule = MakeWithBarrier(std::move(schedule));
  }
  return std::make_unique<Job>(number, std::move(settings), std::move(schedule));
}

}  // namespace heddle
