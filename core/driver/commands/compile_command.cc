// SPDX-License-Identifier: Apache-2.0
// byoc compile: compiles a model into one file that runs without compiler, ONNX or protobuf.
#include <algorithm>
#include <filesystem>
#include <optional>

#include "byoc/base/json.h"
#include "byoc/base/memory.h"
#include "byoc/runtime/sizes.h"
#include "core/driver/commands/commands.h"
#include "core/library/compiled.h"
#include "core/tools/model/interrupt.h"
#include "core/tools/model/model_options.h"
#include "core/tools/model/progress.h"
#include "core/tools/model/runnable.h"
#include "core/tools/model/tuning.h"
#include "core/tools/place/search.h"
#include "core/tools/show/placement.h"
#include "core/tools/sizes/open_ranges.h"
#include "core/tools/weights/model_parts.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

struct CompileFlags {
  ModelOptions model;
  std::string output;
  bool measures = false, no_weights = false;
};

struct Work {
  double flops = 0;
  uint64_t ops = 0;
};

/// Returns the work of one run per module. Several steps may run the same function.
std::vector<Work> work_of_modules(const Executable& executable) {
  std::vector<Work> out(executable.modules.size());
  for (const Step& step : executable.program.steps) {
    if (!step.is_compiled()) continue;
    const ExternalFunction& function = executable.modules[step.module].functions[step.function];
    out[step.module].flops += function.flops;
    out[step.module].ops += function.ops;
  }
  return out;
}

std::string modules_text(const Executable& executable) {
  struct Row {
    const ExternalModule* first;
    Work work;
    size_t functions = 0;
    uint64_t code_bytes = 0;
  };
  std::vector<Row> rows;  // of each plugin, in order of appearance
  const std::vector<Work> work = work_of_modules(executable);
  for (size_t k = 0; k < work.size(); ++k) {
    const ExternalModule& module = executable.modules[k];
    auto row = std::ranges::find(rows, module.plugin, [](const Row& r) { return r.first->plugin; });
    if (row == rows.end()) row = rows.insert(row, Row{&module});
    row->work = {row->work.flops + work[k].flops, row->work.ops + work[k].ops};
    row->functions += module.functions.size();
    row->code_bytes += module.blob ? module.blob->size() : 0;
  }
  cli::Table table({"plugin", "version", ">functions", ">ops", ">flops", ">code"});
  for (const Row& row : rows)
    table.add({row.first->plugin, row.first->plugin_version, cat(row.functions), cat(row.work.ops),
               flops_text(row.work.flops), cli::format_mib(row.code_bytes)});
  return table.text();
}

using Sizes = std::vector<SizedExecutable>;

/// Returns the size of all constants, each once.
uint64_t constant_bytes(const Sizes& sizes) {
  uint64_t bytes = 0;
  std::set<ContentKey> counted;
  for (const SizedExecutable& size : sizes) {
    for (const auto& [key, buffer] : size.executable.constants)
      bytes += counted.insert(key).second ? buffer->size() : 0;
  }
  return bytes;
}

/// Returns the size of the constants that are in the layout of a kernel, each once.
uint64_t packed_bytes(const Sizes& sizes) {
  uint64_t bytes = 0;
  std::set<ContentKey> counted;
  for (const SizedExecutable& size : sizes) {
    auto add = [&](const ContentKey& key) {
      auto found = size.executable.constants.find(key);
      if (found != size.executable.constants.end() && counted.insert(key).second)
        bytes += found->second->size();
    };
    for (const ExternalModule& module : size.executable.modules) {
      for (const auto& [name, contents] : module.packed) add(contents);
      for (const ExternalFunction& function : module.functions)
        for (const auto& [key, alignment] : function.packed) add(key);
    }
  }
  return bytes;
}

Json sizes_json(const Sizes& sizes) {
  Json json = Json::array();
  for (const SizedExecutable& size : sizes) {
    json.push_back({{"label", size.label},
                    {"steps", size.executable.program.steps.size()},
                    {"arena_bytes", size.executable.program.arena_bytes}});
  }
  return json;
}

