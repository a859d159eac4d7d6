// SPDX-License-Identifier: Apache-2.0
#include "core/tools/model/model_options.h"

#include <algorithm>
#include <filesystem>

#include "byoc/base/nearest.h"
#include "byoc/import.h"
#include "byoc/te/target.h"
#include "byoc/text/text.h"
#include "byoc/translate/policies.h"
#include "core/tools/model/bindings.h"
#include "core/tools/model/interrupt.h"
#include "core/tools/model/tuning.h"
#include "runtime/cli/named_plugins.h"

namespace byoc::driver {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kModelEndings[] = {".onnx", ".ir", ".byoc"};

bool is_model_file(const fs::path& path) {
  return std::count(std::begin(kModelEndings), std::end(kModelEndings), path.extension().string());
}

Status model_error(std::string message) {
  return invalid(std::move(message)).with_slug("model-file");
}

constexpr std::string_view kFromPytorch =
    "in Python, torch.onnx.export(model, inputs, \"net.onnx\") writes one (docs/from-pytorch.md)";

/// Files of other programs, and the way from them to ONNX.
struct Foreign {
  std::string_view endings;  // each with a blank before and after
  std::string_view help;
};
constexpr Foreign kForeign[] = {
    {" .pt .pth .ckpt .bin .pkl ", "a file of PyTorch: "},
    {" .safetensors ",
     "weights without a graph: load them into the model that they belong to; then "},
    {" .pb ",
     "a graph of TensorFlow: python -m tf2onnx.convert --graphdef net.pb --inputs x:0 --outputs "
     "y:0 "
     "--output net.onnx"},
    {" .tflite ",
     "a model of TensorFlow Lite: python -m tf2onnx.convert --tflite net.tflite "
     "--output net.onnx"},
    {" .h5 .hdf5 .keras ",
     "a model of Keras: model.export(\"folder\") in Python, then python -m tf2onnx.convert "
     "--saved-model folder --output net.onnx"},
    {" .xml ", "OpenVINO's IR cannot be turned back: export the model that it was made of to ONNX"},
    {" .ort ", "ONNX Runtime's own form: use the .onnx file that it was made of"},
    {" .engine .trt .plan .mlmodel .mlpackage .gguf ",
     "compiled for another program: export the model that it was made of to ONNX"},
    {" .pdmodel ",
     "a model of Paddle: paddle2onnx --model_dir DIR --model_filename net.pdmodel "
     "--save_file net.onnx"}};

/// Returns the way from a file of another program to a model that byoc reads.
std::string foreign_help(const std::string& path) {
  std::string ending = fs::path(path).extension().string();
  for (char& c : ending) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (ending == ".onnx") return cat("name it with small letters: mv ", path, " net.onnx");
  for (const Foreign& foreign : kForeign) {
    if (ending.empty() || foreign.endings.find(cat(" ", ending, " ")) == std::string_view::npos)
      continue;
    return cat(foreign.help, foreign.help.ends_with(' ') ? kFromPytorch : "");
  }
  return cat("models are ONNX files, texts of byoc (.ir) and artifacts (.byoc); ", kFromPytorch);
}

/// Splits the arguments of a repeated flag at commas: "A,B" is the same as two flags.
std::vector<std::string> split_list(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts) {
    for (size_t begin = 0; begin <= text.size();) {
      size_t end = std::min(text.find(',', begin), text.size());
      if (end > begin) out.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return out;
}

Result<IRModule> load_onnx(const std::string& path, const ModelOptions& options) {
  ImportOptions import;
  BYOC_TRY(import.shapes, parse_shapes(options.shapes));
  if (!options.bind.empty()) {
    BYOC_TRY(auto inputs, onnx_inputs(path));
    BYOC_TRY(auto bound, parse_bindings(options.bind, signature_module(inputs)));
    for (auto& [name, value] : bound) import.bind[name] = {value.type, value.data};
  }
  return import_onnx(path, all_ops(), import);
}

Result<IRModule> load_ir(const std::string& path, const ModelOptions& options) {
  BYOC_TRY(IRModule module, read_module(path, all_ops()));
  PassContext context;
  BYOC_TRY(auto shapes, parse_shapes(options.shapes));
  BYOC_TRY(auto bound, parse_bindings(options.bind, module));
  if (!bound.empty()) {
    BYOC_TRY(module, bind_params(std::move(module), bound, context));
  }
  if (shapes.empty()) return module;
  return bind_shapes(std::move(module), shapes, context);
}

/// Reports a missing file, with the nearest name of a model in its folder.
Status check_exists(const std::string& path) {
  std::error_code error;
  if (fs::exists(path, error)) return {};
  fs::path file(path), folder = file.has_parent_path() ? file.parent_path() : ".";
  if (!fs::is_directory(folder, error))
    return model_error(cat("no file ", path, ": there is no folder ", folder.string()));
  std::vector<std::string> models;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (is_model_file(entry.path())) models.push_back(entry.path().filename().string());
  }
  std::sort(models.begin(), models.end());
  constexpr size_t kShown = 5;
  std::string listed;
  for (size_t k = 0; k < models.size() && k < kShown; ++k) listed += cat(k ? ", " : "", models[k]);
  if (models.size() > kShown) listed += cat(" and ", models.size() - kShown, " more");
  return model_error(cat("no file ", path, did_you_mean(file.filename().string(), models)))
      .with_help(cat("models in ", folder.string(), ": ", models.empty() ? "none" : listed));
}

Status check_level(int level) {
  if (level >= kMinLevel && level <= kMaxLevel) return {};
  return cli::usage_error(cat("-O is ", kMinLevel, " to ", kMaxLevel, ", not ", level));
}

/// Reports rules and plans that would have no effect, as plugins are chosen in order.
Status check_places(const ModelOptions& options, const std::vector<std::string>& compilers) {
  const bool is_placed = options.places || std::count(compilers.begin(), compilers.end(), "auto");
  if (is_placed || (options.place.empty() && options.plan.empty())) return {};
  std::string list = "auto";
  for (const std::string& id : compilers) list += cat(",", id);
  return cli::usage_error(cat(options.place.empty() ? "--plan" : "--place",
                              " is for the choice by cost, and without auto plugins are chosen in "
                              "their order"))
      .with_help(cat("add --compiler ", list));
}

Status use_compute_rules(const ModelOptions& options, BuildOptions& build) {
  if (options.compute.empty()) return {};
  Result<te::Policies> rules = te::parse_rules(options.compute, all_ops());
  if (!rules.ok()) return cli::usage_error(cat("--compute: ", rules.status().message()));
  build.policies = std::make_shared<const te::Policies>(*std::move(rules));
  return {};
}

}  // namespace

