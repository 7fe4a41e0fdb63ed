// SPDX-License-Identifier: Apache-2.0

#include "workload/traces/chakra_groups.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <utility>

#include "settings/json_value.h"
#include "settings/quantity.h"
#include "settings/yaml.h"

namespace heddle {
namespace {

// Reads a list of ranks, each of which is there once. `where` is put ahead of messages, whose line
// is that of the rank unless `line` is set.
std::vector<uint32_t> ReadRanks(const Value& list, uint32_t ranks, std::string_view where,
                                std::optional<int> line, FileErrors& errors) {
  std::vector<uint32_t> group;
  std::set<int64_t> seen;
  for (const Value& item : list.items) {
    if (errors.full()) break;
    int64_t rank = 0;
    const bool is_rank = !ParseQuantity(item.text, rank) && rank >= 0 && rank < int64_t{ranks};
    if (is_rank && seen.insert(rank).second) {
      group.push_back(static_cast<uint32_t>(rank));
      continue;
    }
    errors.Add(line.value_or(item.place.line),
               is_rank ? fmt::format("{}rank {} is there twice", where, rank)
                       : fmt::format("{}{} is no rank of {}", where, Describe(item), ranks));
  }
  return group;
}

// The text within the quotes ahead of the first '{', without backslashes ahead of quotes; or the
// text itself. Python writes a list of texts this way.
std::string Unquoted(std::string_view values) {
  const size_t brace = values.find('{');
  const size_t open = values.substr(0, brace).find_last_of("'\"");
  if (open == std::string_view::npos) return std::string(values);
  const char quote = values[open];
  std::string text;
  for (size_t at = open + 1; at < values.size() && values[at] != quote; ++at) {
    if (values[at] == '\\' && at + 1 < values.size()) ++at;
    text.push_back(values[at]);
  }
  return text;
}

// The list of maps within lists of one item.
const Value* ListOfMaps(const Value& value) {
  const Value* list = &value;
  while (list->kind == Value::Kind::kList && list->items.size() == 1 &&
         list->items.front().kind == Value::Kind::kList) {
    list = &list->items.front();
  }
  return list->kind == Value::Kind::kList ? list : nullptr;
}

void AddGroup(const Value& value, uint32_t ranks, std::string_view where, int line,
              ChakraGroups& groups, FileErrors& errors) {
  const Value* name = value.Find("pg_name");
  if (name == nullptr) return errors.Add(line, fmt::format("{}a group has no pg_name", where));
  std::vector<uint32_t> group;
  if (const Value* its_ranks = value.Find("ranks")) {
    const std::string of = fmt::format("{}group {}: ", where, name->text);
    group = ReadRanks(*its_ranks, ranks, of, line, errors);
  }
  groups[name->text] = std::move(group);
}

}  // namespace

ChakraGroups ReadChakraGroups(std::string_view text, uint32_t ranks, FileErrors& errors) {
  ChakraGroups groups;
  Diagnostics mistakes;
  const std::optional<Value> document = ParseJsonValue(text, errors.source(), mistakes);
  errors.Take(mistakes);
  if (errors.any()) return groups;
  if (!document || document->kind != Value::Kind::kMap) {
    errors.Add(0, "has no map of groups such as {\"1\": [0, 1]}");
    return groups;
  }
  for (const Value::Entry& entry : document->entries) {
    if (errors.full()) break;
    if (entry.value.kind != Value::Kind::kList) {
      errors.Add(entry.key_place.line, fmt::format("group {}: expected a list of ranks, found {}",
                                                   entry.key, Describe(entry.value)));
      continue;
    }
    groups[entry.key] =
        ReadRanks(entry.value, ranks, fmt::format("group {}: ", entry.key), std::nullopt, errors);
  }
  return groups;
}

void AddDeclaredGroups(const ChakraNode& node, uint32_t ranks, ChakraGroups& groups,
                       FileErrors& errors) {
  if (node.input_values.find("pg_name") == std::string::npos) return;
  const std::string where = fmt::format("node {}: ", node.id);
  Diagnostics mistakes;
  const std::optional<Value> document = ParseYaml(Unquoted(node.input_values), "", mistakes);
  const Value* list = document && mistakes.ok() ? ListOfMaps(*document) : nullptr;
  if (list == nullptr) {
    return errors.Add(node.line, where + "expected a JSON list of groups, with pg_name and ranks");
  }
  for (const Value& item : list->items) {
    if (errors.full()) return;
    AddGroup(item, ranks, where, node.line, groups, errors);
  }
}

}  // namespace heddle
