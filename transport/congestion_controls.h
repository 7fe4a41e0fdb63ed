// SPDX-License-Identifier: Apache-2.0
// The registry of every congestion control in the program, by name. One file in
// transport/congestion/ makes one and registers it; no other file needs to know of it:
//
//   class MyModel final : public WindowControlModel { ... };
//   [[maybe_unused]] const bool registered =
//       CongestionControls().Add<MyModel>({"my_control", "One sentence.", "Paper, year"});
//
// A WindowControlModel serves kind: tcp, and kind: mptcp without coupling its subflows. A
// CoupledControlModel serves kind: mptcp only. A RateControlModel serves kind: rocev2. A class that
// is both serves both, under the same name.

#pragma once

#include <concepts>
#include <string>

#include "settings/kinds.h"
#include "transport/rdma/rate_control.h"
#include "transport/tcp/window_control.h"

namespace heddle {

class CongestionControlRegistry {
 public:
  CongestionControlRegistry();
  CongestionControlRegistry(const CongestionControlRegistry&) = delete;
  CongestionControlRegistry& operator=(const CongestionControlRegistry&) = delete;

  // Returns whether the name is new, so that a file can register in an initialiser.
  template <class Model>
  bool Add(const KindInfo& info) {
    constexpr bool kServesWindows = std::derived_from<Model, WindowControlModel>;
    constexpr bool kServesRates = std::derived_from<Model, RateControlModel>;
    static_assert(kServesWindows || kServesRates, "serves neither tcp nor rocev2");
    constexpr bool kIsCoupled = std::derived_from<Model, CoupledControlModel>;
    bool is_new = true;
    if constexpr (kServesWindows) is_new = subflows_.template Add<Model>(info);
    if constexpr (kServesWindows && !kIsCoupled) is_new = windows_.template Add<Model>(info);
    if constexpr (kServesRates) is_new = rates_.template Add<Model>(info) && is_new;
    return is_new;
  }

  const Kinds<WindowControlModel>& windows() const { return windows_; }    // For kind: tcp.
  const Kinds<RateControlModel>& rates() const { return rates_; }          // For kind: rocev2.
  const Kinds<WindowControlModel>& subflows() const { return subflows_; }  // For kind: mptcp.

 private:
  Kinds<WindowControlModel> windows_;
  Kinds<RateControlModel> rates_;
  Kinds<WindowControlModel> subflows_;
};

CongestionControlRegistry& CongestionControls();

}  // namespace heddle
