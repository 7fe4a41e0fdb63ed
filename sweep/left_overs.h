// SPDX-License-Identifier: Apache-2.0
// What processes that were killed have left in a folder of results: hidden files, and folders of
// runs that were under way.

#pragma once

#include <filesystem>

namespace heddle {

// Removes what is left in `folder` of files written by WholeFile and of runs (RunFolder), as far as
// no process holds a lock on it. Where there are no locks, nothing is removed.
void RemoveLeftOvers(const std::filesystem::path& folder);

}  // namespace heddle
