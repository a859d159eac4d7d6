// SPDX-License-Identifier: Apache-2.0
#pragma once
// The nodes of one function of a module, with names for its values.
#include <map>
#include <set>
#include <tuple>

#include "core/export/call.h"

namespace byoc::onnx_export {

/// The domain of functions of the model.
inline constexpr const char* kFunctionDomain = "byoc";

/// A constant that a function reads, or one that it calls does.
struct UsedConstant {
  const Buffer* data;
  TypeId type;
  bool is_nibbles = false;  // written as UINT4, two elements for each byte of the last dim

  using Key = std::tuple<const Buffer*, uint32_t, bool>;
  Key key() const { return {data, type.id(), is_nibbles}; }
};

/// Returns the constants of a function in the forms that its nodes read, without those of functions
/// that it calls. Linear.
std::vector<UsedConstant> constants_of(const Function& function);

/// Constants of the whole model, each once, in the order in which functions read them, with the
/// name that they have everywhere.
class ConstantNames {
 public:
  const std::string& name(const UsedConstant& constant);
  const std::vector<UsedConstant>& all() const { return all_; }

 private:
  std::map<UsedConstant::Key, std::string> names_;
  std::vector<UsedConstant> all_;
};

/// The constants of a function and of those that it calls, each once, in order: operands that its
/// calls pass after the others.
using FunctionConstants = std::map<Symbol, std::vector<UsedConstant>>;

/// The nodes of one function.
struct Body {
  Names inputs, outputs;  // without constants
  Nodes nodes;
  std::vector<std::pair<std::string, TypeId>> shaped;  // values whose shapes readers cannot infer
  std::set<std::string> domains;                       // of operators of libraries
  int needed_opset = 0;
};

/// Sets the name and the type of a value.
void set_type(onnx::ValueInfoProto& info, const std::string& name, const TensorType& type);

/// The state that all bodies of a model share.
struct Shared {
  const IRModule& module;
  ConstantNames& constants;
  const FunctionConstants& used;
  int opset = 0;                    // of the model that is written
  std::set<std::string>& problems;  // "conv2d: on i32"
};

/// Writes the nodes of a function. Parameters and results get `inputs` and `outputs`, or names of
/// their own where these are empty or taken. What has no ONNX form is added to shared.problems.
Body write_body(const Function& function, const std::vector<std::string>& inputs,
                const std::vector<std::string>& outputs, const std::vector<UsedConstant>& constants,
                Shared& shared);

}  // namespace byoc::onnx_export
