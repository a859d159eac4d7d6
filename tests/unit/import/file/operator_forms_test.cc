// SPDX-License-Identifier: Apache-2.0
// Every operator of ONNX: malformed nodes of it are errors, and it is supported or refused by name.
#include "core/import/onnx/file/operator_forms.h"

#include <limits>
#include <set>

#include "core/import/onnx/file/unsupported.h"
#include "core/import/onnx/tables.h"
#include "unit/import/rows.h"

namespace byoc::test {
namespace {

using namespace onnx_import;
using ::testing::HasSubstr;

constexpr int kMany = std::numeric_limits<int>::max();

/// A node of the form with the least that it needs, of inputs that the model has.
onnx::NodeProto least_node(const OperatorForm& form) {
  onnx::NodeProto node;
  node.set_op_type(std::string(form.op_type));
  node.set_name("n");
  for (int k = 0; k < form.min_inputs; ++k) node.add_input("x");
  for (int k = 0; k < std::max(form.min_outputs, 1); ++k) node.add_output(cat("y", k));
  const std::string names(form.attributes);
  for (size_t at = 0; at < names.size();) {
    const size_t end = std::min(names.find(' ', at), names.size());
    const std::string name = names.substr(at, end - at);
    if (name.ends_with('!')) node.add_attribute()->set_name(name.substr(0, name.size() - 1));
    at = end + 1;
  }
  return node;
}

bool is_gone(const OperatorForm& form) { return form.min_inputs < 0; }

std::string error_of(const onnx::NodeProto& node, const OperatorForm& form) {
  Status status = check_form(node, form.opset);
  EXPECT_EQ(status.slug(), status.ok() ? "" : "onnx-graph");
  return status.message();
}

TEST(OperatorForms, TakeTheLeastNodeOfEveryForm) {
  for (const OperatorForm& form : operator_forms()) {
    if (is_gone(form)) continue;
    EXPECT_EQ(error_of(least_node(form), form), "") << form.op_type << " of " << form.opset;
  }
}

TEST(OperatorForms, RefuseAnInputMoreThanEveryFormHas) {
  for (const OperatorForm& form : operator_forms()) {
    if (is_gone(form) || form.max_inputs == kMany) continue;
    onnx::NodeProto node = least_node(form);
    while (node.input_size() <= form.max_inputs) node.add_input("x");
    const std::string error = error_of(node, form);
    EXPECT_THAT(error, HasSubstr(cat("it has ", form.max_inputs + 1, " input")));
    EXPECT_THAT(error, HasSubstr(cat(form.op_type, " has ")));
    EXPECT_TRUE(error.ends_with(cat(" ", form.max_inputs))) << error;
  }
}

TEST(OperatorForms, RefuseAnInputLessThanEveryFormNeeds) {
  for (const OperatorForm& form : operator_forms()) {
    if (is_gone(form) || form.min_inputs == 0) continue;
    onnx::NodeProto node = least_node(form);
    node.mutable_input()->RemoveLast();
    const std::string error = error_of(node, form);
    EXPECT_THAT(error, HasSubstr(cat("it has ", form.min_inputs - 1, " input")));
    EXPECT_THAT(error, HasSubstr(cat(form.op_type, " needs ")));
    EXPECT_TRUE(error.ends_with(cat(" ", form.min_inputs))) << error;
  }
}

TEST(OperatorForms, RefuseANeededInputWithoutAName) {
  for (const OperatorForm& form : operator_forms()) {
    for (int k = 0; !is_gone(form) && k < form.needed; ++k) {
      onnx::NodeProto node = least_node(form);
      node.mutable_input(k)->clear();
      EXPECT_THAT(error_of(node, form), HasSubstr(cat("input ", k, " has no name")))
          << form.op_type;
    }
  }
}

TEST(OperatorForms, RefuseAnOutputMoreThanEveryFormHas) {
  for (const OperatorForm& form : operator_forms()) {
    if (is_gone(form) || form.max_outputs == kMany) continue;
    onnx::NodeProto node = least_node(form);
    while (node.output_size() <= form.max_outputs) node.add_output(cat("z", node.output_size()));
    EXPECT_THAT(error_of(node, form), HasSubstr(cat("it has ", form.max_outputs + 1, " output")))
        << form.op_type;
  }
}

TEST(OperatorForms, RefuseAnAttributeThatAFormLacks) {
  for (const OperatorForm& form : operator_forms()) {
    if (is_gone(form)) continue;
    onnx::NodeProto node = least_node(form);
    node.add_attribute()->set_name("sharpness");
    EXPECT_THAT(error_of(node, form), HasSubstr("it has the attribute \"sharpness\", which"))
        << form.op_type;
  }
}

TEST(OperatorForms, RefuseAMissingAttribute) {
  for (const OperatorForm& form : operator_forms()) {
    onnx::NodeProto node = is_gone(form) ? onnx::NodeProto() : least_node(form);
    if (node.attribute_size() == 0) continue;
    const std::string name = node.attribute(0).name();
    node.mutable_attribute()->DeleteSubrange(0, 1);
    EXPECT_THAT(error_of(node, form), HasSubstr(cat("attribute \"", name, "\" is missing")))
        << form.op_type;
  }
}

// A row of the importer for each operator up to the newest opset, or a refusal with its reason.
TEST(OperatorForms, EveryOperatorIsSupportedOrRefusedByName) {
  std::set<std::string> names;
  for (const OperatorForm& form : operator_forms()) names.emplace(form.op_type);
  for (const ImportedOp& op : imported_ops()) {
    std::optional<Refusal> refused = known_refusal(op.op_type);
    EXPECT_FALSE(refused) << op.op_type << ": " << refused->reason;
    names.erase(op.op_type);
  }
  for (const std::string& name : names) {
    std::optional<Refusal> refused = known_refusal(name);
    ASSERT_TRUE(refused) << name << ": give it a row, or a reason in unsupported.cc";
    EXPECT_THAT(refused->reason, HasSubstr("byoc does not support this operator of ONNX: "));
    EXPECT_FALSE(refused->cure.empty());
  }
}

OnnxModel one_node(const char* op, const std::vector<std::string>& inputs, int opset = 17) {
  OnnxModel model(opset);
  model.input("x", {1, 3, 8, 8}).output("y");
  model.initializer("w", {4, 3, 3, 3}, std::vector<float>(108, 1));
  model.node(op, inputs, {"y"}, "n");
  return model;
}

TEST(OperatorForms, MalformedNodesAreErrorsOfTheImport) {
  EXPECT_ERROR(one_node("Conv", {"x", "w", "w", "w"}).import(), "onnx-graph",
               "it has 4 inputs, Conv has at most 3");
  EXPECT_ERROR(one_node("Conv", {"x", "w", "w", "w"}).import(), "onnx-graph",
               "node \"n\" (Conv, domain ai.onnx, opset 17)");
  EXPECT_ERROR(one_node("Reshape", {"x", "w", "w"}).import(), "onnx-graph",
               "it has 3 inputs, Reshape has 2");
  EXPECT_ERROR(one_node("QuantizeLinear", {"x", "w", "w", "w"}).import(), "onnx-graph",
               "it has 4 inputs, QuantizeLinear has at most 3");
  EXPECT_ERROR(one_node("If", {}).import(), "onnx-graph", "it has 0 inputs, If needs 1");
  EXPECT_ERROR(one_node("If", {""}).import(), "onnx-graph", "input 0 has no name");
  EXPECT_ERROR(one_node("Conv", {"x", ""}).import(), "onnx-graph",
               "input 1 has no name; Conv needs the first 2 inputs");
}

// The opset decides: Clip had no inputs for its limits before opset 11.
TEST(OperatorForms, FollowTheOpset) {
  EXPECT_ERROR(one_node("Clip", {"x", "w"}, 6).import(), "onnx-graph", "Clip has 1");
  EXPECT_EQ(find_form("Clip", 12)->max_inputs, 3);
  EXPECT_EQ(find_form("Upsample", 9)->max_inputs, 2);
  EXPECT_EQ(find_form("Upsample", 10), nullptr);
  EXPECT_EQ(find_form("Where", 8), nullptr);
}

TEST(OperatorForms, OmittedInputsAtTheEndAreNotCounted) {
  EXPECT_TRUE(one_node("Clip", {"x", "", "", ""}).import().ok());
}

TEST(OperatorForms, KnownOperatorsWithoutARowAreRefusedWithACure) {
  EXPECT_ERROR(one_node("Bernoulli", {"x"}).import(), "onnx-unsupported",
               "byoc does not support this operator of ONNX: it draws random numbers");
  EXPECT_ERROR(one_node("Optional", {"x"}).import(), "onnx-unsupported",
               "byoc does not support this operator of ONNX: it makes an optional value");
  EXPECT_EQ(one_node("Optional", {"x"}).import().status().help(), "use the tensor in its place");
}

OnnxModel microsoft_node(const char* op, const std::vector<std::string>& inputs,
                         const char* domain = "com.microsoft", int opset = 1) {
  OnnxModel model = one_node(op, inputs);
  model.set_opset(domain, opset).graph().mutable_node(0)->set_domain(domain);
  return model;
}

TEST(MicrosoftForms, OperatorsWithoutARowAreRefusedWithACure) {
  const OnnxModel model = microsoft_node("Inverse", {"x"});
  EXPECT_ERROR(model.import(), "onnx-unsupported",
               "node \"n\" (Inverse, domain com.microsoft, opset 1): byoc does not support this "
               "operator of ONNX Runtime");
  EXPECT_THAT(model.import().status().help(), HasSubstr("export without graph optimisation"));
}

TEST(MicrosoftForms, LayoutsOfOneMachineAreRefusedWithACure) {
  const OnnxModel model = microsoft_node("ReorderInput", {"x"}, "com.microsoft.nchwc");
  EXPECT_ERROR(model.import(), "onnx-unsupported",
               "node \"n\" (ReorderInput, domain com.microsoft.nchwc, opset 1): ONNX Runtime's "
               "optimizer wrote it for one kind of machine");
  EXPECT_THAT(model.import().status().help(), HasSubstr("export without graph optimisation"));
}

TEST(MicrosoftForms, UnknownOperatorsAndOpsetsAreErrors) {
  EXPECT_ERROR(microsoft_node("Frobnicate", {"x"}).import(), "onnx-unsupported",
               "no such operator is known");
  EXPECT_ERROR(microsoft_node("Gelu", {"x"}, "com.microsoft", 2).import(), "onnx-unsupported",
               "node \"n\" (Gelu, domain com.microsoft, opset 2): it is known in opset 1");
}

TEST(MicrosoftForms, MalformedNodesAreErrorsOfTheImport) {
  EXPECT_ERROR(microsoft_node("Gelu", {"x", "w"}).import(), "onnx-graph",
               "it has 2 inputs, Gelu has 1");
  EXPECT_ERROR(microsoft_node("Gelu", {"x", "w"}).import(), "onnx-graph",
               "node \"n\" (Gelu, domain com.microsoft, opset 1)");
  EXPECT_ERROR(microsoft_node("SkipLayerNormalization", {"x", "w"}).import(), "onnx-graph",
               "it has 2 inputs, SkipLayerNormalization needs at least 3");
  OnnxModel unknown = microsoft_node("QuickGelu", {"x"});
  set(*unknown.graph().mutable_node(0), "sharpness", 1);
  EXPECT_ERROR(unknown.import(), "onnx-graph",
               "it has the attribute \"sharpness\", which QuickGelu of opset 1 does not have");
  EXPECT_ERROR(microsoft_node("MatMulNBits", {"x", "w", "w"}).import(), "onnx-graph",
               "attribute \"K\" is missing");
}

TEST(MicrosoftForms, UnsupportedFormsAreRefusedWithACure) {
  OnnxModel model = microsoft_node("FusedConv", {"x", "w"});
  set(*model.graph().mutable_node(0), "activation", "ScaledTanh");
  EXPECT_ERROR(model.import(), "onnx-unsupported",
               "its activation \"ScaledTanh\" is not supported");
  EXPECT_THAT(model.import().status().help(), HasSubstr("export without graph optimisation"));
}

// Every operator of ONNX Runtime has a form, and those with a row have a sample.
TEST(MicrosoftForms, ExistForEveryRow) {
  for (const ImportedOp& op : imported_ops()) {
    if (op.domain.empty()) continue;
    EXPECT_NE(find_form(op.op_type, 1, op.domain), nullptr) << op.op_type;
    EXPECT_EQ(op.opsets, (std::vector<std::pair<int, int>>{{1, 1}})) << op.op_type;
  }
}

TEST(MicrosoftForms, TakeTheLeastNodeOfEveryForm) {
  for (const OperatorForm& form : microsoft_forms()) {
    onnx::NodeProto node = least_node(form);
    node.set_domain("com.microsoft");
    EXPECT_EQ(error_of(node, form), "") << form.op_type;
    node.add_attribute()->set_name("sharpness");
    EXPECT_THAT(error_of(node, form), HasSubstr("it has the attribute \"sharpness\", which"))
        << form.op_type;
  }
}

// ONNX Runtime writes these two in the default domain, before ONNX has them.
TEST(MicrosoftForms, AreKnownInTheDefaultDomain) {
  OnnxModel model = one_node("SimplifiedLayerNormalization", {"x", "x"}, 13);
  set(*model.graph().mutable_node(0), "sharpness", 1);
  EXPECT_ERROR(model.import(), "onnx-graph", "it has the attribute \"sharpness\"");
  EXPECT_ERROR(one_node("LayerNormalization", {"x"}, 13).import(), "onnx-graph",
               "LayerNormalization needs at least 2");
}

}  // namespace
}  // namespace byoc::test
