// SPDX-License-Identifier: Apache-2.0
// What measure.record asks for: measurements over time, each in a file of its own. They are taken
// between windows, before every event of their instant, and written at once; what is kept is what
// the next one is compared with.

#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "experiment/experiment.h"
#include "measure/flow_recorder.h"
#include "network/network.h"

namespace heddle {

// Appends `text` to the file of that name. False: it cannot be written.
using SeriesWriter = std::function<bool(std::string_view file, std::string_view text)>;

class Series {
 public:
  // All of these must outlive it; `write` may be empty if nothing is asked for. The recorders hold
  // what is known of flows when Finish() is called.
  Series(const Experiment& experiment, Network& network,
         std::span<const std::unique_ptr<FlowRecorder>> recorders, const SeriesWriter& write);
  ~Series();
  Series(const Series&) = delete;
  Series& operator=(const Series&) = delete;

  // When the next measurement is due, kNever if none is.
  Time Next() const { return next_; }

  // Takes those that are due at `now`, which is Next().
  void Take(Time now);

  // A flow will start at spec.start. Called in the order of ids.
  void OnStart(const FlowSpec& spec);

  // The run ends at `end`: what has not been measured until then.
  void Finish(Time end);

  // False: a file could not be written.
  bool writable() const { return writable_; }

  class Recording;

 private:
  void FindNext();

  std::vector<std::unique_ptr<Recording>> recordings_;
  SeriesWriter write_;  // Notes failures.
  Time next_ = kNever;
  bool writable_ = true;
};

}  // namespace heddle
