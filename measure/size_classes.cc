// SPDX-License-Identifier: Apache-2.0

#include "measure/size_classes.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/check.h"

namespace heddle {
namespace {

size_t Position(const std::vector<int64_t>& last, int64_t size) {
  return static_cast<size_t>(std::ranges::lower_bound(last, size) - last.begin());
}

}  // namespace

size_t ClassSet::IndexOf(int64_t size) const { return Position(last, size); }

std::vector<std::string> ClassSetNames() { return {"all", "smlxl", "sml", "conga", "pias", "bdp"}; }

ClassSet MakeClassSet(const std::string& name, int64_t bdp) {
  if (name == "all") return {name, {"all"}, {}};
  if (name == "smlxl") return {name, {"S", "M", "L", "XL"}, {10'000, 100'000, 1'000'000}};
  if (name == "sml") return {name, {"S", "M", "L"}, {100'000, 1'000'000}};
  // CONGA's small flows are below 100 KB, so 100 KB itself is medium.
  if (name == "conga") return {name, {"small", "medium", "large"}, {99'999, 10'000'000}};
  if (name == "pias") return {name, {"small", "medium", "large"}, {100'000, 10'000'000}};
  HEDDLE_CHECK(name == "bdp", "no class set is called {}", name);
  return {name, {"below_bdp", "bdp_and_above"}, {std::max<int64_t>(bdp - 1, 0)}};
}

SizeClasses::SizeClasses(std::vector<ClassSet> sets) : sets_(std::move(sets)) {
  for (const ClassSet& set : sets_) last_.insert(last_.end(), set.last.begin(), set.last.end());
  std::ranges::sort(last_);
  const auto repeated = std::ranges::unique(last_);
  last_.erase(repeated.begin(), repeated.end());
}

size_t SizeClasses::AtomOf(int64_t size) const { return Position(last_, size); }

size_t SizeClasses::ClassOf(const ClassSet& set, size_t atom) const {
  const int64_t largest = atom < last_.size() ? last_[atom] : std::numeric_limits<int64_t>::max();
  return set.IndexOf(largest);
}

void SizeClasses::ForEachClass(
    const std::function<void(const ClassSet& set, size_t cls, const std::vector<size_t>& atoms)>&
        visit) const {
  for (const ClassSet& set : sets_) {
    std::vector<std::vector<size_t>> atoms_of(set.labels.size());
    for (size_t atom = 0; atom < atoms(); ++atom) atoms_of[ClassOf(set, atom)].push_back(atom);
    for (size_t cls = 0; cls < atoms_of.size(); ++cls) visit(set, cls, atoms_of[cls]);
  }
}

}  // namespace heddle
