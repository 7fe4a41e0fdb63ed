// SPDX-License-Identifier: Apache-2.0
// The parts that several transport models share. A model is a file that ends in _model.cc: it has
// the settings that an experiment writes, and says what the transport needs.

#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "fabric/host.h"
#include "settings/fields.h"
#include "settings/kinds.h"
#include "transport/packet_sizes.h"
#include "transport/resequencing/resequencing.h"
#include "transport/transports.h"

namespace heddle {

// `Flows` holds the flows of one host, `Shared` the values that all hosts share.
template <class Flows, class Shared>
class Maker final : public TransportMaker {
 public:
  Maker(Shared shared, const ResequencingModel& resequencing)
      : shared_(std::move(shared)), resequencing_(resequencing) {}

  std::unique_ptr<Transport> MakeFor(Host& host) const override {
    return std::make_unique<Flows>(host, shared_, resequencing_);
  }

 private:
  Shared shared_;
  const ResequencingModel& resequencing_;
};

inline void DeclareNoCredit(Fields& fields) {
  fields.Absent("receiver", "kind: uet alone has credit from receivers; use that, or leave it out");
}

// The choice of resequencing, for the transports whose receivers want packets in order.
class WithResequencing : public TransportModel {
 public:
  void Declare(Fields& fields) override {
    fields.Kind("resequencing", chosen_, Resequencings(),
                "How a receiving host puts packets in order before the transport sees them.");
    DeclareNoCredit(fields);
  }
  const std::string& resequencing() const override { return chosen_.kind; }
  std::string RemedyForReordering() const override {
    if (resequencing() != "off") return "raise the timeouts of transport.resequencing";
    const std::string own = OwnRemedyForReordering();
    return "set transport.resequencing" + (own.empty() ? "" : ", or " + own);
  }

 protected:
  const ResequencingModel& model() const { return *chosen_.settings; }

  // Names the settings other than resequencing that help against reordering; empty if none does.
  virtual std::string OwnRemedyForReordering() const = 0;

 private:
  Chosen<ResequencingModel> chosen_ = Resequencings().Make("off");
};

// No choice of resequencing, for the transports that put packets in order themselves, or need not.
class WithoutResequencing : public TransportModel {
 public:
  const std::string& resequencing() const override { return off_.kind; }

 protected:
  const ResequencingModel& model() const { return *off_.settings; }

 private:
  const Chosen<ResequencingModel> off_ = Resequencings().Make("off");
};

// The classes of a transport that always names both.
template <class Settings>
TransportModel::Classes ClassesOf(const Settings& settings) {
  return {static_cast<uint8_t>(settings.priority), static_cast<uint8_t>(settings.control_priority)};
}

// Packets are numbered in 32 bits.
inline int64_t LargestFlow(const PacketSizes& sizes) {
  return sizes.mss * (std::numeric_limits<uint32_t>::max() - 1);
}

}  // namespace heddle
