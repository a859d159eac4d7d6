// SPDX-License-Identifier: Apache-2.0
#include "plugins/json/interpreter.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "byoc/base/arena.h"
#include "byoc/base/memory.h"
#include "byoc/ir/dim.h"
#include "byoc/ir/visit.h"

namespace byoc::json_plugin {

// Numbers values as they appear, with composites dissolved, then computes lifetimes, an
// arena, and homes.
class Compiler {
 public:
  Compiler(const IRModule& graph, uint32_t n_inputs, std::shared_ptr<InternArena> arena)
      : graph_(graph), n_inputs_(n_inputs), intern_arena_(std::move(arena)) {}
  Result<Interpreter> compile();
  int64_t node() const { return node_; }

 private:
  using Home = Interpreter::Home;
  struct Value {
    Home home;
    TypeId type;
    uint64_t bytes = 0;
    uint32_t first = 0, last = 0;  // steps
  };
  struct Op {
    RefKernel kernel;
    ValueCheck check;
    std::optional<CountedStep> counted;
    std::vector<uint32_t> in, out;
    int64_t node;
    std::string_view name;
  };
  Result<uint32_t> add_value(Home home, TypeId type) {
    int64_t bytes = 0;
    is_counted_ = is_counted_ || !is_static(type->shape);
    is_open_ = is_open_ || has_open(type->shape);
    if (!has_open(type->shape)) {  // else each run has memory for its sizes
      BYOC_TRY(bytes, size_bytes(TensorType{type->dtype, at_bounds(type->shape)}));
    }
    values_.push_back({home, type, static_cast<uint64_t>(bytes)});
    return static_cast<uint32_t>(values_.size() - 1);
  }
  Status walk(const Function& function, const std::vector<uint32_t>& params, int depth,
              std::vector<uint32_t>& results);
  Status walk_node(const Function& function, const Node& node, const std::vector<uint32_t>& args,
                   int depth, std::vector<uint32_t>& outs);
  Status add_op(const Function& function, const Node& node, const std::vector<uint32_t>& args,
                std::vector<uint32_t>& outs);
  void place(const std::vector<uint32_t>& results);
  Interpreter write(const std::vector<uint32_t>& results) const;

