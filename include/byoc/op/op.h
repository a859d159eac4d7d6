// SPDX-License-Identifier: Apache-2.0
#pragma once
// The definition of one op: schema, type inference, cost, and a naive loop that is the reference
// in tests.
#include <functional>
#include <span>

#include "byoc/ir/node.h"

namespace byoc {

namespace te {
class Builder;
class Tensor;
}  // namespace te

/// The way in which an op may be fused with its neighbours.
enum class FusionKind : uint8_t {
  kElementwise,
  kBroadcast,
  kInjective,
  kReduction,
  kAnchor,
  kOpaque
};
std::string_view fusion_kind_name(FusionKind kind);  ///< "elementwise", "broadcast", ...

/// An operand of an op.
struct InputSpec {
  std::string name, doc;  ///< "x", "f32, rank >= 1"
  bool optional = false;  ///< only trailing inputs may be left out
  bool variadic = false;  ///< only the last; one or more
};
/// A result of an op.
struct OutputSpec {
  std::string name, doc;  ///< "y", "the type of x"
};
/// kRequired: must be given. kOptional: may be absent, no default value. Otherwise `fallback` holds
/// the default, and its kind is the attribute's kind.
struct AttrSpec {
  /// The effect of a call that lacks the attribute.
  enum Need { kHasDefault, kRequired, kOptional };
  std::string name;         ///< "axis"
  AttrValue fallback;       ///< for the kind also when required/optional
  std::string doc;          ///< a sentence for the reference of ops
  Need need = kHasDefault;  ///< the effect of its absence
};

using Types = std::span<const TypeId>;  ///< Types of operands or results, in order.
/// Returns the types of the results, or what is wrong with the operands.
using InferFn = std::function<Result<std::vector<TensorType>>(Types inputs, const Attrs&)>;

/// One op on compact row-major tensors of known types, prepared once and run any number of times
/// from any thread. `in` and `out` never alias. Allocates nothing.
using RefKernel = std::function<void(const void* const* in, void* const* out)>;
/// Checks the elements of the operands of one run: an op that has a check is run only when it
/// passes. `in` is as for RefKernel; thread-safe. Errors: kOutOfRange naming the op, the index,
/// the extent.
using ValueCheck = std::function<Status(const void* const* in)>;
/// Prepares a check. Types are static.
using ValueCheckFn = std::function<Result<ValueCheck>(Types inputs, const Attrs&)>;
/// Prepares a kernel: all attribute and shape work happens here. Types are static. Errors:
/// kUnimplemented with the dtype in the message when this combination has no kernel.
using ReferenceFn = std::function<Result<RefKernel>(Types inputs, Types outputs, const Attrs&)>;
/// Returns the types of the results of one run, whose operands have the static types `inputs` and
/// the elements `in`. Errors: kOutOfRange or kInvalidArgument naming the op and the element.
using SizesFn = std::function<Result<std::vector<TensorType>>(Types inputs, const void* const* in,
                                                              const Attrs&)>;
/// Returns the floating-point (or integer) operations of one call; a multiply-add counts 2.
using FlopsFn = std::function<double(Types inputs, Types outputs, const Attrs&)>;

/// Returns the results as tensor expressions of the inputs (te/tensor.h): one tensor per result, of
/// its dtype and shape. Types are static, or with `takes_open` have open dims. Errors:
/// kUnimplemented naming the type or attribute that has no expression.
using ComputeBody = std::function<Result<std::vector<te::Tensor>>(
    te::Builder&, std::span<const te::Tensor> inputs, Types outputs, const Attrs&)>;
struct ComputeFn : ComputeBody {
  using ComputeBody::ComputeBody;
  bool takes_open = false;  ///< extents may be expressions of sizes that each run gives
};
/// Returns a compute that may be called for types with open dims.
inline ComputeFn with_open_sizes(ComputeFn compute) {
  compute.takes_open = true;
  return compute;
}

/// Ops that passes treat alike.
enum class OpFamily : uint8_t {
  kOther,
  kConvolution,  ///< windows of x times a weight, in any layout, of floats or integers
  kTransposedConvolution,
  kProduct,   ///< of matrices, in any layout, of floats or integers
  kPool,      ///< one value per window or plane
  kMeanPool,  ///< the mean of each window
  kBatchNorm,
  kSum,    ///< add, and subtract with `is_inverse`
  kScale,  ///< multiply, and divide with `is_inverse`
  kPad,
  kConcat,
  kTranspose,
  kResize,
  kLayoutTransform,
  kCast,
  kQuantize,  ///< rounds to integers of 8 or 16 bits; requantize and add_integers too
  kDequantize,
  kSoftmax,
  kMean  ///< along the dims of `axes`
};

/// Facts about an op besides its schema, for passes, so that none of them compares names.
struct OpFacts {
  OpFamily family = OpFamily::kOther;  ///< the ops that passes treat alike
  /// The operand with the weights of a convolution or product; -1: there is none.
  int weight = -1;
  /// The dim of the weight with the channels of the result, per group of a transposed convolution;
  /// negative: from the end.
  int weight_channels = 0;
  std::string weight_transposed = {};  ///< a bool attribute that swaps the weight's dims; "": none
  bool is_plain = false;               ///< x, weight and y are in the layouts of ONNX, of one dtype
  bool is_inverse = false;             ///< the second operand is subtracted, or divides
  bool is_commutative = false;         ///< the two operands may change places
  bool is_view = false;                ///< y has the bytes of x: nothing is computed
};

/// The definition of an op: schema, types, reference kernel, tensor expression.
struct OpDef {
  std::string name, doc;                          ///< "conv2d"; a sentence for the reference of ops
  FusionKind kind = FusionKind::kOpaque;          ///< the way it may be fused
  std::vector<InputSpec> inputs;                  ///< in order
  std::vector<OutputSpec> outputs = {{"y", ""}};  ///< in order
  std::vector<AttrSpec> attrs;                    ///< attributes are stored with defaults filled in
  InferFn infer;                                  ///< required
  ReferenceFn reference;                          ///< required but for annotations
  ComputeFn compute;   ///< absent: no tensor expression, the op is not for the default codegen
  FlopsFn flops;       ///< absent: one per output element
  ValueCheckFn check;  ///< absent: an operand may have any elements
  /// Present: dims of results depend on elements. `infer` gives them as counted, `sizes` counts.
  SizesFn sizes;
  int64_t version = 1;  ///< crosses the ABI in the graph JSON; changes with the meaning of the op
  bool is_annotation = false;  ///< compiler_begin / compiler_end
  OpFacts facts = {};          ///< for passes
};

/// Fills defaults, checks names and kinds (an integer is accepted where a float is due).
/// Errors: kInvalidArgument naming op, attribute, both kinds.
Result<Attrs> complete_attrs(const OpDef& op, Attrs given);
/// Checks the number of inputs, then infers. Every result's byte size fits in 63 bits.
Result<std::vector<TypeId>> infer_types(const OpDef& op, Types inputs, const Attrs& attrs);
/// Returns the number of operations of a call, by `flops` of the op or one per output element.
double flops(const OpDef& op, Types inputs, Types outputs, const Attrs& attrs);

}  // namespace byoc
