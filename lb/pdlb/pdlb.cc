// SPDX-License-Identifier: Apache-2.0
// PDLB (Gao et al., J. Cloud Computing 12:173, 2023). The sending host cuts its flows into cells of
// some packets, and each cell draws a path: the cell's number enters the hash of every switch. The
// paper's model of completion time (lb/pdlb/fct_model.h) gives the best number of packets for the
// share of slow paths, which the host measures by the delays of ACKs. ACKs return over the path of
// the data: otherwise a slow path would show in the delays of others.
//
// The paper is silent or contradicts itself in places; our answers:
// - Hosts share estimates among destinations on one leaf, which are behind the same paths.
// - A path is slow if a delay is above theta times the least of its window. The published rule,
//   twice the mean, cannot find several slow paths among few.
// - The model's window is a path's bandwidth-delay product plus the queue that DCTCP leaves.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/random.h"
#include "fabric/marking.h"
#include "lb/parts/follow_path.h"
#include "lb/parts/load_balancer.h"
#include "lb/pdlb/estimator.h"
#include "lb/pdlb/fct_model.h"

namespace heddle {
namespace {

enum class Sizes { kAll, kPowers };
enum class CellRoute { kHash, kTurns };
enum class Signal { kRtt, kOneWay };
enum class Collect { kPiggyback, kProbes };
enum class Sharing { kLeaf, kHost };

struct PdlbSettings {
  Duration period = 100_us;
  std::optional<int64_t> granularity;
  int64_t initial = 1;
  Sizes sizes = Sizes::kAll;
  SlowRule slow_rule = SlowRule::kAboveLeast;
  double theta = 1.4;
  int64_t min_samples = 8;
  Duration stale = 10_ms;
  Sharing sharing = Sharing::kLeaf;
  Signal signal = Signal::kRtt;
  Collect collect = Collect::kPiggyback;
  CellRoute cell_route = CellRoute::kHash;
  PdlbForm form = PdlbForm::kCorrected;
  int64_t model_packets = 10'000;
  std::optional<int64_t> model_paths;
  std::optional<BitRate> model_rate;
  std::optional<int64_t> model_queue;
};

constexpr int64_t kFullPacket = 1'500;
// 2^n KB in packets of 1460 bytes, n = 0 ... 6.
constexpr std::array<int, 7> kPowersOfTwo = {1, 2, 3, 6, 11, 22, 44};

// The inputs of the model. Delays are rounded, see BestFor().
struct ModelQuestion {
  int64_t slow_percent = -1;
  int64_t slowness_tenths = 0;
  int64_t paths = 0;
  int64_t delay_ps = 0;
  int64_t rate_bps = 0;
  int64_t queue = 0;    // Packets that DCTCP leaves waiting.
  int64_t packets = 0;  // The flow's packets.
  PdlbForm form = PdlbForm::kCorrected;
  Sizes sizes = Sizes::kAll;

  friend bool operator==(const ModelQuestion&, const ModelQuestion&) = default;
};

// A cache of the model's answers, which take tens of microseconds each and are asked for over and
// over. An answer depends on the question alone, so the cache changes no result. Two questions that
// share a slot replace each other.
class ModelMemory {
 public:
  template <class Model>
  int Ask(const ModelQuestion& question, const Model& model) {
    uint64_t hash = 0;
    for (const int64_t part : {question.slow_percent, question.slowness_tenths, question.paths,
                               question.delay_ps, question.rate_bps}) {
      hash = Mix64(hash ^ static_cast<uint64_t>(part));
    }
    Entry& entry = entries_[hash % entries_.size()];
    if (entry.question != question) entry = {question, model()};
    return entry.answer;
  }

