// SPDX-License-Identifier: Apache-2.0
// byoc demo: classifies real images with a trained network and the plugins that are found.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "byoc/base/json.h"
#include "byoc/import.h"
#include "core/driver/commands/commands.h"
#include "core/tools/model/compare.h"
#include "core/tools/model/execute.h"
#include "core/tools/model/model_options.h"
#include "core/tools/show/explanation.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

constexpr double kTolerance = 1e-4;  // relative to the largest value, as in `byoc verify`
constexpr size_t kShownDigits = 6;

struct DemoFlags {
  PluginFlags plugins;
  std::string data;
};

struct Digits {
  std::string model;
  Tensor images, labels, outputs;  // outputs: as the trainer computed them
  int64_t count() const { return images.spec().dims[0]; }
};

/// Returns --data, else ../share/byoc/digits relative to the folder of the executable.
std::string data_folder(const DemoFlags& options) {
  if (!options.data.empty()) return options.data;
  std::error_code ignored;
  auto executable = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return (executable.parent_path().parent_path() / "share/byoc/digits").string();
}

Result<Digits> read_digits(const std::string& folder) {
  Digits out;
  out.model = folder + "/model.onnx";
  if (std::error_code error; !std::filesystem::is_directory(folder, error)) {
    return not_found(cat("no folder ", folder, " with a network and its images"))
        .with_slug("demo-data")
        .with_help("byoc demo --data tests/models/digits, in the sources of byoc");
  }
  BYOC_TRY(out.images, read_npy(folder + "/images.npy"));
  BYOC_TRY(out.labels, read_npy(folder + "/labels.npy"));
  BYOC_TRY(out.outputs, read_npy(folder + "/outputs.npy"));
  int64_t n = out.images.spec().dims.empty() ? 0 : out.images.spec().dims[0];
  bool fits = out.images.spec() == TensorSpec{DType::kF32, {n, 1, 8, 8}} &&
              out.labels.spec() == TensorSpec{DType::kI64, {n}} &&
              out.outputs.spec() == TensorSpec{DType::kF32, {n, 10}} && n > 0;
  if (fits) return out;
  return invalid(cat("the images, labels and outputs in ", folder, " do not have matching shapes"))
      .with_slug("demo-data");
}

std::vector<int64_t> answers(const Tensor& probabilities) {
  std::vector<int64_t> out;
  const float* row = reinterpret_cast<const float*>(probabilities.data());
  for (int64_t k = 0; k < probabilities.spec().dims[0]; ++k, row += 10)
    out.push_back(std::max_element(row, row + 10) - row);
  return out;
}

int64_t correct(const Tensor& probabilities, const Digits& digits) {
  const int64_t* labels = reinterpret_cast<const int64_t*>(digits.labels.data());
  int64_t n = 0;
  for (int64_t answer : answers(probabilities)) n += answer == *labels++;
  return n;
}

/// Draws the first images in a row, with darker characters for more ink and the network's answers.
std::string drawing(const Digits& digits, const std::vector<int64_t>& answer) {
  static constexpr std::string_view kShades = " .:-=+*#%@";
  const float* pixels = reinterpret_cast<const float*>(digits.images.data());
  size_t shown = std::min(kShownDigits, answer.size());
  std::string out;
  for (size_t y = 0; y < 8; ++y) {
    for (size_t k = 0; k < shown; ++k) {
      for (size_t x = 0; x < 8; ++x) {
        float ink = std::clamp(pixels[(k * 8 + y) * 8 + x], 0.0f, 1.0f);
        char shade = kShades[static_cast<size_t>(std::lround(ink * 9))];
        out += {shade, shade};
      }
      out += "  ";
    }
    out += '\n';
  }
  for (size_t k = 0; k < shown; ++k) {
    std::string text = cat("it is a ", answer[k]);
    out += text + std::string(18 - text.size(), ' ');
  }
  return out + '\n';
}

struct Ran {
  std::string compilers;
  Tensor outputs;
  Difference difference;
  int64_t correct = 0;
};

