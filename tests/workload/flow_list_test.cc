// SPDX-License-Identifier: Apache-2.0

#include "workload/flow_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "settings/files_read.h"
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
  EXPECT_THAT(errors, HasSubstr("\n1 error\n"));
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
  EXPECT_THAT(errors, HasSubstr("\n2 errors\n"));
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

// Every number of a row is accepted at its limits, and refused just beyond.
TEST_F(FlowListTest, NumbersHaveLimits) {
  struct Column {
    std::string name;
    std::string least;
    std::string most;
    std::string below;
    std::string above;
  };
  const std::string greatest = "1000000000000000000";
  const std::vector<Column> columns = {
      {"src", "0", "7", "-1", "8"},
      {"dst", "0", "7", "-1", "8"},
      {"size_bytes", "1", "1000000000000", "0", "1000000000001"},
      {"bytes", "1", "1000000000000", "0", "1000000000001"},
      {"start_ps", "0", "1000000000000000", "-1", "1000000000000001"},
      {"start_ns", "0", "1000000000000", "-0.001", "1000000000000.001"},
      {"start", "0s", "1000s", "-1ps", "1000000000000001ps"},
      {"id", "0", greatest, "-1", ""},
      {"flow_id", "0", greatest, "-1", ""},
      {"sport", "0", "65535", "-1", "65536"},
      {"dport", "0", "65535", "-1", "65536"}};
  for (const Column& column : columns) {
    const auto with = [&](const std::string& value) {
      std::map<std::string, std::string> cells = {{"src", column.name == "dst" ? "3" : "0"},
                                                  {"dst", column.name == "src" ? "3" : "1"}};
      if (!column.name.ends_with("bytes")) cells["bytes"] = "9";
      if (!column.name.starts_with("start")) cells["start_ns"] = "0";
      cells[column.name] = value;
      std::string header;
      std::string row;
      for (const auto& [name, cell] : cells) {
        header += (header.empty() ? "" : ",") + name;
        row += (row.empty() ? "" : ",") + cell;
      }
      return Errors(header + "\n" + row + "\n");
    };
    EXPECT_EQ(with(column.least), "") << column.name;
    EXPECT_EQ(with(column.most), "") << column.name;
    for (const std::string& value : {column.below, column.above}) {
      if (value.empty()) continue;
      const std::string errors = with(value);
      EXPECT_THAT(errors, HasSubstr("flows.csv:2:1: " + column.name + ": " + value));
      EXPECT_THAT(errors, HasSubstr("out of range; expected " + column.least.substr(0, 1)));
      EXPECT_THAT(errors, HasSubstr("\n1 error\n"));
    }
  }
}

TEST_F(FlowListTest, BlanksAroundCellsAndBlankLinesDoNotCount) {
  const auto flows = Read(" src\t, dst ,bytes,start_ns\r\n \t\r\n\t0 ,1\t,  12  ,\t0\n\n");
  ASSERT_EQ(flows.size(), 1u);
  EXPECT_EQ(flows[0].size, 12);
  // A line of blanks in each column is no blank line.
  EXPECT_THAT(Errors("src,dst,bytes,start_ns\n , , , \n"), HasSubstr(":2:1: src: "));
}

