// SPDX-License-Identifier: Apache-2.0

#include "topo/path_classes.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace heddle {
namespace {

using Class = PathClasses::Class;

constexpr int64_t kManyPaths = 1 << 16;  // Numbers of them grow exponentially in odd networks.

}  // namespace

PathClasses::PathClasses(const Routing& routing)
    : routing_(routing), to_group_(routing.groups()), hop_set_of_(routing.switches()) {
  // kArrived and kNowhere both have no steps; the map tells them apart by holding only one of them.
  const auto nowhere = classes_.emplace(std::vector<Step>(), kNowhere).first;
  steps_ = {&nowhere->first, &nowhere->first};
}

Class PathClasses::Between(SwitchId from, size_t group) {
  return ClassOf(from, routing_.FirstOf(group), to_group_[group]);
}

Class PathClasses::ClassOf(SwitchId from, HostId host, Known& known) {
  if (routing_.IsAttached(from, host)) return kArrived;
  HopSet& set = HopSetOf(from, host);
  if (const auto found = known.find(&set); found != known.end()) return found->second;
  auto& [hops, latest] = set;
  bool is_latest = latest.its != kUnknown;
  latest.rests.resize(hops.size(), kUnknown);
  for (size_t i = 0; i < hops.size(); ++i) {
    const Class rest = ClassOf(hops[i].peer, host, known);
    is_latest = is_latest && rest == latest.rests[i];
    latest.rests[i] = rest;
  }
  if (!is_latest) latest.its = ClassVia(hops, latest.rests);
  return known[&set] = latest.its;
}

// The next hops of switch `from` towards `host`.
PathClasses::HopSet& PathClasses::HopSetOf(SwitchId from, HostId host) {
  const RoutingTable& table = routing_.TableOf(from);
  std::vector<HopSet*>& of_sets = hop_set_of_[from];
  if (of_sets.empty()) of_sets.resize(table.sets.size());
  HopSet*& its = of_sets[table.SetOf(host)];
  if (its != nullptr) return *its;
  Hops hops;
  for (const PortIndex port : table.Towards(host)) {
    const Adjacency::Port& link = routing_.PortsOf(from)[port];
    hops.push_back({routing_.PathPart(from, port), link.out, routing_.SwitchAt(link.peer)});
  }
  its = &*hop_sets_.try_emplace(std::move(hops)).first;
  return *its;
}

// The class of the paths through `hops`, which go on as `rests`, hop by hop.
Class PathClasses::ClassVia(const Hops& hops, std::span<const Class> rests) {
  std::vector<Step> steps;
  for (size_t i = 0; i < hops.size(); ++i) {
    steps.push_back({hops[i].id_part, hops[i].out, rests[i]});
  }
  const auto [entry, is_new] =
      classes_.try_emplace(std::move(steps), static_cast<Class>(steps_.size()));
  if (is_new) steps_.push_back(&entry->first);
  return entry->second;
}

bool PathClasses::HasSeveral(Class paths) const {
  while (steps_[paths]->size() == 1) paths = steps_[paths]->front().rest;
  return steps_[paths]->size() > 1;
}

const std::vector<std::vector<Channel>>& PathClasses::ChannelsOf(Class paths) {
  channels_.resize(steps_.size());
  if (channels_[paths]) return *channels_[paths];
  std::vector<std::vector<Channel>> found;
  if (paths == kArrived) found.emplace_back();
  for (const Step& step : *steps_[paths]) {
    for (const std::vector<Channel>& rest : ChannelsOf(step.rest)) {
      found.push_back({step.out});
      found.back().insert(found.back().end(), rest.begin(), rest.end());
    }
  }
  std::ranges::sort(found);
  const auto same = std::ranges::unique(found);
  found.erase(same.begin(), same.end());
  return channels_[paths].emplace(std::move(found));
}

const std::vector<PathClasses::Way>& PathClasses::WaysOf(Class paths) {
  ways_.resize(steps_.size());
  if (ways_[paths]) return *ways_[paths];
  std::map<std::pair<uint32_t, int64_t>, int64_t> count;
  if (paths == kArrived) count[{0, std::numeric_limits<int64_t>::max()}] = 1;
  for (const Step& step : *steps_[paths]) {
    for (const Way& rest : WaysOf(step.rest)) {
      int64_t& all = count[{rest.id + step.id_part, std::min(rest.bps, step.out.rate.bps)}];
      all = std::min(all + rest.count, kManyPaths);
    }
  }
  std::vector<Way> ways;
  for (const auto& [way, number] : count) ways.push_back({way.first, way.second, number});
  return ways_[paths].emplace(std::move(ways));
}

int64_t PathClasses::CapacityVia(const Channel& first, Class rest) {
  int64_t capacity = 0;
  for (const Way& way : WaysOf(rest)) capacity += std::min(way.bps, first.rate.bps) * way.count;
  return capacity;
}

const std::vector<PathChoice>& PathClasses::ChoicesOf(Class paths) {
  choices_.resize(steps_.size());
  if (choices_[paths]) return *choices_[paths];
  std::vector<std::pair<uint32_t, int64_t>> capacities;  // Path ids, with bits per second.
  for (const Way& way : WaysOf(paths)) {
    if (capacities.empty() || capacities.back().first != way.id) capacities.push_back({way.id, 0});
    capacities.back().second += way.bps * way.count;
  }
  int64_t unit = 0;
  int64_t largest = 0;
  for (const auto& [id, bps] : capacities) {
    unit = std::gcd(unit, bps);
    largest = std::max(largest, bps);
  }
  // Rates without a large common divisor are all scaled by one factor and rounded.
  unit = std::max(unit, largest / 0xffff + 1);
  std::vector<PathChoice> choices;
  for (const auto& [id, bps] : capacities) {
    const int64_t weight = std::max<int64_t>((bps + unit / 2) / unit, 1);
    choices.push_back({static_cast<uint16_t>(id), static_cast<uint16_t>(weight)});
  }
  return choices_[paths].emplace(std::move(choices));
}

}  // namespace heddle
