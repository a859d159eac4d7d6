// SPDX-License-Identifier: Apache-2.0
#pragma once
// The Executable and its file form, model.byoc: the program, weights once, every plugin's bytes.
#include <map>
#include <optional>

#include "byoc/base/external.h"

namespace byoc {

/// An input or output of a program.
struct NamedTensor {
  std::string name;  ///< as in the model
  TensorSpec type;   ///< dtype and extents
};

/// A size that the inputs of a run have.
struct OpenSize {
  std::string name;             ///< as in the types of the program
  int64_t least = 0, most = 0;  ///< its bounds, both included
};

/// The place of one argument of a step, or of the source of a copy.
struct Place {
  /// The memory that holds a tensor.
  enum Kind : uint32_t { kInput, kOutput, kConstant, kArena, kDevice };
  Kind kind = kArena;  ///< the kind of memory
  /// The number of the input, output, constant or device, or of the arena's block.
  uint32_t index = 0;
  uint64_t offset = 0;  ///< in the arena, the block, or the device's arena, a multiple of 64
  friend bool operator==(const Place&, const Place&) = default;
};

/// The call of one function, or a copy between the host and a device.
struct Step {
  /// The value of `module` for functions of the host program.
  static constexpr uint32_t kHostExtern = UINT32_MAX;
  /// The value of `module` for copies of args[0] to args[1], one of which is on a device.
  static constexpr uint32_t kDeviceCopy = UINT32_MAX - 1;
  uint32_t module = kHostExtern;  ///< of the executable, or one of the two values above
  /// Returns true when it calls a function of a module.
  bool is_compiled() const { return module < kDeviceCopy; }
  uint32_t function = 0;    ///< in the module
  std::string symbol;       ///< differs from its function's when equal functions share a kernel
  uint32_t n_in = 0;        ///< args: inputs, then outputs
  std::vector<Place> args;  ///< inputs, then outputs
  std::vector<TensorSpec> types;  ///< a type per arg
  std::vector<std::string> locs;  ///< the user's names, when `symbol` is not its function's
};

/// An instruction of a program with control flow. `args` and `types` are what it reads and writes.
/// kIf, kElse, kLoop and kEnd nest as blocks do: each kIf and kLoop has its kEnd.
struct Instruction {
  /// The kinds of instructions.
  enum Kind : uint32_t {
    kCall,  ///< runs step `index`
    kCopy,  ///< copies args[0] to args[1]
    kIf,    ///< runs the block up to kElse when args[0], a bool, is true
    kElse,  ///< begins the block that runs when it is false; every kIf has one
    kLoop,  ///< repeats the block while args[2] < args[0] (both i64) and args[1], a bool, is true;
            ///< sets args[2] to 0 first, and adds 1 after each iteration
    kAppend,  ///< copies args[0] to row args[2] of args[1], in a loop with that counter
    kEnd      ///< ends the block
  };
  Kind kind = kCall;              ///< the kind of instruction
  uint32_t index = 0;             ///< kCall: the step
  std::vector<Place> args;        ///< the operands, and what is written
  std::vector<TensorSpec> types;  ///< a type per arg
};

/// An output that no step writes: passed through, or repeated.
struct Copy {
  Place from;           ///< the source
  uint32_t output = 0;  ///< index of the output
};

/// A constant that steps or copies read.
struct ProgramConstant {
  ContentKey key;   ///< the hash of its bytes
  TensorSpec type;  ///< dtype and extents
};

/// A device that a program uses.
struct ProgramDevice {
  std::string plugin;        ///< the id of the plugin that has it
  uint32_t type = 0;         ///< as in DLPack, not the CPU
  uint32_t id = 0;           ///< the plugin's number for it
  uint64_t arena_bytes = 0;  ///< memory on it for the tensors between steps
  friend bool operator==(const ProgramDevice&, const ProgramDevice&) = default;
};

/// A state: an input and an output that a Context connects, so that each run reads the value that
/// the run before wrote.
struct ProgramState {
  /// The types of the rows that steps write into the old value per run, where these are all that
  /// changes; empty: all of it.
  std::vector<TensorSpec> rows;
};

/// The part of an artifact that a Session runs.
struct Program {
  std::vector<NamedTensor> inputs, outputs;  ///< the values of a run, in order; then the states'
  std::vector<ProgramConstant> constants;    ///< read by steps and copies directly
  std::vector<Step> steps;                   ///< in order of execution, unless there is code
  std::vector<Instruction> code;             ///< empty: the steps are run one after another
  std::vector<Copy> copies;                  ///< after the steps
  uint64_t arena_bytes = 0;  ///< the size of the memory for tensors between steps; 0 with packing
  uint64_t peak_live_bytes = 0;  ///< the least that any plan needs; 0 with packing
  std::vector<OpenSize> sizes;   ///< by name; each is a dim of some input
  /// Empty in a program of fixed sizes, whose arena is one block. Else orders of all blocks: each
  /// run places the blocks for its sizes, by the order that needs the least memory.
  std::vector<std::vector<uint32_t>> packing;
  size_t blocks() const { return packing.empty() ? 0 : packing[0].size(); }  ///< of `packing`
  std::vector<ProgramState> states;    ///< of the last inputs, and of the last outputs
  std::vector<ProgramDevice> devices;  ///< that places name; empty: all memory is the host's
  /// Returns the number of the device that a function of the module runs on; none: the host, or no
  /// step calls it.
  std::optional<uint32_t> device_of(const ExternalModule& module,
                                    const ExternalFunction& function) const {
    for (uint32_t k = 0; !function.device.empty() && k < devices.size(); ++k) {
      if (devices[k].plugin == module.plugin && devices[k].type == function.device[0] &&
          devices[k].id == function.device[1])
        return k;
    }
    return {};
  }
  size_t run_inputs() const { return inputs.size() - states.size(); }    ///< that a caller gives
  size_t run_outputs() const { return outputs.size() - states.size(); }  ///< that a caller gets
  std::vector<NamedTensor> given() const {                               ///< the inputs of a caller
    return {inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(run_inputs())};
  }
  std::vector<NamedTensor> taken() const {  ///< the outputs of a caller
    return {outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(run_outputs())};
  }
};

/// The contents of an artifact.
struct Executable {
  Program program;                      ///< the steps
  std::vector<ExternalModule> modules;  ///< the results of the plugins' compile
  std::map<ContentKey, std::shared_ptr<const Buffer>>
      constants;         ///< all that program and modules name
  std::string producer;  ///< "byoc 0.1.0"
  /// The same model by other plugins, which a Session runs when a device of this one is gone. Null:
  /// none. It has none itself.
  std::shared_ptr<const Executable> fallback = {};

  /// Returns the user's names of the ops that a step runs.
  const std::vector<std::string>& locs(const Step& step) const {
    if (!step.is_compiled()) return step.locs;
    const ExternalFunction& function = modules[step.module].functions[step.function];
    return function.symbol == step.symbol ? function.locs : step.locs;
  }
};

/// Writes to a temporary name beside `path`, syncs and renames: a failure leaves nothing. The same
/// Executable gives the same bytes. Errors: name the path and the system's reason.
Status save_artifact(const Executable& executable, const std::string& path);
/// Maps the file; weights stay in it. Checks magic, version, sizes, and every section's hash before
/// anything is used; hashes of constants that a module's `load` reads only to pack them
/// (BYOC_CONST_PACKED) when it does. Errors: kDataLoss (slug "artifact-corrupt"), kStaleArtifact
/// (slug "artifact-version"), naming section and offset.
Result<Executable> load_artifact(const std::string& path);

}  // namespace byoc
