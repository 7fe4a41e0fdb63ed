// SPDX-License-Identifier: Apache-2.0
// The schema and the reader, made from the same declarations, judge the same documents: thousands,
// drawn from these declarations and damaged at random. What is damaged, and so must be refused by
// both: unknown keys, kinds and words, a value, list or map where another is expected, quantities
// without a unit or with an unknown one, numbers out of bounds, and missing keys at the top. What
// is not is taken by the schema; the reader may still refuse it for what a schema does not know.

#include "experiment/experiment_schema.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "experiment/experiment_file.h"
#include "settings/json.h"
#include "settings/reader.h"
#include "settings/schema.h"
#include "settings/writer.h"
#include "settings/yaml.h"
#include "tests/support/command.h"

namespace heddle::experiment_schema_test {

namespace fs = std::filesystem;

using Type = ScalarShape::Type;

// Draws a document from the declarations of settings.
class Drawer final : public Fields {
 public:
  // `damage`: one value of so many is damaged; 0: none.
  Drawer(Rng& rng, uint32_t damage) : rng_(rng), damage_(damage) {}

  std::string Document(const std::function<void(Fields&)>& declare) {
    declare(*this);
    if (damage_ > 0 && rng_.Below(8) == 0) {
      const size_t gone = rng_.Below(static_cast<uint32_t>(members_.size()));
      const bool needed = members_[gone].required;
      damaged_ += needed ? 1 : 0;
      if (needed) members_.erase(members_.begin() + static_cast<ptrdiff_t>(gone));
    }
    return Map();
  }
  int damaged() const { return damaged_; }

 protected:
  void OnScalar(std::string_view name, const Scalar& scalar, Presence presence,
                std::string_view /*meaning*/) override {
    if (Wanted(presence)) Add(name, presence, Draw(scalar.shape));
  }

  void OnScalars(std::string_view name, size_t /*count*/, const std::function<void(size_t)>& resize,
                 const std::function<Scalar(size_t)>& at, Presence presence,
                 std::string_view /*meaning*/, const std::string& /*type*/) override {
    if (!Wanted(presence)) return;
    if (Damages()) return Add(name, presence, Pick({"1", "{}", "null", "\"text\""}));
    resize(1);
    const ScalarShape shape = at(0).shape;
    std::string items = Draw(shape);
    for (uint32_t more = rng_.Below(3); more > 0; --more) items += "," + Draw(shape);
    Add(name, presence, "[" + items + "]");
  }

  void OnBlock(std::string_view name, const Block& block, Presence presence,
               std::string_view /*meaning*/) override {
    if (Wanted(presence)) Add(name, presence, Draw(block));
  }

  void OnBlocks(std::string_view name, size_t /*count*/, const std::function<void(size_t)>& resize,
                const std::function<Block(size_t)>& at, Presence presence,
                std::string_view /*meaning*/) override {
    if (!Wanted(presence)) return;
    if (Damages()) return Add(name, presence, Pick({"1", "{}", "null", "\"text\""}));
    resize(1);
    std::string items = Draw(at(0));
    for (uint32_t more = rng_.Below(2); more > 0; --more) items += "," + Draw(at(0));
    Add(name, presence, "[" + items + "]");
  }

 private:
  struct Member {
    std::string name;
    std::string value;
    bool required;
  };

  bool Wanted(Presence presence) { return presence == kRequired || rng_.Below(4) == 0; }
  bool Damages() {
    const bool damages = damage_ > 0 && rng_.Below(damage_) == 0;
    damaged_ += damages ? 1 : 0;
    return damages;
  }
  std::string Pick(std::initializer_list<const char*> words) {
    return words.begin()[rng_.Below(static_cast<uint32_t>(words.size()))];
  }
  std::string PickOf(const std::vector<std::string>& words) {
    return QuoteJson(words[rng_.Below(static_cast<uint32_t>(words.size()))]);
  }

  void Add(std::string_view name, Presence presence, const std::string& value) {
    members_.push_back({std::string(name), value, presence == kRequired});
  }

