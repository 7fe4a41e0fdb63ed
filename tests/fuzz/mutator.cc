// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/mutator.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace heddle {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kTokens[] = {
    "\0"sv,
    "\n",
    "\r\n",
    "\t",
    " ",
    ",",
    ":",
    ": ",
    "- ",
    "\"",
    "'",
    "\\",
    "#",
    "{",
    "}",
    "[",
    "]",
    "&a",
    "*a",
    "!!",
    "---\n",
    "../",
    "/",
    "0",
    "-1",
    "1/0",
    "1e308",
    "1e-320",
    "nan",
    "inf",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "99999999999999999999999999999999",
    "0.00000000000000000000000000001",
    "106d",
    "1000000s",
    "400Gbps",
    "4TB",
    "\x80",                  // UTF-8 that starts in the middle of a character,
    "\xc3",                  // ends in the middle of one,
    "\xf8\x88\x80\x80\x80",  // has more bytes than any,
    "\xed\xa0\x80",          // is half of a pair of UTF-16,
    "\xef\xbb\xbf",          // and the mark that some editors begin a file with.
    "\xff\xff\xff\xff\xff\xff\xff\xff",
};

size_t Below(Rng& rng, size_t n) { return n == 0 ? 0 : rng.Below(static_cast<uint32_t>(n)); }

// A piece of `text` of at most `longest` bytes.
std::string Piece(const std::string& text, size_t longest, Rng& rng) {
  const size_t at = Below(rng, text.size());
  return text.substr(at, 1 + Below(rng, longest));
}

std::string Nesting(Rng& rng) {
  const size_t depth = size_t{1} << (1 + Below(rng, 13));
  std::string nesting;
  const char* open = rng.Below(2) == 0 ? "[" : "{a: ";
  for (size_t i = 0; i < depth; ++i) nesting += open;
  return nesting;
}

// Replaces the next number behind some place with another one.
void ReplaceNumber(std::string& text, Rng& rng) {
  const size_t start = text.find_first_of("0123456789", Below(rng, text.size()));
  if (start == std::string::npos) return;
  const size_t end = std::min(text.find_first_not_of("0123456789.", start), text.size());
  std::string number;
  for (size_t digits = 1 + Below(rng, 20); digits > 0; --digits) {
    number += static_cast<char>('0' + rng.Below(10));
  }
  text.replace(start, end - start, rng.Below(2) == 0 ? number.substr(0, 2) : number);
}

void Change(std::string& text, const std::vector<std::string>& corpus, Rng& rng) {
  if (text.empty()) text = " ";
  const size_t at = Below(rng, text.size());
  switch (rng.Below(12)) {
    case 0:
      text[at] = static_cast<char>(text[at] ^ (1 << rng.Below(8)));
      break;
    case 1:
      text[at] = static_cast<char>(rng.Below(256));
      break;
    case 2:
      text.erase(at, 1 + Below(rng, 32));
      break;
    case 3:
      text.resize(at);
      break;
    case 4:
    case 5:
      text.insert(at, kTokens[Below(rng, std::size(kTokens))]);
      break;
    case 6:
      text.replace(at, 1 + Below(rng, 8), kTokens[Below(rng, std::size(kTokens))]);
      break;
    case 7:
      text.insert(at, Piece(text, 64, rng));
      break;
    case 8:
      text.insert(at, Piece(corpus[Below(rng, corpus.size())], 256, rng));
      break;
    case 9:
      text.replace(at, std::string::npos, Piece(corpus[Below(rng, corpus.size())], 4'096, rng));
      break;
    case 10:
      ReplaceNumber(text, rng);
      break;
    default:
      // This is rare, as little else is read of such a text.
      if (rng.Below(4) == 0) text.insert(at, Nesting(rng));
      break;
  }
}

}  // namespace

std::string Mutated(const std::vector<std::string>& corpus, Rng& rng) {
  std::string text = corpus[Below(rng, corpus.size())];
  for (uint32_t changes = 1 + rng.Below(4); changes > 0; --changes) Change(text, corpus, rng);
  return text;
}

}  // namespace heddle
