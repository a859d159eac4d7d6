// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results on stdout, everything else on stderr; numbers with units, tables, colour.
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cli/command.h"

namespace byoc::cli {

/// Returns {"schema":"byoc.<what>/1","byoc":version,"ok":ok, fields...} and a line break.
std::string json_text(std::string_view what, bool ok, const nlohmann::ordered_json& fields);
/// Prints json_text(what, true, fields) to the place that --json names.
Status print_json(const CommonOptions& common, std::string_view what,
                  const nlohmann::ordered_json& fields);
/// Prints an error on stderr as Status::to_string writes it, coloured; with --json also as a value
/// with "ok":false. `command` is "byoc run".
void print_error(const Status& status, const CommonOptions& common, std::string_view command);
/// Prints "warning: ..." on stderr, unless quiet.
void print_warning(std::string_view text, const CommonOptions& common);
/// Prints text for people on stdout; prints nothing when stdout holds JSON.
void print_text(std::string_view text, const CommonOptions& common);

/// Makes stdin, stdout and stderr numbers of no later file when they are closed, and a write past
/// `ulimit -f` an error instead of a signal. For the start of a command.
void prepare_streams();
/// Returns an error, slug "output", when a text or JSON value printed on stdout was not written.
Status check_printed();

/// Checks that a file for `what` ("SVG") has none or one of the endings (" .html .htm "): other
/// programs would read it as another form. Devices and "-" may have any name. Errors: slug "usage".
Status check_ending(std::string_view flag, const std::string& path, std::string_view what,
                    std::string_view endings);

enum class Stream { kOut, kErr };
/// Decides by --color, then by NO_COLOR, CLICOLOR_FORCE, then by the stream being a terminal.
bool use_color(const CommonOptions& common, Stream stream);
/// Returns the text in a style: "31" red, "1" bold, ... as ANSI numbers them.
std::string paint(std::string_view text, std::string_view style, bool color);

/// Returns "1.23 ms" for 1234567: us below 1 ms, ms below 1 s, then s; at least three digits.
std::string format_time(double ns);
/// Formats all times in the unit of the largest.
std::vector<std::string> format_times(std::span<const double> ns);
std::string format_mib(uint64_t bytes);  // "1.25 MiB"
std::string format_fixed(double value, int decimals);

/// Prints columns as wide as their widest cell. A column whose title begins with '>' is aligned to
/// the right.
class Table {
 public:
  explicit Table(std::vector<std::string> titles);
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  std::string text() const;

 private:
  std::vector<std::string> titles_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace byoc::cli