void add_plugin_options(cli::Command& command, PluginFlags& flags) {
  command.options.push_back({"--plugin", "FILE",
                             "the library (.so) of a plugin that is in no plugin folder; its place "
                             "in the order is still that of its priority, or of --compiler",
                             &flags.files});
  command.options.push_back({"--plugin-option", "ID.NAME=VALUE",
                             "an option for a plugin, onednn.keep_nan=1", &flags.options});
}

void add_build_options(cli::Command& command, ModelOptions& options) {
  auto& all = command.options;
  const size_t begin = all.size();
  all.push_back(
      {"--compiler", "A,B", "plugins in order of priority; auto: by cost", &options.compilers});
  all.push_back({"--default", "ID", "the plugin that takes what no other plugin took",
                 &options.default_codegen});
  all.push_back({"--place", "RULE",
                 "with --compiler auto: relu=llvm pins, relu!=llvm bans; #NODE, @FUNCTION, * too",
                 &options.place});
  all.push_back({"--plan", "FILE",
                 "with --compiler auto: a plan of byoc place; none: estimates (default: the last "
                 "plan for the model)",
                 &options.plan});
  add_plugin_options(command, options.plugins);
  all.push_back({"--threads", "N",
                 "threads of a run, which code is compiled for (default 1; 0: all cores)",
                 &options.threads});
  all.push_back({"--target", "CPU",
                 "the machine to compile for: native, x86-64-v2, -v3, -v4, aarch64; -v3+avxvnni, "
                 "-v4+avx512vnni",
                 &options.target});
  all.push_back({"--strict", "",
                 "fail when a plugin declines in compile what it accepted before; without it, the "
                 "next plugin gets these ops",
                 &options.strict});
  all.push_back({"--exact-sums", "",
                 "no kernel rounds otherwise than the direct sum, as Winograd does",
                 &options.exact_sums});
  all.push_back({"--compute", "RULE",
                 "the algorithm of ops that have several: direct or winograd for all, "
                 "conv2d=direct for an op, Conv_3=direct for a node; by-level (default), by-cost, "
                 "only-generic, not-direct; repeatable; explain --op NODE prints which it was",
                 &options.compute});
  all.push_back({"-O", "LEVEL",
                 "0 no fusion, 1 folding and fusion, 2 (default) layouts and in-place as well",
                 &options.level});
  cli::set_group(command, begin, kBuildGroup);
}

