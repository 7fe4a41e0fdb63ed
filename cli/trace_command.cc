// SPDX-License-Identifier: Apache-2.0

#include "cli/trace_command.h"

#include <absl/status/status.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/failures.h"
#include "measure/trace/tracer.h"
#include "settings/number_text.h"
#include "settings/quantity.h"
#include "settings/status.h"

namespace heddle {
namespace {

// The options as the user typed them.
struct TraceOptions {
  std::vector<std::string> flows;
  std::vector<std::string> links;
  std::string from;
  std::string to;
  std::string every = "1us";
  int64_t packets = TraceSettings().limit;
  int64_t snaplen = TraceSettings().snaplen;
  std::vector<std::string> formats = {"pcap", "perfetto"};
};

// Reads "7" or "3-5".
std::optional<FlowRange> ParseRange(std::string_view text) {
  const size_t dash = text.find('-');
  const std::optional<FlowId> first = NumberFrom<FlowId>(text.substr(0, dash));
  const std::optional<FlowId> last =
      dash == std::string_view::npos ? first : NumberFrom<FlowId>(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return FlowRange{*first, *last};
}

// Reads a time into `value`; empty text leaves it unchanged.
absl::Status ReadTime(std::string_view option, const std::string& text, Duration& value) {
  if (text.empty()) return absl::OkStatus();
  if (ParseError error = ParseQuantity(text, value)) {
    return absl::InvalidArgumentError(fmt::format("{}: {}", option, *error));
  }
  if (value >= Duration{0}) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{}: must not be negative", option));
}

absl::Status Read(const TraceOptions& options, TraceSettings& settings) {
  for (const std::string& text : options.flows) {
    const std::optional<FlowRange> range = ParseRange(text);
    if (!range) {
      return absl::InvalidArgumentError(
          fmt::format("--flow: \"{}\" is no flow; write a number from flows.csv such as 7, or a "
                      "range such as 3-5",
                      text));
    }
    settings.flows.push_back(*range);
  }
  settings.links = options.links;
  Duration from{0};
  Duration to = kNever - Time{};
  absl::Status times = ReadTime("--from", options.from, from);
  times.Update(ReadTime("--to", options.to, to));
  times.Update(ReadTime("--every", options.every, settings.every));
  if (!times.ok()) return times;
  if (settings.every < 1_ns) return absl::InvalidArgumentError("--every: must be at least 1ns");
  settings.from = Time{} + from;
  settings.to = Time{} + to;
  settings.limit = options.packets;
  settings.snaplen = static_cast<uint32_t>(options.snaplen);
  const auto asked = [&](std::string_view format) {
    return std::ranges::find(options.formats, format) != options.formats.end();
  };
  settings.pcap = asked("pcap");
  settings.timeline = asked("perfetto");
  return absl::OkStatus();
}

CLI::Option* AddList(CLI::App& command, const std::string& name, std::vector<std::string>& values,
                     const std::string& meaning) {
  return command.add_option(name, values, meaning)
      ->expected(1)
      ->allow_extra_args(false)
      ->delimiter(',')
      ->take_all();
}

void AddOptions(CLI::App& trace, TraceOptions& options) {
  AddList(trace, "--flow", options.flows,
          "Record packets of these flows, by their numbers in flows.csv; repeatable")
      ->type_name("N|N-N,...");
  AddList(trace, "--link", options.links,
          "Record packets on these links in both directions, such as leaf0-spine1; repeatable")
      ->type_name("NAME,...");
  trace.add_option("--from", options.from, "Record packets that arrive at this time or later")
      ->type_name("TIME");
  trace.add_option("--to", options.to, "Record packets that arrive before this time")
      ->type_name("TIME");
  trace
      .add_option(
          "--packets", options.packets,
          "Maximum of packets, and of flows, pauses and queue lengths in trace.json; a warning "
          "says if more are left out")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, std::numeric_limits<int64_t>::max() / 2))
      ->capture_default_str();
  AddList(trace, "--format", options.formats, "Formats to write: pcap, perfetto")
      ->check(CLI::IsMember({"pcap", "perfetto"}))
      ->type_name("NAME,...")
      ->capture_default_str();
  trace
      .add_option("--snaplen", options.snaplen,
                  "Bytes kept of each frame; headers take less than 128. Keep whole frames of RoCE")
      ->type_name("N")
      ->check(CLI::Range(int64_t{64}, int64_t{TraceSettings().snaplen}))
      ->capture_default_str();
  trace.add_option("--every", options.every, "Time between two samples of queues in trace.json")
      ->type_name("TIME")
      ->capture_default_str();
}

}  // namespace

CLI::App* AddTraceCommand(CLI::App& app, RunArguments& arguments, std::function<int()>& command) {
  CLI::App* trace = app.add_subcommand(
      "trace", "Run one experiment and record its packets, for Wireshark and Perfetto");
  const auto options = std::make_shared<TraceOptions>();
  AddOptions(*trace, *options);
  trace->callback([&arguments, &command, options] {
    command = [&arguments, options] {
      arguments.trace.emplace();
      const absl::Status status = Read(*options, *arguments.trace);
      if (status.ok()) return Run(arguments);
      return BadInput(status);
    };
  });
  return trace;
}

}  // namespace heddle
