// SPDX-License-Identifier: Apache-2.0
// heddle, with the load balancers that are linked into this program in addition.

#include <cli/heddle_main.h>

int main(int argc, char** argv) { return heddle::HeddleMain(argc, argv); }
