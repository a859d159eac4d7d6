// byoc verify: same inputs, two compilations (or stored outputs), outputs compared; on a mismatch
// every region border is compared, and the first region that is wrong on right inputs is named.
#include <algorithm>
#include <filesystem>

#include "byoc/base/json.h"
#include "core/driver/commands/bindings.h"
#include "core/driver/commands/borders.h"
#include "core/driver/commands/commands.h"
#include "core/driver/commands/compare.h"
#include "core/driver/commands/data_set.h"
#include "core/driver/commands/execute.h"
#include "core/driver/commands/model_options.h"
#include "core/driver/commands/pipeline_parts.h"
#include "core/driver/commands/placement.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

struct Options {
  ModelOptions model;
  std::vector<std::string> inputs;
  std::string against;
  double tolerance = -1;  // -1: by dtype
  uint64_t seed = 0;
};

/// Of the largest value. Sixteen-bit floats round to 2^-11 (f16) and 2^-8 (bf16) at every step.
double tolerance_for(DType dtype, double wanted) {
  if (wanted >= 0) return wanted;
  if (dtype == DType::kF16) return 5e-3;
  if (dtype == DType::kBF16) return 4e-2;
  return 1e-4;
}

struct Compared {
  std::string name;
  TensorSpec spec;
  double allowed = 0;
  Difference difference;
};

/// The reference: of the plugins that may be default codegens the one asked last.
Result<std::string> reference_plugin(const PluginSet& plugins) {
  std::string id;
  for (const auto& plugin : plugins.all()) {
    if (plugin->is_default_codegen()) id = plugin->id();
  }
  if (!id.empty()) return id;
  return not_found("no plugin takes every op, so there is nothing to compare with")
      .with_slug("no-default-codegen")
      .with_help("name one: --against PLUGIN, or a folder with stored outputs");
}

class Verification {
 public:
  Verification(const Options& options, BuildOptions build, IRModule module)
      : options_(options), build_(std::move(build)), module_(std::move(module)) {}

  /// Against a plugin.
  Status against_plugin(const std::string& id) {
    BYOC_TRY_STATUS(std::move(build_.plugins->get(id)).status());
    against_ = id;
    BYOC_TRY(Executable executable, byoc::build(module_, build_));
    BYOC_TRY_STATUS(make_inputs(executable.program.inputs));
    outputs_ = executable.program.outputs;
    BYOC_TRY(auto got, run(std::move(executable)));
    BYOC_TRY(Executable reference, byoc::build(module_, reference_options()));
    BYOC_TRY(auto wanted, run(std::move(reference)));
    compare(got, wanted);
    if (!passed()) BYOC_TRY_STATUS(narrow());
    return {};
  }

  /// Against stored outputs, with the stored inputs.
  Status against_folder(const std::string& folder) {
    against_ = folder;
    BYOC_TRY(DataSet data, read_data_set(folder));
    BYOC_TRY(Executable executable, byoc::build(module_, build_));
    outputs_ = executable.program.outputs;
    BYOC_TRY(inputs_, match_inputs(std::move(data.inputs), executable.program.inputs));
    BYOC_TRY(auto wanted, match_outputs(std::move(data.outputs), outputs_));
    BYOC_TRY(auto got, run(std::move(executable)));
    compare(got, wanted);
    if (passed()) return {};
    BYOC_TRY(against_, reference_plugin(*build_.plugins));
    return narrow();
  }

  bool passed() const {
    return std::all_of(compared_.begin(), compared_.end(),
                       [](const Compared& c) { return c.difference.is_equal; });
  }

  std::string text() const {
    std::string out;
    for (const Compared& c : compared_) {
      out += cat(c.difference.is_equal ? "ok   " : "FAIL ", "\"", c.name, "\" ", c.spec, ": ",
                 describe(c.difference, c.spec),
                 c.difference.is_equal ? "" : cat(", allowed ", c.allowed, " of max"), "\n");
    }
    return out + narrowed_;
  }

  Json fields() const {
    Json outputs = Json::array();
    for (const Compared& c : compared_) {
      outputs.push_back({{"name", c.name},
                         {"equal", c.difference.is_equal},
                         {"reason", c.difference.reason},
                         {"max_error", c.difference.max_error},
                         {"largest", c.difference.largest},
                         {"allowed_of_max", c.allowed}});
    }
    return {{"against", against_},
            {"passed", passed()},
            {"outputs", outputs},
            {"first_bad_region", bad_region_}};
  }

 private:
  BuildOptions reference_options() const {
    BuildOptions options = build_;
    options.compilers = {against_};
    options.default_codegen = against_;
    options.strict = false;
    return options;
  }

  Status make_inputs(const std::vector<NamedTensor>& wanted) {
    BYOC_TRY(auto made, cli::make_inputs(wanted, options_.inputs, options_.seed, tensor_readers()));
    for (auto& input : made) inputs_.push_back(std::move(input.tensor));
    return {};
  }

  Result<std::vector<Tensor>> run(Executable executable) const {
    return execute(std::move(executable), build_.plugins, build_.threads, inputs_);
  }

