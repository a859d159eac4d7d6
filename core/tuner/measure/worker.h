// SPDX-License-Identifier: Apache-2.0
#pragma once
// The process that builds and runs points, so that their crashes and hangs do not harm the tuner.
#include "byoc/host/plugins.h"
#include "core/tools/replay/replay_case.h"
#include "core/tuner/measure/protocol.h"

namespace byoc::tune {

/// The kinds of workers differ in the processors that they use.
enum class Role : uint8_t {
  kBuilder,    ///< all but the last of this process, when it has several
  kRunner,     ///< the last one alone, for kernels of one thread
  kWideRunner  ///< all
};

/// Does the requests of one worker. Keeps the tensors of the last task.
class Worker {
 public:
  /// `beat` is called between the parts of a request.
  Worker(std::shared_ptr<const PluginSet> plugins, std::function<void()> beat)
      : plugins_(std::move(plugins)), beat_(std::move(beat)) {}
  Answer answer(const Request& request);

 private:
  Result<Answer> prepare(const Request& request);
  Result<Answer> build(const Request& request);
  Result<Answer> run(const Request& request);
  Result<Answer> duel(const Request& request);
  Status open(const std::string& folder);

  std::shared_ptr<const PluginSet> plugins_;
  std::function<void()> beat_;
  std::string folder_;
  driver::ReplayCase case_;
};

/// Makes this process safe to crash: no core file, at most half of the machine's memory, the first
/// one that the system ends when memory is exhausted, no caches of the user, and it ends with its
/// parent. Sets the processors of the role. Call it before plugins are loaded.
void confine_worker(Role role);
/// Answers requests from standard input until it ends; prints of plugins go to standard error.
/// Returns an error for a line that is no request.
Status serve_requests(const std::shared_ptr<const PluginSet>& plugins);

}  // namespace byoc::tune
