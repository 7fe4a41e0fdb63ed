// SPDX-License-Identifier: Apache-2.0
// Changes a document before its settings are read, for --set and for sweeps. A patched
// document is read and checked as if the user had written it so.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "settings/diagnostics.h"
#include "settings/value.h"

namespace heddle {

// Puts `value` at `path` ("workload[0].load"), replacing the previous value, and makes missing maps
// on the way. An element of a list must exist, or be the one after the last. Errors and new keys
// get the place of `value`, or `place` if it is given.
void Patch(Value& document, std::string_view path, const Value& value, Diagnostics& diagnostics);
void Patch(Value& document, std::string_view path, const Value& value, const Place& place,
           Diagnostics& diagnostics);

// Returns true if `path` is `key` or lies in it: topology.port.pfc and topology[0] lie in topology,
// topologies does not.
bool IsWithin(std::string_view path, std::string_view key);

// The value at `path`; nullptr if there is none.
const Value* FindPath(const Value& document, std::string_view path);

// Applies "path=value", with a value in YAML, as on the command line.
void PatchFromArgument(Value& document, const std::string& argument, Diagnostics& diagnostics);

// Returns the value of "path=value"; nothing if there is an error in `diagnostics`.
std::optional<Value> ValueOfArgument(const std::string& argument, Diagnostics& diagnostics);

}  // namespace heddle