 private:
  struct Entry {
    ModelQuestion question;
    int answer = 0;
  };
  std::vector<Entry> entries_ = std::vector<Entry>(32'768);
};

// Returns the cache that all hosts of one thread share.
ModelMemory& Answers() {
  thread_local ModelMemory answers;
  return answers;
}

// The estimate for the paths to one leaf, or host.
struct Estimator {
  DelayWindow window;
  HostId dst = 0;  // Destination of the latest flow; stands for all others.
  int64_t granularity = 1;
  PathContrast contrast;  // Result of the last evaluation,
  int64_t paths = 0;      // and its number of paths; 0: no evaluation yet.
  int64_t flows = 0;      // Active flows.
  bool armed = false;
  Time last_sample;
};

// The header of a probe and its echo.
struct ProbeHeader {
  uint32_t one_way_ns;
  bool is_echo;
};

class PdlbHost final : public HostPolicy {
 public:
  PdlbHost(const PdlbSettings& settings, Rng rng)
      : settings_(settings),
        rng_(rng),
        phase_{static_cast<int64_t>(rng_.Uniform() * static_cast<double>(settings.period.ps))} {
    if (settings.sizes == Sizes::kAll) sizes_ = AllPdlbGranularities();
    if (settings.sizes == Sizes::kPowers) sizes_.assign(kPowersOfTwo.begin(), kPowersOfTwo.end());
  }

  void OnFlowStart(HostView& view, HostFlow& flow) override {
    State& state = flow.State<State>();
    if (view.LeafOf(flow.dst) == view.LeafOf(view.id())) return;
    state.estimator = &EstimatorOf(view, flow.dst);
    state.cell = static_cast<uint16_t>(rng_.Next());
    // Odd, so that a flow's cells have distinct numbers until all numbers have been used.
    state.stride = static_cast<uint16_t>(rng_.Next() | 1);
    Route(view, flow, state);
    Estimator& estimator = *state.estimator;
    estimator.dst = flow.dst;
    ++estimator.flows;
    ForgetIfStale(estimator, view.now());
    Arm(view, estimator);
  }

  void OnFlowEnd(HostView& /*view*/, HostFlow& flow) override {
    if (Estimator* estimator = flow.State<State>().estimator) --estimator->flows;
  }

  void OnSend(HostView& view, HostFlow& flow, Packet& packet) override {
    State& state = flow.State<State>();
    if (state.estimator == nullptr) return;
    if (state.sent >= state.estimator->granularity) {
      state.cell = static_cast<uint16_t>(state.cell + state.stride);
      state.sent = 0;
      ++cells_;
      Route(view, flow, state);
    } else if (state.version != view.PathsVersion()) {
      Route(view, flow, state);
    }
    ++state.sent;
    packet.entropy = state.cell;
    packet.path = state.path;
  }

  void OnSendAck(HostView& view, const Packet& data, Packet& ack) override {
    if (settings_.signal == Signal::kOneWay) ack.SetScheme(NanosecondsSince(data.sent, view.now()));
    if (settings_.signal == Signal::kRtt) ack.path = data.taken;
  }

