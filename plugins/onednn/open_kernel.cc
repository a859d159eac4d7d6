// SPDX-License-Identifier: Apache-2.0
#include "open_kernel.h"

#include <algorithm>

namespace byoc::onednn {

OpenKernel::OpenKernel(sdk::Function& function, dnnl::engine engine, const ChainRules& rules)
    : graph_(function.graph),
      engine_(std::move(engine)),
      rules_(rules),
      threads_(function.threads),
      constants_(function.constants, function.graph, engine_) {
  graph_.json = {};
  std::vector<Sizes> first = sizes_to_try(graph_);
  BYOC_ONEDNN_CHECK(!first.empty(), "open sizes have numbers to try");
  first.resize(std::min<size_t>(first.size(), 3));  // nominal, largest, least
  nominal_ = make(first.front());
  layouts_ = constants_.layouts();
  workspace_bytes_ = nominal_->workspace_bytes();
  constants_.finish_compile();
  entries_.push_back(std::make_shared<Entry>());
  entries_.back()->sizes = first.front();
  entries_.back()->kernel = nominal_;
  // The other sizes may read weights in other forms, which no artifact has: runs make these.
  constants_.set_trial(true);
  for (size_t k = 1; k < first.size(); ++k)
    workspace_bytes_ = std::max(workspace_bytes_, plan_for(first[k]).workspace_bytes());
  constants_.set_trial(false);
}

Plan OpenKernel::plan_for(const Sizes& sizes) const {
  const Graph now = sdk::at_sizes(graph_, sizes);
  Choices choices;
  if (nominal_) choices.packed = &layouts_;
  try {
    return make_plan(now, constants_, engine_, rules_, choices);
  } catch (const Refusal& refusal) {
    throw Refusal{refusal.reason + " at " + sizes_text(graph_, sizes)};
  }
}

std::shared_ptr<const OnednnKernel> OpenKernel::make(const Sizes& sizes) const {
  return std::make_shared<const OnednnKernel>(plan_for(sizes), engine_, threads_);
}

// Returns the entry of the sizes, as the most recently used one; a new one has no kernel.
std::shared_ptr<OpenKernel::Entry> OpenKernel::entry_for(std::span<const int64_t> sizes) const {
  auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) {
    return std::equal(sizes.begin(), sizes.end(), entry->sizes.begin(), entry->sizes.end());
  });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return entries_.front();
  }
  auto entry = std::make_shared<Entry>();
  entry->sizes.assign(sizes.begin(), sizes.end());
  entries_.push_front(entry);
  if (entries_.size() > kMostKept) entries_.pop_back();
  return entry;
}

void OpenKernel::forget(const Entry& entry) const {
  std::lock_guard lock(mutex_);
  entries_.remove_if([&](const auto& known) { return known.get() == &entry; });
}

// Makes the kernel of a new entry, or waits for the run that makes it.
std::shared_ptr<const OnednnKernel> OpenKernel::made_by(Entry& entry, const sdk::Call& call) const {
  std::lock_guard making(entry.making);
  {
    std::lock_guard lock(mutex_);
    if (entry.kernel) return entry.kernel;
  }
  const uint64_t begin = call.wants_spans() ? sdk::host().now_ns() : 0;
  std::shared_ptr<const OnednnKernel> kernel;
  try {
    ThreadScope threads(std::max<uint32_t>(threads_, 1));
    kernel = make(entry.sizes);
  } catch (const Refusal& refusal) {
    forget(entry);
    throw sdk::Error(BYOC_UNIMPLEMENTED, refusal.reason);
  } catch (...) {
    forget(entry);
    throw;
  }
  if (call.wants_spans()) report(call, entry.sizes, begin);
  std::lock_guard lock(mutex_);
  return entry.kernel = std::move(kernel);
}

std::shared_ptr<const OnednnKernel> OpenKernel::kernel_for(const sdk::Call& call) const {
  const std::span<const int64_t> sizes(call.raw().sizes, graph_.size_ranges.size());
  std::shared_ptr<Entry> entry;
  {
    std::lock_guard lock(mutex_);
    entry = entry_for(sizes);
    if (entry->kernel) return entry->kernel;
  }
  return made_by(*entry, call);
}

void OpenKernel::report(const sdk::Call& call, const Sizes& sizes, uint64_t begin_ns) const {
  auto text = [](std::string_view t) { return byoc_str{t.data(), t.size()}; };
  size_t kept = 0;
  {
    std::lock_guard lock(mutex_);
    kept = entries_.size();
  }
  const std::string made_for = sizes_text(graph_, sizes);
  const std::string count = std::to_string(kept) + " of " + std::to_string(kMostKept);
  const byoc_str details[] = {text("sizes"), text(made_for), text("kept"), text(count)};
  call.span(-1, text("make primitives"), begin_ns, sdk::host().now_ns(), details);
}

void OpenKernel::run(const sdk::Call& call) const {
  BYOC_ONEDNN_CHECK(BYOC_HAS(&call.raw(), sizes), "a run of open sizes has their numbers");
  const std::shared_ptr<const OnednnKernel> kernel = kernel_for(call);
  if (kernel->workspace_bytes() <= call.raw().workspace_bytes)
    return kernel->run_in(call, call.workspace());
  // Layouts and scratchpads of a size may need more than those of the largest.
  const sdk::Host::Memory own = sdk::host().alloc(kernel->workspace_bytes());
  kernel->run_in(call, own.get());
}

sdk::KernelInfo OpenKernel::info() const {
  sdk::KernelInfo out = nominal_->info();
  out.workspace_bytes = workspace_bytes_;
  out.implementation += ", made per size, " + std::to_string(kMostKept) + " kept";
  return out;
}

}  // namespace byoc::onednn
