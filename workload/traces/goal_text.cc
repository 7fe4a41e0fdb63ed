// SPDX-License-Identifier: Apache-2.0

#include "workload/traces/goal_text.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace heddle {
namespace {

constexpr uint32_t kMostGoalRanks = 1 << 20;

bool IsWordStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordPart(char c) { return IsWordStart(c) || IsDigit(c) || c == '_'; }

struct GoalToken {
  enum class Kind { kWord, kNumber, kMark, kLineEnd, kEnd };
  Kind kind = Kind::kEnd;
  std::string_view text;
  int line = 1;
};

// Cuts the text into words, numbers and marks. Ends of lines are tokens, comments are not.
class GoalLexer {
 public:
  explicit GoalLexer(std::string_view text) : text_(text) {}

  GoalToken Next() {
    SkipBlanks();
    const int line = line_;
    if (at_ == text_.size()) return {GoalToken::Kind::kEnd, "the end of the file", line};
    const char c = text_[at_];
    if (c == '\n') {
      ++at_;
      ++line_;
      return {GoalToken::Kind::kLineEnd, "the end of the line", line};
    }
    const size_t first = at_++;
    if (IsWordStart(c)) {
      while (at_ < text_.size() && IsWordPart(text_[at_])) ++at_;
      return {GoalToken::Kind::kWord, text_.substr(first, at_ - first), line};
    }
    const bool is_negative = c == '-' && at_ < text_.size() && IsDigit(text_[at_]);
    if (IsDigit(c) || is_negative) {
      while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
      return {GoalToken::Kind::kNumber, text_.substr(first, at_ - first), line};
    }
    return {GoalToken::Kind::kMark, text_.substr(first, 1), line};
  }

 private:
  void SkipBlanks() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (rest.starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (rest.starts_with("/*")) {
        SkipComment();
      } else if (rest.front() == ' ' || rest.front() == '\t' || rest.front() == '\r') {
        ++at_;
      } else {
        return;
      }
    }
  }

  void SkipComment() {
    const size_t end = text_.find("*/", at_ + 2);
    const size_t after = end == std::string_view::npos ? text_.size() : end + 2;
    for (; at_ < after; ++at_) line_ += text_[at_] == '\n' ? 1 : 0;
  }

  const std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
};

class GoalParser {
 public:
  GoalParser(std::string_view text, const GoalSettings& settings, FileErrors& errors)
      : lexer_(text), settings_(settings), errors_(errors) {
    Advance();
  }

  std::optional<OperationGraph> Read() {
    SkipLineEnds();
    if (!ReadRankCount()) return std::nullopt;
    builder_.emplace(settings_, ranks_);
    has_schedule_.resize(ranks_);
    for (SkipLineEnds(); token_.kind != GoalToken::Kind::kEnd && !errors_.full(); SkipLineEnds()) {
      if (!ReadRank()) break;
    }
    for (uint32_t rank = 0; rank < ranks_ && !errors_.any(); ++rank) {
      if (!has_schedule_[rank]) Fail(fmt::format("rank {} has no schedule", rank));
    }
    if (errors_.any()) return std::nullopt;
    return builder_->Take();
  }

 private:
  using Statement = GoalBuilder::Statement;
  using Kind = Operation::Kind;

  // --- Tokens ---

  void Advance() { token_ = lexer_.Next(); }

  void SkipLineEnds() {
    while (token_.kind == GoalToken::Kind::kLineEnd) Advance();
  }

  void Fail(std::string_view message) { errors_.Add(token_.line, message); }

  bool FailExpected(std::string_view expected) {
    const bool is_quoted =
        token_.kind != GoalToken::Kind::kLineEnd && token_.kind != GoalToken::Kind::kEnd;
    Fail(is_quoted ? fmt::format("expected {}, found \"{}\"", expected, token_.text)
                   : fmt::format("expected {}, found {}", expected, token_.text));
    return false;
  }

  bool Is(std::string_view text) const {
    const bool is_end =
        token_.kind == GoalToken::Kind::kLineEnd || token_.kind == GoalToken::Kind::kEnd;
    return !is_end && token_.text == text;
  }

  bool Take(std::string_view text) {
    if (!Is(text)) return FailExpected(fmt::format("\"{}\"", text));
    Advance();
    return true;
  }

  // Reads a number from `least` to `most`.
  bool TakeNumber(std::string_view what, int64_t least, int64_t most, int64_t& value) {
    if (token_.kind != GoalToken::Kind::kNumber) return FailExpected(what);
    const char* end = token_.text.data() + token_.text.size();
    const auto [after, error] = std::from_chars(token_.text.data(), end, value);
    if (error != std::errc() || value < least || value > most) {
      Fail(fmt::format("{} is out of range; expected {} from {} to {}", token_.text, what, least,
                       most));
      return false;
    }
    Advance();
    return true;
  }

  // --- Parts of the file ---

  bool ReadRankCount() {
    int64_t ranks = 0;
    if (!Take("num_ranks") || !TakeNumber("a number of ranks", 1, kMostGoalRanks, ranks)) {
      return false;
    }
    ranks_ = static_cast<uint32_t>(ranks);
    return true;
  }

  // Returns false if the rest of the file makes no sense.
  bool ReadRank() {
    int64_t rank = 0;
    if (!Take("rank")) return false;
    if (!TakeNumber("a rank", 0, int64_t{ranks_} - 1, rank)) return false;
    rank_ = static_cast<uint32_t>(rank);
    if (has_schedule_[rank_]) {
      Fail(fmt::format("rank {} has a schedule already", rank_));
      return false;
    }
    has_schedule_[rank_] = true;
    labels_.clear();
    faulty_labels_.clear();
    if (!Take("{")) return false;
    for (SkipLineEnds(); !Is("}"); SkipLineEnds()) {
      if (token_.kind == GoalToken::Kind::kEnd) return FailExpected("\"}\"");
      if (!ReadStatement()) SkipLine();
      if (errors_.full()) return false;
    }
    Advance();
    return true;
  }

