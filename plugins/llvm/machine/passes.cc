// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/machine/passes.h"

#include "byoc/base/check.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/BDCE.h"
#include "llvm/Transforms/Scalar/DeadStoreElimination.h"
#include "llvm/Transforms/Scalar/DivRemPairs.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/InstSimplifyPass.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopDeletion.h"
#include "llvm/Transforms/Scalar/LoopIdiomRecognize.h"
#include "llvm/Transforms/Scalar/LoopInstSimplify.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/LoopSimplifyCFG.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimpleLoopUnswitch.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Vectorize/LoopVectorize.h"

namespace byoc::llvm_plugin {
namespace {

constexpr int kUnrollLevel = 2;  // LLVM's thresholds of -O2

// Returns the pass that moves invariant code out of loops, and sums in memory to registers.
auto hoisting() {
  return llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                               /*UseMemorySSA=*/true);
}

// Turns memory into values, and code with hardly any loops into its final form.
void add_values(llvm::FunctionPassManager& to, bool has_loops) {
  to.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  to.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/has_loops));
  to.addPass(llvm::SimplifyCFGPass());
}

// Rotates loops and removes conditions from them.
void add_shapes_of_loops(llvm::FunctionPassManager& to) {
  llvm::LoopPassManager loops;
  loops.addPass(llvm::LoopInstSimplifyPass());
  loops.addPass(llvm::LoopSimplifyCFGPass());
  loops.addPass(llvm::LICMPass(llvm::LICMOptions()));
  loops.addPass(llvm::LoopRotatePass());
  loops.addPass(llvm::LICMPass(llvm::LICMOptions()));
  loops.addPass(llvm::SimpleLoopUnswitchPass());
  to.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops), /*UseMemorySSA=*/true,
                                                   /*UseBlockFrequencyInfo=*/true));
  to.addPass(llvm::SimplifyCFGPass());
}

// Writes short loops out, and replaces those that copy or fill.
void add_short_loops(llvm::FunctionPassManager& to) {
  llvm::LoopPassManager loops;
  loops.addPass(llvm::LoopIdiomRecognizePass());
  loops.addPass(llvm::IndVarSimplifyPass());
  loops.addPass(llvm::LoopDeletionPass());
  loops.addPass(llvm::LoopFullUnrollPass(kUnrollLevel));
  to.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops)));
}

}  // namespace

llvm::ModulePassManager passes_of(Effort effort) {
  BYOC_CHECK(effort == Effort::kSome || effort == Effort::kMost, "effort ",
             static_cast<int>(effort), " has no passes of its own");
  llvm::FunctionPassManager functions;
  add_values(functions, effort == Effort::kMost);
  if (effort == Effort::kMost) {
    functions.addPass(llvm::InstCombinePass());
    add_shapes_of_loops(functions);
    add_short_loops(functions);
    functions.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    functions.addPass(llvm::GVNPass());
    functions.addPass(llvm::BDCEPass());
    functions.addPass(llvm::DSEPass());
    functions.addPass(hoisting());
    functions.addPass(llvm::LoopVectorizePass());  // loops with emitted vectors carry "no"
    functions.addPass(llvm::InstCombinePass());
    functions.addPass(llvm::SimplifyCFGPass());
    functions.addPass(llvm::LoopUnrollPass(llvm::LoopUnrollOptions(kUnrollLevel)));
    functions.addPass(hoisting());
    functions.addPass(llvm::InstSimplifyPass());
    functions.addPass(llvm::DivRemPairsPass());
    functions.addPass(llvm::SimplifyCFGPass());
  }
  llvm::ModulePassManager out;
  out.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(functions)));
  return out;
}

}  // namespace byoc::llvm_plugin
