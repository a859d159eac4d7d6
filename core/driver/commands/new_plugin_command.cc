// SPDX-License-Identifier: Apache-2.0
// byoc new-plugin: a folder with a plugin that builds and passes check-plugin as it is.
#include <filesystem>

#include "byoc/base/json.h"
#include "core/driver/commands/commands.h"
#include "core/tools/new_plugin/new_plugin.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace fs = std::filesystem;
namespace {

struct NewPluginFlags {
  std::string name, folder;
  bool c = false, is_default = false, device = false, wheel = false;
};

/// Returns the prefix that this command is installed in; "" when it has no files for plugins.
std::string installed_prefix() {
  std::error_code error;
  fs::path prefix = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  bool is_installed = fs::exists(prefix / "lib/cmake/byoc/byoc-config.cmake", error);
  return is_installed ? prefix.string() : "";
}

std::string next_steps(const std::string& name, const std::string& folder, bool wheel) {
  std::string prefix = installed_prefix();
  std::string installed = prefix.empty() ? "PREFIX" : prefix;
  std::string byoc = prefix.empty() ? "byoc" : prefix + "/bin/byoc";  // it may not be on PATH
  std::string text =
      cat("next:\n  cd ", folder, "\n  cmake -S . -B build -DCMAKE_PREFIX_PATH=", installed,
          " && cmake --build build\n  ", byoc, " check-plugin build/libbyoc_", name, ".so\n");
  if (wheel) {
    text +=
        "as a wheel, in a Python that has byoc and scikit-build-core:\n"
        "  pip wheel . --no-build-isolation --no-deps\n";
  }
  if (prefix.empty()) {
    text +=
        "PREFIX is the folder of an installed byoc; in its tree: cmake --install build --prefix "
        "PREFIX\n";
  }
  return text;
}

Result<PluginTemplate> template_of(const NewPluginFlags& options) {
  if (options.c && options.is_default)
    return cli::usage_error("--c and --default are two templates: name one of them");
  if (options.device && (options.c || options.is_default))
    return cli::usage_error(cat("--device and ", options.c ? "--c" : "--default",
                                " are two templates: name one of them"));
  return options.c            ? PluginTemplate::kC
         : options.is_default ? PluginTemplate::kDefault
         : options.device     ? PluginTemplate::kDevice
                              : PluginTemplate::kCpp;
}

Result<int> run_new_plugin(const NewPluginFlags& options, const cli::CommonOptions& common) {
  BYOC_TRY_STATUS(check_plugin_name(options.name));
  std::string folder = options.folder.empty() ? options.name : options.folder;
  BYOC_TRY(const PluginTemplate of, template_of(options));
  std::vector<NewFile> files = new_plugin_files(options.name, of, options.wheel);
  BYOC_TRY_STATUS(write_new_plugin(folder, files));
  Json names = Json::array();
  std::string text;
  for (const NewFile& file : files) {
    names.push_back(file.name);
    text += cat("wrote ", (fs::path(folder) / file.name).string(), "\n");
  }
  cli::print_text(text + next_steps(options.name, folder, options.wheel), common);
  BYOC_TRY_STATUS(cli::print_json(common, "new-plugin",
                                  {{"id", options.name},
                                   {"language", options.c ? "c" : "c++"},
                                   {"folder", folder},
                                   {"files", names},
                                   {"library", cat("build/libbyoc_", options.name, ".so")}}));
  return cli::kDone;
}

}  // namespace

cli::Command new_plugin_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<NewPluginFlags>();
  cli::Command command;
  command.name = "new-plugin";
  command.about = "make a folder with a plugin that builds and passes check-plugin, to start from";
  command.examples = {
      {"byoc new-plugin mychip", "C++, in the folder mychip"},
      {"byoc new-plugin mychip --c -o work/chip", "plain C, in another folder"},
      {"byoc new-plugin mychip --default", "a default codegen with groups of its own"},
      {"byoc new-plugin mychip --device", "with memory, streams and copies of its own"},
      {"byoc new-plugin mychip --wheel", "with the files of a wheel for Python"}};
  command.options = {
      {"NAME", "", "the plugin's id: a to z, 0 to 9, _ and -", &options->name, true},
      {"--c", "", "plain C11 on the ABI itself; otherwise C++20 on the SDK", &options->c},
      {"--default", "",
       "a default codegen in C++, with a matrix product and the softmax of its rows as one kernel",
       &options->is_default},
      {"--device", "", "a plugin in C++ of a device with memory of its own", &options->device},
      {"--wheel", "",
       "also pyproject.toml and a module, for `pip wheel`: its README has the command",
       &options->wheel},
      {"-o,--output", "DIR", "the folder, new or empty (default NAME)", &options->folder}};
  command.notes =
      "The folder is a copy of one of byoc's example plugins under the new name. It needs an "
      "installed\n"
      "byoc to build, and no other file of byoc's tree.";
  command.run = [options, &common] { return run_new_plugin(*options, common); };
  return command;
}

}  // namespace byoc::driver
