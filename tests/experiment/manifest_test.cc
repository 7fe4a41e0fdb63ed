// SPDX-License-Identifier: Apache-2.0

#include "experiment/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "experiment/checked_folder.h"
#include "tests/support/command.h"
#include "tests/support/status.h"

namespace heddle::manifest_test {

using testing::_;
using testing::HasSubstr;

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
  EXPECT_EQ(ParseManifest(csv).value(), manifest);
}

TEST(ManifestTest, NamesMayHaveCommas) {
  const Manifest manifest = {{"a,b.pcap", {1, 2}}};
  EXPECT_EQ(ManifestCsv(manifest), "file,bytes,crc32\n\"a,b.pcap\",1,00000002\n");
  EXPECT_EQ(ParseManifest(ManifestCsv(manifest)).value(), manifest);
}

TEST(ManifestTest, IsTakenWholeOrNotAtAll) {
  const std::string csv = "file,bytes,crc32\na.csv,12,0000000a\nb.csv,3,00abcdef\n";
  for (size_t length = 0; length < csv.size(); ++length) {
    const bool ends_a_line = length > 0 && csv[length - 1] == '\n';
    EXPECT_EQ(ParseManifest(csv.substr(0, length)).ok(), ends_a_line) << length;
  }
  for (const char* wrong :
       {"file,bytes\n", "file,bytes,crc32\na.csv,x,00000000\n",
        "file,bytes,crc32\na.csv,1,0000000g\n", "file,bytes,crc32\na.csv,1,0\n",
        "file,bytes,crc32\na.csv,01,00000000\n", "file,bytes,crc32\nb,1,00000000\na,1,00000000\n",
        "file,bytes,crc32\na,1,00000000\na,1,00000000\n",
        "file,bytes,crc32\n../a,1,00000000\n",  // Names of this folder only.
        "file,bytes,crc32\na,b,1,00000000\n", "file,bytes,crc32\n\"a\",1,00000000\n"}) {
    EXPECT_THAT(ParseManifest(wrong), Fails(absl::StatusCode::kDataLoss, _)) << wrong;
  }
}

TEST(CheckedFolderTest, ReadsOnlyWhatWasWritten) {
  const TemporaryFolder run;
  run.Write("a.csv", "one");
  run.Write("b.csv", "two");
  MakeManifest(run.path());
  run.Write("c.csv", "three");
  EXPECT_EQ(CheckedFolder(run.path()).Read("a.csv", 100).value(), "one");
  run.Write("b.csv", "owt");
  const CheckedFolder folder(run.path());
  EXPECT_THAT(folder.Read("b.csv", 100),
              Fails(absl::StatusCode::kDataLoss,
                    (run / "b.csv").string() + ": has other contents than were written"));
  EXPECT_TRUE(folder.found_damage());
  EXPECT_THAT(folder.Read("c.csv", 100),
              Fails(absl::StatusCode::kDataLoss, HasSubstr("is not in manifest.csv beside it")));
  EXPECT_TRUE(folder.Damage(/*read_up_to=*/2).empty());
  EXPECT_EQ(folder.Damage(/*read_up_to=*/3).size(), 1u);
  EXPECT_EQ(folder.AllDamage(),
            (std::vector<DamagedFile>{{"b.csv", "has other contents than were written"},
                                      {"c.csv", "is not in manifest.csv"}}));
  // A file that was never written is not damaged.
  const CheckedFolder again(run.path());
  EXPECT_THAT(again.Read("udp.csv", 100),
              Fails(absl::StatusCode::kNotFound, HasSubstr("the run has not written it")));
  EXPECT_FALSE(again.found_damage());
}

TEST(CheckedFolderTest, SaysHowAFileIsDamaged) {
  const TemporaryFolder run;
  for (const char* file : {"gone.csv", "longer.csv"}) run.Write(file, "text");
  MakeManifest(run.path());
  std::filesystem::remove(run / "gone.csv");
  run.Write("longer.csv", "text and more");
  const CheckedFolder folder(run.path());
  EXPECT_THAT(folder.Read("gone.csv", 100),
              Fails(absl::StatusCode::kDataLoss, HasSubstr("No such file or directory")));
  EXPECT_THAT(folder.Read("longer.csv", 100),
              Fails(absl::StatusCode::kDataLoss, HasSubstr("has 13 bytes; 4 were written")));
  run.Write("manifest.csv", "file,bytes\n");
  EXPECT_THAT(CheckedFolder(run.path()).Read("longer.csv", 100),
              Fails(absl::StatusCode::kDataLoss, HasSubstr("manifest.csv beside it is damaged")));
}

// It is older than manifests, and everything in it is believed.
TEST(CheckedFolderTest, AFolderWithoutAManifestIsNotDamaged) {
  const TemporaryFolder run;
  run.Write("a.csv", "one");
  const CheckedFolder folder(run.path());
  EXPECT_EQ(folder.Read("a.csv", 100).value(), "one");
  EXPECT_THAT(folder.Read("b.csv", 100),
              Fails(absl::StatusCode::kNotFound,
                    (run / "b.csv").string() + ": cannot be read: No such file or directory"));
  EXPECT_FALSE(folder.found_damage());
}

}  // namespace heddle::manifest_test
