// SPDX-License-Identifier: Apache-2.0

#include "settings/patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "settings/yaml.h"

namespace heddle::patch_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// The document in one line, for comparing.
std::string Text(const Value& value) {
  std::string text;
  switch (value.kind) {
    case Value::Kind::kNull:
      return "~";
    case Value::Kind::kScalar:
      return value.text;
    case Value::Kind::kList:
      for (const Value& item : value.items) text += (text.empty() ? "" : ",") + Text(item);
      return "[" + text + "]";
    case Value::Kind::kMap:
      for (const Value::Entry& entry : value.entries) {
        text += (text.empty() ? "" : ",") + entry.key + ":" + Text(entry.value);
      }
      return "{" + text + "}";
  }
  return text;
}

constexpr const char* kDocument =
    "seed: 1\nlb: letflow\nwork: [{load: 0.5}, {load: 0.6}]\nempty:\n";

// The document after --set `argument`, or the errors.
std::string Set(const std::string& argument) {
  Diagnostics diagnostics;
  Value document = ParseYaml(kDocument, "x.yaml", diagnostics).value();
  PatchFromArgument(document, argument, diagnostics);
  return diagnostics.ok() ? Text(document) : diagnostics.errors().front();
}

TEST(PatchTest, ReplacesWhatIsThere) {
  EXPECT_EQ(Set("seed=2"), "{seed:2,lb:letflow,work:[{load:0.5},{load:0.6}],empty:~}");
  EXPECT_THAT(Set("work[1].load=0.9"), HasSubstr("work:[{load:0.5},{load:0.9}]"));
  EXPECT_THAT(Set("work[0]={load: 1}"), HasSubstr("work:[{load:1},{load:0.6}]"));
  EXPECT_THAT(Set("lb={kind: ecmp, hash: good}"), HasSubstr("lb:{kind:ecmp,hash:good}"));
}

TEST(PatchTest, TakesTheValueAsYaml) {
  EXPECT_THAT(Set("a=[1, 2]"), HasSubstr("a:[1,2]"));
  EXPECT_THAT(Set("a='x=y'"), HasSubstr("a:x=y"));
  EXPECT_THAT(Set("a=b=c"), HasSubstr("a:b=c"));
  EXPECT_THAT(Set("a="), HasSubstr("a:~"));
  EXPECT_THAT(Set("a=\"\""), HasSubstr("a:}"));
}

TEST(PatchTest, MakesTheMapsOnTheWay) {
  EXPECT_THAT(Set("stop.after.flows=10"), HasSubstr("stop:{after:{flows:10}}"));
  EXPECT_THAT(Set("empty.a=1"), HasSubstr("empty:{a:1}"));
  EXPECT_THAT(Set("list[0].a=1"), HasSubstr("list:[{a:1}]"));
  EXPECT_THAT(Set("list[0][0]=1"), HasSubstr("list:[[1]]"));
  // "lb: letflow" is short for a map.
  EXPECT_THAT(Set("lb.gap=1us"), HasSubstr("lb:{kind:letflow,gap:1us}"));
  EXPECT_THAT(Set("work[2].load=1"), HasSubstr("{load:0.6},{load:1}]"));
}

TEST(PatchTest, RefusesPathsThatLeadNowhere) {
  EXPECT_THAT(Set("work[3].load=1"), HasSubstr("there is no element 3; the list has 2"));
  EXPECT_THAT(Set("seed[0]=1"), HasSubstr("[0] of \"1\", which is not a list"));
  EXPECT_THAT(Set("work.load=1"), HasSubstr("\"load\" cannot be set within a list"));
}

TEST(PatchTest, RefusesWhatIsNoPath) {
  for (const char* path : {".", "a.", ".a", "a..b", "a[", "a[]", "a[x]", "a[-1]", "a[1", "a[0]b",
                           "[0]", "a[0].", "a[99999999999999999999]", "a[100001]", "a.[0]"}) {
    EXPECT_THAT(Set(std::string(path) + "=1"), HasSubstr("is not the path of a setting")) << path;
  }
  EXPECT_THAT(Set("seed"), HasSubstr("expected path.to.key=value"));
  EXPECT_THAT(Set("=1"), HasSubstr("expected path.to.key=value"));
  EXPECT_THAT(Set(""), HasSubstr("expected path.to.key=value"));
  EXPECT_THAT(Set("a=[1"), AllOf(StartsWith("--set a=[1"), HasSubstr("not valid YAML")));
  EXPECT_THAT(Set("a\x83=1"), HasSubstr("--set: is not valid UTF-8"));
}

TEST(PatchTest, NamesTheArgumentAsThePlace) {
  Diagnostics diagnostics;
  Value document = ParseYaml(kDocument, "x.yaml", diagnostics).value();
  PatchFromArgument(document, "lb={kind: ecmp}", diagnostics);
  const Value& kind = *document.Find("lb")->Find("kind");
  EXPECT_EQ(kind.place.source, "--set lb={kind: ecmp}");
  EXPECT_EQ(kind.place.line, 0);
}

}  // namespace heddle::patch_test
