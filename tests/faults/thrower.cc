// SPDX-License-Identifier: Apache-2.0
// A plugin written with the SDK whose code throws, and one (-DRAW) whose table lets an exception
// out, which is forbidden.
#include <byoc/plugin/sdk.h>
#include <stdexcept>

namespace {
using namespace byoc::sdk;

struct PanickingKernel : Kernel {
  void run(const Call&) const override { throw std::runtime_error("the kernel threw"); }
};

class Thrower : public Plugin {
  void open(const Options& options) override { what_ = options.get("throw", "compile"); }
  std::vector<Pattern> patterns() const override { return {{"relu", op("relu")}}; }
  Verdict judge(const Graph&) const override {
    if (what_ == "judge") throw std::runtime_error("the judge threw");
    if (what_ == "judge-error") throw Error(BYOC_INVALID_ARGUMENT, "no such attribute");
    return Verdict::yes();
  }
  std::unique_ptr<Kernel> compile(Function&) override {
    if (what_ == "decline") throw Declined("changed my mind", 0);
    if (what_ == "memory") throw std::bad_alloc();
    if (what_ == "number") throw 42;
    if (what_ == "null") return nullptr;
    if (what_ != "run") throw std::runtime_error("the compiler threw");
    return std::make_unique<PanickingKernel>();
  }
  std::string what_;
};

}  // namespace

#ifndef RAW
BYOC_PLUGIN(Thrower, "thrower", "1.0.0")
#else
namespace {
byoc_status* throwing_compile(byoc_instance*, const byoc_compile*, byoc_module**) {
  throw std::runtime_error("straight through the C boundary");
}
byoc_status* throwing_run(byoc_kernel*, const byoc_call*) {
  throw std::runtime_error("straight through the C boundary");
}
constexpr byoc_plugin table() {
  byoc_plugin t = detail::Glue<Thrower>::table("thrower", "1.0.0", {});
  t.compile = throwing_compile;
  t.run = throwing_run;
  return t;
}
}  // namespace
BYOC_MANIFEST("thrower", "1.0.0");
extern "C" byoc_status* byoc_plugin_entry_v1(const byoc_host* host,
                                             const byoc_plugin** out) noexcept {
  static constinit const byoc_plugin kTable = table();
  detail::host_pointer = host;
  *out = &kTable;
  return nullptr;
}
#endif
