// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensor expressions define each element of a tensor, and not the order in which elements are
// computed (te/schedule.h). A Dag is flat: stages in topological order.
#include <functional>
#include <unordered_map>

#include "byoc/ir/type.h"
#include "byoc/te/stmt.h"

namespace byoc::te {

struct Target;

/// One loop of a stage; runs from 0.
struct Axis {
  Var var;      ///< the index
  Expr extent;  ///< the number of iterations
};

/// Combines two partial results of a reduction; associative and commutative except for rounding.
/// Reductions of several results at once (argmax: value and index) have as many of each.
struct Combiner {
  std::vector<Var> lhs, rhs;  ///< the value so far, the next term
  Exprs identity, result;     ///< one per output: where it starts, and how both are joined
};
Combiner sum_of(DType dtype);      ///< identity: 0
Combiner product_of(DType dtype);  ///< identity: 1
Combiner min_of(DType dtype);      ///< identity: the greatest value, +infinity for floats
Combiner max_of(DType dtype);      ///< identity: the smallest value, -infinity for floats

/// An input of the Dag.
struct Placeholder {};
/// outputs[k](axes) = values[k]; with `reduce` axes it is combined over all of them, in any order.
struct Compute {
  std::vector<Axis> axes, reduce;  ///< the loops of the outputs, and those that are combined over
  Combiner combiner;               ///< for reductions
  Exprs values;                    ///< with reduce axes: one term
};
/// A stage written as loops, for ops that have no Compute: sorting, running sums, recurrent nets.
/// Writes every element of the outputs; reads `inputs`.
struct Procedure {
  std::vector<Tensor> inputs;  ///< the tensors that it reads
  Stmt body;                   ///< the loops
};

/// One step of a computation.
struct Stage {
  std::string name;  ///< unique in the Dag
  /// Outputs have one shape when the stage is a Compute.
  std::vector<Tensor> outputs;
  std::variant<Placeholder, Compute, Procedure> kind;  ///< the work of the stage
  std::string op, compute;  ///< the op, and the choice of the selector; "" for placeholders
  uint32_t call = 0;        ///< node of the function
  std::string role;         ///< the name that the compute gave it, which may occur several times
};

/// Stages that compute outputs from inputs.
struct Dag {
  std::string name;                     ///< the name of the function
  std::vector<Stage> stages;            ///< producers first; placeholders too
  std::vector<Tensor> inputs, outputs;  ///< inputs: parameters, then constants
  std::vector<Var> sizes = {};          ///< the open sizes of a run, by name
};
/// Returns the stage that makes `tensor`. Aborts when none does.
size_t stage_of(const Dag& dag, const Tensor& tensor);
std::string print(const Dag& dag);  ///< Returns the stages as text, for tests and messages.

/// A micro-kernel of a code generator, declared by what it computes: Schedule::tensorize puts it in
/// the place of loops that compute the same.
/// `dag` has placeholders and one Compute of one output. In its value every index is an axis by
/// itself, every tensor is read at one place, and axes are used only as indices. Extents are
/// numbers, or variables, which match any number. A reduction combines its terms with the old value
/// of the output. The Intrinsic's places are the first elements of the inputs, then of the output;
/// its args are the extents of the axes, then of the reduce axes, then per place and dimension the
/// distance of neighbours in elements.
struct TensorIntrin {
  static constexpr int64_t kAnyStride = INT64_MIN;  ///< an entry of the distances: any
  std::string name;                                 ///< the name of the kernel
  Dag dag;                                          ///< the computation that it replaces
  /// Per place and dimension the only distance that the kernel supports; none given: any.
  std::vector<std::vector<int64_t>> strides;
};

using Indices = std::vector<Expr>;  ///< The indices of one element.

/// Makes a Dag, stage by stage. One thread.
class Builder {
 public:
  Builder() = default;
  /// `target`, which the Builder keeps a pointer to: the machine that the Dag is made for.
  explicit Builder(const Target& target) : target_(&target) {}
  /// Returns the machine, or null where it is not known: how many registers an op may count on.
  const Target* target() const { return target_; }
  /// Begins an op: the next stages belong to this op, compute and node.
  void begin_op(std::string op, std::string compute, uint32_t call);

  /// Adds an input of that shape.
  Tensor placeholder(std::string name, DType dtype, Exprs shape);
  Tensor placeholder(std::string name, const TensorType& type);  ///< no counted dims

  /// Adds a stage of one output: value(indices) per element.
  Tensor compute(std::string name, Exprs shape, const std::function<Expr(const Indices&)>& value);
  /// Adds a stage of several outputs of one shape.
  std::vector<Tensor> compute_all(std::string name, Exprs shape,
                                  const std::function<Exprs(const Indices&)>& values);
  /// `term(i, r)`: i over `shape`, r over `extents`.
  Tensor reduce(std::string name, Exprs shape, Exprs extents, Combiner combiner,
                const std::function<Expr(const Indices&, const Indices&)>& term);
  /// Adds a reduction to several outputs of one shape.
  std::vector<Tensor> reduce_all(std::string name, Exprs shape, Exprs extents, Combiner combiner,
                                 const std::function<Exprs(const Indices&, const Indices&)>& terms);
  /// `body(outputs)`: statements that write them.
  std::vector<Tensor> procedure(std::string name, std::vector<TensorType> outputs,
                                std::vector<Tensor> inputs,
                                const std::function<Stmt(const std::vector<Tensor>&)>& body);

  /// Returns the Dag; the Builder is empty afterwards.
  Dag finish(std::string name, std::vector<Tensor> inputs, std::vector<Tensor> outputs);

 private:
  std::string unique(std::string name);
  Stage& add(std::string name);
  const Target* target_ = nullptr;
  Dag dag_;
  std::string op_, compute_;
  uint32_t call_ = 0;
  std::unordered_map<std::string, uint32_t> names_;  // uses of each name
};

/// Returns the extent of a dim that is not counted: a number, or an expression of sizes.
Expr extent_of(Dim dim);
/// Returns the extents of a type without counted dims.
Exprs extents_of(const TensorType& type);
/// Returns true for an expression of sizes and numbers that is no number itself.
bool is_of_sizes(const Expr& x);
/// Returns the variables of the sizes in these expressions, each once, by name.
std::vector<Var> sizes_of(const Exprs& xs);

}  // namespace byoc::te
