// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/kept/compile_jobs.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <unordered_map>

#include "core/codegen/kept/interrupted.h"
#include "runtime/guard/signal_stack.h"

namespace byoc {
namespace {

// Jobs that follow each other, by their indices.
using Lane = std::vector<size_t>;

std::vector<Lane> lanes_of(std::span<CompileJob* const> jobs) {
  std::vector<Lane> out;
  std::unordered_map<const Plugin*, size_t> serial;  // the lanes of plugins with one each
  for (size_t k = 0; k < jobs.size(); ++k) {
    const Plugin* plugin = jobs[k]->plugin;
    if (plugin->has_parallel_compiles()) {
      out.push_back({k});
      continue;
    }
    const auto [at, is_new] = serial.try_emplace(plugin, out.size());
    if (is_new) out.emplace_back();
    out[at->second].push_back(k);
  }
  return out;
}

// A refused point is no failure: the function is compiled again without it.
bool is_failure(const CompileResult& result) {
  const Code code = result.status.code();
  return !result.status.ok() && code != Code::kDeclined && code != Code::kInvalidArgument;
}

class Run {
 public:
  Run(std::span<CompileJob* const> jobs, const KeptCompiles& kept, const CompileOptions& options)
      : jobs_(jobs), kept_(kept), options_(options), lanes_(lanes_of(jobs)) {
    for (const CompileJob* job : jobs) {
      if (compiles_singly(*job->plugin)) ++counts_[job->plugin].all;
    }
  }
  void run() {
    const size_t cores = std::max(1U, std::thread::hardware_concurrency());
    const size_t workers = std::min(lanes_.size(), cores);
    has_company_ = workers > 1;
    std::vector<std::thread> others;
    for (size_t k = 1; k < workers; ++k)
      others.emplace_back([this] {
        const SignalStack of_this_thread;
        work();
      });
    work();
    for (std::thread& other : others) other.join();
  }

 private:
  struct Count {
    size_t all = 0;
    std::atomic<size_t> done = 0;
  };
  void work() {
    for (size_t lane; (lane = next_++) < lanes_.size();) {
      for (size_t job : lanes_[lane]) compile(job);
    }
  }
  void compile(size_t k) {
    if (k > first_failed_) return;
    CompileJob& job = *jobs_[k];
    CompileOptions options = options_;
    if (has_company_ && job.plugin->has_parallel_compiles()) options.workers = 1;
    job.result = compile_one(job, kept_, options);
    if (is_failure(*job.result)) {
      for (size_t first = first_failed_;
           k < first && !first_failed_.compare_exchange_weak(first, k);) {
      }
    }
    show_progress(*job.plugin);
  }
  void show_progress(const Plugin& plugin) {
    const auto at = counts_.find(&plugin);
    if (options_.cancel == nullptr || at == counts_.end() || at->second.all < 2) return;
    const size_t done = ++at->second.done;
    const std::string what =
        cat("compiling with ", plugin.id(), ", ", done, " of ", at->second.all);
    host_table()->progress(options_.cancel->raw(),
                           static_cast<uint32_t>(1000 * done / at->second.all),
                           {what.data(), what.size()});
  }

  const std::span<CompileJob* const> jobs_;
  const KeptCompiles& kept_;
  const CompileOptions& options_;
  const std::vector<Lane> lanes_;
  std::unordered_map<const Plugin*, Count> counts_;  // of plugins with a call per function
  bool has_company_ = false;
  std::atomic<size_t> next_ = 0, first_failed_ = SIZE_MAX;
};

}  // namespace

bool compiles_singly(const Plugin& plugin) {
  return !plugin.kept_as().empty() || plugin.has_parallel_compiles();
}

CompileResult compile_one(const CompileJob& job, const KeptCompiles& kept,
                          const CompileOptions& options) {
  if (is_interrupted(options)) return interrupted(*job.plugin);
  try {
    if (!job.plugin->kept_as().empty()) return kept.compile(*job.plugin, job.inputs[0], options);
  } catch (const std::bad_alloc&) {
    CompileResult out;
    out.status = Status(Code::kResourceExhausted, cat(job.plugin->id(), ": out of memory"))
                     .with_slug("no-memory");
    return out;
  }
  return job.plugin->compile(job.inputs, options);
}

void run_jobs(std::span<CompileJob* const> jobs, const KeptCompiles& kept,
              const CompileOptions& options) {
  Run(jobs, kept, options).run();
}

}  // namespace byoc
