// SPDX-License-Identifier: Apache-2.0

#include "cli/heddle_main.h"
#include "cli/huge_pages.h"

int main(int argc, char** argv) {
  heddle::AskForHugePages(argv);
  return heddle::HeddleMain(argc, argv, heddle::Program::kHeddle);
}
