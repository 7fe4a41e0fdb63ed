// SPDX-License-Identifier: Apache-2.0

#include "measure/table.h"

#include <fmt/compile.h>

#include <cmath>
#include <iterator>

namespace heddle {

void AppendExact(std::string& out, int64_t ps, int digits) {
  int64_t unit = 1;
  for (int i = 0; i < digits; ++i) unit *= 10;
  AppendCell(out, ps / unit);
  int64_t rest = ps % unit;
  if (rest == 0) return;
  int width = digits;
  for (; rest % 10 == 0; rest /= 10) --width;
  fmt::format_to(std::back_inserter(out), FMT_COMPILE(".{:0{}}"), rest, width);
}

void AppendCell(std::string& csv, double value) {
  if (!std::isnan(value)) fmt::format_to(std::back_inserter(csv), FMT_COMPILE("{}"), value);
}

}  // namespace heddle
