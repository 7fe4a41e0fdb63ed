// SPDX-License-Identifier: Apache-2.0
// Writes binary GOAL byte by byte, as the format's description has it.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::goal_file {

inline void Put(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> 8 * i & 0xff));
}

struct Op {
  uint8_t type;  // 1 send, 2 recv, 3 calc.
  uint32_t peer;
  uint64_t size;
  uint32_t tag;
  std::vector<uint32_t> after;             // Operations that require it,
  std::vector<uint32_t> after_start = {};  // and that irequire it.
  uint32_t befores = 0;
  uint8_t nic = 0;
  uint8_t cpu = 0;
};

inline std::string ScheduleOf(const std::vector<Op>& ops) {
  std::string out;
  std::vector<uint32_t> roots;
  for (uint32_t i = 0; i < ops.size(); ++i) {
    if (ops[i].befores == 0) roots.push_back(i);
  }
  Put(out, ops.size(), 4);
  Put(out, roots.size(), 4);
  for (const uint32_t root : roots) Put(out, root, 4);
  std::vector<uint32_t> numbers;
  for (const Op& op : ops) {
    Put(out, op.befores, 4);
    Put(out, op.type, 1);
    Put(out, op.peer, 4);
    Put(out, op.size, 8);
    Put(out, op.tag, 4);
    Put(out, op.cpu, 1);
    Put(out, op.nic, 1);
    for (const std::vector<uint32_t>* list : {&op.after, &op.after_start}) {
      Put(out, list->size(), 4);
      Put(out, numbers.size(), 4);
      numbers.insert(numbers.end(), list->begin(), list->end());
    }
  }
  for (const uint32_t number : numbers) Put(out, number, 4);
  return out;
}

inline std::string FileOf(const std::vector<std::string>& schedules, uint64_t magic = 4223) {
  std::string out;
  Put(out, magic, 8);
  Put(out, schedules.size(), 4);
  Put(out, 0, 2);
  uint64_t at = 4 + 2 + 16 * schedules.size();  // From byte 8 on.
  for (const std::string& schedule : schedules) {
    Put(out, at, 8);
    Put(out, at += schedule.size(), 8);
  }
  for (const std::string& schedule : schedules) out += schedule;
  return out;
}

}  // namespace heddle::goal_file
