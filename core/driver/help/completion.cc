// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/driver/help/pages.h"
#include "runtime/cli/help.h"

namespace byoc::driver {
namespace {

using cli::Command;
using cli::Option;

bool is_flag(const Option& option) { return std::holds_alternative<bool*>(option.to); }
bool has_optional_value(const Option& option) {
  return std::holds_alternative<std::optional<std::string>*>(option.to);
}
bool is_list(const Option& option) {
  return std::holds_alternative<std::vector<std::string>*>(option.to);
}

std::vector<Option> with_help(const std::vector<Option>& own, const std::vector<Option>& common) {
  static bool unused = false;
  std::vector<Option> out;
  for (const Option& option : own) {
    if (!cli::is_positional(option)) out.push_back(option);
  }
  out.insert(out.end(), common.begin(), common.end());
  out.push_back({"-h", "", "short help", &unused});
  out.push_back({"--help", "", "full help", &unused});
  return out;
}

/// Returns the names of the options for which `chosen` holds, with spaces between.
template <class Chosen>
std::string names(const std::vector<Option>& options, Chosen&& chosen) {
  std::string out;
  for (const Option& option : options) {
    if (!chosen(option)) continue;
    for (const std::string& name : cli::names_of(option)) out += (out.empty() ? "" : " ") + name;
  }
  return out;
}

/// Returns the words that complete the value of an option: an argument of bash's compgen.
std::string bash_values(const Option& option) {
  if (option.value.starts_with("FILE")) return "-f";
  if (option.value == "DIR") return "-d";
  if (std::string values = values_of(option); !values.empty()) return cat("-W '", values, "'");
  return option.value.find("DIR") != std::string::npos ? "-d" : "-W ''";
}

std::string bash_case(const Command& command, const std::vector<Option>& common) {
  std::vector<Option> options = with_help(command.options, common);
  std::string text = cat("    ", command.name, ")\n      case $previous in\n");
  for (const Option& option : options) {
    if (is_flag(option) || has_optional_value(option)) continue;
    std::string pattern;
    for (const std::string& name : cli::names_of(option))
      pattern += (pattern.empty() ? "" : "|") + name;
    text += cat("        ", pattern, ") _byoc_words ", bash_values(option), "; return ;;\n");
  }
  return cat(text, "      esac\n      options='",
             names(options, [](const Option&) { return true; }), "' ;;\n");
}

std::string command_names(const Command& root, std::string_view between) {
  std::string out;
  for (const Command& command : root.commands) out += cat(out.empty() ? "" : between, command.name);
  return out;
}

/// Returns the text inside of single quotes, with the characters escaped that _arguments reads.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\'') out += "'\\''";
    else if (c == '[' || c == ']' || c == ':' || c == '\\') out += cat("\\", c);
    else out += c;
  }
  return out;
}

std::string zsh_action(const Option& option) {
  if (std::string values = values_of(option); !values.empty()) return cat("(", values, ")");
  if (option.value.find("DIR") != std::string::npos || option.names == "DIR") return "_files -/";
  bool is_path =
      option.value.starts_with("FILE") || option.names == "FILE" || option.names == "MODEL";
  return is_path ? "_files" : "";
}

std::string zsh_option(const Option& option) {
  std::vector<std::string> all = cli::names_of(option);
  std::string list;
  for (const std::string& name : all) list += (list.empty() ? "" : ",") + name;
  std::string before = is_list(option) ? "'*'" : "";
  if (all.size() > 1 && !is_list(option)) {
    std::string excluded;
    for (const std::string& name : all) excluded += (excluded.empty() ? "" : " ") + name;
    before = cat("'(", excluded, ")'");
  }
  std::string spec = all.size() > 1 ? cat(before, "{", list, "}") : cat(before, list);
  spec += cat("'", has_optional_value(option) ? "=-" : "", "[", zsh_text(option.doc), "]");
  if (is_flag(option)) return spec + "'";
  return cat(spec, has_optional_value(option) ? "::" : ":", zsh_text(option.value), ":",
             zsh_action(option), "'");
}

std::string zsh_case(const Command& command, const std::vector<Option>& common) {
  std::string text = cat("        ", command.name, ")\n          _arguments");
  for (const Option& option : with_help(command.options, common))
    text += cat(" \\\n            ", zsh_option(option));
  for (const Option& option : command.options) {
    if (!cli::is_positional(option)) continue;
    text += cat(" \\\n            '", is_list(option) ? "*" : "", ":", zsh_text(option.names), ":",
                zsh_action(option), "'");
  }
  return text + " ;;\n";
}

}  // namespace

std::string values_of(const Option& option) {
  if (option.value == "WHEN") return "auto always never";
  if (option.value == "CPU")
    return "native x86-64-v2 x86-64-v3 x86-64-v3+avxvnni x86-64-v4 x86-64-v4+avx512vnni "
           "x86-64-v4+avx512vnni+amx-int8 aarch64";
  if (option.value == "FORMAT") return "npy pb";
  return option.value == "LEVEL" ? option.names == "-O" ? "0 1 2" : "core full" : "";
}

std::string bash_completion(const Command& root) {
  std::string cases;
  for (const Command& command : root.commands) cases += bash_case(command, root.options);
  std::string all = names(with_help({}, root.options), [](const Option&) { return true; });
  std::string name = root.name;
  return cat(
      "# SPDX-License-Identifier: Apache-2.0\n# Completion of ", name, " for bash.\n_", name,
      "() {\n  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local command='' options='' k\n"
      "  _byoc_words() { mapfile -t COMPREPLY < <(compgen \"$@\" -- \"$current\"); }\n"
      "  for ((k = 1; k < COMP_CWORD; ++k)); do\n    case ${COMP_WORDS[k]} in\n      ",
      command_names(root, "|"),
      ") command=${COMP_WORDS[k]}; break ;;\n    esac\n  done\n"
      "  case $command in\n    '') _byoc_words -W 'help ",
      command_names(root, " "), " ", all, " --version'; return ;;\n", cases,
      "  esac\n  if [[ $current == -* ]]; then\n    _byoc_words -W \"$options\"\n  else\n"
      "    _byoc_words -f\n  fi\n}\ncomplete -o filenames -F _",
      name, " ", name, "\n");
}

std::string zsh_completion(const Command& root) {
  std::string commands, cases;
  for (const Command& command : root.commands) {
    commands += cat("    '", zsh_text(command.name), ":", zsh_text(command.about), "'\n");
    cases += zsh_case(command, root.options);
  }
  return cat("#compdef ", root.name, "\n# SPDX-License-Identifier: Apache-2.0\n\n_", root.name,
             "() {\n  local state line\n  local -a commands\n  commands=(\n", commands,
             "  )\n  _arguments -C '1:command:->command' '*::argument:->argument'\n"
             "  case $state in\n    command) _describe command commands ;;\n    argument)\n"
             "      case $words[1] in\n",
             cases, "      esac ;;\n  esac\n}\n\n_", root.name, " \"$@\"\n");
}

}  // namespace byoc::driver
