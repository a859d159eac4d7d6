#pragma once
// Running an Executable: load once, then run from any number of threads, one Context each.
#include <functional>
#include <span>

#include "byoc/runtime/artifact.h"
#include "byoc/runtime/plugins.h"
#include "byoc/runtime/tensor.h"

namespace byoc {

struct SessionOptions {
  uint32_t threads = 1;                                     // 0: all cores; fixed at load
  bool allow_native = true;                                 // --no-native
};

/// Arguments: inputs, then outputs, as the call has them. Runs on the calling thread of `run`.
using HostExtern = std::function<Status(std::span<const DLTensor> inputs, std::span<DLTensor> outputs)>;

struct StepProfile {
  uint64_t runs = 0, total_ns = 0, min_ns = UINT64_MAX;
};

/// Arena and workspace of one caller, and its tables of arguments. Made by Session::make_context; one
/// run at a time. May outlive no Session.
class Context;

class Session {
 public:
  /// Checks that every plugin is there (else kNotFound, slug "missing-plugin", with id and version),
  /// asks `compat`, loads every module. Nothing is half-loaded on failure.
  static Result<std::unique_ptr<Session>> load(Executable executable,
                                               std::shared_ptr<const PluginSet> plugins,
                                               const SessionOptions& options = {});
  ~Session();

  const std::vector<NamedTensor>& inputs() const;
  const std::vector<NamedTensor>& outputs() const;
  const Program& program() const;
  const Executable& executable() const;
  uint32_t threads() const;

  /// Before the first run. Errors: kNotFound when no step calls `symbol`.
  Status register_extern(const std::string& symbol, HostExtern function);
  /// Names every extern that nobody provides (slug "missing-extern").
  Status check_externs() const;

  Result<std::unique_ptr<Context>> make_context() const;
  /// Inputs and outputs in the program's order; outputs are written in full. Compact views, or inputs
  /// with strides or bad alignment, which are copied to compact memory the Context holds.
  /// Re-entrant with one Context per caller; allocates nothing, takes no lock, looks nothing up.
  /// Errors: slug "input-shape", "input-dtype", "input-count", "output-shape"; a failing kernel gives its
  /// own words with the symbol.
  Status run(Context& context, std::span<const DLTensor> inputs, std::span<DLTensor> outputs) const;

  /// Per step, added up over the runs of this Context while profiling was on.
  void set_profiling(Context& context, bool on) const;
  std::span<const StepProfile> profile(const Context& context) const;

 private:
  Session();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};


}  // namespace byoc
