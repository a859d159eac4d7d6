// SPDX-License-Identifier: Apache-2.0
#pragma once
// A graph as a flat list of reference kernels on numbered places; everything is decided before the
// first run.
#include "byoc/ir/module.h"
#include "byoc/op/op.h"

namespace byoc::json_plugin {

class Interpreter {
 public:
  /// Makes an interpreter. `graph`: read without constants, so that constant k is parameter
  /// n_inputs + k of its entry. Composites are walked through. Errors: kUnimplemented where an op
  /// has no reference kernel for its types; `node` is then that node of the graph.
  static Result<Interpreter> make(const IRModule& graph, uint32_t n_inputs, int64_t& node);

  uint64_t workspace_bytes() const { return table_offset_ + table_.size() * sizeof(void*); }
  std::vector<bool> constants_used(size_t n) const;  // one flag per constant of the graph
  /// Runs the graph. `constants[k]`: the bytes of constant k, if it is used. Any number of runs at
  /// a time, each with a workspace of its own, aligned to 64. Allocates only for errors. Errors:
  /// those of OpDef::check; `node` is then the node of the graph, also where it calls a composite.
  Status run(const void* const* inputs, const void* const* constants, void* const* outputs,
             void* workspace, int64_t& node) const;

 private:
  friend class Compiler;
  struct Home {
    enum Kind : uint32_t { kInput, kConstant, kOutput, kArena };
    Kind kind = kArena;
    uint32_t index = 0;
    uint64_t offset = 0;
  };
  struct Step {
    RefKernel kernel;
    ValueCheck check;          // empty: none
    uint32_t in = 0, out = 0;  // the first of its arguments in the table
    int64_t node = -1;         // the graph's node
  };
  struct OutputCopy {  // a result that no step writes to its place
    Home from;
    uint32_t output = 0;
    uint64_t bytes = 0;
  };
  std::vector<Home> table_;  // arguments of all steps, one after another
  std::vector<Step> steps_;
  std::vector<OutputCopy> copies_;
  uint64_t table_offset_ = 0;  // the pointers come after the arena
};

}  // namespace byoc::json_plugin
