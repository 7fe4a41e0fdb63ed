// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/training_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heddle {

void TrainingSettings::Model::Declare(Fields& fields) {
  fields.Add("layers", layers, Between<int64_t>(1, 10'000), "Layers.");
  fields.Add("hidden", hidden, Between<int64_t>(1, 1 << 24), "Elements of a token.");
  fields.Add("ffn", ffn, Between<int64_t>(1, 1 << 24), "Width of the feed-forward network.");
  fields.Add("kv_hidden", kv_hidden, Between<int64_t>(1, 1 << 24),
             "Elements of a token's keys, and of its values.");
  fields.Add("vocab", vocab, Between<int64_t>(1, 1 << 24), "Size of the vocabulary.");
  fields.Add("seq", seq, Between<int64_t>(1, 1 << 24), "Tokens of a sequence.");
  fields.Add("micro_batch", micro_batch, Between<int64_t>(1, 65'536),
             "Sequences of a micro batch.");
  fields.Add("micro_batches", micro_batches, Between<int64_t>(1, 65'536),
             "Micro batches of a step, for each group of data parallelism.");
  fields.Add("element", element, {.above = 0_B, .at_most = 16_B},
             "The size of a parameter and of an activation.");
  fields.Add("grad_element", grad_element, {.above = 0_B, .at_most = 16_B},
             "The size of a gradient.");
}

void TrainingSettings::Parallel::Declare(Fields& fields) {
  fields.Add("tensor", tensor, Between<int64_t>(1, 65'536), "Ranks that share each layer.");
  fields.Add("pipeline", pipeline, Between<int64_t>(1, 65'536),
             "Stages, each with as many layers.");
  fields.AddOr("auto", "data", data, Between<int64_t>(1, 1 << 20),
               "Ranks that have the same part of the model and different data. auto: ranks / "
               "(tensor * pipeline).");
  fields.Add("expert", expert, Between<int64_t>(1, 65'536),
             "Ranks that share the experts of a layer: so many of data parallelism that follow "
             "each other. 1: no experts.");
}

void TrainingSettings::Experts::Declare(Fields& fields) {
  fields.AddOr(
      "auto", "experts", experts, Between<int64_t>(1, 65'536),
      "The experts of a layer. auto: parallel.expert, one for each rank that shares them.");
  fields.Add("top_k", top_k, Between<int64_t>(1, 64), "The experts that each token goes to.");
  fields.Add("every", every, Between<int64_t>(1, 10'000), "Every so many layers have experts.");
}

void TrainingSettings::Compute::Declare(Fields& fields) {
  const Range<Duration> times{.at_least = Duration{0}, .at_most = 1000_s};
  fields.AddOr("auto", "forward", forward, times,
               "A layer's forward pass of a micro batch. auto: from the model and tera_flops.");
  fields.AddOr("auto", "backward", backward, times, "Its backward pass. auto: twice the forward.");
}

void TrainingSettings::Declare(Fields& fields) {
  fields.Section("model", model, "The transformer, and what a step processes.");
  fields.Section("parallel", parallel, "How ranks share the work.");
  fields.Add("zero", zero, Between<int64_t>(0, 3),
             "What ranks of data parallelism divide. 0: nothing; gradients are summed by "
             "all-reduce. 1, 2: gradients, by reduce-scatter; parameters are gathered after the "
             "optimizer. 3: parameters, too, which are gathered layer by layer (FSDP).");
  fields.Add("bucket", bucket, {.above = 0_B},
             "zero 0 to 2: gradients of so many bytes are summed "
             "at once, as soon as they are there.");
  fields.Add("prefetch", prefetch, Between<int64_t>(0, 10'000),
             "zero 3: a layer's parameters are gathered from so many layers before on.");
  fields.Add("sequence_parallel", sequence_parallel,
             "Tensor parallelism: a reduce-scatter and an all-gather in place of each all-reduce.");
  fields.Add("scatter", scatter,
             "Pipeline: each rank of tensor parallelism sends its part of the activations alone.");
  fields.Section("moe", moe, "Layers with experts; parallel.expert turns them on.");
  fields.Add("tera_flops", tera_flops, {.above = 0.0, .at_most = 1e9},
             "Speed of a rank, in 10^12 operations per second.");
  fields.Section("compute", compute, "Times of a layer, in place of those of the model.");
  fields.Add("optimizer", optimizer, {.at_least = Duration{0}, .at_most = 1000_s},
             "The optimizer's time, once all gradients are there.");
  fields.Section("algorithms", algorithms, "The algorithms of the collectives.");
  fields.Add("scale", scale, {.above = 0.0, .at_most = 1.0},
             "Multiplies all bytes and times, as a whole step is billions of packets: 1/1000.");
}

void TrainingSettings::Check(
    uint32_t ranks, const std::function<void(std::string_view, const std::string&)>& error) const {
  const int64_t replica = parallel.tensor * parallel.pipeline;
  const int64_t groups = parallel.data.value_or(std::max<int64_t>(ranks / replica, 1));
  if (replica * groups != ranks) {
    error("parallel",
          fmt::format("tensor {} x pipeline {} x data {} is {}, not the {} ranks", parallel.tensor,
                      parallel.pipeline, groups, replica * groups, ranks));
  }
  if (model.layers % parallel.pipeline != 0) {
    error("parallel.pipeline",
          fmt::format("{} layers do not divide into {} stages", model.layers, parallel.pipeline));
  }
  if (groups % parallel.expert != 0) {
    error("parallel.expert", fmt::format("{} ranks of data parallelism do not divide into groups "
                                         "of {}",
                                         groups, parallel.expert));
  }
  const int64_t experts = moe.experts.value_or(parallel.expert);
  if (experts % parallel.expert != 0) {
    error("moe.experts",
          fmt::format("{} experts do not divide among {} ranks", experts, parallel.expert));
  }
  if (parallel.expert > 1 && moe.top_k > experts) {
    error("moe.top_k", fmt::format("a token cannot go to {} of {} experts", moe.top_k, experts));
  }
  constexpr int64_t kMostExpertRanks = 256;  // All of them send to each other at once.
  if (parallel.expert > kMostExpertRanks) {
    error("parallel.expert", fmt::format("is more than {}", kMostExpertRanks));
  }
}

TrainingModel::TrainingModel(const TrainingSettings& settings, uint32_t ranks)
    : settings_(settings),
      tensor_(static_cast<uint32_t>(settings.parallel.tensor)),
      stages_(static_cast<uint32_t>(settings.parallel.pipeline)),
      data_(ranks / tensor_ / stages_),
      expert_(static_cast<uint32_t>(settings.parallel.expert)),
      layers_of_stage_(static_cast<uint32_t>(settings.model.layers) / stages_) {}

int64_t TrainingModel::FeedForwardParameters() const {
  return 3 * settings_.model.hidden * settings_.model.ffn;
}

int64_t TrainingModel::ParametersOfLayer() const {
  const TrainingSettings::Model& m = settings_.model;
  return 2 * m.hidden * m.hidden + 2 * m.hidden * m.kv_hidden + FeedForwardParameters() +
         2 * m.hidden;
}

int64_t TrainingModel::Parameters() const {
  const TrainingSettings::Model& m = settings_.model;
  return m.layers * ParametersOfLayer() + 2 * m.vocab * m.hidden + m.hidden;
}

double TrainingModel::tokens() const {
  return static_cast<double>(settings_.model.micro_batch) *
         static_cast<double>(settings_.model.seq);
}

double TrainingModel::ForwardFlop(bool has_experts) const {
  const double attention =
      4 * static_cast<double>(settings_.model.seq) * static_cast<double>(settings_.model.hidden);
  const int64_t more = has_experts ? settings_.moe.top_k - 1 : 0;  // Experts beyond one.
  const int64_t parameters = ParametersOfLayer() + more * FeedForwardParameters();
  return tokens() * (2 * static_cast<double>(parameters) + attention);
}

Duration TrainingModel::forward(bool has_experts) const {
  if (settings_.compute.forward) return Scaled(*settings_.compute.forward);
  // FLOP over 10^12 per second is a number of picoseconds.
  const double ps =
      ForwardFlop(has_experts) / (static_cast<double>(tensor_) * settings_.tera_flops);
  return Scaled(Duration{static_cast<int64_t>(std::min(ps, 1e18))});
}

Duration TrainingModel::backward(bool has_experts) const {
  if (settings_.compute.backward) return Scaled(*settings_.compute.backward);
  return 2 * forward(has_experts);
}

Duration TrainingModel::optimizer() const { return Scaled(settings_.optimizer); }

int64_t TrainingModel::Activation() const {
  return Scaled(tokens() * static_cast<double>(settings_.model.hidden) *
                static_cast<double>(settings_.model.element.count));
}

int64_t TrainingModel::PipelineMessage() const {
  return settings_.scatter ? std::max<int64_t>(Activation() / tensor_, 1) : Activation();
}

int64_t TrainingModel::Dispatch() const { return Activation() * settings_.moe.top_k; }

double TrainingModel::CountOf(uint32_t stage, uint32_t layer) const {
  const TrainingSettings::Model& m = settings_.model;
  int64_t parameters = ParametersOfLayer();
  if (HasExperts(stage, layer)) parameters -= FeedForwardParameters();
  if (stage == 0 && layer == 0) parameters += m.vocab * m.hidden;
  const bool is_last = stage + 1 == stages_ && layer + 1 == layers_of_stage_;
  if (is_last) parameters += m.vocab * m.hidden + m.hidden;
  return static_cast<double>(parameters / tensor_);
}

double TrainingModel::CountOfExperts() const {
  const int64_t of_rank = settings_.moe.experts.value_or(expert_) / expert_;
  return static_cast<double>(of_rank) * static_cast<double>(FeedForwardParameters() / tensor_);
}

int64_t TrainingModel::ParametersOf(uint32_t stage, uint32_t layer) const {
  return Scaled(CountOf(stage, layer), settings_.model.element);
}
int64_t TrainingModel::GradientsOf(uint32_t stage, uint32_t layer) const {
  return Scaled(CountOf(stage, layer), settings_.model.grad_element);
}
int64_t TrainingModel::ExpertParameters() const {
  return Scaled(CountOfExperts(), settings_.model.element);
}
int64_t TrainingModel::ExpertGradients() const {
  return Scaled(CountOfExperts(), settings_.model.grad_element);
}

int64_t TrainingModel::ParametersFor(int64_t gradient_bytes) const {
  const double ratio = static_cast<double>(settings_.model.element.count) /
                       static_cast<double>(settings_.model.grad_element.count);
  return std::max<int64_t>(std::llround(static_cast<double>(gradient_bytes) * ratio), 1);
}

bool TrainingModel::HasExperts(uint32_t stage, uint32_t layer) const {
  const int64_t number = int64_t{stage} * layers_of_stage_ + layer + 1;
  return expert_ > 1 && number % settings_.moe.every == 0;
}

int64_t TrainingModel::Scaled(double bytes) const {
  return std::max<int64_t>(std::llround(bytes * settings_.scale), 1);
}

int64_t TrainingModel::Scaled(double elements, Bytes element) const {
  return Scaled(elements * static_cast<double>(element.count));
}

Duration TrainingModel::Scaled(Duration time) const {
  return Duration{static_cast<int64_t>(static_cast<double>(time.ps) * settings_.scale)};
}

}  // namespace heddle
