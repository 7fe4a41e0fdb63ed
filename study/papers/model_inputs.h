// SPDX-License-Identifier: Apache-2.0
// The inputs of the models in models/, in the units of users: paths, rates and sizes. `heddle
// model` and the metrics of papers fill them in. The defaults are those of the papers' own figures.

#pragma once

#include <cstdint>
#include <string>

#include "core/units.h"
#include "lb/pdlb/fct_model.h"
#include "lb/tr/fct_model.h"
#include "settings/fields.h"

namespace heddle {

struct PdlbInputs {
  int64_t packets = 10'000;
  int64_t paths = 8;
  double slow = 2;
  double ratio = 3;
  Duration delay = 100_us;
  BitRate rate = 1_Gbps;
  int64_t queue = 20;
  int64_t flows = 1;
  int64_t granularity = 1;
  PdlbForm form = PdlbForm::kCorrected;

  void Declare(Fields& fields);
  PdlbCase Case() const;
};

struct TrInputs {
  int64_t good = 5;
  int64_t bad = 5;
  int64_t buffer = 250;
  BitRate rate = 1_Gbps;
  Duration delay = 200_us;
  int64_t dupthresh = 3;
  int64_t flows = 20;
  Bytes size = 100_KB;
  double ratio = 1.5;

  void Declare(Fields& fields);
  TrCase Case() const;
};

}  // namespace heddle