  // Duplicate ACKs give samples too: packets that wait for a slow one have come over fast paths,
  // and without them slow paths would seem to be many. An ACK echoes the time of the packet that
  // caused it, original or retransmission, so retransmissions are not ambiguous (Karn).
  void OnAck(HostView& view, HostFlow& flow, const Packet& ack, const AckNews& /*news*/) override {
    Estimator* estimator = flow.State<State>().estimator;
    if (estimator == nullptr || settings_.collect == Collect::kProbes) return;
    if (settings_.signal == Signal::kRtt) return AddSample(view, *estimator, view.now() - ack.sent);
    AddSample(view, *estimator, 2'000_ps * ack.Scheme<uint32_t>());
  }

  void OnControl(HostView& view, const Packet& packet) override {
    const ProbeHeader header = packet.Scheme<ProbeHeader>();
    if (!header.is_echo) return Echo(view, packet);
    const auto found = estimators_.find(KeyOf(view, packet.src));
    if (found == estimators_.end()) return;
    const bool one_way = settings_.signal == Signal::kOneWay;
    AddSample(view, *found->second,
              one_way ? 2'000_ps * header.one_way_ns : view.now() - packet.sent);
  }

  void OnTimer(HostView& view, uint32_t id) override {
    Estimator& estimator = *estimators_.at(static_cast<uint16_t>(id));
    estimator.armed = false;
    Evaluate(view, estimator);
    if (estimator.flows == 0) return;  // The next flow sets the timer again.
    if (settings_.collect == Collect::kProbes) Probe(view, estimator);
    Arm(view, estimator);
  }

  size_t StateBytes() const override {
    return estimators_.size() * (sizeof(Estimator) + DelayWindow::kSamples * sizeof(uint32_t));
  }
  size_t FlowBytes() const override { return sizeof(State); }
  std::vector<Counter> Counters() const override {
    int64_t largest = 0;
    for (const auto& [key, estimator] : estimators_) {
      largest = std::max(largest, estimator->granularity);
    }
    return {{"cells", cells_},
            {"evaluations", evaluations_},
            {"changes", changes_},
            {"samples", samples_},
            {"granularity", largest},
            {"probes", probes_},
            {"probe_bytes", probe_bytes_}};
  }

  // Named by the leaf, or host, that the estimate is for.
  std::vector<Gauge> Gauges(Time /*now*/) const override {
    std::vector<Gauge> gauges;
    for (const auto& [key, estimator] : estimators_) {
      const PathContrast& contrast = estimator->contrast;
      const double paths = static_cast<double>(estimator->paths);
      gauges.push_back(
          {fmt::format("granularity[{}]", key), static_cast<double>(estimator->granularity)});
      if (estimator->paths == 0) continue;
      gauges.push_back({fmt::format("slow_share[{}]", key), contrast.slow_share});
      gauges.push_back({fmt::format("slow_paths[{}]", key), contrast.slow_share * paths});
      gauges.push_back({fmt::format("slowness[{}]", key), contrast.slowness});
    }
    return gauges;
  }

 private:
  struct State {
    Estimator* estimator;  // Null if there is only one path.
    uint32_t version;      // Version of the paths when `path` was chosen.
    uint32_t sent;         // Packets of the current cell.
    uint16_t cell;
    uint16_t stride;
    uint16_t path;
  };

  static uint32_t NanosecondsSince(Time sent, Time now) {
    return static_cast<uint32_t>((now - sent).ps / 1'000);
  }

  uint16_t KeyOf(const HostView& view, HostId dst) const {
    return settings_.sharing == Sharing::kHost ? dst : view.LeafOf(dst);
  }

  Estimator& EstimatorOf(const HostView& view, HostId dst) {
    std::unique_ptr<Estimator>& estimator = estimators_[KeyOf(view, dst)];
    if (estimator == nullptr) {
      estimator = std::make_unique<Estimator>();
      estimator->window.Reserve();
      estimator->granularity = Initial();
    }
    return *estimator;
  }

  int64_t Initial() const { return settings_.granularity.value_or(settings_.initial); }

  // Chooses a cell's path, if the host chooses it.
  void Route(HostView& view, const HostFlow& flow, State& state) {
    state.version = view.PathsVersion();
    state.path = kNoPath;
    if (settings_.cell_route == CellRoute::kHash) return;
    const std::span<const PathChoice> paths = view.PathsTo(flow.dst);
    if (!paths.empty()) state.path = paths[turn_++ % paths.size()].id;
  }

  void AddSample(const HostView& view, Estimator& estimator, Duration delay) {
    estimator.window.Add(delay);
    estimator.last_sample = view.now();
    ++samples_;
  }

  // Timers are due at multiples of the period, plus the host's own phase.
  void Arm(HostView& view, Estimator& estimator) {
    if (estimator.armed || settings_.granularity) return;
    estimator.armed = true;
    const int64_t periods = (view.now() - (Time{} + phase_) + settings_.period) / settings_.period;
    const Time next = Time{} + phase_ + settings_.period * std::max<int64_t>(periods, 0);
    view.SetTimer(next, KeyOf(view, estimator.dst));
  }

  void ForgetIfStale(Estimator& estimator, Time now) const {
    if (now - estimator.last_sample <= settings_.stale) return;
    estimator.window.Clear();
    estimator.granularity = Initial();
    estimator.paths = 0;
  }

  void Evaluate(HostView& view, Estimator& estimator) {
    if (static_cast<int64_t>(estimator.window.size()) < settings_.min_samples) {
      return ForgetIfStale(estimator, view.now());
    }
    const PathContrast contrast =
        ContrastOf(estimator.window.samples(), settings_.slow_rule, settings_.theta);
    estimator.window.Clear();
    const int64_t paths = settings_.model_paths.value_or(
        static_cast<int64_t>(std::max<size_t>(view.PathsTo(estimator.dst).size(), 1)));
    const int64_t best = BestFor(contrast, paths, settings_.model_rate.value_or(view.NicRate()));
    ++evaluations_;
    changes_ += best == estimator.granularity ? 0 : 1;
    estimator.granularity = best;
    estimator.contrast = contrast;
    estimator.paths = paths;
  }

  // The inputs are rounded to 1 % of paths, 0.1 of slowness and 5 us of delay (0.5 us below 50 us),
  // so that the cache has most answers.
  int64_t BestFor(const PathContrast& contrast, int64_t paths, BitRate rate) const {
    const int64_t step = contrast.fast_ns < 50e3 ? 500'000 : 5'000'000;  // Picoseconds.
    const double steps = contrast.fast_ns * 1e3 / static_cast<double>(step);
    const ModelQuestion question = {
        .slow_percent = std::llround(contrast.slow_share * 100),
        .slowness_tenths = std::llround(contrast.slowness * 10),
        .paths = paths,
        .delay_ps = std::max<int64_t>(std::llround(steps), 1) * step,
        .rate_bps = rate.bps,
        .queue = settings_.model_queue.value_or(DefaultMarkingThreshold(rate).count / kFullPacket),
        .packets = settings_.model_packets,
        .form = settings_.form,
        .sizes = settings_.sizes};
    return Answers().Ask(question, [&] { return AskModel(question); });
  }

  int AskModel(const ModelQuestion& question) const {
    const BitRate rate{question.rate_bps};
    const Duration delay{question.delay_ps};
    const double queue = static_cast<double>(question.queue);
    const PdlbCase given = {.packets = static_cast<double>(question.packets),
                            .paths = static_cast<int>(question.paths),
                            .slow_share = static_cast<double>(question.slow_percent) / 100,
                            .slowness = static_cast<double>(question.slowness_tenths) / 10,
                            .delay = delay,
                            .rate = rate,
                            .max_window = std::max(1.0, PdlbMaxWindow(rate, delay, queue))};
    return BestPdlbGranularity(given, question.form, sizes_);
  }

  // Sends a probe over each path, in the queues of data.
  void Probe(HostView& view, const Estimator& estimator) {
    Packet probe;
    probe.kind = PacketKind::kControl;
    probe.bytes = kControlPacketBytes;
    probe.src = view.id();
    probe.dst = estimator.dst;
    probe.tuple_hash = TupleHash(view.id(), estimator.dst, 0, 0);
    probe.sent = view.now();
    probe.SetScheme(ProbeHeader{});
    for (const PathChoice& path : view.PathsTo(estimator.dst)) {
      probe.path = path.id;
      if (view.SendProbe(probe)) Count(probe);
    }
  }

  void Echo(HostView& view, const Packet& probe) {
    Packet echo;
    echo.kind = PacketKind::kControl;
    echo.bytes = kControlPacketBytes;
    echo.src = view.id();
    echo.dst = probe.src;
    echo.tuple_hash = TupleHash(view.id(), probe.src, 0, 0);
    echo.sent = probe.sent;
    echo.path = probe.taken;
    echo.SetScheme(ProbeHeader{NanosecondsSince(probe.sent, view.now()), true});
    view.SendControl(echo);  // In the queues of ACKs.
    Count(echo);
  }

  void Count(const Packet& packet) {
    ++probes_;
    probe_bytes_ += packet.bytes;
  }

  const PdlbSettings settings_;
  Rng rng_;
  const Duration phase_;
  std::vector<int> sizes_;  // The cell sizes that the model chooses from.
  std::map<uint16_t, std::unique_ptr<Estimator>> estimators_;
  size_t turn_ = 0;
  int64_t cells_ = 0;
  int64_t evaluations_ = 0;
  int64_t changes_ = 0;
  int64_t samples_ = 0;
  int64_t probes_ = 0;
  int64_t probe_bytes_ = 0;
};

class PdlbBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    DeclareCells(fields);
    DeclareMeasurement(fields);
    DeclareModel(fields);
  }
  bool reorders() const override { return true; }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<FollowPath>(EcmpSalt(id, seed));
  }
  HostPolicyPtr ForHost(HostId id, uint64_t seed) const override {
    return std::make_unique<PdlbHost>(settings_, Rng::Stream(seed, "pdlb", id));
  }

