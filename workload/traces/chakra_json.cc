// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "settings/json_value.h"
#include "settings/quantity.h"
#include "workload/traces/chakra_node.h"

namespace heddle {
namespace {

// The entries of one node.
class ChakraJsonNode {
 public:
  ChakraJsonNode(const Value& value, ChakraIgnored& ignored, FileErrors& errors)
      : value_(value), ignored_(ignored), errors_(errors) {}

  ChakraNode Read() {
    ChakraNode node;
    node.line = value_.place.line;
    node.id = static_cast<uint64_t>(Number("Id").value_or(-1));
    if (!value_.Find("Id")) errors_.Add(node.line, "a node has no Id");
    if (!value_.Find("NodeType")) errors_.Add(node.line, "a node has no NodeType");
    if (const Value* name = value_.Find("Name")) node.name = name->text;
    if (const Value* cpu = value_.Find("is_cpu_op")) {
      node.is_cpu_op = cpu->text == "true" || cpu->text == "1";
    }
    if (const Value* group = value_.Find("pg_name")) node.pg_name = group->text;
    node.type = Number("NodeType").value_or(0);
    ReadRuntime(node);
    ReadIds("data_deps", node.data_deps);
    ReadIds("ctrl_deps", node.ctrl_deps);
    node.comm_type = Number("comm_type");
    node.comm_size = Number("comm_size");
    node.comm_src = Number("comm_src");
    node.comm_dst = Number("comm_dst");
    node.comm_tag = Number("comm_tag").value_or(0);
    NoteIgnored();
    const Value* inputs = value_.Find("inputs");
    const Value* values = inputs == nullptr ? nullptr : inputs->Find("values");
    if (values != nullptr) node.input_values = values->text;
    return node;
  }

 private:
  std::optional<int64_t> Number(const char* key) {
    const Value* value = value_.Find(key);
    if (value == nullptr || value->kind == Value::Kind::kNull) return std::nullopt;
    return NumberOf(*value, key);
  }

  std::optional<int64_t> NumberOf(const Value& value, std::string_view key) {
    int64_t number = 0;
    const ParseError error = ParseQuantity(value.text, number);
    if (!error && number >= 0) return number;
    errors_.Add(value.place.line,
                fmt::format("{}: {} is no number from 0 on", key, Describe(value)));
    return std::nullopt;
  }

  void ReadRuntime(ChakraNode& node) {
    const Value* value = value_.Find("runtime");
    if (value == nullptr || value->kind == Value::Kind::kNull) return;
    const ParseError error = ParseQuantity(fmt::format("{}us", value->text), node.duration);
    if (!error && node.duration >= Duration{0}) return;
    errors_.Add(value->place.line,
                fmt::format("runtime: {} is no number of microseconds", Describe(*value)));
  }

  void ReadIds(const char* key, std::vector<uint64_t>& ids) {
    const Value* value = value_.Find(key);
    if (value == nullptr) return;
    for (const Value& item : value->items) {
      if (const auto id = NumberOf(item, key)) ids.push_back(static_cast<uint64_t>(*id));
    }
  }

  void NoteIgnored() {
    constexpr std::string_view kKnown[] = {
        "Id",        "Name",      "NodeType", "is_cpu_op", "runtime",  "data_deps", "ctrl_deps",
        "comm_type", "comm_size", "comm_src", "comm_dst",  "comm_tag", "pg_name",   "inputs"};
    for (const Value::Entry& entry : value_.entries) {
      if (std::ranges::find(kKnown, entry.key) == std::end(kKnown)) {
        ignored_.NoteAttribute(entry.key);
      }
    }
  }

  const Value& value_;
  ChakraIgnored& ignored_;
  FileErrors& errors_;
};

}  // namespace

std::vector<ChakraNode> ReadChakraJson(std::string_view text, ChakraIgnored& ignored,
                                       FileErrors& errors) {
  std::vector<ChakraNode> nodes;
  Diagnostics mistakes;
  const std::optional<Value> document = ParseJsonValue(text, errors.source(), mistakes);
  errors.Take(mistakes);
  if (!document || !mistakes.ok()) return nodes;
  const Value* graph = document->Find("workload_graph");
  if (graph == nullptr || graph->kind != Value::Kind::kList) {
    errors.Add(document->place.line, "has no list workload_graph");
    return nodes;
  }
  for (const Value& value : graph->items) {
    if (errors.full()) break;
    nodes.push_back(ChakraJsonNode(value, ignored, errors).Read());
  }
  return nodes;
}

}  // namespace heddle
