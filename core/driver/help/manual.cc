// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "byoc/base/version.h"
#include "core/driver/help/pages.h"
#include "runtime/cli/help.h"

namespace byoc::driver {
namespace {

using cli::Command;
using cli::Option;

/// Returns text for troff: backslashes and hyphens are escaped, and so is the begin of a line that
/// looks like a request.
std::string escaped(std::string_view text) {
  std::string out;
  bool begins = true;
  for (char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else out += c;
    begins = c == '\n';
  }
  return out;
}

std::string bold(std::string_view text) { return cat("\\fB", escaped(text), "\\fR"); }
std::string italic(std::string_view text) { return cat("\\fI", escaped(text), "\\fR"); }

std::string upper_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string option_term(const Option& option) {
  std::string out;
  for (const std::string& name : cli::names_of(option))
    out += (out.empty() ? "" : ", ") + bold(name);
  bool optional = std::holds_alternative<std::optional<std::string>*>(option.to);
  if (option.value.empty()) return out;
  return optional ? cat(out, "[=", italic(option.value), "]") : cat(out, " ", italic(option.value));
}

std::string options_section(const std::string& title, const std::vector<Option>& options,
                            bool positional, const std::string& group = "") {
  std::string out;
  for (const Option& option : options) {
    if (cli::is_positional(option) != positional || (!positional && option.group != group))
      continue;
    out += cat(".TP\n", positional ? italic(option.names) : option_term(option), "\n",
               escaped(option.doc), "\n");
  }
  return out.empty() ? "" : cat(".SH ", title, "\n", out);
}

/// Returns a section per group of options that the command shares with others.
std::string group_sections(const std::vector<Option>& options) {
  std::string out;
  for (const std::string& group : cli::groups_of(options))
    if (!group.empty()) out += options_section(escaped(upper_case(group)), options, false, group);
  return out;
}

std::string examples_section(const std::vector<cli::Example>& examples) {
  std::string out = ".SH EXAMPLES\n";
  for (const cli::Example& example : examples)
    out += cat(".TP\n", bold(example.line), "\n", escaped(example.what), "\n");
  return out;
}

constexpr const char* kExitSection =
    ".SH EXIT STATUS\n.TP\n0\ndone\n.TP\n1\nthe work failed\n.TP\n2\nwrong usage\n.TP\n3\na defect "
    "of "
    "byoc\n.TP\n130\ninterrupted\n";

std::string head(const std::string& name, const std::string& about) {
  return cat(".\\\" SPDX-License-Identifier: Apache-2.0\n.TH ", escaped(upper_case(name)),
             " 1 \"\" \"byoc ", version(), "\"\n.SH NAME\n", escaped(name), " \\- ", escaped(about),
             "\n");
}

/// Returns "byoc run MODEL [options]".
std::string usage(const std::string& words, const Command& command) {
  std::string out = words;
  for (const Option& option : command.options) {
    if (!cli::is_positional(option)) continue;
    out += option.required ? cat(" ", italic(option.names)) : cat(" [", italic(option.names), "]");
  }
  return cat(out, " [", italic("options"), "]\n");
}

std::string notes_section(const Command& command) {
  return command.notes.empty() ? "" : cat(".SH NOTES\n", escaped(command.notes), "\n");
}

/// Returns the sections of a program that shares the page of a command: its titles have its name.
std::string shared_sections(const Command& program) {
  std::string upper = upper_case(program.name);
  std::string out = cat(".SH THE PROGRAM ", escaped(upper), "\n", bold(program.name), ": ",
                        escaped(program.about), ", by the runtime alone.\n");
  out += options_section(cat("ARGUMENTS OF ", escaped(upper)), program.options, true);
  out += options_section(cat("OPTIONS OF ", escaped(upper)), program.options, false);
  return out + notes_section(program);
}

std::string command_page(const Command& root, const Command& command, const Command* program) {
  std::string synopsis = usage(cat(bold(root.name), " ", bold(command.name)), command);
  std::vector<cli::Example> examples = command.examples;
  if (program != nullptr) {
    synopsis += cat(".br\n", usage(bold(program->name), *program));
    examples.insert(examples.end(), program->examples.begin(), program->examples.end());
  }
  return cat(head(cat(root.name, "-", command.name), command.about), ".SH SYNOPSIS\n", synopsis,
             options_section("ARGUMENTS", command.options, true),
             options_section("OPTIONS", command.options, false), group_sections(command.options),
             options_section("OPTIONS OF EVERY COMMAND", root.options, false),
             notes_section(command), program != nullptr ? shared_sections(*program) : "",
             examples_section(examples), kExitSection, ".SH SEE ALSO\n.BR ", root.name, " (1)\n");
}

std::string program_page(const Command& root) {
  std::string commands = ".SH COMMANDS\n", pages;
  for (const Command& command : root.commands) {
    commands += cat(".TP\n", bold(command.name), "\n", escaped(command.about), "\n");
    pages +=
        cat(pages.empty() ? "" : ",\n", ".BR ", escaped(cat(root.name, "-", command.name)), " (1)");
  }
  return cat(head(root.name, root.about), ".SH SYNOPSIS\n", bold(root.name), " ", italic("COMMAND"),
             " [", italic("options"), "]\n", commands,
             options_section("OPTIONS", root.options, false), examples_section(root.examples),
             kExitSection, ".SH SEE ALSO\n", pages, "\n");
}

}  // namespace

std::vector<ManualPage> manual_pages(const Command& root, std::span<const Command> programs) {
  std::vector<ManualPage> pages = {{root.name + ".1", program_page(root)}};
  std::set<std::string> shared;
  for (const Command& command : root.commands) {
    std::string name = cat(root.name, "-", command.name);
    auto same = std::find_if(programs.begin(), programs.end(),
                             [&](const Command& program) { return program.name == name; });
    bool is_shared = same != programs.end();
    if (is_shared) shared.insert(name);
    pages.push_back({name + ".1", command_page(root, command, is_shared ? &*same : nullptr)});
  }
  for (const Command& program : programs) {
    if (shared.count(program.name)) continue;
    pages.push_back({program.name + ".1",
                     cat(head(program.name, program.about), ".SH SYNOPSIS\n",
                         usage(bold(program.name), program),
                         options_section("ARGUMENTS", program.options, true),
                         options_section("OPTIONS", program.options, false), notes_section(program),
                         examples_section(program.examples), kExitSection)});
  }
  return pages;
}

}  // namespace byoc::driver
