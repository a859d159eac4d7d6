// SPDX-License-Identifier: Apache-2.0
// Operators of ONNX Runtime: those on integers become the ops of the form QDQ, and forms that are
// not supported are refused. Their numbers: tests/microsoft.
#include "core/import/onnx/file/operator_forms.h"
#include "unit/import/rows.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;
constexpr int kBytes = onnx::TensorProto::UINT8, kNumbers = onnx::TensorProto::INT32;
constexpr int kReals = onnx::TensorProto::FLOAT;

/// A model with the operands a, b of these extents, their scales, and those of the result.
OnnxModel quantized_operands(const std::vector<DimSpec>& a, const std::vector<DimSpec>& b) {
  OnnxModel model;
  model.input("a", a, kBytes).input("as", {}).input("az", {}, kBytes);
  model.input("b", b, kBytes).input("bs", {}).input("bz", {}, kBytes);
  model.input("ys", {}).input("yz", {}, kBytes).output("y");
  return model.set_opset("com.microsoft", 1);
}

onnx::NodeProto& microsoft(OnnxModel& model, const char* op,
                           const std::vector<std::string>& inputs) {
  onnx::NodeProto& node = model.node(op, inputs, {"y"}, "n");
  node.set_domain("com.microsoft");
  return node;
}

/// Adds the nodes of the form QDQ around a node of two operands. Returns that node.
onnx::NodeProto& qdq(OnnxModel& model, const char* op) {
  model.node("DequantizeLinear", {"a", "as", "az"}, {"ar"}, "n");
  model.node("DequantizeLinear", {"b", "bs", "bz"}, {"br"}, "n");
  model.node(op, {"ar", "br"}, {"yr"}, "n");
  model.node("QuantizeLinear", {"yr", "ys", "yz"}, {"y"}, "n");
  return *model.graph().mutable_node(2);
}

TEST(QuantizedOperators, AreThoseOfTheFormQdq) {
  const std::vector<std::string> all = {"a", "as", "az", "b", "bs", "bz", "ys", "yz"};
  for (auto [own, op] : {std::pair("QLinearAdd", "Add"), {"QLinearMul", "Mul"}}) {
    OnnxModel one = quantized_operands({2, 3}, {3}), steps = one;
    microsoft(one, own, all);
    qdq(steps, op);
    EXPECT_EQ(ops_of(one), ops_of(steps)) << own;
  }
}

TEST(QuantizedOperators, HaveTheConvolutionOfTheFormQdq) {
  OnnxModel one = quantized_operands({1, 3, 6, 6}, {4, 3, 3, 3}), steps = one;
  set(microsoft(one, "QLinearConv", {"a", "as", "az", "b", "bs", "bz", "ys", "yz"}), "pads",
      std::vector<int64_t>{1, 1, 1, 1});
  set(qdq(steps, "Conv"), "pads", std::vector<int64_t>{1, 1, 1, 1});
  EXPECT_EQ(ops_of(one), ops_of(steps));
}

TEST(QuantizedOperators, HaveTheConcatenationOfTheFormQdq) {
  OnnxModel one = quantized_operands({2, 3}, {1, 3}), steps = one;
  set(microsoft(one, "QLinearConcat", {"ys", "yz", "a", "as", "az", "b", "bs", "bz"}), "axis", 0);
  set(qdq(steps, "Concat"), "axis", 0);
  EXPECT_EQ(ops_of(one), ops_of(steps));
}

// With known scales it is a product of the form QDQ; where a run finds them, one of integers.
TEST(MatMulIntegerToFloat, IsScaledBeforeOrAfterTheProduct) {
  OnnxModel model;
  model.set_opset("com.microsoft", 1);
  model.input("a", {2, 3}, kBytes).input("b", {3, 4}, kBytes).input("bs", {}).output("y");
  OnnxModel at_run_time = model;
  model.initializer("as", {}, {0.5f});
  microsoft(model, "MatMulIntegerToFloat", {"a", "b", "as", "bs"});
  EXPECT_THAT(ops_of(model), HasSubstr("dequantize(%b, %bs)"));
  at_run_time.input("as", {});
  microsoft(at_run_time, "MatMulIntegerToFloat", {"a", "b", "as", "bs"});
  EXPECT_THAT(ops_of(at_run_time), HasSubstr("multiply(%as, %bs)"));
}

// ONNX Runtime writes it in the default domain, other tools write it beside their own operators.
TEST(SimplifiedLayerNormalization, IsTheSameInBothDomains) {
  OnnxModel model(13);
  model.set_opset("com.microsoft", 1).input("x", {2, 8}).input("scale", {8}).output("y");
  OnnxModel own = model;
  set(model.node("SimplifiedLayerNormalization", {"x", "scale"}, {"y"}, "n"), "epsilon", 0.25f);
  set(microsoft(own, "SimplifiedLayerNormalization", {"x", "scale"}), "epsilon", 0.25f);
  EXPECT_EQ(ops_of(model), "%0 = rms_norm(%x, %scale) {epsilon=0.25}\n");
  EXPECT_EQ(ops_of(own), ops_of(model));
}

