// SPDX-License-Identifier: Apache-2.0
// A registry of the kinds of a thing that an experiment chooses by name: load balancers,
// transports, topologies, workloads. Each kind registers itself with Add() in an initialiser, and
// Make() makes the settings of the chosen one.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle {

class KindNames {
 public:
  explicit KindNames(std::string noun) : noun_(std::move(noun)) {}
  virtual ~KindNames() = default;

  const std::string& noun() const { return noun_; }    // "load balancer"
  virtual std::vector<std::string> Names() const = 0;  // Sorted.

  // Explains why a name that exists cannot be chosen here, and what can, as in "is ...; ...". Empty
  // if the name is just not one of Names().
  virtual std::string WhyNot(const std::string& /*name*/) const { return ""; }

 private:
  std::string noun_;
};

// The settings of one kind. T has a virtual function Declare(Fields&). An optional choice that was
// not made has an empty kind and no settings, and is not written.
template <class T>
struct Chosen {
  std::string kind;
  std::unique_ptr<T> settings;
};

struct KindInfo {
  std::string name;
  std::string summary;  // One sentence.
  std::string source;   // The paper or RFC, empty if there is none.
};

template <class T>
class Kinds final : public KindNames {
 public:
  using KindNames::KindNames;

  // Returns whether the name is new, so that a file can register its kind in an initialiser.
  template <class Settings>
  bool Add(KindInfo info) {
    const std::string name = info.name;
    const bool is_new =
        kinds_.emplace(name, Entry{std::move(info), [] { return std::make_unique<Settings>(); }})
            .second;
    if (!is_new) duplicates_.push_back(name);
    return is_new;
  }

  std::vector<std::string> Names() const override {
    std::vector<std::string> names;
    for (const auto& [name, entry] : kinds_) names.push_back(name);
    return names;
  }
  std::string WhyNot(const std::string& name) const override {
    return reason_ ? reason_(name) : "";
  }
  void SetReason(std::function<std::string(const std::string&)> reason) {
    reason_ = std::move(reason);
  }
  // Returns a registry of those of these kinds that `names` has.
  Kinds Only(std::span<const std::string_view> names) const {
    Kinds some(noun());
    for (const std::string_view name : names) {
      const auto kind = kinds_.find(std::string(name));
      if (kind != kinds_.end()) some.kinds_.insert(*kind);
    }
    return some;
  }
  // Names that were added more than once; the first kind stays.
  const std::vector<std::string>& duplicates() const { return duplicates_; }
  bool Knows(const std::string& name) const { return kinds_.contains(name); }
  const KindInfo& InfoOf(const std::string& name) const { return kinds_.at(name).info; }
  Chosen<T> Make(const std::string& name) const { return {name, kinds_.at(name).make()}; }

 private:
  struct Entry {
    KindInfo info;
    std::function<std::unique_ptr<T>()> make;
  };
  std::map<std::string, Entry> kinds_;
  std::vector<std::string> duplicates_;
  std::function<std::string(const std::string&)> reason_;  // The text of WhyNot().
};

}  // namespace heddle
