#pragma once
// What checks share: the file under test, what was found out about it so far, and child processes.
#include <memory>
#include <optional>

#include "core/conform/conform.h"
#include "core/conform/process/child.h"
#include "core/conform/process/elf.h"
#include "runtime/host/plugin_manifest.h"

namespace byoc::conform {

struct LoadFacts;
struct SweepResult;

class Kit {
 public:
  explicit Kit(const Options& options);
  ~Kit();
  const Options& options() const { return options_; }
  bool is_full() const { return options_.level == Level::kFull; }
  std::string options_json() const;

  // Each found out on the first call.
  const Result<ElfImage>& elf();
  const Result<PluginManifest>& manifest();
  const LoadFacts& load_facts();  // load_checks.cc
  const SweepResult& sweep();     // sweep.cc

  ChildResult in_child(const std::function<std::string()>& work) const;
  /// The work returns findings, one a line; how the child ended is a finding too.
  Answer judged_in_child(const std::function<std::vector<std::string>()>& work) const;

 private:
  Options options_;
  std::optional<Result<ElfImage>> elf_;
  std::optional<Result<PluginManifest>> manifest_;
  std::unique_ptr<LoadFacts> load_facts_;
  std::unique_ptr<SweepResult> sweep_;
};

/// The message and the cure on one line.
std::string sentence(const Status& status);
/// The rows of each group, in their files.
std::span<const Check> static_checks();
std::span<const Check> load_checks();
std::span<const Check> table_checks();
std::span<const Check> capability_checks();
std::span<const Check> correctness_checks();

}  // namespace byoc::conform
