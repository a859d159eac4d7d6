// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of `byoc run` and `byoc-run` once there is a Session: inputs in, one run, outputs out.
#include "byoc/runtime/session.h"
#include "runtime/cli/command.h"
#include "runtime/cli/values.h"

namespace byoc::cli {

struct RunFlags {
  std::vector<std::string> inputs;  // --input, see values.h
  std::string output_dir;
  std::string trace;  // a file
  bool profile = false;
  uint64_t seed = 0;
};
void add_run_options(Command& command, RunFlags& flags);

/// How outputs are written: ".npy" and write_npy, or what a command puts in their place.
struct OutputFormat {
  std::string ending = ".npy";
  std::function<Status(const NamedTensor& output, const Tensor& tensor, const std::string& path)>
      write;
};
OutputFormat npy_format();

/// Reads and makes inputs, runs, writes outputs, prints: where inputs came from, a line per output,
/// the profile when asked for. With --json: "byoc.run/1".
Status run_session(const Session& session, const std::string& model, const RunFlags& flags,
                   const CommonOptions& common, const TensorReaders& readers = npy_reader(),
                   const OutputFormat& format = npy_format());

/// Each output as a file in `folder`, which is made, and outputs.json: name, dtype, dims, file, in
/// order. Returns the files' names.
Result<std::vector<std::string>> write_outputs(const std::string& folder,
                                               const std::vector<NamedTensor>& outputs,
                                               const std::vector<Tensor>& tensors,
                                               const OutputFormat& format);
/// Letters, digits, '-', '_' and '.' stay, the rest becomes '_'; neither hidden nor an option.
std::string safe_name(std::string name);
/// Names as files: letters, digits, '-', '_' and '.' stay, the rest becomes '_'; no two are equal.
std::vector<std::string> safe_file_names(const std::vector<NamedTensor>& tensors,
                                         std::string_view ending);

}  // namespace byoc::cli
