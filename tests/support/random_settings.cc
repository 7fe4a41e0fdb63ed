// SPDX-License-Identifier: Apache-2.0

#include "tests/support/random_settings.h"

#include <fmt/format.h>

#include "settings/nameless_kind.h"

namespace heddle {

const std::vector<std::string> kUsualDurations = {"200ns", "1us",   "5us", "20us", "100us",
                                                  "300us", "700us", "5ms", "1s"};

namespace {

bool Happens(double probability, Rng& rng) { return rng.Uniform() < probability; }

const std::string& OneOf(const std::vector<std::string>& values, Rng& rng) {
  return values[rng.Below(static_cast<uint32_t>(values.size()))];
}

bool IsWithin(double value, const ScalarShape& shape) {
  return (!shape.above || value > *shape.above) && (!shape.at_least || value >= *shape.at_least) &&
         (!shape.at_most || value <= *shape.at_most);
}

std::string DrawNumber(const std::vector<std::string>& values, const ScalarShape& shape, Rng& rng) {
  if (Happens(0.02, rng)) return OneOf(values, rng);
  std::vector<std::string> within;
  for (const std::string& value : values) {
    if (IsWithin(std::stod(value), shape)) within.push_back(value);
  }
  return OneOf(within.empty() ? values : within, rng);
}

class Drawer final : public Fields {
 public:
  Drawer(const DrawRule& rule, std::string prefix, Rng& rng)
      : rule_(rule), prefix_(std::move(prefix)), rng_(rng) {}

  const std::string& text() const { return text_; }

 protected:
  void OnScalar(std::string_view name, const Scalar& scalar, Presence presence,
                std::string_view /*meaning*/) override {
    if (TakeGiven(name) || !Wants(presence)) return;
    if (scalar.shape.type == ScalarShape::Type::kText && scalar.shape.words.empty()) return;
    Append(name, DrawValue(scalar.shape, rule_, rng_));
  }

  void OnScalars(std::string_view name, size_t /*count*/, const std::function<void(size_t)>& resize,
                 const std::function<Scalar(size_t)>& at, Presence presence,
                 std::string_view /*meaning*/, const std::string& /*type*/) override {
    if (TakeGiven(name) || !Wants(presence)) return;
    resize(1);
    const Scalar scalar = at(0);
    if (scalar.shape.type == ScalarShape::Type::kText) return;
    std::string values;
    for (uint32_t left = 1 + rng_.Below(3); left > 0; --left) {
      values += (values.empty() ? "" : ", ") + DrawValue(scalar.shape, rule_, rng_);
    }
    Append(name, "[" + values + "]");
  }

  void OnBlock(std::string_view name, const Block& block, Presence presence,
               std::string_view /*meaning*/) override {
    if (TakeGiven(name)) return;
    const std::string path = prefix_ + std::string(name);
    std::string kind;
    if (block.kinds != nullptr) {
      if (presence != kRequired && !Happens(rule_.kinds_share, rng_)) return;
      kind = OneOf(block.kinds->Names(), rng_);
      if (!kind.empty() && HasNamelessKind(*block.kinds)) return Append(name, kind);
      block.choose(kind);
    }
    Drawer inner(rule_, path + ".", rng_);
    block.declare(inner);
    std::string text = kind.empty() ? "" : "kind: " + kind;
    if (!text.empty() && !inner.text().empty()) text += ", ";
    text += inner.text();
    if (!text.empty()) Append(name, "{" + text + "}");
  }

  void OnBlocks(std::string_view name, size_t /*count*/,
                const std::function<void(size_t)>& /*resize*/,
                const std::function<Block(size_t)>& /*at*/, Presence /*presence*/,
                std::string_view /*meaning*/) override {
    TakeGiven(name);
  }

 private:
  bool Wants(Presence presence) { return presence == kRequired || Happens(rule_.share, rng_); }
  bool TakeGiven(std::string_view name) {
    const auto found = rule_.given.find(prefix_ + std::string(name));
    if (found == rule_.given.end()) return false;
    if (!found->second.empty()) Append(name, found->second);
    return true;
  }
  void Append(std::string_view name, const std::string& value) {
    text_ += fmt::format("{}{}: {}", text_.empty() ? "" : ", ", name, value);
  }

  const DrawRule& rule_;
  const std::string prefix_;
  Rng& rng_;
  std::string text_;
};

}  // namespace

std::string DrawValue(const ScalarShape& shape, const DrawRule& rule, Rng& rng) {
  using Type = ScalarShape::Type;
  if (!shape.words.empty() && (shape.type == Type::kWord || Happens(0.2, rng))) {
    return OneOf(shape.words, rng);
  }
  switch (shape.type) {
    case Type::kBoolean:
      return OneOf({"true", "false"}, rng);
    case Type::kDuration:
      return OneOf(rule.durations, rng);
    case Type::kRate:
      return OneOf({"100Mbps", "1Gbps", "5Gbps", "10Gbps", "25Gbps", "100Gbps"}, rng);
    case Type::kSize:
      return OneOf({"1B", "64B", "100B", "1500B", "3KB", "20KB", "40KB", "200KB", "1MB", "9MB"},
                   rng);
    case Type::kInteger:
      return DrawNumber({"0", "1", "2", "3", "5", "7", "16", "40", "300", "2000", "65535"}, shape,
                        rng);
    case Type::kNumber:
      return DrawNumber({"0", "0.01", "0.1", "0.25", "0.5", "0.9", "1", "1.5", "3", "100"}, shape,
                        rng);
    case Type::kPattern:
      return OneOf({"3KB", "20KB", "200KB", "8pkts", "100pkts", "1MB", "unlimited"}, rng);
    case Type::kWord:
    case Type::kText:
      break;
  }
  return "x";
}

std::string DrawFields(const std::function<void(Fields&)>& declare, const DrawRule& rule,
                       Rng& rng) {
  Drawer drawer(rule, "", rng);
  declare(drawer);
  return drawer.text();
}

}  // namespace heddle
