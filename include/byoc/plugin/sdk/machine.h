// SPDX-License-Identifier: Apache-2.0
#pragma once
// The machine that a plugin estimates times for, and the usual estimate: a roofline.
#include <algorithm>
#include <cstdint>

#include "byoc/plugin/abi.h"

namespace byoc::sdk {

/// Shares of the machine's peaks that a kernel reaches, measured by the author of the plugin.
struct Share {
  double peak = 1;       ///< of multiplications and additions per second
  double bandwidth = 1;  ///< of bytes per second
};

/// The work of one run.
struct Work {
  double flops = 0;  ///< multiplications and additions
  double bytes = 0;  ///< of operands and results, each once
};

/// A byoc_machine, borrowed for a call of judge_on.
class Machine {
 public:
  explicit Machine(const byoc_machine& raw) : raw_(&raw) {}  ///< borrows it
  const byoc_machine& raw() const { return *raw_; }          ///< as the host gave it
  uint32_t threads() const { return raw_->threads; }         ///< workers of a run

  /// Returns the time to read so many bytes that were used before, ns: each cache has as much of
  /// them as it keeps, the memory has the rest. With all workers, or with one.
  double bytes_ns(double bytes, bool with_all = false) const {
    double ns = 0, kept = 0;
    for (uint32_t k = 0; k < raw_->n_levels && kept < bytes; ++k) {
      const byoc_machine_level& level = raw_->levels[k];
      const double cores = with_all ? threads() : 1.0;
      const double caches = std::max(1.0, cores / static_cast<double>(level.cores));
      const double holds = static_cast<double>(level.bytes) * caches;
      const double here = k + 1 == raw_->n_levels ? bytes : std::min(bytes, holds);
      if (here <= kept) continue;
      ns += (here - kept) / (with_all ? level.read.all : level.read.one);
      kept = here;
    }
    return ns;
  }

  /// Returns the time of one run, ns: the larger of the time of the arithmetic at a share of the
  /// peak, and of the bytes at a share of the bandwidth where they fit. With all workers where
  /// that is faster, although a parallel loop has to be started. `peak`: of the operands' type.
  double run_ns(const Work& work, const Share& share, const byoc_rate& peak) const {
    const double one =
        std::max(work.flops / (peak.one * share.peak), bytes_ns(work.bytes) / share.bandwidth);
    if (threads() < 2) return one;
    const double all = std::max(work.flops / (peak.all * share.peak),
                                bytes_ns(work.bytes, true) / share.bandwidth);
    return std::min(one, all + raw_->loop_ns);
  }
  /// The same for f32.
  double run_ns(const Work& work, const Share& share = {}) const {
    return run_ns(work, share, raw_->f32);
  }

 private:
  const byoc_machine* raw_;
};

/// Returns an estimate for Cost::est_ns: at least 1, as 0 means that there is none.
inline uint64_t est_ns(double ns) { return static_cast<uint64_t>(std::clamp(ns, 1.0, 1e18)); }

}  // namespace byoc::sdk
