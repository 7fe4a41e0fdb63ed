// SPDX-License-Identifier: Apache-2.0
// The command line: arguments in, exit code out. A program of your own calls it from its main, and
// then is heddle with the load balancers that are linked into it besides.

#pragma once

namespace heddle {

int HeddleMain(int argc, char** argv);

}  // namespace heddle
