// SPDX-License-Identifier: Apache-2.0
#pragma once
// The interface for rows of the ONNX op tables: one ONNX node and the graph being built. It
// includes no ONNX header, so that the op families compile quickly.
#include <memory>
#include <optional>

#include "byoc/ir/module.h"
#include "byoc/op/registry.h"
#include "core/import/onnx/file/narrow.h"

namespace byoc::onnx_import {

/// A value of the graph being built; empty for an omitted optional input.
using Value = std::optional<ValueId>;

/// One node of the ONNX file. Attributes are read with a fallback; the importer reports an
/// attribute of the wrong kind as an error of the model after the conversion.
class OnnxNode {
 public:
  virtual ~OnnxNode() = default;
  virtual const std::string& op_type() const = 0;
  virtual const std::string& domain() const = 0;  // "" is ONNX's own
  virtual const std::string& name() const = 0;    // or the first output's name
  virtual int opset() const = 0;                  // of the node's domain
  virtual size_t num_inputs() const = 0;
  virtual size_t num_outputs() const = 0;  // trailing omitted ones not counted
  virtual bool has_input(size_t k) const = 0;
  virtual bool has_output(size_t k) const = 0;  // named, so it may be read
  virtual bool has(std::string_view attr) const = 0;
  virtual int64_t i(std::string_view attr, int64_t fallback) const = 0;
  virtual double f(std::string_view attr, double fallback) const = 0;
  virtual std::string s(std::string_view attr, std::string_view fallback) const = 0;
  virtual Ints ints(std::string_view attr) const = 0;  // absent: empty
  virtual Floats floats(std::string_view attr) const = 0;
  virtual Strings strings(std::string_view attr) const = 0;
  /// Returns ONNX's element type of a tensor attribute; 0 when it is absent.
  virtual int32_t tensor_dtype(std::string_view attr) const = 0;
  /// Returns a tensor attribute ("value" of Constant). Errors: absent, unsupported dtype, bad data.
  virtual Result<std::pair<TensorType, std::shared_ptr<const Buffer>>> tensor(
      std::string_view attr) const = 0;
};

/// The known facts about one element of a computed size, such as an entry of a shape.
struct SizeEntry {
  std::optional<int64_t> number;  // the element itself
  std::optional<Dim> dim;         // the dim that it is in every run: it was read by Shape
  std::optional<int64_t> most;    // a number that it does not exceed in any run
  std::optional<ValueId> base;    // a value of one element; the element is that plus the offset
  std::optional<Dim> minus;       // the element is the offset minus this dim
  int64_t offset = 0;
  bool is_natural = false;  // it is at least 0 in every run
};

/// A sequence: the list of its elements, or a tensor whose rows they are.
struct Sequence {
  std::vector<ValueId> elements;
  Value rows;  // instead of a list
};

/// The function being built. Every op is inferred when it is added. When all its operands are known
/// constants of at most 4096 elements (shape arithmetic), it is folded too, so `const_ints` returns
/// the results of chains of Shape, Gather, Concat, ...
class Graph {
 public:
  virtual ~Graph() = default;
  /// Returns input k of the node being converted. Records an error when it is absent (has_input).
  virtual ValueId input(size_t k) = 0;
  virtual Value optional_input(size_t k) = 0;
  /// Returns all inputs of an operator without optional ones. Records an error for an empty name.
  virtual std::vector<ValueId> inputs() = 0;
  /// Adds an op; the node's name becomes its loc. Returns the first output v; output k is
  /// ValueId{v.node, k}. An inference error is recorded and ends the import with the node's name.
  virtual ValueId call(std::string_view op, const std::vector<ValueId>& args, Attrs attrs = {}) = 0;
  virtual ValueId constant(const TensorType& type, std::shared_ptr<const Buffer> data) = 0;
  virtual ValueId constant_ints(const Ints& values) = 0;  // i64[n]
  virtual ValueId scalar(DType dtype, double value) = 0;  // rank 0, any dtype
  virtual const TensorType& type(ValueId value) = 0;
  size_t rank(ValueId value) { return type(value).shape.size(); }
  /// Return the elements when `value` is a known constant of an integer or bool type, or of a float
  /// type for the second function.
  virtual std::optional<Ints> const_ints(ValueId value) = 0;
  virtual std::optional<Floats> const_floats(ValueId value) = 0;
  /// Returns the bytes of a known constant, null for other values. They live as long as the graph.
  virtual const Buffer* const_bytes(ValueId value) = 0;
  /// Returns the type of a value whose elements the IR has no dtype for; null for others.
  virtual const NarrowType* narrow(ValueId value) = 0;
  /// Declares that `value` holds elements of a narrow type. Returns the value.
  virtual ValueId set_narrow(ValueId value, const NarrowType* type) = 0;
  virtual const OpRegistry& ops() = 0;
  /// Returns the elements of a sequence, nullptr for a tensor. Valid until the next one is made.
  virtual const Sequence* sequence(ValueId value) = 0;
  /// Makes a sequence, which rows of sequences alone read.
  virtual ValueId make_sequence(Sequence sequence) = 0;
  /// Returns a name for a counted dim of the next op, which no other op of the function has.
  virtual std::string new_size(std::string_view op) = 0;
  /// Returns what is known of the elements of an integer value of rank 0 or 1: one entry each, up
  /// to 64; empty when their number is not known.
  virtual std::vector<SizeEntry> size_entries(ValueId value) = 0;
  /// Returns the bounds of these entries; nullopt when one has none.
  virtual std::optional<Ints> upper_bounds(ValueId value) = 0;
  /// Notes that the model reads the first `size` entries of `entries` of them.
  virtual void note_table(Dim size, int64_t entries) = 0;
  /// Notes that a size that inputs have by a name of its own is `extent` in every run: where it is
  /// not yet, the model is read again with `extent` in its place.
  virtual void note_equal(Dim size, Dim extent) = 0;
  /// Returns what makes the elements of a value known while the model is read, as the help of an
  /// error: options that bind the inputs and sizes that they depend on; "" for a constant.
  virtual std::string cure(ValueId value) = 0;
  /// Returns the dim that an integer value of one element is in every run.
  virtual std::optional<Dim> dim_of(ValueId value) = 0;
};

/// The outputs in ONNX's order, as many as the node names, or the reason why this node is refused:
/// the importer turns unimplemented("...") into "onnx-unsupported" with node, op, domain and opset.
using Converted = Result<std::vector<ValueId>>;
using Convert = Converted (*)(Graph&, const OnnxNode&);

struct Row {
  const char* op_type;       // in the default domain ("ai.onnx")
  int min_opset, max_opset;  // inclusive; kNewest: no upper end
  Convert convert;
};
inline constexpr int kNewest = 1 << 20;
// rows/FAMILY.cc defines `std::span<const Row> FAMILY_rows()`; the build finds the files.

}  // namespace byoc::onnx_import
