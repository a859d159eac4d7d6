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

std::vector<ProfileRow> step_rows(const Session& session) {
  std::vector<ProfileRow> rows;
  for (const Step& step : session.program().steps) {
    ProfileRow row{.symbol = step.symbol, .locs = session.executable().locs(step)};
    describe_runner(session.executable(), step, row);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<ProfileRow> profile_rows(const Session& session, const Context& context) {
  std::vector<ProfileRow> rows = step_rows(session);
  std::span<const StepProfile> profile = session.profile(context);
  for (size_t k = 0; k < rows.size(); ++k) {
    rows[k].runs = profile[k].runs;
    rows[k].total_ns = profile[k].total_ns;
    rows[k].min_ns = profile[k].runs == 0 ? 0 : profile[k].min_ns;
  }
  return rows;
}

}  // namespace byoc
