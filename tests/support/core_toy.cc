// SPDX-License-Identifier: Apache-2.0

#include "tests/support/core_toy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <queue>
#include <tuple>

#include "core/timers.h"

namespace heddle {
namespace {

constexpr Duration kGrid{100};
constexpr uint8_t kLongestLife = 10;

Duration GridSteps(Rng& rng, uint32_t most) { return kGrid * rng.Below(most + 1); }

// The actions of a node, on either of the two machines.
class ToyWorld {
 public:
  virtual ~ToyWorld() = default;
  virtual void Send(size_t out_port, Duration extra, uint32_t payload, uint8_t life) = 0;
  virtual void SetTimer(Time at, uint64_t key) = 0;
  virtual void Post(size_t node, Time at, uint64_t key) = 0;  // Sets a timer there.
};

// The behaviour of a node.
class ToyBrain {
 public:
  ToyBrain(const ToyPlan& plan, size_t id)
      : rng_(Rng::Stream(plan.seed, "brain", id)),
        nodes_(static_cast<uint32_t>(plan.nodes())),
        out_ports_(static_cast<uint32_t>(
            std::ranges::count(plan.links, id, [](const ToyPlan::Link& l) { return l.from; }))),
        letter_delay_(plan.letter_delay) {}

  void OnPacket(Time now, PortIndex in_port, uint32_t payload, uint8_t life, ToyWorld& world) {
    log_.push_back({now, ToyEvent::kPacket, in_port, payload, mood_});
    const uint32_t choice = rng_.Below(64);
    if (choice == 0) {  // More packets than a fresh ring holds.
      const size_t port = rng_.Below(out_ports_);
      for (int i = 0; i < 40; ++i) world.Send(port, GridSteps(rng_, 4), payload, 0);
    }
    if (life == 0) return;
    if (choice >= 8) SendSome(payload, life, choice >= 56 ? 2 : 1, world);
    if (choice % 8 == 1) world.SetTimer(now + GridSteps(rng_, 30), rng_.Below(4));
    if (choice % 16 == 2) {
      world.Post(rng_.Below(nodes_), now + letter_delay_ + GridSteps(rng_, 3), rng_.Below(4));
    }
  }

  void OnTimer(Time now, uint64_t key, ToyWorld& world) {
    log_.push_back({now, ToyEvent::kTimer, key, 0, mood_});
    SendSome(static_cast<uint32_t>(rng_.Next()), kLongestLife, 1, world);
    if (rng_.Below(8) == 0) world.SetTimer(now, rng_.Below(4));  // Due at the same instant.
  }

  void OnMood(uint64_t mood) { mood_ = mood_ * 31 + mood; }

  std::vector<ToyEvent>& log() { return log_; }

 private:
  void SendSome(uint32_t payload, uint8_t life, int count, ToyWorld& world) {
    for (int i = 0; i < count; ++i) {
      const uint32_t port = rng_.Below(out_ports_);
      const Duration extra = rng_.Below(16) == 0 ? GridSteps(rng_, 200) : GridSteps(rng_, 5);
      world.Send(port, rng_.Below(2) == 0 ? Duration{0} : extra, payload + 1,
                 static_cast<uint8_t>(life - 1));
    }
  }

  Rng rng_;
  uint32_t nodes_;
  uint32_t out_ports_;
  Duration letter_delay_;
  uint64_t mood_ = 0;
  std::vector<ToyEvent> log_;
};

// --- The reference ---

class EventQueue {
 public:
  explicit EventQueue(const ToyPlan& plan) : plan_(plan), out_links_(plan.nodes()) {
    for (size_t n = 0; n < plan.nodes(); ++n) brains_.emplace_back(plan, n);
    std::vector<PortIndex> in_ports(plan.nodes(), 0);
    for (size_t l = 0; l < plan.links.size(); ++l) {
      out_links_[plan.links[l].from].push_back(l);
      in_port_of_link_.push_back(in_ports[plan.links[l].to]++);
    }
    last_arrival_.assign(plan.links.size(), Time{-1});
  }

  ToyLog Run() {
    for (const ToyPlan::Shock& shock : plan_.shocks) {
      Add({shock.at, shock.is_kick ? kTimer : kMood, shock.node, shock.key});
    }
    while (!events_.empty() && events_.top().at < plan_.end) {
      const Event event = events_.top();
      events_.pop();
      Handle(event);
    }
    ToyLog log;
    for (ToyBrain& brain : brains_) log.push_back(std::move(brain.log()));
    return log;
  }

 private:
  enum Class { kMood, kPacket, kTimer };
  struct Event {
    Time at;
    Class kind;
    size_t node;
    uint64_t where;
    uint32_t payload = 0;
    uint8_t life = 0;
    uint64_t number = 0;

