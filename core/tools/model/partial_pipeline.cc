// SPDX-License-Identifier: Apache-2.0
#include "core/tools/model/partial_pipeline.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/base/nearest.h"

namespace byoc::driver {
namespace {

/// Returns the index after the last pass of that name, or 0 when there is none.
std::ptrdiff_t end_of(const std::string& name, const std::vector<Pass>& passes) {
  auto found = std::find_if(passes.rbegin(), passes.rend(),
                            [&](const Pass& pass) { return pass.name == name; });
  return found.base() - passes.begin();
}

}  // namespace

std::vector<Pass> whole_pipeline(const PassContext& context) {
  std::vector<Pass> passes = partition_pipeline(context);
  for (Pass& pass : codegen_pipeline(context)) passes.push_back(std::move(pass));
  return passes;
}

Result<std::vector<Pass>> passes_until(const std::string& name, const PassContext& context) {
  std::vector<Pass> passes = whole_pipeline(context);
  std::ptrdiff_t end = end_of(name, passes);
  if (end > 0) {
    passes.resize(static_cast<size_t>(end));
    return passes;
  }
  std::vector<std::string> known;
  for (const Pass& pass : passes) known.push_back(pass.name);
  return not_found(cat("no pass \"", name, "\" in the pipeline", did_you_mean(name, known)))
      .with_slug("unknown-pass")
      .with_help("byoc opt --list");
}

std::vector<Pass> passes_after(const std::string& name, const PassContext& context) {
  std::vector<Pass> passes = whole_pipeline(context);
  std::ptrdiff_t end = end_of(name, passes);
  BYOC_CHECK(end > 0, "no pass ", name, " in the pipeline");
  passes.erase(passes.begin(), passes.begin() + end);
  return passes;
}

}  // namespace byoc::driver
