// SPDX-License-Identifier: Apache-2.0
// Runs every fuzz target over its corpus and over thousands of mutations of it, the same ones each
// time. scripts/fuzz continues where this ends.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "settings/json.h"
#include "settings/yaml.h"
#include "tests/fuzz/mutator.h"
#include "tests/fuzz/targets.h"
#include "tests/support/command.h"

namespace heddle {

void PrintTo(const FuzzTarget& target, std::ostream* out) { *out << target.name; }

namespace {

namespace fs = std::filesystem;

// Sorted by name: mutations depend on the order.
std::vector<std::string> CorpusOf(const FuzzTarget& target) {
  std::vector<fs::path> files;
  const fs::path folder = fs::path(HEDDLE_SOURCE_DIR) / "tests/fuzz/corpus" / target.name;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<std::string> corpus;
  for (const fs::path& file : files) corpus.push_back(ReadFile(file));
  return corpus;
}

// Returns the broken promise; empty if all are kept.
std::string WrongWith(const FuzzTarget& target, const std::string& text) {
  try {
    target.run({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    return "";
  } catch (const std::exception& error) {
    return fmt::format("{}\nof the input {}", error.what(), QuoteJson(text));
  }
}

class CorpusTest : public testing::TestWithParam<FuzzTarget> {};

TEST_P(CorpusTest, EveryInputKeepsThePromises) {
  const std::vector<std::string> corpus = CorpusOf(GetParam());
  ASSERT_FALSE(corpus.empty());
  for (const std::string& text : corpus) EXPECT_EQ(WrongWith(GetParam(), text), "");
}

TEST_P(CorpusTest, SoDoMutations) {
  const std::vector<std::string> corpus = CorpusOf(GetParam());
  Rng rng = Rng::Stream(1, GetParam().name, 0);
  for (int i = 0; i < GetParam().mutations; ++i) {
    ASSERT_EQ(WrongWith(GetParam(), Mutated(corpus, rng)), "") << "mutation " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzz, CorpusTest, testing::ValuesIn(FuzzTargets()),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace heddle
