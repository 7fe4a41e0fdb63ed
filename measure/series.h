// SPDX-License-Identifier: Apache-2.0
// The base class of instruments that measure at every multiple of an interval: either the state at
// that instant, or what happened since the last one. The run calls it between windows. Rows are
// written at once, so memory holds only the values that the next row is compared with.

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/units.h"
#include "measure/instrument.h"
#include "measure/table.h"

namespace heddle {

// A file that the instrument appends to while the run goes on.
class GrowingFile {
 public:
  // Passes the added text to the run, which writes it.
  void Flush(MeasuredRun& run) {
    if (!text_.empty()) run.Write(name_, text_);
    text_.clear();
  }

 protected:
  GrowingFile(std::string_view name, std::string header) : name_(name), text_(std::move(header)) {}

  std::string& text() { return text_; }

 private:
  const std::string name_;
  std::string text_;  // Text that the run has not been given yet.
};

template <class Row>
class TableFile final : public GrowingFile {
 public:
  TableFile(std::string_view name, const Table<Row>& table)
      : GrowingFile(name, table.Header()), table_(table) {}

  void Add(const Row& row) { table_.Append(text(), row); }

 private:
  const Table<Row> table_;
};

class Series : public Instrument {
 public:
  explicit Series(Duration every) : every_(every) {}

  Time Next() const final { return from_ + every_; }
  void Act(Time now) final {
    Record(from_, now);
    from_ = now;
    Flush();
  }
  void Finish(Time end, RunNotes& /*notes*/) final {
    RecordRest(from_, end);
    Flush();
  }

 protected:
  // Called once before the run, when run() and network() can be used.
  virtual void Prepare() {}

  // Measures the interval [from, now), or the instant at its end.
  virtual void Record(Time from, Time now) = 0;

  // Measures the last interval, which the end of the run has cut short. A series of instants does
  // nothing here.
  virtual void RecordRest(Time /*from*/, Time /*end*/) {}

  // Call it from the constructor or Prepare(). `file` then exists from the start of the run and is
  // written after each measurement. Its address must not change.
  void Keep(GrowingFile& file) { files_.push_back(&file); }

  Duration every() const { return every_; }

 private:
  void Begin() final {
    Prepare();
    Flush();
  }
  void Flush() {
    for (GrowingFile* file : files_) file->Flush(run());
  }

  const Duration every_;
  Time from_;
  std::vector<GrowingFile*> files_;
};

}  // namespace heddle
