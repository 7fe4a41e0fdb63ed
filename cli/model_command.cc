// SPDX-License-Identifier: Apache-2.0

#include "cli/model_command.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "cli/commands.h"
#include "lb/pdlb/fct_model.h"
#include "lb/tr/fct_model.h"
#include "settings/fields.h"
#include "settings/quantity.h"
#include "study/papers/model_inputs.h"

namespace heddle {
namespace {

template <class T>
T ParseOption(const std::string& name, const std::string& text, const Range<T>& range) {
  T value{};
  if (const ParseError error = ParseInRange(text, value, range)) {
    throw CLI::ValidationError(name, *error);
  }
  return value;
}

// Adds an option with a unit, which is read and checked as in an experiment.
template <class T>
void AddQuantity(CLI::App& app, const std::string& name, T& value,
                 const std::type_identity_t<Range<T>>& range, const std::string& meaning) {
  app.add_option_function<std::string>(
         name,
         [&value, name, range](const std::string& text) { value = ParseOption(name, text, range); },
         meaning)
      ->type_name(std::string(TypeName(value)))
      ->default_str(FormatQuantity(value));
}

// Adds an option with several such values, separated by commas.
template <class T>
void AddQuantities(CLI::App& app, const std::string& name, std::vector<T>& values,
                   const std::type_identity_t<Range<T>>& range, const std::string& meaning) {
  std::string preset;
  for (const T& value : values) preset += (preset.empty() ? "" : ",") + FormatQuantity(value);
  app.add_option_function<std::vector<std::string>>(
         name,
         [&values, name, range](const std::vector<std::string>& texts) {
           values.clear();
           for (const std::string& text : texts) {
             values.push_back(ParseOption(name, text, range));
           }
         },
         meaning)
      ->delimiter(',')
      ->expected(1, 1'000)
      ->type_name(std::string(TypeName(T{})) + ",...")
      ->default_str(preset);
}

// --- PDLB ---

struct PdlbArguments : PdlbInputs {
  std::string form_name = "corrected";
};

int PrintPdlb(PdlbArguments arguments) {
  if (arguments.slow > static_cast<double>(arguments.paths)) {
    fmt::print(stderr, "heddle: --slow: {} slow paths of {}\n", arguments.slow, arguments.paths);
    return kExitBadInput;
  }
  const PdlbCase given = arguments.Case();
  const PdlbForm form =
      arguments.form_name == "literal" ? PdlbForm::kLiteral : PdlbForm::kCorrected;
  const std::vector<int> all = AllPdlbGranularities();
  const int best = BestPdlbGranularity(given, form, all);
  fmt::print("granularity,mean_window,mean_cells,fct_ms,best\n");
  for (const int granularity : all) {
    const PdlbPrediction found = PredictPdlb(given, granularity, form);
    fmt::print("{},{:.4f},{:.4f},{:.6f},{}\n", granularity, found.mean_window, found.mean_cells,
               Seconds(found.fct) * 1e3, granularity == best ? 1 : 0);
  }
  return kExitDone;
}

void AddPdlb(CLI::App& models, std::function<int()>& command) {
  CLI::App* app =
      models.add_subcommand("pdlb", "FCT by the size of PDLB's flowcells, from 1 to 44 packets");
  const auto arguments = std::make_shared<PdlbArguments>();
  AddQuantity(*app, "--packets", arguments->packets, Between<int64_t>(1, 10'000'000),
              "Packets of the flow");
  AddQuantity(*app, "--paths", arguments->paths, Between<int64_t>(1, 1'024), "Paths in all");
  AddQuantity(*app, "--slow", arguments->slow, Between(0.0, 1'024.0),
              "Number of slow paths; may be a fraction");
  AddQuantity(*app, "--ratio", arguments->ratio, Between(1.0, 1e6),
              "Delay of a slow path, divided by that of the other paths");
  AddQuantity(*app, "--delay", arguments->delay, {.above = Duration{0}, .at_most = 10_s},
              "Round trip time of the paths that are not slow");
  AddQuantity(*app, "--rate", arguments->rate,
              {.at_least = BitRate{1'000}, .at_most = BitRate{100'000'000'000'000}},
              "Rate of each path");
  AddQuantity(*app, "--queue", arguments->queue, Between<int64_t>(0, 1'000'000),
              "Packets that the queue of a path holds, in addition to its bandwidth-delay product");
  AddQuantity(*app, "--flows", arguments->flows, Between<int64_t>(1, 1'000'000),
              "Flows that share the paths");
  app->add_option("--form", arguments->form_name, "corrected, or literal: as the paper prints it")
      ->check(CLI::IsMember({"corrected", "literal"}))
      ->capture_default_str();
  app->callback([&command, arguments] { command = [arguments] { return PrintPdlb(*arguments); }; });
}

// --- TR ---

struct TrArguments : TrInputs {
  std::vector<int64_t> all_flows = {20};
  std::vector<Bytes> sizes = {100_KB, 200_KB, 350_KB};
  std::vector<double> ratios = {1.5, 2.5, 3.5};
};

void PrintTrRow(const TrInputs& inputs) {
  const TrPrediction found = PredictTr(inputs.Case());
  fmt::print("{},{},{},{:.6f},{:.4f},{:.4f},{:.6f},{:.6f},{:.6f}\n", inputs.flows,
             inputs.size.count, inputs.ratio, found.disorder, found.window,
             Microseconds(found.round), Seconds(found.f_rps) * 1e3, Seconds(found.f_tr) * 1e3,
             Seconds(found.f_tr_consistent) * 1e3);
}

int PrintTr(TrArguments arguments) {
  if (arguments.good + arguments.bad == 0) {
    fmt::print(stderr, "heddle: --good, --bad: both are 0, so there is no path\n");
    return kExitBadInput;
  }
  fmt::print("flows,size_bytes,ratio,p_fr,window,round_us,f_rps_ms,f_tr_ms,f_tr_consistent_ms\n");
  for (const int64_t flows : arguments.all_flows) {
    for (const Bytes size : arguments.sizes) {
      for (const double ratio : arguments.ratios) {
        arguments.flows = flows;
        arguments.size = size;
        arguments.ratio = ratio;
        PrintTrRow(arguments);
      }
    }
  }
  return kExitDone;
}

void AddTr(CLI::App& models, std::function<int()>& command) {
  CLI::App* app = models.add_subcommand(
      "tr", "FCTs under random packet spraying and under TR, which keeps packets in order");
  const auto arguments = std::make_shared<TrArguments>();
  AddQuantity(*app, "--good", arguments->good, Between<int64_t>(0, 10'000), "Fast paths");
  AddQuantity(*app, "--bad", arguments->bad, Between<int64_t>(0, 10'000), "Slow paths");
  AddQuantity(*app, "--buffer", arguments->buffer, Between<int64_t>(1, 1'000'000'000),
              "Buffer of each path, in packets");
  AddQuantity(*app, "--rate", arguments->rate,
              {.at_least = BitRate{1'000}, .at_most = BitRate{100'000'000'000'000}},
              "Rate of each path");
  AddQuantity(*app, "--delay", arguments->delay, {.above = Duration{0}, .at_most = 10_s},
              "Round trip time of fast paths");
  AddQuantity(*app, "--dupthresh", arguments->dupthresh, Between<int64_t>(1, 100'000),
              "Duplicate ACKs after which a packet counts as lost");
  AddQuantities(*app, "--flows", arguments->all_flows, Between<int64_t>(1, 1'000'000'000),
                "Numbers of flows that share the paths");
  AddQuantities(*app, "--sizes", arguments->sizes, {.at_least = 1_B, .at_most = 1'000_MB},
                "Sizes of flows");
  AddQuantities(*app, "--ratios", arguments->ratios, Between(1.0, 1e6),
                "Delay of a slow path, divided by that of a fast path");
  app->callback([&command, arguments] { command = [arguments] { return PrintTr(*arguments); }; });
}

}  // namespace

void AddModelCommand(CLI::App& app, std::function<int()>& command) {
  CLI::App* models =
      app.add_subcommand("model", "Print the predictions of a paper's analytic model as CSV");
  models->require_subcommand(1);
  AddPdlb(*models, command);
  AddTr(*models, command);
}

}  // namespace heddle