Json fields(const Sizes& sizes, const std::string& output, double compile_ns) {
  uint64_t steps = 0, arena_bytes = 0;
  Json modules = Json::array();
  for (const auto& [label, executable, entry] : sizes) {
    steps += executable.program.steps.size();
    arena_bytes = std::max(arena_bytes, executable.program.arena_bytes);
    for (const ExternalModule& module : executable.modules) {
      modules.push_back({{"plugin", module.plugin},
                         {"version", module.plugin_version},
                         {"functions", module.functions.size()}});
    }
  }
  Json json = {{"output", output},
               {"compile_ns", compile_ns},
               {"steps", steps},
               {"arena_bytes", arena_bytes},
               {"constant_bytes", constant_bytes(sizes)},
               {"packed_bytes", packed_bytes(sizes)},
               {"modules", modules}};
  if (sizes.size() > 1) json["sizes"] = sizes_json(sizes);
  if (const auto& fallback = sizes[0].executable.fallback) json["fallback"] = plugins_of(*fallback);
  return json;
}

std::string arena_text(const Program& program) {
  if (!program.packing.empty()) return "an arena by the sizes of each run";
  return cat(cli::format_mib(program.arena_bytes), " arena");
}

/// Returns the line about the second program of a file.
std::string fallback_text(const Executable& executable) {
  if (!executable.fallback) return "";
  std::string plugins;
  for (const std::string& id : plugins_of(*executable.fallback))
    plugins += cat(plugins.empty() ? "" : ", ", id);
  return cat("fallback: ", executable.fallback->program.steps.size(), " steps by ", plugins, "\n");
}

std::string sizes_text(const Sizes& sizes) {
  if (sizes.size() == 1)
    return modules_text(sizes[0].executable) + fallback_text(sizes[0].executable);
  std::string out;
  for (const auto& [label, executable, entry] : sizes) {
    out += cat("size ", label, ": ", executable.program.steps.size(), " steps, ",
               arena_text(executable.program), "\n", modules_text(executable),
               fallback_text(executable));
  }
  return out;
}

void warn_declined(const Report& report, const cli::CommonOptions& common) {
  for (const Report::Remark& remark : report.remarks) {
    if (remark.kind != Report::Remark::kDeclined) continue;
    cli::print_warning(
        cat(remark.plugin, " took ", remark.op, " and declined it in compile: ", remark.reason),
        common);
  }
}

/// Reports the ops that the reference runs because no other plugin takes their open sizes.
void warn_open_sizes(const Sizes& sizes, const ModelOptions& model,
                     const cli::CommonOptions& common) {
  for (const std::string& list : model[option::kCompiler]) {
    if (list.find("json") != list.npos) return;
  }
  for (const auto& [label, executable, entry] : sizes) {
    uint64_t ops = 0;
    for (const ExternalModule& module : executable.modules) {
      for (const ExternalFunction& function : module.functions)
        ops += module.plugin == "json" && !function.sizes.empty() ? function.ops : 0;
    }
    if (ops == 0) continue;
    cli::print_warning(
        cat(ops, ops == 1 ? " op has" : " ops have",
            " open sizes and run by json, the reference, which is slow; --shape ",
            executable.program.sizes[0].name, "=", executable.program.sizes[0].least, ",",
            executable.program.sizes[0].most, " compiles these sizes by all plugins"),
        common);
  }
}

/// Reports a fallback that is gone whenever the first program is.
void warn_useless_fallback(const Sizes& sizes, const cli::CommonOptions& common) {
  for (const auto& [label, executable, entry] : sizes) {
    if (!executable.fallback) continue;
    const std::set<std::string> other = plugins_of(*executable.fallback);
    std::set<std::string> first;
    for (const ExternalModule& module : executable.modules) first.insert(module.plugin);
    if (first.empty() || !std::ranges::includes(other, first)) continue;
    std::string ids;
    for (const std::string& id : first) ids += cat(ids.empty() ? "" : " and ", id);
    return cli::print_warning(
        cat("the fallback is of no use: when ", ids, " is gone, it cannot run either"), common);
  }
}

Result<Executable> build_shown(IRModule module, const BuildOptions& options,
                               const cli::CommonOptions& common) {
  CompileProgress progress(user_cancellation(), common);
  return build(std::move(module), options);
}

/// Writes the artifact, and returns the bytes of weights that stay in the model's files. An
/// interruption leaves the complete new file or changes nothing.
Result<uint64_t> save(const Sizes& sizes, const CompileFlags& options) {
  Cancellation::Scope finishes_first(&user_cancellation());
  const std::string& path = options.output;
  uint64_t left = 0;
  if (options.no_weights) {
    BYOC_TRY(const std::string model, model_path(options.model.model));
    BYOC_TRY(const ModelParts model_parts, parts_of_model(model));
    BYOC_TRY(left, save_artifact_without(sizes, model_parts.parts, path));
  } else {
    BYOC_TRY_STATUS(save_artifact_sizes(sizes, path));
  }
  if (!user_cancellation().is_cancelled()) return left;
  return Status(Code::kCancelled, cat("interrupted after ", path, " was written"))
      .with_slug("interrupted");
}

