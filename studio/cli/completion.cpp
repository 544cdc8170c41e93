// Completion scripts, made from the tree of commands and flags so that they cannot fall behind it.
#include <fmt/format.h>

#include "studio/cli/commands.h"

namespace ipex_studio {
namespace {

struct Level {
  std::string path;  // words of the command: "", "run", "db import"
  const CLI::App* app;
};

void collect(const CLI::App& app, const std::string& path, std::vector<Level>& levels) {
  levels.push_back({path, &app});
  for (const CLI::App* command : app.get_subcommands({})) {
    collect(*command, path.empty() ? command->get_name() : path + " " + command->get_name(), levels);
  }
}

std::vector<std::string> flagsOf(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    for (const std::string& name : option->get_snames()) flags.push_back("-" + name);
  }
  return flags;
}

std::vector<std::string> commandsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

// The first sentence of a description for zsh, without characters that would end the quotes or the brackets.
std::string plain(std::string text) {
  if (const auto end = text.find(". "); end != std::string::npos) text.resize(end + 1);
  std::string result;
  for (const char c : text) {
    if (c == '\'' || c == '[' || c == ']' || c == ':' || c == '`' || c == '\\') {
      result += ' ';
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

std::string bashCompletion(const CLI::App& app) {
  std::vector<Level> levels;
  collect(app, "", levels);
  std::string cases;
  for (const Level& level : levels) {
    cases += fmt::format("    \"{}\") words=\"{}\"; flags=\"{}\" ;;\n", level.path, joined(commandsOf(*level.app)),
                         joined(flagsOf(*level.app)));
  }
  std::vector<std::string> names;
  for (const Level& level : levels) {
    if (!level.path.empty()) names.push_back("\"" + level.path + "\"");
  }
  return fmt::format(R"sh(# bash completion for ipex-studio: source <(ipex-studio completion bash)
_ipex_studio() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} path="" words="" flags="" i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "${{path:+$path }}${{COMP_WORDS[i]}}" in
      {}) path="${{path:+$path }}${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$path" in
{}  esac
  case "$previous" in
    --precision) COMPREPLY=($(compgen -W "fp32 bf16 fp16 int8" -- "$current")); return ;;
    --form) COMPREPLY=($(compgen -W "compiled portable" -- "$current")); return ;;
    --format) COMPREPLY=($(compgen -W "txt dot svg json" -- "$current")); return ;;
    --device) COMPREPLY=($(compgen -W "cpu xpu opencl" -- "$current")); return ;;
    --theme) COMPREPLY=($(compgen -W "dark light contrast" -- "$current")); return ;;
    --disable|--after|--before)
      COMPREPLY=($(compgen -W "$(ipex-studio passes 2>/dev/null | cut -d' ' -f1)" -- "$current")); return ;;
  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$current"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$current") $(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _ipex_studio ipex-studio
)sh",
                     fmt::join(names, "|"), cases);
}

std::string zshCompletion(const CLI::App& app) {
  std::vector<Level> levels;
  collect(app, "", levels);
  std::string cases;
  for (const Level& level : levels) {
    std::string items;
    for (const CLI::App* command : level.app->get_subcommands({})) {
      items += fmt::format(" '{}:{}'", command->get_name(), plain(command->get_description()));
    }
    std::string flags;
    for (const CLI::Option* option : level.app->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        flags += fmt::format(" '--{}:{}'", name, plain(option->get_description()));
      }
    }
    cases += fmt::format("    ({})\n      items=({})\n      flags=({}) ;;\n",
                         level.path.empty() ? "''" : "'" + level.path + "'", items, flags);
  }
  std::vector<std::string> names;
  for (const Level& level : levels) {
    if (!level.path.empty()) names.push_back("'" + level.path + "'");
  }
  return fmt::format(R"sh(#compdef ipex-studio
# zsh completion for ipex-studio: source <(ipex-studio completion zsh)
_ipex_studio() {{
  local where="" word
  local -a items flags
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    case "${{where:+$where }}$word" in
      ({}) where="${{where:+$where }}$word" ;;
    esac
  done
  case "$where" in
{}  esac
  if [[ $words[CURRENT] == -* ]]; then
    _describe 'flag' flags
  else
    (( $#items )) && _describe 'command' items
    _files
  fi
}}
compdef _ipex_studio ipex-studio
)sh",
                     fmt::join(names, "|"), cases);
}

int printCompletion(const CommandLine& line) {
  CommandLine unused;
  const auto app = makeApp(unused);
  printText(line.shell == "bash" ? bashCompletion(*app) : zshCompletion(*app));
  return 0;
}

}  // namespace ipex_studio
