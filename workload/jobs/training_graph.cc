// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/training_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace heddle {
namespace {

using Op = CollectiveSettings::Op;

// Groups of ranks that perform collectives, each kind on channels of its own.
// Ranks of kExpertData have the same experts.
enum class GroupKind : uint32_t { kTensor, kData, kExpert, kExpertData };
constexpr size_t kGroupKinds = 4;
constexpr std::string_view kGroupNames[kGroupKinds] = {"tensor", "data", "expert", "expert_data"};
constexpr uint32_t kChannelsOfKind = 0x1000;
constexpr uint32_t kPipelineChannel = 0x4000;

// The collectives of all groups. Each rank of a group takes part in the same ones in the same
// order.
class Collectives {
 public:
  Collectives(OperationGraph& graph, const TrainingSettings& settings)
      : graph_(graph), settings_(settings) {}

  // Returns the number of the `turn`-th collective of this group.
  uint32_t Get(GroupKind kind, const std::vector<uint32_t>& group, size_t turn, Op op,
               int64_t bytes, std::string_view label) {
    std::vector<uint32_t>& its = of_group_[{kind, group.front()}];
    if (turn == its.size()) {
      const Made& made = Make(op, static_cast<uint32_t>(group.size()), bytes);
      its.push_back(
          graph_.AddCollective({.schedule = made.schedule,
                                .group = group,
                                .channel = static_cast<uint32_t>(kind) * kChannelsOfKind,
                                .label = std::string(label),
                                .operation = made.operation,
                                .group_name = fmt::format(
                                    "{}:{}", kGroupNames[static_cast<size_t>(kind)], group.front()),
                                .turn = static_cast<uint32_t>(turn)}));
    }
    return its[turn];
  }

 private:
  struct Made {
    std::shared_ptr<const Schedule> schedule;
    JobOperation operation;
  };

  const Made& Make(Op op, uint32_t ranks, int64_t bytes) {
    Made& made = made_[{op, ranks, bytes}];
    if (made.schedule == nullptr) {
      CollectiveSettings its;
      its.op = op;
      its.size = Bytes{bytes};
      its.algorithm = settings_.algorithms.Of(op);
      made = {its.Make(ranks, /*seed=*/1, /*job=*/0), its.Operation(ranks)};
    }
    return made;
  }

  OperationGraph& graph_;
  const TrainingSettings& settings_;
  std::map<std::pair<GroupKind, uint32_t>, std::vector<uint32_t>> of_group_;
  std::map<std::tuple<Op, uint32_t, int64_t>, Made> made_;
};

// Writes the step of one rank. Computations and what blocks them form one chain, the last link of
// which is the cursor. Collectives of data parallelism form another chain beside it.
class RankWriter {
 public:
  RankWriter(OperationGraph& graph, Collectives& collectives, const TrainingSettings& settings,
             const TrainingModel& model, uint32_t rank)
      : graph_(graph),
        collectives_(collectives),
        settings_(settings),
        model_(model),
        rank_(rank),
        stage_(rank / model.tensor() / model.data()),
        groups_{GroupFrom(rank / model.tensor() * model.tensor(), 1, model.tensor()),
                GroupFrom(FirstOfData(), model.tensor(), model.data()),
                GroupFrom(FirstOfExperts(), model.tensor(), model.expert()),
                GroupFrom(FirstOfExpertData(), model.tensor() * model.expert(),
                          model.data() / model.expert())},
        by_layer_(model.tensor() > 1 || settings.zero == 3 || model.expert() > 1) {}

  // 1F1B (one forward, one backward): a stage runs as many micro batches ahead as there are stages
  // behind it, then alternates.
  void Write() {
    const uint32_t batches = model_.micro_batches();
    const uint32_t ahead = std::min(model_.stages() - 1 - stage_, batches);
    for (uint32_t m = 0; m < ahead; ++m) Forward(m);
    for (uint32_t m = ahead; m < batches; ++m) {
      Forward(m);
      Backward(m - ahead);
    }
    for (uint32_t m = batches - ahead; m < batches; ++m) Backward(m);
    Optimize();
  }

 private:
  static std::vector<uint32_t> GroupFrom(uint32_t first, uint32_t stride, uint32_t count) {
    std::vector<uint32_t> group;
    for (uint32_t i = 0; i < count; ++i) group.push_back(first + i * stride);
    return group;
  }
  uint32_t FirstOfData() const {
    return rank_ % model_.tensor() + stage_ * model_.tensor() * model_.data();
  }
  uint32_t PlaceInData() const { return rank_ / model_.tensor() % model_.data(); }
  uint32_t FirstOfExperts() const {
    return FirstOfData() + PlaceInData() / model_.expert() * model_.expert() * model_.tensor();
  }
  uint32_t FirstOfExpertData() const {
    return FirstOfData() + PlaceInData() % model_.expert() * model_.tensor();
  }

  // The ranks that perform collectives of this kind with this one, itself included.
  const std::vector<uint32_t>& GroupOf(GroupKind kind) const {
    return groups_[static_cast<size_t>(kind)];
  }
  bool IsAlone(GroupKind kind) const { return GroupOf(kind).size() == 1; }

