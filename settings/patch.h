// SPDX-License-Identifier: Apache-2.0
// Changes to a document before it is read: what --set and sweeps do.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "settings/diagnostics.h"
#include "settings/value.h"

namespace heddle {

// Puts `value` at `path` ("workload[0].load"), in place of what is there, making the maps on the
// way. An element of a list must exist, or be the one after the last.
// Errors are at the place of `value`, and so are keys that are new, or at `place`.
void Patch(Value& document, std::string_view path, const Value& value, Diagnostics& diagnostics);
void Patch(Value& document, std::string_view path, const Value& value, const Place& place,
           Diagnostics& diagnostics);

// Whether `path` is `key` or lies in it: topology.port.pfc and topology[0] in topology, topologies
// not.
bool IsWithin(std::string_view path, std::string_view key);

// What is at `path`; nullptr if there is nothing.
const Value* FindPath(const Value& document, std::string_view path);

// "path=value" with a value in YAML, as on the command line.
void PatchFromArgument(Value& document, const std::string& argument, Diagnostics& diagnostics);

// Its value alone; nothing if there is an error in `diagnostics`.
std::optional<Value> ValueOfArgument(const std::string& argument, Diagnostics& diagnostics);

}  // namespace heddle
