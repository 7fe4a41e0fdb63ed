// SPDX-License-Identifier: Apache-2.0
// ECMP (RFC 2992): a flow always takes the path that the hash of its 5-tuple names. Data and ACKs
// have different tuples, so they take independent paths.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fabric/ecmp_hash.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/ties.h"

namespace heddle {
namespace {

enum class Hash {
  kGood,      // Salted per switch; not linear in the salt.
  kSameSalt,  // The same salt at all switches: tiers polarise.
  kCrcInit,   // A CRC that starts from the salt: linear in it, so tiers polarise all the same.
};
enum class Mapping { kRange, kModulo };

// CRC-32 (IEEE 802.3) of the tuple hash and the entropy, from the initial value `crc`.
uint32_t Crc32(const Packet& packet, uint32_t crc) {
  constexpr uint32_t kPolynomial = 0xedb88320;
  const uint64_t key = uint64_t{packet.tuple_hash} << 16 | packet.entropy;
  for (int byte = 0; byte < 6; ++byte) {
    crc ^= static_cast<uint32_t>(key >> (8 * byte)) & 0xff;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (kPolynomial & (0 - (crc & 1)));
  }
  return crc;
}

struct EcmpSettings {
  Hash hash = Hash::kGood;
  Mapping mapping = Mapping::kRange;
  bool resilient = false;
};

class Ecmp final : public SwitchPolicy {
 public:
  Ecmp(const EcmpSettings& settings, uint64_t salt) : settings_(settings), salt_(salt) {}

  void Attach(SwitchView& view) override {
    if (settings_.resilient) uplinks_.assign(view.Uplinks().begin(), view.Uplinks().end());
  }

  Decision OnPacket(SwitchView& /*view*/, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    const uint32_t hash = settings_.hash == Hash::kCrcInit
                              ? Crc32(packet, static_cast<uint32_t>(salt_))
                              : EcmpHash(packet, salt_);
    if (settings_.resilient) {
      const Table& table = TableFor(candidates);
      return Decision::Forward(table.ports[Map(hash, table.ports.size())]);
    }
    return Decision::Forward(candidates.ports[Map(hash, candidates.ports.size())]);
  }

  bool only_chooses() const override { return true; }
  std::optional<uint64_t> ecmp_salt() const override {
    const bool is_plain = settings_.hash != Hash::kCrcInit &&
                          settings_.mapping == Mapping::kRange && !settings_.resilient;
    return is_plain ? std::optional(salt_) : std::nullopt;
  }

  size_t StateBytes() const override { return sizeof(salt_) + tables_.size() * sizeof(Table); }

 private:
  // The port of each share of the hash space. When a port fails, only its shares move; when it is
  // back, they return.
  struct Table {
    uint32_t version = 0;
    std::array<PortIndex, 256> homes = {};  // The ports while nothing has failed.
    std::array<PortIndex, 256> ports = {};
  };

  size_t Map(uint32_t hash, size_t n) const {
    return settings_.mapping == Mapping::kModulo ? hash % n : MapToRange(hash, n);
  }

  // Upwards all uplinks are homes: a set of candidates that is new after a failure further on keeps
  // the flows of the set before it where they are.
  void FindHomes(const Candidates& candidates, Table& table) const {
    const bool is_up = std::ranges::all_of(candidates.ports, [this](PortIndex port) {
      return std::ranges::find(uplinks_, port) != uplinks_.end();
    });
    const std::span<const PortIndex> ports = is_up ? std::span(uplinks_) : candidates.ports;
    for (size_t b = 0; b < table.homes.size(); ++b) table.homes[b] = ports[b % ports.size()];
    table.ports.fill(kNoPort);
  }

  const Table& TableFor(const Candidates& candidates) {
    if (candidates.id >= tables_.size()) tables_.resize(candidates.id + 1);
    Table& table = tables_[candidates.id];
    if (table.version == candidates.version) return table;
    const bool is_known = table.version != 0;
    table.version = candidates.version;
    const auto is_home = [&](PortIndex port) {
      return std::ranges::find(table.homes, port) != table.homes.end();
    };
    const size_t n = candidates.ports.size();
    if (!is_known || !std::ranges::all_of(candidates.ports, is_home)) FindHomes(candidates, table);
    size_t moved = 0;
    for (size_t b = 0; b < table.ports.size(); ++b) {
      PortIndex& port = table.ports[b];
      if (candidates.Has(table.homes[b])) {
        port = table.homes[b];
      } else if (!candidates.Has(port)) {
        port = candidates.ports[moved++ % n];  // Round robin, so that the survivors share evenly.
      }
    }
    return table;
  }

  const EcmpSettings settings_;
  const uint64_t salt_;
  std::vector<Table> tables_;       // By id of the candidates (resilient).
  std::vector<PortIndex> uplinks_;  // Likewise.
};

class EcmpBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.Choice(
        "hash", settings_.hash,
        {{"good", Hash::kGood}, {"same_salt", Hash::kSameSalt}, {"crc_init", Hash::kCrcInit}},
        "good: mixed with a salt of each switch; same_salt: one salt for all switches; "
        "crc_init: a CRC that starts from the salt. The last two polarise: switches of "
        "successive tiers make the same choice.");
    fields.Choice("mapping", settings_.mapping,
                  {{"range", Mapping::kRange}, {"modulo", Mapping::kModulo}},
                  "From the hash to one of n ports: (hash * n) >> 32, or hash % n.");
    fields.Add("resilient", settings_.resilient,
               "Map through 256 buckets, of which only those of a failed port move.");
  }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    const SwitchId salted = settings_.hash == Hash::kSameSalt ? 0 : id;
    return std::make_unique<Ecmp>(settings_, EcmpSalt(salted, seed));
  }

 private:
  EcmpSettings settings_;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<EcmpBalancer>(
    {"ecmp", "Each flow takes the path that the hash of its 5-tuple selects.", "RFC 2992"});

}  // namespace
}  // namespace heddle
