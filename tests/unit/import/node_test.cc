// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/node.h"

#include <gtest/gtest.h>

#include "onnx_models.h"

namespace byoc::test {
namespace {

using onnx::AttributeProto;
using onnx_import::NodeView;

class Node : public testing::Test {
 protected:
  AttributeProto& add(const std::string& name, AttributeProto::AttributeType type) {
    auto* attr = proto_.add_attribute();
    attr->set_name(name);
    attr->set_type(type);
    return *attr;
  }
  NodeView view() { return {proto_, 13, folder_}; }

  onnx::NodeProto proto_;
  onnx_import::ExternalFolder folder_;
};

TEST_F(Node, ReadsEveryKindOfAttribute) {
  add("i", AttributeProto::INT).set_i(-3);
  add("f", AttributeProto::FLOAT).set_f(0.5);
  add("s", AttributeProto::STRING).set_s("same");
  add("ints", AttributeProto::INTS).add_ints(7);
  add("floats", AttributeProto::FLOATS).add_floats(2.5);
  add("strings", AttributeProto::STRINGS).add_strings("a");
  NodeView node = view();
  EXPECT_EQ(node.i("i", 0), -3);
  EXPECT_EQ(node.f("f", 0), 0.5);
  EXPECT_EQ(node.s("s", ""), "same");
  EXPECT_THAT(node.ints("ints"), testing::ElementsAre(7));
  EXPECT_THAT(node.floats("floats"), testing::ElementsAre(2.5));
  EXPECT_THAT(node.strings("strings"), testing::ElementsAre("a"));
  EXPECT_TRUE(node.status().ok());
}

TEST_F(Node, FallsBackWhereAnAttributeIsAbsent) {
  NodeView node = view();
  EXPECT_FALSE(node.has("i"));
  EXPECT_EQ(node.i("i", 5), 5);
  EXPECT_EQ(node.f("f", 0.25), 0.25);
  EXPECT_EQ(node.s("s", "x"), "x");
  EXPECT_TRUE(node.ints("ints").empty());
  EXPECT_TRUE(node.status().ok());
}

TEST_F(Node, RemembersAnAttributeOfTheWrongKind) {
  add("axis", AttributeProto::FLOAT).set_f(1);
  NodeView node = view();
  EXPECT_EQ(node.i("axis", 5), 5);
  EXPECT_THAT(node.status().message(), testing::HasSubstr("attribute \"axis\" is FLOAT"));
}

TEST_F(Node, TellsKindsOfOldFilesByTheirFields) {
  add("i", AttributeProto::UNDEFINED).set_i(4);
  EXPECT_EQ(view().i("i", 0), 4);
}

TEST_F(Node, ReadsFloatsAsTheDecimalsTheyWereWrittenAs) {
  add("alpha", AttributeProto::FLOAT).set_f(0.01f);
  EXPECT_EQ(view().f("alpha", 0), 0.01);
}

TEST_F(Node, DoesNotCountTrailingEmptyOperands) {
  for (const char* name : {"x", "", "w", ""}) proto_.add_input(name);
  NodeView node = view();
  EXPECT_EQ(node.num_inputs(), 3u);
  EXPECT_FALSE(node.has_input(1));
  EXPECT_TRUE(node.has_input(2));
  EXPECT_FALSE(node.has_input(9));
}

TEST_F(Node, IsCalledByItsFirstOutputWhenItHasNoName) {
  proto_.add_output("");
  proto_.add_output("mask");
  EXPECT_EQ(view().name(), "mask");
}

TEST_F(Node, NamesAMissingTensorAttribute) {
  EXPECT_THAT(view().tensor("value").status().message(),
              testing::HasSubstr("attribute \"value\" is missing"));
}

}  // namespace
}  // namespace byoc::test
