// SPDX-License-Identifier: Apache-2.0
// Removes the hidden files, and the folders of unfinished runs, that killed processes have left in
// a folder of results.

#pragma once

#include <filesystem>

namespace heddle {

// Removes what is left in `folder` of files written by WholeFile and of runs (RunFolder), as far as
// no process holds a lock on it. Where there are no locks, nothing is removed.
void RemoveLeftOvers(const std::filesystem::path& folder);

}  // namespace heddle
