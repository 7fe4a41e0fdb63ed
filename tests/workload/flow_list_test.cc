// SPDX-License-Identifier: Apache-2.0

#include "workload/flow_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"

namespace heddle::flow_list_test {

using testing::HasSubstr;

class FlowListTest : public testing::Test {
 protected:
  FlowListTest() { stage_.folder = folder_.path(); }

  std::vector<FlowRequest> Read(const std::string& csv) {
    folder_.Write("flows.csv", csv);
    list_ = WorkloadFrom("{kind: flows, file: flows.csv}", stage_);
    return FlowsOf(*list_.settings);
  }
  std::string Errors(const std::string& csv) {
    folder_.Write("flows.csv", csv);
    return WorkloadErrors("{kind: flows, file: flows.csv}", stage_);
  }

  TemporaryFolder folder_;
  Stage stage_ = StageOf(2, 4);
  Chosen<Workload> list_;
};

TEST_F(FlowListTest, ReadsColumnsByNameAndSortsByStart) {
  const auto flows = Read(
      "dport,start_ps,remark,size_bytes,dst,src\n"
      "77,500,late,1000,1,0\n"
      "78,20, early ,2000,2,7\r\n"
      "\n");
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0].start, Time{20});
  EXPECT_EQ(flows[0].src, 7);
  EXPECT_EQ(flows[0].dst, 2);
  EXPECT_EQ(flows[0].size, 2000);
  EXPECT_EQ(flows[0].dport, 78);
  EXPECT_EQ(flows[0].sport, std::nullopt);
  EXPECT_EQ(flows[1].start, Time{500});
  const Forecast forecast = list_.settings->Expect();
  EXPECT_EQ(forecast.flows, 2);
  EXPECT_EQ(forecast.bytes, 3000);
  EXPECT_EQ(forecast.packets, 3);
  EXPECT_EQ(forecast.large_flow, 2000);
  EXPECT_EQ(forecast.first, Time{20});
  EXPECT_EQ(forecast.last, Time{500});
}

TEST_F(FlowListTest, FlowsOfOneInstantKeepTheOrderOfTheirIds) {
  const auto flows = Read(
      "flow_id,src,dst,size_bytes,start_ps\n"
      "2,0,1,30,5\n"
      "10,0,1,40,5\n"
      "0,0,1,10,5\n"
      "1,0,1,20,5\n");
  ASSERT_EQ(flows.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(flows[i].size, 10 * static_cast<int64_t>(i + 1));
}

TEST_F(FlowListTest, ReadsIdsAndStartsInOtherUnits) {
  const auto flows = Read(
      "id,src,dst,bytes,start_ns\n"
      "7,6,5,607475,1674\n"
      "3,1,2,10,0.5\n");
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0].id, 3);
  EXPECT_EQ(flows[0].start, Time{500});
  EXPECT_EQ(flows[1].id, 7);
  EXPECT_EQ(flows[1].src, 6);
  EXPECT_EQ(flows[1].size, 607'475);
  EXPECT_EQ(flows[1].start, Time{1'674'000});
  EXPECT_EQ(flows[1].pin.path, kNoPath);
  EXPECT_TRUE(list_.settings->Expect().gives_ids);
  EXPECT_FALSE(list_.settings->Expect().pins_flows);
  EXPECT_EQ(Read("src,dst,bytes,start\n0,1,10,1.5us\n").front().start, Time{1'500'000});
  EXPECT_EQ(list_.settings->Expect().gives_ids, false);
}

TEST_F(FlowListTest, TheFirstIdIs0AndAnEmptyCellGivesNone) {
  const auto flows = Read("id,src,dst,bytes,start_ns\n0,0,1,9,0\n,0,1,9,1\n");
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0].id, 0);
  EXPECT_EQ(flows[1].id, std::nullopt);
}

// Flows of one pair of hosts differ in their ports.
TEST_F(FlowListTest, PortsMayBe0OrTheGreatest) {
  const auto flows = Read("src,dst,bytes,start_ns,sport,dport\n0,1,9,0,0,65535\n0,1,9,1,65535,0\n");
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0].sport, 0);
  EXPECT_EQ(flows[0].dport, 65'535);
  EXPECT_EQ(flows[1].sport, 65'535);
  EXPECT_EQ(flows[1].dport, 0);
  EXPECT_EQ(Read("src,dst,bytes,start_ns\n0,1,9,0\n").front().dport, 100);
  EXPECT_THAT(Errors("src,dst,bytes,start_ns,dport\n0,1,9,0,65536\n"),
              HasSubstr(":2:1: dport: 65536 is out of range"));
}

TEST_F(FlowListTest, EachColumnThatIsNeededIsNamed) {
  EXPECT_THAT(Errors("dst,bytes,start_ns\n1,9,0\n"), HasSubstr("the header has no column src"));
  EXPECT_THAT(Errors("src,bytes,start_ns\n0,9,0\n"), HasSubstr("the header has no column dst"));
  EXPECT_THAT(Errors("src,dst,start_ns\n0,1,0\n"),
              HasSubstr("the header has no column size_bytes or bytes"));
  EXPECT_THAT(Errors("src,dst,bytes\n0,1,9\n"),
              HasSubstr("the header has no column start_ps or start_ns or start"));
}

TEST_F(FlowListTest, AnUplinkIsANumber) {
  EXPECT_THAT(Errors("src,dst,bytes,start_ns,path\n0,5,9,0,1/x\n"),
              HasSubstr(":2:1: path: \"x\" is"));
}

TEST_F(FlowListTest, FlowsOfOneInstantKeepTheOrderOfTheIdsThatAreGiven) {
  const auto flows = Read("id,src,dst,bytes,start_ns\n9,0,1,20,0\n4,0,1,10,0\n");
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0].id, 4);
}

