// SPDX-License-Identifier: Apache-2.0
// What one decision costs: `heddle bench lb` for every registered load balancer, among 4 to 64
// candidates and 1,000 to 1,000,000 live flows.

#include <string>
#include <vector>

#include "bench/paired.h"
#include "cli/heddle_main.h"

int main(int argc, char** argv) {
  std::vector<std::string> arguments = {"heddle", "bench", "lb"};
  if (heddle::IsSmoke(argc, argv)) {
    arguments.insert(arguments.end(), {"--candidates", "4", "--flows", "1000", "--rounds", "1"});
  }
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  return heddle::HeddleMain(static_cast<int>(pointers.size()), pointers.data());
}