  Difference difference(const Tensor& got, const Tensor& wanted) const {
    return compare_to_largest(got, wanted, tolerance_for(wanted.spec().dtype, options_.tolerance));
  }

  void compare(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted) {
    for (size_t k = 0; k < got.size(); ++k) {
      double allowed = tolerance_for(wanted[k].spec().dtype, options_.tolerance);
      compared_.push_back(
          {outputs_[k].name, got[k].spec(), allowed, difference(got[k], wanted[k])});
    }
  }

  /// Every value between regions, by the plugins and by the reference; functions stay as they are,
  /// so the mismatch does not move.
  Status narrow() {
    IRModule module = with_names(module_);
    BYOC_TRY(PassContext context, make_context(module, build_));
    BYOC_TRY(auto passes, passes_until("fuse_ops", context));
    BYOC_TRY(module, run_passes(std::move(module), passes, context));
    BYOC_TRY(Probe probe, probe_borders(module));
    BYOC_TRY(PassContext reference, make_context(probe.module, reference_options()));
    IRModule other = with_all_regions_for(probe.module, against_);
    BYOC_TRY(other, inline_composites(std::move(other), {}, reference));
    BYOC_TRY(Executable ours, compile_regions(probe.module, context));
    BYOC_TRY(Executable theirs, compile_regions(std::move(other), reference));
    BYOC_TRY(auto got, run(std::move(ours)));
    BYOC_TRY(auto wanted, run(std::move(theirs)));
    name_first_bad(probe, got, wanted);
    return {};
  }

  void name_first_bad(const Probe& probe, const std::vector<Tensor>& got,
                      const std::vector<Tensor>& wanted) {
    for (size_t r = 0; r < probe.regions.size(); ++r) {
      const RegionBorder& region = probe.regions[r];
      for (size_t k = region.first_output; k < region.first_output + region.num_outputs; ++k) {
        Difference d = difference(got[k], wanted[k]);
        if (d.is_equal) continue;
        bad_region_ = region.function.str();
        narrowed_ = cat("first bad region: ", region.function, " (", region.plugin, "), ", r + 1,
                        " of ", probe.regions.size(), "; everything before it agrees\n  output ",
                        k - region.first_output, ": ", describe(d, got[k].spec()), "\n",
                        ops_text(probe.module, region.function.str()));
        return;
      }
    }
    narrowed_ = "every region border agrees; the mismatch is outside the regions\n";
  }

  static std::string ops_text(const IRModule& module, const std::string& function) {
    constexpr size_t kShown = 12;
    std::string out;
    size_t n = 0;
    for (const PlacedOp& op : placement_of(module).ops) {
      if (op.function != function || ++n > kShown) continue;
      out += cat("  ", op.op, " \"", op.name, "\"",
                 op.composite.empty() ? "" : cat(" in ", op.composite), "\n");
    }
    return n > kShown ? cat(out, "  ... and ", n - kShown, " more ops\n") : out;
  }

  const Options& options_;
  BuildOptions build_;
  IRModule module_;
  std::string against_, narrowed_, bad_region_;
  std::vector<Tensor> inputs_;
  std::vector<NamedTensor> outputs_;
  std::vector<Compared> compared_;
};

Result<int> run(const Options& options, const cli::CommonOptions& common) {
  BYOC_TRY(IRModule module, load_model(options.model));
  BYOC_TRY(BuildOptions build_with, build_options(options.model, common));
  std::string against = options.against;
  if (against.empty()) {
    BYOC_TRY(against, reference_plugin(*build_with.plugins));
  }
  Verification verification(options, std::move(build_with), std::move(module));
  std::error_code error;
  bool is_folder = std::filesystem::is_directory(against, error);
  BYOC_TRY_STATUS(is_folder ? verification.against_folder(against)
                            : verification.against_plugin(against));
  cli::print_text(
      cat("against ", against, is_folder ? "" : cat(", inputs from seed ", options.seed), "\n",
          verification.text()),
      common);
  BYOC_TRY_STATUS(cli::print_json(common, "verify", verification.fields()));
  return verification.passed() ? cli::kDone : cli::kFailed;
}

}  // namespace

cli::Command verify_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<Options>();
  cli::Command command;
  command.name = "verify";
  command.about =
      "compare a model's outputs with the reference's, and find the region that differs";
  command.examples = {
      {"byoc verify net.onnx --compiler onednn", "against the reference plugin, random inputs"},
      {"byoc verify net.onnx --against json", "against a plugin by name"},
      {"byoc verify net.onnx --against test_data_set_0", "against stored outputs"}};
  add_model_options(command, options->model, "an .onnx or .ir file");
  auto& all = command.options;
  all.push_back({"--against", "PLUGIN|DIR", "what is right: a plugin, or a test_data_set folder",
                 &options->against});
  all.push_back({"--input", "NAME=VALUE", "an input, as in byoc run; the others are random",
                 &options->inputs});
  all.push_back({"--seed", "N", "of the random inputs", &options->seed});
  all.push_back({"--tolerance", "X", "allowed error as a part of the largest value; f32: 1e-4",
                 &options->tolerance});
  command.run = [options, &common] { return run(*options, common); };
  return command;
}

}  // namespace byoc::driver
