// SPDX-License-Identifier: Apache-2.0
// How receiving hosts put packets in order before their transport sees them, if they do.

#pragma once

#include <memory>

#include "settings/fields.h"
#include "settings/kinds.h"
#include "transport/resequencer.h"

namespace heddle {

class ResequencingModel {
 public:
  virtual ~ResequencingModel() = default;
  virtual void Declare(Fields& fields) = 0;

  // For one host. Null: packets go up as they arrive.
  virtual std::unique_ptr<Resequencer> MakeFor(Resequencer::Sink& sink) const = 0;
};

// juggler, off, presto_gro, timeout.
const Kinds<ResequencingModel>& Resequencings();

}  // namespace heddle
