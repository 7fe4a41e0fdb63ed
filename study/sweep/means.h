// SPDX-License-Identifier: Apache-2.0
// Computes means over points that differ only in their seed, for means.csv. Collect() adds points
// one by one; memory holds only the means.

#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/statistics.h"
#include "study/sweep/plan.h"
#include "study/sweep/point_rows.h"

namespace heddle {

class Means {
 public:
  void Add(const PlannedPoint& point, const PointRows& rows);

  // Returns means.csv, with groups in the order of their first points.
  std::string Csv(const Plan& plan) const;

 private:
  struct ClassMeans {
    std::string class_set;
    std::string size_class;
    std::vector<Replications> columns;
  };
  struct Group {
    std::vector<std::string> choices;
    size_t seeds = 0;
    std::vector<ClassMeans> classes;
  };

  ClassMeans& ClassOf(Group& group, const PointRows::Row& row);

  std::vector<std::string> columns_;
  std::vector<Group> groups_;
  std::map<std::vector<std::string>, size_t> index_;  // The index of each group, by choices.
};

}  // namespace heddle
