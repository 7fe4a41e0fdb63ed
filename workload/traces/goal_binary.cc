// SPDX-License-Identifier: Apache-2.0

#include "workload/traces/goal_binary.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace heddle {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are read as they lie there");

constexpr uint64_t kGoalMagic = 4223;
constexpr uint64_t kGoalUsedUp = 2342;  // LogGOPSim has overwritten the file.
constexpr size_t kGoalOrigin = 8;       // Offsets of schedules count from here.
constexpr uint32_t kGoalAny = std::numeric_limits<uint32_t>::max();
constexpr uint32_t kMostBinaryRanks = 1 << 20;

// Takes little-endian numbers from bytes. Behind the end, it returns zeros and is not `ok`.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  T Take() {
    T value{};
    if (rest_.size() < sizeof(T)) {
      ok_ = false;
      rest_ = {};
      return value;
    }
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_.remove_prefix(sizeof(T));
    return value;
  }

  bool Skip(size_t bytes) {
    ok_ = ok_ && bytes <= rest_.size();
    rest_.remove_prefix(std::min(bytes, rest_.size()));
    return ok_;
  }

  bool ok() const { return ok_; }
  size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

class GoalBinaryReader {
 public:
  GoalBinaryReader(std::string_view bytes, const GoalSettings& settings, FileErrors& errors)
      : bytes_(bytes), settings_(settings), errors_(errors) {}

  std::optional<OperationGraph> Read() {
    ByteReader header(bytes_);
    const uint64_t magic = header.Take<uint64_t>();
    if (magic == kGoalUsedUp) return Fail("is a schedule that LogGOPSim has used up; make it anew");
    if (magic != kGoalMagic) return Fail("does not begin as a binary GOAL schedule does");
    ranks_ = header.Take<uint32_t>();
    header.Skip(2);  // The largest cpu and nic.
    if (!header.ok()) return Fail("ends within its header");
    if (ranks_ < 1 || ranks_ > kMostBinaryRanks || ranks_ > header.left() / 16) {
      return Fail(
          fmt::format("has {} ranks, for which it is too short, or they are too many", ranks_));
    }
    builder_.emplace(settings_, ranks_);
    for (uint32_t rank = 0; rank < ranks_ && !errors_.full(); ++rank) {
      const uint64_t begin = header.Take<uint64_t>();
      const uint64_t end = header.Take<uint64_t>();
      ReadRank(rank, begin, end);
    }
    if (errors_.any()) return std::nullopt;
    return builder_->Take();
  }

 private:
  // The operations that wait for one to finish, or to start: `count` of the numbers behind all
  // operations, from `first` on.
  struct Range {
    uint32_t count;
    uint32_t first;
  };
  struct Dependencies {
    uint32_t befores;  // How many operations it waits for.
    Range at_finish;
    Range at_start;
  };

  std::nullopt_t Fail(std::string_view message) {
    errors_.Add(0, message);
    return std::nullopt;
  }
  void FailRank(uint32_t rank, std::string_view message) {
    errors_.Add(0, fmt::format("rank {}: {}", rank, message));
  }

  void ReadRank(uint32_t rank, uint64_t begin, uint64_t end) {
    const uint64_t size = bytes_.size() - kGoalOrigin;
    if (begin > end || end > size) return FailRank(rank, "its schedule lies beyond the file");
    ByteReader reader(bytes_.substr(kGoalOrigin + begin, end - begin));
    const uint32_t ops = reader.Take<uint32_t>();
    const uint32_t roots = reader.Take<uint32_t>();
    constexpr size_t kOperationBytes = 39;
    reader.Skip(size_t{4} * roots);
    if (!reader.ok() || ops > reader.left() / kOperationBytes) {
      return FailRank(rank, fmt::format("its schedule ends before its {} operations", ops));
    }
    std::vector<Dependencies> dependencies;
    for (uint32_t op = 0; op < ops && !errors_.full(); ++op) {
      dependencies.push_back(ReadOperation(rank, op, reader));
    }
    if (errors_.any()) return;
    std::vector<uint32_t> numbers(reader.left() / sizeof(uint32_t));
    for (uint32_t& number : numbers) number = reader.Take<uint32_t>();
    Connect(rank, dependencies, numbers);
  }

