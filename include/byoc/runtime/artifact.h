// SPDX-License-Identifier: Apache-2.0
#pragma once
// The Executable and its file form, model.byoc: the program, weights once, every plugin's bytes.
#include <map>

#include "byoc/base/external.h"

namespace byoc {

struct NamedTensor {
  std::string name;
  TensorSpec type;
};

/// The place of one argument of a step, or of the source of a copy.
struct Place {
  enum Kind : uint32_t { kInput, kOutput, kConstant, kArena };
  Kind kind = kArena;
  uint32_t index = 0;   // of the input, output or constant
  uint64_t offset = 0;  // in the arena, a multiple of 64
  friend bool operator==(const Place&, const Place&) = default;
};

struct Step {
  static constexpr uint32_t kHostExtern = UINT32_MAX;
  uint32_t module = kHostExtern;  // kHostExtern: the host program provides it
  uint32_t function = 0;          // in the module
  std::string symbol;
  uint32_t n_in = 0;  // args: inputs, then outputs
  std::vector<Place> args;
  std::vector<TensorSpec> types;  // of args
  std::vector<std::string> locs;  // the user's names, of a host extern
};

struct Copy {  // pass-through and repeated outputs
  Place from;
  uint32_t output = 0;
};

struct ProgramConstant {
  ContentKey key;
  TensorSpec type;
};

struct Program {
  std::vector<NamedTensor> inputs, outputs;
  std::vector<ProgramConstant> constants;  // read by steps and copies directly
  std::vector<Step> steps;                 // in order of execution
  std::vector<Copy> copies;                // after the steps
  uint64_t arena_bytes = 0;
  uint64_t peak_live_bytes = 0;  // the least that any plan needs
};

struct Executable {
  Program program;
  std::vector<ExternalModule> modules;
  std::map<ContentKey, std::shared_ptr<const Buffer>>
      constants;         // all that program and modules name
  std::string producer;  // "byoc 0.1.0"

  /// Returns the user's names of the ops that a step runs.
  const std::vector<std::string>& locs(const Step& step) const {
    return step.module == Step::kHostExtern ? step.locs
                                            : modules[step.module].functions[step.function].locs;
  }
};

/// Writes to a temporary name beside `path`, syncs and renames: a failure leaves nothing. The same
/// Executable gives the same bytes. Errors: name the path and the system's reason.
Status save_artifact(const Executable& executable, const std::string& path);
/// Maps the file; weights stay in it. Checks magic, version, sizes, and every section's hash before
/// anything is used. Errors: kDataLoss (slug "artifact-corrupt"), kStaleArtifact (slug
/// "artifact-version"), naming section and offset.
Result<Executable> load_artifact(const std::string& path);

}  // namespace byoc
