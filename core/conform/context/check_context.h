// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state that checks share: the file under test, facts about it, and child processes.
#include <memory>
#include <optional>

#include "byoc/plugin/abi.h"
#include "core/conform/conform.h"
#include "core/conform/process/elf.h"
#include "core/process/child.h"
#include "runtime/plugin_file/plugin_manifest.h"

namespace byoc::conform {

struct LoadFacts;
struct SweepResult;

/// Holds the file under test and the facts about it. Each fact is found on the first call.
class CheckContext {
 public:
  explicit CheckContext(const Options& options);
  ~CheckContext();
  const Options& options() const { return options_; }
  bool is_full() const { return options_.level == Level::kFull; }
  std::string options_json() const;
  /// Returns the table of a registered plugin; nothing for a file.
  std::optional<byoc_plugin> registered_table() const;

  const Result<ElfImage>& elf();
  const Result<PluginManifest>& manifest();
  const LoadFacts& load_facts();  // load_checks.cc
  const SweepResult& sweep();     // sweep.cc
  const SweepResult& use();       // use/use_model.cc
  /// Returns why the plugin's first function does not run as hosts call it now; "" when it does,
  /// and when there is none. Checks of other forms of a call learn nothing then.
  const std::string& plain_failure();  // table_checks.cc
  /// Returns the result of sweep; null when no check has called it.
  const SweepResult* finished_sweep() const { return sweep_.get(); }

  /// Runs `work` in a child with the limits of the options.
  process::ChildResult in_child(const std::function<std::string()>& work) const;
  /// Runs `work`, which returns findings, in a child. A child that does not finish is a finding.
  Answer judged_in_child(const std::function<std::vector<std::string>()>& work) const;

 private:
  Options options_;
  std::optional<Result<ElfImage>> elf_;
  std::optional<Result<PluginManifest>> manifest_;
  std::unique_ptr<LoadFacts> load_facts_;
  std::unique_ptr<SweepResult> sweep_, use_;
  std::optional<std::string> plain_failure_;
};

/// Fails with the way that a child ended before its work did, and the cure for it.
Answer unfinished(const process::ChildResult& child);
/// Returns the message and the help of `status` on one line.
std::string sentence(const Status& status);
/// Return the checks of each group; each function is in the file of that name.
std::span<const Check> static_checks();
std::span<const Check> load_checks();
std::span<const Check> table_checks();
std::span<const Check> capability_checks();
std::span<const Check> correctness_checks();
std::span<const Check> knob_checks();
std::span<const Check> group_checks();
std::span<const Check> open_checks();
std::span<const Check> device_checks();
std::span<const Check> use_checks();

}  // namespace byoc::conform
