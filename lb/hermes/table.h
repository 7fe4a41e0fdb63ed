// SPDX-License-Identifier: Apache-2.0
// What Hermes' hosts know of the paths to other racks, and how those of one rack share it.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/packet.h"
#include "core/units.h"
#include "fabric/controller.h"
#include "fabric/host_policy.h"

namespace heddle {

// The rate at which something is sent, with the time constant tau, small enough for a flow's state.
class SentRate {
 public:
  void Add(double bytes, Time now, Duration tau) {
    bytes_ = Decayed(now, tau) + bytes;
    at_ = now;
  }
  double Bps(Time now, Duration tau) const { return Decayed(now, tau) * 8 / Seconds(tau); }
  Time last() const { return at_; }

 private:
  // In steps of a 64th of tau: exp() of the C library is not the same everywhere.
  double Decayed(Time now, Duration tau) const {
    constexpr double kKeep = 63.0 / 64;
    const int64_t step = std::max<int64_t>(1, tau.ps / 64);
    const int64_t steps = now.ps / step - at_.ps / step;
    if (steps > 64 * 20) return 0;
    double left = bytes_;
    double keep = kKeep;
    for (int64_t bits = steps; bits > 0; bits >>= 1, keep *= keep) {
      if (bits & 1) left *= keep;
    }
    return left;
  }

  double bytes_ = 0;
  Time at_;
};

// What is known of one path to a rack.
struct HermesPath {
  double rtt_ps = 0;  // 0: unknown.
  double ecn = 0;
  Time updated{-1};
  SentRate sent;
  uint32_t packets = 0;  // Data, in this epoch;
  uint32_t retransmitted = 0;
  Time epoch;
  Time failed_until{-1};  // It has lost packets that no congestion explains.
};

// What one host knows of the paths to each leaf.
class HermesTable {
 public:
  using Row = std::vector<HermesPath>;  // By path id; empty until needed.

  void Attach(const HostView& view) {
    rows_.resize(view.leaves());
    version_ = view.PathsVersion();
  }

  Row& RowTo(const HostView& view, HostId dst) {
    Row& row = rows_[view.LeafOf(dst)];
    const std::span<const PathChoice> paths = view.PathsTo(dst);
    if (!paths.empty() && row.size() <= paths.back().id) row.resize(paths.back().id + size_t{1});
    return row;
  }

  // When routes change, what is known of failures may be about links that are gone, or mended: all
  // is forgotten but what this host sends. False if they have not.
  bool Forget(const HostView& view) {
    if (version_ == view.PathsVersion()) return false;
    version_ = view.PathsVersion();
    for (Row& row : rows_) {
      for (HermesPath& path : row) {
        HermesPath fresh;
        fresh.sent = path.sent;
        path = fresh;
      }
    }
    return true;
  }

  uint32_t version() const { return version_; }  // Of the paths that rows are about.
  size_t leaves() const { return rows_.size(); }
  Row& row(size_t leaf) { return rows_[leaf]; }
  size_t memory_bytes() const {
    size_t bytes = 0;
    for (const Row& row : rows_) bytes += row.size() * sizeof(HermesPath);
    return bytes;
  }

 private:
  uint32_t version_ = 0;
  std::vector<Row> rows_;
};

// What one host of a rack has learned of a path, all of them know a little later.
class HermesRacks final : public Controller {
 public:
  // The tables of the hosts of each rack.
  HermesRacks(std::vector<std::vector<HermesTable*>> racks, Duration interval)
      : interval_(interval), racks_(std::move(racks)) {}

  Time Next() const override { return next_; }
  void Act(Time /*now*/) override {
    for (const std::vector<HermesTable*>& rack : racks_) {
      FindCurrent(rack);
      for (size_t leaf = 0; leaf < rack.front()->leaves(); ++leaf) Share(leaf);
    }
    next_ += interval_;
  }

 private:
  // Hosts that have not looked at their paths since routes changed have nothing to tell: what they
  // know of is gone.
  void FindCurrent(const std::vector<HermesTable*>& rack) {
    uint32_t newest = 0;
    for (const HermesTable* host : rack) newest = std::max(newest, host->version());
    current_.clear();
    for (HermesTable* host : rack) {
      if (host->version() == newest) current_.push_back(host);
    }
  }

  // The latest of each path goes to all who keep a table of that leaf; that it has failed, which
  // only the host knows that lost the packets, is not undone by fresher delays of others.
  void Share(size_t leaf) const {
    size_t paths = 0;
    for (HermesTable* host : current_) paths = std::max(paths, host->row(leaf).size());
    for (size_t p = 0; p < paths; ++p) {
      const HermesPath* latest = nullptr;
      Time failed_until{-1};
      for (HermesTable* host : current_) {
        if (p >= host->row(leaf).size()) continue;
        const HermesPath& path = host->row(leaf)[p];
        if (latest == nullptr || path.updated > latest->updated) latest = &path;
        failed_until = std::max(failed_until, path.failed_until);
      }
      for (HermesTable* host : current_) {
        if (p < host->row(leaf).size()) Copy(*latest, failed_until, host->row(leaf)[p]);
      }
    }
  }

  static void Copy(const HermesPath& from, Time failed_until, HermesPath& to) {
    to.rtt_ps = from.rtt_ps;
    to.ecn = from.ecn;
    to.updated = from.updated;
    to.failed_until = failed_until;
  }

  const Duration interval_;
  Time next_ = Time{} + interval_;
  const std::vector<std::vector<HermesTable*>> racks_;
  std::vector<HermesTable*> current_;  // Of the rack that is being looked at.
};

}  // namespace heddle
