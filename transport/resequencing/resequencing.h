// SPDX-License-Identifier: Apache-2.0
// ResequencingModel is a kind of resequencing with its settings: how receiving hosts put packets in
// order before their transport sees them, if they do. An experiment chooses one, and Endpoints lets
// it make the resequencer of each host.

#pragma once

#include <memory>

#include "settings/fields.h"
#include "settings/kinds.h"
#include "transport/resequencing/resequencer.h"

namespace heddle {

class ResequencingModel {
 public:
  virtual ~ResequencingModel() = default;
  virtual void Declare(Fields& fields) = 0;

  // Makes the resequencer of one host. Null: packets go up as they arrive.
  virtual std::unique_ptr<Resequencer> MakeFor(Resequencer::Sink& sink) const = 0;
};

// juggler, off, presto_gro, timeout.
const Kinds<ResequencingModel>& Resequencings();

}  // namespace heddle
