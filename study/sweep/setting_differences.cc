// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/setting_differences.h"

#include <absl/status/statusor.h>
#include <fmt/format.h>

#include <algorithm>

#include "experiment/checked_folder.h"
#include "experiment/points.h"
#include "experiment/resolved.h"
#include "settings/patch.h"
#include "settings/status.h"
#include "settings/yaml.h"

namespace heddle {
namespace {

class Comparer {
 public:
  void Compare(const std::string& path, const Value* a, const Value* b) {
    const Value::Kind kind = a != nullptr ? a->kind : b->kind;
    const bool same_kind = a == nullptr || b == nullptr || a->kind == b->kind;
    if (same_kind && kind == Value::Kind::kMap) return CompareMaps(path, a, b);
    if (same_kind && kind == Value::Kind::kList) return CompareLists(path, a, b);
    if (TextOf(a) != TextOf(b)) differences_.push_back({path, TextOf(a), TextOf(b)});
  }

  std::vector<SettingDifference> Take() { return std::move(differences_); }

 private:
  static std::string TextOf(const Value* value) {
    return value == nullptr ? "-" : ChoiceLabel(*value);
  }

  void CompareMaps(const std::string& path, const Value* a, const Value* b) {
    static const Value none;
    const std::string start = path.empty() ? "" : path + ".";
    for (const Value::Entry& entry : (a != nullptr ? a : &none)->entries) {
      Compare(start + entry.key, &entry.value, b == nullptr ? nullptr : b->Find(entry.key));
    }
    for (const Value::Entry& entry : (b != nullptr ? b : &none)->entries) {
      if (a != nullptr && a->Find(entry.key) != nullptr) continue;
      Compare(start + entry.key, nullptr, &entry.value);
    }
  }

  void CompareLists(const std::string& path, const Value* a, const Value* b) {
    const size_t of_a = a == nullptr ? 0 : a->items.size();
    const size_t of_b = b == nullptr ? 0 : b->items.size();
    for (size_t i = 0; i < std::max(of_a, of_b); ++i) {
      Compare(fmt::format("{}[{}]", path, i), i < of_a ? &a->items[i] : nullptr,
              i < of_b ? &b->items[i] : nullptr);
    }
  }

  std::vector<SettingDifference> differences_;
};

absl::StatusOr<Value> ReadRunYaml(const std::filesystem::path& run) {
  constexpr size_t kMaxBytes = size_t{1} << 26;
  const auto text = CheckedFolder(run).Read("run.yaml", kMaxBytes);
  if (!text.ok()) return text.status();
  Diagnostics problems;
  auto value = ParseYaml(*text, (run / "run.yaml").string(), problems);
  if (!value) return absl::DataLossError(problems.Report());
  return *std::move(value);
}

}  // namespace

std::vector<SettingDifference> DifferencesOf(const Value& a, const Value& b) {
  Comparer comparer;
  comparer.Compare("", &a, &b);
  return comparer.Take();
}

std::vector<SettingDifference> DifferencesOfRuns(const std::filesystem::path& a,
                                                 const std::filesystem::path& b) {
  const absl::StatusOr<Value> of_a = ReadRunYaml(a);
  const absl::StatusOr<Value> of_b = ReadRunYaml(b);
  // Without the settings of `b`, "the same settings" would be a guess.
  if (!of_b.ok()) return {{MessageOf(of_b.status()), "-", "-"}};
  if (!of_a.ok()) return {{MessageOf(of_a.status()), "-", "-"}};
  std::vector<SettingDifference> differences = DifferencesOf(*of_a, *of_b);
  // The section of resolved values follows from the settings.
  std::erase_if(differences, [](const SettingDifference& one) {
    return one.key == "name" || IsWithin(one.key, kResolvedSection);
  });
  return differences;
}

// Flows depend on the topology, but not on the settings of switch ports.
bool DecidesFlows(std::string_view key) {
  return IsWithin(key, "seed") || IsWithin(key, "workload") ||
         (IsWithin(key, "topology") && !IsWithin(key, "topology.port"));
}

}  // namespace heddle
