// SPDX-License-Identifier: Apache-2.0

#include "cli/point_warnings.h"

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <string>

#include "study/sweep/result_row.h"

namespace heddle {

void PrintPointWarnings(const SweepFolder& folder, const Plan& plan,
                        const std::vector<size_t>& points) {
  struct Kind {
    std::string first;  // The line of the first point that has it.
    size_t points = 0;
  };
  std::vector<Kind> kinds;
  std::map<std::string, size_t> index;
  for (const size_t point : points) {
    for (const std::string& warning : ReadWarnings(folder.PointPath(plan.points[point].id))) {
      const auto [known, is_new] = index.try_emplace(WithoutNumbers(warning), kinds.size());
      if (is_new) {
        kinds.push_back({fmt::format("{}: warning: {}", plan.points[point].label, warning)});
      }
      ++kinds[known->second].points;
    }
  }
  for (const Kind& kind : kinds) {
    const size_t more = kind.points - 1;
    fmt::print(stderr, "{}{}\n", kind.first,
               more == 0 ? "" : fmt::format(" (and {} more like it)", more));
  }
}

}  // namespace heddle
