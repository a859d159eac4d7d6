// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs an Executable: load once, then run from any number of threads, one Context each.
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "byoc/host/plugins.h"
#include "byoc/host/spans.h"
#include "byoc/runtime/artifact.h"
#include "byoc/runtime/tensor.h"

namespace byoc {

/// Options for loading a program.
struct SessionOptions {
  uint32_t threads = 1;      ///< 0: all cores; fixed at load
  bool allow_native = true;  ///< --no-native
  /// Outlives the Session. A cancelled load or run ends with kCancelled, slug "interrupted".
  const Cancellation* cancel = nullptr;
  /// The longest wait of a run for a device, in ms; 0: no limit. A run that waits longer ends with
  /// kDeadlineExceeded, slug "device-timeout". Unset: BYOC_DEVICE_TIMEOUT_MS, else 60,000.
  std::optional<uint64_t> device_timeout_ms = {};
};

/// Arguments are inputs, then outputs, as the call has them. Runs on the calling thread of `run`.
using HostExtern =
    std::function<Status(std::span<const DLTensor> inputs, std::span<DLTensor> outputs)>;

/// The times of one step over all profiled runs.
struct StepProfile {
  /// The number of runs; the sum and the smallest of their times, in ns.
  uint64_t runs = 0, total_ns = 0, min_ns = UINT64_MAX;
  uint64_t last_begin_ns = 0, last_ns = 0;  ///< the last run; steady clock
};

/// A state: a value that a Context keeps from run to run (docs/state.md).
struct StateInfo {
  std::string input, output;  ///< the names of the pair in the model
  TensorSpec type;            ///< dtype and extents
  bool is_in_place = false;   ///< runs write over the old value; else they have a second buffer
};

/// The bytes of states that the runs of a Context wrote.
struct StateTraffic {
  uint64_t runs = 0;            ///< that succeeded
  uint64_t in_place_bytes = 0;  ///< written over old values: rows, where a step writes only rows
  uint64_t whole_bytes = 0;     ///< of states that are not in place: each run writes all of them
};

struct SessionState;  // both are of runtime/ alone
struct ContextState;

/// The arena, workspace and tables of arguments of one caller. Made by Session::make_context. Has
/// one run at a time, and must not outlive its Session.
class Context {
 public:
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

 private:
  friend class Session;
  explicit Context(std::unique_ptr<ContextState> state);
  std::unique_ptr<ContextState> state_;
};

/// A program that is loaded; immutable. Contexts have what changes.
class Session {
 public:
  /// Checks the executable, and that every plugin exists (else kNotFound, slug "missing-plugin",
  /// with id, version, symbols, and the reason when a plugin of that id was refused), calls
  /// `compat` (kStaleArtifact, slug "stale-artifact") and loads every module; native ones are
  /// loaded without any plugin, unless they are not allowed (kPermissionDenied, slug
  /// "native-refused"). Nothing is half-loaded on failure. Constants that every kernel has copied,
  /// or does not use, are released: executable().constants holds those still read. When a plugin or
  /// its device is gone (kUnavailable), the executable's fallback is loaded in its place, with a
  /// warning; without one the error (slug "device-unavailable") has the command that makes one.
  static Result<std::unique_ptr<Session>> load(Executable executable,
                                               std::shared_ptr<const PluginSet> plugins,
                                               const SessionOptions& options = {});
  ~Session();

  const std::vector<NamedTensor>& inputs() const;   ///< in the order of run, without states
  const std::vector<NamedTensor>& outputs() const;  ///< likewise
  const std::vector<StateInfo>& states() const;     ///< of each Context; empty without any
  const Program& program() const;                   ///< the steps
  const Executable& executable() const;             ///< as it was loaded
  uint32_t threads() const;                         ///< workers of a run
  /// Returns the workspace of a Context before its first run, without the program's arena: that of
  /// the step with the largest. Open sizes may need more.
  uint64_t workspace_bytes() const;
  /// Returns the memory that a Context has now: for open sizes, that of the largest so far.
  uint64_t arena_bytes(const Context& context) const;
  uint64_t workspace_bytes(const Context& context) const;  ///< likewise
  /// Returns warnings of load, such as a module that another version of its plugin compiled.
  const std::vector<std::string>& warnings() const;

