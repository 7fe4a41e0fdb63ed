// SPDX-License-Identifier: Apache-2.0
// The workload `poisson`: open-loop arrivals. Each sending host starts flows at random times,
// whatever is still under way. A run draws the flows as time advances.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "workload/partners.h"
#include "workload/sizes.h"
#include "workload/workload.h"

namespace heddle {

class Poisson final : public Workload {
 public:
  enum class LoadOf { kHost, kFabric };

  void Declare(Fields& fields) override;
  void Load(const Stage& stage, std::string_view path, FilesRead& files,
            Diagnostics& diagnostics) override;
  void Prepare(const Stage& stage, std::string_view path, FilesRead& files,
               Diagnostics& diagnostics) override;
  Forecast Expect() const override;
  std::unique_ptr<FlowSource> Open() const override;

 private:
  class Source;

  bool FindPartners(std::string_view path, Diagnostics& diagnostics);
  std::optional<std::vector<HostId>> HostsOf(std::string_view key,
                                             const std::vector<int64_t>& named,
                                             std::string_view path, Diagnostics& diagnostics) const;
  double SendersUplinks() const;
  void CheckLoads(double host_load, double fabric_load, double wire, std::string_view path,
                  Diagnostics& diagnostics) const;
  void PrepareRates(std::string_view path, Diagnostics& diagnostics);

  std::string sizes_text_ = "websearch";
  Interpolation interpolation_ = Interpolation::kLinear;
  std::optional<Bytes> largest_;
  double load_ = 0;
  LoadOf load_of_ = LoadOf::kHost;
  bool headers_ = false;
  bool overload_ = false;
  Pairs pairs_ = Pairs::kAny;
  std::vector<int64_t> from_;
  std::vector<int64_t> to_;
  Duration start_{0};
  std::optional<Duration> duration_;
  std::optional<int64_t> flows_;

  // Set by Prepare().
  Stage stage_;
  std::shared_ptr<const SizeDistribution> sizes_;
  std::shared_ptr<const Partners> partners_;
  double packets_ = 0;                // The mean number of packets in a flow.
  double host_bps_ = 0;               // The rate of the links from hosts that send.
  std::vector<double> flows_per_ps_;  // By host; 0: it does not send.
  double total_rate_ = 0;             // The sum of flows_per_ps_.
  double leaving_ = 0;                // The share of flows that cross the fabric.
  double uplink_bps_ = 0;             // The rate of the uplinks of leaves whose hosts send.
};

}  // namespace heddle
