// SPDX-License-Identifier: Apache-2.0
// The link lists of RDMA simulators built on ns-3 (HPCC, ConWeave):
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
#include "settings/files_read.h"
#include "topo/graph.h"

namespace heddle {

// Reads the file through `files`; its mistakes go to `diagnostics`, each with its place and with
// `path`, the setting that names the file.
Graph ReadLinkFile(const std::string& file, std::string_view path, FilesRead& files,
                   Diagnostics& diagnostics);

}  // namespace heddle
