// SPDX-License-Identifier: Apache-2.0
// A file of experiments: a document with what the command line changes in it, and an experiment for
// each point of its sweep, made when it is asked for, as there may be very many.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "experiment/points.h"
#include "settings/diagnostics.h"
#include "settings/value.h"

namespace heddle {

class ExperimentFile {
 public:
  // Nothing if there is no telling what it says. If there are errors in `diagnostics`, its points
  // are good for nothing but to find more of them.
  static std::optional<ExperimentFile> Read(const std::string& path, const LoadOptions& options,
                                            Diagnostics& diagnostics);
  // `folder` is where relative paths start.
  static std::optional<ExperimentFile> FromText(const std::string& text, const std::string& source,
                                                const std::string& folder,
                                                const LoadOptions& options,
                                                Diagnostics& diagnostics);

  bool is_sweep() const { return document_.Find("sweep") != nullptr; }
  const std::string& name() const { return name_; }  // Empty if neither it nor a file has one.
  const std::string& source() const { return document_.place.source; }  // As the user named it.
  const Points& points() const { return points_; }
  size_t size() const { return points_.size(); }

  // The experiment of a point, which is of use only if there is no error in `diagnostics`.
  Experiment Load(size_t point, Diagnostics& diagnostics) const;

  // Looks for mistakes in all points.
  void Check(Diagnostics& diagnostics) const;

  // A document that gives the same points, wherever it lies.
  std::string Text() const;

 private:
  ExperimentFile(Value document, std::string folder, std::string name,
                 const std::set<std::string>& fixed, PluginDigests plugins,
                 Diagnostics& diagnostics);
  static ExperimentFile Make(Value document, const std::string& folder, const std::string& name,
                             const LoadOptions& options, Diagnostics& diagnostics);

  Value document_;
  std::string folder_;
  std::string name_;
  PluginDigests plugins_;
  Points points_;
};

}  // namespace heddle