  /// Sets the function of an extern, before the first run. Errors: kNotFound when no
  /// step calls `symbol`.
  Status register_extern(const std::string& symbol, HostExtern function);
  /// Returns an error that names every extern without a function (slug "missing-extern").
  Status check_externs() const;

  /// Errors: kResourceExhausted when allocation fails.
  Result<std::unique_ptr<Context>> make_context() const;
  /// Makes a Context that has the states of `other`, a Context of the same model for other sizes.
  /// One of the two runs at a time. Errors: those of make_context; slug "state-type" for other
  /// states; slug "state-in-use".
  Result<std::unique_ptr<Context>> make_context(const Context& other) const;
  /// Runs with inputs and outputs in the program's order; outputs are written in full. Inputs with
  /// strides, inputs and outputs not aligned to 64 bytes, and inputs that overlap outputs go
  /// through compact memory that the Context holds. Outputs are compact and overlap nothing.
  /// Tensors may also be on a device of the program (byoc/runtime/devices.h): compact, not of an
  /// open program, and used there without a copy where kernels of that device use them.
  /// An output with counted dims has the shape of their bounds; its elements, of the shape that
  /// output_dims returns, come first. Inputs with open dims have any sizes within the bounds of
  /// program().sizes; the outputs then have the types that output_types returns.
  /// Re-entrant with one Context per caller; allocates nothing (except for open sizes that need
  /// more memory than any before in this Context), takes no lock (except for the one token per run
  /// of a Session with several threads, and kernels that are SERIAL), looks nothing up. Errors:
  /// slug "input-count", "input-dtype", "input-shape", "input-data", the same with "output-", and
  /// "output-overlap"; the error of a failing kernel has its own words and its symbol (slug
  /// "run-failed"); slug "size-overflow" and "no-memory", with the open sizes; slug "state-in-use",
  /// "state-broken". A run that fails leaves the states as they were, but for those that a step had
  /// written in place before: they are broken until they are set or reset.
  Status run(Context& context, std::span<const DLTensor> inputs, std::span<DLTensor> outputs) const;

  /// Returns the types of the outputs of a run with these inputs: open dims are numbers, counted
  /// ones bounds. Errors: slug "input-count"; slug "input-dtype"; slug "input-shape", where inputs
  /// disagree about a size or have another number; slug "input-size", for a size outside of its
  /// bounds; slug "size-overflow". The views need no data.
  Result<std::vector<TensorSpec>> output_types(std::span<const DLTensor> inputs) const;

  /// Takes the open sizes of these inputs, so that output_dims returns the dims that the outputs of
  /// a run with them have, with bounds for counted ones. Errors: as output_types. Not during a run.
  Status take_sizes(Context& context, std::span<const DLTensor> inputs) const;

  /// Returns the dims of output `k` of the last run that succeeded: those of outputs(), with
  /// numbers for counted ones. Valid until the next run. Not during a run.
  std::span<const int64_t> output_dims(const Context& context, size_t k) const;

  /// Sets all states to zeros, as they are in a new Context. Errors: slug "state-in-use".
  Status reset_states(Context& context) const;
  /// Copies a state to `to`, by the name of its input or its output. Errors: slug "unknown-state",
  /// "state-dtype", "state-shape", "state-in-use", "state-broken".
  Status get_state(const Context& context, std::string_view name, const DLTensor& to) const;
  /// Sets a state. Errors: as get_state, but for "state-broken".
  Status set_state(Context& context, std::string_view name, const DLTensor& from) const;
  /// Returns what all runs of this Context wrote.
  StateTraffic state_traffic(const Context& context) const;

  /// Profiles steps, added up over the runs of this Context while profiling was on.
  /// Not during a run.
  void set_profiling(Context& context, bool on) const;
  /// Per step of the program.
  std::span<const StepProfile> profile(const Context& context) const;
  /// Returns the spans of all runs of this Context while profiling was on. Not during a run.
  const SpanLog& spans(const Context& context) const;

 private:
  static Result<std::unique_ptr<Session>> load_one(Executable executable,
                                                   std::shared_ptr<const PluginSet> plugins,
                                                   const SessionOptions& options);
  explicit Session(std::unique_ptr<SessionState> state);
  std::unique_ptr<SessionState> state_;
};

}  // namespace byoc
