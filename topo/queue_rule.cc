// SPDX-License-Identifier: Apache-2.0

#include "topo/queue_rule.h"

#include <absl/numeric/int128.h>

namespace heddle {
namespace {

constexpr Range<Bytes> kSizes{.at_least = Bytes{1}, .at_most = Bytes{1'000'000'000'000}};
constexpr Range<double> kAlphas{.above = 0.0, .at_most = 1024.0};

}  // namespace

// HPCC's buffer grows with the links of hosts: 16 MB at 50 Gbps (Li et al., SIGCOMM 2019).
Bytes MemoryRule::SizeAt(BitRate nic) const {
  if (size) return *size;
  if (model != MemorySettings::Model::kHpcc) return Bytes{9'000'000};
  return Bytes{static_cast<int64_t>(16e6 * static_cast<double>(nic.bps) / 50e9)};
}

void MemoryRule::Declare(Fields& fields) {
  using Model = MemorySettings::Model;
  fields.Choice(
      "model", model,
      {{"static", Model::kPrivate},
       {"dt", Model::kDynamic},
       {"hpcc_mmu", Model::kHpcc},
       {"broadcom_mmu", Model::kBroadcom}},
      "static: every port has a buffer of its own. dt: a queue may hold alpha times the free "
      "shared buffer (Choudhury and Hahne, ToN 1998). hpcc_mmu: an input may hold alpha times the "
      "free buffer, as in HPCC's simulator. broadcom_mmu: an input may hold alpha_in times, and a "
      "queue of a lossy class alpha times the free buffer, as in ConWeave's simulator.");
  fields.AddOr("auto", "size", size, kSizes,
               "The shared buffer of a switch, for all models but static. auto: 9MB; hpcc_mmu 16MB "
               "per 50Gbps "
               "of the slowest host link.");
  fields.AddOr("auto", "alpha", alpha, kAlphas,
               "The factor in the threshold of model. auto: 1; hpcc_mmu 1/8 for ports as fast as "
               "the slowest host link, in proportion to the rate for faster ones, at most 1.");
  fields.Add("alpha_in", alpha_in, kAlphas, "broadcom_mmu: the factor in the threshold of inputs.");
  fields.Add("reserve", reserve, {.at_least = Bytes{0}, .at_most = Bytes{1'000'000}},
             "hpcc_mmu: the buffer that each class of an input has for itself.");
  fields.Add("limit_lossless", limits_lossless,
             "broadcom_mmu: alpha limits queues of lossless classes, too, as in ConWeave's "
             "simulator; these classes can then lose packets.");
  fields.Require(!limits_lossless || model == Model::kBroadcom, "limit_lossless",
                 "needs model: broadcom_mmu");
}

void PauseRule::Declare(Fields& fields) {
  fields.List("classes", classes, Between<int64_t>(1, kClasses - 1),
              "Lossless classes: PFC pauses their senders before the shared buffer is full. None: "
              "PFC is off.");
  fields.AddOr(
      "auto", "xoff", xoff, kSizes,
      "An input that holds more of a lossless class pauses its sender. auto: by the model's "
      "threshold; with the static model, the part of a port's buffer that is not headroom.");
  fields.AddOr(
      "auto", "headroom", headroom, kSizes,
      "The buffer of each lossless class of an input beyond xoff, for packets that arrive before "
      "the pause takes effect. auto: as much as the link needs so that nothing is lost.");
  fields.AddOr(
      "auto", "resume_offset", resume_offset, kSizes,
      "The sender may resume when the input holds this much less than the threshold. "
      "auto: 3KB with hpcc_mmu, 16B with broadcom_mmu as in ConWeave's simulator, two packets "
      "otherwise.");
  fields.Add("response", response, {.at_least = Duration{0}, .at_most = 1_ms},
             "The time from the arrival of a pause frame to its effect.");
  fields.AddOr("none", "quanta", quanta, Between<int64_t>(1, 65'535),
               "Length of a pause, in units of the time that 512 bits take on the paused link "
               "(IEEE 802.1Qbb). none: until a resume frame arrives.");
  fields.Choice("refresh", refresh,
                {{"timer", PauseSettings::Refresh::kTimer},
                 {"arrivals", PauseSettings::Refresh::kArrivals},
                 {"never", PauseSettings::Refresh::kNone}},
                "With quanta: when an input repeats its pause. timer: every refresh_interval until "
                "the sender may resume; arrivals: for each packet that arrives while the input is "
                "above its threshold, as in ConWeave's simulator; never: not before the input has "
                "been below its threshold.");
  fields.AddOr("auto", "refresh_interval", refresh_interval,
               {.above = Duration{0}, .at_most = 1000_s},
               "refresh: timer. auto: half the time that a pause lasts.");
  fields.AddOr("auto", "frame", frame, {.at_least = Bytes{1}, .at_most = Bytes{1'518}},
               "Size of a pause frame in a buffer. auto: 84 bytes on the wire, which are 64, "
               "preamble and inter-frame gap.");
  fields.Choice("resume_scan", scan_all, {{"self", false}, {"all", true}},
                "When a packet leaves: self checks if the input of that packet may resume its "
                "sender; all checks every paused input.");
  fields.AddOr("off", "deadlock_check", deadlock_check, {.above = Duration{0}, .at_most = 1000_s},
               "How often to look for ports that wait for each other in a circle.");
  fields.Add("deadlock_time", deadlock_time, {.above = Duration{0}, .at_most = 1000_s},
             "Ports that wait for each other are a deadlock when all of them have been paused for "
             "this long.");
  fields.Choice("deadlock_action", deadlock_ends_run, {{"abort", true}, {"report", false}},
                "abort: a deadlock ends the run; report: a deadlock is only reported.");
  fields.Require(quanta || refresh == PauseSettings::Refresh::kTimer, "refresh",
                 "needs pauses that expire: set quanta, too");
  fields.Require(quanta || !refresh_interval, "refresh_interval",
                 "needs pauses that expire: set quanta, too");
  fields.Require(refresh == PauseSettings::Refresh::kTimer || !refresh_interval, "refresh_interval",
                 "is only for refresh: timer");
  fields.Section("watchdog", watchdog, "How a switch handles a class that stays paused.");
  fields.Add("allow_loss", allow_loss,
             "Accept a headroom with which packets of lossless classes can be dropped.");
}

void WatchdogRule::Declare(Fields& fields) {
  fields.AddOr("off", "detect", detect, {.above = Duration{0}, .at_most = 1000_s},
               "A class of a port is stuck when it has had packets, was paused and sent nothing "
               "for this long. Switches use 200ms; simulations of milliseconds need less.");
  fields.Add("restore", restore, {.above = Duration{0}, .at_most = 1000_s},
             "How long pause frames for a stuck class are ignored.");
  fields.Add("poll", poll, {.above = Duration{0}, .at_most = 1000_s},
             "The interval between checks.");
  fields.Choice("action", drops, {{"drop", true}, {"forward", false}},
                "drop: meanwhile packets of the class are dropped, queued ones first; forward: "
                "they are sent.");
  fields.Require(!detect || poll <= *detect, "poll", "is longer than detect");
}

uint8_t PauseRule::mask() const {
  unsigned mask = 0;
  for (const int64_t cls : classes) mask |= 1u << cls;
  return static_cast<uint8_t>(mask);
}

void RedRule::Declare(Fields& fields) {
  fields.AddOr("auto", "min", min, kSizes,
               "Up to this queue length no packet is marked. auto: 1KB per Gbps; with uet a fifth "
               "of the bandwidth-delay product, in whole packets.");
  fields.AddOr("auto", "max", max, kSizes,
               "Above this queue length all packets are marked. auto: 4KB per Gbps; with uet four "
               "fifths of the bandwidth-delay product, in whole packets.");
  fields.AddOr("auto", "probability", probability, {.at_least = 0.0, .at_most = 1.0},
               "The probability of an ECN mark just below max; it grows linearly from 0 at min. "
               "auto: 0.2; with uet 1.");
  fields.Require(!min || !max || *min <= *max, "max", "is less than min");
}

int64_t HeadroomFor(const Channel& in, const Channel& back, const FrameSizes& sizes,
                    Duration response) {
  // A slower reverse direction takes longer to send its frames.
  const Duration deaf = in.delay + back.delay + response +
                        SerializationDelay(Bytes{sizes.frame() + sizes.pause}, back.rate);
  const absl::int128 bits = absl::int128(deaf.ps) * in.rate.bps;
  const absl::int128 bit_ps = absl::int128(8) * kPicosecondsPerSecond;
  return static_cast<int64_t>((bits + bit_ps - 1) / bit_ps) + 2 * sizes.packet;
}

}  // namespace heddle
