// SPDX-License-Identifier: Apache-2.0
// The check at the end of a run that no packet is created or lost without a record: a run in which
// that happens must stop the program.

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "core/check.h"
#include "core/node.h"
#include "fabric/fifo_port.h"
#include "measure/instrument.h"
#include "tests/support/experiment_kit.h"

namespace heddle::conservation_test {

// Does something to the network that no instrument may do, once, at 500 ns.
class Meddler final : public Instrument {
 public:
  explicit Meddler(std::function<void(FifoPort&, Time)> meddle) : meddle_(std::move(meddle)) {}

  Time Next() const override { return next_; }
  void Act(Time now) override {
    next_ = kNever;
    meddle_(*network().egresses().front().fifo, now);
  }

 private:
  const std::function<void(FifoPort&, Time)> meddle_;
  Time next_ = Time{} + 500_ns;
};

// Each of two hosts sends one packet to the other. The run ends at 600 ns, when both packets are on
// their way to the switch.
void RunWith(const std::function<void(FifoPort&, Time)>& meddle) {
  Meddler meddler(meddle);
  SimulationOptions options;
  options.instruments = {&meddler};
  const FinishedRun run =
      RunExperiment(ExperimentFrom("topology: {kind: custom, hosts: 2, switches: [{name: s}],\n"
                                   "  link: {rate: 10Gbps, delay: 1us},\n"
                                   "  links: [{a: host0, b: s}, {a: host1, b: s}]}\n"
                                   "lb: ecmp\nworkload: [{kind: permutation, size: 1000B}]\n"
                                   "measure: {warm_up: 0ps, t_max: 600ns, unfinished: inf}\n"),
                    options);
  EXPECT_EQ(run.result.packets.sent(), 2);
  EXPECT_EQ(run.result.packets.in_flight, 2);
}

void Leave(FifoPort& /*port*/, Time /*now*/) {}

void Steal(FifoPort& port, Time /*now*/) {
  port.wire().TakeBack(1);
  port.wire().TellOfChange();
}

void Forge(FifoPort& port, Time now) {
  const Packet copy = port.wire().At(port.wire().pushed() - 1);
  port.Send(copy, 0, now, Window::Until(now));
}

TEST(ConservationTest, HoldsIfNobodyMeddles) { RunWith(&Leave); }

TEST(ConservationDeathTest, APacketThatVanishesIsABrokenInvariant) {
  EXPECT_EXIT(RunWith(&Steal), testing::ExitedWithCode(kExitBrokenInvariant),
              "broken invariant: 2 packets sent, but 0 received, 0 consumed, 0 dropped and 1 in "
              "flight");
}

TEST(ConservationDeathTest, SoIsAPacketThatNobodyHasSent) {
  EXPECT_EXIT(RunWith(&Forge), testing::ExitedWithCode(kExitBrokenInvariant),
              "broken invariant: 2 packets sent, but 0 received, 0 consumed, 0 dropped and 3 in "
              "flight");
}

}  // namespace heddle::conservation_test
