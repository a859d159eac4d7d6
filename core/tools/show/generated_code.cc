#include "core/tools/show/generated_code.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "byoc/base/file.h"
#include "byoc/base/nearest.h"
#include "core/tools/model/partial_pipeline.h"

namespace byoc::driver {
namespace fs = std::filesystem;
namespace {

/// A folder of its own for as long as somebody looks into it.
class ScratchFolder {
 public:
  static Result<ScratchFolder> make() {
    std::error_code error;
    std::string path = (fs::temp_directory_path(error) / "byoc-code-XXXXXX").string();
    if (error || ::mkdtemp(path.data()) == nullptr) {  // mode 0700
      return failed(cat("cannot make a folder like ", path))
          .with_slug("file")
          .with_help("set TMPDIR");
    }
    return ScratchFolder(std::move(path));
  }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

std::string file_name(const std::string& symbol) {
  std::string out = symbol;
  auto is_plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
           c == '.' || c == '-';
  };
  std::replace_if(
      out.begin(), out.end(), [&](char c) { return !is_plain(c); }, '_');
  return out;
}

/// The functions that plugins are to compile, in order.
std::vector<Symbol> regions_of(const IRModule& module) {
  std::vector<Symbol> out;
  for (const auto& [name, function] : module.functions) {
    bool is_region = function.attrs.has("compiler") && !function.attrs.has("composite");
    if (is_region && name != module.entry) out.push_back(name);
  }
  return out;
}

/// Nobody compiles the others: they stay as they are.
Status keep_only(IRModule& module, const std::string& function) {
  std::vector<std::string> known;
  for (Symbol name : regions_of(module)) {
    known.push_back(name.str());
    if (name.str() != function) module.function(name).attrs.erase("compiler");
  }
  if (std::find(known.begin(), known.end(), function) != known.end()) return {};
  std::string all;
  for (const std::string& name : known) all += cat(all.empty() ? "" : ", ", name);
  return not_found(cat("no compiled function \"", function, "\"", did_you_mean(function, known)))
      .with_slug("unknown-function")
      .at(cat("compiled functions: ", all.empty() ? "none" : all));
}

/// The plugins again, those of `ids` that know the option with `folder` to write their code to.
Result<std::shared_ptr<const PluginSet>> with_dumps(const std::vector<std::string>& ids,
                                                    const std::string& folder,
                                                    const ModelOptions& options,
                                                    cli::CommonOptions common) {
  common.quiet = true;  // load_plugins has said all there is to say
  PluginFlags flags = options.plugins;
  for (const std::string& id : ids) {
    PluginFlags asked = flags;
    asked.options.push_back(cat(id, ".dump=", folder));
    if (load_plugins(asked, common).ok()) flags = asked;
  }
  return load_plugins(flags, common);
}

std::vector<std::string> plugins_of(const IRModule& module, const PassContext& context) {
  std::set<std::string> seen;
  std::vector<std::string> out;
  for (Symbol name : regions_of(module)) {
    std::string id = module.function(name).attr("compiler");
    if (seen.insert(id).second) out.push_back(id);
  }
  for (const std::string& id : context.defaults) {  // they take what others decline
    if (seen.insert(id).second) out.push_back(id);
  }
  return out;
}

Result<std::vector<GeneratedCode>> read_codes(const IRModule& compiled, const std::string& folder,
                                              CodeForm form) {
  std::vector<GeneratedCode> out;
  for (const auto& module : compiled.external_mods) {
    for (const auto& function : module.functions) {
      GeneratedCode& code = out.emplace_back(GeneratedCode{function.symbol, module.plugin, ""});
      std::string path =
          cat(folder, "/", file_name(function.symbol), form == CodeForm::kLlvm ? ".ll" : ".s");
      if (std::error_code error; !fs::exists(path, error)) continue;
      BYOC_TRY(code.text, read_file(path));
    }
  }
  return out;
}

Status check_any(const std::vector<GeneratedCode>& codes) {
  std::set<std::string> plugins;
  for (const GeneratedCode& code : codes) {
    if (!code.text.empty()) return {};
    plugins.insert(code.plugin);
  }
  if (plugins.empty()) return invalid("the model has no compiled functions").with_slug("no-code");
  std::string all;
  for (const std::string& id : plugins) all += cat(all.empty() ? "" : ", ", id);
  return invalid(cat("who compiles this shows no such code: ", all))
      .with_slug("no-code")
      .with_help("byoc print MODEL --compiler llvm --llvm");
}

}  // namespace

Result<std::vector<GeneratedCode>> generated_code(IRModule module, const std::string& function,
                                                  CodeForm form, const ModelOptions& options,
                                                  const cli::CommonOptions& common) {
  BYOC_TRY(BuildOptions build, build_options(options, common));
  BYOC_TRY(PassContext context, make_context(module, build));
  BYOC_TRY(auto passes, passes_until("fuse_ops", context));
  BYOC_TRY(module, run_passes(std::move(module), passes, context));
  if (!function.empty()) {
    BYOC_TRY_STATUS(keep_only(module, function));
  }
  BYOC_TRY(ScratchFolder folder, ScratchFolder::make());
  BYOC_TRY(context.plugins,
           with_dumps(plugins_of(module, context), folder.path(), options, common));
  BYOC_TRY(module, run_codegen(std::move(module), {}, context));
  BYOC_TRY(auto codes, read_codes(module, folder.path(), form));
  BYOC_TRY_STATUS(check_any(codes));
  return codes;
}

}  // namespace byoc::driver
