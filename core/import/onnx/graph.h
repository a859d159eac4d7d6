// SPDX-License-Identifier: Apache-2.0
#pragma once
// Builds a function op by op: infers each op when it is added, and folds small constants.
#include <map>
#include <span>

#include "core/import/onnx/convert.h"
#include "core/import/onnx/limits.h"

namespace byoc::onnx_import {

class GraphBuilder final : public Graph {
 public:
  /// Operands and results of at most this many elements are folded while reading.
  static constexpr int64_t kFoldElements = 4096;

  GraphBuilder(IRModule& module, const OpRegistry& ops) : module_(module), ops_(ops) {}
  ValueId param(const std::string& name, const TensorType& type);
  /// Declares that a parameter counts the iterations of a loop, of which a run has at most `trips`.
  void set_counter(ValueId param, std::optional<int64_t> trips) {
    counter_ = param;
    trips_ = trips;
  }
  /// Declares that the parameters are inputs of the model. `sizes` has the options that bind all
  /// open sizes, such as "--shape N=1"; it may be empty.
  void set_inputs(std::string sizes) { open_sizes_ = std::move(sizes); }
  /// Returns what ops need of sizes without a bound: at most the entries of the tables that
  /// note_table has noted, and at least what windows reach over.
  const SizeLimits& limits() const { return limits_; }
  /// Begins a node, to which the next calls belong. `operands`: nullopt for an omitted one.
  void begin_node(std::span<const Value> operands, const std::string& name);
  /// Returns the first error since begin_node; ok when there was none.
  const Status& status() const { return status_; }
  /// Moves the function out, without the constants that have no readers.
  Function finish(const std::vector<ValueId>& results) &&;

  /// Returns true when `value` is an output of a node of the function.
  bool is_valid(ValueId value) const;

  /// Returns the bytes of a known constant, in the module's pool; otherwise null.
  const Buffer* constant_data(ValueId value);
  /// Adds a constant whose bytes are in the module's pool.
  ValueId constant(const TensorType& type, const Buffer& data, const std::string& name);
  /// Adds control flow, without folding. The operands and types are as Control describes them;
  /// `types` may be empty for `if`. An error is recorded as with `call`.
  std::vector<ValueId> control(const Control& control, const std::vector<ValueId>& args,
                               const std::vector<TypeId>& types);

  ValueId input(size_t k) override;
  Value optional_input(size_t k) override;
  std::vector<ValueId> inputs() override;
  ValueId call(std::string_view op, const std::vector<ValueId>& args, Attrs attrs = {}) override;
  ValueId constant(const TensorType& type, std::shared_ptr<const Buffer> data) override;
  ValueId constant_ints(const Ints& values) override;
  ValueId scalar(DType dtype, double value) override;
  const TensorType& type(ValueId value) override;
  std::optional<Ints> const_ints(ValueId value) override;
  std::optional<Floats> const_floats(ValueId value) override;
  const Buffer* const_bytes(ValueId value) override { return data(value); }
  const NarrowType* narrow(ValueId value) override;
  ValueId set_narrow(ValueId value, const NarrowType* type) override;
  const OpRegistry& ops() override { return ops_; }
  const Sequence* sequence(ValueId value) override {
    auto found = sequences_.find(value);
    return found == sequences_.end() ? nullptr : &found->second;
  }
  ValueId make_sequence(Sequence sequence) override;
  std::string new_size(std::string_view op) override;
  std::vector<SizeEntry> size_entries(ValueId value) override;
  std::optional<Ints> upper_bounds(ValueId value) override;
  std::optional<Dim> dim_of(ValueId value) override;
  std::string cure(ValueId value) override;
  void note_table(Dim size, int64_t entries) override;
  void note_equal(Dim size, Dim extent) override;

 private:
  ValueId fail(Status status);
  /// Returns the bytes of a known constant, otherwise null.
  const Buffer* data(ValueId value) const;
  Result<ValueId> add(std::string_view op, const std::vector<ValueId>& args, Attrs attrs);
  Value constant_of_numbers(ValueId value);
  /// Returns the types of the results of an op that counts: those of its run when all operands are
  /// small constants, else `bounds`.
  Result<std::vector<TypeId>> counted_results(const OpDef& op, const std::vector<ValueId>& args,
                                              Types types, const Attrs& attrs,
                                              std::vector<TypeId> bounds) const;
  bool is_foldable(const OpDef& op, const std::vector<ValueId>& args,
                   std::span<const TypeId> results) const;

  std::optional<std::vector<SizeEntry>> entries_of(ValueId value, int depth, int& budget);
  std::optional<std::vector<SizeEntry>> computed_entries(const Call& call, int depth, int& budget);
  std::optional<std::vector<SizeEntry>> unknown_entry(ValueId value);
  std::optional<std::vector<SizeEntry>> chosen_entries(const std::vector<ValueId>& args, int depth,
                                                       int& budget);
  std::optional<std::vector<SizeEntry>> joined_entries(const std::vector<ValueId>& parts, int depth,
                                                       int& budget);

  IRModule& module_;
  const OpRegistry& ops_;
  Function function_;
  std::vector<Value> operands_;
  Symbol loc_;
  Status status_;
  std::optional<ValueId> counter_;  // of a body
  std::optional<int64_t> trips_;
  std::optional<std::string> open_sizes_;  // of a model's inputs; nullopt in a body
  /// Known results of ops with several outputs, which stay calls: a constant has one output.
  std::map<ValueId, std::shared_ptr<const Buffer>> known_;
  std::map<ValueId, const NarrowType*> narrow_;
  SizeLimits limits_;
  std::map<ValueId, Sequence> sequences_;  // by a constant that no op reads
};

}  // namespace byoc::onnx_import
