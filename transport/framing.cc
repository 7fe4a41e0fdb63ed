// SPDX-License-Identifier: Apache-2.0

#include "transport/framing.h"

#include <algorithm>

namespace heddle {
namespace {

constexpr int64_t kEthernetHeader = 18;  // Including the frame check sequence.
constexpr int64_t kMinFrame = 64;
constexpr int64_t kPreambleAndGap = 20;
constexpr Bytes kMostPayload{9'000};
constexpr Bytes kMostOverhead{256};

// --- Exact sizes ---

// The sizes that TCP and RoCE both have.
struct ExactSizes {
  Bytes payload{0};
  Bytes header{0};
  Bytes ack{0};
  Bytes minimum{0};
  Bytes wire{0};

  void Declare(Fields& fields) {
    fields.Add("payload", payload, {.at_least = 1_B, .at_most = kMostPayload},
               "Payload of a full packet of data.", Fields::kRequired);
    fields.Add("header", header, {.at_least = 0_B, .at_most = kMostOverhead},
               "Bytes of a data packet beyond its payload, as buffered.", Fields::kRequired);
    fields.Add("ack", ack, {.at_least = 1_B, .at_most = kMostPayload},
               "Bytes of an ACK, as buffered.", Fields::kRequired);
    fields.Add("minimum", minimum, {.at_least = 0_B, .at_most = kMostOverhead},
               "Data packets are padded to this size.");
    fields.Add("wire", wire, {.at_least = 0_B, .at_most = kMostOverhead},
               "Bytes on the wire that are not buffered, for every packet: preamble and gap.");
  }

  PacketSizes Sizes() const {
    PacketSizes sizes{.mss = payload.count,
                      .data_overhead = header.count,
                      .min_packet = minimum.count,
                      .ack = ack.count,
                      .wire_overhead = wire.count};
    sizes.SetAllControl(ack.count);
    return sizes;
  }
};

void DeclareControl(Fields& fields, std::string_view name, std::optional<Bytes>& size,
                    std::string_view meaning) {
  fields.AddOr("ack", name, size, {.at_least = 1_B, .at_most = kMostPayload}, meaning);
}

// --- TCP ---

class EthernetTcp final : public TcpFraming {
 public:
  PacketSizes Sizes(int64_t mtu, int64_t header) const override {
    PacketSizes sizes{.mss = mtu - header,
                      .data_overhead = header + kEthernetHeader,
                      .min_packet = kMinFrame,
                      .ack = 0,
                      .wire_overhead = kPreambleAndGap,
                      .link_header = kEthernetHeader};
    sizes.SetAllControl(std::max(header + kEthernetHeader, kMinFrame));
    return sizes;
  }
};

class IpTcp final : public TcpFraming {
 public:
  PacketSizes Sizes(int64_t mtu, int64_t header) const override {
    PacketSizes sizes{.mss = mtu - header,
                      .data_overhead = header,
                      .min_packet = 0,
                      .ack = 0,
                      .wire_overhead = 0};
    sizes.SetAllControl(header);
    return sizes;
  }
};

class ExactTcp final : public TcpFraming {
 public:
  void Declare(Fields& fields) override {
    sizes_.Declare(fields);
    DeclareControl(fields, "syn", syn_, "Bytes of a SYN, as buffered. ack: as many as an ACK.");
    DeclareControl(fields, "syn_ack", syn_ack_,
                   "Bytes of the answer to a SYN, as buffered. ack: as many as an ACK.");
  }
  PacketSizes Sizes(int64_t /*mtu*/, int64_t /*header*/) const override {
    PacketSizes sizes = sizes_.Sizes();
    sizes.syn = syn_.value_or(sizes_.ack).count;
    sizes.syn_ack = syn_ack_.value_or(sizes_.ack).count;
    return sizes;
  }
  bool uses_mtu() const override { return false; }

 private:
  ExactSizes sizes_;
  std::optional<Bytes> syn_;
  std::optional<Bytes> syn_ack_;
};

// --- RoCE ---

class EthernetRoce final : public RoceFraming {
 public:
  PacketSizes Sizes(std::optional<int64_t> mtu) const override {
    constexpr int64_t kHeader = 44;  // IP 20, UDP 8, BTH 12, ICRC 4.
    PacketSizes sizes{.mss = mtu.value_or(1'024),
                      .data_overhead = kHeader + kEthernetHeader,
                      .min_packet = kMinFrame,
                      .ack = 0,
                      .wire_overhead = kPreambleAndGap,
                      .link_header = kEthernetHeader};
    sizes.SetAllControl(kMinFrame);
    return sizes;
  }
};

class Ns3Rdma final : public RoceFraming {
 public:
  PacketSizes Sizes(std::optional<int64_t> mtu) const override {
    // Ethernet 14, IP 20, UDP 8, sequence number and priority 6.
    PacketSizes sizes{.mss = mtu.value_or(1'000),
                      .data_overhead = 48,
                      .min_packet = 0,
                      .ack = 0,
                      .wire_overhead = 0,
                      .link_header = 14};
    sizes.SetAllControl(60);
    return sizes;
  }
};

class IpRoce final : public RoceFraming {
 public:
  PacketSizes Sizes(std::optional<int64_t> mtu) const override {
    PacketSizes sizes{.mss = mtu.value_or(1'460),
                      .data_overhead = 40,
                      .min_packet = 0,
                      .ack = 0,
                      .wire_overhead = 0};
    sizes.SetAllControl(40);
    return sizes;
  }
};

class ExactRoce final : public RoceFraming {
 public:
  void Declare(Fields& fields) override {
    sizes_.Declare(fields);
    DeclareControl(fields, "nack", nack_, "Bytes of a NACK, as buffered. ack: as many as an ACK.");
    DeclareControl(fields, "cnp", cnp_, "Bytes of a CNP, as buffered. ack: as many as an ACK.");
  }
  PacketSizes Sizes(std::optional<int64_t> /*mtu*/) const override {
    PacketSizes sizes = sizes_.Sizes();
    sizes.nack = nack_.value_or(sizes_.ack).count;
    sizes.cnp = cnp_.value_or(sizes_.ack).count;
    return sizes;
  }
  bool uses_mtu() const override { return false; }

 private:
  ExactSizes sizes_;
  std::optional<Bytes> nack_;
  std::optional<Bytes> cnp_;
};

}  // namespace

const Kinds<TcpFraming>& TcpFramings() {
  static const Kinds<TcpFraming> kinds = [] {
    Kinds<TcpFraming> all("framing");
    all.Add<EthernetTcp>({"eth", "Ethernet frames.", "IEEE 802.3"});
    all.Add<IpTcp>({"ip1500", "IP packets alone.", ""});
    all.Add<ExactTcp>({"", "Exact sizes.", ""});
    return all;
  }();
  return kinds;
}

const Kinds<RoceFraming>& RoceFramings() {
  static const Kinds<RoceFraming> kinds = [] {
    Kinds<RoceFraming> all("framing");
    all.Add<EthernetRoce>({"rocev2", "Ethernet frames.", "IEEE 802.3"});
    all.Add<Ns3Rdma>({"ns3_rdma", "Packets of HPCC's and ConWeave's simulators.", ""});
    all.Add<IpRoce>({"ip1500", "IP packets alone.", ""});
    all.Add<ExactRoce>({"", "Exact sizes.", ""});
    return all;
  }();
  return kinds;
}

}  // namespace heddle
