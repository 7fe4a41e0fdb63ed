// SPDX-License-Identifier: Apache-2.0
// Removes the hidden files, and the folders of unfinished runs, that killed processes have left in
// a folder of results. `heddle sweep`, `heddle papers` and the collector call it. It never removes
// files of a process that still runs.

#pragma once

#include <filesystem>

namespace heddle {

// Removes unfinished files of WholeFile and of runs (RunFolder) from `folder`, unless a process
// holds a lock on them. On file systems without locks it removes nothing.
void RemoveLeftOvers(const std::filesystem::path& folder);

}  // namespace heddle