  // --- Operations ---

  // Makes `op` the next link of the chain.
  void Chain(uint32_t op) {
    if (cursor_) graph_.Require(rank_, op, *cursor_);
    cursor_ = op;
  }

  uint32_t Compute(Duration time, std::string_view label) {
    const uint32_t op = graph_.AddCompute(rank_, time);
    graph_.At(rank_, op).label = label;
    Chain(op);
    return op;
  }

  uint32_t AddPart(GroupKind kind, Op op, int64_t bytes, std::string_view label) {
    size_t& turn = turns_[static_cast<size_t>(kind)];
    return graph_.AddPart(rank_, collectives_.Get(kind, GroupOf(kind), turn++, op, bytes, label));
  }

  // A collective that the next computation waits for.
  void Block(GroupKind kind, Op op, int64_t bytes, std::string_view label) {
    if (!IsAlone(kind)) Chain(AddPart(kind, op, bytes, label));
  }

  void SumActivations() {
    if (!settings_.sequence_parallel) {
      return Block(GroupKind::kTensor, Op::kAllReduce, model_.Activation(), "tensor");
    }
    Block(GroupKind::kTensor, Op::kReduceScatter, model_.Activation(), "tensor");
    Block(GroupKind::kTensor, Op::kAllGather, model_.Activation(), "tensor");
  }

  void Exchange(std::string_view label) {
    Block(GroupKind::kExpert, Op::kAllToAll, model_.Dispatch(), label);
  }

  // A collective of data parallelism, which runs beside the computations.
  uint32_t AddBeside(GroupKind kind, Op op, int64_t bytes, std::string_view label) {
    const uint32_t part = AddPart(kind, op, bytes, label);
    if (last_beside_) graph_.Require(rank_, part, *last_beside_);
    last_beside_ = part;
    return part;
  }

  // --- Passes ---

  void Receive(uint32_t from, int64_t tag) {
    const uint32_t op = graph_.AddReceive(rank_, from, model_.PipelineMessage(), tag);
    Chain(op);
  }
  void Send(uint32_t to, int64_t tag) {
    const uint32_t op = graph_.AddSend(rank_, to, model_.PipelineMessage(), tag);
    graph_.At(rank_, op).channel = kPipelineChannel;
    graph_.Require(rank_, op, *cursor_);
  }
  uint32_t StageStride() const { return model_.tensor() * model_.data(); }

  void Forward(uint32_t batch) {
    if (stage_ > 0) Receive(rank_ - StageStride(), 2 * int64_t{batch});
    Pass(/*is_forward=*/true, /*sums_up=*/false);
    if (stage_ + 1 < model_.stages()) Send(rank_ + StageStride(), 2 * int64_t{batch});
  }

  void Backward(uint32_t batch) {
    if (stage_ + 1 < model_.stages()) Receive(rank_ + StageStride(), 2 * int64_t{batch} + 1);
    Pass(/*is_forward=*/false, /*sums_up=*/batch + 1 == model_.micro_batches());
    if (stage_ > 0) Send(rank_ - StageStride(), 2 * int64_t{batch} + 1);
  }

  bool IsDivided() const { return settings_.zero == 3 && !IsAlone(GroupKind::kData); }

  Duration TimeOf(uint32_t layer, bool is_forward) const {
    const bool has_experts = model_.HasExperts(stage_, layer);
    return is_forward ? model_.forward(has_experts) : model_.backward(has_experts);
  }

  // All layers of the stage, forwards or backwards. If no layer communicates, they are one
  // computation.
  void Pass(bool is_forward, bool sums_up) {
    const uint32_t layers = model_.layers_of_stage();
    const bool sums_buckets = sums_up && settings_.zero < 3 && !IsAlone(GroupKind::kData);
    if (!by_layer_ && !sums_buckets) {
      Compute(TimeOf(0, is_forward) * layers, is_forward ? "forward" : "backward");
      return;
    }
    gathers_.clear();
    const auto layer_at = [&](size_t turn) {
      return static_cast<uint32_t>(is_forward ? turn : layers - 1 - turn);
    };
    const uint32_t ahead = static_cast<uint32_t>(settings_.prefetch);
    for (uint32_t i = 0; IsDivided() && i < std::min(ahead, layers); ++i) {
      Gather(layer_at(i), cursor_, std::nullopt);
    }
    int64_t shared = 0;  // Bytes of gradients in the buckets that are being filled.
    int64_t of_experts = 0;
    for (uint32_t i = 0; i < layers; ++i) {
      const uint32_t layer = layer_at(i);
      if (IsDivided() && ahead == 0) Gather(layer, cursor_, std::nullopt);
      const uint32_t first = Layer(layer, i, is_forward, TimeOf(layer, is_forward));
      if (IsDivided() && ahead > 0 && i + ahead < layers) {
        Gather(layer_at(i + ahead), std::nullopt, first);
      }
      if (IsDivided() && !is_forward && sums_up) ReduceGradients(layer);
      if (!sums_buckets) continue;
      const bool is_last = i + 1 == layers;
      SumUp(GroupKind::kData, shared, model_.GradientsOf(stage_, layer), is_last);
      const int64_t experts = SharesExperts(layer) ? model_.ExpertGradients() : 0;
      SumUp(GroupKind::kExpertData, of_experts, experts, is_last);
    }
  }