  void SkipLine() {
    while (token_.kind != GoalToken::Kind::kLineEnd && token_.kind != GoalToken::Kind::kEnd) {
      Advance();
    }
  }

  bool ReadStatement() {
    if (token_.kind != GoalToken::Kind::kWord) return FailExpected("an operation");
    const GoalToken word = token_;
    Advance();
    if (Is(":")) {
      Advance();
      return ReadLabelled(word);
    }
    if (Is("requires") || Is("irequires")) return ReadDependency(word);
    Statement statement{.line = word.line, .label = {}};
    return ReadOperation(word, statement) && AddStatement(statement);
  }

  bool ReadLabelled(const GoalToken& label) {
    if (token_.kind != GoalToken::Kind::kWord) return FailExpected("calc, send or recv");
    const GoalToken word = token_;
    Advance();
    Statement statement{.line = label.line, .label = std::string(label.text)};
    if (labels_.contains(statement.label)) {
      errors_.Add(label.line,
                  fmt::format("rank {} has two operations called {}", rank_, statement.label));
      return false;
    }
    if (!ReadOperation(word, statement) || !AddStatement(statement)) {
      faulty_labels_.insert(statement.label);
      return false;
    }
    labels_.emplace(statement.label, builder_->statements(rank_) - 1);
    return true;
  }

  bool EndsHere() {
    const bool ends =
        token_.kind == GoalToken::Kind::kLineEnd || Is("}") || token_.kind == GoalToken::Kind::kEnd;
    return ends || FailExpected("the end of the line");
  }

  bool AddStatement(const Statement& statement) {
    if (!EndsHere()) return false;
    if (builder_->Add(rank_, statement)) return true;
    errors_.Add(statement.line, "takes longer than 1000 s");
    return false;
  }

  bool ReadOperation(const GoalToken& word, Statement& statement) {
    constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
    if (word.text == "calc") {
      return TakeNumber("a time", 0, kAny, statement.amount) && ReadPlace("cpu", statement.cpu);
    }
    const bool is_send = word.text == "send";
    if (!is_send && word.text != "recv") {
      errors_.Add(word.line, fmt::format("expected calc, send or recv, found \"{}\"", word.text));
      return false;
    }
    statement.kind = is_send ? Kind::kSend : Kind::kReceive;
    return TakeNumber("a size", 0, kAny, statement.amount) && Take("b") &&
           Take(is_send ? "to" : "from") && ReadPeer(statement) && ReadTag(statement) &&
           ReadPlace("cpu", statement.cpu) && ReadPlace("nic", statement.nic);
  }

  bool ReadPeer(Statement& statement) {
    int64_t peer = 0;
    const int64_t least = statement.kind == Kind::kReceive ? -1 : 0;
    if (!TakeNumber("a rank", least, int64_t{ranks_} - 1, peer)) return false;
    statement.peer = peer < 0 ? kAnyRank : static_cast<uint32_t>(peer);
    return true;
  }

  bool ReadTag(Statement& statement) {
    if (!Is("tag")) return true;
    Advance();
    const int64_t least = statement.kind == Kind::kReceive ? kAnyTag : 0;
    return TakeNumber("a tag", least, std::numeric_limits<uint32_t>::max(), statement.tag);
  }

  // "cpu 1" or "nic 1", if it is there.
  bool ReadPlace(std::string_view word, uint32_t& value) {
    if (!Is(word)) return true;
    Advance();
    int64_t number = 0;
    if (!TakeNumber(fmt::format("a {}", word), 0, 255, number)) return false;
    value = static_cast<uint32_t>(number);
    return true;
  }

  // "a requires b".
  bool ReadDependency(const GoalToken& after) {
    const bool at_start = Is("irequires");
    Advance();
    if (token_.kind != GoalToken::Kind::kWord) return FailExpected("an operation's name");
    const GoalToken before = token_;
    Advance();
    const std::optional<uint32_t> from = Find(before);
    const std::optional<uint32_t> to = Find(after);
    if (!from || !to || !EndsHere()) return false;
    if (at_start) {
      builder_->RequireStart(rank_, *to, *from);
    } else {
      builder_->Require(rank_, *to, *from);
    }
    return true;
  }

  std::optional<uint32_t> Find(const GoalToken& label) {
    const auto found = labels_.find(std::string(label.text));
    if (found != labels_.end()) return found->second;
    if (faulty_labels_.contains(std::string(label.text))) return std::nullopt;  // It has its error.
    errors_.Add(label.line, fmt::format("no operation of rank {} is called {}", rank_, label.text));
    return std::nullopt;
  }

  GoalLexer lexer_;
  GoalToken token_;
  const GoalSettings& settings_;
  FileErrors& errors_;
  uint32_t ranks_ = 0;
  uint32_t rank_ = 0;  // Whose schedule is being read.
  std::optional<GoalBuilder> builder_;
  std::vector<bool> has_schedule_;
  absl::flat_hash_map<std::string, uint32_t> labels_;
  std::set<std::string> faulty_labels_;  // Those of operations that have been refused.
};

}  // namespace

std::optional<OperationGraph> ReadGoalText(std::string_view text, const GoalSettings& settings,
                                           FileErrors& errors) {
  return GoalParser(text, settings, errors).Read();
}

}  // namespace heddle
