// SPDX-License-Identifier: Apache-2.0
#pragma once
// The common part of `byoc run` and `byoc-run`: reads inputs into a Session, runs it once, writes
// the outputs.
#include <nlohmann/json_fwd.hpp>

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
  uint32_t steps = 1;  // runs of one Context, which hands its states on
};
void add_run_options(Command& command, RunFlags& flags);

/// The format of output files: ".npy" and write_npy, or another that a command supplies.
struct OutputFormat {
  std::string ending = ".npy";
  std::function<Status(const NamedTensor& output, const Tensor& tensor, const std::string& path)>
      write;
};
OutputFormat npy_format();

/// Reads and makes inputs, runs `steps` times, writes the last outputs, prints the source of each
/// input, a line per output, and the profile when requested. With --json: "byoc.run/1", with the
/// members of `more`, which may be null.
Status run_session(const Session& session, const std::string& model, const RunFlags& flags,
                   const CommonOptions& common, const TensorReaders& readers = npy_reader(),
                   const OutputFormat& format = npy_format(),
                   const nlohmann::ordered_json* more = nullptr);

/// Writes each output as a file into `folder`, which is created, and outputs.json with name, dtype,
/// dims and file, in order. Returns the files' names.
Result<std::vector<std::string>> write_outputs(const std::string& folder,
                                               const std::vector<NamedTensor>& outputs,
                                               const std::vector<Tensor>& tensors,
                                               const OutputFormat& format);
/// Keeps letters, digits, '-', '_' and '.' and replaces the rest by '_'; the result is neither a
/// hidden file nor an option.
std::string safe_name(std::string name);
/// Returns names for files: letters, digits, '-', '_' and '.' stay, the rest becomes '_'; no two
/// are equal.
std::vector<std::string> safe_file_names(const std::vector<NamedTensor>& tensors,
                                         std::string_view ending);

}  // namespace byoc::cli