  const IRModule& graph_;
  uint32_t n_inputs_;
  std::vector<Value> values_;
  std::vector<Op> ops_;
  std::shared_ptr<InternArena> intern_arena_;
  bool is_counted_ = false, is_open_ = false;
  uint64_t arena_bytes_ = 0;
  int64_t node_ = -1;  // the current node of the graph itself
};

// Refuses results that this machine has no memory for, before a kernel makes tables of places: at
// most one of 8 bytes per cell of each dim.
Status check_memory(std::string_view op, const TensorType& type) {
  const double machine =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  BYOC_TRY(int64_t bytes, size_bytes(TensorType{type.dtype, at_bounds(type.shape)}));
  double needed = static_cast<double>(bytes);
  for (Dim dim : type.shape) needed += 8 * static_cast<double>(dim.max());
  if (bytes == 0 || needed <= machine) return {};
  return Status(Code::kResourceExhausted,
                cat(op, ": the result ", type, " has ", bytes,
                    " bytes; with tables of its cells it needs ", needed / (1 << 30),
                    " GiB, this machine has ", machine / (1 << 30)))
      .with_slug("no-memory");
}

constexpr int kMaxNesting = 32;  // composites that call composites

Status Compiler::add_op(const Function& function, const Node& node,
                        const std::vector<uint32_t>& args, std::vector<uint32_t>& outs) {
  const Call& call = std::get<Call>(node.kind);
  std::vector<TypeId> in, out;
  for (ValueId arg : function.args(node)) in.push_back(function.type(arg));
  for (size_t k = 0; k < node.types.size(); ++k) out.push_back(node.types[k]);
  if (!call.op->reference) return unimplemented(cat(call.op->name, " has no reference kernel"));
  for (TypeId type : out) {
    if (!has_open(type->shape)) BYOC_TRY_STATUS(check_memory(call.op->name, *type));
  }
  RefKernel kernel;
  ValueCheck check;
  std::optional<CountedStep> counted;
  if (CountedStep::is_needed(*call.op, in, out)) {
    BYOC_TRY(counted, CountedStep::make(*call.op, in, out, *call.attrs, args));
  } else {
    BYOC_TRY(kernel, call.op->reference(in, out, *call.attrs));
    if (call.op->check) {
      BYOC_TRY(check, call.op->check(in, *call.attrs));
    }
  }
  for (TypeId type : out) {
    BYOC_TRY(uint32_t value, add_value({}, type));
    values_[value].first = values_[value].last = static_cast<uint32_t>(ops_.size());
    outs.push_back(value);
  }
  for (uint32_t value : args) values_[value].last = static_cast<uint32_t>(ops_.size());
  if (counted) {
    is_counted_ = true;
    counted->set_results(outs);
  }
  ops_.push_back(
      {std::move(kernel), std::move(check), std::move(counted), args, outs, node_, call.op->name});
  return {};
}

Status Compiler::walk_node(const Function& function, const Node& node,
                           const std::vector<uint32_t>& args, int depth,
                           std::vector<uint32_t>& outs) {
  if (depth == 0) ++node_;
  return std::visit(
      overloaded{
          [&](const Param&) -> Status { return unimplemented("a parameter after other nodes"); },
          [&](const Constant&) -> Status { return unimplemented("a constant inside a composite"); },
          [&](const Call&) { return add_op(function, node, args, outs); },
          [&](const Invoke& invoke) -> Status {
            const Function* callee = graph_.find(invoke.function);
            if (callee == nullptr || !callee->attrs.has("composite"))
              return unimplemented(cat("a call of @", invoke.function));
            if (depth == kMaxNesting) return unimplemented("composites nested too deep");
            return walk(*callee, args, depth + 1, outs);
          },
          [&](const Extern& external) -> Status {
            return unimplemented(cat("a call of the external function ", external.symbol));
          },
          [&](const Control& control) -> Status {
            return unimplemented(cat("control flow around @", control.body));
          },
      },
      node.kind);
}

// Calls itself for composites, which are walked as if their ops were written in the caller.
Status Compiler::walk(const Function& function, const std::vector<uint32_t>& params, int depth,
                      std::vector<uint32_t>& results) {
  std::vector<std::vector<uint32_t>> values(function.nodes.size());
  std::vector<uint32_t> args;
  for (size_t n = 0; n < function.nodes.size(); ++n) {
    const Node& node = function.nodes[n];
    if (n < params.size()) {
      values[n] = {params[n]};
      continue;
    }
    args.clear();
    for (ValueId arg : function.args(node)) args.push_back(values[arg.node][arg.output]);
    BYOC_TRY_STATUS(walk_node(function, node, args, depth, values[n]));
  }
  for (ValueId result : function.results) results.push_back(values[result.node][result.output]);
  return {};
}

// Writes a result straight to its output the first time it is one; other values share an arena, or
// have memory of their own in each run.
void Compiler::place(const std::vector<uint32_t>& results) {
  for (uint32_t k = static_cast<uint32_t>(results.size()); k-- > 0;) {
    Home& home = values_[results[k]].home;
    if (home.kind == Home::kArena || home.kind == Home::kOutput) home = {Home::kOutput, k, 0};
  }
  std::vector<uint32_t> in_arena;
  std::vector<Lifetime> lifetimes;
  for (uint32_t v = 0; v < values_.size(); ++v) {
    if (values_[v].home.kind != Home::kArena) continue;
    values_[v].home.index = v;
    if (is_open_) continue;
    in_arena.push_back(v);
    lifetimes.push_back({(values_[v].bytes + 63) / 64 * 64, values_[v].first, values_[v].last});
  }
  ArenaPlan plan = plan_arena(lifetimes);
  for (size_t k = 0; k < in_arena.size(); ++k) values_[in_arena[k]].home.offset = plan.offsets[k];
  arena_bytes_ = plan.bytes;
}

Interpreter Compiler::write(const std::vector<uint32_t>& results) const {
  Interpreter out;
  out.table_offset_ = arena_bytes_;
  out.is_open_ = is_open_;
  for (const Op& op : ops_) {
    uint32_t in = static_cast<uint32_t>(out.table_.size());
    for (uint32_t value : op.in) out.table_.push_back(values_[value].home);
    uint32_t first_out = static_cast<uint32_t>(out.table_.size());
    for (uint32_t value : op.out) out.table_.push_back(values_[value].home);
    out.steps_.push_back({op.kernel, op.check, op.counted, in, first_out,
                          static_cast<uint32_t>(out.table_.size()), op.node, op.name});
  }
  for (uint32_t v = 0; is_open_ && v < values_.size(); ++v) {
    if (values_[v].home.kind == Home::kArena) out.steps_[values_[v].last].dead.push_back(v);
  }
  for (uint32_t k = 0; k < results.size(); ++k) {
    const Value& value = values_[results[k]];
    if (value.home.kind != Home::kOutput || value.home.index != k)
      out.copies_.push_back({value.home, k, value.bytes, results[k]});
  }
  if (!is_counted_) return out;
  for (const Value& value : values_) out.types_.push_back(*value.type);
  out.results_ = results;
  out.sizes_ = open_sizes(graph_, graph_.function(graph_.entry));
  out.arena_ = intern_arena_;
  return out;
}

Result<Interpreter> Compiler::compile() {
  const Function& entry = graph_.function(graph_.entry);
  std::vector<uint32_t> params, results;
  for (uint32_t k = 0; k < entry.num_params(); ++k) {
    Home home = k < n_inputs_ ? Home{Home::kInput, k} : Home{Home::kConstant, k - n_inputs_};
    BYOC_TRY(uint32_t value, add_value(home, entry.nodes[k].types[0]));
    params.push_back(value);
  }
  BYOC_TRY_STATUS(walk(entry, params, 0, results));
  place(results);
  return write(results);
}

Result<Interpreter> Interpreter::make(const IRModule& graph, uint32_t n_inputs,
                                      std::shared_ptr<InternArena> arena, int64_t& node) {
  Compiler compiler(graph, n_inputs, std::move(arena));
  Result<Interpreter> out = compiler.compile();
  node = compiler.node();
  return out;
}

std::vector<bool> Interpreter::constants_used(size_t n) const {
  std::vector<bool> used(n);
  auto mark = [&](const Home& home) {
    if (home.kind == Home::kConstant) used[home.index] = true;
  };
  for (const Home& home : table_) mark(home);
  for (const OutputCopy& copy : copies_) mark(copy.from);
  return used;
}

void* Interpreter::address(const Home& home, const void* const* inputs,
                           const void* const* constants, void* const* outputs,
                           void* workspace) const {
  switch (home.kind) {
    case Home::kInput:
      return const_cast<void*>(inputs[home.index]);
    case Home::kConstant:
      return const_cast<void*>(constants[home.index]);
    case Home::kOutput:
      return outputs[home.index];
    case Home::kArena:
      break;
  }
  return static_cast<char*>(workspace) + home.offset;
}

void Interpreter::fill_table(const void* const* inputs, const void* const* constants,
                             void* const* outputs, void* workspace) const {
  void** table = reinterpret_cast<void**>(static_cast<char*>(workspace) + table_offset_);
  for (size_t k = 0; k < table_.size(); ++k)
    table[k] = address(table_[k], inputs, constants, outputs, workspace);
}

Status Interpreter::run(const void* const* inputs, const void* const* constants,
                        void* const* outputs, void* workspace, int64_t& node) const {
  fill_table(inputs, constants, outputs, workspace);
  void** table = reinterpret_cast<void**>(static_cast<char*>(workspace) + table_offset_);
  for (const Step& step : steps_) {
    node = step.node;
    if (step.check) BYOC_TRY_STATUS(step.check(table + step.in));
    step.kernel(table + step.in, table + step.out);
  }
  for (const OutputCopy& copy : copies_) {
    if (copy.bytes > 0)
      std::memcpy(outputs[copy.output], address(copy.from, inputs, constants, outputs, workspace),
                  copy.bytes);
  }
  return {};
}

namespace {

// Puts numbers in the place of open dims.
Status put_sizes(const std::vector<Dim>& sizes, std::span<const int64_t> values,
                 std::vector<TensorType>& types) {
  if (sizes.size() != values.size())
    return invalid(cat("it was given ", values.size(), " sizes of ", sizes.size()));
  auto value_of = [&](Dim size) -> std::optional<Dim> {
    for (size_t k = 0; k < sizes.size(); ++k) {
      if (sizes[k].name() == size.name()) return Dim(values[k]);
    }
    return std::nullopt;
  };
  for (TensorType& type : types) {
    for (Dim& dim : type.shape) {
      if (!is_open(dim)) continue;
      BYOC_TRY(dim, with_sizes(dim, value_of));
    }
  }
  return {};
}

}  // namespace

/// The memory of values in one run with open sizes: from the step that writes it to the last step
/// that reads it.
class Interpreter::RunMemory {
 public:
  explicit RunMemory(size_t values) : of_(values) {}
  /// Errors: those of check_memory; slug "no-memory".
  Status allocate(uint32_t value, std::string_view op, const TensorType& type) {
    BYOC_TRY_STATUS(check_memory(op, type));
    BYOC_TRY(int64_t bytes, size_bytes(TensorType{type.dtype, at_bounds(type.shape)}));
    of_[value].reset(aligned_memory(static_cast<size_t>(std::max<int64_t>(bytes, 1)), 64));
    if (of_[value] != nullptr) return {};
    return Status(Code::kResourceExhausted, cat(op, ": no memory for the result ", type))
        .with_slug("no-memory");
  }
  void* get(uint32_t value) const { return of_[value].get(); }
  void release(const std::vector<uint32_t>& values) {
    for (uint32_t value : values) of_[value].reset();
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::vector<std::unique_ptr<void, Free>> of_;
};

// Allocates the results of a step, and sets the addresses of its arguments.
Status Interpreter::begin_open(const Step& step, const std::vector<TensorType>& types,
                               RunMemory& memory, void** table) const {
  for (uint32_t k = step.in; k < step.end; ++k) {
    const Home& home = table_[k];
    if (home.kind != Home::kArena) continue;
    if (k >= step.out) BYOC_TRY_STATUS(memory.allocate(home.index, step.op, types[home.index]));
    table[k] = memory.get(home.index);
  }
  return {};
}

Status Interpreter::run_counted(const void* const* inputs, const void* const* constants,
                                void* const* outputs, void* workspace,
                                std::span<const int64_t> sizes, const std::vector<Shape>& in,
                                std::vector<Shape>& out, int64_t& node) const {
  InternArena arena;
  InternScope scope(arena);
  fill_table(inputs, constants, outputs, workspace);
  void** table = reinterpret_cast<void**>(static_cast<char*>(workspace) + table_offset_);
  std::vector<TensorType> types = types_;
  BYOC_TRY_STATUS(put_sizes(sizes_, sizes, types));
  for (size_t k = 0; k < in.size(); ++k) types[k].shape = in[k];
  RunMemory memory(is_open_ ? types.size() : 0);
  for (const Step& step : steps_) {
    node = step.node;
    if (is_open_) BYOC_TRY_STATUS(begin_open(step, types, memory, table));
    if (step.counted) {
      BYOC_TRY_STATUS(step.counted->run(table + step.in, table + step.out, types));
    } else {
      if (step.check) BYOC_TRY_STATUS(step.check(table + step.in));
      step.kernel(table + step.in, table + step.out);
    }
    memory.release(step.dead);
  }
  for (const OutputCopy& copy : copies_) {
    BYOC_TRY(int64_t bytes, size_bytes(types[copy.value]));
    if (bytes > 0)
      std::memcpy(outputs[copy.output], address(copy.from, inputs, constants, outputs, workspace),
                  static_cast<size_t>(bytes));
  }
  out.clear();
  for (uint32_t value : results_) out.push_back(types[value].shape);
  return {};
}

}  // namespace byoc::json_plugin
