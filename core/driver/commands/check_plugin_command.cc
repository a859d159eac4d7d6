// SPDX-License-Identifier: Apache-2.0
// byoc check-plugin: the conformance kit for authors of plugins.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>

#include "byoc/base/json.h"
#include "core/conform/conform.h"
#include "core/driver/commands/commands.h"
#include "core/extend/added.h"
#include "core/tools/model/libraries.h"
#include "core/tools/model/model_options.h"
#include "core/tools/model/progress.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

using conform::Check;
using conform::Finished;
using conform::Outcome;
using conform::Outcomes;

struct CheckPluginFlags {
  std::string file, level = "core", groups;
  std::vector<std::string> plugin_options, timeouts;
  uint64_t seed = 1;
  std::vector<std::string> examples, shapes, libraries;
  bool list = false, all_patterns = false;
};

constexpr std::string_view kWords[] = {"pass", "fail", "skip"};
constexpr std::string_view kColors[] = {"32", "31", "33"};
constexpr std::string_view kIndent = "                       ";  // the column of reasons

std::string group_title(int group) {
  for (const conform::Group& row : conform::all_groups()) {
    if (row.number == group) return cat(row.number, " ", row.name);
  }
  return cat(group);
}

Result<std::vector<int>> chosen_groups(const std::string& text) {
  std::vector<int> groups;
  auto known = conform::all_groups();
  for (size_t from = 0; from < text.size();) {
    size_t to = std::min(text.find(',', from), text.size());
    std::string word = text.substr(from, to - from);
    auto found = std::find_if(known.begin(), known.end(), [&](const conform::Group& group) {
      return cat(group.number) == word || group.name == word;
    });
    if (found == known.end()) {
      return cli::usage_error(cat("--group: there is no group \"", word, "\""))
          .with_help("byoc check-plugin --list");
    }
    groups.push_back(found->number);
    from = to + 1;
  }
  if (!text.empty()) return groups;
  for (const conform::Group& group : known) groups.push_back(group.number);
  return groups;
}

/// Reads "30", for all slots, or "compile=60".
Status add_timeout(const std::string& text, conform::Options& out) {
  const size_t equals = text.find('=');
  const std::string slot = equals == text.npos ? "" : text.substr(0, equals);
  const std::string number = equals == text.npos ? text : text.substr(equals + 1);
  const std::vector<std::string_view> slots = conform::timed_slots();
  if (!slot.empty() && std::ranges::find(slots, slot) == slots.end()) {
    std::string known;
    for (std::string_view one : slots) known += cat(known.empty() ? "" : ", ", one);
    return cli::usage_error(cat("--timeout: there is no slot \"", slot, "\"; slots are ", known));
  }
  uint32_t seconds = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), seconds);
  if (error != std::errc() || end != number.data() + number.size() || seconds == 0)
    return cli::usage_error(
        cat("--timeout expects seconds, at least 1, or SLOT=SECONDS, not \"", text, "\""));
  if (slot.empty()) out.timeout_s = seconds;
  else out.timeouts_s[slot] = seconds;
  return {};
}

Result<conform::Options> kit_options(const CheckPluginFlags& options) {
  conform::Options out;
  std::error_code error;
  if (!std::filesystem::exists(options.file, error) && conform::is_registered(options.file)) {
    out.registered = options.file;
  } else {
    out.path = std::filesystem::absolute(options.file, error).lexically_normal().string();
  }
  if (options.level != "core" && options.level != "full")
    return cli::usage_error(cat("--level is core or full, not \"", options.level, "\""));
  out.level = options.level == "full" ? conform::Level::kFull : conform::Level::kCore;
  for (const std::string& text : options.timeouts) BYOC_TRY_STATUS(add_timeout(text, out));
  out.seed = options.seed;
  for (const std::string& text : options.plugin_options) {
    size_t equals = text.find('=');
    size_t dot = text.find('.');
    if (equals == text.npos || dot == text.npos || dot > equals) {
      return cli::usage_error(cat("--plugin-option expects ID.NAME=VALUE, not \"", text, "\""));
    }
    std::string name = text.substr(dot + 1, equals - dot - 1);
    out.options[text.substr(0, dot)][name] = text.substr(equals + 1);
  }
  return out;
}

/// Reads the models of --example, which all get the extents of --shape that they have names for.
Result<std::vector<conform::Example>> read_examples(const CheckPluginFlags& options) {
  std::vector<conform::Example> out;
  for (const std::string& path : options.examples) {
    ModelOptions model;
    model.model = path;
    model[option::kShape] = options.shapes;
    auto module = load_model(model);
    if (!module.ok()) return std::move(module.status()).at(cat("--example ", path));
    out.push_back({std::filesystem::path(path).filename().string(), *std::move(module)});
  }
  return out;
}

std::string cure_of(const Finished& one) {
  return one.answer.cure.empty() ? std::string(one.check->cure) : one.answer.cure;
}

/// Prints each result when its check ends, with a title before the first of each group.
class Lines {
 public:
  explicit Lines(const cli::CommonOptions& common)
      : common_(common), color_(cli::use_color(common, cli::Stream::kOut)) {}