// Models bring functions for runtimes that do not have the operator.
TEST(MicrosoftRows, AreUsedInPlaceOfFunctionsOfTheModel) {
  OnnxModel model(17);
  model.set_opset("com.microsoft", 1).input("x", {2, 8}).output("y");
  microsoft(model, "Gelu", {"x"});
  onnx::FunctionProto& function = *model.proto.add_functions();
  function.set_domain("com.microsoft");
  function.set_name("Gelu");
  function.add_input("a");
  function.add_output("b");
  onnx::NodeProto& body = *function.add_node();
  body.set_op_type("Relu");
  body.add_input("a");
  body.add_output("b");
  EXPECT_EQ(ops_of(model), "%0 = gelu(%x)\n");
}

/// Operands of one dtype: the rank of the first, and that of all others.
struct OddOperands {
  int first, others, dtype;
};

/// Imports a node of such inputs; the attributes that it needs are 2.
void import_odd_node(const onnx_import::OperatorForm& form, int inputs, OddOperands odd) {
  OnnxModel model;
  model.set_opset("com.microsoft", 1).output("y");
  std::vector<std::string> names;
  for (int k = 0; k < inputs; ++k) {
    names.push_back(cat("x", k));
    const int rank = k == 0 ? odd.first : odd.others;
    model.input(names.back(), std::vector<DimSpec>(static_cast<size_t>(rank), 2), odd.dtype);
  }
  const std::string op(form.op_type);
  onnx::NodeProto& node = microsoft(model, op.c_str(), names);
  const std::string attributes(form.attributes);
  for (size_t at = 0; at < attributes.size();) {
    const size_t end = std::min(attributes.find(' ', at), attributes.size());
    if (attributes[end - 1] == '!') set(node, attributes.substr(at, end - at - 1), 2);
    at = end + 1;
  }
  Result<IRModule> module = model.import();
  EXPECT_TRUE(module.ok() || !module.status().message().empty());
}

// Operands of ranks that no definition has are errors of the import.
TEST(MicrosoftRows, SurviveOddOperands) {
  for (const ImportedOp& op : imported_ops()) {
    if (op.domain.empty()) continue;
    const onnx_import::OperatorForm* form = onnx_import::find_form(op.op_type, 1, op.domain);
    ASSERT_NE(form, nullptr) << op.op_type;
    for (int inputs : {form->min_inputs, std::min(form->max_inputs, 18)}) {
      for (int rank = 0; rank < 6; ++rank) {
        for (int dtype : {kBytes, kReals})
          for (int more : {0, 4}) import_odd_node(*form, inputs, {rank, (rank + more) % 6, dtype});
      }
    }
  }
}

/// Inputs of these extents: f, f32; i, int32; "", an omitted one.
using Inputs = std::vector<std::pair<const char*, std::vector<DimSpec>>>;

std::string ops_of_node(const char* op, const Inputs& inputs,
                        const std::map<std::string, int>& attrs) {
  OnnxModel model;
  model.set_opset("com.microsoft", 1).output("y");
  std::vector<std::string> names;
  for (const auto& [kind, dims] : inputs) {
    names.push_back(*kind == 0 ? "" : cat("x", names.size()));
    if (*kind != 0) model.input(names.back(), dims, *kind == 'i' ? kNumbers : kReals);
  }
  onnx::NodeProto& node = microsoft(model, op, names);
  for (const auto& [name, value] : attrs) set(node, name, value);
  return ops_of(model);
}

struct Form {
  const char* op;
  Inputs inputs;
  std::map<std::string, int> attrs;
};

