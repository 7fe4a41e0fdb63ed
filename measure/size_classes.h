// SPDX-License-Identifier: Apache-2.0
// The classes of flow size that results are split by. They are made once before a run; recorders
// count by atom while it goes on, and tables add the atoms up to classes.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace heddle {

// One way to divide sizes: class i holds those in (last[i - 1], last[i]] bytes, the last class all
// above.
struct ClassSet {
  std::string name;
  std::vector<std::string> labels;
  std::vector<int64_t> last;  // One entry fewer than labels.

  size_t IndexOf(int64_t size) const;
};

// Returns the names of all sets: all, smlxl, sml, conga, pias, bdp.
std::vector<std::string> ClassSetNames();
// `bdp` is the bandwidth-delay product in bytes: the bytes in flight that fill the network's
// longest idle path.
ClassSet MakeClassSet(const std::string& name, int64_t bdp);

// Several class sets at once. Atoms are the parts of their common refinement, so counts by atom add
// up to every class of every set.
class SizeClasses {
 public:
  explicit SizeClasses(std::vector<ClassSet> sets);

  const std::vector<ClassSet>& sets() const { return sets_; }

  size_t atoms() const { return last_.size() + 1; }
  size_t AtomOf(int64_t size) const;

  // The class of `set` that contains `atom`.
  size_t ClassOf(const ClassSet& set, size_t atom) const;

  // Visits every class of every set, in their order, with the atoms that it consists of.
  void ForEachClass(const std::function<void(const ClassSet& set, size_t cls,
                                             const std::vector<size_t>& atoms)>& visit) const;

 private:
  std::vector<ClassSet> sets_;
  std::vector<int64_t> last_;  // The largest size of each atom but the last.
};

}  // namespace heddle
