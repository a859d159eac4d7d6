// SPDX-License-Identifier: Apache-2.0
#include "core/library/printed.h"

#include "core/tools/show/tensor_expressions.h"

namespace byoc::driver {
namespace {

/// Adds the flags that set open sizes, which have no tensor expression.
Status with_cure(Status status, const IRModule& module) {
  const bool is_open = status.slug() == "symbolic-shape" && status.help().empty();
  const Status inputs = check_static_inputs(module);
  if (!is_open || inputs.ok()) return status;
  return std::move(status).with_help(inputs.help());
}

}  // namespace

Result<RangedModel> module_after(const ModelOptions& options, const std::string& pass,
                                 const std::string& function) {
  RangedModel out;
  if (pass.empty()) {
    BYOC_TRY(out.module, load_model(options));
  } else {
    BYOC_TRY(out, load_ranged(options));
    BYOC_TRY(BuildOptions build, build_options(options));
    BYOC_TRY(PassContext context, make_context(out.module, build));
    BYOC_TRY(auto passes, Pipeline::until(pass, context));
    BYOC_TRY(out.module, run_passes(std::move(out.module), passes, context));
  }
  if (!function.empty() && out.module.find(function) == nullptr) {
    return not_found(cat("no function \"", function, "\" in the module"))
        .with_slug("unknown-function");
  }
  return out;
}

Result<std::vector<FunctionDag>> dags_after(const IRModule& module, const ModelOptions& options,
                                            const std::string& function) {
  BYOC_TRY(te::Target target, te::parse_target(options[option::kTarget]));
  std::vector<FunctionDag> out;
  for (Symbol name : functions_of_interest(module, function)) {
    Result<te::Dag> dag = dag_of(module, name, target);
    if (!dag.ok()) return with_cure(std::move(dag.status()), module);
    out.push_back({name, *std::move(dag)});
  }
  return out;
}

}  // namespace byoc::driver
