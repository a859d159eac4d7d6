// SPDX-License-Identifier: Apache-2.0
#include "core/tools/new_plugin/new_plugin.h"

#include <algorithm>
#include <filesystem>

#include "byoc/base/file.h"
#include "core/tools/new_plugin/example_files.h"

namespace byoc::driver {
namespace fs = std::filesystem;
namespace {

constexpr size_t kLongestName = 64;
constexpr std::string_view kShipped[] = {"json", "llvm", "onednn"};

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_lower(c) || is_digit(c) || (c >= 'A' && c <= 'Z') || c == '_'; }

Status name_error(std::string message) {
  return invalid(std::move(message)).with_slug("plugin-name");
}

/// Returns "MyChip" for "my-chip".
std::string class_name(const std::string& name) {
  std::string out;
  bool begins = true;
  for (char c : name) {
    if (c == '-' || c == '_') {
      begins = true;
      continue;
    }
    out += begins && is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c;
    begins = false;
  }
  return out;
}

/// Replaces `from` where it is a whole identifier.
std::string with_word(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t found = std::min(text.find(from, at), text.size());
    out += text.substr(at, found - at);
    if (found == text.size()) break;
    size_t end = found + from.size();
    bool is_whole =
        (found == 0 || !is_word(text[found - 1])) && (end == text.size() || !is_word(text[end]));
    out += is_whole ? to : from;
    at = end;
  }
  return out;
}

/// An example: its folder and id, and what it runs, for the new plugin's README.md.
struct ExampleFolder {
  std::string_view folder, id, language, source, runs;
};
constexpr ExampleFolder kExamples[] = {
    {"cpp/", "example", "C++20", "plugin.cc",
     "It runs f32 `relu` and `add` without broadcasting, each alone or one after the other."},
    {"c/", "example_c", "C11", "plugin.c", "It runs f32 `relu`, one op at a time."},
    {"default/", "example_default", "C++20", "plugin.cc",
     "It is a default codegen: with `--default NAME` it gets\nthe ops that no other plugin takes. "
     "It runs f32 `matmul` of matrices, `softmax` along the last axis, and `relu`,\n`add` and "
     "`multiply` without broadcasting. A product and the softmax of its rows are one kernel:\n"
     "`partition` lists them as a group."},
    {"device/", "example_device", "C++20", "plugin.cc",
     "It runs f32 `relu` and `add` without broadcasting on a device with\nmemory of its own. The "
     "device is pretended: its memory is of the host, its streams are threads."},
};
const ExampleFolder& example_of(PluginTemplate of) { return kExamples[static_cast<size_t>(of)]; }

/// Returns the example's text under the new name.
std::string renamed(std::string_view text, const std::string& name, const ExampleFolder& example) {
  const std::string id(example.id);
  std::string out = with_word(text, "byoc_" + id, "byoc_" + name);
  out = with_word(out, id, name);
  out = with_word(out, "ExampleKernel", class_name(name) + "Kernel");
  return with_word(out, "Example", class_name(name) + "Plugin");
}

std::string readme(const std::string& name, const ExampleFolder& example) {
  const bool is_c = example.language == "C11";
  const std::string library = cat("build/libbyoc_", name, ".so");
  return cat(
      "# ", name, "\n\nA plugin for byoc in ", example.language, ", in `", example.source, "`. ",
      with_word(example.runs, "NAME", name),
      " Replace these ops by your own.\n\nIt needs CMake 3.25, a compiler, `libdlpack-dev`",
      is_c ? "" : ", `nlohmann-json3-dev`",
      " and an installed byoc, here in `~/byoc`:\n\n```sh\n"
      "cmake -S . -B build -DCMAKE_PREFIX_PATH=~/byoc && cmake --build build\n"
      "~/byoc/bin/byoc plugins --plugin ",
      library, "\n~/byoc/bin/byoc check-plugin ", library,
      "\n```\n\n`byoc plugins` lists the plugin, or has the reason of its refusal. `check-plugin` "
      "tries "
      "each promise of the\nABI, and compares all results with the reference. Run both after every "
      "change.\n\nTo use it without `--plugin`, copy the library to `~/byoc/lib/byoc/plugins`, or "
      "run\n`cmake --install build --prefix ~/byoc`. For a package of Debian, run in `build`\n"
      "`cpack -G DEB -D CPACK_PACKAGE_CONTACT=\"NAME <ADDRESS>\"`. `byoc explain MODEL` then "
      "has the ops that it takes,\nand the reasons for those that it refuses. The priority in `",
      example.source,
      "` decides who gets an op that two plugins accept.\n\nThe whole contract is in the header "
      "`byoc/plugin/abi.h`",
      is_c ? "" : ", the classes are in `byoc/plugin/sdk/plugin.h`", ".\n");
}

/// Returns the name of the plugin's package for Python.
std::string package_name(std::string name) {
  std::ranges::replace(name, '-', '_');
  return "byoc_plugin_" + name;
}

