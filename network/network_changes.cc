// SPDX-License-Identifier: Apache-2.0
// The part of Network that acts between windows: links and switches that fail or change, and new
// routes.

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "network/network.h"
#include "topo/next_hops.h"

namespace heddle {

Time Network::NextChange() const {
  return std::min({NextEvent(), NextFault(), news_.Next(), NextReroute(), NextControl()});
}

void Network::Change(Time now) {
  if (NextEvent() <= now) engine_.DeliverMail();
  for (; NextEvent() <= now; ++next_event_) Apply(plan_.events[next_event_], now);
  for (; NextFault() <= now; ++next_fault_) Apply(plan_.faults[next_fault_]);
  while (const auto news = news_.Take(now)) Learn(*news, now);
  if (NextReroute() <= now) Reroute(now);
  if (NextControl() > now) return;
  controller_->Act(now);
  HEDDLE_CHECK(NextControl() > now, "a controller that acted at {} ps wants to act again at {}",
               now.ps, NextControl().ps);
}

// Routes stay as they are until the news of it, or Reroute().
void Network::Apply(const LinkEvent& event, Time now) {
  Graph::Link& link = live_.links[event.link];
  if (event.loses()) {
    if (event.concerns_up()) SetLosses(link.b, event);
    if (event.concerns_down()) SetLosses(link.a, event);
    if (!event.up && !event.rate && !event.delay) return;
  }
  Carries& carries = carries_[event.link];
  const Carries before = carries;
  if (event.concerns_up()) carries.there = event.up.value_or(carries.there);
  if (event.concerns_down()) carries.back = event.up.value_or(carries.back);
  for (Channel* channel : {&link.a_to_b, &link.b_to_a}) {
    channel->rate = event.rate.value_or(channel->rate);
    channel->delay = event.delay.value_or(channel->delay);
  }
  SetLink(link.a, event.link, link.a_to_b, carries.there, before.there, now);
  SetLink(link.b, event.link, link.b_to_a, carries.back, before.back, now);
  if (before.there && !carries.there) VoidPauses(link.b, event.link, now);
  if (before.back && !carries.back) VoidPauses(link.a, event.link, now);
  if (event.up && !event.silent) Announce(event, now);
  // New rates change no route, but may change weights.
  if (event.rate && weighs_) {
    reroutes_.insert({now + plan_.routing.convergence, {event.link, std::nullopt, event.rate}});
  }
}

// Reports a link that has gone down or up, as far as anybody learns of it: not if it was down
// already, in the other direction or for another reason.
void Network::Announce(const LinkEvent& event, Time now) {
  Carries& announced = announced_[event.link];
  const bool before = announced.both();
  if (event.concerns_up()) announced.there = *event.up;
  if (event.concerns_down()) announced.back = *event.up;
  if (announced.both() != before) news_.Report(event.link, announced.both(), now);
}

// The ends of a link stop using it as soon as they notice that it is down, and all others when
// routing has converged.
void Network::Learn(const LinkNews::News& news, Time now) {
  Graph::Link& link = live_.links[news.link];
  const bool is_early = plan_.routing.detect.has_value();
  if (is_early && link.up == news.up) return;  // The link was down for too short a time.
  link.up = news.up;
  reroutes_.insert({news.routes, {news.link, news.up, std::nullopt}});
  if (!is_early || news.up || news.routes <= now) return;
  ++routes_version_;
  Leave(news.link, now);
}

// Both ends stop using a link.
void Network::Leave(uint32_t link, Time now) {
  Leave(live_.links[link].a, link, now);
  Leave(live_.links[link].b, link, now);
}

// Removes the port of one end from its routes. A host with other links routes anew over these.
void Network::Leave(VertexId vertex, uint32_t link, Time now) {
  if (live_.IsHost(vertex)) {
    Host& host = HostAt(vertex);
    if (host.nics() < 2) return;
    Graph known = routed_;  // And what the host has noticed of its own links.
    for (const Adjacency::Port& nic : routing_.NicsOf(host.id())) {
      known.links[nic.link].up = known.links[nic.link].up && live_.links[nic.link].up;
    }
    return host.SetFirstHops(Routing(known).FirstHopsOf(host.id()), now);
  }
  Switch& s = SwitchAt(vertex);
  const PortIndex port = PortOf(vertex, link);
  const RoutingTable before = tables_[s.id()];
  RoutingTable table = WithoutPort(before, port);
  table.version = routes_version_;
  SetRoutes(s, std::move(table));
  if (!s.WantsNextHops()) return;
  SetNextHops(s, WithoutPort(next_hops_[s.id()], before, port, next_hop_hosts_));
}

void Network::SetRoutes(Switch& at, RoutingTable table) {
  if (!tables_.empty()) tables_[at.id()] = table;
  at.SetRoutes(std::move(table));
}

void Network::SetNextHops(Switch& at, NextHopTable next_hops) {
  if (!next_hops_.empty()) next_hops_[at.id()] = next_hops;
  at.SetNextHops(std::move(next_hops));
}

void Network::Apply(const SwitchEvent& event) {
  SwitchFaults& faults = *faults_[event.id];
  if (event.drop) faults.drops().Set(*event.drop);
  if (event.blackhole) faults.Open(*event.blackhole);
}

// Sets the losses of one direction: packets that arrive at `receiver`.
void Network::SetLosses(VertexId receiver, const LinkEvent& event) {
  const PortIndex port = PortOf(receiver, event.link);
  if (live_.IsHost(receiver)) {
    if (event.loss) HostAt(receiver).loss(port).Set(*event.loss);
    return;
  }
  LinkLoss& losses = faults_[live_.SwitchAt(receiver)]->link(port);
  if (event.loss) losses.SetShare(*event.loss);
  if (event.bit_errors) losses.SetBitErrors(*event.bit_errors);
  if (event.lose_every) losses.SetEvery(*event.lose_every);
  if (event.bursts) losses.SetBursts(*event.bursts);
}

PortIndex Network::PortOf(VertexId vertex, uint32_t link) const {
  const std::vector<Adjacency::Port>& ports = routing_.adjacency().Of(vertex);
  return static_cast<PortIndex>(std::ranges::find(ports, link, &Adjacency::Port::link) -
                                ports.begin());
}

// Changes one direction: the port of `vertex`.
void Network::SetLink(VertexId vertex, uint32_t link, const Channel& channel, bool up, bool was_up,
                      Time now) {
  const PortIndex port = PortOf(vertex, link);
  if (live_.IsHost(vertex)) {
    Host& host = HostAt(vertex);
    host.SetChannel(port, now, channel.rate, channel.delay);
    if (was_up && !up) host.TakeDown(port, now);
    if (!was_up && up) host.BringUp(port, now);
    return;
  }
  Switch& s = SwitchAt(vertex);
  s.SetChannel(port, now, channel.rate, channel.delay);
  if (was_up && !up) s.TakeDown(port, now);
  if (!was_up && up) s.BringUp(port, now);
}

// The direction towards `vertex` has failed, and with it what it was told by pause frames.
void Network::VoidPauses(VertexId vertex, uint32_t link, Time now) {
  const PortIndex port = PortOf(vertex, link);
  if (live_.IsHost(vertex)) return HostAt(vertex).VoidPauses(port, now);
  SwitchAt(vertex).VoidPauses(port, now);
}

// Gives every switch new routes, over the links that are up as far as routing knows.
void Network::Reroute(Time now) {
  for (; NextReroute() <= now; reroutes_.erase(reroutes_.begin())) {
    const RoutedChange& change = reroutes_.begin()->second;
    Graph::Link& link = routed_.links[change.link];
    link.up = change.up.value_or(link.up);
    for (Channel* channel : {&link.a_to_b, &link.b_to_a}) {
      channel->rate = change.rate.value_or(channel->rate);
    }
  }
  const Routing live(routed_);
  ++routes_version_;
  for (const std::unique_ptr<Switch>& s : switches_) {
    RoutingTable table = live.TableOf(s->id());
    table.version = routes_version_;
    SetRoutes(*s, std::move(table));
  }
  for (const std::unique_ptr<Host>& host : hosts_) {
    if (host->nics() > 1) host->SetFirstHops(live.FirstHopsOf(host->id()), now);
  }
  TellNextHops(live);
  LeaveNoticed(now);
  if (paths_) paths_->Replace(std::move(*live.MakePathTable()));
}

// The ends of a link that have noticed its failure still do not use it, even if routing does not
// know of it yet.
void Network::LeaveNoticed(Time now) {
  if (!plan_.routing.detect) return;
  for (const auto& [routes, change] : reroutes_) {
    const bool fails = !change.up.value_or(true);
    if (fails && !live_.links[change.link].up) Leave(change.link, now);
  }
}

void Network::TellNextHops(const Routing& routing) {
  next_hop_hosts_.clear();
  for (size_t leaf = 0; leaf < routing.leaves(); ++leaf) {
    next_hop_hosts_.push_back(routing.FirstOf(leaf));
  }
  NextHops next_hops(routing);
  for (const std::unique_ptr<Switch>& s : switches_) {
    if (s->WantsNextHops()) SetNextHops(*s, next_hops.TableOf(s->id()));
  }
}

}  // namespace heddle
