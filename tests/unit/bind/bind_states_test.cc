// SPDX-License-Identifier: Apache-2.0
#include "byoc/ir/states.h"
#include "unit/simplify/modules.h"

namespace byoc {
namespace {

constexpr std::string_view kStep =
    "fn main(%x: f32[2], %past: f32[2], %other: f32[3]) "
    "{output_names=[\"y\",\"present\",\"last\"]} {"
    " %0 = add(%x, %past)  %1 = relu(%0)  return %1, %0, %other }";

std::string state_error(std::string_view text, std::vector<std::string> pairs) {
  const Status status = bind_states(module_of(text), pairs, {}).status();
  return cat(status.slug(), ": ", status.message());
}

// Returns the pairs of a module by name, "past=present".
std::vector<std::string> pairs_of(std::string_view text, const std::vector<std::string>& pairs) {
  auto module = bind_states(module_of(text), pairs, {});
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  std::vector<std::string> out;
  if (!module.ok()) return out;
  const Attrs& attrs = module->function("main").attrs;
  const Strings inputs = attrs.strings(kStateInputsAttr),
                outputs = attrs.strings(kStateOutputsAttr);
  for (size_t k = 0; k < inputs.size(); ++k) out.push_back(cat(inputs[k], "=", outputs[k]));
  return out;
}

TEST(BindStates, NamesAnInputAndAnOutput) {
  expect_equal(after(kStep, "bind_states=past=present"),
               "fn main(%x: f32[2], %past: f32[2], %other: f32[3]) {output_names=[\"y\","
               "\"present\",\"last\"], state_inputs=[\"past\"], state_outputs=[\"present\"]} {"
               " %0 = add(%x, %past)  %1 = relu(%0)  return %1, %0, %other }");
  EXPECT_EQ(pairs_of(kStep, {"past=present", "other=last"}),
            (std::vector<std::string>{"past=present", "other=last"}));
}

TEST(BindStates, OutputsWithoutNamesHaveNumbers) {
  EXPECT_EQ(pairs_of("fn main(%x: f32[2]) { %0 = relu(%x)  return %0 }", {"x=output0"}),
            std::vector<std::string>{"x=output0"});
}

TEST(BindStates, ReadsNamesWithAnEqualsSign) {
  EXPECT_EQ(pairs_of("fn main(%\"a=b\": f32[2]) {output_names=[\"c=d\"]} { %0 = relu(%\"a=b\")  "
                     "return %0 }",
                     {"a=b=c=d"}),
            std::vector<std::string>{"a=b=c=d"});
}

TEST(BindStates, RefusesUnknownNamesWithTheNearest) {
  EXPECT_EQ(state_error(kStep, {"pas=present"}),
            "unknown-state: the model has no input \"pas\"; did you mean \"past\"?");
  EXPECT_EQ(state_error(kStep, {"past=presen"}),
            "unknown-state: the model has no output \"presen\"; did you mean \"present\"?");
  EXPECT_EQ(state_error(kStep, {"past"}), "state-syntax: \"past\" is not of the form PAST=PRESENT");
  EXPECT_EQ(state_error(kStep, {"=y"}), "state-syntax: \"=y\" is not of the form PAST=PRESENT");
}

TEST(BindStates, RefusesOtherTypesAndNamesBoth) {
  EXPECT_EQ(state_error(kStep, {"other=y"}),
            "state-type: the state \"other\" is f32[3], and \"y\" is f32[2]");
  EXPECT_EQ(state_error("fn main(%p: f32[N]) {output_names=[\"q\"]} { %0 = relu(%p)  return %0 }",
                        {"p=q"}),
            "state-type: the state \"p\" is f32[N], which has a size without a number");
}

TEST(BindStates, RefusesTwoStatesOfOneInputOrOutput) {
  EXPECT_EQ(state_error(kStep, {"past=present", "past=y"}),
            "state-twice: the input \"past\" is in two states, with \"present\" and with \"y\"");
  EXPECT_EQ(state_error(kStep, {"past=present", "x=present"}),
            "state-twice: the output \"present\" is in two states, with \"past\" and with \"x\"");
  EXPECT_EQ(state_error(kStep, {"past=present", "past=present"}),
            "state-twice: the state \"past=present\" is given twice");
}

TEST(BindStates, TakesBlanksAroundNames) {
  EXPECT_EQ(state_error(kStep, {" past = present "}), state_error(kStep, {"past=present"}));
  EXPECT_EQ(state_error(kStep, {"past = nothing "}),
            "unknown-state: the model has no output \"nothing\"");
}

// Names of transformers (optimum), and of the tools of ONNX Runtime.
TEST(BindStates, RefusesAnotherInputWithNewRows) {
  constexpr std::string_view kCaches =
      "fn main(%k: f32[1,8,2], %v: f32[1,8,2], %row: f32[1,1,2], %at: i64[1]) "
      "{output_names=[\"new_k\",\"new_v\",\"old_k\"]} {"
      " %0 = update_rows(%k, %row, %at)  %1 = update_rows(%v, %row, %at)  return %0, %1, %k }";
  EXPECT_EQ(pairs_of(kCaches, {"k=new_k", "v=new_v"}).size(), 2u);
  EXPECT_EQ(pairs_of(kCaches, {"v=old_k"}).size(), 1u) << "a history: the value of the run before";
  EXPECT_EQ(state_error(kCaches, {"k=new_v", "v=new_k"}),
            "state-crossed: the state \"k\" would become \"new_v\", which is \"v\" with new rows");
}

TEST(BindStates, AutoFindsTheNamesOfExporters) {
  auto model = [](std::string_view input, std::string_view output) {
    return cat("fn main(%ids: f32[2], %\"", input, "\": f32[2]) {output_names=[\"logits\",\"",
               output, "\"]} { %0 = add(%ids, %\"", input, "\")  return %0, %0 }");
  };
  constexpr std::pair<std::string_view, std::string_view> kKnown[] = {
      {"past_key_values.0.key", "present.0.key"},
      {"past_key_values.11.decoder.value", "present.11.decoder.value"},
      {"past_key_values.3.key", "present_key_values.3.key"},
      {"past_key_4", "present_key_4"},
      {"past_value_self_4", "present_value_self_4"},
      {"past_7", "present_7"}};
  for (const auto& [input, output] : kKnown)
    EXPECT_EQ(pairs_of(model(input, output), {"auto"}), std::vector{cat(input, "=", output)});
  EXPECT_EQ(state_error(model("cache", "cache_out"), {"auto"}),
            "unknown-state: no input and output of the model are named as past and present");
}

TEST(BindStates, AutoRefusesWhatIsAmbiguousOrGrows) {
  EXPECT_EQ(state_error("fn main(%past_key_values: f32[2]) {output_names=[\"present\","
                        "\"present_key_values\"]} { %0 = relu(%past_key_values)  return %0, %0 }",
                        {"auto"}),
            "state-syntax: the input \"past_key_values\" may be a state with \"present\" or with "
            "\"present_key_values\"");
  EXPECT_EQ(state_error("fn main(%past: f32[2], %x: f32[1]) {output_names=[\"present\"]} {"
                        " %0 = concat(%past, %x) {axis=0}  return %0 }",
                        {"auto"}),
            "state-type: the state \"past\" is f32[2], and \"present\" is f32[3]");
}

TEST(BindStates, TextsMayHaveTheAttributes) {
  IRModule module = module_of(
      "fn main(%past: f32[2]) {output_names=[\"y\"], state_inputs=[\"past\"], "
      "state_outputs=[\"z\"]} { %0 = relu(%past)  return %0 }");
  const Status status = states_of(module.function("main")).status();
  EXPECT_EQ(status.message(), "the model has no output \"z\"; did you mean \"y\"?");
}

}  // namespace
}  // namespace byoc
