// SPDX-License-Identifier: Apache-2.0
// Flow size distributions: built-in tables, formulas, and CDF files. A workload makes one from its
// settings with ParseSizes() before the run, and samples it for each flow.

#pragma once

#include <absl/status/statusor.h>

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

namespace heddle {

class FilesRead;

class SizeDistribution {
 public:
  virtual ~SizeDistribution() = default;

  // Draws a size of at least one byte.
  virtual int64_t Sample(Rng& rng) const = 0;

  // The mean size in bytes; the load of an experiment is computed from it.
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
  // Larger samples are cut to this, and the mean takes account of the cut.
  std::optional<Bytes> largest = std::nullopt;
};

// Makes the distribution that an experiment describes: the name of a table, or one of
//   fixed:SIZE  uniform:SIZE:SIZE  pareto:MEAN:SHAPE  pareto_bounded:MIN:MAX:SHAPE
//   classes:S:M:L:XL  mix:SHARE:FIRST:SECOND  file:PATH
// The file is read through `files`. InvalidArgument if it makes no sense; the message may have a
// line for each of several mistakes.
absl::StatusOr<std::unique_ptr<SizeDistribution>> ParseSizes(std::string_view text,
                                                             const SizeOptions& options,
                                                             FilesRead& files);

// Makes the piecewise distribution through `points`, which are valid.
std::unique_ptr<SizeDistribution> MakeCdf(const CdfPoints& points, const SizeOptions& options);

// Reads a CDF: a line a point, "bytes share" or "bytes 1 share", shares up to 1 or to 100; # starts
// a comment. InvalidArgument if it is not one; the message has a line for each mistake, with its
// place.
absl::StatusOr<CdfPoints> ParseCdf(const std::string& text, const std::string& source);

struct SizeTable {
  std::string_view name;
  std::string_view source;
  CdfPoints points;
};

// The tables built in, sorted by name.
const std::vector<SizeTable>& SizeTables();

}  // namespace heddle
