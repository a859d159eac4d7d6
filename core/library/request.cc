// SPDX-License-Identifier: Apache-2.0
#include "core/library/request.h"

#include <algorithm>
#include <filesystem>

#include "byoc/base/env.h"
#include "byoc/base/nearest.h"
#include "core/tools/model/tuning.h"
#include "core/tools/sizes/open_sizes.h"
#include "runtime/cli/named_plugins.h"
#include "runtime/limits/limits.h"

namespace byoc {

namespace driver {

ModelOptions options_of(const ModelRequest& request) {
  ModelOptions out;
  out.model = request.path;
  out.values = request.options;
  out.tuning = std::make_shared<TuningUse>();
  out.cancel = request.cancel;
  return out;
}

SpillScope spill_for_runs() {
  std::error_code error;
  std::string folder = user_cache_folder();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (folder.empty() || error) folder = std::filesystem::temp_directory_path(error).string();
  return SpillScope(std::move(folder), Spills::kAllButPacked);
}

Result<WorkLimits> limits_of(const ModelOptions& options) {
  BYOC_TRY(const uint64_t bytes, cli::parse_byte_size(options[option::kMaxMemory], "--max-memory"));
  return WorkLimits{bytes, options[option::kTimeLimit]};
}

std::function<bool(std::string_view, uint64_t, uint64_t)> watch_of(const ModelRequest& request) {
  return [&request](std::string_view what, uint64_t done, uint64_t total) {
    if (request.progress) request.progress(what, done, total);
    return request.cancel == nullptr || !request.cancel->is_cancelled();
  };
}

}  // namespace driver

Status set_option(ModelRequest& request, std::string_view name, const std::string& value) {
  auto row = std::ranges::find(option_table(), name, &OptionInfo::name);
  if (row == option_table().end()) {
    std::vector<std::string> known;
    for (const OptionInfo& option : option_table()) known.emplace_back(option.name);
    return not_found(cat("no option \"", name, "\"", did_you_mean(name, known))).with_slug("usage");
  }
  if (auto* list = std::get_if<option::Texts>(&request.options.at(name))) {
    list->push_back(value);
    return {};
  }
  if (request.options.read(*row, value)) return {};
  return invalid(cat("the option ", name, row->value.empty() ? " has no value" : " expects ",
                     row->value, ", not \"", value, "\""))
      .with_slug("usage");
}

Result<IRModule> load_model(const ModelRequest& request) {
  driver::ModelOptions options = driver::options_of(request);
  BYOC_TRY_STATUS(driver::set_open_sizes(options, request.inputs).status());
  return driver::load_model(options);
}

Result<BuildOptions> build_options(const ModelRequest& request) {
  return driver::build_options(driver::options_of(request));
}

}  // namespace byoc
