// SPDX-License-Identifier: Apache-2.0
#pragma once
// The call of an op that becomes one or more ONNX nodes.
#include <onnx/onnx_pb.h>

#include "byoc/ir/module.h"
#include "byoc/op/op.h"

namespace byoc::onnx_export {

using Names = std::vector<std::string>;
using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// ONNX's number of the type UINT4, which headers of older versions lack.
inline constexpr int32_t kUint4 = 21;

/// A name for a value that no other value of the function has.
class FreshNames {
 public:
  bool take(const std::string& name);         // false when it is taken
  std::string next(const std::string& base);  // "base", "base_1", ...

 private:
  std::map<std::string, uint64_t> taken_;
};

/// Adds an attribute. An empty list and an absent value are left out.
void add_attribute(onnx::NodeProto& node, std::string_view name, const AttrValue& value);

/// Returns true for a constant operand whose bytes have two integers of 4 bits each: it is written
/// as UINT4.
bool reads_nibbles(const Function& function, const Node& node, size_t operand);

class Call {
 public:
  Call(const Function& function, uint32_t node, Names inputs, Names outputs, FreshNames& names,
       int opset, Nodes& out);

  const OpDef& op() const { return *call_.op; }
  const Attrs& attrs() const { return *call_.attrs; }
  size_t num_inputs() const { return inputs_.size(); }
  const std::string& input(size_t k) const { return inputs_[k]; }
  const Names& inputs() const { return inputs_; }
  const Names& outputs() const { return outputs_; }
  const TensorType& input_type(size_t k) const;
  /// Returns the bytes of a constant operand; null for others.
  const Buffer* input_data(size_t k) const;
  bool reads_nibbles(size_t k) const { return onnx_export::reads_nibbles(function_, node_, k); }
  const TensorType& output_type(size_t k) const;
  int opset() const { return opset_; }  // of the model that is written
  int needed_opset() const { return needed_; }

  /// Declares that the node requires an opset. Nodes are written again when it is newer.
  void need(int opset) { needed_ = std::max(needed_, opset); }

  /// Appends a node with the name of the call.
  onnx::NodeProto& add(std::string_view op_type, const Names& inputs, const Names& outputs);
  /// Appends a node with all operands and results, and the attributes of these names.
  onnx::NodeProto& add(std::string_view op_type, std::initializer_list<const char*> attributes);
  /// Appends a node with one new result, and returns its name.
  std::string value(std::string_view op_type, const Names& inputs);
  /// Returns the node that was appended last.
  onnx::NodeProto& last() { return *out_.rbegin(); }
  std::string cast(const std::string& input, DType to);      // a new value
  std::string ints(const Ints& values);                      // i64[n]
  std::string floats(const Floats& values);                  // f32[n]
  std::string scalar(DType dtype, double value);             // rank 0
  std::string filled(const TensorType& type, double value);  // notes a problem
  /// Returns a constant with these elements, in order.
  std::string values(const TensorType& type, const std::vector<double>& elements);
  /// Returns a constant of UINT4 with these elements, in order.
  std::string nibbles(const Ints& extents, const std::vector<uint8_t>& elements);
  /// Returns the reason why a value could not be written, or "".
  const std::string& problem() const { return problem_; }

 private:
  std::string constant(const TensorType& type, const std::vector<std::byte>& bytes);
  std::string constant(int32_t onnx_dtype, const Ints& extents,
                       const std::vector<std::byte>& bytes);

  const Function& function_;
  const Node& node_;
  const byoc::Call& call_;
  Names inputs_, outputs_;
  FreshNames& names_;
  int opset_, needed_ = 0;
  Nodes& out_;
  std::string problem_;
};

}  // namespace byoc::onnx_export
