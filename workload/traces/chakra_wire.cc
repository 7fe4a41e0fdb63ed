// SPDX-License-Identifier: Apache-2.0
// The wire format of protocol buffers, as far as Chakra's messages need it: a field is a number, a
// wire type and a value; fields that Heddle does not know are skipped by their wire type.

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <utility>

#include "workload/traces/chakra_node.h"
#include "workload/traces/goal_builder.h"

namespace heddle {
namespace {

enum WireType : uint64_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

// Takes fields from the bytes of a message until there are none, or one is broken.
class WireFields {
 public:
  explicit WireFields(std::string_view bytes) : rest_(bytes) {}

  bool Next() {
    if (rest_.empty() || !ok_) return false;
    const uint64_t key = Varint();
    number_ = key >> 3;
    type_ = key & 7;
    switch (type_) {
      case kVarint:
        value_ = Varint();
        break;
      case kFixed64:
        value_ = Fixed(8);
        break;
      case kLength:
        bytes_ = Bytes(Varint());
        break;
      case kFixed32:
        value_ = Fixed(4);
        break;
      default:
        ok_ = false;
    }
    return ok_;
  }

  // A message behind its length, as a file has them one behind the other.
  std::optional<std::string_view> NextMessage() {
    if (rest_.empty()) return std::nullopt;
    const std::string_view bytes = Bytes(Varint());
    return ok_ ? std::optional(bytes) : std::nullopt;
  }

  bool ok() const { return ok_; }
  uint64_t number() const { return number_; }
  uint64_t type() const { return type_; }
  bool is_bytes() const { return type_ == kLength; }
  uint64_t value() const { return value_; }
  std::string_view bytes() const { return bytes_; }

  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }

  bool empty() const { return rest_.empty(); }

