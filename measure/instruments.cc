// SPDX-License-Identifier: Apache-2.0

#include "measure/instruments.h"

#include <algorithm>
#include <tuple>

namespace heddle {
namespace {

class NoSettings final : public InstrumentSettings {
 public:
  explicit NoSettings(InstrumentMaker make) : make_(std::move(make)) {}
  std::unique_ptr<Instrument> Make(const RunPlan& plan) const override { return make_(plan); }

 private:
  const InstrumentMaker make_;
};

}  // namespace

bool InstrumentKinds::Add(InstrumentInfo info, SettingsMaker make) {
  const auto key = [](const Entry& entry) { return std::tuple(entry.info.order, entry.info.name); };
  const bool is_new = std::ranges::none_of(entries_, [&](const Entry& entry) {
    return entry.info.place == info.place && entry.info.name == info.name;
  });
  if (!is_new) {
    duplicates_.push_back(info.name);
    return false;
  }
  Entry added{std::move(info), std::move(make)};
  const auto at = std::ranges::upper_bound(entries_, key(added), {}, key);
  entries_.insert(at, std::move(added));
  return true;
}

std::vector<InstrumentInfo> InstrumentKinds::infos() const {
  std::vector<InstrumentInfo> infos;
  for (const Entry& entry : entries_) infos.push_back(entry.info);
  return infos;
}

std::vector<std::unique_ptr<InstrumentSettings>> InstrumentKinds::MakeSettings(
    InstrumentPlace place) const {
  std::vector<std::unique_ptr<InstrumentSettings>> settings;
  for (const Entry& entry : entries_) {
    if (entry.info.place == place) settings.push_back(entry.make());
  }
  return settings;
}

// The registry is made on first use, since the files that register run their initialisers in no
// particular order.
InstrumentKinds& Instruments() {
  static InstrumentKinds kinds;
  return kinds;
}

InstrumentSet::InstrumentSet(InstrumentPlace place)
    : settings_(Instruments().MakeSettings(place)) {}

void InstrumentSet::Declare(Fields& fields) {
  for (const auto& settings : settings_) settings->Declare(fields);
}

void InstrumentSet::Make(const RunPlan& plan,
                         std::vector<std::unique_ptr<Instrument>>& instruments) const {
  for (const auto& settings : settings_) {
    if (auto instrument = settings->Make(plan)) instruments.push_back(std::move(instrument));
  }
}

bool RegisterForRuns(std::string name, InstrumentMaker make) {
  return Instruments().Add({.name = std::move(name), .place = InstrumentPlace::kMeasure},
                           [make = std::move(make)] { return std::make_unique<NoSettings>(make); });
}

}  // namespace heddle
