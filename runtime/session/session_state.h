// SPDX-License-Identifier: Apache-2.0
#pragma once
// The data of a Session and a Context: tables made at load and at make_context, so that a run only
// follows pointers.
#include <deque>
#include <mutex>
#include <optional>

#include "byoc/runtime/session.h"
#include "runtime/arena/packed_arena.h"
#include "runtime/artifact/open_sizes.h"
#include "runtime/device/device_arguments.h"
#include "runtime/host/spans.h"
#include "runtime/host/threads.h"
#include "runtime/session/counted.h"
#include "runtime/session/guarded.h"
#include "runtime/session/native.h"
#include "runtime/states/context_states.h"

namespace byoc {

/// The kernel that runs one step.
struct StepKernel {
  enum Kind : uint8_t { kPlugin, kNative, kHost, kCopy };
  static constexpr uint32_t kFixed = UINT32_MAX;
  Kind kind = kHost;
  uint32_t host_extern = 0;  // kHost: index into externs
  byoc_status* (*run)(byoc_kernel*, const byoc_call*) = nullptr;
  byoc_kernel* kernel = nullptr;
  int32_t (*run_native)(const byoc_native_call*) = nullptr;
  std::mutex* serial = nullptr;  // the lock of a kernel that is not re-entrant
  uint64_t workspace_bytes = 0, workspace_align = 1;
  uint32_t workspace_size = kFixed;  // else the expression of SessionState::sizes with its bytes
};

struct ExternSlot {
  std::string symbol;
  HostExtern function;  // empty until registered
};

struct SessionState {
  Executable executable;
  std::shared_ptr<const PluginSet> plugins;  // outlives what it loaded
  SessionOptions options;
  std::vector<std::string> warnings;
  std::vector<LoadedModule> loaded;                 // per module; empty for native ones
  std::vector<std::optional<NativeModule>> native;  // per module; empty for the others
  std::vector<StepKernel> kernels;                  // per step
  std::vector<ExternSlot> externs;
  std::deque<std::mutex> serial;             // deque: they do not move
  OpenSizes sizes;                           // none in a program of fixed sizes
  ArenaLayout layout;                        // without blocks in a program of fixed sizes
  std::vector<NamedTensor> inputs, outputs;  // that a caller gives and gets
  std::vector<StateInfo> states;
  std::vector<size_t> state_writers;  // per state: the step that writes it in place, or kNoWriter
  Workers workers = Workers::kOwn;    // kOpenMp when a plugin of a step has OpenMP code
  uint64_t workspace_bytes = 0;       // of all kernels whose workspace has a fixed size
  uint64_t workspace_align = Buffer::kAlignment;
  std::unique_ptr<DeviceProgram> devices;  // null in a program of the host
  std::vector<ArgumentUse> argument_uses;  // inputs, then outputs; empty in a program of the host
};

/// Arguments of one step, ready to be called with.
struct BoundStep {
  byoc_call call{};
  byoc_native_call native{};
  byoc_native_failure failure{};
  DLTensor* tensors = nullptr;  // inputs, then outputs
  std::vector<CountedArgument> counted_in, counted_out;
  std::vector<int64_t*> out_shapes;  // per output, when one has counted dims
};

/// A pointer that every run sets to the data of an input or output.
struct Patch {
  void** slot;
  uint32_t value;  // index into ContextState::values
};

/// A pointer into a packed arena, which changes with the sizes.
struct ArenaSlot {
  void** slot;
  Place place;
};

struct ByteRange {
  uintptr_t begin, end;
};

/// An instruction, ready to run.
struct BoundInstruction {
  Instruction::Kind kind = Instruction::kCall;
  uint32_t step = 0;    // kCall
  uint32_t target = 0;  // kIf: its kElse; kElse and kLoop: its kEnd; kEnd: its kElse or kLoop
  void* args[3] = {};   // those of the instruction
  uint64_t bytes = 0;   // kCopy, kAppend: to copy
  const TensorSpec* from_type = nullptr;  // kCopy, kAppend in a program with open sizes, of the run
  const TensorSpec* to_type = nullptr;    // kAppend, likewise
  int64_t extent = -1;              // kAppend, kLoop: rows of the tensors that the loop appends to
  bool counts_rows = false;         // kAppend, kLoop: `extent` is a bound of these rows
  int64_t* dims_from = nullptr;     // kCopy of a value with counted dims
  int64_t* dims_to = nullptr;       // kCopy, kAppend: those of the target
  size_t rank = 0;                  // of the target
  const int64_t* bounds = nullptr;  // kAppend: the dims of the target's type
};

struct ContextState {
  const SessionState* session = nullptr;
  GrowingMemory arena;  // of a program of fixed sizes
  GrowingMemory workspace, staging;
  std::unique_ptr<CountedPlaces> counted;
  std::unique_ptr<OpenViews> open;        // null in a program of fixed sizes
  std::unique_ptr<PackedArena> packed;    // null in a program whose arena has a fixed size
  bool is_fitted = false;                 // memory and copies are those of `open`
  std::vector<uint64_t> staging_offsets;  // per input, then per output, and the end of all
  std::vector<uint64_t> output_bytes;     // per output
  std::vector<const void*> constants;     // per constant of the program
  std::vector<void*> values;              // this run's: inputs, then outputs
  std::vector<ByteRange> output_ranges;   // this run's, sorted
  std::vector<DLTensor> tensors;          // of all steps, one after another
  std::vector<const DLTensor*> pointers;  // to each of them
  std::vector<void*> native_data;         // of all native steps
  std::vector<BoundStep> steps;
  std::vector<BoundInstruction> code;
  std::vector<Patch> patches;
  std::vector<ArenaSlot> arena_slots;  // when the arena is packed
  std::vector<StepProfile> profile;
  bool profiling = false;
  std::unique_ptr<SpanRecorder> spans;    // made when profiling is first switched on
  std::unique_ptr<GuardedSteps> guarded;  // when the context is
  std::unique_ptr<ContextStates> states;  // null without states
  std::unique_ptr<DeviceQueues> devices;  // null in a program of the host
  std::unique_ptr<GivenArguments> given;  // likewise
  StoppedAt stopped;                      // of the last run that failed
};

/// Makes a context with the states of `memory`; null: with new ones.
Result<std::unique_ptr<ContextState>> make_context_state(
    const SessionState& session, std::shared_ptr<StateMemory> memory = nullptr);

}  // namespace byoc
