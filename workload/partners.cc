// SPDX-License-Identifier: Apache-2.0

#include "workload/partners.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "workload/derangement.h"

namespace heddle {
namespace {

std::vector<HostId> AllHosts(const Stage& stage) {
  std::vector<HostId> hosts(stage.hosts);
  std::iota(hosts.begin(), hosts.end(), HostId{0});
  return hosts;
}

std::vector<HostId> InLeafOrder(const Stage& stage) {
  std::vector<HostId> hosts = AllHosts(stage);
  std::ranges::stable_sort(hosts, {}, [&](HostId h) { return stage.leaf_of_host[h]; });
  return hosts;
}

// Removes the hosts from `middle` on from `hosts` and returns them.
std::vector<HostId> SplitAt(std::vector<HostId>& hosts, std::vector<HostId>::iterator middle) {
  std::vector<HostId> rest(middle, hosts.end());
  hosts.erase(middle, hosts.end());
  return rest;
}

}  // namespace

Partners::Partners(Pairs pairs, const Stage& stage)
    : stage_(stage), sends_(stage.hosts, false), spared_(stage.hosts) {
  std::vector<HostId> hosts = InLeafOrder(stage);
  switch (pairs) {
    case Pairs::kAny:
      SetSenders(hosts);
      SetReceivers(AllHosts(stage));
      SpareThemselves();
      break;
    case Pairs::kInterRack:
      SetSenders(hosts);
      SetReceivers(std::move(hosts));
      SpareRacks();
      break;
    case Pairs::kPermutation:
      SetSenders(hosts);
      only_ = Derangement(stage, false);
      break;
    case Pairs::kClientServer: {
      const auto first_server = std::ranges::lower_bound(
          hosts, stage.leaves / 2, {}, [&](HostId h) { return stage.leaf_of_host[h]; });
      SetSenders(SplitAt(hosts, first_server));
      SetReceivers(std::move(hosts));
      break;
    }
    case Pairs::kRandomHalves: {
      Rng rng = stage.Stream("halves", 0);
      rng.MoveToFront(hosts, stage.hosts / 2);
      SetReceivers(SplitAt(hosts, hosts.begin() + static_cast<std::ptrdiff_t>(stage.hosts / 2)));
      SetSenders(hosts);
      break;
    }
  }
}

Partners::Partners(const std::vector<HostId>& from, std::vector<HostId> to, const Stage& stage)
    : stage_(stage), sends_(stage.hosts, false), spared_(stage.hosts) {
  SetSenders(from);
  SetReceivers(std::move(to));
  SpareThemselves();
}

void Partners::SetSenders(const std::vector<HostId>& hosts) {
  for (const HostId host : hosts) sends_[host] = true;
}

void Partners::SetReceivers(std::vector<HostId> hosts) {
  receivers_ = std::move(hosts);
  on_leaf_.assign(stage_.leaves, 0);
  for (const HostId host : receivers_) ++on_leaf_[stage_.leaf_of_host[host]];
}

void Partners::SpareThemselves() {
  for (size_t i = 0; i < receivers_.size(); ++i) spared_[receivers_[i]] = {i, i + 1};
}

// Receivers are in the order of their leaves.
void Partners::SpareRacks() {
  std::vector<size_t> first = {0};
  std::partial_sum(on_leaf_.begin(), on_leaf_.end(), std::back_inserter(first));
  for (size_t h = 0; h < stage_.hosts; ++h) {
    const size_t leaf = stage_.leaf_of_host[h];
    spared_[h] = {first[leaf], first[leaf + 1]};
  }
}

size_t Partners::Choices(size_t src) const {
  return only_.empty() ? receivers_.size() - spared_[src].size() : 1;
}

HostId Partners::Draw(size_t src, Rng& rng) const {
  if (!only_.empty()) return only_[src];
  size_t drawn = rng.Below(static_cast<uint32_t>(Choices(src)));
  if (drawn >= spared_[src].begin) drawn += spared_[src].size();
  return receivers_[drawn];
}

double Partners::Leaving(size_t src) const {
  const uint16_t leaf = stage_.leaf_of_host[src];
  if (!only_.empty()) return stage_.leaf_of_host[only_[src]] == leaf ? 0 : 1;
  // The receivers that a host spares are on its own leaf.
  const double local = static_cast<double>(on_leaf_[leaf] - spared_[src].size());
  return 1 - local / static_cast<double>(Choices(src));
}

std::vector<double> Partners::Received(const std::vector<double>& from) const {
  std::vector<double> to(stage_.hosts, 0);
  std::vector<double> step(receivers_.size() + 1, 0);  // Change from receiver to receiver.
  for (size_t h = 0; h < stage_.hosts; ++h) {
    if (!sends_[h]) continue;
    if (!only_.empty()) {
      to[only_[h]] += from[h];
      continue;
    }
    const double share = from[h] / static_cast<double>(Choices(h));
    step[0] += share;
    step[spared_[h].begin] -= share;
    step[spared_[h].end] += share;
  }
  double share = 0;
  for (size_t i = 0; i < receivers_.size(); ++i) {
    share += step[i];
    to[receivers_[i]] += share;
  }
  return to;
}

}  // namespace heddle
