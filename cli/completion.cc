// SPDX-License-Identifier: Apache-2.0

#include "cli/completion.h"

#include <fmt/format.h>

#include <iterator>

namespace heddle {
namespace {

using Takes = OptionInfo::Takes;

// Quotes a text for a shell with single quotes: ' becomes '\''.
std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Writes bash and zsh code that puts an option's possible values into the variables words, files
// and folders.
std::string Reply(const OptionInfo& option) {
  switch (option.takes) {
    case Takes::kFile:
      return "files=1";
    case Takes::kFolder:
      return "folders=1";
    case Takes::kWord:
      return "words=" + Quoted(fmt::format("{}", fmt::join(option.words, " ")));
    case Takes::kNothing:
    case Takes::kOther:
      break;
  }
  return ":";
}

// Writes shell code that finds the command from the words before the last.
std::string Walk(const std::vector<CommandInfo>& commands) {
  std::string known;
  for (const CommandInfo& command : commands) {
    if (command.path == commands.front().path) continue;
    known += (known.empty() ? "" : "|") + Quoted(command.path);
  }
  return fmt::format(
      "    case \"$command $word\" in\n      {}) command=\"$command $word\" ;;\n    esac\n", known);
}

// Writes shell code for the values that may follow the last option.
std::string Values(const std::vector<CommandInfo>& commands) {
  std::string cases;
  for (const CommandInfo& command : commands) {
    for (const OptionInfo& option : command.options) {
      if (option.positional() || option.takes == Takes::kNothing) continue;
      std::string names;
      for (const std::string& name : option.names) {
        names += (names.empty() ? "" : "|") + Quoted(command.path + ":" + name);
      }
      cases += fmt::format("    {}) {} ;;\n", names, Reply(option));
    }
  }
  return cases;
}

// Writes shell code for other words: commands, or options and arguments.
std::string Arguments(const std::vector<CommandInfo>& commands) {
  std::string cases;
  for (const CommandInfo& command : commands) {
    std::string options;
    std::string positional;
    for (const OptionInfo& option : command.options) {
      for (const std::string& name : option.names) options += " " + name;
      if (option.positional()) positional = Reply(option);
    }
    const std::string below = fmt::format("{}", fmt::join(command.commands, " "));
    std::string reply = positional.empty() ? "words=" + Quoted(below) : positional;
    cases += fmt::format("        {}) options={}; {} ;;\n", Quoted(command.path),
                         Quoted(options.empty() ? "" : options.substr(1)), reply);
  }
  return cases;
}

// Writes the part that bash and zsh share. $line is the text up to the cursor.
std::string Analysis(const std::vector<CommandInfo>& commands) {
  return fmt::format(
      R"(  local command=heddle previous='' current='' word words='' options='' files='' folders=''
  for word in $line; do
    previous=$current
    current=$word
{}  done
  case "$line" in
    *' ') previous=$current; current='' ;;
  esac
  case "$command:$previous" in
{}    *)
      case "$command" in
{}      esac
      case "$current" in
        -*) words=$options; files=''; folders='' ;;
      esac ;;
  esac
)",
      Walk(commands), Values(commands), Arguments(commands));
}

}  // namespace

// Bash also cuts words at "=", so the text before the last "=" is removed from the replies.
std::string BashCompletion(const std::vector<CommandInfo>& commands) {
  return fmt::format(R"(# Bash completion of heddle; made by "heddle completion bash".
_heddle() {{
  local line=${{COMP_LINE:0:COMP_POINT}}
{}  local before=''
  case "$current" in
    *=*) before=${{current%"${{current##*=}}"}} ;;
  esac
  compopt +o nospace 2>/dev/null
  COMPREPLY=()
  if [ -n "$files" ]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  elif [ -n "$folders" ]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -d -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    COMPREPLY=("${{COMPREPLY[@]#"$before"}}")
  fi
}}
complete -F _heddle heddle
)",
                     Analysis(commands));
}

std::string ZshCompletion(const std::vector<CommandInfo>& commands) {
  return fmt::format(R"(#compdef heddle
# Zsh completion of heddle; made by "heddle completion zsh".
_heddle() {{
  emulate -L zsh
  setopt sh_word_split
  local line=$LBUFFER
{}  if [ -n "$files" ]; then
    _files
  elif [ -n "$folders" ]; then
    _files -/
  else
    compadd -- $words
  fi
}}
compdef _heddle heddle
)",
                     Analysis(commands));
}

std::string FishCompletion(const std::vector<CommandInfo>& commands) {
  std::string text =
      "# Fish completion of heddle; made by \"heddle completion fish\".\n"
      "function __heddle_is --description 'Whether the command typed so far is this one'\n"
      "  set -l command heddle\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    switch \"$command $word\"\n"
      "      case";
  for (const CommandInfo& command : commands) {
    if (command.path != commands.front().path) text += " " + Quoted(command.path);
  }
  text +=
      "\n        set command \"$command $word\"\n"
      "    end\n"
      "  end\n"
      "  test \"$command\" = \"$argv\"\n"
      "end\n"
      "complete -c heddle -f\n";
  auto out = std::back_inserter(text);
  for (const CommandInfo& command : commands) {
    const std::string here =
        fmt::format("complete -c heddle -n {}", Quoted("__heddle_is " + command.path));
    for (const std::string& below : command.commands) {
      fmt::format_to(out, "{} -a {}\n", here, Quoted(below));
    }
    for (const OptionInfo& option : command.options) {
      text += here;
      for (const std::string& name : option.names) {
        const bool is_long = name.starts_with("--");
        fmt::format_to(out, " -{} {}", is_long ? 'l' : 's', name.substr(is_long ? 2 : 1));
      }
      if (option.takes == Takes::kFile) text += " -F";
      if (option.takes == Takes::kFolder) text += " -a '(__fish_complete_directories)'";
      if (option.takes == Takes::kWord) {
        fmt::format_to(out, " -a {}", Quoted(fmt::format("{}", fmt::join(option.words, " "))));
      }
      if (option.takes != Takes::kNothing && !option.positional()) text += " -r";
      fmt::format_to(out, " -d {}\n", Quoted(option.meaning));
    }
  }
  return text;
}

}  // namespace heddle
