// SPDX-License-Identifier: Apache-2.0
// A file of experiments: a document, with the changes that the command line makes. It makes the
// experiment of a point of its sweep when asked, since there may be very many points.

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
  // Returns nothing if the file cannot be understood. If there are errors in `diagnostics`, the
  // points serve only to find more errors.
  static std::optional<ExperimentFile> Read(const std::string& path, const LoadOptions& options,
                                            Diagnostics& diagnostics);
  // Does the same with `text`. Relative paths start at `folder`.
  static std::optional<ExperimentFile> FromText(const std::string& text, const std::string& source,
                                                const std::string& folder,
                                                const LoadOptions& options,
                                                Diagnostics& diagnostics);

  bool is_sweep() const { return document_.Find("sweep") != nullptr; }
  const std::string& name() const {
    return name_;
  }  // Empty if neither the document nor a file gives a name.
  const std::string& source() const {
    return document_.place.source;
  }  // The file as the user named it.
  const Points& points() const { return points_; }
  size_t size() const { return points_.size(); }

  // Returns the experiment of a point. Use it only if there is no error in `diagnostics`.
  Experiment Load(size_t point, Diagnostics& diagnostics) const;

  // Returns a point's choices as people read them, with the labels of the sweep: "lb=LetFlow".
  // Empty without a sweep.
  std::string LabelOf(size_t point) const;

  // Looks for mistakes in all points.
  void Check(Diagnostics& diagnostics) const;

  // Returns a document that gives the same points from any folder.
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
