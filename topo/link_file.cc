// SPDX-License-Identifier: Apache-2.0

#include "topo/link_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "settings/files_read.h"
#include "settings/quantity.h"
#include "settings/status.h"
#include "topo/graph_maker.h"
#include "topo/links.h"
#include "topo/topology.h"

namespace heddle {
namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 30;
constexpr size_t kMaxErrors = 20;
constexpr int64_t kMaxNodes = kMaxHosts + kMaxSwitches;

struct Word {
  std::string_view text;
  int column;
};

std::vector<Word> Split(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r";
  std::vector<Word> words;
  for (size_t start = line.find_first_not_of(kSpace); start != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(kSpace, start), line.size());
    words.push_back({line.substr(start, end - start), static_cast<int>(start) + 1});
    start = line.find_first_not_of(kSpace, end);
  }
  return words;
}

class LinkFileReader {
 public:
  LinkFileReader(std::string_view text, const std::string& file, std::string_view path,
                 Diagnostics& diagnostics)
      : text_(text), file_(file), path_(path), diagnostics_(diagnostics) {}

  Graph Read() {
    if (!ReadCounts() || !ReadSwitches()) return {};
    GraphMaker maker(is_switch_.size() - static_cast<size_t>(switches_));
    AddNodes(maker);
    ReadLinks(maker);
    if (errors_ > 0) return {};
    if (const auto mistake = maker.Finish()) {
      Fail(1, *mistake);
      return {};
    }
    return maker.Take();
  }

 private:
  // Returns the words of the next line that has any; nothing at the end of the file.
  std::optional<std::vector<Word>> NextLine() {
    while (at_ < text_.size()) {
      const size_t end = std::min(text_.find('\n', at_), text_.size());
      std::vector<Word> words = Split(text_.substr(at_, end - at_));
      at_ = end + 1;
      ++line_;
      if (!words.empty()) return words;
    }
    return std::nullopt;
  }

  bool ReadCounts() {
    const auto words = NextLine();
    if (!words || words->size() != 3) {
      line_ = std::max(line_, 1);
      return Fail(1, "expected the numbers of nodes, switches and links on the first line");
    }
    const auto nodes = Read((*words)[0], Between<int64_t>(3, kMaxNodes));
    const auto switches = Read((*words)[1], Between<int64_t>(1, kMaxSwitches));
    const auto links = Read((*words)[2], Between<int64_t>(2, kMaxLinks));
    if (!nodes || !switches || !links) return false;
    const int64_t hosts = *nodes - *switches;
    if (hosts < 2) return Fail(1, fmt::format("leaves {} hosts; at least two are needed", hosts));
    if (hosts > kMaxHosts) return Fail(1, fmt::format("more than {} hosts in all", kMaxHosts));
    switches_ = *switches;
    links_ = *links;
    is_switch_.assign(static_cast<size_t>(*nodes), false);
    return true;
  }

  bool ReadSwitches() {
    const auto words = NextLine();
    const size_t listed = words ? words->size() : 0;
    if (listed != static_cast<size_t>(switches_)) {
      return Fail(1, fmt::format("lists {} switches; the first line says {}", listed, switches_));
    }
    for (const Word& word : *words) {
      const auto node = ReadNode(word);
      if (!node) continue;
      if (is_switch_[*node]) Fail(word.column, fmt::format("lists switch {} twice", *node));
      is_switch_[*node] = true;
    }
    return errors_ == 0;
  }

  // The file numbers hosts and switches together; a graph numbers each kind from 0.
  void AddNodes(GraphMaker& maker) {
    size_t hosts = 0;
    size_t switches = 0;
    for (size_t node = 0; node < is_switch_.size(); ++node) {
      if (is_switch_[node]) maker.AddSwitch(fmt::format("switch{}", node), std::nullopt);
      vertex_of_.push_back(is_switch_[node] ? maker.graph().VertexOfSwitch(switches++)
                                            : maker.graph().VertexOfHost(hosts++));
    }
  }

  void ReadLinks(GraphMaker& maker) {
    int64_t links = 0;
    for (auto words = NextLine(); words && errors_ < kMaxErrors; words = NextLine()) {
      if (++links > links_) {
        Fail(1, fmt::format("goes on after the {} links that the first line says", links_));
        return;
      }
      ReadLink(*words, maker);
    }
    if (errors_ >= kMaxErrors) {
      Fail(1, "and perhaps more; reading stopped here");
    } else if (links < links_) {
      Fail(1, fmt::format("ends after {} links; the first line says {}", links, links_));
    }
  }

  void ReadLink(const std::vector<Word>& words, GraphMaker& maker) {
    if (words.size() != 5) {
      Fail(1, fmt::format("has {} columns; expected two nodes, rate, delay and error rate",
                          words.size()));
      return;
    }
    const auto a = ReadNode(words[0]);
    const auto b = ReadNode(words[1]);
    const auto rate = Read(words[2], kLinkRates);
    const auto delay = Read(words[3], kLinkDelays);
    const auto error_rate = Read(words[4], Between<double>(0, 1));
    if (!a || !b || !rate || !delay || !error_rate) return;
    if (*error_rate > 0) {
      Fail(words[4].column,
           "the error rate must be 0; for links that damage packets, set loss in an entry of "
           "schedule");
      return;
    }
    const auto mistake = maker.AddLink(vertex_of_[*a], vertex_of_[*b], {*rate, *delay});
    if (mistake) Fail(1, fmt::format("{} {} {}", words[0].text, words[1].text, *mistake));
  }

  std::optional<size_t> ReadNode(const Word& word) {
    const auto node = Read(word, Between<int64_t>(0, static_cast<int64_t>(is_switch_.size()) - 1));
    if (!node) return std::nullopt;
    return static_cast<size_t>(*node);
  }

  template <class T>
  std::optional<T> Read(const Word& word, const Range<T>& range) {
    T value{};
    if (const ParseError error = ParseInRange(word.text, value, range)) {
      Fail(word.column, *error);
      return std::nullopt;
    }
    return value;
  }

  bool Fail(int column, std::string_view message) {
    ++errors_;
    diagnostics_.Error({file_, line_, column}, path_, message);
    return false;
  }

  const std::string_view text_;
  const std::string& file_;
  const std::string_view path_;
  Diagnostics& diagnostics_;
  size_t at_ = 0;
  int line_ = 0;
  size_t errors_ = 0;
  int64_t switches_ = 0;
  int64_t links_ = 0;
  std::vector<bool> is_switch_;      // By the node's number in the file.
  std::vector<VertexId> vertex_of_;  // Likewise.
};

}  // namespace

Graph ReadLinkFile(const std::string& file, std::string_view path, FilesRead& files,
                   Diagnostics& diagnostics) {
  const absl::StatusOr<std::string> text = files.Read(file, kMaxFileBytes);
  if (!text.ok()) {
    diagnostics.ErrorAt(path, MessageOf(Within(text.status(), file, " ")));
    return {};
  }
  return LinkFileReader(*text, file, path, diagnostics).Read();
}

}  // namespace heddle