Result<Ran> run_with(const IRModule& model, const Digits& digits, BuildOptions options) {
  Ran out;
  for (const std::string& id : options.compilers)
    out.compilers += (out.compilers.empty() ? "" : ",") + id;
  auto plugins = options.plugins;
  BYOC_TRY(Executable executable, build(model, options));
  std::vector<Tensor> inputs(1);
  BYOC_TRY(inputs[0], digits.images.copy());
  BYOC_TRY(auto outputs, execute(std::move(executable), plugins, 1, inputs));
  out.outputs = std::move(outputs.at(0));
  out.difference = compare_to_largest(out.outputs, digits.outputs, kTolerance);
  out.correct = correct(out.outputs, digits);
  return out;
}

/// Returns the lists of plugins to run with: all plugins that are used without being named, in
/// order of priority, and the reference alone, which is the last default codegen.
std::vector<std::vector<std::string>> choices(const PluginSet& plugins) {
  std::vector<std::string> all, reference;
  for (const auto& plugin : plugins.all()) {
    if (!plugin->is_default_codegen() && plugin->priority() >= 0) all.push_back(plugin->id());
  }
  for (const auto& plugin : plugins.all()) {
    if (!plugin->is_default_codegen()) continue;
    if (reference.empty()) all.push_back(plugin->id());
    reference = {plugin->id()};
  }
  if (all == reference) return {all};
  return {all, reference};
}

std::string summary(const Explanation& explanation) {
  std::string out = plugin_table(explanation.placement, "(no plugin)");
  for (const ExplainedOp& op : explanation.ops) {
    for (const Opinion& opinion : op.opinions) {
      if (opinion.kind == Opinion::kNotReached) continue;
      out += cat("  ", op.placed.op, " \"", op.placed.name, "\" is run by ", op.placed.plugin, "; ",
                 opinion.plugin, ": ", opinion.reason, "\n");
    }
  }
  return out;
}

Result<int> run_demo(const DemoFlags& options, const cli::CommonOptions& common) {
  BYOC_TRY(Digits digits, read_digits(data_folder(options)));
  BYOC_TRY(auto plugins, load_plugins(options.plugins));
  ImportOptions import_options;
  import_options.shapes["N"] = {digits.count()};
  BYOC_TRY(IRModule model, import_onnx(digits.model, all_ops(), import_options));
  model = with_names(std::move(model));
  int64_t trainer = correct(digits.outputs, digits);
  Json runs = Json::array();
  bool is_right = true;
  bool is_first = true;
  for (const std::vector<std::string>& compilers : choices(*plugins)) {
    BuildOptions build_with;
    build_with.plugins = plugins;
    build_with.compilers = compilers;
    BYOC_TRY(Explanation explanation, explain(model, build_with));
    BYOC_TRY(Ran ran, run_with(model, digits, build_with));
    is_right &= ran.difference.is_equal && ran.correct == trainer;
    cli::print_text(cat("--compiler ", ran.compilers, "\n", summary(explanation)), common);
    if (is_first) cli::print_text(drawing(digits, answers(ran.outputs)), common);
    is_first = false;
    cli::print_text(
        cat(ran.correct, " of ", digits.count(), " held-out images right; the trainer got ",
            trainer, "; outputs: ", describe(ran.difference, ran.outputs.spec()), "\n\n"),
        common);
    runs.push_back({{"compilers", compilers},
                    {"correct", ran.correct},
                    {"max_error", ran.difference.max_error},
                    {"within_tolerance", ran.difference.is_equal}});
  }
  BYOC_TRY_STATUS(cli::print_json(
      common, "demo", {{"images", digits.count()}, {"trainer_correct", trainer}, {"runs", runs}}));
  if (is_right) return cli::kDone;
  return failed("the answers are not the trainer's")
      .with_slug("demo-wrong")
      .with_help("byoc verify narrows it down");
}

}  // namespace

cli::Command demo_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<DemoFlags>();
  cli::Command command;
  command.name = "demo";
  command.about =
      "classify handwritten digits with a trained network and the plugins that are found";
  command.examples = {{"byoc demo", "the network that comes with byoc"},
                      {"byoc demo --plugin ./libmyplugin.so", "with one more plugin"}};
  add_plugin_options(command, options->plugins);
  command.options.push_back(
      {"--data", "DIR",
       "model.onnx, images.npy, labels.npy, outputs.npy; default <prefix>/share/byoc/digits",
       &options->data});
  command.run = [options, &common] { return run_demo(*options, common); };
  return command;
}

}  // namespace byoc::driver
