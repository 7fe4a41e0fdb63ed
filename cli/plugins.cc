// SPDX-License-Identifier: Apache-2.0

#include "cli/plugins.h"

#include <absl/status/statusor.h>
#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <vector>

#include "cmake/plugin_abi.h"
#include "lb/parts/load_balancer.h"
#include "measure/instruments.h"
#include "settings/digest.h"
#include "transport/congestion_controls.h"

namespace heddle {
namespace {

// Returns the bytes [offset, offset + size) of `file`; empty unless all of them lie within it.
std::string_view Slice(std::string_view file, uint64_t offset, uint64_t size) {
  if (offset > file.size() || size > file.size() - offset) return {};
  return file.substr(offset, size);
}

template <class T>
std::optional<T> ReadAt(std::string_view file, uint64_t offset) {
  const std::string_view bytes = Slice(file, offset, sizeof(T));
  if (bytes.empty()) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

absl::StatusOr<std::string> Contents(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return absl::NotFoundError("there is no such file");
  if (!std::filesystem::is_regular_file(path, error)) return absl::NotFoundError("cannot be read");
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad() || !file.is_open()) return absl::NotFoundError("cannot be read");
  return text;
}

absl::Status CheckAbi(std::string_view file) {
  std::string_view abi = ElfSection(file, ".heddle_abi");
  abi = abi.substr(0, abi.find('\0'));
  if (abi == HEDDLE_ABI) return absl::OkStatus();
  return absl::FailedPreconditionError(
      abi.empty() ? "is no plug-in of Heddle; build it with CMake's heddle_add_plugin"
                  : fmt::format("was built for {}; this is {}; build it again", abi, HEDDLE_ABI));
}

// Returns everything that plug-ins can add, by the setting that chooses it, as in PluginDigests.
std::set<std::string> RegisteredSettings() {
  std::set<std::string> settings;
  const auto add = [&settings](std::string_view key, const KindNames& kinds) {
    for (const std::string& name : kinds.Names()) settings.insert(fmt::format("{}={}", key, name));
  };
  add("lb", LoadBalancers());
  add("transport.cc", CongestionControls().windows());
  add("transport.cc", CongestionControls().rates());
  add("transport.cc", CongestionControls().subflows());
  for (const InstrumentInfo& info : Instruments().infos()) {
    const bool is_series = info.place == InstrumentPlace::kRecord;
    settings.insert(info.example.empty()
                        ? fmt::format("{}{}", kInEveryRun, info.name)
                        : fmt::format("measure.{}{}", is_series ? "record." : "", info.name));
  }
  return settings;
}

// Returns an error if a name was registered that another class has.
absl::Status CheckDuplicates() {
  const auto check = [](const char* what, const std::vector<std::string>& duplicates) {
    if (duplicates.empty()) return absl::OkStatus();
    return absl::AlreadyExistsError(
        fmt::format("another {} is called \"{}\" already", what, duplicates.front()));
  };
  absl::Status status = check("load balancer", LoadBalancers().duplicates());
  status.Update(check("congestion control", CongestionControls().windows().duplicates()));
  status.Update(check("congestion control", CongestionControls().rates().duplicates()));
  status.Update(check("congestion control", CongestionControls().subflows().duplicates()));
  status.Update(check("instrument", Instruments().duplicates()));
  return status;
}

}  // namespace

// The ELF header says where the section table is, and which section holds the names.
std::string_view ElfSection(std::string_view file, std::string_view name) {
  const auto header = ReadAt<Elf64_Ehdr>(file, 0);
  if (!header || !file.starts_with(ELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64) return {};
  const auto section = [&](uint64_t index) {
    return ReadAt<Elf64_Shdr>(file, header->e_shoff + index * sizeof(Elf64_Shdr));
  };
  const auto names = section(header->e_shstrndx);
  if (!names) return {};
  const std::string wanted = std::string(name) + '\0';
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto one = section(i);
    if (!one) return {};
    if (Slice(file, names->sh_offset + one->sh_name, wanted.size()) != wanted) continue;
    return Slice(file, one->sh_offset, one->sh_size);
  }
  return {};
}

absl::Status Plugins::Load(const std::string& path) {
  const absl::StatusOr<std::string> contents = Contents(path);
  if (!contents.ok()) return contents.status();
  if (absl::Status status = CheckAbi(*contents); !status.ok()) return status;
  const std::set<std::string> before = RegisteredSettings();
  const uint64_t digest = Digest(*contents);
  // dlopen() would look for a name without a slash among the system's libraries.
  const std::string file = std::filesystem::absolute(path).string();
  if (dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr) {
    return absl::AlreadyExistsError("is loaded already");
  }
  // The library is never closed, since the classes that it registers are used to the end.
  if (dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    return absl::FailedPreconditionError(dlerror());
  }
  if (absl::Status status = CheckDuplicates(); !status.ok()) return status;
  const std::set<std::string> after = RegisteredSettings();
  if (after.size() == before.size()) {
    return absl::InvalidArgumentError(
        "registers no load balancer, congestion control or instrument");
  }
  for (const std::string& setting : after) {
    if (!before.contains(setting)) digests_[setting] = digest;
  }
  files_.push_back(path);
  return absl::OkStatus();
}

}  // namespace heddle
