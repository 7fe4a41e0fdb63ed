// SPDX-License-Identifier: Apache-2.0
// Huge pages for the memory of a simulation. A packet jumps among all wires, ports and flows of a
// network, and with pages of 4 KB most of these jumps miss the TLB: the processor must first
// translate the address.

#pragma once

namespace heddle {

// Starts the program anew with settings that make glibc's malloc ask for huge pages. The settings
// (glibc.malloc.hugetlb, since glibc 2.35, and others) are read from the environment only, which
// child processes inherit. It has no effect where transparent huge pages are off. Does nothing, and
// returns, if GLIBC_TUNABLES or LD_PRELOAD is set, or if the program can't be started. `argv` is
// that of main().
void AskForHugePages(char** argv);

}  // namespace heddle