  void print(const Finished& one) {
    const Check& check = *one.check;
    std::string text;
    if (check.group != group_) text = cat(group_title(check.group), "\n");
    group_ = check.group;
    auto outcome = static_cast<size_t>(one.answer.outcome);
    std::string name(check.name);
    name.resize(std::max<size_t>(name.size(), 15), ' ');
    text += cat("  ", cli::paint(kWords[outcome], kColors[outcome], color_), "  ", name);
    text += one.answer.reason.empty() ? std::string(check.about) : one.answer.reason;
    text += "\n";
    if (one.answer.outcome == Outcome::kFail) text += cat(kIndent, "cure: ", cure_of(one), "\n");
    if (common_.verbose) {
      for (size_t k = 1; k < one.answer.findings.size(); ++k)
        text += cat(kIndent, one.answer.findings[k], "\n");
    }
    cli::print_text(text, common_);
  }

 private:
  const cli::CommonOptions& common_;
  bool color_;
  int group_ = 0;
};

size_t count(const Outcomes& outcomes, Outcome outcome) {
  return static_cast<size_t>(
      std::count_if(outcomes.checks.begin(), outcomes.checks.end(),
                    [&](const Finished& one) { return one.answer.outcome == outcome; }));
}

/// Returns "10 passed, 1 failed, 2 skipped".
std::string counts_text(const Outcomes& outcomes) {
  return cat(count(outcomes, Outcome::kPass), " passed, ", count(outcomes, Outcome::kFail),
             " failed, ", count(outcomes, Outcome::kSkip), " skipped");
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::string coverage_text(const Outcomes& outcomes, bool verbose) {
  std::string out;
  if (verbose) {
    cli::Table table({"op", ">accepted", ">refused", "dtypes"});
    for (const auto& [op, row] : outcomes.ops)
      table.add({op, cat(row.accepted), cat(row.refused), joined(row.dtypes)});
    if (!table.empty()) out += table.text();
  }
  if (!outcomes.not_covered.empty())
    out += cat("not covered, since there is no sample: ", joined(outcomes.not_covered), "\n");
  return out;
}

/// Returns the last line; "" when a kernel of each pattern was run.
std::string not_run_text(const Outcomes& outcomes, const cli::CommonOptions& common) {
  if (outcomes.not_run.empty()) return "";
  return cat(cli::paint("not run", kColors[static_cast<size_t>(Outcome::kSkip)],
                        cli::use_color(common, cli::Stream::kOut)),
             ": no kernel of ", joined(outcomes.not_run),
             "; --example MODEL tries functions of a model with such ops\n");
}

Json to_json(const CheckPluginFlags& options, const Outcomes& outcomes, double wall_ns,
             bool interrupted) {
  Json checks = Json::array(), ops = Json::array();
  for (const Finished& one : outcomes.checks) {
    bool is_failure = one.answer.outcome == Outcome::kFail;
    checks.push_back({{"group", one.check->group},
                      {"name", one.check->name},
                      {"about", one.check->about},
                      {"outcome", kWords[static_cast<size_t>(one.answer.outcome)]},
                      {"reason", one.answer.reason},
                      {"cure", is_failure ? Json(cure_of(one)) : Json()},
                      {"findings", one.answer.findings},
                      {"wall_ns", one.wall_ns}});
  }
  for (const auto& [op, row] : outcomes.ops) {
    ops.push_back(
        {{"op", op}, {"accepted", row.accepted}, {"refused", row.refused}, {"dtypes", row.dtypes}});
  }
  return {{"file", options.file},
          {"id", outcomes.id},
          {"version", outcomes.version},
          {"level", options.level},
          {"passed", count(outcomes, Outcome::kPass)},
          {"failed", count(outcomes, Outcome::kFail)},
          {"skipped", count(outcomes, Outcome::kSkip)},
          {"checks", checks},
          {"ops", ops},
          {"not_covered", outcomes.not_covered},
          {"patterns_not_run", outcomes.not_run},
          {"wall_ns", wall_ns},
          {"interrupted", interrupted}};
}

Result<int> list_checks(const cli::CommonOptions& common) {
  cli::Table table({">group", "check", "what it checks"});
  Json checks = Json::array();
  for (const Check& check : conform::all_checks()) {
    table.add({cat(check.group), std::string(check.name), std::string(check.about)});
    checks.push_back({{"group", check.group}, {"name", check.name}, {"about", check.about}});
  }
  cli::print_text(table.text(), common);
  BYOC_TRY_STATUS(cli::print_json(common, "check-plugin-list", {{"checks", checks}}));
  return cli::kDone;
}

/// Prints the sums of all checks, and returns the exit code.
Result<int> finish(const CheckPluginFlags& options, const Outcomes& outcomes, double ns,
                   const cli::CommonOptions& common) {
  cli::print_text(
      cat(coverage_text(outcomes, common.verbose), outcomes.id, outcomes.id.empty() ? "" : " ",
          outcomes.version, outcomes.id.empty() ? "" : ": ", counts_text(outcomes), " (",
          options.level, ", ", cli::format_time(ns), ")\n", not_run_text(outcomes, common)),
      common);
  BYOC_TRY_STATUS(cli::print_json(common, "check-plugin", to_json(options, outcomes, ns, false)));
  const bool is_missing = options.all_patterns && !outcomes.not_run.empty();
  return count(outcomes, Outcome::kFail) > 0 || is_missing ? cli::kFailed : cli::kDone;
}

Result<int> run_check_plugin(const CheckPluginFlags& options, const cli::CommonOptions& common) {
  using Clock = std::chrono::steady_clock;
  using namespace std::chrono_literals;
  BYOC_TRY(std::vector<int> groups, chosen_groups(options.groups));
  if (options.list) return list_checks(common);
  if (options.file.empty()) return cli::usage_error("no FILE given");
  extend::added().register_reference =
      nullptr;  // FILE may be json, whose id the program would take
  BYOC_TRY_STATUS(load_libraries(options.libraries));
  BYOC_TRY(conform::Options kit, kit_options(options));
  BYOC_TRY(kit.examples, read_examples(options));
  std::error_code error;
  if (kit.registered.empty() && !std::filesystem::exists(kit.path, error))
    return not_found(cat("cannot read ", options.file)).with_slug("file");
  Progress progress(common);
  kit.progress = [&](std::string_view what, uint64_t done, uint64_t total) {
    progress.show(what, done, total);
  };
  Lines lines(common);
  Outcomes seen;  // until Ctrl-C
  auto start = Clock::now();
  auto wall_ns = [&] { return static_cast<double>((Clock::now() - start) / 1ns); };
  auto outcomes = conform::run_checks(kit, groups, [&](const Finished& one) {
    progress.clear();
    lines.print(one);
    seen.checks.push_back(one);
  });
  progress.clear();
  if (!outcomes.ok() && outcomes.status().code() == Code::kCancelled) {
    Status why = Status(Code::kCancelled, cat("interrupted; until then ", counts_text(seen)))
                     .with_slug("interrupted");
    cli::print_error(why, {.color = common.color}, "byoc check-plugin");
    Json json = to_json(options, seen, wall_ns(), true);
    BYOC_TRY_STATUS(cli::print_json(common, "check-plugin", json));
    return cli::kInterrupted;
  }
  BYOC_TRY_STATUS(outcomes.status());
  return finish(options, *outcomes, wall_ns(), common);
}

}  // namespace

