#pragma once
// The plugin under test, loaded in a child: as the host has it, and its bare table.
#include <optional>

#include "byoc/host/plugins.h"
#include "core/conform/context/check_context.h"
#include "core/conform/samples/samples.h"
#include "core/region/judge.h"

namespace byoc::conform {

struct Subject {
  std::shared_ptr<const PluginSet> set;
  const Plugin* plugin = nullptr;
  byoc_plugin table{};
  std::string options_json;
};
/// Errors: why it was refused.
Result<Subject> load_subject(const Kit& kit);

/// A context in which this plugin alone is chosen.
PassContext context_for(const Subject& subject);
/// What it says to the program's op: by a pattern, or alone.
Verdict verdict_on(const Subject& subject, const Program& program);
/// The function as it crosses in compile: `main` of the module, under `symbol`.
CompileFunction compile_function(const IRModule& module, const std::string& symbol);
TensorSpec spec_of(TypeId type);
/// The first program that it takes; with constants when it takes one of these.
std::optional<Program> first_taken(const Subject& subject);
/// The function of one node that judge is asked about.
std::string candidate_json(const IRModule& module);
/// The pattern that `program`'s op matches alone, BYOC_NO_PATTERN without patterns, nothing when
/// none fits.
std::optional<uint32_t> pattern_of(const Subject& subject, const IRModule& module);

}  // namespace byoc::conform
