// SPDX-License-Identifier: Apache-2.0
// CLI11's application, declared. Headers of commands name it and need no more; the files that add
// options to it include CLI11 itself, which takes seconds to compile.

#pragma once

namespace CLI {
class App;
}  // namespace CLI
