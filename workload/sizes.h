// SPDX-License-Identifier: Apache-2.0
// How large flows are.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/random.h"
#include "core/units.h"
#include "settings/files_read.h"

namespace heddle {

class SizeDistribution {
 public:
  virtual ~SizeDistribution() = default;

  // At least one byte.
  virtual int64_t Sample(Rng& rng) const = 0;

  // Of the distribution in bytes, as the load of an experiment is computed from.
  virtual double mean() const = 0;

  // The share of flows larger than `bytes`.
  virtual double ShareAbove(double bytes) const = 0;

  virtual int64_t max() const = 0;

  // The mean number of packets of at most `mss` bytes.
  double MeanPackets(int64_t mss) const;

  // The size that one flow in a hundred exceeds.
  int64_t LargeFlow() const;
};

// Points (bytes, share of flows not larger), both ascending, the last share 1. Two points at one
// size make a jump.
using CdfPoints = std::vector<std::pair<double, double>>;

enum class Interpolation {
  kLinear,  // Sizes lie on the line between two points.
  kStep,    // A size is that of the upper point.
};

struct SizeOptions {
  Interpolation interpolation = Interpolation::kLinear;
  // Larger samples are cut to this, and the mean is that of what is left.
  std::optional<Bytes> largest = std::nullopt;
};

// Reads what an experiment says of sizes: the name of a table, or one of
//   fixed:SIZE  uniform:SIZE:SIZE  pareto:MEAN:SHAPE  pareto_bounded:MIN:MAX:SHAPE
//   classes:S:M:L:XL  mix:SHARE:FIRST:SECOND  file:PATH
// The file is read through `files`. Null, and what is wrong in `error`, if it makes no sense.
std::unique_ptr<SizeDistribution> ParseSizes(std::string_view text, const SizeOptions& options,
                                             FilesRead& files, std::string& error);

// The piecewise distribution through `points`, which are valid.
std::unique_ptr<SizeDistribution> MakeCdf(const CdfPoints& points, const SizeOptions& options);

// Reads a CDF: a line a point, "bytes share" or "bytes 1 share", shares up to 1 or to 100; # starts
// a comment. Empty, and what is wrong in `error` with its line, if it is not one.
CdfPoints ParseCdf(const std::string& text, const std::string& source, std::string& error);

struct SizeTable {
  std::string_view name;
  std::string_view source;
  CdfPoints points;
};

// The tables built in, sorted by name.
const std::vector<SizeTable>& SizeTables();

}  // namespace heddle
