// SPDX-License-Identifier: Apache-2.0
// Part of every plug-in, see heddle_add_plugin. It lies in a section of its own, so that it can be
// read from the file before any of the plug-in's code runs: loading a library runs its
// initialisers.

#include "plugin_abi.h"

#ifndef HEDDLE_PLUGIN_ABI  // Tests claim another.
#define HEDDLE_PLUGIN_ABI HEDDLE_ABI
#endif

extern "C" {
extern const char heddle_plugin_abi[];
[[gnu::used, gnu::section(".heddle_abi")]] const char heddle_plugin_abi[] = HEDDLE_PLUGIN_ABI;
}