  std::string Map() {
    std::string json;
    for (const Member& member : members_) {
      json +=
          fmt::format("{}{}: {}", json.empty() ? "" : ", ", QuoteJson(member.name), member.value);
    }
    if (Damages()) json += fmt::format("{}\"nonsense\": 1", json.empty() ? "" : ", ");
    return "{" + json + "}";
  }

  std::string Draw(const Block& block) {
    if (Damages()) return Pick({"[]", "null", "[1, 2]", "true", "{\"kind\": \"nonsense\"}"});
    Drawer inner(rng_, damage_);
    if (block.kinds != nullptr) {
      const std::vector<std::string> names = block.kinds->Names();
      const std::string& kind = names[rng_.Below(static_cast<uint32_t>(names.size()))];
      block.choose(kind);
      if (!kind.empty()) inner.members_.push_back({"kind", QuoteJson(kind), true});
    }
    block.declare(inner);
    const std::string map = inner.Map();
    damaged_ += inner.damaged_;
    return map;
  }

  std::string Draw(const ScalarShape& shape) {
    if (Damages()) return Damaged(shape);
    const bool takes_word = !shape.words.empty() && rng_.Below(3) == 0;
    if (shape.type == Type::kWord || takes_word) return PickOf(shape.words);
    return Sound(shape);
  }

  std::string Sound(const ScalarShape& shape) {
    switch (shape.type) {
      case Type::kDuration:
        return Pick({"\"10us\"", "\"1.5ms\"", "\"0ps\"", "\"007ns\"", "\"2s\""});
      case Type::kRate:
        return Pick({"\"10Gbps\"", "\"1.5Mbps\"", "\"400000Kbps\""});
      case Type::kSize:
        return Pick({"\"10KB\"", "\"1.5MiB\"", "\"1B\"", "\"1GB\""});
      case Type::kInteger: {
        const int64_t number = static_cast<int64_t>(shape.at_least.value_or(0)) + rng_.Below(2);
        return rng_.Below(4) == 0 ? fmt::format("\"{}\"", number) : fmt::format("{}", number);
      }
      case Type::kNumber: {
        const double least = shape.at_least.value_or(shape.above.value_or(0));
        const double number = (least + shape.at_most.value_or(least + 1)) / 2;
        if (rng_.Below(2) == 0) return fmt::format("{}", number);
        return rng_.Below(2) == 0 ? fmt::format("\"{}\"", number) : fmt::format("\"{}/2\"", number);
      }
      case Type::kBoolean:
        return Pick({"true", "false", "\"true\""});
      case Type::kPattern:
        return Pick({"\"8pkts\"", "\"30KB\"", "\"unlimited\""});
      case Type::kText:
        return Pick({"\"some text\"", "5", "true", "\"\""});
      case Type::kWord:
        break;
    }
    return "null";
  }

  std::string Damaged(const ScalarShape& shape) {
    switch (rng_.Below(3)) {
      case 0:
        return Pick({"{}", "[]", "null", "[1]", "{\"a\": 1}"});
      case 1:
        if (shape.type == Type::kText) return "null";
        return Pick({"\"nonsense\"", "\"10 us\"", "\"-\"", "\"\""});
      default:
        break;
    }
    switch (shape.type) {
      case Type::kInteger:
        if (shape.at_least) return fmt::format("{}", static_cast<int64_t>(*shape.at_least) - 1);
        return Pick({"1.5", "true", "\"0x1\"", "\"01\""});
      case Type::kNumber:
        if (shape.above) return fmt::format("{}", *shape.above - 1);
        return Pick({"\"inf\"", "\"1/\"", "false", "\"+1\""});
      case Type::kText:
        return "{}";
      default:
        return Pick({"17.25", "\"10uS\"", "\"1.us\"", "\"Gbps\"", "\"10KBps\""});
    }
  }

