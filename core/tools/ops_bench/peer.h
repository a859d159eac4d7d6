// SPDX-License-Identifier: Apache-2.0
#pragma once
// ONNX Runtime in a child process, by the script share/byoc/ops/peer.py.
#include <functional>

#include "byoc/base/json.h"
#include "byoc/runtime/tensor.h"
#include "core/process/piped_program.h"
#include "core/tools/ops_bench/op_model.h"

namespace byoc::driver {

/// The peer's process. It is started again after a crash. One thread may use it.
class Peer {
 public:
  /// Starts `python` with the script. Errors: slug "ops-peer", with the reason for which there is
  /// none: no such program, or a module that it cannot import.
  static Result<std::unique_ptr<Peer>> start(const std::string& python, const std::string& script);

  const std::string& version() const { return version_; }
  /// Loads the model and runs it once. Errors: slug "ops-peer", with the peer's own words.
  Status load(const CaseFiles& files, uint32_t threads);
  /// Returns the ns per run of the samples of a turn.
  Result<std::vector<double>> run(double seconds);
  /// Returns the outputs of the last run, by way of files in `folder`.
  Result<std::vector<Tensor>> outputs(const std::string& folder);

 private:
  Peer(std::string python, std::string script)
      : python_(std::move(python)), script_(std::move(script)) {}
  Status begin();
  Result<Json> read_reply();
  Result<Json> request(const Json& line);

  std::string python_, script_, version_;
  std::unique_ptr<process::PipedProgram> program_;
};

}  // namespace byoc::driver