void add_model_options(cli::Command& command, ModelOptions& options, const std::string& model_doc) {
  auto& all = command.options;
  all.push_back({"MODEL", "", model_doc, &options.model, true});
  const size_t begin = all.size();
  all.push_back({"--shape", "NAME=DIMS", "extents of an input or a named size: x=1x3x224x224, N=1",
                 &options.shapes});
  all.push_back({"--bind", "NAME=VALUE", "an input becomes a constant: axes=[0,1], axes=a.npy",
                 &options.bind});
  cli::set_group(command, begin, kBuildGroup);
  add_build_options(command, options);
}

std::vector<std::string> flags_of(const PluginFlags& flags) {
  std::vector<std::string> out;
  for (const std::string& file : flags.files) out.insert(out.end(), {"--plugin", file});
  for (const std::string& option : flags.options)
    out.insert(out.end(), {"--plugin-option", option});
  return out;
}

Result<std::shared_ptr<const PluginSet>> find_plugins(const PluginFlags& flags) {
  user_cancellation();  // from here on Ctrl-C is reported
  PluginSearch search = default_plugin_search();
  search.files.insert(search.files.begin(), flags.files.begin(), flags.files.end());
  for (const std::string& text : flags.options)
    BYOC_TRY_STATUS(cli::add_plugin_option(text, search));
  return PluginSet::load(search);
}

Result<std::shared_ptr<const PluginSet>> load_plugins(const PluginFlags& flags) {
  BYOC_TRY(auto plugins, find_plugins(flags));
  BYOC_TRY_STATUS(cli::check_named_plugins(*plugins, flags.files));
  BYOC_TRY_STATUS(plugins->check_options());
  return plugins;
}

Result<BuildOptions> build_options(const ModelOptions& options) {
  BYOC_TRY_STATUS(check_level(options.level));
  auto target = te::parse_target(options.target);
  if (!target.ok()) return cli::usage_error(cat("--target: ", target.status().message()));
  BuildOptions out;
  BYOC_TRY(out.plugins, load_plugins(options.plugins));
  out.compilers = split_list(options.compilers);
  out.default_codegen = options.default_codegen;
  out.level = options.level;
  out.strict = options.strict;
  out.exact_sums = options.exact_sums;
  out.cancel = &user_cancellation();
  out.threads = options.threads;
  BYOC_TRY_STATUS(check_places(options, out.compilers));
  if (options.target != "native") out.target_json = te::print(*target);
  if (!options.plan.empty()) out.options["plan"] = options.plan;
  for (const std::string& rule : options.place) out.options["place"] += rule + "\n";
  BYOC_TRY_STATUS(use_tuning_logs(options, out));
  BYOC_TRY_STATUS(use_compute_rules(options, out));
  return out;
}

bool is_artifact(const std::string& path) { return path.ends_with(".byoc"); }

Result<std::string> model_path(const std::string& model) {
  std::error_code error;
  if (!fs::is_directory(model, error)) {
    BYOC_TRY_STATUS(check_exists(model));
    return model;
  }
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(model, error)) {
    if (is_model_file(entry.path())) found.push_back(entry.path().string());
  }
  if (error) return model_error(cat("cannot read ", model, ": ", error.message()));
  if (found.size() == 1) return found[0];
  Status status =
      model_error(cat("the folder ", model, " holds ", found.size(), " models, expected one"));
  if (!found.empty()) return std::move(status).with_help("name the file");
  if (fs::exists(fs::path(model) / "saved_model.pb", error))
    return std::move(status).with_help(
        "this is a SavedModel of TensorFlow: python -m tf2onnx.convert --saved-model DIR --output "
        "net.onnx");
  return std::move(status).with_help(cat("models end in .onnx, .ir or .byoc; ", kFromPytorch));
}

Result<IRModule> load_model(const ModelOptions& options) {
  user_cancellation();  // as in find_plugins: reading a large file takes time
  BYOC_TRY_STATUS(check_level(options.level));  // also where nothing is built, as in `print`
  BYOC_TRY(std::string path, model_path(options.model));
  if (path.ends_with(".onnx")) return load_onnx(path, options);
  if (path.ends_with(".ir")) return load_ir(path, options);
  if (is_artifact(path)) {
    return model_error(cat(path, " is compiled already; this command reads .onnx or .ir"))
        .with_help(cat("byoc run ", path));
  }
  return model_error(cat("\"", path, "\" ends in none of .onnx, .ir, .byoc"))
      .with_help(foreign_help(path));
}

}  // namespace byoc::driver
