// SPDX-License-Identifier: Apache-2.0

#include "settings/writer.h"

#include <fmt/format.h>

#include <iterator>

#include "settings/nameless_kind.h"
#include "settings/yaml.h"

namespace heddle {
namespace {

class Writer final : public Fields {
 public:
  Writer(std::string& out, size_t indent) : out_(out), indent_(indent) {}

  void Write(const Block& block) {
    if (block.kinds != nullptr && !block.kind().empty()) Line("kind", QuoteYaml(block.kind()));
    block.declare(*this);
  }

 protected:
  void OnScalar(std::string_view name, const Scalar& scalar, Presence /*presence*/,
                std::string_view /*meaning*/) override {
    Line(name, TextOf(scalar));
  }

  void OnScalars(std::string_view name, size_t count, const std::function<void(size_t)>& /*resize*/,
                 const std::function<Scalar(size_t)>& at, Presence /*presence*/,
                 std::string_view /*meaning*/, const std::string& /*type*/) override {
    std::string items;
    for (size_t i = 0; i < count; ++i) {
      items += (i == 0 ? "" : ", ") + TextOf(at(i));
    }
    Line(name, "[" + items + "]");
  }

  void OnBlock(std::string_view name, const Block& block, Presence /*presence*/,
               std::string_view /*meaning*/) override {
    if (block.kinds != nullptr) {
      const bool has_nameless = HasNamelessKind(*block.kinds);
      if (block.kind().empty() && !has_nameless) return;  // No kind is chosen.
      if (!block.kind().empty() && has_nameless) return Line(name, QuoteYaml(block.kind()));
    }
    Line(name, "");
    Writer(out_, indent_ + 2).Write(block);
  }

  void OnBlocks(std::string_view name, size_t count, const std::function<void(size_t)>& /*resize*/,
                const std::function<Block(size_t)>& at, Presence /*presence*/,
                std::string_view /*meaning*/) override {
    if (count == 0) return Line(name, "[]");
    Line(name, "");
    for (size_t i = 0; i < count; ++i) {
      const size_t start = out_.size();
      Writer(out_, indent_ + 4).Write(at(i));
      out_[start + indent_ + 2] = '-';
    }
  }

 private:
  static std::string TextOf(const Scalar& scalar) {
    return scalar.is_text ? QuoteYaml(scalar.text()) : scalar.text();
  }

  void Line(std::string_view name, std::string_view value) {
    fmt::format_to(std::back_inserter(out_), "{:{}}{}:{}{}\n", "", indent_, name,
                   value.empty() ? "" : " ", value);
  }

  std::string& out_;
  size_t indent_;
};

class Describer final : public Fields {
 public:
  Describer(std::vector<FieldInfo>& rows, std::string prefix)
      : rows_(rows), prefix_(std::move(prefix)) {}

 protected:
  void OnScalar(std::string_view name, const Scalar& scalar, Presence presence,
                std::string_view meaning) override {
    std::string preset = presence == Presence::kRequired ? "(required)" : scalar.text();
    if (preset.empty()) preset = "(none)";
    rows_.push_back({prefix_ + std::string(name), scalar.type, preset, std::string(meaning)});
  }

  void OnScalars(std::string_view name, size_t count, const std::function<void(size_t)>& /*resize*/,
                 const std::function<Scalar(size_t)>& at, Presence presence,
                 std::string_view meaning, const std::string& type) override {
    std::string items;
    for (size_t i = 0; i < count; ++i) items += (i == 0 ? "" : ", ") + at(i).text();
    rows_.push_back({prefix_ + std::string(name), type,
                     presence == Presence::kRequired ? "(required)" : "[" + items + "]",
                     std::string(meaning)});
  }

  void OnBlock(std::string_view name, const Block& block, Presence presence,
               std::string_view meaning) override {
    const std::string preset = presence == Presence::kRequired ? "(required)"
                               : block.kinds != nullptr        ? block.kind()
                                                               : "";
    Row(name, block, preset, "map", meaning);
    const bool has_nameless = block.kinds != nullptr && HasNamelessKind(*block.kinds);
    if (has_nameless) block.choose("");  // These settings are only described, not used.
    if (block.kinds == nullptr || has_nameless) {
      Describer inner(rows_, prefix_ + std::string(name) + ".");
      block.declare(inner);
    }
  }

  void OnBlocks(std::string_view name, size_t /*count*/, const std::function<void(size_t)>& resize,
                const std::function<Block(size_t)>& at, Presence presence,
                std::string_view meaning) override {
    resize(1);  // Makes an element to describe; it is not used.
    const Block block = at(0);
    Row(name, block, presence == Presence::kRequired ? "(required)" : "[]", "list of maps",
        meaning);
    if (block.kinds == nullptr) {
      Describer inner(rows_, prefix_ + std::string(name) + "[].");
      block.declare(inner);
    }
  }

 private:
  void Row(std::string_view name, const Block& block, std::string_view preset,
           std::string_view type, std::string_view meaning) {
    std::string text(type);
    if (block.kinds != nullptr) {
      const std::string names = fmt::format("{}", fmt::join(NamesToWrite(*block.kinds), " | "));
      text = HasNamelessKind(*block.kinds) ? fmt::format("{}, or a {}", names, type)
                                           : fmt::format("{} of kind {}", type, names);
    }
    rows_.push_back({prefix_ + std::string(name), text, std::string(preset), std::string(meaning)});
  }

  std::vector<FieldInfo>& rows_;
  const std::string prefix_;
};

}  // namespace

std::string WriteYaml(const std::function<void(Fields&)>& declare) {
  std::string out;
  Writer(out, 0).Write({declare, nullptr, nullptr, nullptr});
  return out;
}

namespace {

constexpr size_t kWidth = 100;

// Writes a value in one line, where brackets would end a plain word.
std::string FlowText(const Value& value) {
  std::string text;
  switch (value.kind) {
    case Value::Kind::kNull:
      return "null";
    case Value::Kind::kScalar:
      return QuoteYaml(value.text);
    case Value::Kind::kList:
      for (const Value& item : value.items) text += (text.empty() ? "" : ", ") + FlowText(item);
      return "[" + text + "]";
    case Value::Kind::kMap:
      for (const Value::Entry& entry : value.entries) {
        text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", QuoteYaml(entry.key),
                            FlowText(entry.value));
      }
      return "{" + text + "}";
  }
  return text;
}

// Writes a value over several lines if one line would be too long.
void AppendYaml(const Value& value, size_t indent, std::string& out) {
  const std::string flow = FlowText(value);
  if (flow.size() + indent <= kWidth || (value.items.empty() && value.entries.empty())) {
    out += " " + flow + "\n";
    return;
  }
  out += "\n";
  for (const Value& item : value.items) {
    fmt::format_to(std::back_inserter(out), "{:{}}-", "", indent + 2);
    AppendYaml(item, indent + 2, out);
  }
  for (const Value::Entry& entry : value.entries) {
    fmt::format_to(std::back_inserter(out), "{:{}}{}:", "", indent + 2, QuoteYaml(entry.key));
    AppendYaml(entry.value, indent + 2, out);
  }
}

}  // namespace

std::string WriteYaml(const Value& document) {
  std::string out;
  for (const Value::Entry& entry : document.entries) {
    out += QuoteYaml(entry.key) + ":";
    AppendYaml(entry.value, 0, out);
  }
  return out;
}

std::vector<FieldInfo> DescribeFields(const std::function<void(Fields&)>& declare) {
  std::vector<FieldInfo> rows;
  Describer describer(rows, "");
  declare(describer);
  return rows;
}

}  // namespace heddle