  // Returns the layer's first computation.
  uint32_t Layer(uint32_t layer, uint32_t turn, bool is_forward, Duration time) {
    const char* label = is_forward ? "forward" : "backward";
    const bool has_experts = model_.HasExperts(stage_, layer);
    const bool is_split = !IsAlone(GroupKind::kTensor) || has_experts;
    const Duration half = is_split ? Duration{time.ps / 2} : time;
    const uint32_t first = Compute(half, label);
    if (IsDivided()) graph_.Require(rank_, first, gathers_[turn]);
    if (!is_split) return first;
    SumActivations();
    if (has_experts) Exchange(is_forward ? "dispatch" : "combine gradients");
    Compute(time - half, label);
    SumActivations();
    if (has_experts) Exchange(is_forward ? "combine" : "dispatch gradients");
    return first;
  }

  // --- Parameters and gradients ---

  // Returns true if other ranks have the same experts of the layer.
  bool SharesExperts(uint32_t layer) const {
    return model_.HasExperts(stage_, layer) && !IsAlone(GroupKind::kExpertData);
  }

  // Gathers the parameters of `layer`, the next one, once `finished` has finished and `started` has
  // started.
  void Gather(uint32_t layer, std::optional<uint32_t> finished, std::optional<uint32_t> started) {
    const auto gather = [&](GroupKind kind, int64_t bytes) {
      const uint32_t part = AddBeside(kind, Op::kAllGather, bytes, "gather parameters");
      if (finished) graph_.Require(rank_, part, *finished);
      if (started) graph_.RequireStart(rank_, part, *started);
      return part;
    };
    uint32_t last = gather(GroupKind::kData, model_.ParametersOf(stage_, layer));
    if (SharesExperts(layer)) last = gather(GroupKind::kExpertData, model_.ExpertParameters());
    gathers_.push_back(last);
  }

  // zero 3: the gradients of a layer are there.
  void ReduceGradients(uint32_t layer) {
    const auto reduce = [&](GroupKind kind, int64_t bytes) {
      const uint32_t part = AddBeside(kind, Op::kReduceScatter, bytes, "reduce gradients");
      graph_.Require(rank_, part, *cursor_);
    };
    reduce(GroupKind::kData, model_.GradientsOf(stage_, layer));
    if (SharesExperts(layer)) reduce(GroupKind::kExpertData, model_.ExpertGradients());
  }

  struct Summed {
    GroupKind kind;
    int64_t bytes;
  };

  // Zero 0 to 2: `bytes` of gradients are there. They fill buckets, each of which is summed up when
  // full; the last one may remain smaller.
  void SumUp(GroupKind kind, int64_t& filled, int64_t bytes, bool is_last) {
    filled += bytes;
    while (filled >= model_.Bucket() || (is_last && filled > 0)) {
      const int64_t its = std::min(filled, model_.Bucket());
      filled -= its;
      const Op op = settings_.zero == 0 ? Op::kAllReduce : Op::kReduceScatter;
      graph_.Require(rank_, AddBeside(kind, op, its, "reduce gradients"), *cursor_);
      summed_.push_back({kind, its});
    }
  }

  void Optimize() {
    if (last_beside_) {
      const uint32_t update = graph_.AddCompute(rank_, model_.optimizer());
      graph_.At(rank_, update).label = "optimizer";
      graph_.Require(rank_, update, *last_beside_);
      Chain(update);
    } else {
      Compute(model_.optimizer(), "optimizer");
    }
    if (settings_.zero != 1 && settings_.zero != 2) return;
    for (const auto& [kind, bytes] : summed_) {
      const uint32_t gather =
          AddBeside(kind, Op::kAllGather, model_.ParametersFor(bytes), "gather parameters");
      graph_.Require(rank_, gather, *cursor_);
    }
  }

  OperationGraph& graph_;
  Collectives& collectives_;
  const TrainingSettings& settings_;
  const TrainingModel& model_;
  const uint32_t rank_;
  const uint32_t stage_;
  const std::vector<uint32_t> groups_[kGroupKinds];
  const bool by_layer_;
  std::optional<uint32_t> cursor_;
  std::optional<uint32_t> last_beside_;
  size_t turns_[kGroupKinds] = {};  // Collectives so far, by kind of group.
  std::vector<uint32_t> gathers_;   // Of a pass, by the turn of the layer.
  std::vector<Summed> summed_;      // The buckets.
};

}  // namespace

std::shared_ptr<const OperationGraph> MakeTrainingGraph(const TrainingSettings& settings,
                                                        uint32_t ranks) {
  auto graph = std::make_shared<OperationGraph>(ranks);
  const TrainingModel model(settings, ranks);
  Collectives collectives(*graph, settings);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    RankWriter(*graph, collectives, settings, model, rank).Write();
  }
  return graph;
}

}  // namespace heddle
