// SPDX-License-Identifier: Apache-2.0
// A measurement that is repeated at the multiples of an interval: of these instants, or of the time
// between them. Rows are written at once, so memory holds only what the next one is compared with.

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/units.h"
#include "measure/instrument.h"
#include "measure/table.h"

namespace heddle {

// A file that grows while the run goes on.
class GrowingFile {
 public:
  // Hands what has been added to the run.
  void Flush(MeasuredRun& run) {
    if (!text_.empty()) run.Write(name_, text_);
    text_.clear();
  }

 protected:
  GrowingFile(std::string_view name, std::string header) : name_(name), text_(std::move(header)) {}

  std::string& text() { return text_; }

 private:
  const std::string name_;
  std::string text_;  // Not handed over yet.
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
  // Attached to the run, whose network may be looked at now.
  virtual void Prepare() {}

  // The interval [from, now) and the instant at its end.
  virtual void Record(Time from, Time now) = 0;

  // The end of the run has cut the last interval short; instants have no part in it.
  virtual void RecordRest(Time /*from*/, Time /*end*/) {}

  // Before Begin() returns: `file` is there from the start of the run, and written after each
  // measurement. It must stay where it is.
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