TEST_F(FlowListTest, AllFlowsMayStartLater) {
  folder_.Write("flows.csv", "src,dst,bytes,start_ns\n0,1,9,5\n0,1,9,7\n");
  const auto list = [&](const std::string& start) {
    return "{kind: flows, file: flows.csv, start: " + start + "}";
  };
  const Chosen<Workload> later = WorkloadFrom(list("2us"), stage_);
  const auto flows = FlowsOf(*later.settings);
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0].start, Time{} + 2'005_ns);
  EXPECT_EQ(flows[1].start, Time{} + 2'007_ns);
  EXPECT_EQ(later.settings->Expect().first, Time{} + 2'005_ns);
  EXPECT_EQ(WorkloadErrors(list("0s"), stage_), "");
  EXPECT_EQ(WorkloadErrors(list("1000s"), stage_), "");
  EXPECT_THAT(WorkloadErrors(list("-1ps"), stage_), HasSubstr("workload.start: "));
  EXPECT_THAT(WorkloadErrors(list("1000000000000001ps"), stage_), HasSubstr("workload.start: "));
}

TEST_F(FlowListTest, MayBeLeftOutOfTheStatistics) {
  folder_.Write("flows.csv", "src,dst,bytes,start_ns\n0,1,9,5\n");
  EXPECT_FALSE(
      WorkloadFrom("{kind: flows, file: flows.csv, measured: false}", stage_).settings->measured);
}

// --- The forecast ---

// Flows of 1, 1460, 1461 and 2921 bytes are 1, 1, 2 and 3 packets. The last two leave their leaf.
TEST_F(FlowListTest, ForecastsPacketsAndWhichOfThemLeaveTheirLeaf) {
  Read("src,dst,bytes,start_ns\n3,0,2920,9\n0,1,1,5\n5,4,1460,5\n0,7,1461,3\n4,3,2921,8\n");
  const Forecast forecast = list_.settings->Expect();
  EXPECT_EQ(forecast.flows, 5);
  EXPECT_EQ(forecast.most_flows, 5);
  EXPECT_EQ(forecast.bytes, 2'920 + 1 + 1'460 + 1'461 + 2'921);
  EXPECT_EQ(forecast.packets, 2 + 1 + 1 + 2 + 3);
  EXPECT_DOUBLE_EQ(forecast.crossing.value(), 5.0 / 9);
  EXPECT_EQ(forecast.large_flow, 2'921);
  EXPECT_EQ(forecast.first, Time{} + 3_ns);
  EXPECT_EQ(forecast.last, Time{} + 9_ns);
  Read("src,dst,bytes,start_ns\n0,1,9,0\n");
  EXPECT_EQ(list_.settings->Expect().crossing, 0);
  Read("src,dst,bytes,start_ns\n0,4,9,0\n");
  EXPECT_EQ(list_.settings->Expect().crossing, 1);
}

TEST_F(FlowListTest, ForecastsIdsIfAnyFlowHasOne) {
  for (const char* rows : {"0,7,0,1,9,0\n1,,0,1,9,1\n", "0,,0,1,9,0\n1,7,0,1,9,1\n"}) {
    Read(std::string("flow_id,id,src,dst,bytes,start_ns\n") + rows);
    EXPECT_TRUE(list_.settings->Expect().gives_ids) << rows;
  }
  Read("id,src,dst,bytes,start_ns\n,0,1,9,0\n,0,1,9,1\n");
  EXPECT_FALSE(list_.settings->Expect().gives_ids);
}

// --- Paths ---

struct Asked {
  HostId src;
  HostId dst;
  std::vector<int64_t> uplinks;
  friend bool operator==(const Asked&, const Asked&) = default;
};

class FlowListPathTest : public FlowListTest {
 protected:
  // Pins the flows of `csv`. The path with the first uplink u has the id 10 + u; there is none with
  // uplink 9.
  void Pin(const std::string& csv) {
    Read(csv);
    const PathFinder find = [this](HostId src, HostId dst, std::span<const int64_t> uplinks,
                                   const std::function<void(std::string_view)>& refuse) {
      asked_.push_back({src, dst, {uplinks.begin(), uplinks.end()}});
      if (uplinks.front() != 9) return static_cast<uint16_t>(10 + uplinks.front());
      refuse("none");
      return kNoPath;
    };
    list_.settings->PinFlows(find, diagnostics_);
  }

  std::vector<Asked> asked_;
  Diagnostics diagnostics_;
};

// The ACKs go the other way. A flow without a path is asked for none.
TEST_F(FlowListPathTest, FlowsArePinnedToThePathsOfTheirRows) {
  Pin("src,dst,bytes,start_ns,path,ack_path\n"
      "0,4,9,7,3/1,\n"
      "1,5,9,6,,\n"
      "2,6,9,5,,2\n"
      "3,7,9,4,0,1/0/4\n");
  EXPECT_TRUE(diagnostics_.ok());
  EXPECT_EQ(asked_,
            (std::vector<Asked>{{0, 4, {3, 1}}, {6, 2, {2}}, {3, 7, {0}}, {7, 3, {1, 0, 4}}}));
  const auto flows = FlowsOf(*list_.settings);  // By start: the last row is the first.
  ASSERT_EQ(flows.size(), 4u);
  EXPECT_EQ(flows[0].pin.path, 10);
  EXPECT_EQ(flows[0].pin.ack_path, 11);
  EXPECT_EQ(flows[1].pin.path, kNoPath);
  EXPECT_EQ(flows[1].pin.ack_path, 12);
  EXPECT_FALSE(flows[2].pin.pins());
  EXPECT_EQ(flows[3].pin.path, 13);
  EXPECT_EQ(flows[3].pin.ack_path, kNoPath);
}

// Paths belong to their flows in whatever order the flows start.
TEST_F(FlowListPathTest, PathsFollowTheOrderOfIds) {
  Pin("id,src,dst,bytes,start_ns,path\n8,0,4,9,0,1\n5,1,4,9,0,\n2,2,4,9,0,3\n");
  const auto flows = FlowsOf(*list_.settings);
  ASSERT_EQ(flows.size(), 3u);
  for (const FlowRequest& flow : flows) {
    EXPECT_EQ(flow.pin.path, flow.src == 0 ? 11 : flow.src == 1 ? kNoPath : 13) << flow.src;
  }
}

TEST_F(FlowListPathTest, ForecastsPinsIfAnyFlowHasOne) {
  const std::string header = "src,dst,bytes,start_ns,path,ack_path\n";
  for (const char* rows : {"0,4,9,0,1,\n0,4,9,1,,\n", "0,4,9,0,,\n0,4,9,1,,1\n"}) {
    Pin(header + rows);
    EXPECT_TRUE(list_.settings->Expect().pins_flows) << rows;
  }
  Pin(header + "0,4,9,0,,\n0,4,9,1,,\n");
  EXPECT_FALSE(list_.settings->Expect().pins_flows);
}

// Another file may be read by the same list; the paths of the first are forgotten.
TEST_F(FlowListPathTest, PathsOfAFileThatWasReadBeforeAreForgotten) {
  Read("src,dst,bytes,start_ns,path\n0,4,9,7,1\n1,4,9,7,1\n");
  folder_.Write("flows.csv", "src,dst,bytes,start_ns,path\n2,4,9,7,3\n");
  FilesRead files;
  list_.settings->Prepare(stage_, "workload", files, diagnostics_);
  list_.settings->PinFlows(
      [this](HostId src, HostId dst, std::span<const int64_t> uplinks, const auto&) {
        asked_.push_back({src, dst, {uplinks.begin(), uplinks.end()}});
        return uint16_t{5};
      },
      diagnostics_);
  EXPECT_EQ(asked_, (std::vector<Asked>{{2, 4, {3}}}));
}

TEST_F(FlowListPathTest, PathsThatAreNotThereAreNamedWithTheirLine) {
  Pin("src,dst,bytes,start_ns,path,ack_path\n0,4,9,7,1,9\n0,4,9,5,9,1\n");
  const std::string file = (folder_ / "flows.csv").string();
  EXPECT_THAT(diagnostics_.errors(),
              testing::ElementsAre(file + ":2:1: ack_path: none", file + ":3:1: path: none"));
}

TEST_F(FlowListPathTest, StopsAfterTwentyPathsThatAreNotThere) {
  for (const size_t wrong : {size_t{19}, size_t{20}, size_t{50}}) {
    asked_.clear();
    diagnostics_ = Diagnostics();
    std::string csv = "src,dst,bytes,start_ns,path\n";
    for (size_t i = 0; i < wrong; ++i) csv += "0,4,9,0,9\n";
    Pin(csv);
    EXPECT_EQ(asked_.size(), std::min<size_t>(wrong, 20));
    const auto errors = diagnostics_.errors();
    EXPECT_EQ(errors.size(), wrong < 20 ? wrong : 21u);
    const std::string stopped =
        (folder_ / "flows.csv").string() + ":21:1: and perhaps more; reading stopped here";
    EXPECT_EQ(std::ranges::count(errors, stopped), wrong < 20 ? 0 : 1);
  }
}

// Uplinks are whole numbers, one for each tier.
TEST_F(FlowListTest, EveryPartOfAPathIsANumber) {
  for (const char* path : {"x", "1/", "/1", "1//2", "1.5", "1 2"}) {
    const std::string errors =
        Errors(std::string("src,dst,bytes,start_ns,ack_path\n0,5,9,0,") + path + "\n");
    EXPECT_THAT(errors, HasSubstr("flows.csv:2:1: ack_path: ")) << path;
    EXPECT_THAT(errors, HasSubstr("expected an uplink's number for each tier")) << path;
    EXPECT_THAT(errors, HasSubstr("\n1 error\n")) << path;
  }
}

// What would only follow from another mistake is none.
TEST_F(FlowListTest, OneMistakeIsNamedOnce) {
  const std::string header = "id,src,dst,bytes,start_ns\n";
  for (const std::string& csv :
       {header + "1,x,0,9,0\n", header + "1,8,8,x,0\n5", header + "5,x,1,9,0\n5,0,1,9,0\n",
        header + "5,0,1,9,0\n5,x,1,9,0\n", header + "0,0,1,9,0\n0,0,1,9,0\n",
        std::string("src,dst,src,bytes,start_ns\n0,1,0\n"), header + "1,0,1,9,0\n7\n"}) {
    EXPECT_THAT(Errors(csv),
                HasSubstr(csv.find("8,8") == std::string::npos ? "\n1 error\n" : "\n4 errors\n"))
        << csv;
  }
}

// A flow without an id is ordered as if its id were 0. Of equal ids, the earlier row comes first.
TEST_F(FlowListTest, FlowsOfOneInstantAreOrderedById) {
  const auto flows = Read("id,src,dst,bytes,start_ns\n1,0,1,11,0\n0,0,1,10,0\n,0,1,9,0\n");
  ASSERT_EQ(flows.size(), 3u);
  EXPECT_EQ(flows[0].size, 10);
  EXPECT_EQ(flows[1].size, 9);
  EXPECT_EQ(flows[2].size, 11);
}

TEST_F(FlowListTest, SaysThatItStoppedOnlyIfItDid) {
  const auto errors = [&](int wrong) {
    std::string csv = "src,dst,size_bytes,start_ps\n";
    for (int i = 0; i < wrong; ++i) csv += "x,1,1,1\n";
    return Errors(csv);
  };
  EXPECT_THAT(errors(19), HasSubstr("19 errors"));
  EXPECT_THAT(errors(19), testing::Not(HasSubstr("stopped")));
  EXPECT_THAT(errors(20), HasSubstr("21 errors"));
}

}  // namespace heddle::flow_list_test
