// SPDX-License-Identifier: Apache-2.0

#include "measure/trace/tracer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/subflow_id.h"
#include "measure/table.h"
#include "measure/trace/pcap.h"
#include "measure/trace/rank_trace.h"
#include "settings/diagnostics.h"
#include "settings/quantity.h"

namespace heddle {
namespace {

constexpr size_t kPiece = size_t{1} << 16;  // Bytes that are written to a file at once.
constexpr uint16_t kDiscardPort = 9;        // RFC 863; the destination of background datagrams.

CaptureFilter FilterOf(const TraceSettings& settings) {
  // A pause belongs to a link and to no flow, so pauses are noted unless only flows are chosen.
  return {.flows = settings.flows,
          .pauses = settings.flows.empty() || !settings.links.empty(),
          .from = settings.from,
          .to = settings.to};
}

// Returns the largest number of flows that can start; nothing if it is not known.
std::optional<int64_t> MostFlows(std::span<const Forecast> forecasts) {
  int64_t flows = 0;
  for (const Forecast& forecast : forecasts) {
    if (!forecast.most_flows) return std::nullopt;
    flows += *forecast.most_flows;
  }
  return flows;
}

// A pcap.
struct FileRow {
  std::string_view link;
  std::string_view file;
  int64_t packets;
  std::optional<Nanoseconds> first;
  std::optional<Nanoseconds> last;
};
constexpr Column<FileRow> kIndexColumns[] = {
    {"link", [](const FileRow& row) { return row.link; }},
    {"file", [](const FileRow& row) { return row.file; }},
    {"packets", [](const FileRow& row) { return row.packets; }},
    {"first_ns", [](const FileRow& row) { return row.first; }},
    {"last_ns", [](const FileRow& row) { return row.last; }}};

std::string FlowsAre(int64_t flows) {
  return flows == 0 ? "there are no flows" : fmt::format("flows are 0 to {}", flows - 1);
}

}  // namespace

std::optional<std::string> ProblemWith(const TraceSettings& settings, const Graph& graph,
                                       std::span<const Forecast> forecasts) {
  if (settings.flows.empty() && settings.links.empty() && settings.from == Time{} &&
      settings.to == kNever) {
    return "a trace of everything is too much; choose flows (--flow 0,3-5), links (--link "
           "leaf0-spine1) or a span of time (--from 1ms --to 1.1ms)";
  }
  if (settings.from >= settings.to) return "--from must be before --to";
  std::vector<std::string> names;
  for (const Graph::Link& link : graph.links) names.push_back(link.name);
  for (const std::string& link : settings.links) {
    if (std::ranges::find(names, link) != names.end()) continue;
    return fmt::format("--link: no link is called \"{}\"{}", link, Suggestion(link, names));
  }
  const std::optional<int64_t> flows = MostFlows(forecasts);
  for (const FlowRange& range : settings.flows) {
    if (!flows || range.first < *flows) continue;
    return fmt::format("--flow: there is no flow {}; {}", range.first, FlowsAre(*flows));
  }
  return std::nullopt;
}

Tracer::Tracer(const TraceSettings& settings)
    : settings_(settings), capture_(FilterOf(settings)), timeline_(settings.limit) {
  if (settings.timeline) next_ = std::max(settings.from, Time{} + settings.every);
}

void Tracer::Begin() {
  frames_.emplace(run().plan().transport->wire_format());
  WatchLinks();
  if (!settings_.timeline || run().plan().jobs == nullptr) return;
  for (HostJobs* host : *run().plan().jobs) host->RecordOperations();
}

bool Tracer::Chosen(const Graph::Link& link) const {
  return settings_.links.empty() ||
         std::ranges::find(settings_.links, link.name) != settings_.links.end();
}

LinkEnd Tracer::EndOf(VertexId vertex, uint32_t link) const {
  const Graph& graph = network().graph();
  const std::vector<Adjacency::Port>& ports = network().routing().adjacency().Of(vertex);
  const auto port = std::ranges::find(ports, link, &Adjacency::Port::link);
  const bool is_host = graph.IsHost(vertex);
  return {.is_host = is_host,
          .id = is_host ? graph.HostAt(vertex) : graph.SwitchAt(vertex),
          .port = static_cast<PortIndex>(port - ports.begin())};
}

// Visits the links node by node, the order that Capture::Watch() needs.
void Tracer::WatchLinks() {
  const Graph& graph = network().graph();
  links_seen_.resize(graph.links.size());
  for (uint32_t v = 0; v < graph.vertices(); ++v) {
    const VertexId vertex(v);
    const std::vector<Adjacency::Port>& ports = network().routing().adjacency().Of(vertex);
    for (PortIndex port = 0; port < ports.size(); ++port) {
      const uint32_t index = ports[port].link;
      const Graph::Link& link = graph.links[index];
      if (!Chosen(link)) continue;
      const uint32_t incoming = 2 * index + (link.a == vertex ? 1 : 0);
      const uint32_t outgoing = incoming ^ 1u;
      points_[incoming] = {link.name, EndOf(ports[port].peer, index), EndOf(vertex, index)};
      capture_.Watch(network().engine(), network().NodeOf(vertex), port, incoming);
      if (settings_.pcap && !settings_.links.empty()) {
        files_.try_emplace(
            index, File{.name = link.name + ".pcap", .text = PcapHeader(settings_.snaplen)});
      }
      if (graph.IsHost(vertex)) continue;  // A host's NIC pulls, so it has no queue.
      queues_.push_back({&network().egresses()[network().EgressOf(vertex, port)], outgoing});
    }
  }
}

// --- Flows ---

void Tracer::OnStart(const FlowSpec& spec) {
  ++started_;
  if (!capture_.filter().ChoosesFlow(spec.id)) return;
  flows_.emplace(spec.id, Flow{spec});
  running_.insert(spec.id);
  ++under_way_;
}

void Tracer::OnSenderDone(FlowId flow) {
  if (capture_.filter().ChoosesFlow(flow)) --under_way_;
}

void Tracer::OnEnd(const FlowRecord& record) {
  const FlowId flow = record.spec.id;
  const Time done = record.receiver.done;
  if (done == kNever || running_.erase(flow) == 0) return;
  const Flow& ended = flows_.at(flow);
  if (ended.seen) timeline_.AddFlow(ended.spec, done);
}

const FlowSpec* Tracer::FlowOf(const Packet& packet) {
  if (packet.kind == PacketKind::kDatagram) {
    datagram_.sport = run().plan().background[~packet.flow].sport;
    datagram_.dport = kDiscardPort;
    return &datagram_;
  }
  if (packet.kind >= PacketKind::kControl) return nullptr;
  const auto found = flows_.find(ConnectionOf(packet.flow));
  if (found == flows_.end()) return nullptr;
  found->second.seen = true;
  return &found->second.spec;
}

// --- Packets ---

void Tracer::OnWindowClosed(Time /*end*/) {
  capture_.Take([this](uint32_t point, const Packet& packet) { OnArrival(point, packet); });
}

void Tracer::OnArrival(uint32_t point, const Packet& packet) {
  if (cut_ != kNever) return;
  if (settings_.pcap && packets_ == settings_.limit) {
    cut_ = packet.arrival;
    next_ = kNever;
    return capture_.Stop();
  }
  ++packets_;
  links_seen_[point / 2] = true;
  if (packet.kind == PacketKind::kPause) OnPause(point, packet);
  const FlowSpec* flow = FlowOf(packet);
  if (settings_.pcap) Record(point, packet, flow);
}

void Tracer::Record(uint32_t point, const Packet& packet, const FlowSpec* flow) {
  const Point& where = points_.at(point);
  File& file = files_[point / 2];
  if (file.name.empty()) {
    file.name = where.link + ".pcap";
    file.text = PcapHeader(settings_.snaplen);
  }
  if (file.packets++ == 0) file.first = packet.arrival;
  file.last = packet.arrival;
  AppendPcapRecord(file.text, packet.arrival, frames_->Make(packet, flow, where.from, where.to),
                   settings_.snaplen);
  if (file.text.size() >= kPiece) Flush(file);
}

void Tracer::Flush(File& file) {
  run().Write(file.name, file.text);
  file.text.clear();
}

// --- Pauses, as their frames say ---

// A pause frame that arrives at one end of a link pauses the packets that this end sends.
void Tracer::OnPause(uint32_t point, const Packet& frame) {
  const uint32_t paused = point ^ 1u;
  for (uint8_t cls = 0; cls < kClasses; ++cls) {
    if ((frame.pause.classes >> cls & 1) == 0) continue;
    if (frame.pause.stop) {
      pauses_.try_emplace({paused, cls}, frame.arrival);
    } else {
      EndPause(paused, cls, frame.arrival);
    }
  }
}

void Tracer::EndPause(uint32_t point, uint8_t cls, Time now) {
  const auto open = pauses_.find({point, cls});
  if (open == pauses_.end()) return;
  timeline_.AddPause(point, cls, open->second, now);
  pauses_.erase(open);
}

// --- Queues ---

// If flows are chosen and links are not, shows only the queues on the paths of those flows.
bool Tracer::Shows(const Queue& queue) const {
  return settings_.flows.empty() || !settings_.links.empty() || links_seen_[queue.point / 2];
}

void Tracer::Act(Time now) {
  if (settings_.flows.empty() || under_way_ > 0) NoteQueues(now);
  next_ = now + settings_.every;
  if (next_ >= settings_.to || queues_until_ != kNever) next_ = kNever;
}

void Tracer::NoteQueues(Time now) {
  for (Queue& queue : queues_) {
    if (!Shows(queue)) continue;
    const int64_t bytes = BytesAt(*queue.egress, now);
    if (bytes != std::exchange(queue.bytes, bytes)) timeline_.AddQueue(queue.point, now, bytes);
  }
  if (!timeline_.whole(EventTrace::Group::kQueues)) queues_until_ = now;
}

int64_t Tracer::BytesAt(const Network::Egress& egress, Time now) {
  Switch& s = *network().switches()[network().graph().SwitchAt(egress.vertex)];
  if (s.queued() == nullptr) return egress.fifo->QueueAt(now).bytes;
  QueuedPort& queued = (*s.queued())[egress.port];
  int64_t bytes = queued.QueueAt(0, now).bytes;
  for (size_t cls = 1; cls < kClasses; ++cls) {
    if ((queued.classes() >> cls & 1) != 0) bytes += queued.QueueAt(cls, now).bytes;
  }
  return bytes;
}

// --- The end ---

std::string Tracer::NameOf(uint32_t point) const {
  const Graph& graph = network().graph();
  const Graph::Link& link = graph.links[point / 2];
  return fmt::format("{} at {}", link.name, graph.NameOf(point % 2 == 0 ? link.a : link.b));
}

void Tracer::Finish(Time end, RunNotes& notes) {
  end_ = end;
  OnWindowClosed(end);
  for (auto& [link, file] : files_) Flush(file);
  if (settings_.pcap) run().Write("trace.csv", Index());
  if (settings_.timeline) WriteTimeline(end);
  notes.problem = Problem();
  const std::vector<std::string> warnings = Warnings();
  notes.warnings.insert(notes.warnings.end(), warnings.begin(), warnings.end());
}

void Tracer::WriteTimeline(Time end) {
  const Time last = std::min({end, settings_.to, cut_});
  while (!pauses_.empty()) {
    const auto [point, cls] = pauses_.begin()->first;
    EndPause(point, cls, last);
  }
  for (const FlowId flow : running_) {
    const Flow& unfinished = flows_.at(flow);
    if (unfinished.seen) timeline_.AddFlow(unfinished.spec, kNever);
  }
  const std::vector<RankOperation> operations = ChosenOperations(end);
  const RankTrace ranks = RanksAsJson(operations, {.from = settings_.from,
                                                   .to = std::min(settings_.to, cut_),
                                                   .end = end,
                                                   .limit = settings_.limit,
                                                   .first_group = EventTrace::kNextGroup});
  has_all_operations_ = ranks.is_whole;
  timeline_.Write(
      end, [this](uint32_t point) { return NameOf(point); },
      [this](std::string_view text) {
        run().Write("trace.json", text);
        return run().writable();
      },
      ranks.json);
}

// Returns the operations of all ranks. If flows are chosen, returns those of the ranks that send or
// receive one of them.
std::vector<RankOperation> Tracer::ChosenOperations(Time end) const {
  if (run().plan().jobs == nullptr) return {};
  std::vector<RankOperation> operations = OperationsOf(*run().plan().jobs, end);
  if (settings_.flows.empty()) return operations;
  std::set<const Job*> jobs;
  for (const HostJobs* host : *run().plan().jobs) {
    for (size_t place = 0; place < host->ranks(); ++place) jobs.insert(&host->JobOf(place));
  }
  std::set<std::pair<const Job*, uint32_t>> ranks;
  for (const auto& [id, flow] : flows_) {
    for (const Job* job : jobs) {
      if (!job->Owns(id)) continue;
      const Message message = job->schedule().MessageOf(job->PlaceOf(id).index);
      ranks.insert({job, message.src});
      ranks.insert({job, message.dst});
    }
  }
  std::erase_if(operations, [&](const RankOperation& its) {
    return !ranks.contains({its.job, its.rank});
  });
  return operations;
}

// Returns the table of all pcaps, one row each.
std::string Tracer::Index() const {
  const Table<FileRow> table(kIndexColumns);
  std::string csv = table.Header();
  for (const auto& [link, file] : files_) {
    FileRow row{network().graph().links[link].name, file.name, file.packets, {}, {}};
    if (file.packets > 0) row.first = InNs(file.first);
    if (file.packets > 0) row.last = InNs(file.last);
    table.Append(csv, row);
  }
  return csv;
}

std::string Tracer::Problem() const {
  const bool nothing = !settings_.flows.empty() && flows_.empty();
  return nothing ? fmt::format("--flow: {}, so there is nothing to trace", NotStarted()) : "";
}

// Returns a message if a range of chosen flows begins after the last flow that started; empty
// otherwise.
std::string Tracer::NotStarted() const {
  for (const FlowRange& range : settings_.flows) {
    if (range.first < started_) continue;
    return fmt::format("there is no flow {}; {}", range.first, FlowsAre(started_));
  }
  return "";
}

std::vector<std::string> Tracer::Warnings() const {
  std::vector<std::string> warnings;
  if (std::string absent = NotStarted(); !absent.empty()) {
    warnings.push_back("--flow: " + absent);
  } else if (packets_ == 0) {
    warnings.push_back(fmt::format("the trace is empty: no packet matches; the run ended at {}",
                                   RoundedQuantity(end_ - Time{})));
  }
  if (cut_ != kNever) {
    warnings.push_back(fmt::format(
        "the pcaps end at {}, after {} packets; choose fewer flows or links or a shorter "
        "time, or raise --packets",
        RoundedQuantity(cut_ - Time{}), settings_.limit));
  }
  if (queues_until_ != kNever) {
    warnings.push_back(fmt::format(
        "trace.json shows queues until {} only, {} values of them; choose fewer flows or links or "
        "a shorter time, or raise --every or --packets",
        RoundedQuantity(queues_until_ - Time{}), settings_.limit));
  }
  for (const auto& [group, name] : {std::pair(EventTrace::Group::kFlows, "flows"),
                                    std::pair(EventTrace::Group::kPauses, "pauses")}) {
    if (timeline_.whole(group)) continue;
    warnings.push_back(fmt::format(
        "trace.json lacks {} beyond the first {} that ended; choose fewer flows or links or a "
        "shorter time, or raise --packets",
        name, settings_.limit));
  }
  if (!has_all_operations_) {
    warnings.push_back(fmt::format(
        "trace.json lacks operations of ranks beyond the first {} that started; choose flows or a "
        "shorter time, or raise --packets",
        settings_.limit));
  }
  return warnings;
}

}  // namespace heddle
