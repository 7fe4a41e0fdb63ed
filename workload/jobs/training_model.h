// SPDX-License-Identifier: Apache-2.0
// The settings of a training step of a transformer, and what follows from them: parameters, bytes
// of messages, times of computations. Layers are Llama's: attention with fewer key and value heads,
// and a gated feed-forward network.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/units.h"
#include "settings/fields.h"
#include "workload/jobs/group_algorithms.h"

namespace heddle {

struct TrainingSettings {
  struct Model {
    int64_t layers = 32;
    int64_t hidden = 4096;
    int64_t ffn = 11'008;
    int64_t kv_hidden = 4096;
    int64_t vocab = 32'000;
    int64_t seq = 4096;
    int64_t micro_batch = 1;
    int64_t micro_batches = 1;
    Bytes element{2};
    Bytes grad_element{2};

    void Declare(Fields& fields);
  };
  struct Parallel {
    int64_t tensor = 1;
    int64_t pipeline = 1;
    std::optional<int64_t> data;  // Not set: the ranks that are left.
    int64_t expert = 1;

    void Declare(Fields& fields);
  };
  struct Experts {
    std::optional<int64_t> experts;  // Of a layer. Not set: one for each rank that shares them.
    int64_t top_k = 2;
    int64_t every = 1;

    void Declare(Fields& fields);
  };
  struct Compute {
    std::optional<Duration> forward;  // Of a layer and a micro batch.
    std::optional<Duration> backward;

    void Declare(Fields& fields);
  };
  struct Algorithms : GroupAlgorithms {
    void Declare(Fields& fields) { DeclareSums(fields); }
  };

  Model model;
  Parallel parallel;
  int64_t zero = 0;
  Bytes bucket{25 * 1024 * 1024};
  int64_t prefetch = 1;
  bool sequence_parallel = false;
  bool scatter = false;
  Experts moe;
  double tera_flops = 400;  // Of a rank.
  Compute compute;
  Duration optimizer{0};
  Algorithms algorithms;
  double scale = 1;

  void Declare(Fields& fields);
  void Check(uint32_t ranks,
             const std::function<void(std::string_view, const std::string&)>& error) const;
};

// The figures of a training step. All bytes and times are scaled; all are per rank.
class TrainingModel {
 public:
  // Needs settings without errors.
  TrainingModel(const TrainingSettings& settings, uint32_t ranks);

  uint32_t tensor() const { return tensor_; }
  uint32_t stages() const { return stages_; }
  uint32_t data() const { return data_; }
  uint32_t expert() const { return expert_; }
  uint32_t layers_of_stage() const { return layers_of_stage_; }
  uint32_t micro_batches() const { return static_cast<uint32_t>(settings_.model.micro_batches); }

  // Numbers that do not depend on how the work is split, unscaled.
  int64_t ParametersOfLayer() const;
  int64_t Parameters() const;
  // A rank's operations for the forward pass of one layer and one micro batch, before tensor
  // parallelism divides them. If the layer has experts, each token goes through top_k of them.
  double ForwardFlop(bool has_experts) const;

  // A layer and a micro batch.
  Duration forward(bool has_experts) const;
  Duration backward(bool has_experts) const;
  Duration optimizer() const;

  int64_t Activation() const;       // A micro batch's, as tensor parallelism exchanges it.
  int64_t PipelineMessage() const;  // A rank's part of the activations for the next stage.
  int64_t Dispatch() const;         // A rank's tokens for experts.
  // Bytes of a rank's part of a layer, without experts. Layer 0 is a stage's first. The embedding
  // belongs to the first layer of all, the head to the last.
  int64_t ParametersOf(uint32_t stage, uint32_t layer) const;
  int64_t GradientsOf(uint32_t stage, uint32_t layer) const;
  // Bytes of a rank's part of its experts in a layer. The router's are neglected.
  int64_t ExpertParameters() const;
  int64_t ExpertGradients() const;
  int64_t Bucket() const { return Scaled(static_cast<double>(settings_.bucket.count)); }
  // The parameters that go with so many bytes of gradients.
  int64_t ParametersFor(int64_t gradient_bytes) const;
  bool HasExperts(uint32_t stage, uint32_t layer) const;

 private:
  int64_t FeedForwardParameters() const;
  // Numbers of parameters of a rank.
  double CountOf(uint32_t stage, uint32_t layer) const;
  double CountOfExperts() const;
  int64_t Scaled(double bytes) const;
  int64_t Scaled(double elements, Bytes element) const;
  Duration Scaled(Duration time) const;
  double tokens() const;

  const TrainingSettings settings_;
  const uint32_t tensor_;
  const uint32_t stages_;
  const uint32_t data_;
  const uint32_t expert_;
  const uint32_t layers_of_stage_;
};

}  // namespace heddle
