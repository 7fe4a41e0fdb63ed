// SPDX-License-Identifier: Apache-2.0

#include "workload/traces/gzip.h"

#include <gtest/gtest.h>

#include <string>

#include "settings/status.h"
#include "tests/support/gzip.h"

namespace heddle::gzip_test {

std::string LongText() {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i * 7919 % 10'007) + "\n";
  return text;
}

TEST(GunzipTest, ReturnsWhatWasCompressed) {
  const std::string text = LongText();
  ASSERT_TRUE(IsGzip(Gzipped(text)));
  EXPECT_FALSE(IsGzip(text));
  const auto read = Gunzip(Gzipped(text), text.size());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(*read == text);
  EXPECT_EQ(*Gunzip(Gzipped(""), 10), "");
}

// `cat a.gz b.gz` is a gzip file, too.
TEST(GunzipTest, ReadsAllMembers) {
  EXPECT_EQ(*Gunzip(Gzipped("one ") + Gzipped("") + Gzipped("two"), 100), "one two");
}

TEST(GunzipTest, NamesWhatIsWrong) {
  const std::string whole = Gzipped(LongText());
  const auto message = [](const std::string& bytes, size_t limit) {
    return MessageOf(Gunzip(bytes, limit).status());
  };
  EXPECT_EQ(message(whole.substr(0, whole.size() - 1), 1 << 30),
            "is compressed by gzip, and cut off");
  EXPECT_EQ(message(whole.substr(0, 2), 100), "is compressed by gzip, and cut off");
  std::string broken = whole;
  broken[whole.size() / 2] = static_cast<char>(broken[whole.size() / 2] ^ 0x55);
  EXPECT_EQ(message(broken, 1 << 30), "is compressed by gzip, and broken");
  EXPECT_EQ(message(whole + "more", 1 << 30), "is compressed by gzip, and broken");
  EXPECT_EQ(message(whole, 1'000), "is longer than 1000 bytes when decompressed");
}

}  // namespace heddle::gzip_test
