// SPDX-License-Identifier: Apache-2.0
// Reads the link lists of RDMA simulators built on ns-3 (HPCC, ConWeave). The topology `custom`
// calls it for a file in this format:
//
//   6 2 5                             nodes, of these switches, links
//   4 5                               the numbers of the switches
//   0 4 100Gbps 1000ns 0.000000       two nodes, rate, delay, error rate; a line each link
//
// All other nodes are hosts, in the order of their numbers. Switch 4 is called switch4.

#pragma once

#include <string>
#include <string_view>

#include "settings/diagnostics.h"
#include "topo/graph.h"

namespace heddle {

class FilesRead;

// Reads the file through `files`; its mistakes go to `diagnostics`, each with its place and with
// `path`, the setting that names the file.
Graph ReadLinkFile(const std::string& file, std::string_view path, FilesRead& files,
                   Diagnostics& diagnostics);

}  // namespace heddle
