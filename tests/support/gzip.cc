// SPDX-License-Identifier: Apache-2.0

#include "tests/support/gzip.h"

#include <zlib.h>

#include "core/check.h"

namespace heddle {

std::string Gzipped(std::string_view text) {
  z_stream stream{};
  constexpr int kAsGzip = 16 + MAX_WBITS;
  constexpr int kMemoryLevel = 8;
  HEDDLE_CHECK(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kAsGzip, kMemoryLevel,
                            Z_DEFAULT_STRATEGY) == Z_OK,
               "zlib");
  std::string bytes(deflateBound(&stream, text.size()) + 32, 0);
  // zlib does not write to its input.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  HEDDLE_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib");
  bytes.resize(bytes.size() - stream.avail_out);
  deflateEnd(&stream);
  return bytes;
}

}  // namespace heddle
