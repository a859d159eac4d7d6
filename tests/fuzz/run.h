// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles and runs a graph by a choice of plugins, and compares the results with the right ones.
#include "byoc/compile.h"
#include "case.h"
#include "oracle.h"

namespace byoc::fuzz {

struct Configuration {
  std::vector<std::string>
      compilers;  // in order of priority; what they refuse goes to the defaults
  int level = 2;
  uint32_t threads = 1;
  std::vector<std::string> computes;  // rules of --compute
  std::string target = "native";
  bool opens = false;   // compile for open sizes, and run at several
  bool nests = false;   // compile with some steps in the bodies of control flow
  bool keeps = false;   // compile with results that are states, and run several steps
  bool shares = false;  // share_all_loops() was called
};
/// Returns "--compiler onednn,llvm -O2 --threads 1", options of byoc's commands.
std::string flags_of(const Configuration& configuration);
/// Returns every order of every subset of the shipped plugins, at all levels.
std::vector<Configuration> all_configurations();

struct Outcome {
  enum Kind { kRight, kWrong, kError, kCrash, kHang, kUndetermined };
  Kind kind = kRight;
  std::string what;
  std::vector<std::string> implementations;  // of the kernels: "llvm: winograd_4x4"
  bool failed() const { return kind != kRight && kind != kUndetermined; }
};
std::string_view kind_name(Outcome::Kind kind);

/// Returns how a configuration may add up: rules for computes may force Winograd's tiles.
Sums sums_of(const Configuration& configuration);

/// Makes load_plugins search this folder instead of the build's.
void set_plugin_folder(std::string folder);
/// Makes load_plugins pass an option, "ID.NAME=VALUE". Returns false for other texts.
bool set_plugin_option(const std::string& text);
/// Lets each worker do a share of each parallel loop: of short ones, which one worker would run,
/// too. To be called before the process runs any.
void share_all_loops();
/// Returns these options as flags, each after a space.
std::string plugin_option_flags();
/// Returns true for graphs in which NaN reaches an op that loses it by plugins/onednn/README.md,
/// "Post-ops that lose NaN": one of that table, some steps after a convolution or a product.
bool must_keep_nan(const Case& graph);
/// Returns true for graphs with a convolution or a Fourier transform, and NaN or an infinity in an
/// input. Winograd's tiles spread these to their other results (README.md of that family), and the
/// steps of a transform make NaN of an infinity times 0, so these graphs run without.
bool must_sum_directly(const Case& graph);
/// Returns the plugins of the build; with `keep_nan` the option of onednn by which the ops of that
/// table keep NaN is set. To be called in a child process: plugins may start threads.
std::shared_ptr<const PluginSet> load_plugins(bool keep_nan);

/// Runs the graph with all tensors between pages that cannot be accessed, then three times in one
/// context: on its inputs, on zeros, and on its inputs again. The first results must be right, and
/// the last ones equal to them bit by bit. Outputs hold other bytes before each run; the bytes
/// around them, and the inputs, must not change.
Outcome check(const Case& graph, const Configuration& configuration,
              const std::vector<Known>& wanted, const std::shared_ptr<const PluginSet>& plugins);
/// Does the same in a separate process, so that a crash or a hang is an outcome.
Outcome check_in_child(const Case& graph, const Configuration& configuration, uint32_t timeout_s);

}  // namespace byoc::fuzz
