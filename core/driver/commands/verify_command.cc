// SPDX-License-Identifier: Apache-2.0
// byoc verify: compares outputs and every value between regions with a reference.
#include <filesystem>

#include "byoc/base/json.h"
#include "core/driver/commands/commands.h"
#include "core/library/verified.h"
#include "core/tools/model/compare.h"
#include "core/tools/model/interrupt.h"
#include "core/tools/model/model_options.h"
#include "core/tools/model/progress.h"
#include "core/tools/model/runnable.h"
#include "core/tools/model/tuning.h"
#include "core/tools/verify/accuracy.h"
#include "runtime/cli/output.h"
#include "runtime/cli/run.h"

namespace byoc::driver {
namespace {

struct VerifyFlags {
  ModelOptions model;
  std::string output, vs_float;
  VerifyRequest request;
};

std::string outputs_text(const std::vector<ComparedValue>& outputs) {
  std::string out;
  for (const ComparedValue& value : outputs) {
    const bool is_equal = value.difference.is_equal;
    out += cat(is_equal ? "ok   " : "FAIL ", "\"", value.name, "\" ", value_text(value), "\n");
    if (is_equal && value.limit.steps > 0) out += cat("     allowed ", limit_text(value), "\n");
  }
  return out;
}

/// Returns how often a model with states ran, and the runs that began at zeros again.
std::string states_text(const Verification& seen) {
  if (seen.state_runs == 0) return "";
  const char* runs = seen.state_runs == 1 ? " run" : " runs";
  if (seen.began_again.empty()) return cat("     ", seen.state_runs, runs, " with states\n");
  constexpr size_t kShown = 8;
  std::string list;
  for (size_t k = 0; k < std::min(seen.began_again.size(), kShown); ++k)
    list += cat(k == 0 ? "" : ", ", seen.began_again[k]);
  if (seen.began_again.size() > kShown) list += ", ...";
  return cat("     ", seen.state_runs, runs, " with states, used up and at zeros again in ",
             seen.began_again.size() == 1 ? "run " : "runs ", list, "\n");
}

std::string confirmation_text(const BadRegion& bad) {
  switch (bad.confirmation) {
    case Confirmation::kWrong:
      return ", wrong in a new process too";
    case Confirmation::kNoVerdict:
      return cat(", not run in a new process: ", bad.why_no_verdict);
    case Confirmation::kNotAsked:
    case Confirmation::kRight:
      return "";
  }
  return "";
}

std::string smallest_text(const BadRegion& bad) {
  constexpr size_t kShown = 12;
  std::string ops;
  for (size_t k = 0; k < bad.smallest.size() && k < kShown; ++k) {
    const PlacedOp& op = bad.smallest[k];
    ops += cat("  ", op.op, " \"", op.name, "\"",
               op.composite.empty() ? "" : cat(" in ", op.composite), "\n");
  }
  if (bad.smallest.size() > kShown)
    ops += cat("  ... and ", bad.smallest.size() - kShown, " more\n");
  const std::string found = cat(" (", bad.from_ops, " -> ", bad.to_ops, " nodes, ", bad.runs,
                                " runs", confirmation_text(bad), "):\n", ops);
  if (bad.runs == 0) return cat("no piece of it is wrong by itself", found);
  if (bad.confirmation == Confirmation::kRight) {
    return cat(
        "wrong after the other functions of the model, right in a process that runs nothing "
        "else: ",
        bad.plugin,
        " keeps something between functions, such as a cache of "
        "kernels",
        found);
  }
  return cat("smallest piece that is wrong by itself", found);
}

std::string counted(size_t count, const char* what) {
  return cat(count, " ", what, count == 1 ? "" : "s");
}

/// Returns the reason why the outputs differ though no region does.
std::string no_region_text(const Verification& verification, const std::string& against) {
  std::string out = "FAIL the outputs differ, and no region does";
  for (const ComparedValue& value : verification.of_reference) {
    if (value.difference.is_equal) continue;
    return cat(out, ": ", verification.reference,
               ", which computes the same regions, is as far "
               "from ",
               against, "\n  \"", value.name, "\" ", value_text(value),
               "\n  so a pass of byoc changes the model, or ", against, " has other values; ",
               "-O 0 runs fewer passes\n");
  }
  return cat(out, ": ", verification.reference, " computes right outputs from the same regions\n",
             verification.on_equal_inputs ? "  so small errors of regions add up, or values are "
                                          : "  so values are ",
             "overwritten between regions: -O 0 uses neither layouts nor memory in place\n");
}

std::string bad_text(const Verification& verification) {
  const BadRegion& bad = *verification.bad;
  std::string out =
      cat("FAIL region ", bad.index + 1, " of ", verification.regions, ", ", bad.function, " (",
          bad.plugin, "), ",
          verification.regions_at.empty() ? "" : cat("at ", verification.regions_at, " "));
  if (!verification.on_equal_inputs) {
    out += cat("is the first that differs from ", verification.reference);
  } else {
    out += cat(bad.in_piece ? "has a piece that differs from " : "differs from ",
               verification.reference, " on equal inputs");
  }
  out += cat("\n  ", bad.output.name, " ", value_text(bad.output), "\n");
  if (!bad.library_op.empty()) {
    out += cat("  the library's compute of ", bad.library_op, " differs from its reference");
    out += bad.plugin == kReferencePlugin
               ? "\n"
               : cat(", or ", bad.plugin,
                     " compiles it wrongly: --compiler json runs the loops without it\n");
  }
  return cat(out, smallest_text(bad));
}

/// Returns what values between regions may differ by.
std::string rounding_text(const Verification& verification) {
  std::string out;
  if (verification.rounded_once > 0) {
    out += cat("     ", counted(verification.rounded_once, "rounded value"),
               " within 1 step, exact ones within the tolerance of their dtype\n");
  }
  if (verification.several > 0) {
    out += cat("     ", counted(verification.several, "region"),
               verification.several == 1 ? " rounds" : " round", " several times: results within ",
               counted(static_cast<size_t>(verification.most_steps), "step"));
    if (verification.pieces > 0)
      out += cat(", and ", counted(verification.pieces, "piece"), " between roundings within 1");
    out += "\n";
  }
  return out;
}

std::string borders_text(const Verification& verification, const std::string& against) {
  if (verification.bad) return bad_text(verification);
  const std::string agree = cat(
      "ok   all ", verification.regions, " regions agree with ", verification.reference,
      verification.on_equal_inputs ? " on equal inputs, " : ", ", verification.borders,
      " values compared", verification.regions_at.empty() ? "" : " at ", verification.regions_at,
      "\n", verification.on_equal_inputs ? rounding_text(verification) : "");
  return verification.passed() ? agree : cat(agree, no_region_text(verification, against));
}

/// Returns "verify-net-7c1e": the stem of the model's file, and part of a key of the wrong piece.
std::string folder_name(const std::string& model, const ReplayCase& replay) {
  std::string stem = cli::safe_name(std::filesystem::path(model).stem().string());
  auto bytes = std::as_bytes(std::span(replay.graph_json));
  return cat("verify-", stem, "-", content_key(bytes).hex().substr(0, 4));
}

/// Returns the word with quotes when a shell needs them.
std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=+,@-";
  if (!word.empty() && word.find_first_not_of(kPlain) == word.npos) return word;
  std::string out = "'";
  for (char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Returns the command that replays the piece, with the flags that find the plugin. Without its
/// name, replay takes the first file.
std::string replay_line(const VerifyFlags& options, const std::string& folder,
                        const std::string& plugin) {
  std::string line = cat("byoc replay ", shell_word(folder));
  for (const std::string& file : options.model[option::kPlugin])
    line += cat(" --plugin ", shell_word(file));
  const bool has_several = options.model[option::kPlugin].size() > 1;
  return has_several ? cat(line, " --compiler ", shell_word(plugin)) : line;
}

/// Prints the verdict on the outputs as soon as it is known: narrowing a mismatch takes long, and
/// Ctrl-C may end it. Then `last_words` has the value of --json with the outputs alone.
Result<Verification> verify_shown(IRModule module, const VerifyRequest& request,
                                  const VerifyFlags& options, const cli::CommonOptions& common,
                                  std::optional<LastWords>& last_words) {
  CompileProgress progress(user_cancellation(), common);
  VerifyRequest shown = request;
  shown.doing = [&progress](std::string_view what) { progress.show(what); };
  shown.outputs_compared = [&](const Verification& seen) {
    progress.clear();
    std::string inputs =
        request.has_data_set() ? "" : cat(", inputs not given are random, seed ", request.seed);
    cli::print_text(cat(tuning_text(options.model), "against ", request.against, inputs, "\n",
                        outputs_text(seen.outputs), states_text(seen)),
                    common);
    if (!common.json) return;
    Json json = json_of(seen, request.against);
    json["replay_folder"] = nullptr;
    json["interrupted"] = true;
    last_words.emplace(cli::json_text("verify", true, json), *common.json);
  };
  return verify_model(std::move(module), shown);
}

/// A --shape may contradict the stored inputs, which would set open sizes without it.
Status with_cure(Status status, const VerifyFlags& options) {
  if (status.slug() != "data-set" || options.model[option::kShape].empty()) return status;
  return std::move(status).with_help("leave out --shape: open sizes follow the data set");
}

/// Reports how near the model is to the float model, without a verdict: users' numbers differ.
Result<int> report_accuracy(const VerifyFlags& options, const cli::CommonOptions& common) {
  const VerifyRequest& request = options.request;
  if (!request.against.empty() || request.tolerance >= 0 || !options.output.empty())
    return cli::usage_error("--vs-float has no verdict: leave out --against, --tolerance and -o");
  AssumedSizes sizes, float_sizes;
  ModelOptions float_model = options.model;
  float_model.model = options.vs_float;
  BYOC_TRY(IRModule module, load_to_verify(options.model, request, sizes));
  BYOC_TRY(IRModule floats, load_to_verify(float_model, request, float_sizes));
  cli::print_text(assumed_text(sizes), common);
  BYOC_TRY(BuildOptions build, build_options(options.model));
  BYOC_TRY(auto outputs, compare_with_float(std::move(module), std::move(floats), build,
                                            request.inputs, request.seed));
  std::string text = cat(tuning_text(options.model), "against ", options.vs_float,
                         ", inputs not given are random, seed ", request.seed, "\n");
  Json json = {{"vs_float", options.vs_float}, {"outputs", Json::array()}};
  for (const OutputAccuracy& output : outputs) {
    text += accuracy_text(output);
    json["outputs"].push_back(to_json(output));
  }
  cli::print_text(text, common);
  BYOC_TRY_STATUS(cli::print_json(common, "verify-vs-float", json));
  return cli::kDone;
}

Result<int> run_verify(const VerifyFlags& options, const cli::CommonOptions& common) {
  if (!options.vs_float.empty()) return report_accuracy(options, common);
  VerifyRequest request = options.request;
  request.program = "/proc/self/exe";
  std::optional<LastWords> last_words;
  VerifyHooks hooks;
  hooks.sizes_known = [&](const AssumedSizes& sizes) {
    cli::print_text(assumed_text(sizes), common);
  };
  hooks.compare = [&](IRModule module, const VerifyRequest& with) {
    return verify_shown(std::move(module), with, options, common, last_words);
  };
  hooks.folder = [&](const BadRegion& bad) {
    return options.output.empty() ? folder_name(options.model.model, bad.replay) : options.output;
  };
  Result<VerifiedModel> verified = verify_file(options.model, std::move(request), hooks);
  if (!verified.ok() && verified.status().code() == Code::kCancelled && last_words) {
    cli::print_error(verified.status(), {.color = common.color}, "byoc verify");
    last_words->write();
    return cli::kInterrupted;
  }
  if (!verified.ok()) return with_cure(std::move(verified.status()), options);
  const Verification& verification = verified->verification;
  warn_unused_plans(verified->report, warn_to(common));
  warn_unused_plugins(verification.plugins, *verified->plugins, options.model, warn_to(common));
  if (!verified->why_not_written.empty())
    cli::print_warning(cat("the piece was not written: ", verified->why_not_written), common);
  for (const std::string& limit : verification.limited)
    cli::print_warning(cat("checked with ", limit,
                           ": values of larger runs have too many elements; "
                           "a number checks one, as in --shape ",
                           limit.substr(0, limit.find('=')), "=1"),
                       common);
  const std::string& folder = verified->folder;
  std::string replay =
      folder.empty()
          ? ""
          : cat("wrote ", folder,
                "/   replay: ", replay_line(options, folder, verification.bad->plugin), "\n");
  cli::print_text(cat(borders_text(verification, verified->against), replay), common);
  BYOC_TRY_STATUS(cli::print_json(common, "verify", json_of(*verified, options.model)));
  return verification.passed() ? cli::kDone : cli::kFailed;
}

}  // namespace

cli::Command verify_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<VerifyFlags>();
  cli::Command command;
  command.name = "verify";
  command.about = "compare a model's outputs and all values between regions with a reference's";
  command.examples = {
      {"byoc verify net.onnx --compiler onednn", "against the reference plugin, random inputs"},
      {"byoc verify net.onnx --against json", "against a plugin by name"},
      {"byoc verify net.onnx --against test_data_set_0", "against stored outputs"},
      {"byoc verify net_int8.onnx --vs-float net.onnx --input x=images.npy",
       "errors of a quantised model, as a report without a verdict"}};
  add_model_options(command, options->model, "an .onnx or .ir file");
  add_tuning_options(command, options->model);
  auto& all = command.options;
  VerifyRequest& request = options->request;
  all.push_back({"--against", "PLUGIN|DIR", "the reference: a plugin, or a test_data_set folder",
                 &request.against});
  all.push_back({"--vs-float", "FLOATMODEL",
                 "report how near the outputs are to those of the model it was quantised from",
                 &options->vs_float});
  all.push_back({"--input", "NAME=VALUE", "an input, as in byoc run; the others are random",
                 &request.inputs});
  all.push_back({"--seed", "N", "of the random inputs", &request.seed});
  all.push_back({"--steps", "N",
                 "of a model with states: so many further runs are compared, each with the states "
                 "that the one before left; the first begins at zeros, and so does one after the "
                 "states are used up (default 3)",
                 &request.steps});
  all.push_back({"--tolerance", "X", kToleranceHelp, &request.tolerance});
  all.push_back({"-o,--output", "DIR",
                 "where the smallest wrong piece goes (default verify-MODEL-HASH)",
                 &options->output});
  command.notes =
      "The verdict on the outputs comes before that on the regions, so that Ctrl-C leaves it.\n"
      "In a quantised model each region gets the inputs that the reference computed, and values\n"
      "may be steps of rounding apart: limits are printed with reasons (docs/testing.md).";
  command.run = [options, &common] { return run_verify(*options, common); };
  return command;
}

}  // namespace byoc::driver