    auto Key() const { return std::tie(at, kind, node, where, number); }
    friend bool operator>(const Event& a, const Event& b) { return a.Key() > b.Key(); }
  };

  class World final : public ToyWorld {
   public:
    World(EventQueue& queue, Time now, size_t node) : queue_(queue), now_(now), node_(node) {}
    void Send(size_t out_port, Duration extra, uint32_t payload, uint8_t life) override {
      const size_t l = queue_.out_links_[node_][out_port];
      const ToyPlan::Link& link = queue_.plan_.links[l];
      Time& arrival = queue_.last_arrival_[l];
      arrival = std::max(arrival, now_ + link.least + extra);
      queue_.Add({arrival, kPacket, link.to, queue_.in_port_of_link_[l], payload, life});
    }
    void SetTimer(Time at, uint64_t key) override { queue_.Add({at, kTimer, node_, key}); }
    void Post(size_t node, Time at, uint64_t key) override { queue_.Add({at, kTimer, node, key}); }

   private:
    EventQueue& queue_;
    const Time now_;
    const size_t node_;
  };

  void Add(Event event) {
    event.number = number_++;
    events_.push(event);
  }

  void Handle(const Event& event) {
    World world(*this, event.at, event.node);
    ToyBrain& brain = brains_[event.node];
    switch (event.kind) {
      case kMood:
        return brain.OnMood(event.where);
      case kPacket:
        return brain.OnPacket(event.at, static_cast<PortIndex>(event.where), event.payload,
                              event.life, world);
      case kTimer:
        return brain.OnTimer(event.at, event.where, world);
    }
  }

  const ToyPlan& plan_;
  std::vector<ToyBrain> brains_;
  std::vector<std::vector<size_t>> out_links_;  // By node.
  std::vector<PortIndex> in_port_of_link_;
  std::vector<Time> last_arrival_;  // By link.
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  uint64_t number_ = 0;
};

// --- On the engine ---

class ToyNode final : public Node, private ToyWorld {
 public:
  ToyNode(const ToyPlan& plan, size_t id) : brain_(plan, id) {}

  bool MayMove() const override { return true; }

  WireTail& AddOut(Duration least) {
    outs_.push_back(std::make_unique<Out>());
    outs_.back()->least = least;
    return outs_.back()->wire;
  }
  void SetNodes(std::vector<Node*> nodes) { nodes_ = std::move(nodes); }

  void Kick(Time at, uint64_t key) {
    timers_.Set(at, key);
    Wake(at);
  }

  void Run(const Window& window) override {
    window_ = &window;
    for (;;) {
      const Time arrival = arrivals_.Next();
      now_ = std::min(arrival, timers_.Next());
      if (now_ >= window.end) return;
      if (arrival == now_) {
        const PortIndex port = arrivals_.Port();
        const Packet packet = arrivals_.Front();
        arrivals_.Pop();
        brain_.OnPacket(now_, port, packet.seq, packet.hops, *this);
      } else {
        brain_.OnTimer(now_, timers_.Pop().key, *this);
      }
    }
  }
  Time Due() const override { return std::min(arrivals_.Next(), timers_.Next()); }
  void OnLetter(const Letter& letter) override {
    ++letters_read;
    const Timer timer = letter.Body<Timer>();
    timers_.Set(timer.at, timer.key);
  }

  ToyBrain& brain() { return brain_; }
  int64_t letters_posted = 0;
  int64_t letters_read = 0;

 private:
  struct Out {
    WireTail wire;
    Duration least;
    Time last{-kNever.ps};
  };

  void Send(size_t out_port, Duration extra, uint32_t payload, uint8_t life) override {
    Out& out = *outs_[out_port];
    const Time arrival = std::max(out.last, now_ + out.least + extra);
    Packet& packet = out.wire.Slot();
    packet.Clear();
    packet.arrival = arrival;
    packet.seq = payload;
    packet.hops = life;
    out.wire.Commit(arrival, out.last, window_->Horizon(out.wire));
    out.last = arrival;
  }
  void SetTimer(Time at, uint64_t key) override { timers_.Set(at, key); }
  void Post(size_t node, Time at, uint64_t key) override {
    ++letters_posted;
    Node::Post(Letter::Of(*nodes_[node], 0, Timer{at, key}), at);
  }

  ToyBrain brain_;
  std::vector<std::unique_ptr<Out>> outs_;
  std::vector<Node*> nodes_;
  Timers timers_;
  Time now_;
  const Window* window_ = nullptr;
};

class ToyConductor final : public Conductor {
 public:
  ToyConductor(const ToyPlan& plan, std::deque<ToyNode>& nodes) : plan_(plan), nodes_(nodes) {}

  Time Next() override { return next_ < plan_.shocks.size() ? plan_.shocks[next_].at : kNever; }

