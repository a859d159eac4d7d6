// SPDX-License-Identifier: Apache-2.0
#pragma once
// Samples that the plugin under test takes: ops alone, and graphs made after its patterns.
#include "core/conform/context/loaded_plugin.h"
#include "core/conform/samples/pattern_instances.h"

namespace byoc::conform {

/// The finding of a check that needs a function to compile, when there is none.
inline constexpr const char* kTakesNothing =
    "takes no op of the kit's samples and no graph made after its patterns";
/// Makes a skipped check of that finding: it breaks no promise.
Answer skipped_without_sample(Answer answer);

/// A function that the plugin takes: `main` has one node, an op or the call of a composite.
struct TakenSample {
  std::string label;  // "relu f32[7]", or "example.add_relu as add relu f32[7] f32[7]"
  IRModule module;
  uint32_t pattern = BYOC_NO_PATTERN;  // the index that judge gets
};

/// Returns the module of `instance` with its ops as one composite of the pattern `row`; nothing
/// when judge refuses the match or another pattern takes a part of it. `report`, which may be null,
/// gets the remarks.
Result<std::optional<IRModule>> as_composite(const LoadedPlugin& tested, const PluginPattern& row,
                                             const Instance& instance, Report* report = nullptr);

/// Makes at most `count` instances of every pattern with two or more ops, and calls `use` for each.
void for_instances(const LoadedPlugin& tested, uint64_t seed, size_t count,
                   const std::function<void(uint32_t pattern, const Instance&)>& use);

/// Returns the composites that the plugin takes, at most `count` of each pattern.
std::vector<TakenSample> taken_composites(const LoadedPlugin& tested, uint64_t seed, size_t count);

/// Returns an op that the plugin takes alone, preferring one with constants; else a composite;
/// nothing when it takes neither.
std::optional<TakenSample> first_taken(const LoadedPlugin& tested, uint64_t seed);

}  // namespace byoc::conform
