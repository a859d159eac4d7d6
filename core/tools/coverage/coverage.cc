// SPDX-License-Identifier: Apache-2.0
#include "core/tools/coverage/coverage.h"

#include <algorithm>

#include "byoc/compile.h"
#include "core/conform/samples/samples.h"

namespace byoc::driver {
namespace {

/// A plugin, and the passes that offer it ops.
struct Offer {
  std::string id;
  PassContext context;
  std::vector<Pass> passes;
};

Result<Offer> make_offer(const std::string& id, std::shared_ptr<const PluginSet> plugins) {
  BuildOptions options;
  options.plugins = std::move(plugins);
  options.compilers = {id};
  options.level = 0;
  BYOC_TRY(PassContext context, make_context(IRModule(), options));
  BYOC_TRY(auto passes, Pipeline::until("fuse_ops", context));
  return Offer{id, std::move(context), std::move(passes)};
}

/// A module that no plugin takes is an error of fuse_ops.
bool is_taken(const IRModule& module, const Offer& offer) {
  auto made = run_passes(module, offer.passes, offer.context);
  if (!made.ok()) return false;
  return std::any_of(made->functions.begin(), made->functions.end(), [&](const auto& item) {
    return item.second.attrs.has("primitive") && item.second.attrs.s("compiler") == offer.id;
  });
}

OpCoverage cover(const OpDef& op, const std::vector<Offer>& offers) {
  OpCoverage out{&op, 0, std::vector<size_t>(offers.size())};
  for (const conform::Program& program : conform::programs_of(op, conform::Level::kCore)) {
    ++out.samples;
    const conform::Program constants = conform::with_constants(program, 1);
    for (size_t k = 0; k < offers.size(); ++k) {
      out.taken[k] += is_taken(program.module, offers[k]) || is_taken(constants.module, offers[k]);
    }
  }
  return out;
}

}  // namespace

Result<Coverage> coverage_of(const std::vector<const OpDef*>& ops,
                             std::shared_ptr<const PluginSet> plugins, std::vector<std::string> ids,
                             const std::function<void(size_t done)>& progress) {
  Coverage out;
  std::vector<Offer> offers;
  for (size_t k = 0; ids.empty() && k < plugins->all().size(); ++k)
    out.plugins.push_back(plugins->all()[k]->id());
  out.plugins.insert(out.plugins.end(), ids.begin(), ids.end());
  for (const std::string& id : out.plugins) {
    BYOC_TRY(Offer offer, make_offer(id, plugins));
    offers.push_back(std::move(offer));
  }
  for (size_t k = 0; k < ops.size(); ++k) {
    OpCoverage covered = cover(*ops[k], offers);
    if (covered.samples > 0) out.ops.push_back(std::move(covered));
    progress(k + 1);
  }
  return out;
}

}  // namespace byoc::driver
