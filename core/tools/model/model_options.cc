// SPDX-License-Identifier: Apache-2.0
#include "core/tools/model/model_options.h"

#include <algorithm>
#include <filesystem>

#include "byoc/base/nearest.h"
#include "byoc/extend/library.h"
#include "byoc/import.h"
#include "byoc/pass/pattern.h"
#include "byoc/text/text.h"
#include "core/tools/model/bindings.h"
#include "core/tools/model/interrupt.h"
#include "core/tools/model/libraries.h"
#include "core/tools/model/runnable.h"
#include "core/tools/model/tuning.h"
#include "runtime/cli/named_plugins.h"

namespace byoc::driver {
namespace fs = std::filesystem;
namespace {

constexpr OptionKey<option::Texts> kPassLibrary{"pass-library"};
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

Result<IRModule> load_onnx(const std::string& path, const ModelOptions& options) {
  if (!options[option::kEntry].empty())
    return cli::usage_error(
        "--entry names one of several models in a file, and an ONNX file has one");
  ImportOptions import;
  BYOC_TRY(import.shapes, parse_shapes(options[option::kShape]));
  if (const auto& bindings = options[option::kBind]; !bindings.empty()) {
    BYOC_TRY(auto inputs, onnx_inputs(path));
    BYOC_TRY(auto bound, parse_bindings(bindings, signature_module(inputs)));
    for (auto& [name, value] : bound) import.bind[name] = {value.type, value.data};
  }
  BYOC_TRY(IRModule module, import_onnx(path, all_ops(), import));
  return bind_states(std::move(module), options[option::kState], PassContext());
}

/// Sets the function that is compiled.
Status set_entry(const std::string& name, IRModule& module) {
  if (name.empty()) return {};
  std::vector<std::string> names;
  for (const auto& [symbol, function] : module.functions) names.emplace_back(symbol.text());
  if (std::ranges::count(names, name) > 0) {
    module.entry = Symbol(name);
    return {};
  }
  std::string all;
  for (const std::string& one : names) all += cat(all.empty() ? "" : ", ", one);
  return not_found(cat("the file has no function \"", name, "\"", did_you_mean(name, names)))
      .with_slug("unknown-entry")
      .with_help(cat("it has ", all));
}

Result<IRModule> load_ir(const std::string& path, const ModelOptions& options) {
  BYOC_TRY(IRModule module, read_module(path, all_ops()));
  BYOC_TRY_STATUS(set_entry(options[option::kEntry], module));
  PassContext context;
  BYOC_TRY(auto shapes, parse_shapes(options[option::kShape]));
  BYOC_TRY(auto bound, parse_bindings(options[option::kBind], module));
  if (!bound.empty()) {
    BYOC_TRY(module, bind_params(std::move(module), bound, context));
  }
  BYOC_TRY(module, bind_shapes(std::move(module), shapes, context));
  return bind_states(std::move(module), options[option::kState], context);
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

Status check_level(const ModelOptions& options) {
  BuildOptions ignored;
  const auto rows = option_table();
  auto level = std::ranges::find(rows, option::kLevel.name, &OptionInfo::name);
  return level->set(options.values.at(level->name), ignored);
}

/// Reports rules and plans that would have no effect, as plugins are chosen in order.
Status check_places(const ModelOptions& options, const std::vector<std::string>& compilers) {
  const bool is_placed = options.places || compilers.empty() ||
                         std::count(compilers.begin(), compilers.end(), "auto") > 0;
  const bool has_rules = !options[option::kPlace].empty();
  if (is_placed || (!has_rules && options[option::kPlan].empty())) return {};
  std::string list = "auto";
  for (const std::string& id : compilers) list += cat(",", id);
  return cli::usage_error(cat(has_rules ? "--place" : "--plan",
                              " is for the choice by cost, and in a list without auto plugins are "
                              "chosen in their order"))
      .with_help(cat("add --compiler ", list));
}

}  // namespace

void add_plugin_options(cli::Command& command, PluginFlags& flags) {
  for (const OptionInfo& option : option_table()) {
    const bool is_file = option.name == option::kPlugin.name;
    if (!is_file && option.name != option::kPluginOption.name) continue;
    command.options.push_back({flag_of(option), std::string(option.value), std::string(option.doc),
                               is_file ? &flags.files : &flags.options});
  }
  cli::add_isolation_options(command, flags.isolation);
}

PluginFlags ModelOptions::plugins() const {
  return {values[option::kPlugin],
          values[option::kPluginOption],
          {values[option::kIsolate], values[option::kIsolatePlugin], values[option::kIsolateTime],
           values[option::kIsolateMemory]}};
}

void add_options_of(cli::Command& command, ModelOptions& options,
                    std::initializer_list<OptionPart> parts) {
  const size_t begin = command.options.size();
  for (const OptionInfo& option : option_table()) {
    if (std::ranges::count(parts, option.part) == 0) continue;
    const cli::Target target =
        std::visit([](auto& value) { return cli::Target(&value); }, options.values.at(option.name));
    command.options.push_back(
        {flag_of(option), std::string(option.value), std::string(option.doc), target});
  }
  cli::set_group(command, begin, kBuildGroup);
}

void add_model_options(cli::Command& command, ModelOptions& options, const std::string& model_doc) {
  command.options.push_back({"MODEL", "", model_doc, &options.model, true});
  add_options_of(command, options, {OptionPart::kModel, OptionPart::kBuild, OptionPart::kPlugins});
}

std::vector<std::string> flags_of(const PluginFlags& flags) {
  std::vector<std::string> out;
  for (const std::string& file : flags.files) out.insert(out.end(), {"--plugin", file});
  for (const std::string& option : flags.options)
    out.insert(out.end(), {"--plugin-option", option});
  return out;
}

Result<std::shared_ptr<const PluginSet>> find_plugins(const PluginFlags& flags) {
  PluginSearch search = default_plugin_search();
  search.files.insert(search.files.begin(), flags.files.begin(), flags.files.end());
  for (const std::string& text : flags.options)
    BYOC_TRY_STATUS(cli::add_plugin_option(text, search));
  BYOC_TRY_STATUS(cli::read_isolation(flags.isolation, search.isolation));
  auto plugins = PluginSet::load(search);
  BYOC_TRY_STATUS(cli::check_isolated_plugins(*plugins, flags.isolation));
  return plugins;
}

Result<std::shared_ptr<const PluginSet>> load_plugins(const PluginFlags& flags) {
  BYOC_TRY(auto plugins, find_plugins(flags));
  BYOC_TRY_STATUS(cli::check_named_plugins(*plugins, flags.files));
  BYOC_TRY_STATUS(plugins->check_options());
  return plugins;
}

namespace {

/// Warns of the patterns that are left out, of the plugins that are offered ops.
void warn_left_out(const PluginSet& plugins, const std::vector<std::string>& compilers) {
  std::vector<const Plugin*> offered;
  const bool are_all = compilers.empty() || std::ranges::count(compilers, "auto") > 0;
  for (const auto& plugin : plugins.all()) {
    if (are_all || plugin->is_default_codegen()) offered.push_back(plugin.get());
  }
  for (const std::string& id : compilers) {
    const Plugin* plugin = plugins.find(id);
    if (plugin != nullptr && std::ranges::count(offered, plugin) == 0) offered.push_back(plugin);
  }
  for (const Plugin* plugin : offered) {
    for (const LeftOutPattern& one : left_out_patterns(*plugin))
      installed_warn(left_out_text(*plugin, one));
  }
}

}  // namespace

Status load_libraries(const std::vector<std::string>& files) {
  for (const std::string& file : files) BYOC_TRY_STATUS(extend::load_library(file));
  return {};
}

Status load_libraries(const ModelOptions& options) { return load_libraries(options[kPassLibrary]); }

void add_library_option(cli::Command& command, std::vector<std::string>& files) {
  for (const OptionInfo& option : option_table()) {
    if (option.name != kPassLibrary.name) continue;
    command.options.push_back(
        {flag_of(option), std::string(option.value), std::string(option.doc), &files});
  }
}

Result<BuildOptions> build_options(const ModelOptions& options) {
  BYOC_TRY_STATUS(load_libraries(options));
  BuildOptions out;
  BYOC_TRY_STATUS(apply(options.values, out));
  BYOC_TRY(out.plugins, load_plugins(options.plugins()));
  warn_left_out(*out.plugins, out.compilers);
  out.cancel = options.cancel != nullptr ? options.cancel : installed_cancellation();
  BYOC_TRY_STATUS(check_places(options, out.compilers));
  BYOC_TRY_STATUS(use_tuning_logs(options, out));
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
  BYOC_TRY_STATUS(load_libraries(options));
  BYOC_TRY_STATUS(check_level(options));  // also where nothing is built, as in `print`
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
