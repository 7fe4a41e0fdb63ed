// SPDX-License-Identifier: Apache-2.0
// An exception on any thread, out of memory for one, must neither hang the others nor be lost.

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "core/engine.h"

namespace heddle::engine_failure_test {

// Works every microsecond, and fails when told to.
class Worker final : public Node {
 public:
  explicit Worker(Time fails_at) : fails_at_(fails_at) {}
  Time Due() const override { return next_; }
  void Run(const Window& window) override {
    for (; next_ < window.end; next_ += 1_us) {
      if (next_ >= fails_at_) throw std::runtime_error("no more");
    }
  }

 private:
  const Time fails_at_;
  Time next_;
};

class ForAMillisecond final : public Conductor {
 public:
  explicit ForAMillisecond(bool fails) : fails_(fails) {}
  Time Next() override { return kNever; }
  Time Open(Time /*start*/, Time latest) override { return latest; }
  void Close(Time end) override {
    if (fails_ && end > Time{} + 500_us) throw std::runtime_error("no more");
  }
  Time End() const override { return Time{} + 1_ms; }

 private:
  const bool fails_;
};

// 40 nodes, more than run alone; the one at `failing` throws halfway, -1: none.
void RunWorkers(int threads, int failing, bool conductor_fails) {
  Engine engine;
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < 40; ++i) {
    const Time fails_at = i == failing ? Time{} + 500_us : kNever;
    workers.push_back(std::make_unique<Worker>(fails_at));
    engine.Add(*workers.back(), engine.AddGroup());
  }
  engine.LimitWindow(1_us);
  engine.Place(threads);
  for (const auto& worker : workers) worker->Wake(Time{});
  ForAMillisecond conductor(conductor_fails);
  engine.Run(conductor);
}

TEST(EngineFailureTest, AnExceptionOfAnyNodeEndsTheRunAndIsThrown) {
  for (const int threads : {1, 2, 3, 8}) {
    EXPECT_NO_THROW(RunWorkers(threads, -1, false));
    for (const int failing : {0, 1, 2, 39}) {
      EXPECT_THROW(RunWorkers(threads, failing, false), std::runtime_error) << threads;
    }
  }
}

TEST(EngineFailureTest, SoDoesAnExceptionOfTheConductor) {
  for (const int threads : {1, 2, 3, 8}) {
    EXPECT_THROW(RunWorkers(threads, -1, true), std::runtime_error);
  }
}

}  // namespace heddle::engine_failure_test
