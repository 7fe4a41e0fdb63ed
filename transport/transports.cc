// SPDX-License-Identifier: Apache-2.0

#include "transport/transports.h"

#include <cstdint>
#include <limits>
#include <memory>

#include "fabric/host.h"
#include "transport/tcp.h"
#include "transport/tcp_settings.h"

namespace heddle {
namespace {

class TcpMaker final : public TransportMaker {
 public:
  TcpMaker(const TcpSettings& settings, Duration close_delay) : shared_(settings, close_delay) {}

  std::unique_ptr<Transport> MakeFor(Host& host) const override {
    return std::make_unique<Tcp>(host, shared_);
  }

 private:
  TcpShared shared_;
};

class TcpModel : public TransportModel {
 public:
  explicit TcpModel(bool is_dctcp = false) { settings_.is_dctcp = is_dctcp; }

  void Declare(Fields& fields) override { settings_.Declare(fields); }
  PacketSizes sizes() const override { return SizesOf(settings_); }
  int64_t max_flow_size() const override {
    return sizes().mss * (std::numeric_limits<uint32_t>::max() - 1);
  }
  std::unique_ptr<TransportMaker> Prepare(Duration close_delay) const override {
    return std::make_unique<TcpMaker>(settings_, close_delay);
  }

 private:
  TcpSettings settings_;
};

class DctcpModel final : public TcpModel {
 public:
  DctcpModel() : TcpModel(true) {}
};

}  // namespace

const Kinds<TransportModel>& Transports() {
  static const Kinds<TransportModel> kinds = [] {
    Kinds<TransportModel> all("transport");
    all.Add<DctcpModel>({"dctcp",
                         "Data Center TCP: the window shrinks with the share of marked packets.",
                         "RFC 8257; Alizadeh et al., SIGCOMM 2010"});
    all.Add<TcpModel>({"tcp", "TCP Reno with SACK or NewReno recovery, with or without ECN.",
                       "RFC 5681, 6298, 6582, 6675, 3168"});
    return all;
  }();
  return kinds;
}

}  // namespace heddle