  Dependencies ReadOperation(uint32_t rank, uint32_t op, ByteReader& reader) {
    Dependencies dependencies{.befores = reader.Take<uint32_t>(), .at_finish = {}, .at_start = {}};
    const uint8_t type = reader.Take<uint8_t>();
    const uint32_t peer = reader.Take<uint32_t>();
    const uint64_t size = reader.Take<uint64_t>();
    const uint32_t tag = reader.Take<uint32_t>();
    const uint8_t cpu = reader.Take<uint8_t>();
    const uint8_t nic = reader.Take<uint8_t>();
    for (Range* range : {&dependencies.at_finish, &dependencies.at_start}) {
      range->count = reader.Take<uint32_t>();
      range->first = reader.Take<uint32_t>();
    }
    AddStatement(rank, op, type, peer, size, tag, cpu, nic);
    return dependencies;
  }

  void AddStatement(uint32_t rank, uint32_t op, uint8_t type, uint32_t peer, uint64_t size,
                    uint32_t tag, uint8_t cpu, uint8_t nic) {
    const auto fail = [&](std::string_view message) {
      FailRank(rank, fmt::format("operation {} {}", op, message));
    };
    constexpr uint64_t kMostBytes = std::numeric_limits<int64_t>::max();
    if (size > kMostBytes) return fail(fmt::format("has a size of {}, which is too large", size));
    GoalBuilder::Statement statement{.amount = static_cast<int64_t>(size),
                                     .tag = tag,
                                     .cpu = cpu,
                                     .nic = nic,
                                     .line = 0,
                                     .label = {}};
    constexpr uint8_t kSend = 1;
    constexpr uint8_t kReceive = 2;
    constexpr uint8_t kCalc = 3;
    if (type < kSend || type > kCalc) return fail(fmt::format("is of unknown type {}", type));
    if (type != kCalc) {
      const bool is_any = type == kReceive && peer == kGoalAny;
      if (peer >= ranks_ && !is_any) {
        return fail(fmt::format("has peer {}; there are {} ranks", peer, ranks_));
      }
      statement.kind = type == kSend ? Operation::Kind::kSend : Operation::Kind::kReceive;
      statement.peer = is_any ? kAnyRank : peer;
      if (type == kReceive && tag == kGoalAny) statement.tag = kAnyTag;
    }
    if (!builder_->Add(rank, statement)) fail("takes longer than 1000 s");
  }

  void Connect(uint32_t rank, const std::vector<Dependencies>& dependencies,
               const std::vector<uint32_t>& numbers) {
    std::vector<uint32_t> befores(dependencies.size(), 0);
    for (uint32_t op = 0; op < dependencies.size() && !errors_.full(); ++op) {
      for (const bool at_start : {false, true}) {
        const Range range = at_start ? dependencies[op].at_start : dependencies[op].at_finish;
        if (uint64_t{range.first} + range.count > numbers.size()) {
          FailRank(rank, fmt::format("operation {} names others beyond the schedule", op));
          continue;
        }
        for (uint32_t i = range.first; i < range.first + range.count; ++i) {
          ConnectTo(rank, op, numbers[i], at_start, befores);
        }
      }
    }
    for (uint32_t op = 0; op < befores.size() && !errors_.full(); ++op) {
      if (befores[op] == dependencies[op].befores) continue;
      FailRank(rank, fmt::format("operation {} waits for {} others, but {} name it", op,
                                 dependencies[op].befores, befores[op]));
    }
  }

  void ConnectTo(uint32_t rank, uint32_t op, uint32_t after, bool at_start,
                 std::vector<uint32_t>& befores) {
    if (after >= befores.size()) {
      return FailRank(rank, fmt::format("there is no operation {}, which waits for {}", after, op));
    }
    ++befores[after];
    if (at_start) {
      builder_->RequireStart(rank, after, op);
    } else {
      builder_->Require(rank, after, op);
    }
  }

  const std::string_view bytes_;
  const GoalSettings& settings_;
  FileErrors& errors_;
  uint32_t ranks_ = 0;
  std::optional<GoalBuilder> builder_;
};

}  // namespace

std::optional<OperationGraph> ReadGoalBinary(std::string_view bytes, const GoalSettings& settings,
                                             FileErrors& errors) {
  return GoalBinaryReader(bytes, settings, errors).Read();
}

}  // namespace heddle
