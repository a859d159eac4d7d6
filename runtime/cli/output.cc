// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "byoc/base/file.h"
#include "byoc/base/json.h"
#include "byoc/base/version.h"

namespace byoc::cli {
namespace {

/// The errno of the first write to stdout that failed; 0: none did.
std::atomic<int> out_error{0};

void write_to(std::FILE* file, std::string_view text) {
  errno = 0;
  const bool wrote = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if ((std::fflush(file) == 0 && wrote) || file != stdout) return;
  int none = 0;
  out_error.compare_exchange_strong(none, errno != 0 ? errno : EIO);
}

Status write_json(const CommonOptions& common, std::string_view what, bool ok, const Json& fields) {
  const std::string text = json_text(what, ok, fields);
  if (*common.json != "-") return write_file(*common.json, text);
  write_to(stdout, text);
  return {};
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

size_t width_of(std::string_view text) {  // code points, not bytes
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

struct TimeUnit {
  double ns;
  std::string_view name;
};

TimeUnit unit_for(double ns) {
  if (ns < 1e6) return {1e3, " us"};
  if (ns < 1e9) return {1e6, " ms"};
  return {1e9, " s"};
}

/// Returns the number of decimals that shows three digits, at most `most`.
int decimals_for(double value, int most = 2) {
  int decimals = value < 100 ? value < 10 ? 2 : 1 : 0;
  for (double limit = 1; decimals < most && value < limit; limit /= 10) ++decimals;
  return decimals;
}

}  // namespace

std::string json_text(std::string_view what, bool ok, const nlohmann::ordered_json& fields) {
  Json json = {{"schema", cat("byoc.", what, "/1")}, {"byoc", version()}, {"ok", ok}};
  for (const auto& [name, value] : fields.items()) json[name] = value;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status print_json(const CommonOptions& common, std::string_view what,
                  const nlohmann::ordered_json& fields) {
  return common.json ? write_json(common, what, true, fields) : Status();
}

namespace {

/// Returns the text with control characters as "\x1b": names in files of strangers must not
/// reach the terminal as commands.
std::string without_controls(std::string_view text) {
  std::string out;
  for (char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if ((code >= 32 && code != 127) || c == '\n' || c == '\t') {
      out += c;
      continue;
    }
    static constexpr char kDigits[] = "0123456789abcdef";
    out += cat("\\x", std::string(1, kDigits[code >> 4]), std::string(1, kDigits[code & 15]));
  }
  return out;
}

}  // namespace

void print_error(const Status& status, const CommonOptions& common, std::string_view command) {
  std::string text = without_controls(status.to_string());
  size_t colon = text.find(": ");
  bool color = use_color(common, Stream::kErr);
  write_to(stderr, cat(paint(text.substr(0, colon), "1;31", color), text.substr(colon), "\n"));
  if (!common.json) return;
  std::string what(command.substr(command.rfind(' ') + 1));
  Json error = {{"slug", status.slug()},
                {"message", status.message()},
                {"where", status.where()},
                {"help", status.help()}};
  Status written = write_json(common, what, false, {{"error", error}});
  if (!written.ok()) write_to(stderr, written.to_string() + "\n");
}

void print_warning(std::string_view text, const CommonOptions& common) {
  if (common.quiet) return;
  write_to(stderr, cat(paint("warning", "1;33", use_color(common, Stream::kErr)), ": ",
                       without_controls(text), "\n"));
}

void print_text(std::string_view text, const CommonOptions& common) {
  if (!common.json || *common.json != "-") write_to(stdout, text);
}

void prepare_streams() {
  // A closed stream would give its number to the next file that is opened, and texts would go
  // there. A folder takes the number instead: reading and writing it fails.
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)::open("/", O_RDONLY | O_DIRECTORY);
  }
  std::signal(SIGXFSZ, SIG_IGN);  // the write fails with EFBIG, which has a place and a cure
}

Status check_ending(std::string_view flag, const std::string& path, std::string_view what,
                    std::string_view endings) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  using std::filesystem::file_type;
  const std::string ending = std::filesystem::path(path).extension().string();
  const bool is_device = type != file_type::regular && type != file_type::not_found;
  if (is_device || ending.empty() || endings.find(cat(" ", ending, " ")) != endings.npos) return {};
  return usage_error(cat(flag, " writes ", what, ", and ", path, " is named as another form"))
      .with_help(cat("name it with", endings.substr(0, endings.find(' ', 1))));
}

Status check_printed() {
  const int error = out_error.load();
  if (error == 0) return {};
  return system_error("cannot write the result to", "standard output", error)
      .with_slug("output")
      .with_help("free space there, or send the output to another file");
}

bool use_color(const CommonOptions& common, Stream stream) {
  if (common.color != "auto") return common.color == "always";
  if (is_set("NO_COLOR")) return false;
  if (is_set("CLICOLOR_FORCE")) return true;
  const char* term = std::getenv("TERM");
  return ::isatty(stream == Stream::kOut ? 1 : 2) && term != nullptr &&
         std::string_view(term) != "dumb";
}

std::string paint(std::string_view text, std::string_view style, bool color) {
  return color ? cat("\x1b[", style, "m", text, "\x1b[0m") : std::string(text);
}

std::string format_fixed(double value, int decimals) {
  char text[64];
  int n = std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return {text, static_cast<size_t>(std::clamp(n, 0, 63))};
}

std::string format_time(double ns) { return format_times({&ns, 1})[0]; }

std::vector<std::string> format_times(std::span<const double> ns) {
  double largest = 0, smallest = std::numeric_limits<double>::infinity();
  for (double value : ns) {
    largest = std::max(largest, value);
    if (value > 0) smallest = std::min(smallest, value);
  }
  TimeUnit unit = unit_for(largest);
  int decimals = decimals_for(smallest / unit.ns, 3);
  std::vector<std::string> out;
  for (double value : ns)
    out.push_back(format_fixed(value / unit.ns, decimals) + std::string(unit.name));
  return out;
}

std::string format_mib(uint64_t bytes) {
  double mib = static_cast<double>(bytes) / (1 << 20);
  return format_fixed(mib, decimals_for(mib)) + " MiB";
}

Table::Table(std::vector<std::string> titles) : titles_(std::move(titles)) {
  for (std::string& title : titles_) {
    right_.push_back(title.starts_with('>'));
    if (right_.back()) title.erase(0, 1);
  }
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(titles_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<size_t> widths;
  for (size_t k = 0; k < titles_.size(); ++k) {
    widths.push_back(width_of(titles_[k]));
    for (const auto& row : rows_) widths[k] = std::max(widths[k], width_of(row[k]));
  }
  std::string out;
  auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (size_t k = 0; k < cells.size(); ++k) {
      std::string gap(widths[k] - width_of(cells[k]), ' ');
      line += cat(k ? "  " : "", right_[k] ? gap : "", cells[k], right_[k] ? "" : gap);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  add_line(titles_);
  for (const auto& row : rows_) add_line(row);
  return out;
}

}  // namespace byoc::cli
