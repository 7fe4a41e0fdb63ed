// SPDX-License-Identifier: Apache-2.0

#include "cli/heddle_main.h"

int main(int argc, char** argv) { return heddle::HeddleMain(argc, argv); }
