// SPDX-License-Identifier: Apache-2.0
#include "core/driver/bug_bundle.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <set>

#include "byoc/base/buffer.h"
#include "byoc/base/defect.h"
#include "byoc/base/env.h"
#include "byoc/base/file.h"
#include "byoc/base/version.h"
#include "byoc/plugin/abi.h"
#include "byoc/text/text.h"
#include "core/driver/commands/commands.h"
#include "core/pass/running_pass.h"
#include "core/process/program.h"
#include "runtime/cli/help.h"

namespace byoc::driver {
namespace {

namespace fs = std::filesystem;

std::span<char*> command_line;

/// Returns a word of a command line of the shell.
std::string quoted_word(std::string_view word) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("_-./=,:+@%").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return std::string(word);
  std::string out = "'";
  for (char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string command_text() {
  std::string out;
  for (const char* word : command_line) out += cat(out.empty() ? "" : " ", quoted_word(word));
  return out;
}

/// Returns the options that `byoc opt` has, with true for those that take a value. Left out are
/// those that have had their effect on the module, and those for the output.
std::map<std::string, bool> options_of_opt() {
  static constexpr std::array kDone{"--shape", "--bind",   "--state", "--entry",
                                    "-o",      "--output", "--list"};
  std::map<std::string, bool> out;
  for (const cli::Option& option : opt_command({}).options) {
    if (cli::is_positional(option)) continue;
    for (const std::string& name : cli::names_of(option))
      if (std::ranges::count(kDone, name) == 0) out[name] = !option.value.empty();
  }
  return out;
}

/// Returns the line that runs the pass again on the module in the folder. The options are those of
/// the command.
std::string replay_of_pass(const Pass& pass, const std::string& folder) {
  std::string passes = pass.name;
  for (size_t k = 0; k < pass.args.size(); ++k) passes += cat(k == 0 ? "=" : "+", pass.args[k]);
  std::string out = cat(quoted_word(command_line[0]), " opt ", quoted_word(folder + "/module.ir"),
                        " --passes ", quoted_word(passes));
  const auto known = options_of_opt();
  for (size_t k = 2; k < command_line.size(); ++k) {
    const std::string_view word = command_line[k];
    const auto found = known.find(std::string(word.substr(0, word.find('='))));
    if (found == known.end() || found->first == "--passes") continue;
    out += " " + quoted_word(word);
    const bool value_follows = found->second && word.find('=') == word.npos;
    if (value_follows && k + 1 < command_line.size()) out += " " + quoted_word(command_line[++k]);
  }
  return out;
}

/// Returns what `byoc doctor` prints. A program that calls byoc_command is not the command itself.
std::string doctor_text() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (self.filename() != "byoc") return "not run: this process is not the program byoc\n";
  auto ran = process::run_program({self.string(), "doctor", "--color", "never"}, "",
                                  std::chrono::seconds(30));
  return ran.ok() ? ran->out + ran->err : ran.status().to_string() + "\n";
}

/// Creates the folder where files can be written; empty: nowhere.
std::string make_folder(const std::string& name) {
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  for (const fs::path& parent : {fs::path(), temporary}) {
    const fs::path folder = parent / name;
    error.clear();
    fs::create_directory(folder, error);
    if (!error && ::access(folder.c_str(), W_OK) == 0) return folder.string();
  }
  return "";
}

std::string report_text(std::string_view what, const RunningPass* running,
                        const std::string& replay) {
  std::error_code error;
  std::string out = cat("defect:  ", what, "\n");
  if (running) out += cat("pass:    ", running->pass->name, "\n");
  out += cat("command: ", command_text(), "\nfolder:  ", fs::current_path(error).string(),
             "\nversion: byoc ", version(), ", plugin ABI ", BYOC_ABI_MAJOR, ".", BYOC_ABI_MINOR,
             ", compiler ", __VERSION__, "\nreplay:  ", replay, "\n");
  if (running && !running->has_weights)
    out +=
        "The constants of the module are left out: of those with more than 64 elements, all are "
        "the first one. BYOC_BUG=weights keeps them.\n";
  return out;
}

/// The same defect has the same name, so that repeating it makes no second folder.
std::string hash_of(std::string_view what, const RunningPass* running) {
  const std::string text = cat(what, running ? running->pass->name + print(running->before) : "");
  return content_key(std::as_bytes(std::span(text))).hex().substr(0, 12);
}

std::string leave_bundle(std::string_view what) {
  static std::atomic_flag is_second;
  if (is_second.test_and_set() || env_value("BYOC_BUG") == "0") return "";
  const RunningPass* running = running_pass();
  const std::string folder = make_folder("byoc-bug-" + hash_of(what, running));
  if (folder.empty()) return "a defect of byoc; please report it with the command";
  // Compiled code is not in the text: such a module is for reading, and the command repeats all.
  const bool is_whole = running && (running->has_weights || running->before.external_mods.empty());
  const std::string replay = is_whole ? replay_of_pass(*running->pass, folder) : command_text();
  Status written = write_file(folder + "/report.txt", report_text(what, running, replay));
  if (running && written.ok())
    written = is_whole ? write_module(running->before, folder + "/module.ir")
                       : write_file(folder + "/module.ir", print(running->before));
  if (written.ok()) written = write_file(folder + "/doctor.txt", doctor_text());
  if (!written.ok()) return cat("a defect of byoc, which could not be kept: ", written.message());
  return cat("a defect of byoc; please report it with ", folder, ", which repeats it: ", replay);
}

}  // namespace

void leave_bug_bundles(int argc, char** argv) {
  command_line = {argv, static_cast<size_t>(argc)};
  if (argc > 0) set_defect_reporter(leave_bundle);
}

}  // namespace byoc::driver
