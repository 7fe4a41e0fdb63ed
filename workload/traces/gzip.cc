// SPDX-License-Identifier: Apache-2.0

#include "workload/traces/gzip.h"

#include <absl/status/status.h>
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

namespace heddle {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 16;

// Inflates one member after the other.
class Inflater {
 public:
  Inflater(std::string_view bytes, size_t limit) : rest_(bytes), limit_(limit) {}
  ~Inflater() {
    if (is_open_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  absl::StatusOr<std::string> All() {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    is_open_ = inflateInit2(&stream_, kGzipOnly) == Z_OK;
    if (!is_open_) return absl::ResourceExhaustedError("cannot be decompressed: out of memory");
    while (!rest_.empty()) {
      if (absl::Status status = Member(); !status.ok()) return status;
      inflateReset(&stream_);
    }
    return std::move(text_);
  }

 private:
  absl::Status Member() {
    int result = Z_OK;
    while (result != Z_STREAM_END) {
      const size_t given = std::min<size_t>(rest_.size(), std::numeric_limits<uInt>::max());
      // zlib does not write to its input.
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest_.data()));
      stream_.avail_in = static_cast<uInt>(given);
      const size_t before = text_.size();
      text_.resize(before + kPieceBytes);
      stream_.next_out = reinterpret_cast<Bytef*>(text_.data() + before);
      stream_.avail_out = kPieceBytes;
      result = inflate(&stream_, Z_NO_FLUSH);
      rest_.remove_prefix(given - stream_.avail_in);
      text_.resize(before + kPieceBytes - stream_.avail_out);
      if (text_.size() > limit_) {
        return absl::OutOfRangeError(
            fmt::format("is longer than {} bytes when decompressed", limit_));
      }
      const bool is_stuck = result == Z_BUF_ERROR && rest_.empty();
      if (is_stuck) return absl::DataLossError("is compressed by gzip, and cut off");
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
        return absl::DataLossError("is compressed by gzip, and broken");
      }
    }
    return absl::OkStatus();
  }

  std::string_view rest_;
  const size_t limit_;
  std::string text_;
  z_stream stream_{};
  bool is_open_ = false;
};

}  // namespace

absl::StatusOr<std::string> Gunzip(std::string_view bytes, size_t limit) {
  return Inflater(bytes, limit).All();
}

}  // namespace heddle
