// SPDX-License-Identifier: Apache-2.0
#pragma once
// Passes that compile regions, and the ops outside of regions.
#include "byoc/pass/pass.h"

namespace byoc {

/// The attribute of functions after run_codegen with the symbols of externs that copy their
/// operands one after another, as a concat does; plan_memory avoids these copies where it can.
inline constexpr const char* kJoinsAttr = "joins";

/// Lays f32 images outside of regions out in blocks of channels (NCHW8c), in the blocks that the
/// default codegens list, as far as these accept the rewritten ops; inserts layout_transform ops
/// where two layouts meet. Errors: those of Plugin::layouts.
Result<IRModule> assign_layouts(IRModule, const PassContext&);
/// Rewrites products and sums of dequantized operands outside of regions as ops on integers, as far
/// as the first default codegen lists these ops. Errors: those of Plugin::layouts.
Result<IRModule> use_integers(IRModule, const PassContext&);
/// Moves each layout_transform between the ops outside of regions and a region into the region when
/// its plugin lists these blocks and takes the transform. Errors: those of Plugin::layouts.
Result<IRModule> share_layouts(IRModule, const PassContext&);
/// Groups the ops outside of regions into functions of the default codegens.
Result<IRModule> fuse_ops(IRModule, const PassContext&);
/// Chooses computes and schedules by the policies of the context (byoc/translate/policies.h),
/// before which `rules` count, as te::parse_rules reads them. Functions get the attribute
/// `compute`, or become loops. Then limits the bytes of weights by the option `prefer`: functions
/// get the attribute `compute` with a smaller form. Errors of policies, with the function; slug
/// "provider-loops" for the schedule of another computation, "usage" for another `prefer`.
Result<IRModule> choose_computes(IRModule, const std::vector<std::string>& rules,
                                 const PassContext&);
/// Compiles the functions with `compiler` of one of `plugins` (all when empty); their calls
/// become externs. A function that its plugin declines becomes a plain function with the attribute
/// kDeclinedAttr, its composites become ops; loops go to the next plugin that takes loops.
Result<IRModule> run_codegen(IRModule, const std::vector<std::string>& plugins, const PassContext&);
/// Offers the ops of functions with kDeclinedAttr to the plugins after the one that declined, then
/// to the default codegens after it. Ops that none of them takes stay in a plain function. Errors:
/// slug "no-codegen" with the ops that no plugin takes.
Result<IRModule> place_declined(IRModule, const PassContext&);
/// Inserts copies between the host and the devices that compiled functions run on. Errors: slug
/// "device-sizes" for a value with sizes of a run that a device reads or writes.
Result<IRModule> copy_to_devices(IRModule, const PassContext&);
/// Gives intermediate tensors offsets in one arena, as attributes of the entry function.
Result<IRModule> plan_memory(IRModule, const PassContext&);

}  // namespace byoc
