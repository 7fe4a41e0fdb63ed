// SPDX-License-Identifier: Apache-2.0

#include "experiment/manifest.h"

#include <gtest/gtest.h>

#include <string>

#include "experiment/checked_folder.h"
#include "tests/support/command.h"

namespace heddle {
namespace {

// The check value of CRC-32/ISO-HDLC is that of these nine digits.
TEST(ManifestTest, HasTheUsualChecksum) {
  FileRecord record;
  record.Add("1234");
  record.Add("56789");
  EXPECT_EQ(record, (FileRecord{9, 0xcbf43926}));
}

TEST(ManifestTest, ReadsWhatItWrites) {
  const Manifest manifest = {{"b.csv", {3, 0xabcdef}}, {"a.csv", {0, 0}}};
  const std::string csv = "file,bytes,crc32\na.csv,0,00000000\nb.csv,3,00abcdef\n";
  EXPECT_EQ(ManifestCsv(manifest), csv);
  EXPECT_EQ(ParseManifest(csv), manifest);
}

TEST(ManifestTest, IsTakenWholeOrNotAtAll) {
  const std::string csv = "file,bytes,crc32\na.csv,12,0000000a\nb.csv,3,00abcdef\n";
  for (size_t length = 0; length < csv.size(); ++length) {
    const bool ends_a_line = length > 0 && csv[length - 1] == '\n';
    EXPECT_EQ(ParseManifest(csv.substr(0, length)).has_value(), ends_a_line) << length;
  }
  for (const char* wrong :
       {"file,bytes\n", "file,bytes,crc32\na.csv,x,00000000\n",
        "file,bytes,crc32\na.csv,1,0000000g\n", "file,bytes,crc32\na.csv,1,0\n",
        "file,bytes,crc32\na.csv,01,00000000\n", "file,bytes,crc32\nb,1,00000000\na,1,00000000\n",
        "file,bytes,crc32\na,1,00000000\na,1,00000000\n",
        "file,bytes,crc32\n../a,1,00000000\n"}) {  // Names of this folder only.
    EXPECT_FALSE(ParseManifest(wrong)) << wrong;
  }
}

TEST(CheckedFolderTest, ReadsOnlyWhatWasWritten) {
  const TemporaryFolder run;
  run.Write("a.csv", "one");
  run.Write("b.csv", "two");
  MakeManifest(run.path());
  run.Write("c.csv", "three");
  std::string error;
  EXPECT_EQ(CheckedFolder(run.path()).Read("a.csv", 100, error), "one");
  run.Write("b.csv", "owt");
  const CheckedFolder folder(run.path());
  EXPECT_FALSE(folder.Read("b.csv", 100, error));
  EXPECT_EQ(error, (run / "b.csv").string() + ": has other contents than were written");
  EXPECT_TRUE(folder.found_damage());
  EXPECT_FALSE(folder.Read("c.csv", 100, error));
  EXPECT_TRUE(folder.Damage(/*read_up_to=*/2).empty());
  EXPECT_EQ(folder.Damage(/*read_up_to=*/3).size(), 1u);
  EXPECT_EQ(folder.AllDamage(),
            (std::vector<DamagedFile>{{"b.csv", "has other contents than were written"},
                                      {"c.csv", "is not in manifest.csv"}}));
  // A file that was never written is not damaged.
  const CheckedFolder again(run.path());
  EXPECT_FALSE(again.Read("udp.csv", 100, error));
  EXPECT_FALSE(again.found_damage());
}

}  // namespace
}  // namespace heddle
