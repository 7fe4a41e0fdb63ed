// SPDX-License-Identifier: Apache-2.0
// The whole command line: it takes arguments and returns the exit code. A program of your own that
// calls it from main() is heddle with the load balancers that you link into it.

#pragma once

namespace heddle {

int HeddleMain(int argc, char** argv);

}  // namespace heddle
