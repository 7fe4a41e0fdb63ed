// SPDX-License-Identifier: Apache-2.0
// The whole command line: it takes arguments and returns the exit code. A program of your own that
// calls it from main() is heddle with the load balancers that you link into it.

#pragma once

namespace heddle {

// A program of your own may have other load balancers after each build, so a digest of its file
// belongs to the version that its results name.
enum class Program { kOwn, kHeddle };

int HeddleMain(int argc, char** argv, Program program = Program::kOwn);

}  // namespace heddle
