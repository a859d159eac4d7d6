// SPDX-License-Identifier: Apache-2.0
#pragma once
// A graph as a flat list of reference kernels on numbered places; everything is decided before the
// first run.
#include <memory>
#include <optional>

#include "byoc/ir/intern.h"
#include "byoc/ir/module.h"
#include "byoc/op/op.h"
#include "plugins/json/counted_step.h"

namespace byoc::json_plugin {

class Interpreter {
 public:
  /// Makes an interpreter. `graph`: read without constants, so that constant k is parameter
  /// n_inputs + k of its entry; its interned values are in `arena`. Composites are walked
  /// through. Errors: kUnimplemented where an op has no reference kernel for its types; `node` is
  /// then that node of the graph.
  static Result<Interpreter> make(const IRModule& graph, uint32_t n_inputs,
                                  std::shared_ptr<InternArena> arena, int64_t& node);

  uint64_t workspace_bytes() const { return table_offset_ + table_.size() * sizeof(void*); }
  std::vector<bool> constants_used(size_t n) const;  // one flag per constant of the graph
  /// Runs the graph. `constants[k]`: the bytes of constant k, if it is used. Any number of runs at
  /// a time, each with a workspace of its own, aligned to 64. Allocates only for errors. Errors:
  /// those of OpDef::check; `node` is then the node of the graph, also where it calls a composite.
  Status run(const void* const* inputs, const void* const* constants, void* const* outputs,
             void* workspace, int64_t& node) const;

  /// Returns true when some value has counted or open dims: the graph is run by run_counted.
  bool is_counted() const { return !types_.empty(); }
  /// Runs the graph. `inputs[k]` has the dims `in[k]`, `sizes` are the open sizes in the order of
  /// open_sizes; the dims of the results go to `out`. Ops with such values are prepared in every
  /// run, which allocates.
  /// Errors: those of run; those of inferring types and preparing kernels; kOutOfRange, slug
  /// "counted-dims", when a value is larger than its type at compile.
  Status run_counted(const void* const* inputs, const void* const* constants, void* const* outputs,
                     void* workspace, std::span<const int64_t> sizes, const std::vector<Shape>& in,
                     std::vector<Shape>& out, int64_t& node) const;

 private:
  friend class Compiler;
  struct Home {
    enum Kind : uint32_t { kInput, kConstant, kOutput, kArena };
    Kind kind = kArena;
    uint32_t index = 0;  // of kArena: the value
    uint64_t offset = 0;
  };
  struct Step {
    RefKernel kernel;
    ValueCheck check;                    // empty: none
    std::optional<CountedStep> counted;  // prepared in every run; no kernel then
    uint32_t in = 0, out = 0, end = 0;   // its arguments in the table
    int64_t node = -1;                   // the graph's node
    std::string_view op = {};
    std::vector<uint32_t> dead = {};  // with open sizes: values that no later step reads
  };
  struct OutputCopy {  // a result that no step writes to its place
    Home from;
    uint32_t output = 0;
    uint64_t bytes = 0;
    uint32_t value = 0;
  };
  void* address(const Home& home, const void* const* inputs, const void* const* constants,
                void* const* outputs, void* workspace) const;
  class RunMemory;
  Status begin_open(const Step& step, const std::vector<TensorType>& types, RunMemory& memory,
                    void** table) const;
  void fill_table(const void* const* inputs, const void* const* constants, void* const* outputs,
                  void* workspace) const;
  std::vector<Home> table_;  // arguments of all steps, one after another
  std::vector<Step> steps_;
  std::vector<OutputCopy> copies_;
  uint64_t table_offset_ = 0;  // the pointers come after the arena
  bool is_open_ = false;       // values have memory for the sizes of each run, and no arena
  // When some value has counted or open dims, else empty:
  std::vector<TensorType> types_;       // per value; inputs come first
  std::vector<uint32_t> results_;       // the values of the results
  std::vector<Dim> sizes_;              // the open sizes
  std::shared_ptr<InternArena> arena_;  // owns what types_ and counted steps name
};

}  // namespace byoc::json_plugin
