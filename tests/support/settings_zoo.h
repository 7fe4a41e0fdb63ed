// SPDX-License-Identifier: Apache-2.0
// Settings of every type. Tests of the reader, the writer and the schema use them instead of an
// experiment's.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "settings/fields.h"
#include "settings/kinds.h"

namespace heddle {

class Animal {
 public:
  virtual ~Animal() = default;
  virtual void Declare(Fields& fields) = 0;
};

class Cat final : public Animal {
 public:
  void Declare(Fields& fields) override {
    fields.Add("lives", lives, Between<int64_t>(1, 9), "Lives left.");
    fields.Add("nap", nap, Above(0_ps), "Between two meals.");
  }
  int64_t lives = 9;
  Duration nap = 2_s;
};

class Dog final : public Animal {
 public:
  void Declare(Fields& fields) override {
    fields.Add("name", name, "What it comes to.", Fields::kRequired);
    fields.List("bones", bones, AtLeast(1_B), "Buried.");
  }
  std::string name;
  std::vector<Bytes> bones;
};

inline const Kinds<Animal>& Animals() {
  static const Kinds<Animal> kinds = [] {
    Kinds<Animal> all("animal");
    all.Add<Dog>({"dog", "Barks.", ""});
    all.Add<Cat>({"cat", "Purrs.", ""});
    return all;
  }();
  return kinds;
}

struct Cage {
  int64_t least = 1;
  int64_t most = 4;
  BitRate visitors = 10_Gbps;

  void Declare(Fields& fields) {
    fields.Add("least", least, AtLeast<int64_t>(0), "Animals at least.");
    fields.Add("most", most, AtLeast<int64_t>(0), "Animals at most.");
    fields.Add("visitors", visitors, Above(BitRate{0}), "How fast they pass.");
    fields.Require(least <= most, "least", "is more than most");
  }
};

enum class Season { kSummer, kWinter };

struct Zoo {
  std::string motto = "none";
  bool open = true;
  double price = 0.5;
  Bytes pond = 1_MB;
  Duration tour = 100_us;
  Season season = Season::kSummer;
  std::optional<Duration> closing;
  std::optional<double> discount;
  std::vector<int64_t> numbers;
  std::vector<std::string> words;
  Cage cage;
  std::vector<Cage> cages;
  Chosen<Animal> mascot = Animals().Make("cat");
  std::vector<Chosen<Animal>> animals;

  void Declare(Fields& fields) {
    fields.Add("motto", motto, "Above the gate.");
    fields.Add("open", open, "Today.");
    fields.Add("price", price, {.above = 0.0, .at_most = 1.0}, "Of a ticket.");
    fields.Add("pond", pond, AtLeast(0_B), "Its size.");
    fields.Add("tour", tour, AtLeast(1_us), "Its length.");
    fields.Choice("season", season, {{"summer", Season::kSummer}, {"winter", Season::kWinter}},
                  "Of the year.");
    fields.AddOr("never", "closing", closing, AtLeast(0_ps), "When.");
    fields.AddOr("none", "discount", discount, "For children.");
    fields.List("numbers", numbers, {}, "Lucky ones.");
    fields.List("words", words, {}, "Signs.");
    fields.Section("cage", cage, "The usual one.");
    fields.Sections("cages", cages, "Others.");
    fields.Kind("mascot", mascot, Animals(), "On the poster.");
    fields.KindList("animals", animals, Animals(), "Inside.");
    fields.Require(cages.size() <= 5, "cages", "are too many");
  }
};

}  // namespace heddle