  Time Open(Time start, Time latest) override {
    EXPECT_FALSE(open_);
    EXPECT_LT(start, latest);
    EXPECT_LE(latest, plan_.end);
    EXPECT_LE(start, Next());  // Nothing is to be done in the past.
    open_ = true;
    Time end = latest;
    for (; Next() < end; ++next_) {
      const ToyPlan::Shock& shock = plan_.shocks[next_];
      if (shock.is_kick) {
        nodes_[shock.node].Kick(shock.at, shock.key);
      } else if (shock.at > start) {
        end = shock.at;
        break;
      } else {
        nodes_[shock.node].brain().OnMood(shock.key);
      }
    }
    spans.emplace_back(start, end);
    return end;
  }

  void Close(Time end) override {
    EXPECT_TRUE(open_);
    EXPECT_EQ(end, spans.back().second);
    open_ = false;
  }

  Time End() const override { return plan_.end; }

  std::vector<std::pair<Time, Time>> spans;

 private:
  const ToyPlan& plan_;
  std::deque<ToyNode>& nodes_;
  size_t next_ = 0;
  bool open_ = false;
};

}  // namespace

size_t ToyPlan::groups() const { return 1 + *std::ranges::max_element(group_of); }

Duration ToyPlan::Lookahead() const {
  Duration least{kNever.ps};
  for (const Link& link : links) {
    if (group_of[link.from] != group_of[link.to]) least = std::min(least, link.least);
  }
  return least;
}

ToyPlan RandomToyPlan(uint64_t seed, size_t groups, size_t group_size, Duration length,
                      ToySides sides) {
  Rng rng = Rng::Stream(seed, "plan", 0);
  ToyPlan plan;
  plan.seed = seed;
  plan.end = Time{} + length;
  for (size_t n = 0; n < groups * group_size; ++n) plan.group_of.push_back(n / group_size);
  const uint32_t nodes = static_cast<uint32_t>(plan.nodes());
  for (size_t n = 0; n < nodes; ++n) {
    const auto link_to = [&](size_t to) {
      const bool one_group = plan.group_of[n] == plan.group_of[to];
      const bool within = one_group && sides != ToySides::kNodes;
      const bool one_side = sides == ToySides::kGroups
                                ? !one_group && (plan.group_of[n] - plan.group_of[to]) % 2 == 0
                                : sides == ToySides::kNodes && (n - to) % 2 == 0;
      if (one_side) return;
      const Duration least = within      ? kGrid + GridSteps(rng, 4)
                             : one_group ? 3_ns
                                         : 1_ns + GridSteps(rng, 20);
      if (to != n) plan.links.push_back({n, to, least});
    };
    link_to((n + 1) % nodes);
    for (int i = 0; i < 2; ++i) link_to(rng.Below(nodes));
  }
  for (size_t n = 0; n < 2 * nodes; ++n) {
    plan.shocks.push_back({Time{} + GridSteps(rng, static_cast<uint32_t>(length / kGrid)),
                           rng.Below(nodes), rng.Below(4), rng.Below(4) != 0});
  }
  std::ranges::stable_sort(plan.shocks, {}, &ToyPlan::Shock::at);
  plan.letter_delay = plan.Lookahead();
  if (sides != ToySides::kNone) {  // The windows are long, and there are several in a round.
    plan.letter_delay += plan.Lookahead() * rng.Below(8) + GridSteps(rng, 15);
  }
  return plan;
}

ToyLog RunOnEventQueue(const ToyPlan& plan) { return EventQueue(plan).Run(); }

ToyResult RunOnEngine(const ToyPlan& plan, int threads, bool moves) {
  std::deque<ToyNode> nodes;
  std::vector<Node*> addresses;
  Engine engine;
  for (size_t g = 0; g < plan.groups(); ++g) engine.AddGroup();
  for (size_t n = 0; n < plan.nodes(); ++n) {
    engine.Add(nodes.emplace_back(plan, n), static_cast<Engine::GroupId>(plan.group_of[n]));
    addresses.push_back(&nodes.back());
  }
  for (ToyNode& node : nodes) node.SetNodes(addresses);
  for (const ToyPlan::Link& link : plan.links) {
    engine.Connect(nodes[link.from], nodes[link.from].AddOut(link.least), nodes[link.to],
                   link.least);
  }
  engine.LimitWindow(plan.letter_delay);
  engine.Place(threads);
  if (moves) engine.MoveGroupsAtRandom(plan.seed);
  ToyConductor conductor(plan, nodes);
  ToyResult result;
  result.end = engine.Run(conductor);
  result.threads = engine.threads();
  result.alternates = engine.alternates();
  result.windows = engine.windows();
  result.spans = std::move(conductor.spans);
  for (ToyNode& node : nodes) {
    result.letters_posted += node.letters_posted;
    result.letters_read += node.letters_read;
    result.log.push_back(std::move(node.brain().log()));
  }
  return result;
}

}  // namespace heddle
