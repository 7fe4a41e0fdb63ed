// SPDX-License-Identifier: Apache-2.0

#include "cli/text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>

#include "settings/wording.h"

namespace heddle {

std::string CountText(double number) {
  static constexpr const char* kPrefixes[] = {"", " thousand", " million", " billion", " trillion"};
  size_t prefix = 0;
  constexpr double kNext = 999.5;  // Three digits round it up to a thousand.
  for (; number >= kNext && prefix + 1 < std::size(kPrefixes); ++prefix) number /= 1000;
  return PlainNumber(number, 3) + kPrefixes[prefix];
}

std::string AboutTime(double seconds) {
  if (seconds < 1) return "less than a second";
  if (seconds < 120) return fmt::format("about {:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("about {:.0f} min", seconds / 60);
  return fmt::format("about {:.1f} h", seconds / 3600);
}

std::string AboutBytes(double bytes) {
  if (bytes < 1e9) return fmt::format("{:.0f} MB", std::ceil(bytes * 1e-6));
  return fmt::format("{:.1f} GB", bytes * 1e-9);
}

std::string NoFileInPlace(const std::string& folder) {
  std::error_code error;
  std::filesystem::path path = folder;
  while (path.has_relative_path() && !std::filesystem::exists(path, error)) {
    path = path.parent_path();
  }
  const bool is_file =
      std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error);
  return is_file ? fmt::format("{} is not a folder", path.string()) : "";
}

bool IsTerminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace heddle
