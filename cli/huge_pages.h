// SPDX-License-Identifier: Apache-2.0
// Huge pages for the memory of a simulation. A packet jumps among all wires, ports and flows of a
// network, and with pages of 4 KB most of these jumps must first look up an address.

#pragma once

namespace heddle {

// Starts the program anew with the setting that makes glibc's malloc ask for huge pages
// (glibc.malloc .hugetlb, since glibc 2.35), which is read from the environment only. Does nothing,
// and returns, if the environment has settings for malloc already, or if that is not possible.
// `argv` is that of main().
void AskForHugePages(char** argv);

}  // namespace heddle
