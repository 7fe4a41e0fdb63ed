// SPDX-License-Identifier: Apache-2.0
// The path tables of Hermes' hosts: measurements of the paths to other racks. Each host policy owns
// a HermesTable; the controller HermesRacks copies fresh entries among the hosts of a rack.

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

// The rate of a flow or path, averaged with the time constant tau. Small enough for a flow's state.
class SentRate {
 public:
  void Add(double bytes, Time now, Duration tau) {
    bytes_ = Decayed(now, tau) + bytes;
    at_ = now;
  }
  double Bps(Time now, Duration tau) const { return Decayed(now, tau) * 8 / Seconds(tau); }
  Time last() const { return at_; }

 private:
  // Decays in steps of tau / 64, because exp() of the C library differs between machines.
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

// The measurements of one path to a rack.
struct HermesPath {
  double rtt_ps = 0;  // 0: unknown.
  double ecn = 0;
  Time updated{-1};
  SentRate sent;
  uint32_t packets = 0;  // Data packets in this epoch.
  uint32_t retransmitted = 0;
  Time epoch;
  Time failed_until{-1};  // Set when packets were lost without congestion.
};

// One host's measurements of the paths to each leaf.
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

  // After a change of routes, measured failures may concern links that are gone or repaired:
  // forgets everything but the host's own sending rates. Returns false if routes have not changed.
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

  uint32_t version() const { return version_; }  // Version of the paths in the rows.
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

// Shares the tables among the hosts of each rack: all of them know a measurement a little later.
class HermesRacks final : public Controller {
 public:
  // `racks`: the tables of the hosts of each rack.
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
  // Finds the hosts with the newest routes. The others have nothing to share: their measurements
  // are for old routes.
  void FindCurrent(const std::vector<HermesTable*>& rack) {
    uint32_t newest = 0;
    for (const HermesTable* host : rack) newest = std::max(newest, host->version());
    current_.clear();
    for (HermesTable* host : rack) {
      if (host->version() == newest) current_.push_back(host);
    }
  }

  // Copies the latest measurement of each path to all hosts with a row for that leaf. A failure,
  // known only to the host that lost packets, survives fresher delays of others.
  void Share(size_t leaf) {
    rows_.clear();
    size_t paths = 0;
    for (HermesTable* host : current_) {
      if (host->row(leaf).empty()) continue;
      rows_.push_back(&host->row(leaf));
      paths = std::max(paths, rows_.back()->size());
    }
    if (rows_.size() < 2) return;
    for (size_t p = 0; p < paths; ++p) {
      const HermesPath* latest = nullptr;
      Time failed_until{-1};
      for (const HermesTable::Row* row : rows_) {
        if (p >= row->size()) continue;
        const HermesPath& path = (*row)[p];
        if (latest == nullptr || path.updated > latest->updated) latest = &path;
        failed_until = std::max(failed_until, path.failed_until);
      }
      for (HermesTable::Row* row : rows_) {
        if (p < row->size()) Copy(*latest, failed_until, (*row)[p]);
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
  std::vector<HermesTable*> current_;    // The tables that FindCurrent() found.
  std::vector<HermesTable::Row*> rows_;  // Share() copies among these.
};

}  // namespace heddle
