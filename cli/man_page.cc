// SPDX-License-Identifier: Apache-2.0

#include "cli/man_page.h"

#include <fmt/format.h>

#include <iterator>

#include "experiment/version.h"

namespace heddle {
namespace {

// Escapes a text for roff; a line must not begin with a control character.
std::string Roff(const std::string& text) {
  std::string roff;
  for (const char c : text) {
    if (c == '\\') {
      roff += "\\e";
    } else if (c == '-') {
      roff += "\\-";
    } else {
      roff += c;
    }
  }
  return roff.starts_with('.') || roff.starts_with('\'') ? "\\&" + roff : roff;
}

std::string Sentence(const std::string& text) {
  return Roff(text) + (text.empty() || text.ends_with('.') ? "" : ".");
}

void AppendOption(const OptionInfo& option, std::string& page) {
  auto out = std::back_inserter(page);
  page += ".TP\n";
  std::string names;
  for (const std::string& name : option.names) {
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", Roff(name));
  }
  const std::string value =
      option.value.empty() ? "" : fmt::format("\\fI{}\\fR", Roff(option.value));
  fmt::format_to(out, "{}{}{}\n{}", names, names.empty() || value.empty() ? "" : " ", value,
                 Sentence(option.meaning));
  if (!option.preset.empty()) fmt::format_to(out, " Default: {}.", Roff(option.preset));
  page += "\n";
}

// Returns true for all options but --help, which every command has.
bool IsOwn(const OptionInfo& option) {
  return option.names.empty() || option.names.back() != "--help";
}

}  // namespace

std::string ManPage(const std::vector<CommandInfo>& commands) {
  const CommandInfo& program = commands.front();
  std::string page = fmt::format(
      ".TH HEDDLE 1 \"\" \"heddle {}\" \"User Commands\"\n"
      ".SH NAME\n"
      "heddle \\- simulate load balancing in datacenter networks, packet by packet\n"
      ".SH SYNOPSIS\n"
      ".B heddle\n"
      ".I command\n"
      "[\\fIoptions\\fR]\n"
      ".SH DESCRIPTION\n"
      "{}\n"
      "An experiment is a file in YAML: a network, a transport, a load balancer and the traffic.\n"
      "Heddle runs it and writes results for each flow and each link as CSV.\n"
      ".SH OPTIONS\n",
      Version(), Sentence(program.meaning));
  for (const OptionInfo& option : program.options) AppendOption(option, page);
  page += ".SH COMMANDS\nEach command prints its options with \\fB\\-\\-help\\fR.\n";
  for (size_t i = 1; i < commands.size(); ++i) {
    const CommandInfo& command = commands[i];
    fmt::format_to(std::back_inserter(page), ".SS {}\n{}\n", Roff(command.path),
                   Sentence(command.meaning));
    for (const OptionInfo& option : command.options) {
      if (IsOwn(option)) AppendOption(option, page);
    }
  }
  page +=
      ".SH EXIT STATUS\n"
      ".TP\n.B 0\nDone.\n"
      ".TP\n.B 1\nThe run failed, or its result is incomplete.\n"
      ".TP\n.B 2\nWrong usage, or a mistake in an experiment.\n"
      ".TP\n.B 3\nA broken invariant: a bug in heddle.\n"
      ".TP\n.B 130, 143\nStopped by a signal; there are no results.\n"
      ".SH ENVIRONMENT\n"
      ".TP\n.B HEDDLE_THREADS\nThreads of one simulation, unless \\fB\\-\\-threads\\fR is given.\n"
      ".SH EXAMPLES\n"
      ".nf\n"
      "heddle run experiment.yaml \\-\\-out results/first\n"
      "heddle describe letflow\n"
      "heddle trace experiment.yaml \\-\\-set lb=ecmp \\-\\-flow 0,3\\-5\n"
      ".fi\n"
      ".SH SEE ALSO\n"
      ".BR wireshark (1),\n"
      ".BR tshark (1)\n";
  return page;
}

}  // namespace heddle