 private:
  std::string_view Bytes(uint64_t length) {
    if (!ok_ || length > rest_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view bytes = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return bytes;
  }

  uint64_t Fixed(size_t length) {
    const std::string_view bytes = Bytes(length);
    uint64_t value = 0;
    for (size_t i = 0; i < bytes.size(); ++i) {
      value |= uint64_t{static_cast<uint8_t>(bytes[i])} << 8 * i;
    }
    return value;
  }

  std::string_view rest_;
  bool ok_ = true;
  uint64_t number_ = 0;
  uint64_t type_ = 0;
  uint64_t value_ = 0;
  std::string_view bytes_;
};

int64_t FromZigZag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

// An AttributeProto: a name and a value of one of many types.
struct ChakraAttribute {
  std::string_view name;
  int64_t number = 0;
  std::string_view text;
};

bool ReadAttribute(std::string_view bytes, ChakraAttribute& attribute) {
  WireFields fields(bytes);
  while (fields.Next()) {
    constexpr uint64_t kName = 1;
    constexpr uint64_t kInt32 = 7;
    constexpr uint64_t kSint32 = 15;
    constexpr uint64_t kSint64 = 17;
    constexpr uint64_t kSfixed32 = 23;
    constexpr uint64_t kBool = 27;
    constexpr uint64_t kString = 29;
    const uint64_t number = fields.number();
    if (number == kName && fields.is_bytes()) attribute.name = fields.bytes();
    if (number == kString && fields.is_bytes()) attribute.text = fields.bytes();
    if (fields.is_bytes() || number < kInt32 || number > kBool || number % 2 == 0) continue;
    const bool is_zigzag = number == kSint32 || number == kSint64;
    attribute.number =
        is_zigzag ? FromZigZag(fields.value()) : static_cast<int64_t>(fields.value());
    if (number == kSfixed32) attribute.number = static_cast<int32_t>(fields.value());
  }
  return fields.ok();
}

void Apply(const ChakraAttribute& attribute, ChakraNode& node, ChakraIgnored& ignored) {
  const std::pair<std::string_view, std::optional<int64_t>*> numbers[] = {
      {"comm_type", &node.comm_type},
      {"comm_size", &node.comm_size},
      {"comm_src", &node.comm_src},
      {"comm_dst", &node.comm_dst}};
  for (const auto& [name, value] : numbers) {
    if (attribute.name != name) continue;
    *value = attribute.number;
    return;
  }
  if (attribute.name == "comm_tag") {
    node.comm_tag = attribute.number;
  } else if (attribute.name == "is_cpu_op") {
    node.is_cpu_op = attribute.number != 0;
  } else if (attribute.name == "pg_name") {
    node.pg_name = attribute.text;
  } else {
    ignored.NoteAttribute(attribute.name);
  }
}

// An IOInfo: values, shapes and types of tensors, each as one text.
bool ReadTensors(std::string_view bytes, std::string& values, ChakraIgnored& ignored) {
  WireFields fields(bytes);
  while (fields.Next()) {
    constexpr uint64_t kValues = 1;
    constexpr uint64_t kShapes = 2;
    if (!fields.is_bytes()) continue;
    if (fields.number() == kValues) values = fields.bytes();
    if (fields.number() == kShapes && !fields.bytes().empty()) ignored.NoteField("shapes");
  }
  return fields.ok();
}

// A repeated number, one field each or all in one.
bool ReadNumbers(const WireFields& field, std::vector<uint64_t>& numbers) {
  if (!field.is_bytes()) {
    numbers.push_back(field.value());
    return true;
  }
  WireFields packed(field.bytes());
  while (packed.ok() && !packed.empty()) numbers.push_back(packed.Varint());
  return packed.ok();
}

Duration FromMicroseconds(uint64_t us) {
  const uint64_t most = static_cast<uint64_t>(kLongestCalc.ps) / 1'000'000 + 1;
  return Duration{static_cast<int64_t>((us < most ? us : most) * 1'000'000)};
}

bool ReadNode(std::string_view bytes, ChakraNode& node, ChakraIgnored& ignored) {
  WireFields fields(bytes);
  bool ok = true;
  std::string outputs;
  while (ok && fields.Next()) {
    switch (fields.number()) {
      case 1:
        node.id = fields.value();
        break;
      case 2:
        node.name = fields.bytes();
        break;
      case 3:
        node.type = static_cast<int64_t>(fields.value());
        break;
      case 4:
        ok = ReadNumbers(fields, node.ctrl_deps);
        break;
      case 5:
        ok = ReadNumbers(fields, node.data_deps);
        break;
      case 6:
        ignored.NoteField("start_time_micros");
        break;
      case 7:
        node.duration = FromMicroseconds(fields.value());
        break;
      case 8:
        ok = fields.is_bytes() && ReadTensors(fields.bytes(), node.input_values, ignored);
        break;
      case 9:
        ok = fields.is_bytes() && ReadTensors(fields.bytes(), outputs, ignored);
        break;
      case 10: {
        ChakraAttribute attribute;
        ok = fields.is_bytes() && ReadAttribute(fields.bytes(), attribute);
        if (ok) Apply(attribute, node, ignored);
        break;
      }
      default:
        break;
    }
  }
  // Values of other nodes are those of tensors.
  constexpr int64_t kMetadata = 1;
  if (node.type != kMetadata) node.input_values.clear();
  return ok && fields.ok();
}

}  // namespace

std::vector<ChakraNode> ReadChakraWire(std::string_view bytes, ChakraIgnored& ignored,
                                       FileErrors& errors) {
  std::vector<ChakraNode> nodes;
  WireFields file(bytes);
  if (!file.NextMessage()) errors.Add(0, "does not begin with Chakra's GlobalMetadata");
  while (!errors.any() && !file.empty()) {
    const auto message = file.NextMessage();
    ChakraNode node;
    if (!message || !ReadNode(*message, node, ignored)) {
      errors.Add(0, fmt::format("message {} is no node, or cut off", nodes.size() + 1));
      break;
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace heddle
