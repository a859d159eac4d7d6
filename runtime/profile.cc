#include "runtime/profile.h"

namespace byoc {
namespace {

void describe_runner(const Executable& executable, const Step& step, ProfileRow& row) {
  if (step.module == Step::kHostExtern) {
    row.runner = "host";
    return;
  }
  const ExternalModule& module = executable.modules[step.module];
  const ExternalFunction& function = module.functions[step.function];
  row.runner = module.plugin + ((module.flags & BYOC_MODULE_NATIVE) != 0 ? " native" : "");
  row.implementation = function.implementation;
  row.flops = function.flops;
}

}  // namespace

std::vector<ProfileRow> profile_rows(const Session& session, const Context& context) {
  std::vector<ProfileRow> rows;
  std::span<const StepProfile> profile = session.profile(context);
  for (size_t k = 0; k < session.program().steps.size(); ++k) {
    const Step& step = session.program().steps[k];
    ProfileRow row{.symbol = step.symbol,
                   .locs = session.executable().locs(step),
                   .runs = profile[k].runs,
                   .total_ns = profile[k].total_ns,
                   .min_ns = profile[k].runs == 0 ? 0 : profile[k].min_ns};
    describe_runner(session.executable(), step, row);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace byoc
