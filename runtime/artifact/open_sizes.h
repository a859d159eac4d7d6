// SPDX-License-Identifier: Apache-2.0
#pragma once
// The open sizes of a program: read from the inputs of a run, and put into the dims of all views.
#include <deque>
#include <span>

#include "byoc/base/size_expression.h"
#include "byoc/runtime/artifact.h"
#include "byoc/runtime/tensor.h"

namespace byoc {

/// The sizes and expressions of a program; immutable.
class OpenSizes {
 public:
  OpenSizes() = default;
  /// Errors: slug "executable", for a program that load_artifact would refuse.
  static Result<OpenSizes> make(const Program& program);

  bool empty() const { return sizes_.empty(); }
  size_t count() const { return sizes_.size(); }              ///< of sizes
  size_t expressions() const { return expressions_.size(); }  ///< different ones in the types
  /// Returns the number of an expression that occurs in the program's types.
  uint32_t number(const std::string& text) const { return numbers_.at(text); }
  /// Returns the number of a size.
  uint32_t size_number(const std::string& name) const { return size_numbers_.at(name); }

  /// Adds an expression of the sizes that is in no type, and returns its number. Not while others
  /// read. Errors: slug "size-syntax"; slug "executable", for a name that no input has.
  Result<uint32_t> add(const std::string& text);
  /// Returns "B = 3, T = 17".
  std::string text(std::span<const int64_t> sizes) const;

  /// Reads the sizes from views that have the ranks of the inputs. Errors: slug "input-shape",
  /// where two inputs disagree about a size; slug "input-size", for one outside of its bounds.
  Status read(std::span<const DLTensor> inputs, std::span<int64_t> sizes) const;
  /// Returns whether views have the shapes of inputs: numbers where a dim is one, and sizes that
  /// are within their bounds and agree. Allocates nothing for up to 64 sizes.
  bool fits(std::span<const DLTensor> views) const;
  /// Computes the values of all expressions. Errors: slug "size-overflow", with the sizes; slug
  /// "input-size", where a value is above the bound of its dim.
  Status evaluate(std::span<const int64_t> sizes, std::span<int64_t> values) const;

 private:
  struct Expression {
    SizeExpression expression;
    std::vector<uint32_t> names;  // the sizes by number
    int64_t most = 0;             // the least bound of the types that have it
  };
  struct Source {
    size_t input, dim;
    uint32_t size;
  };
  Status add(const TensorSpec& type);
  Result<uint32_t> add(const std::string& text, int64_t most);
  Result<int64_t> value(const Expression& expression, std::span<const int64_t> sizes) const;
  bool has_numbers(std::span<const DLTensor> views) const;

  std::vector<OpenSize> sizes_;
  std::vector<NamedTensor> inputs_;  // those that a caller gives
  std::map<std::string, uint32_t> size_numbers_, numbers_;
  std::vector<Expression> expressions_;
  std::vector<Source> sources_;  // dims of inputs that are a size by itself
  std::vector<Source> derived_;  // the other open ones; `size` is the number of the expression
};

/// The dims of one context that change with the sizes. Addresses stay.
class OpenViews {
 public:
  explicit OpenViews(const OpenSizes& sizes, const Program& program);

  /// Returns dims for a view of this type: those of the last update.
  int64_t* dims(const TensorSpec& type);
  /// Returns a type whose dims are those of the last update, without open ones.
  const TensorSpec& type(const TensorSpec& type);
  /// Returns the values of these sizes.
  const int64_t* sizes(const std::vector<std::string>& names);
  const std::vector<NamedTensor>& inputs() const { return inputs_; }
  const std::vector<NamedTensor>& outputs() const { return outputs_; }

  /// Returns the values of all expressions, by number.
  std::span<const int64_t> values() const { return values_; }
  /// Returns the sizes as text, for errors.
  std::string text() const { return sizes_.text(now_); }

  /// Takes the sizes of these inputs, without the states' or with them. Returns whether any has
  /// changed. Errors: those of OpenSizes; the dims are then as before.
  Result<bool> update(std::span<const DLTensor> inputs);

 private:
  struct Slot {
    int64_t* to;
    uint32_t number;
  };
  void add_slots(int64_t* dims, const TensorSpec& type);

  const OpenSizes& sizes_;
  std::vector<int64_t> now_, next_, values_;
  std::vector<Slot> slots_, size_slots_;
  std::deque<std::vector<int64_t>> dims_;
  std::deque<TensorSpec> types_;
  std::vector<NamedTensor> inputs_, outputs_;
};

}  // namespace byoc
