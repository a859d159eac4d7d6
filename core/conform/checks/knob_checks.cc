// SPDX-License-Identifier: Apache-2.0
// Group 6: knob spaces, and the kernels of their points.
#include <algorithm>
#include <random>

#include "byoc/base/json.h"
#include "byoc/tune/space.h"
#include "core/conform/checks/function_test.h"
#include "core/conform/context/sweep_result.h"

namespace byoc::conform {
namespace {

using Findings = std::vector<std::string>;

constexpr const char* kHasNone = "has no knobs for the kit's samples";

/// A function that the plugin takes, with the text of its space.
struct Sample {
  Program program;
  CompileFunction function;
  std::string text;
};

Result<std::string> space_text(const LoadedPlugin& tested, const CompileFunction& function) {
  return tested.plugin->knobs(function, {"{}", 1, 0});
}

/// Calls `use` for samples whose function has a space: at most `most` of them, and at most two of
/// one kind of space. An error of `knobs` is a finding.
Findings for_samples(const CheckContext& context, const LoadedPlugin& tested, size_t most,
                     const std::function<void(const Sample&, Findings&)>& use) {
  constexpr size_t kPerKind = 2;
  Findings findings;
  std::map<std::string, size_t> kinds;
  size_t used = 0;
  for (const OpDef* op : ops_to_check()) {
    for (const Program& program : kept_programs_of(*op, context.options().level)) {
      if (used == most) return findings;
      if (verdict_on(tested, program).accept == Verdict::kNo) continue;
      Sample sample{program, {}, {}};
      sample.function = compile_function(sample.program.module, "conform_0");
      process::doing(cat("knobs, ", sample.program.label));
      Result<std::string> text = space_text(tested, sample.function);
      if (text.status().code() == Code::kDeclined) continue;
      if (!text.ok()) {
        findings.push_back(
            cat("knobs fails for ", sample.program.label, ": ", text.status().message()));
        continue;
      }
      if (text->empty()) continue;
      const Result<tune::Space> space = tune::parse_space(*text);
      if (space.ok() && kinds[space->kind]++ >= kPerKind) continue;
      sample.text = *std::move(text);
      ++used;
      use(sample, findings);
    }
  }
  if (used == 0 && findings.empty()) findings.push_back(kHasNone);
  return findings;
}

/// Runs `use` on samples in a child. Skips a plugin without knobs.
Answer with_samples(CheckContext& context, size_t most,
                    const std::function<void(const LoadedPlugin&, const Sample&, Findings&)>& use) {
  Answer answer = context.judged_in_child([&]() -> Findings {
    auto tested = load_plugin(context);
    if (!tested.ok()) return {sentence(tested.status())};
    if (!tested->table.knobs) return {kHasNone};
    return for_samples(context, *tested, most, [&](const Sample& sample, Findings& findings) {
      use(*tested, sample, findings);
    });
  });
  return answer.outcome == Outcome::kFail && answer.reason == kHasNone ? skip(kHasNone) : answer;
}

constexpr size_t kAll = SIZE_MAX, kSome = 24;

Answer check_space(CheckContext& context) {
  return with_samples(context, kAll, [](const LoadedPlugin&, const Sample& sample, Findings& out) {
    const Status status = tune::parse_space(sample.text).status();
    if (!status.ok()) out.push_back(cat(sample.program.label, ": ", status.message()));
  });
}

Answer check_repeat(CheckContext& context) {
  return with_samples(
      context, kAll, [&](const LoadedPlugin& tested, const Sample& sample, Findings& out) {
        auto compare = [&](const Result<std::string>& text, std::string_view when) {
          if (text.ok() && *text == sample.text) return;
          out.push_back(cat(sample.program.label, ": the knob space ", when, " is another: ",
                            text.ok() ? text->substr(0, 200) : text.status().message()));
        };
        compare(space_text(tested, sample.function), "of a second call");
        compare(space_text(tested, renamed(sample.function)), "under other names");
        auto other = load_plugin(context);
        if (other.ok()) compare(space_text(*other, sample.function), "of another instance");
      });
}

/// Returns true when the plugin declines the function without a point, too, which it may.
bool is_declined_anyway(const LoadedPlugin& tested, CompileFunction function) {
  function.point_json.clear();
  process::doing("compile, without a point");
  return tested.plugin->compile({&function, 1}, {"{}", 1, 0}).status.code() == Code::kDeclined;
}

/// Returns the guesses, and some random points after them, each once.
std::vector<tune::Point> points_of(const tune::Space& space, uint64_t seed, size_t random_points) {
  constexpr size_t kGuesses = 8;
  std::vector<tune::Point> out;
  auto add = [&](const tune::Point& point) {
    if (std::ranges::find(out, point) == out.end()) out.push_back(point);
  };
  for (size_t k = 0; k < std::min(kGuesses, space.guesses.size()); ++k) add(space.guesses[k]);
  std::mt19937_64 random(seed);
  for (size_t k = 0; k < random_points; ++k) {
    tune::Point point;
    for (const tune::Knob& knob : space.knobs)
      point[knob.name] = knob.values[random() % knob.values.size()];
    add(point);
  }
  return out;
}

/// The findings of group 5 are about the same kernels: with wrong ones nothing is learnt of points.
Answer check_points(CheckContext& context) {
  const SweepResult* sweep = context.finished_sweep();  // without group 5 there is none
  if (sweep != nullptr && !sweep->findings.empty())
    return skip("needs right results without points");
  const size_t random_points = context.is_full() ? 16 : 4;
  return with_samples(
      context, context.is_full() ? kAll : kSome,
      [&](const LoadedPlugin& tested, const Sample& sample, Findings& out) {
        const Result<tune::Space> space = tune::parse_space(sample.text);
        if (!space.ok()) return;
        const Program& program = sample.program;
        for (const tune::Point& point : points_of(*space, context.options().seed, random_points)) {
          FunctionTest test{cat(program.label, " ", tune::print(point)), program.module,
                            program.module, program.domains, "points"};
          test.point_json = tune::print(point);
          test.is_plain = true;
          FunctionTestEnd end =
              run_function_test(tested, test, context.options().seed, [&](const Finding& finding) {
                if (!finding.text.empty()) out.push_back(finding.text);
              });
          if (end != FunctionTestEnd::kDeclined) continue;
          if (is_declined_anyway(tested, sample.function)) return;
          out.push_back(cat(test.label, ": is declined"));
        }
      });
}

Answer check_outside(CheckContext& context) {
  return with_samples(
      context, kSome, [](const LoadedPlugin& tested, const Sample& sample, Findings& out) {
        const Result<tune::Space> space = tune::parse_space(sample.text);
        if (!space.ok()) return;
        tune::Point value = space->guesses[0], missing = value, more = value;
        value.begin()->second = "conform_outside";
        missing.erase(missing.begin());
        more["conform_outside"] = "1";
        if (missing.empty()) missing = value;  // an empty point is the plugin's own choice
        for (const tune::Point& point : {value, missing, more}) {
          CompileFunction function = sample.function;
          function.point_json = tune::print(point);
          process::doing(cat("compile, ", sample.program.label, " ", function.point_json));
          const CompileResult result = tested.plugin->compile({&function, 1}, {"{}", 1, 0});
          if (result.status.code() == Code::kInvalidArgument && result.function == 0) continue;
          if (result.status.code() == Code::kDeclined &&
              is_declined_anyway(tested, sample.function))
            return;
          out.push_back(cat(sample.program.label, ": the point ", function.point_json,
                            result.status.ok() ? " is compiled" : " is refused otherwise: ",
                            result.status.ok() ? "" : result.status.message()));
        }
      });
}

Answer check_first_guess(CheckContext& context) {
  constexpr const char* kShowsNone = "shows no code as text";
  Answer answer = with_samples(
      context, kSome, [&](const LoadedPlugin& tested, const Sample& sample, Findings& out) {
        const Result<tune::Space> space = tune::parse_space(sample.text);
        if (!space.ok()) return;
        CompileFunction function = sample.function;
        const Result<std::string> own = tested.plugin->show(function, {"{}", 1, 0}, "asm");
        if (!own.ok()) return out.push_back(kShowsNone);
        function.point_json = tune::print(space->guesses[0]);
        const Result<std::string> first = tested.plugin->show(function, {"{}", 1, 0}, "asm");
        if (first.ok() && *first == *own) return;
        out.push_back(cat(sample.program.label, ": the code of the first guess ",
                          function.point_json, " is not the one without a point"));
      });
  if (answer.outcome != Outcome::kFail) return answer;
  std::erase(answer.findings, kShowsNone);
  return answer.findings.empty() ? skip(kShowsNone) : judged_by(std::move(answer.findings));
}

const Check kKnobChecks[] = {
    {6, "knobs", "knob spaces can be read, and their guesses are points of them", "instance",
     check_space, "write the members that docs/plugin-abi.md (Knobs) lists, and no others"},
    {6, "knobs_repeat",
     "the knob space is the same again, on another instance, and under other names", "knobs",
     check_repeat, "make the space from ops, attributes and types alone"},
    {6, "points", "guesses and random points compile, and their results are right", "knobs",
     check_points, "leave out values with which the kernel is wrong or cannot be made"},
    {6, "outside", "a point outside of the space is refused as an invalid argument", "knobs",
     check_outside, "compare the point with the space in compile; the SDK's KnobSpace::check does"},
    {6, "first_guess", "without a point, compile makes the kernel of the first guess", "knobs",
     check_first_guess, "list first what compile chooses by itself"},
};

}  // namespace

std::span<const Check> knob_checks() { return kKnobChecks; }

}  // namespace byoc::conform