/// Does the work of `byoc place`, whose plan build() uses afterwards.
Status measure_plan(const IRModule& module, const BuildOptions& build,
                    const cli::CommonOptions& common) {
  if (!build.compilers.empty() && std::ranges::count(build.compilers, "auto") == 0)
    return cli::usage_error("--measure measures for --compiler auto, and the list has no auto");
  if (build.options.contains("plan"))
    return cli::usage_error("--measure makes a plan, and --plan names one: leave out one of them");
  PlaceRequest request;
  request.build = build;
  Progress progress(common);
  request.progress = [&](std::string_view what, uint64_t done, uint64_t total) {
    progress.show(what, done, total);
  };
  BYOC_TRY_STATUS(prepare_place(module, request));
  Result<PlaceOutcome> outcome = place_model(module, request);
  progress.clear();
  BYOC_TRY_STATUS(outcome.status());
  for (const std::string& remark : outcome->remarks) cli::print_warning(remark, common);
  return {};
}

/// Reports a missing model before a missing --output.
Status check_output(const CompileFlags& options) {
  BYOC_TRY(std::string path, model_path(options.model.model));
  for (std::string_view ending : {".onnx", ".ir"}) {  // the model itself, by mistake
    if (options.output.ends_with(ending))
      return cli::usage_error(
                 cat("-o writes an artifact, and ", options.output, " is named as a model"))
          .with_help("name it with .byoc");
  }
  if (options.no_weights && !path.ends_with(".onnx"))
    return cli::usage_error(cat("--no-weights needs a model in an .onnx file, not ", path));
  if (!options.output.empty()) return {};
  std::string artifact = std::filesystem::path(path).stem().string() + ".byoc";
  return cli::usage_error("the option --output is needed: the file that is written")
      .with_help(cat("byoc compile ", options.model.model, " -o ", artifact));
}

/// Lets large constants be in files beside the output, unless that is a device or a pipe.
std::optional<SpillScope> spill_beside(const std::string& output) {
  std::error_code ignored;
  const std::filesystem::path path = output;
  if (exists(path, ignored) && !is_regular_file(path, ignored)) return std::nullopt;
  return std::optional<SpillScope>(std::in_place, path.parent_path().string());
}

/// Returns 0 for what is no regular file.
uint64_t file_bytes(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return 0;
  const uintmax_t bytes = std::filesystem::file_size(path, error);
  return error ? 0 : bytes;
}

std::set<std::string> plugins_of_all(const Sizes& sizes) {
  std::set<std::string> ids;
  for (const SizedExecutable& size : sizes) ids.merge(plugins_of(size.executable));
  return ids;
}

/// Returns the line about weights that are not in the file.
std::string left_text(uint64_t left, const Json& json) {
  const std::string file =
      cat("  the file has ", cli::format_mib(json["file_bytes"].get<uint64_t>()));
  if (left > 0)
    return cat(file, ": ", cli::format_mib(left), " of weights are in the model's files\n");
  return cat(file,
             ": --no-weights left nothing out, as no constant has the elements of a tensor of "
             "4 KiB or more in the model\n");
}

/// Returns the line about the file. Packed constants explain a file that is larger than the model.
std::string wrote_text(const std::string& path, const Sizes& sizes, const Json& json,
                       double compile_ns, std::optional<uint64_t> left) {
  auto mib = [&](const char* name) { return cli::format_mib(json[name].get<uint64_t>()); };
  std::string out =
      cat("wrote ", path, ": ", sizes.size() > 1 ? cat(sizes.size(), " sizes, ") : "",
          json["steps"].get<uint64_t>(), " steps, ", mib("constant_bytes"), " constants, ",
          sizes.size() == 1 ? arena_text(sizes[0].executable.program)
                            : cat(mib("arena_bytes"), " arena"),
          "; compiled in ", cli::format_time(compile_ns), "\n");
  if (left) out += left_text(*left, json);
  if (json["packed_bytes"] == 0) return out;
  return out + cat("  ", mib("packed_bytes"),
                   " of the constants are packed: weights in the layout that kernels read, for "
                   "Winograd's also larger (docs/containers.md, sizes)\n");
}

