// SPDX-License-Identifier: Apache-2.0
// The two files, byte for byte.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "measure/trace/event_trace.h"
#include "measure/trace/pcap.h"

namespace heddle::files_test {

using namespace std::string_literals;
using testing::HasSubstr;

TEST(PcapTest, BeginsAsNanosecondCapturesDo) {
  EXPECT_EQ(PcapHeader(0x10203),
            "\x4d\x3c\xb2\xa1\x02\x00\x04\x00\0\0\0\0\0\0\0\0\x03\x02\x01\x00\x01\0\0\0"s);
}

TEST(PcapTest, ARecordHasItsTimeAndBothLengths) {
  std::string out;
  AppendPcapRecord(out, Time{} + 2_s + 5_ns + 999_ps, "abcdef", 4);
  EXPECT_EQ(out, "\x02\0\0\0\x05\0\0\0\x04\0\0\0\x06\0\0\0abcd"s);
}

std::string Written(EventTrace& trace, Time end) {
  std::string json;
  trace.Write(
      end, [](uint32_t port) { return "port" + std::to_string(port); },
      [&](std::string_view text) {
        json += text;
        return true;
      });
  return json;
}

TEST(EventTraceTest, PutsEventsInTheOrderOfTime) {
  EventTrace trace(10);
  FlowSpec flow;
  flow.id = 4;
  flow.start = Time{} + 1500_ns;
  flow.size = 10;
  trace.AddQueue(1, Time{} + 2_us, 1500);
  trace.AddPause(1, 3, Time{} + 1_us, Time{} + 3_us);
  trace.AddFlow(flow, Time{} + 3_us);
  const std::string json = Written(trace, Time{} + 9_us);
  const auto at = [&](const std::string& text) { return json.find(text); };
  EXPECT_LT(at(R"("name":"port1 class 3","pid":3,"tid":0,"ts":1.000000)"),
            at(R"("name":"flow 4","pid":1,"tid":0,"ts":1.500000)"));
  EXPECT_LT(at(R"("ts":1.500000)"), at(R"("ts":2.000000,"args":{"bytes":1500})"));
  EXPECT_LT(at(R"("ts":2.000000)"), at(R"("ts":3.000000,"args":{"finished":true})"));
  EXPECT_LT(at(R"("ts":3.000000,"args")"), at(R"("ts":3.000000}])"));
}

TEST(EventTraceTest, AnUnfinishedFlowEndsWithTheRun) {
  EventTrace trace(10);
  trace.AddFlow(FlowSpec(), kNever);
  EXPECT_THAT(Written(trace, Time{} + 9_us),
              HasSubstr(R"("ts":9.000000,"args":{"finished":false})"));
  EXPECT_TRUE(trace.whole(EventTrace::Group::kFlows));
}

TEST(EventTraceTest, SaysWhatHasHadNoRoomWhichOthersDoNotTake) {
  EventTrace trace(2);
  for (int i = 0; i < 2; ++i) trace.AddQueue(0, Time{} + 1_us * i, i);
  EXPECT_TRUE(trace.whole(EventTrace::Group::kQueues));
  trace.AddQueue(0, Time{} + 5_us, 5);
  EXPECT_FALSE(trace.whole(EventTrace::Group::kQueues));
  trace.AddFlow(FlowSpec(), kNever);
  EXPECT_TRUE(trace.whole(EventTrace::Group::kFlows));
  EXPECT_THAT(Written(trace, Time{} + 9_us), HasSubstr(R"("name":"flow 0")"));
}

}  // namespace heddle::files_test
