// SPDX-License-Identifier: Apache-2.0

#include "cli/plugins.h"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "cmake/plugin_abi.h"
#include "lb/parts/load_balancer.h"
#include "settings/digest.h"

namespace heddle {
namespace {

// What of [offset, offset + size) lies within `file`: all of it or nothing.
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

std::optional<std::string> Contents(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad() || !file.is_open()) return std::nullopt;
  return text;
}

std::optional<std::string> MismatchOf(const std::string& path) {
  const std::optional<std::string> file = Contents(path);
  if (!file) return "cannot be read";
  std::string_view abi = ElfSection(*file, ".heddle_abi");
  abi = abi.substr(0, abi.find('\0'));
  if (abi.empty()) return "is no plug-in of Heddle; build it with CMake's heddle_add_plugin";
  if (abi == HEDDLE_ABI) return std::nullopt;
  return fmt::format("was built for {}; this is {}; build it again", abi, HEDDLE_ABI);
}

}  // namespace

// The header says where the table of sections is, and which of them holds their names.
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

std::optional<std::string> Plugins::Load(const std::string& path) {
  if (auto mismatch = MismatchOf(path)) return mismatch;
  const std::vector<std::string> before = LoadBalancers().Names();
  const uint64_t digest = Digest(Contents(path).value_or(""));
  // A name without a slash would be looked for among the system's libraries.
  const std::string file = std::filesystem::absolute(path).string();
  if (dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr) return "is loaded already";
  // Never closed: its load balancers are used to the end.
  if (dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) return dlerror();
  if (!LoadBalancers().duplicates().empty()) {
    return fmt::format("another load balancer is called \"{}\" already",
                       LoadBalancers().duplicates().front());
  }
  if (LoadBalancers().Names().size() == before.size()) return "registers no load balancer";
  for (const std::string& name : LoadBalancers().Names()) {
    if (!std::ranges::binary_search(before, name)) digests_[name] = digest;
  }
  files_.push_back(path);
  return std::nullopt;
}

}  // namespace heddle
