// SPDX-License-Identifier: Apache-2.0
// Thousands of damaged documents: each is either refused with a reason or read, and what was read
// can be written and read again.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "core/random.h"
#include "settings/patch.h"
#include "settings/reader.h"
#include "settings/writer.h"
#include "settings/yaml.h"
#include "tests/support/settings_zoo.h"

namespace heddle::fuzz_test {

constexpr std::string_view kDocument = R"(# A zoo.
motto: "a: \"b\""
open: true
price: 1/4
pond: 3KiB
tour: &long 1.5us
season: winter
closing: *long
numbers: [1, -2, 3]
words:
  - 'it''s'
  - >
    folded
    text
cage: {least: 1, most: 4}
cages:
  - most: 7
    visitors: 10Gbps
  - {least: 0}
mascot: cat
animals: [{kind: dog, name: rex, bones: [3B, 1MB]}, cat]
)";

constexpr std::string_view kPieces[] = {
    "\n",   " ",   "\t",   ":",    ": ",           "- ", "[",     "]",  "{", "}", ",",
    "\"",   "'",   "\\",   "#",    "&a",           "*a", "!",     "!!", "|", ">", "%",
    "@",    "---", "...",  "?",    "<<:",          "~",  "1e",    "99", "-", ".", "/0",
    "Gbps", "us",  "\xff", "\xc3", "\xef\xbb\xbf", "\r", "kind: "};

std::string Mutated(Rng& rng) {
  std::string text(kDocument);
  for (uint32_t n = 1 + rng.Below(4); n > 0; --n) {
    const size_t at = rng.Below(static_cast<uint32_t>(text.size()));
    const size_t length = std::min<size_t>(rng.Below(20), text.size() - at);
    switch (rng.Below(6)) {
      case 0:
        text[at] = static_cast<char>(rng.Below(256));
        break;
      case 1:
        text[at] = static_cast<char>(text[at] ^ (1 << rng.Below(8)));
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(at, kPieces[rng.Below(std::size(kPieces))]);
        break;
      case 4:
        text.insert(rng.Below(static_cast<uint32_t>(text.size())), text.substr(at, length));
        break;
      default:
        text.resize(at + 1);
    }
  }
  return text;
}

// Returns true if `text` was read without an error.
bool Survives(const std::string& text) {
  Diagnostics diagnostics;
  const std::optional<Value> document = ParseYaml(text, "fuzz.yaml", diagnostics);
  EXPECT_TRUE(document || !diagnostics.ok());
  if (!document) return false;
  Zoo zoo;
  ReadSettings(
      *document, [&](Fields& fields) { zoo.Declare(fields); }, diagnostics);
  if (!diagnostics.ok()) return false;
  const std::string written = WriteYaml([&](Fields& fields) { zoo.Declare(fields); });
  const std::optional<Value> again = ParseYaml(written, "written.yaml", diagnostics);
  EXPECT_TRUE(again) << diagnostics.Report() << written;
  if (!again) return true;
  Zoo read;
  ReadSettings(
      *again, [&](Fields& fields) { read.Declare(fields); }, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report() << written;
  EXPECT_EQ(WriteYaml([&](Fields& fields) { read.Declare(fields); }), written);
  return true;
}

TEST(FuzzTest, ADamagedDocumentIsRefusedOrRead) {
  ASSERT_TRUE(Survives(std::string(kDocument)));
  Rng rng = Rng::Stream(1, "fuzz", 0);
  int survived = 0;
  constexpr int kRounds = 6'000;
  for (int i = 0; i < kRounds && !testing::Test::HasFailure(); ++i) {
    const std::string text = Mutated(rng);
    SCOPED_TRACE(text);
    survived += Survives(text) ? 1 : 0;
  }
  // Both ways out are taken often.
  EXPECT_GT(survived, kRounds / 50);
  EXPECT_LT(survived, kRounds / 2);
}

TEST(FuzzTest, ADamagedArgumentIsRefusedOrSet) {
  constexpr std::string_view kArgument = "animals[0].bones[1]={a: [1, 2], b: 3}";
  Rng rng = Rng::Stream(2, "fuzz", 0);
  for (int i = 0; i < 3'000; ++i) {
    std::string argument(kArgument);
    for (uint32_t n = 1 + rng.Below(3); n > 0; --n) {
      const size_t at = rng.Below(static_cast<uint32_t>(argument.size()));
      if (rng.Below(2) == 0) {
        argument.insert(at, kPieces[rng.Below(std::size(kPieces))]);
      } else {
        argument[at] = static_cast<char>(32 + rng.Below(96));
      }
    }
    Diagnostics diagnostics;
    Value document = ParseYaml(std::string(kDocument), "fuzz.yaml", diagnostics).value();
    PatchFromArgument(document, argument, diagnostics);
    ASSERT_LE(diagnostics.errors().size(), 20u);
  }
}

}  // namespace heddle::fuzz_test
