// SPDX-License-Identifier: Apache-2.0
// Sizes that an experiment gives itself, instead of naming a framing.

#include "transport/framing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "settings/reader.h"
#include "settings/writer.h"
#include "settings/yaml.h"
#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"
#include "tests/support/settings_from.h"

namespace heddle::framing_test {

using testing::ElementsAre;
using testing::HasSubstr;

struct Framed {
  Chosen<TcpFraming> framing = TcpFramings().Make("eth");
  void Declare(Fields& fields) { fields.Kind("framing", framing, TcpFramings(), "Sizes."); }
};

std::vector<std::string> ErrorsOf(const std::string& yaml) {
  Framed framed;
  Diagnostics diagnostics;
  const std::optional<Value> document = ParseYaml(yaml, "f.yaml", diagnostics);
  ReadSettings(
      *document, [&](Fields& fields) { framed.Declare(fields); }, diagnostics);
  return diagnostics.errors();
}

// The sizes of all packets that pass switch 0 while one flow runs.
std::map<PacketKind, std::vector<int>> SizesSeen(const std::string& transport, int64_t size) {
  std::map<PacketKind, std::vector<int>> seen;
  const auto note = [&](const SwitchView&, const Packet& p) { seen[p.kind].push_back(p.bytes); };
  std::vector<Rule> rules;
  for (const PacketKind kind :
       {PacketKind::kData, PacketKind::kAck, PacketKind::kSyn, PacketKind::kSynAck}) {
    rules.push_back(WatchAt(0, Anything(kind), note));
  }
  Lab lab({.graph = Line(2, {100_Gbps, 1_us}),
           .transport = transport,
           .switch_policy = Scripted(std::move(rules))});
  lab.AddFlow(0, 1, size);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  return seen;
}

TEST(ExactFramingTest, GivesEachPacketOfTcpItsSize) {
  const auto seen = SizesSeen(
      "{kind: tcp, setup: handshake, "
      "framing: {payload: 1500B, header: 0B, ack: 40B, syn: 1B, syn_ack: 44B}}",
      3'200);
  EXPECT_THAT(seen.at(PacketKind::kSyn), ElementsAre(1));
  EXPECT_THAT(seen.at(PacketKind::kSynAck), ElementsAre(44));
  EXPECT_THAT(seen.at(PacketKind::kData), ElementsAre(1'500, 1'500, 200));
  EXPECT_THAT(seen.at(PacketKind::kAck), ElementsAre(40, 40, 40));
}

TEST(ExactFramingTest, PadsAndLeavesTheHandshakeAtTheAcksSize) {
  const auto seen = SizesSeen(
      "{kind: tcp, setup: handshake, lb_header: 10B, "
      "framing: {payload: 1000B, header: 20B, ack: 60B, minimum: 100B, wire: 24B}}",
      1'001);
  EXPECT_THAT(seen.at(PacketKind::kSyn), ElementsAre(60));
  EXPECT_THAT(seen.at(PacketKind::kSynAck), ElementsAre(60));
  EXPECT_THAT(seen.at(PacketKind::kData), ElementsAre(1'030, 100));
}

// A SYN of 1 B takes 80 ps on a link of 100 Gbps, an ACK of 40 B 3.2 ns, data of 1500 B 120 ns;
// three links of 1 us each way.
TEST(ExactFramingTest, TakesTheTimeOfItsBytesOnTheWire) {
  Lab lab({.graph = Line(3, {100_Gbps, 1_us}),
           .transport = "{kind: tcp, setup: handshake, framing: {payload: 1500B, header: 0B, "
                        "ack: 40B, syn: 1B}}"});
  lab.AddFlow(0, 1, 1'500);
  lab.Run();
  const Duration syn = 3 * (1_us + 80_ps);
  const Duration ack = 3 * (1_us + 3'200_ps);
  const Duration data = 3 * (1_us + 120_ns);
  EXPECT_EQ(FctRx(lab.Record(0)), syn + ack + data);
  EXPECT_EQ(lab.Record(0).sender.done - lab.Record(0).spec.start, syn + ack + data + ack);
}

TEST(ExactFramingTest, GivesRoceItsSizes) {
  const PacketSizes sizes =
      TransportFrom("{kind: rocev2, framing: {payload: 1000B, header: 48B, ack: 60B, cnp: 62B}}")
          .settings->sizes();
  EXPECT_EQ(sizes.mss, 1'000);
  EXPECT_EQ(sizes.DataPacket(1'000), 1'048);
  EXPECT_EQ(sizes.DataPacket(1), 49);
  EXPECT_EQ(sizes.wire_overhead, 0);
  EXPECT_EQ(sizes.ack, 60);
  EXPECT_EQ(sizes.nack, 60);
  EXPECT_EQ(sizes.cnp, 62);
  EXPECT_EQ(sizes.Smallest(), 49);
  const PacketSizes nack =
      TransportFrom("{kind: rocev2, framing: {payload: 1000B, header: 48B, ack: 60B, nack: 61B}}")
          .settings->sizes();
  EXPECT_EQ(nack.ack, 60);
  EXPECT_EQ(nack.nack, 61);
  EXPECT_EQ(nack.cnp, 60);
  const PacketSizes named = TransportFrom("{kind: rocev2}").settings->sizes();
  EXPECT_EQ(named.nack, named.ack);
  EXPECT_EQ(named.cnp, named.ack);
  // 40 bytes of headers without payload.
  const PacketSizes ip = TransportFrom("{kind: rocev2, framing: ip1500}").settings->sizes();
  EXPECT_EQ(ip.ack, 40);
  EXPECT_EQ(ip.nack, 40);
  EXPECT_EQ(ip.cnp, 40);
}

// The same sizes under a name and as a map make the same run.
TEST(ExactFramingTest, IsAsTheNameWhoseSizesItGives) {
  const auto fct = [](const std::string& framing) {
    Lab lab({.graph = Line(4, {40_Gbps, 1_us}), .transport = "{kind: rocev2" + framing + "}"});
    lab.AddFlow(0, 1, 123'457);
    lab.Run();
    return lab.Record(0).sender.done;
  };
  EXPECT_EQ(fct(", framing: {payload: 1000B, header: 48B, ack: 60B}"), fct(", framing: ns3_rdma"));
  EXPECT_EQ(fct(", framing: {payload: 1024B, header: 62B, ack: 64B, minimum: 64B, wire: 20B}"),
            fct(""));
}

TEST(ExactFramingTest, IsRefusedWithWhatIsMissingOrTooMuch) {
  EXPECT_THAT(ErrorsOf("framing: {payload: 1500B, ack: 40B}"),
              ElementsAre(HasSubstr("framing.header: is missing")));
  EXPECT_THAT(ErrorsOf("framing: {payload: 1500B, header: 0B, ack: 0B}"),
              ElementsAre(HasSubstr("framing.ack: \"0B\" is out of range")));
  EXPECT_THAT(ErrorsOf("framing: ether"),
              ElementsAre(HasSubstr("no framing is called \"ether\"; did you mean \"eth\"? "
                                    "(known: eth, ip1500)")));
  EXPECT_THAT(ErrorsOf("framing: {kind: \"\", payload: 1500B}"),
              ElementsAre(HasSubstr("no framing is called")));
  EXPECT_THAT(ErrorsOf("framing: {kind: eth, header: 3B}"),
              ElementsAre(HasSubstr("framing.header: unknown key")));
}

TEST(ExactFramingTest, ReplacesTheMtu) {
  const auto errors = [](const std::string& yaml) {
    Chosen<TransportModel> chosen = Transports().Make("tcp");
    Diagnostics diagnostics;
    const std::optional<Value> document = ParseYaml(yaml, "t.yaml", diagnostics);
    ReadSettings(
        *document, [&](Fields& fields) { chosen.settings->Declare(fields); }, diagnostics);
    return diagnostics.errors();
  };
  EXPECT_THAT(errors("framing: {payload: 900B, header: 0B, ack: 40B}\nmtu: 9000"),
              ElementsAre(HasSubstr("mtu: goes with a framing that has a name")));
  EXPECT_THAT(errors("framing: ip1500\nmtu: 9000"), ElementsAre());
}

TEST(ExactFramingTest, IsWrittenAsItIsRead) {
  const auto written = [](Framed& framed) {
    return WriteYaml([&](Fields& fields) { framed.Declare(fields); });
  };
  Framed framed;
  EXPECT_EQ(written(framed), "framing: eth\n");
  Diagnostics diagnostics;
  const std::string map =
      "framing:\n  payload: 1500B\n  header: 0B\n  ack: 40B\n  minimum: 0B\n  wire: 0B\n"
      "  syn: 1B\n  syn_ack: ack\n";
  ReadSettings(
      *ParseYaml(map, "f.yaml", diagnostics), [&](Fields& fields) { framed.Declare(fields); },
      diagnostics);
  EXPECT_EQ(written(framed), map);
}

}  // namespace heddle::framing_test
