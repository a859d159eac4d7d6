// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/help.h"

#include <algorithm>

namespace byoc::cli {
namespace {

using Row = std::pair<std::string, std::string>;

void add_rows(std::string& out, const std::string& title, const std::vector<Row>& rows) {
  if (rows.empty()) return;
  size_t width = 0;
  for (const Row& row : rows) width = std::max(width, row.first.size());
  out += cat("\n", title, "\n");
  for (const auto& [left, right] : rows) {
    out += cat("  ", left, right.empty() ? "" : std::string(width - left.size() + 2, ' '), right,
               "\n");
  }
}

bool is_list(const Option& option) {
  return std::holds_alternative<std::vector<std::string>*>(option.to);
}
bool is_optional(const Option& option) {
  return std::holds_alternative<std::optional<std::string>*>(option.to);
}

std::string shown(const Option& option) {
  std::string out;
  for (const std::string& name : names_of(option)) out += cat(out.empty() ? "" : ", ", name);
  if (option.value.empty()) return out;
  return is_optional(option) ? cat(out, "[=", option.value, "]") : cat(out, " ", option.value);
}

std::vector<Row> argument_rows(const std::vector<Option>& options) {
  std::vector<Row> rows;
  for (const Option& option : options) {
    if (is_positional(option)) rows.emplace_back(shown(option), option.doc);
  }
  return rows;
}

std::vector<Row> option_rows(const std::vector<Option>& options, const std::string& group) {
  std::vector<Row> rows;
  for (const Option& option : options) {
    if (!is_positional(option) && option.group == group)
      rows.emplace_back(shown(option), option.doc);
  }
  return rows;
}

/// Adds the options that the command shares with others: after its own ones, and only by name in
/// the short help.
void add_groups(std::string& out, const std::vector<Option>& options, bool full) {
  for (const std::string& group : groups_of(options)) {
    if (group.empty()) continue;
    const std::vector<Row> rows = option_rows(options, group);
    if (full) {
      add_rows(out, cat(group, ":"), rows);
      continue;
    }
    std::string names;
    for (const Option& option : options)
      names += option.group == group ? cat(" ", names_of(option).back()) : "";
    out += cat("\n", group, " (--help explains them):\n ", names, "\n");
  }
}

std::string usage(const Command& command, const std::string& path) {
  std::string out = cat("usage: ", path);
  if (!command.commands.empty()) out += " COMMAND";
  for (const Option& option : command.options) {
    if (!is_positional(option)) continue;
    std::string name = option.names + (is_list(option) ? "..." : "");
    out += option.required ? cat(" ", name) : cat(" [", name, "]");
  }
  return out + " [options]\n";
}

}  // namespace

bool is_positional(const Option& option) { return option.names[0] != '-'; }

std::vector<std::string> names_of(const Option& option) {
  std::vector<std::string> names;
  size_t begin = 0;
  while (begin <= option.names.size()) {
    size_t end = std::min(option.names.find(',', begin), option.names.size());
    names.push_back(option.names.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

std::vector<std::string> groups_of(const std::vector<Option>& options) {
  std::vector<std::string> out = {""};
  for (const Option& option : options) {
    if (std::find(out.begin(), out.end(), option.group) == out.end()) out.push_back(option.group);
  }
  return out;
}

std::string help_text(const Command& root, const Command& command, const std::string& path,
                      bool full) {
  std::string out = cat(path, ": ", command.about, "\n");
  std::vector<Row> examples, commands;
  for (const Example& example : command.examples) examples.emplace_back(example.line, example.what);
  for (const Command& sub : command.commands) commands.emplace_back(sub.name, sub.about);
  if (full) add_rows(out, "examples:", examples);
  out += cat("\n", usage(command, path));
  add_rows(out, "commands:", commands);
  add_rows(out, "arguments:", argument_rows(command.options));
  if (&command != &root) add_rows(out, "options:", option_rows(command.options, ""));
  if (&command != &root) add_groups(out, command.options, full);
  auto common = option_rows(root.options, "");
  common.emplace_back("-h, --help", "short help, full help");
  if (&command == &root) common.emplace_back("--version", "the version");
  add_rows(out, &command == &root ? "options:" : "options of every command:", common);
  if (!full) return out;
  if (!command.notes.empty()) out += cat("\n", command.notes, "\n");
  add_rows(out, "exit codes:",
           {{"0", "done"},
            {"1", "the work failed"},
            {"2", "wrong usage"},
            {"3", "a defect of byoc"},
            {"130", "interrupted"}});
  return out;
}

}  // namespace byoc::cli
