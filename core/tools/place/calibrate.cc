// SPDX-License-Identifier: Apache-2.0
#include "core/tools/place/calibrate.h"

#include <algorithm>
#include <cstring>

#include "byoc/base/clock.h"
#include "byoc/pass/passes.h"
#include "core/machine/this_machine.h"
#include "core/tools/measure/single_op.h"
#include "core/tools/place/links.h"

namespace byoc::driver {
namespace {

using namespace placement;

// Ops of each class, small and large ones: plugins differ in how fast they get efficient.
const std::vector<SingleOp>& samples() {
  static const std::vector<SingleOp> table = {
      {"conv2d", {"x=1x32x14x14", "weight=32x32x3x3"}, {"pads=[1,1,1,1]"}, {"weight"}},
      {"conv2d", {"x=1x128x28x28", "weight=128x128x3x3"}, {"pads=[1,1,1,1]"}, {"weight"}},
      {"conv2d",
       {"x=1x3x224x224", "weight=64x3x7x7"},
       {"pads=[3,3,3,3]", "strides=[2,2]"},
       {"weight"}},
      {"conv2d", {"x=1x32x14x14", "weight=64x32x1x1"}, {}, {"weight"}},
      {"conv2d", {"x=1x256x28x28", "weight=128x256x1x1"}, {}, {"weight"}},
      {"conv2d", {"x=1x64x14x14", "weight=64x1x3x3"}, {"pads=[1,1,1,1]", "group=64"}, {"weight"}},
      {"conv2d",
       {"x=1x144x56x56", "weight=144x1x3x3"},
       {"pads=[1,1,1,1]", "group=144"},
       {"weight"}},
      {"matmul", {"a=1x256", "b=256x256"}, {}, {"b"}},
      {"matmul", {"a=32x128", "b=128x128"}, {}, {"b"}},
      {"matmul", {"a=128x768", "b=768x768"}, {}, {"b"}},
      {"conv2d", {"x=1x64x56x56", "weight=64x64x3x3"}, {"pads=[1,1,1,1]"}, {"weight"}},
      {"conv2d", {"x=1x512x7x7", "weight=512x512x3x3"}, {"pads=[1,1,1,1]"}, {"weight"}},
      {"conv2d", {"x=1x512x7x7", "weight=1024x512x1x1"}, {}, {"weight"}},
      {"conv2d", {"x=1x480x1x1", "weight=120x480x1x1"}, {}, {"weight"}},
      {"conv2d",
       {"x=1x480x14x14", "weight=480x1x5x5"},
       {"pads=[2,2,2,2]", "group=480"},
       {"weight"}},
      {"matmul", {"a=1x2048", "b=2048x2048"}, {}, {"b"}},
      {"matmul", {"a=12x128x64", "b=12x64x128"}, {}, {}},
      {"max_pool", {"x=1x64x56x56"}, {"kernel_shape=[3,3]", "strides=[2,2]"}, {}},
      {"global_average_pool", {"x=1x512x7x7"}, {}, {}},
      {"relu", {"x=1x64x14x14"}, {}, {}},
      {"relu", {"x=1x64x112x112"}, {}, {}},
      {"add", {"a=1x64x28x28", "b=1x64x28x28"}, {}, {}},
      {"add", {"a=1x64x112x112", "b=1x64x112x112"}, {}, {}},
      {"exp", {"x=1x64x14x14"}, {}, {}},
      {"exp", {"x=1x64x56x56"}, {}, {}},
      {"softmax", {"x=12x128x128"}, {}, {}},
      {"softmax", {"x=1x1000"}, {}, {}},
      {"transpose", {"x=1x64x56x56"}, {"perm=[0,2,3,1]"}, {}},
  };
  return table;
}

template <class F>
double best_ns(F&& work) {
  double best = 0;
  for (int run = 0; run < 20; ++run) {
    const uint64_t begin = now_ns();
    work();
    const double ns = std::max(ns_since(begin), 1.0);
    best = run == 0 ? ns : std::min(best, ns);
  }
  return best;
}

void measure_memory(Machine& machine) {
  constexpr size_t kElements = 1 << 16;  // 256 KiB
  std::vector<float> from(kElements, 1), to(kElements);
  const double bytes = kElements * sizeof(float);
  machine.cache_gb_per_s =
      2 * bytes / best_ns([&] { std::memcpy(to.data(), from.data(), kElements * sizeof(float)); });
  constexpr size_t kChannels = 64, kPixels = kElements / kChannels;
  machine.reorder_gb_per_s = bytes / best_ns([&] {
                               for (size_t p = 0; p < kPixels; ++p) {
                                 for (size_t c = 0; c < kChannels; ++c)
                                   to[p * kChannels + c] = from[c * kPixels + p];
                               }
                               from[0] = to[1];  // the next run depends on this one
                             });
}

// Returns the bytes of the parameters and results of a probe.
double activation_bytes(const Function& body) {
  double out = 0;
  auto add = [&](TypeId type) {
    const Result<int64_t> bytes = size_bytes(*type);
    out += bytes.ok() ? static_cast<double>(*bytes) : 0;
  };
  for (size_t p = 0; p < body.num_params(); ++p) add(body.nodes[p].types[0]);
  for (ValueId result : body.results) add(body.type(result));
  return out;
}

}  // namespace

std::vector<const Plugin*> calibrated_plugins(const BuildOptions& build) {
  std::vector<const Plugin*> out;
  for (const auto& plugin : build.plugins->all()) out.push_back(plugin.get());
  for (const std::string& id : build.compilers) {
    const Plugin* plugin = build.plugins->find(id);
    if (plugin != nullptr && !std::ranges::count(out, plugin)) out.push_back(plugin);
  }
  return out;
}

Result<Machine> calibrate(
    const BuildOptions& build, uint32_t timeout_s,
    const std::function<void(std::string_view what, uint64_t done, uint64_t total)>& progress) {
  Machine machine;
  machine.name = machine_name();
  machine.threads = build.threads;
  progress("looking up the peaks of the machine", 0, 1);
  BYOC_TRY(const auto here, machine::this_machine());
  use_machine(*machine::view_of(*here, build.threads), machine);
  measure_memory(machine);
  progress("measuring the links of devices", 0, 1);
  machine.links = measure_links(calibrated_plugins(build));
  BuildOptions all = build;
  all.compilers = {"auto"};
  for (const Plugin* plugin : calibrated_plugins(build)) {
    if (!plugin->is_default_codegen()) all.compilers.push_back(plugin->id());
  }
  const Costs no_costs;
  std::map<std::string, std::vector<Probe>> probes;
  std::map<std::string, std::string> versions;
  for (const SingleOp& op : samples()) {
    BYOC_TRY(IRModule module, single_op_module(op));
    BYOC_TRY(PassContext context, make_context(module, all));
    context.level = 0;  // ops alone
    BYOC_TRY(module, infer_types(std::move(module), context));
    BYOC_TRY(Candidates candidates,
             find_candidates(module, module.entry, context.compilers, no_costs, context));
    for (const Candidate& one : candidates.all) {
      const Plugin& plugin = *candidates.plugins[one.plugin];
      versions[plugin.id()] = version_and_build(plugin);
      probes[plugin.id()].push_back(make_probe(module, module.entry, candidates, one));
    }
  }
  size_t total = 0, done = 0;
  for (const auto& [id, list] : probes) total += list.size();
  double call = 0, reordered_bytes = 0, reorder_ns = 0;
  for (const auto& [id, list] : probes) {
    progress(cat("measuring ops of ", id), done, total);
    const std::vector<ProbeResult> results =
        measure_probes(list, build, {.min_time_s = 0.02, .check = false, .timeout_s = timeout_s},
                       [&](size_t n) { progress(cat("measuring ops of ", id), done + n, total); });
    done += list.size();
    for (size_t k = 0; k < list.size(); ++k) {
      if (!results[k].error.empty()) continue;
      machine.samples.push_back({id, versions[id], list[k].work, results[k].ns});
      if (results[k].reorder_ns > 0) {
        reordered_bytes += activation_bytes(list[k].body);
        reorder_ns += results[k].reorder_ns;
      }
      const double over = results[k].ns - machine.roofline_ns(list[k].work);
      if (over > 0 && (call == 0 || over < call)) call = over;
    }
  }
  for (const Plugin* plugin : calibrated_plugins(build)) {  // so that it is not tried again
    if (!machine.has_samples(plugin->id(), version_and_build(*plugin)))
      machine.samples.push_back({plugin->id(), version_and_build(*plugin), {}, 0});
  }
  if (reorder_ns > 0) machine.reorder_gb_per_s = reordered_bytes / reorder_ns;
  // The least that any op took beyond its roofline; a call cannot cost more.
  if (call > 0) machine.call_ns = std::clamp(call, 100.0, 2000.0);
  return machine;
}

}  // namespace byoc::driver