 private:
  void DeclareCells(Fields& fields) {
    fields.AddOr("adaptive", "granularity", settings_.granularity,
                 Between<int64_t>(1, 1'000'000'000),
                 "Packets of a flowcell. adaptive: the best number by the model, 1 to 44.");
    fields.Add("initial", settings_.initial, Between<int64_t>(1, kLargestPdlbCell),
               "Packets of a cell before the first measurement.");
    fields.Choice("sizes", settings_.sizes, {{"all", Sizes::kAll}, {"powers", Sizes::kPowers}},
                  "Cell sizes that the model chooses from. all: 1 to 44 packets; powers: 1, 2, 3, "
                  "6, 11, 22, 44, the packets of 1 to 64 KB.");
    fields.Choice("cell_route", settings_.cell_route,
                  {{"hash", CellRoute::kHash}, {"turns", CellRoute::kTurns}},
                  "hash: switches hash a cell's number, so that it takes a random path, as the "
                  "model has it; turns: the host's cells take all paths in turn.");
  }

  void DeclareMeasurement(Fields& fields) {
    fields.Add("period", settings_.period, {.at_least = 1_us, .at_most = 1_s},
               "Time between two looks at the delays.");
    fields.Choice("slow_if", settings_.slow_rule,
                  {{"min_theta", SlowRule::kAboveLeast}, {"avg2x", SlowRule::kAboveAverage}},
                  "Delays that count as those of a slow path. min_theta: delays above theta times "
                  "the smallest of the period; avg2x: delays above twice the period's mean, as "
                  "published, which never finds that half of the paths are slow.");
    fields.Add("theta", settings_.theta, {.above = 1.0, .at_most = 1'000.0},
               "Factor of slow_if: min_theta. Choose it below the smallest ratio of delays that "
               "shall count as asymmetry.");
    fields.Add("min_samples", settings_.min_samples, Between<int64_t>(1, DelayWindow::kSamples),
               "A period with fewer samples of the delay than this is extended by another.");
    fields.Add(
        "stale", settings_.stale, {.above = Duration{0}, .at_most = 1000_s},
        "After this long without a sample of the delay, cells have their initial size again.");
    fields.Choice("estimate_per", settings_.sharing,
                  {{"leaf", Sharing::kLeaf}, {"host", Sharing::kHost}},
                  "Destinations that share a host's estimate: all hosts on one leaf, or none.");
    fields.Choice(
        "signal", settings_.signal, {{"rtt", Signal::kRtt}, {"owd", Signal::kOneWay}},
        "rtt: from data to ACK, which returns over the path of the data; owd: the data's "
        "one-way delay, which the receiver measures and the ACK carries, counted double.");
    fields.Choice(
        "collect", settings_.collect,
        {{"piggyback", Collect::kPiggyback}, {"probes", Collect::kProbes}},
        "piggyback: every ACK is a sample; probes: in each period the host sends a probe of 64 "
        "bytes over each path, as data goes, which the destination echoes; nothing else counts.");
  }

  void DeclareModel(Fields& fields) {
    fields.Choice("form", settings_.form,
                  {{"corrected", PdlbForm::kCorrected}, {"literal", PdlbForm::kLiteral}},
                  "Form of the model, see heddle model pdlb; literal: as printed in the paper.");
    fields.Add(
        "model_packets", settings_.model_packets, Between<int64_t>(1, 10'000'000),
        "Flow size that the model assumes, in packets: senders do not know how much is to come.");
    fields.AddOr("auto", "model_paths", settings_.model_paths, Between<int64_t>(1, 65'535),
                 "Number of paths that the model assumes. auto: the number that routing has.");
    fields.AddOr("auto", "model_rate", settings_.model_rate, Above(BitRate{0}),
                 "Rate of a path. auto: that of the host's own link.");
    fields.AddOr("auto", "model_queue", settings_.model_queue, Between<int64_t>(0, 1'000'000),
                 "Packets that DCTCP leaves waiting on a path. auto: 20 up to 1Gbps, 65 at 10Gbps, "
                 "20 per 10Gbps above 32.5.");
  }

  PdlbSettings settings_;
};

[[maybe_unused]] const bool registered =
    LoadBalancers().Add<PdlbBalancer>({"pdlb",
                                       "Hosts cut flows into cells of 1 to 44 packets on random "
                                       "paths; the more paths are slow, the larger the cells.",
                                       "Gao et al., J. Cloud Computing 12:173, 2023"});

}  // namespace
}  // namespace heddle