TEST_F(FlowListTest, RefusesIdsGivenTwiceAndColumnsThatSayTheSame) {
  EXPECT_THAT(Errors("id,src,dst,bytes,start_ns\n1,0,1,9,0\n2,0,1,9,0\n1,0,2,9,0\n"),
              HasSubstr((folder_ / "flows.csv").string() + ":4:1: id: 1 is the id of line 2 too"));
  EXPECT_THAT(Errors("id,src,dst,bytes,start_ns\n-1,0,1,9,0\n"), HasSubstr(":2:1: id: -1 is out"));
  EXPECT_THAT(Errors("src,dst,bytes,start_ns,start_ps\n0,1,9,0,0\n"),
              HasSubstr(":1:1: the header has both start_ps and start_ns; leave one out"));
  EXPECT_THAT(Errors("src,dst,bytes,start\n0,1,9,5\n"),
              HasSubstr(":2:1: start: \"5\" has no unit"));
  EXPECT_THAT(Errors("src,dst,bytes,start_ns\n0,1,9,2000000000000\n"),
              HasSubstr(":2:1: start_ns: 2000000000000ns is out of range"));
}

TEST_F(FlowListTest, ReportsEveryMistakeWithItsLine) {
  const std::string errors = Errors(
      "src,dst,size_bytes,start_ps,deps\n"
      "0,1,100,0,\n"
      "0,0,100,0,\n"
      "8,1,100,0,\n"
      "0,-1,100,0,\n"
      "0,1,0,0,\n"
      "0,1,1.5,0,\n"
      "0,1,100,-1,\n"
      "0,1,100\n"
      "0,1,100,0,3r\n"
      "0,1,2000000000000,0,\n"
      "0,1,99999999999999999999,0,\n");
  const std::string file = (folder_ / "flows.csv").string();
  const std::vector<std::string> expected = {":3:1: host 0 sends to itself",
                                             ":4:1: src: 8 is out of range; expected 0 to 7",
                                             ":5:1: dst: -1 is out of range",
                                             ":6:1: size_bytes: 0 is out of range",
                                             ":7:1: size_bytes: \"1.5\" is not a whole number",
                                             ":8:1: start_ps: -1 is out of range",
                                             ":9:1: has 3 columns; the header has 5",
                                             ":10:1: has deps",
                                             ":11:1: size_bytes: 2000000000000 is out of range",
                                             ":12:1: size_bytes: \"99999999999999999999\" is too"};
  for (const std::string& message : expected) EXPECT_THAT(errors, HasSubstr(file + message));
  EXPECT_THAT(errors, HasSubstr("10 errors"));
}

TEST_F(FlowListTest, RefusesFilesWithoutFlowsOrColumns) {
  EXPECT_THAT(Errors(""), HasSubstr("flows.csv: lists no flows"));
  EXPECT_THAT(Errors("src,dst,size_bytes,start_ps\n"), HasSubstr("lists no flows"));
  EXPECT_THAT(Errors("src,dst\n0,1\n"), HasSubstr(":1:1: the header has no column size_bytes"));
  EXPECT_THAT(WorkloadErrors("{kind: flows, file: nowhere.csv}", stage_),
              HasSubstr("nowhere.csv cannot be read"));
  EXPECT_THAT(WorkloadErrors("{kind: flows, file: .}", stage_), HasSubstr("is a folder"));
}

// What follows a header that cannot be read would be mistakes only because of it.
TEST_F(FlowListTest, AHeaderThatCannotBeReadIsTheOnlyMistake) {
  const std::string errors = Errors("src,\"dst\"x,size_bytes,start_ps\n0,1,1,1\n0,1,y,1\n");
  EXPECT_THAT(errors, HasSubstr("1 error"));
  EXPECT_THAT(errors, testing::Not(HasSubstr("errors")));
}

TEST_F(FlowListTest, RefusesAColumnGivenTwice) {
  EXPECT_THAT(Errors("src,dst,src,bytes,start_ns\n0,1,2,9,0\n"),
              HasSubstr(":1:1: the header names the column src twice"));
}

// A line that cannot be read is one mistake; those behind it are read.
TEST_F(FlowListTest, GoesOnBehindALineThatCannotBeRead) {
  const std::string errors = Errors("src,dst,bytes,start_ns\n0,\"1\"x,9,0\n0,1,9,0\n0,0,9,0\n");
  EXPECT_THAT(errors, HasSubstr(":2:1: "));
  EXPECT_THAT(errors, HasSubstr(":4:1: host 0 sends to itself"));
  EXPECT_THAT(errors, HasSubstr("2 errors"));
}

TEST_F(FlowListTest, AFlowMayStartUpTo1000SecondsLater) {
  const std::vector<FlowRequest> flows = Read("src,dst,size_bytes,start\n0,1,1,1000s\n");
  ASSERT_EQ(flows.size(), 1u);
  EXPECT_EQ(flows[0].start, Time{} + 1'000_s);
  EXPECT_THAT(Errors("src,dst,size_bytes,start\n0,1,1,1000000000001ns\n"),
              HasSubstr("out of range"));
  EXPECT_THAT(Errors("src,dst,size_bytes,start\n0,1,1,-1ns\n"), HasSubstr("out of range"));
}

TEST_F(FlowListTest, StopsAfterTwentyMistakes) {
  std::string csv = "src,dst,size_bytes,start_ps\n";
  for (int i = 0; i < 1000; ++i) csv += "x,1,1,1\n";
  const std::string errors = Errors(csv);
  EXPECT_THAT(errors, HasSubstr("reading stopped here"));
  EXPECT_THAT(errors, HasSubstr("21 errors"));
}

}  // namespace heddle::flow_list_test
