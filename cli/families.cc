// SPDX-License-Identifier: Apache-2.0

#include "cli/families.h"

#include <algorithm>
#include <set>

#include "experiment/experiment.h"
#include "transport/congestion_controls.h"
#include "transport/resequencing/resequencing.h"

namespace heddle {
namespace {

template <class T>
Family FamilyOf(const std::string& heading, const std::string& key, const Kinds<T>& kinds) {
  return {heading, key,
          [&kinds] {
            std::vector<KindInfo> infos;
            for (const std::string& name : kinds.Names()) infos.push_back(kinds.InfoOf(name));
            return infos;
          },
          [&kinds](const std::string& name) {
            Chosen<T> chosen = kinds.Make(name);
            return DescribeFields([&](Fields& fields) { chosen.settings->Declare(fields); });
          }};
}

// The congestion controls that only MPTCP has; those of TCP serve it too.
Family CoupledControls() {
  Family family = FamilyOf("Congestion control of mptcp, besides those of tcp", "transport.cc",
                           CongestionControls().subflows());
  family.kinds = [all = family.kinds] {
    std::vector<KindInfo> infos = all();
    std::erase_if(infos, [](const KindInfo& info) {
      return CongestionControls().windows().Knows(info.name);
    });
    return infos;
  };
  return family;
}

// Returns a path without the [] of lists.
std::string WithoutLists(std::string path) {
  for (size_t at = path.find("[]"); at != std::string::npos; at = path.find("[]"))
    path.erase(at, 2);
  return path;
}

bool AreSame(const std::vector<FieldInfo>& a, const std::vector<FieldInfo>& b) {
  return std::ranges::equal(a, b, [](const FieldInfo& one, const FieldInfo& other) {
    return one.path == other.path && one.type == other.type && one.preset == other.preset &&
           one.meaning == other.meaning;
  });
}

class SectionFinder {
 public:
  // `kind` has these settings; empty: every experiment has them.
  void Add(const std::string& kind, const std::vector<FieldInfo>& fields) {
    std::set<std::string> paths;
    for (const FieldInfo& field : fields) {
      const std::string path = WithoutLists(field.path);
      for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
        if (paths.insert(path.substr(0, dot)).second) AddSection(path.substr(0, dot), kind, fields);
      }
    }
  }

  std::vector<SettingSection> Take() { return std::move(sections_); }

 private:
  void AddSection(const std::string& path, const std::string& kind,
                  const std::vector<FieldInfo>& fields) {
    SettingSection section{.path = path, .kinds = {}, .fields = {}};
    for (const FieldInfo& field : fields) {
      if (WithoutLists(field.path).starts_with(path + ".")) section.fields.push_back(field);
    }
    const auto same = std::ranges::find_if(sections_, [&](const SettingSection& other) {
      return other.path == path && AreSame(other.fields, section.fields);
    });
    SettingSection& kept = same != sections_.end() ? *same : sections_.emplace_back(section);
    if (!kind.empty()) kept.kinds.push_back(kind);
  }

  std::vector<SettingSection> sections_;
};

// The sections of kinds begin with the key that chooses the kind.
std::vector<SettingSection> AllSections() {
  SectionFinder finder;
  finder.Add("", ExperimentFields());
  for (const Family& family : Families()) {
    for (const KindInfo& kind : family.kinds()) {
      std::vector<FieldInfo> fields = family.fields(kind.name);
      for (FieldInfo& field : fields) field.path = family.key + "." + field.path;
      // The settings of the whole kind are no section: `heddle describe KIND` prints them.
      finder.Add(kind.name, fields);
    }
  }
  std::vector<SettingSection> sections = finder.Take();
  std::erase_if(sections, [](const SettingSection& section) {
    return std::ranges::any_of(Families(), [&](const Family& family) {
      return family.key == section.path || family.key.starts_with(section.path + ".");
    });
  });
  return sections;
}

}  // namespace

std::vector<Family> Families() {
  return {FamilyOf("Load balancers", "lb", LoadBalancers()),
          FamilyOf("Transports", "transport", Transports()),
          FamilyOf("Congestion control of rocev2", "transport.cc", CongestionControls().rates()),
          FamilyOf("Congestion control of tcp", "transport.cc", CongestionControls().windows()),
          CoupledControls(),
          FamilyOf("Resequencing at receivers", "transport.resequencing", Resequencings()),
          FamilyOf("Topologies", "topology", Topologies()),
          FamilyOf("Workloads", "workload", Workloads())};
}

std::vector<FieldInfo> ExperimentFields() {
  ExperimentSettings settings;
  return DescribeFields([&](Fields& fields) { settings.Declare(fields); });
}

std::vector<SettingSection> SectionsCalled(std::string_view name) {
  std::vector<SettingSection> sections = AllSections();
  std::erase_if(sections, [&](const SettingSection& section) {
    return section.path != name && !section.path.ends_with("." + std::string(name));
  });
  return sections;
}

std::vector<std::string> SectionNames() {
  std::set<std::string> names;
  for (const SettingSection& section : AllSections()) {
    names.insert(section.path.substr(section.path.find_last_of('.') + 1));
  }
  return {names.begin(), names.end()};
}

}  // namespace heddle
