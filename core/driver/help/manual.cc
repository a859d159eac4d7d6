// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

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

std::string option_term(const Option& option) {
  std::string out;
  for (const std::string& name : cli::names_of(option))
    out += (out.empty() ? "" : ", ") + bold(name);
  bool optional = std::holds_alternative<std::optional<std::string>*>(option.to);
  if (option.value.empty()) return out;
  return optional ? cat(out, "[=", italic(option.value), "]") : cat(out, " ", italic(option.value));
}

std::string options_section(const std::string& title, const std::vector<Option>& options,
                            bool positional) {
  std::string out;
  for (const Option& option : options) {
    if (cli::is_positional(option) != positional) continue;
    out += cat(".TP\n", positional ? italic(option.names) : option_term(option), "\n",
               escaped(option.doc), "\n");
  }
  return out.empty() ? "" : cat(".SH ", title, "\n", out);
}

std::string examples_section(const Command& command) {
  std::string out = ".SH EXAMPLES\n";
  for (const cli::Example& example : command.examples)
    out += cat(".TP\n", bold(example.line), "\n", escaped(example.what), "\n");
  return out;
}

constexpr const char* kExitSection =
    ".SH EXIT STATUS\n.TP\n0\ndone\n.TP\n1\nthe work failed\n.TP\n2\nwrong usage\n.TP\n3\na defect "
    "of "
    "byoc\n.TP\n130\ninterrupted\n";

std::string head(const std::string& name, const std::string& about) {
  std::string upper = name;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return cat(".\\\" SPDX-License-Identifier: Apache-2.0\n.TH ", escaped(upper), " 1 \"\" \"byoc ",
             version(), "\"\n.SH NAME\n", escaped(name), " \\- ", escaped(about), "\n");
}

std::string command_page(const Command& root, const Command& command) {
  std::string usage = cat(bold(root.name), " ", bold(command.name));
  for (const Option& option : command.options) {
    if (!cli::is_positional(option)) continue;
    usage +=
        option.required ? cat(" ", italic(option.names)) : cat(" [", italic(option.names), "]");
  }
  std::string notes;
  if (!command.notes.empty()) notes = cat(".SH NOTES\n", escaped(command.notes), "\n");
  return cat(head(cat(root.name, "-", command.name), command.about), ".SH SYNOPSIS\n", usage, " [",
             italic("options"), "]\n", options_section("ARGUMENTS", command.options, true),
             options_section("OPTIONS", command.options, false),
             options_section("OPTIONS OF EVERY COMMAND", root.options, false), notes,
             examples_section(command), kExitSection, ".SH SEE ALSO\n.BR ", root.name, " (1)\n");
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
             options_section("OPTIONS", root.options, false), examples_section(root), kExitSection,
             ".SH SEE ALSO\n", pages, "\n");
}

}  // namespace

std::vector<ManualPage> manual_pages(const Command& root) {
  std::vector<ManualPage> pages = {{root.name + ".1", program_page(root)}};
  for (const Command& command : root.commands)
    pages.push_back({cat(root.name, "-", command.name, ".1"), command_page(root, command)});
  return pages;
}

}  // namespace byoc::driver
