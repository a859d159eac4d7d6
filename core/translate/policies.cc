// SPDX-License-Identifier: Apache-2.0
// The scopes of a thread, and several policies as one.
#include "byoc/translate/policies.h"

#include "byoc/base/check.h"

namespace byoc::te {
namespace {

std::vector<std::shared_ptr<const Policies>>& scopes() {
  thread_local std::vector<std::shared_ptr<const Policies>> all;  // outermost first
  return all;
}

}  // namespace

ApplyPolicies::ApplyPolicies(Policies policies) {
  scopes().push_back(std::make_shared<const Policies>(std::move(policies)));
}

ApplyPolicies::~ApplyPolicies() { scopes().pop_back(); }

std::vector<std::shared_ptr<const Policies>> ApplyPolicies::active() {
  return {scopes().rbegin(), scopes().rend()};
}

Policies joined(std::span<const std::shared_ptr<const Policies>> all) {
  Policies out;
  std::vector<ScheduleProvider> providers;
  for (const auto& policies : all) {
    BYOC_CHECK(policies != nullptr, "null among the policies");
    if (!out.strategies) out.strategies = policies->strategies;
    if (!out.selector && policies->selector)
      out.selector = policies->selector, out.check = policies->check;
    if (policies->provider) providers.push_back(policies->provider);
  }
  if (providers.empty()) return out;
  out.provider = [providers = std::move(providers)](const Dag& dag) {
    std::optional<Result<Schedule>> schedule;
    for (const ScheduleProvider& provider : providers) {
      schedule = provider(dag);
      if (schedule) break;
    }
    return schedule;
  };
  return out;
}

std::vector<std::shared_ptr<const Policies>> unchecked(
    std::span<const std::shared_ptr<const Policies>> all) {
  if (all.empty()) return {};
  Policies out = joined(all);
  out.check = nullptr;
  return {std::make_shared<const Policies>(std::move(out))};
}

}  // namespace byoc::te