  Rng& rng_;
  const uint32_t damage_;
  std::vector<Member> members_;
  int damaged_ = 0;
};

std::optional<Value> Parsed(const std::string& text) {
  Diagnostics diagnostics;
  std::optional<Value> document = ParseYaml(text, "drawn.yaml", diagnostics);
  EXPECT_TRUE(document) << diagnostics.Report();
  return document;
}

// The errors of the settings reader alone, without the later checks of the whole experiment.
std::string ErrorsOfReader(const std::string& text) {
  Diagnostics diagnostics;
  const std::optional<Value> document = Parsed(text);
  if (!document) return "no YAML";
  ExperimentSettings settings;
  ReadSettings(
      *document, [&](Fields& fields) { settings.Declare(fields); }, diagnostics);
  return diagnostics.ok() ? "" : diagnostics.Report();
}

// Returns the value as the JSON that an editor reads.
std::string JsonOf(const Value& value) {
  std::string json;
  const auto separator = [&] { return json.empty() ? "" : ","; };
  switch (value.kind) {
    case Value::Kind::kNull:
      return "null";
    case Value::Kind::kScalar: {
      double number = 0;
      const bool is_number =
          value.text.find('/') == std::string::npos && !ParseQuantity(value.text, number);
      const bool is_plain = is_number || value.text == "true" || value.text == "false";
      return is_plain ? value.text : QuoteJson(value.text);
    }
    case Value::Kind::kList:
      for (const Value& item : value.items) json += separator() + JsonOf(item);
      return "[" + json + "]";
    case Value::Kind::kMap:
      for (const Value::Entry& entry : value.entries) {
        json += fmt::format("{}{}:{}", separator(), QuoteJson(entry.key), JsonOf(entry.value));
      }
      return "{" + json + "}";
  }
  return "";
}

class ExperimentSchemaTest : public testing::Test {
 protected:
  void SetUp() override {
    if (RunCommand("python3 -W ignore -c 'import jsonschema'").exit_code != 0) {
      GTEST_SKIP() << "there is no validator: scripts/setup python3-jsonschema";
    }
  }

  // Tells for each of `documents` if the schema accepts it.
  std::vector<bool> Judged(const std::vector<std::string>& documents) {
    const fs::path schema = folder_.Write("schema.json", ExperimentSchema());
    const fs::path lines =
        folder_.Write("documents.json", fmt::format("{}\n", fmt::join(documents, "\n")));
    const CommandResult result =
        RunCommand(fmt::format("python3 '{}/tests/support/validate_json.py' '{}' '{}'",
                               HEDDLE_SOURCE_DIR, schema.string(), lines.string()));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::vector<bool> judged;
    std::istringstream text(result.out);
    for (std::string line; std::getline(text, line);) judged.push_back(line == "yes");
    EXPECT_EQ(judged.size(), documents.size());
    judged.resize(documents.size());
    return judged;
  }

