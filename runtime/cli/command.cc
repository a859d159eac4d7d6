// SPDX-License-Identifier: Apache-2.0
// CLI11 only splits the command line. Values, messages and help are written here, because CLI11
// exits with codes of its own and has other messages for misspelt names.
#include "runtime/cli/command.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstring>
#include <limits>

#include "byoc/base/check.h"
#include "byoc/base/defect.h"
#include "byoc/base/json.h"
#include "byoc/base/library_error.h"
#include "byoc/base/nearest.h"
#include "byoc/base/no_memory.h"
#include "byoc/base/version.h"
#include "runtime/cli/fatal_signals.h"
#include "runtime/cli/help.h"
#include "runtime/cli/output.h"
#include "runtime/limits/limits.h"

namespace byoc::cli {
namespace {

/// A command, its CLI11 form, and that form's options in the order of the command's.
struct Built {
  const Command* command;
  CLI::App* app;
  std::vector<CLI::Option*> options;
};

CLI::Option* add_option(CLI::App& app, const Option& option) {
  if (std::holds_alternative<bool*>(option.to)) return app.add_flag(option.names);
  if (std::holds_alternative<std::optional<std::string>*>(option.to)) {
    std::string names;  // "--json{-}": the value that replaces a missing one
    for (const std::string& name : names_of(option))
      names += cat(names.empty() ? "" : ",", name, "{-}");
    return app.add_flag(names);
  }
  CLI::Option* added = app.add_option(option.names);
  if (std::holds_alternative<std::vector<std::string>*>(option.to)) {
    if (is_positional(option))
      return added->expected(-1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    return added->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
  }
  return added->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void build(const Command& command, CLI::App& app, std::vector<Built>& all) {
  app.set_help_flag();  // help is printed after parsing
  app.allow_extras();
  app.require_subcommand(0, 1);  // in byoc error place, the second word is an argument
  Built built{&command, &app, {}};
  for (const Option& option : command.options) built.options.push_back(add_option(app, option));
  all.push_back(std::move(built));
  for (const Command& sub : command.commands)
    build(sub, *app.add_subcommand(sub.name)->fallthrough(), all);
}

/// Reads a number; floats are 0 or more, as those of all options are.
template <class T>
Status convert_number(const std::string& name, const std::string& text, T& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  const bool is_number = end == text.data() + text.size();
  const bool is_in_range = std::is_integral_v<T> || out >= T{};  // NaN is not
  if (error == std::errc() && is_number && is_in_range) return {};
  std::string expected = std::is_integral_v<T> ? "a whole number" : "a number";
  if (is_number && std::is_integral_v<T>) expected += cat(" up to ", std::numeric_limits<T>::max());
  if (is_number && !std::is_integral_v<T>) expected += " of 0 or more";
  return usage_error(cat(name, " expects ", expected, ", got \"", text, "\""));
}

struct Store {
  const std::string& name;
  const CLI::Option& parsed;
  const std::string& last() const { return parsed.results().back(); }

  Status operator()(bool* to) const { return *to = true, Status(); }
  Status operator()(std::string* to) const { return *to = last(), Status(); }
  Status operator()(std::optional<std::string>* to) const { return *to = last(), Status(); }
  Status operator()(std::vector<std::string>* to) const { return *to = parsed.results(), Status(); }
  template <class T>
  Status operator()(T* to) const {
    return convert_number(name, last(), *to);
  }
};

Status store(const Built& built) {
  for (size_t k = 0; k < built.options.size(); ++k) {
    const Option& option = built.command->options[k];
    std::string name = names_of(option).back();
    if (built.options[k]->count() != 0) {
      BYOC_TRY_STATUS(std::visit(Store{name, *built.options[k]}, option.to));
    } else if (option.required) {
      return usage_error(cat(is_positional(option) ? "no " : "the option ", name,
                             is_positional(option) ? " given" : " is needed"));
    }
  }
  return {};
}

/// Reports a word that no option or argument took.
Status unexpected(const std::string& word, const Command& root, const Command& command) {
  std::vector<std::string> known;
  if (word.size() > 1 && word[0] == '-') {
    for (const auto* options : {&root.options, &command.options}) {
      for (const Option& option : *options) {
        if (is_positional(option)) continue;
        for (std::string& name : names_of(option)) known.push_back(std::move(name));
      }
    }
    std::string name = word.substr(0, word.find('='));
    return usage_error(cat("no option ", name, did_you_mean(name, known)));
  }
  if (command.commands.empty()) return usage_error(cat("one argument too many: \"", word, "\""));
  for (const Command& sub : command.commands) known.push_back(sub.name);
  return usage_error(cat("no command \"", word, "\"", did_you_mean(word, known)));
}

Status check_color(const std::string& when) {
  if (when == "auto" || when == "always" || when == "never") return {};
  return usage_error(cat("--color is auto, always or never, not \"", when, "\""));
}

/// Reads --json before the options are stored, because a usage error may come earlier.
CommonOptions with_json_of(CommonOptions common, int argc, const char* const* argv) {
  for (int k = 1; k < argc && !common.json; ++k) {
    std::string_view word = argv[k];
    if (word == "--json") common.json = "-";
    if (word.starts_with("--json=")) common.json = std::string(word.substr(7));
  }
  return common;
}

/// Reads "byoc help compile" as "byoc compile --help".
std::vector<const char*> words_of(const Command& root, int argc, const char* const* argv) {
  std::vector<const char*> words(argv, argv + argc);
  bool is_help = argc > 1 && !root.commands.empty() && std::string_view(argv[1]) == "help";
  if (!is_help) return words;
  words.erase(words.begin() + 1);
  words.push_back("--help");
  return words;
}

/// One run of a program.
class CommandLine {
 public:
  CommandLine(const Command& root, const CommonOptions& common)
      : root_(root), common_(common), app_("", root.name) {
    build(root, app_, all_);
    app_.add_flag("-h", short_help_);
    app_.add_flag("--help", full_help_);
    app_.add_flag("--version", version_);
  }

  Result<int> run(int argc, const char* const* argv) {
    std::vector<const char*> words = words_of(root_, argc, argv);
    try {
      app_.parse(static_cast<int>(words.size()), words.data());
    } catch (const CLI::ParseError& e) {
      return usage_error(e.what());
    }
    const Built& chosen = choose();
    if (short_help_ || full_help_) return print_help(chosen);
    if (version_) return print_version(with_json_of(common_, argc, argv));
    BYOC_TRY_STATUS(store(all_[0]));
    BYOC_TRY_STATUS(check_color(common_.color));
    if (auto rest = app_.remaining(true); !rest.empty())
      return unexpected(rest[0], root_, *chosen.command);
    if (!chosen.command->run) return usage_error("no command given");
    if (&chosen != &all_[0]) BYOC_TRY_STATUS(store(chosen));
    return chosen.command->run();
  }
  const std::string& path() const { return path_; }

 private:
  /// Returns the innermost command that was named; later ones in the list are further inside.
  const Built& choose() {
    const Built* chosen = &all_[0];
    path_ = root_.name;
    for (const Built& built : all_) {
      if (&built == &all_[0] || !built.app->parsed()) continue;
      chosen = &built;
      path_ += cat(" ", built.command->name);
    }
    return *chosen;
  }

  Result<int> print_help(const Built& chosen) const {
    auto rest = app_.remaining(true);
    bool is_misspelt = !rest.empty() && rest[0][0] != '-' && !chosen.command->commands.empty();
    if (is_misspelt) return unexpected(rest[0], root_, *chosen.command);
    print_text(help_text(root_, *chosen.command, path_, full_help_), {});
    return kDone;
  }

  Result<int> print_version(const CommonOptions& common) const {
    print_text(cat(root_.name, " ", version(), "\n"), common);
    BYOC_TRY_STATUS(print_json(common, "version", {{"program", root_.name}}));
    return kDone;
  }

  const Command& root_;
  const CommonOptions& common_;
  CLI::App app_;
  std::vector<Built> all_;
  std::string path_;
  bool short_help_ = false, full_help_ = false, version_ = false;
};

}  // namespace

void set_group(Command& command, size_t begin, const std::string& group) {
  for (size_t k = begin; k < command.options.size(); ++k) command.options[k].group = group;
}

void add_common_options(Command& root, CommonOptions& common) {
  root.options.push_back({"--json", "FILE", "one JSON value on stdout, or in FILE", &common.json});
  root.options.push_back(
      {"--color", "WHEN", "colours: auto (on a terminal), always or never", &common.color});
  root.options.push_back({"-q,--quiet", "", "only results and errors", &common.quiet});
  root.options.push_back({"-v,--verbose", "", "more about what is done", &common.verbose});
}

namespace {

/// Returns the error for an allocation that failed under --max-memory with its name.
Status with_limit(Status status) {
  const uint64_t limit = limit_of_memory();
  if (limit == 0 || status.slug() != "no-memory") return status;
  return std::move(status)
      .with_slug("max-memory")
      .with_help(cat("raise --max-memory, which is ", limit, " bytes, or use a smaller model"));
}

/// Prints the error and returns its exit code.
int report(Status status, const CommonOptions& common, const std::string& path) {
  status = with_limit(std::move(status));
  bool usage = status.slug() == "usage";
  if (usage && status.help().empty()) status = std::move(status).with_help(cat(path, " -h"));
  if (status.slug().empty())
    status = std::move(status).with_slug(std::string(code_name(status.code())));
  print_error(status, common, path);
  if (status.code() == Code::kCancelled) return kInterrupted;
  if (status.slug() == "bug" || status.slug() == "broken-module") return kBug;
  return usage ? kUsage : kFailed;
}

int report_out_of_memory(const CommonOptions& common, const std::string& path) {
  try {
    print_error(with_limit(no_memory()), common, path);
  } catch (const std::bad_alloc&) {
    print_out_of_memory();
  }
  return kFailed;
}

}  // namespace

int run_command_line(const Command& root, const CommonOptions& common, int argc,
                     const char* const* argv) {
  prepare_streams();
  report_fatal_signals();
  report_failed_allocations();
  std::string path = root.name;
  int code = kDone;
  try {
    CommandLine line(root, common);
    Result<int> result = line.run(argc, argv);
    if (!line.path().empty()) path = line.path();
    code = result.ok() ? *result
                       : report(std::move(result.status()), with_json_of(common, argc, argv), path);
  } catch (const std::bad_alloc&) {
    return report_out_of_memory(common, path);
  } catch (const LibraryError& e) {
    return report(e.status(), common, path);
  } catch (const std::exception& e) {  // a last resort: each call catches its own
    const std::string what = cat("a defect of byoc: ", e.what());
    return report(Status(Code::kInternal, what).with_slug("bug").with_help(report_defect(what)),
                  common, path);
  }
  Status printed = check_printed();
  if (printed.ok()) return code;
  print_error(printed, {.color = common.color}, path);  // --json=FILE has what the command wrote
  return code == kDone ? kFailed : code;
}

}  // namespace byoc::cli
