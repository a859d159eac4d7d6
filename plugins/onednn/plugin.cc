// The onednn plugin: patterns as a table, verdicts from oneDNN itself, one kernel per region.
#include "kernel.h"
#include "patterns.h"

namespace byoc::onednn {
namespace {

class OnednnPlugin : public sdk::Plugin {
 public:
  std::vector<sdk::Pattern> patterns() const override { return pattern_table(); }
  sdk::Verdict judge(const Graph& candidate) const override;
  std::unique_ptr<sdk::Kernel> compile(sdk::Function& function) override;

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
};

// A candidate is taken when oneDNN makes the primitive: what it refuses is refused here, never in
// compile.
sdk::Verdict OnednnPlugin::judge(const Graph& candidate) const {
  try {
    Region region = read_region(candidate);
    std::vector<Desc> formats;
    for (const Value& value : region.values) {
      bool describable =
          value.type.is_static() && value.type.rank() <= 6 && value.type.dtype == sdk::DType::kF32;
      formats.push_back(describable ? plain_desc(value.type) : Desc());
    }
    for (const Unit& unit : region.units) {
      Built built = build_unit(region, unit, formats, engine_);
      if (built.implementation.starts_with("ref"))
        return sdk::Verdict::slow(built.implementation + ", oneDNN has no fast kernel for it");
    }
    return sdk::Verdict::yes();
  } catch (const Refusal& refusal) {
    return sdk::Verdict::no(refusal.reason);
  }
}

std::unique_ptr<sdk::Kernel> OnednnPlugin::compile(sdk::Function& function) {
  ThreadScope threads(function.threads == 0 ? 1 : function.threads);
  try {
    Plan plan = make_plan(function.graph, function.constants, engine_);
    return std::make_unique<OnednnKernel>(std::move(plan), engine_, function.threads);
  } catch (const Refusal& refusal) {
    throw sdk::Declined(refusal.reason);
  } catch (const dnnl::error& e) {  // the default codegen can still run it
    throw sdk::Declined(std::string("oneDNN: ") + e.what());
  }
}

}  // namespace
}  // namespace byoc::onednn

BYOC_PLUGIN(byoc::onednn::OnednnPlugin, "onednn", "0.1.0", .flags = BYOC_PLUGIN_HORIZONTAL,
            .priority = 50)