cli::Command check_plugin_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<CheckPluginFlags>();
  cli::Command command;
  command.name = "check-plugin";
  command.about = "check that a plugin keeps the rules of the plugin ABI";
  command.examples = {{"byoc check-plugin build/libmychip.so", "all checks at the core level"},
                      {"byoc check-plugin build/libmychip.so --group 1,3", "two groups of them"},
                      {"byoc check-plugin build/libmychip.so --group correctness --level full -v",
                       "every dtype and shape; -v: all findings, and what was covered"},
                      {"byoc check-plugin build/libmychip.so --example bert.onnx --shape N=1",
                       "its functions of a model, too"},
                      {"byoc check-plugin --list", "the checks"}};
  command.options = {
      {"FILE", "", "the plugin's .so; in a program that has registered one, its id",
       &options->file},
      {"--level", "LEVEL", "core (default) or full: more dtypes, shapes and instances",
       &options->level},
      {"--group", "N,...", "these groups alone, by number or name", &options->groups},
      {"--list", "", "list the checks with a line on each", &options->list},
      {"--plugin-option", "ID.NAME=VALUE", "an option for the plugin", &options->plugin_options},
      {"--timeout", "[SLOT=]SECONDS", "for one call of any slot (10), or of this one: compile=60",
       &options->timeouts},
      {"--seed", "N", "of the operands' values (1)", &options->seed},
      {"--example", "MODEL", "an .onnx or .ir file whose functions of the plugin are run, too",
       &options->examples},
      {"--shape", "NAME=DIMS", "extents of inputs of the examples, N=1", &options->shapes},
      {"--all-patterns", "", "fail when no kernel of some pattern was run",
       &options->all_patterns}};
  add_library_option(command, options->libraries);
  command.notes =
      "The plugin's code is loaded in child processes only.\n"
      "A program that registers a plugin checks it by byoc_command, before it starts threads.\n"
      "The exit code is 1 when a check failed, with --all-patterns also when a pattern is not "
      "run:\n"
      "the kit makes graphs of patterns from the types that ops allow, and constants that "
      "exporters\n"
      "write; what judge accepts of these is run.\n"
      "A call that takes longer than --timeout fails its check: it is reported as hung, and the "
      "kit goes\n"
      "on with the next function. The time is of one call, not of a check. A compiler that takes "
      "long\n"
      "for a function gets more with --timeout compile=60, and the others keep their limit. "
      "Slots are\n"
      "open (with loading the library), judge, partition, knobs, compile, load (with save) and "
      "run.\n"
      "A check is skipped when an earlier check that it "
      "needs did not pass.";
  command.run = [options, &common] { return run_check_plugin(*options, common); };
  return command;
}

}  // namespace byoc::driver