// Any dim of one or two inputs may be open: the import takes it, or names what it does not take.
TEST(MicrosoftRows, SurviveOpenDimsOfAttention) {
  const std::pair<const char*, std::vector<DimSpec>> none("", {});
  const std::vector<DimSpec> packed = {2, 5, 8}, in_heads = {2, 2, 5, 4}, past = {2, 2, 6, 4};
  const std::map<std::string, int> heads = {{"num_heads", 2}};
  const Form forms[] = {
      {"Attention", {{"f", {2, 3, 8}}, {"f", {8, 24}}, {"f", {24}}, {"i", {2, 3}}}, heads},
      {"Attention", {{"f", {2, 3, 8}}, {"f", {8, 24}}, {"f", {24}}, {"i", {2}}}, heads},
      {"MultiHeadAttention", {{"f", {2, 3, 8}}, {"f", in_heads}, {"f", in_heads}}, heads},
      {"MultiHeadAttention",
       {{"f", {2, 3, 8}}, {"f", packed}, {"f", packed}, {"f", {24}}, {"i", {2, 5}}},
       heads},
      {"MultiHeadAttention",
       {{"f", {2, 3, 8}},
        {"f", packed},
        {"f", packed},
        none,
        none,
        {"f", {2, 2, 3, 11}},
        {"f", past},
        {"f", past}},
       heads},
      {"MultiHeadAttention", {{"f", {2, 3, 2, 3, 4}}}, heads},
      {"GroupQueryAttention",
       {{"f", {2, 1, 16}},
        {"f", {2, 1, 8}},
        {"f", {2, 1, 8}},
        {"f", past},
        {"f", past},
        {"i", {2}},
        {"i", {}}},
       {{"num_heads", 4}, {"kv_num_heads", 2}}},
  };
  for (const Form& form : forms) {
    EXPECT_THAT(ops_of_node(form.op, form.inputs, form.attrs),
                form.op[0] == 'G' ? HasSubstr("") : HasSubstr("softmax"));
    const size_t n = form.inputs.size();
    for (size_t one = 0; one < n; ++one) {
      for (size_t other = one; other < n; ++other) {
        for (size_t a = 0; a < form.inputs[one].second.size(); ++a) {
          for (size_t b = 0; b < form.inputs[other].second.size(); ++b) {
            for (const char* name : {"T", "U"}) {
              Inputs open = form.inputs;
              open[one].second[a] = "T";
              open[other].second[b] = name;
              EXPECT_NE(ops_of_node(form.op, open, form.attrs), "");
            }
          }
        }
      }
    }
  }
}

struct Refused {
  const char* op;
  Inputs inputs;
  std::map<std::string, int> attrs;
  const char* reason;
};

TEST(MicrosoftRows, RefuseFormsThatAreNotSupported) {
  const std::vector<DimSpec> x = {1, 2, 8}, cache = {1, 2, 3, 4}, number = {};
  const std::pair<const char*, std::vector<DimSpec>> none("", {}), ends("i", {1});
  const std::map<std::string, int> heads = {{"num_heads", 2}, {"kv_num_heads", 2}};
  auto with = [](std::map<std::string, int> attrs, const char* name, int value) {
    attrs[name] = value;
    return attrs;
  };
  const Refused all[] = {
      {"Attention",
       {{"f", x}, {"f", {8, 24}}},
       {{"num_heads", 2}, {"do_rotary", 1}},
       "do_rotary=1 is not supported"},
      {"Attention",
       {{"f", x}, {"f", {8, 24}}, none, {"i", {1, 1, 9, 9}}},
       {{"num_heads", 2}},
       "only ranks 1 to 3 are supported"},
      {"MultiHeadAttention",
       {{"f", x}, {"f", x}, {"f", x}, none, none, none, {"f", cache}, {"f", cache}, ends},
       {{"num_heads", 2}},
       "its input past_sequence_length"},
      {"MultiHeadAttention",
       {{"f", x}, {"f", {1, 2, 5, 4}}, {"f", {1, "T", 5, 4}}},
       {{"num_heads", 2}},
       "of which one has 2 heads and the other T"},
      {"GroupQueryAttention",
       {{"f", x}, {"f", x}, {"f", x}, none, none, ends, {"i", number}},
       with(heads, "sliding_window_cache", 1),
       "sliding_window_cache is not supported"},
      {"GroupQueryAttention",
       {{"f", x}, {"f", x}, {"f", x}, {"f", cache}, {"f", cache}, ends, {"i", number}},
       heads,
       "its input \"total_sequence_length\" is computed at run time"},
      {"RotaryEmbedding",
       {{"f", x}, ends, {"f", {9, 4}}, {"f", {9, 4}}},
       {{"is_packed_batching", 1}},
       "is_packed_batching=1 is not supported"},
      {"MatMulNBits",
       {{"f", x}, {"f", x}, {"f", x}},
       {{"K", 16}, {"N", 2}, {"block_size", 16}, {"bits", 3}},
       "bits is 3, only 2, 4 and 8 are supported"},
      {"MatMulNBits",
       {{"f", x}, {"f", x}, {"f", x}, none, ends},
       {{"K", 16}, {"N", 2}, {"block_size", 16}},
       "help: quantise the weights in their own order: GPTQ without act_order (desc_act)"},
  };
  for (const Refused& refused : all) {
    EXPECT_THAT(ops_of_node(refused.op, refused.inputs, refused.attrs), HasSubstr(refused.reason))
        << refused.op;
  }
}

}  // namespace
}  // namespace byoc::test