/// Returns the lines about weights in forms that are larger than the model's.
std::string weights_text(const Report::Weights& weights) {
  auto mib = [](double bytes) { return cli::format_mib(static_cast<uint64_t>(bytes)); };
  std::string out;
  if (weights.larger > 0)
    out += cat("  ", weights.larger, " functions have larger weights, ", mib(weights.larger_bytes),
               " more than their smallest, for an estimated ", cli::format_time(weights.gain_ns),
               " less per run\n");
  if (weights.smaller > 0)
    out += cat("  ", weights.smaller, " functions have smaller weights than for speed (--prefer), ",
               mib(weights.bytes_saved), " less, for an estimated ",
               cli::format_time(std::max(weights.lost_ns, 0.0)), " more per run\n");
  return out;
}

Json weights_json(const Report::Weights& weights) {
  return {{"model_bytes", weights.model_bytes},   {"bytes", weights.bytes},
          {"bytes_saved", weights.bytes_saved},   {"larger", weights.larger},
          {"larger_bytes", weights.larger_bytes}, {"gain_ns", weights.gain_ns},
          {"smaller", weights.smaller},           {"lost_ns", weights.lost_ns}};
}

Result<int> run_compile(const CompileFlags& options, const cli::CommonOptions& common) {
  BYOC_TRY_STATUS(check_output(options));
  const std::optional<SpillScope> spill = spill_beside(options.output);
  CompileHooks hooks;
  hooks.imported = [&](const IRModule& module, const BuildOptions& build_with) -> Status {
    warn_of_import(module, warn_to(common));
    return options.measures ? measure_plan(module, build_with, common) : Status();
  };
  hooks.build = [&](IRModule module, const BuildOptions& build_with) {
    return build_shown(std::move(module), build_with, common);
  };
  BYOC_TRY(const CompiledModel built, compile_file(options.model, hooks));
  const Sizes& sizes = built.sizes;
  BYOC_TRY(const uint64_t left, save(sizes, options));
  warn_unused_plans(built.report, warn_to(common));
  warn_declined(built.report, common);
  warn_useless_fallback(sizes, common);
  if (!built.ranges.empty()) cli::print_warning(ranges_text(built.ranges), common);
  warn_open_sizes(sizes, options.model, common);
  warn_unused_plugins(plugins_of_all(sizes), *built.plugins, options.model, warn_to(common));
  Json json = fields(sizes, options.output, built.compile_ns);
  json["file_bytes"] = file_bytes(options.output);
  if (built.report.weights.model_bytes > 0) json["weights"] = weights_json(built.report.weights);
  std::optional<uint64_t> left_out;
  if (options.no_weights) json["left_out_bytes"] = *(left_out = left);
  add_tuning_json(options.model, json);
  cli::print_text(cat(sizes_text(sizes), tuning_text(options.model),
                      wrote_text(options.output, sizes, json, built.compile_ns, left_out),
                      weights_text(built.report.weights)),
                  common);
  BYOC_TRY_STATUS(cli::print_json(common, "compile", json));
  return cli::kDone;
}

}  // namespace

cli::Command compile_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<CompileFlags>();
  cli::Command command;
  command.name = "compile";
  command.about = "compile a model into one file";
  command.examples = {{"byoc compile net.onnx -o net.byoc", "with every usable plugin"},
                      {"byoc compile net.onnx --compiler onednn --shape N=1 -o net.byoc",
                       "onednn, then the default codegen"},
                      {"byoc compile net.onnx --shape N=1,4,16 -o net.byoc",
                       "three sizes in one file, weights once"},
                      {"byoc compile net.onnx --shape N=1..64 --shape N=1 -o net.byoc",
                       "every size of a range, and N=1 by code of its own"}};
  add_model_options(command, options->model, "an .onnx or .ir file");
  add_tuning_options(command, options->model);
  for (cli::Option& option : command.options) {
    if (option.names == "--shape")
      option.doc =
          "extents of an input or a named size: x=1x3x224x224, N=1; several: N=1,4,16; all of a "
          "range: N=1..64; numbers after their range add exact sizes, which runs prefer";
    if (option.names == "--threads")
      option.doc =
          "threads that code is compiled for; run --threads takes any number, and is as fast as it "
          "can be with this one (default 1; 0: all cores)";
  }
  command.options.push_back({"-o,--output", "FILE", "the artifact, model.byoc", &options->output});
  command.options.push_back({"--no-weights", "",
                             "leave weights that are bytes of the model's files there; who loads "
                             "the artifact needs these files beside it, or in BYOC_WEIGHTS",
                             &options->no_weights});
  command.options.push_back({"--measure", "",
                             "with --compiler auto: measure as byoc place does, then compile",
                             &options->measures});
  command.run = [options, &common] { return run_compile(*options, common); };
  return command;
}

}  // namespace byoc::driver
