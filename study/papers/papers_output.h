// SPDX-License-Identifier: Apache-2.0
// Writes judged papers as text, Markdown, CSV and JSON; docs/papers.md describes the formats.
// `heddle papers claims` calls it.

#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "study/papers/judged_paper.h"

namespace heddle {

std::string ClaimsText(const std::vector<JudgedPaper>& papers);
std::string ClaimsMarkdown(const std::vector<JudgedPaper>& papers);
std::string ClaimsCsv(const std::vector<JudgedPaper>& papers);
std::string PapersJson(const std::vector<JudgedPaper>& papers, const LoadOptions& load);

// Verdicts by claim, read from a file that ClaimsCsv() wrote. InvalidArgument if it is no such
// file.
using Verdicts = std::map<std::string, std::string>;
absl::StatusOr<Verdicts> ParseVerdicts(std::string_view csv);
Verdicts VerdictsOf(const std::vector<JudgedPaper>& papers);

}  // namespace heddle