std::string wheel_readme(const std::string& name) {
  return cat(
      "\n## As a wheel\n\nIn a Python that has the package `byoc`:\n\n```sh\n"
      "pip install scikit-build-core\n"
      "pip wheel . --no-build-isolation --no-deps\n"
      "pip install ./",
      package_name(name),
      "-*.whl\n```\n\nThe options make pip build with the byoc that is installed; the index has "
      "another project of that name.\n`auditwheel repair` makes a wheel for other machines. "
      "`byoc.compile`, `byoc plugins` and the others find \"",
      name,
      "\"\nthrough the entry point `byoc.plugins` in `pyproject.toml`. `pip uninstall byoc-plugin-",
      name, "` takes it away.\n");
}

/// Returns the files that make a wheel, by scikit-build-core, which runs CMake.
std::vector<NewFile> wheel_files(const std::string& name) {
  const std::string package = package_name(name);
  return {{package + ".py", cat("\"\"\"The plugin ", name,
                                " of byoc.\"\"\"\nfrom pathlib import Path\n\n\ndef paths():\n"
                                "    \"\"\"Returns the library: byoc calls this through the entry "
                                "point byoc.plugins.\"\"\"\n"
                                "    return [Path(__file__).parent / \"",
                                package, ".libs\" / \"libbyoc_", name, ".so\"]\n")},
          {"pyproject.toml",
           cat("[build-system]\nrequires = [\"scikit-build-core\", \"byoc\"]\n"
               "build-backend = \"scikit_build_core.build\"\n\n[project]\nname = \"byoc-plugin-",
               name,
               "\"\nversion = \"0.1.0\"\nrequires-python = \">=3.9\"\n\n"
               "[project.entry-points.\"byoc.plugins\"]\n",
               name, " = \"", package,
               ":paths\"\n\n[tool.scikit-build]\nwheel.packages = []\nwheel.py-api = \"py3\"\n"
               "install.components = [\"wheel\"]\n")}};
}

/// Returns the rules of CMake that put the library and its module into a wheel.
std::string wheel_rules(const std::string& name) {
  const std::string package = package_name(name);
  return cat("\n# What a wheel has: see pyproject.toml.\ninstall(TARGETS byoc_", name,
             " LIBRARY DESTINATION ", package, ".libs COMPONENT wheel)\ninstall(FILES ", package,
             ".py DESTINATION . COMPONENT wheel)\n");
}

/// Checks that the folder can be made or is empty.
Status check_folder(const std::string& folder) {
  std::error_code error;
  fs::file_status status = fs::status(folder, error);
  if (!fs::exists(status)) return {};
  bool is_folder = fs::is_directory(status);
  if (is_folder && fs::is_empty(folder, error) && !error) return {};
  std::string what = is_folder ? cat("the folder ", folder, " holds files already")
                               : cat(folder, " exists and is no folder");
  return Status(Code::kAlreadyExists, std::move(what))
      .with_slug("plugin-folder")
      .with_help("choose another one with -o DIR");
}

}  // namespace

Status check_plugin_name(const std::string& name) {
  constexpr const char* kExample = "for example my_chip";
  bool is_good =
      !name.empty() && is_lower(name[0]) && std::all_of(name.begin(), name.end(), [](char c) {
        return is_lower(c) || is_digit(c) || c == '_' || c == '-';
      });
  if (!is_good) {
    return name_error(
               cat("\"", name,
                   "\" is no name for a plugin: it begins with a letter a to z, and a to z, 0 "
                   "to 9, _ and - follow"))
        .with_help(kExample);
  }
  if (name.size() > kLongestName) {
    return name_error(
        cat("the name has ", name.size(), " characters, at most ", kLongestName, " are allowed"));
  }
  if (std::count(std::begin(kShipped), std::end(kShipped), name)) {
    return name_error(cat("\"", name, "\" is the id of a plugin that comes with byoc"))
        .with_help(cat("choose another name, ", kExample));
  }
  return {};
}

std::vector<NewFile> new_plugin_files(const std::string& name, PluginTemplate of, bool with_wheel) {
  const ExampleFolder& example = example_of(of);
  std::vector<NewFile> files = {
      {"README.md", readme(name, example) + (with_wheel ? wheel_readme(name) : "")}};
  for (const ExampleFile& file : example_files()) {
    if (!file.path.starts_with(example.folder)) continue;
    std::string text = renamed(file.text, name, example);
    if (with_wheel && file.path.ends_with("CMakeLists.txt")) text += wheel_rules(name);
    files.push_back({std::string(file.path.substr(example.folder.size())), std::move(text)});
  }
  if (with_wheel) std::ranges::move(wheel_files(name), std::back_inserter(files));
  std::sort(files.begin(), files.end(), [](auto& a, auto& b) { return a.name < b.name; });
  return files;
}

Status write_new_plugin(const std::string& folder, const std::vector<NewFile>& files) {
  BYOC_TRY_STATUS(check_folder(folder));
  std::error_code error;
  bool is_new = !fs::exists(folder, error);
  fs::create_directories(folder, error);
  if (error) return system_error("cannot make", folder, error.value()).with_slug("file");
  for (const NewFile& file : files) {
    Status written = write_file((fs::path(folder) / file.name).string(), file.text);
    if (written.ok()) continue;
    for (const NewFile& one : files) fs::remove(fs::path(folder) / one.name, error);
    if (is_new) fs::remove(folder, error);
    return written;
  }
  return {};
}

}  // namespace byoc::driver