  TemporaryFolder folder_;
};

TEST_F(ExperimentSchemaTest, AgreesWithTheReaderOnThousandsOfDocuments) {
  Rng rng = Rng::Stream(1, "schema", 0);
  std::vector<std::string> documents;
  std::vector<bool> damaged;
  for (int i = 0; i < 3'000; ++i) {
    ExperimentSettings settings;
    Drawer drawer(rng, i % 2 == 0 ? 0 : 60);
    documents.push_back(drawer.Document([&](Fields& fields) { settings.Declare(fields); }));
    damaged.push_back(drawer.damaged() > 0);
  }
  const std::vector<bool> judged = Judged(documents);
  int read = 0;
  int refused = 0;
  for (size_t i = 0; i < documents.size(); ++i) {
    const std::string errors = ErrorsOfReader(documents[i]);
    read += errors.empty() ? 1 : 0;
    refused += judged[i] ? 0 : 1;
    ASSERT_EQ(judged[i], !damaged[i]) << documents[i] << "\n" << errors;
    if (damaged[i]) {
      ASSERT_NE(errors, "") << documents[i];
    }
  }
  // Both verdicts are given often, by both.
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 500);
  EXPECT_LT(refused, 2'000);
}

TEST_F(ExperimentSchemaTest, TakesEveryExperimentThatIsShipped) {
  std::vector<std::string> documents;
  std::vector<std::string> names;
  for (const auto& entry :
       fs::recursive_directory_iterator(fs::path(HEDDLE_SOURCE_DIR) / "configs")) {
    if (entry.path().extension() != ".yaml") continue;
    if (entry.path().filename() == "claims.yaml") continue;  // No experiment.
    const std::string text = ReadFile(entry.path());
    documents.push_back(JsonOf(*Parsed(text)));
    names.push_back(entry.path().string());
    // The resolved experiment, with every default written out, must be valid too.
    Diagnostics diagnostics;
    const auto file = ExperimentFile::Read(entry.path().string(), {}, diagnostics);
    ASSERT_TRUE(file && diagnostics.ok()) << diagnostics.Report();
    // The sweeps of papers have hundreds of points; six are taken, the first and the last among
    // them.
    const size_t taken = std::min<size_t>(file->size(), 6);
    for (size_t i = 0; i < taken; ++i) {
      const size_t point = taken < 2 ? 0 : i * (file->size() - 1) / (taken - 1);
      const Experiment experiment = file->Load(point, diagnostics);
      ASSERT_TRUE(diagnostics.ok()) << diagnostics.Report();
      documents.push_back(JsonOf(*Parsed(experiment.Resolved())));
      names.push_back(entry.path().string() + " " + experiment.label);
    }
  }
  const std::vector<bool> judged = Judged(documents);
  for (size_t i = 0; i < names.size(); ++i) EXPECT_TRUE(judged[i]) << names[i];
  EXPECT_GT(names.size(), 10u);
}

TEST_F(ExperimentSchemaTest, WhatIsRequiredMayComeFromASweep) {
  const std::string rest = R"("topology": {"kind": "fat_tree"}, "workload": ["poisson"])";
  const std::vector<bool> judged = Judged({
      "{" + rest + R"(, "lb": "ecmp"})",
      "{" + rest + "}",
      "{" + rest + R"(, "sweep": {"lb": ["ecmp", "rps"]}})",
      "{" + rest + R"(, "sweep": {"lb.gap": ["1us"]}})",
      "{" + rest + R"(, "sweep": {"lbs": [1]}})",
      "{" + rest + R"(, "lb": "ecmp", "sweep": {"seed": []}})",
      "{" + rest + R"(, "sweep": {"together": [{"lb": ["ecmp", "rps"], "seed": [1, 2]}]}})",
      "{" + rest + R"(, "lb": "ecmp", "sweep": {"seed": {"from": 1, "to": 9, "step": 2}}})",
      "{" + rest + R"(, "lb": "ecmp", "sweep": {"seed": {"from": 1, "until": 9, "step": 2}}})",
  });
  EXPECT_THAT(judged,
              testing::ElementsAre(true, false, true, true, false, false, true, true, false));
}

TEST_F(ExperimentSchemaTest, AxesAreListsOrRangesAndMayMoveTogether) {
  const std::string rest =
      R"({"topology": {"kind": "fat_tree"}, "workload": ["poisson"], "lb": "ecmp", "sweep": )";
  const std::vector<bool> judged = Judged({
      rest + R"({"workload[0].load": {"from": 0.1, "to": 0.5, "step": 0.1}, "seeds": 3}})",
      rest + R"({"lb.gap": {"from": "1us", "to": "1ms", "points": 4, "scale": "log"}}})",
      rest + R"({"together": [{"seed": [1, 2], "lb": ["ecmp", "rps"]}]}})",
      rest + R"({"lb": ["ecmp", "rps"], "seed": [1, 2], "exclude": [{"lb": "rps", "seed": 2}]}})",
      rest + R"({"workload[0].load": {"from": 0.1, "step": 0.1}}})",
      rest + R"({"lb.gap": {"from": "1us", "to": "1ms", "points": 4, "scale": "cubic"}}})",
      rest + R"({"lb.gap": {"from": "1us", "to": "1ms", "pionts": 4}}})",
      rest + R"({"together": {"seed": [1, 2]}}})",
      rest + R"({"lb": ["ecmp", "rps"], "labels": {"lb": {"ecmp": "ECMP", "rps": 1}}}})",
      rest + R"({"lb": ["ecmp", "rps"], "labels": {"lb": ["ECMP", "RPS"]}}})",
      rest + R"({"lb": ["ecmp", "rps"], "labels": {"lb": {"ecmp": ["ECMP"]}}}})",
  });
  EXPECT_THAT(judged, testing::ElementsAre(true, true, true, true, false, false, false, false, true,
                                           false, false));
}

}  // namespace heddle::experiment_schema_test
