// SPDX-License-Identifier: Apache-2.0
// Cases of attention with open numbers of tokens: one program with ranges has ONNX Runtime's
// results at the sizes of the case.
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "byoc/import.h"
#include "core/tools/model/bindings.h"
#include "core/tools/model/compare.h"
#include "core/tools/model/data_set.h"
#include "support/flow.h"
#include "support/paths.h"
#include "support/temp_folder.h"

namespace byoc::test {
namespace {

/// A dim of an input, and its size: S of new tokens, K of keys, P of tokens before, L and M of a
/// mask or bias.
struct OpenDim {
  const char *input, *size;
  int dim;
};

struct OpenCase {
  const char* name;  // below cases/
  std::vector<OpenDim> dims;
};

const std::vector<OpenDim> kNewTokens = {{"x", "S", 1}};
const std::vector<OpenDim> kWithPast = {{"x", "S", 1}, {"past", "P", 3}};
const std::vector<OpenDim> kQueriesAndKeys = {{"q", "S", 1}, {"k", "K", 1}, {"v", "K", 1}};
const std::vector<OpenDim> kKeysAfterPast = {
    {"q", "S", 1}, {"k", "K", 1}, {"v", "K", 1}, {"past_k", "P", 2}, {"past_v", "P", 2}};
const std::vector<OpenDim> kSameTokens = {{"q", "S", 1}, {"k", "S", 1}, {"v", "S", 1}};
const std::vector<OpenDim> kHeadsAfterPast = {
    {"q", "S", 2}, {"k", "S", 2}, {"v", "S", 2}, {"past_k", "P", 2}, {"past_v", "P", 2}};

const std::vector<OpenDim> kTokensAfterPast = {
    {"q", "S", 1}, {"k", "S", 1}, {"v", "S", 1}, {"past_k", "P", 2}, {"past_v", "P", 2}};

/// Adds masks whose sizes have names of their own, L and M, and follow from those of other inputs.
std::vector<OpenDim> with(std::vector<OpenDim> masks, const std::vector<OpenDim>& others) {
  masks.insert(masks.end(), others.begin(), others.end());
  return masks;
}

const OpenCase kCases[] = {
    {"Attention/plain", kNewTokens},
    {"Attention/causal", kNewTokens},
    {"Attention/lengths", kNewTokens},
    {"Attention/ends_and_starts", kNewTokens},
    {"Attention/scale", kNewTokens},
    {"Attention/sizes", kNewTokens},
    {"Attention/causal_mask", {{"x", "S", 1}, {"mask", "S", 1}}},
    {"Attention/attention_bias", {{"x", "S", 1}, {"bias", "S", 2}, {"bias", "S", 3}}},
    {"Attention/mask_of_rank_3", {{"x", "S", 1}, {"mask", "L", 1}, {"mask", "M", 2}}},
    {"Attention/past", kWithPast},
    {"Attention/past_causal", kWithPast},
    {"Attention/onnx_past", kHeadsAfterPast},
    {"Attention/onnx_past_groups", kKeysAfterPast},
    {"QAttention/past", kWithPast},
    {"MultiHeadAttention/plain", kQueriesAndKeys},
    {"MultiHeadAttention/causal", kQueriesAndKeys},
    {"MultiHeadAttention/lengths", kQueriesAndKeys},
    {"MultiHeadAttention/causal_past", kKeysAfterPast},
    {"MultiHeadAttention/past", kKeysAfterPast},
    {"MultiHeadAttention/causal_bias",
     {{"q", "S", 1}, {"k", "K", 1}, {"v", "K", 1}, {"bias", "S", 2}, {"bias", "K", 3}}},
    {"MultiHeadAttention/mask", with({{"mask", "L", 1}}, kQueriesAndKeys)},
    {"MultiHeadAttention/attention_bias",
     with({{"bias", "L", 2}, {"bias", "M", 3}}, kQueriesAndKeys)},
    {"MultiHeadAttention/past_and_mask", with({{"mask", "L", 1}}, kKeysAfterPast)},
    {"MultiHeadAttention/causal_past_and_bias",
     with({{"bias", "L", 2}, {"bias", "M", 3}}, kTokensAfterPast)},
    {"GroupQueryAttention/prompt", kSameTokens},
    {"GroupQueryAttention/both_directions", kSameTokens},
    {"GroupQueryAttention/window", kSameTokens},
    {"GroupQueryAttention/smooth", kSameTokens},
    {"GroupQueryAttention/sink", kSameTokens},
};

/// Writes the model of a case with names in place of numbers; returns whether all dims were there.
bool write_open(const OpenCase& one, const std::string& from, const std::string& to) {
  onnx::ModelProto model;
  if (!model.ParseFromString(get(from))) return false;
  size_t found = 0;
  for (onnx::ValueInfoProto& input : *model.mutable_graph()->mutable_input()) {
    for (const OpenDim& dim : one.dims) {
      if (input.name() != dim.input) continue;
      auto* shape = input.mutable_type()->mutable_tensor_type()->mutable_shape();
      if (dim.dim >= shape->dim_size()) return false;
      shape->mutable_dim(dim.dim)->set_dim_param(dim.size);
      ++found;
    }
  }
  put(to, model.SerializeAsString());
  return found == one.dims.size();
}

class OpenAttention : public ::testing::TestWithParam<std::tuple<OpenCase, std::string>> {};

TEST_P(OpenAttention, AgreesWithOnnxRuntime) {
  const auto& [one, compiler] = GetParam();
  if (!built_plugins()->find(compiler)) GTEST_SKIP() << compiler << " is not built";
  const TempFolder folder;
  const std::string stored = cat(BYOC_TEST_DATA, "/microsoft/cases/", one.name);
  ASSERT_TRUE(write_open(one, cat(stored, "/model.onnx"), folder.file("open.onnx")));
  ImportOptions import;
  auto ranges = driver::parse_shapes({"S=1..64", "K=1..64", "P=1..64"});
  ASSERT_TRUE(ranges.ok());
  for (const OpenDim& dim : one.dims) {
    if (ranges->contains(dim.size)) import.shapes[dim.size] = ranges->at(dim.size);
  }
  Result<IRModule> module = import_onnx(folder.file("open.onnx"), all_ops(), import);
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  Result<Executable> program =
      build(*module, {.plugins = built_plugins(), .compilers = {compiler}});
  ASSERT_TRUE(program.ok()) << program.status().to_string();
  std::vector<Tensor> in;
  auto inputs = driver::read_stored_inputs(cat(stored, "/test_data_set_0"));
  auto expected = driver::read_stored_outputs(cat(stored, "/test_data_set_0"));
  ASSERT_TRUE(inputs.ok() && expected.ok());
  for (auto& input : *inputs) in.push_back(std::move(input.tensor));
  const std::vector<Tensor> got = execute(*program, built_plugins(), in);
  ASSERT_EQ(got.size(), expected->size());
  for (size_t k = 0; k < got.size(); ++k) {
    const driver::Difference difference =
        driver::compare_to_largest(got[k], (*expected)[k].tensor, 1e-4, 1);
    EXPECT_TRUE(difference.is_equal) << "output " << k << ": " << difference.got << " instead of "
                                     << difference.expected << " " << difference.reason;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, OpenAttention,
                         ::testing::Combine(::testing::ValuesIn(kCases),
                                            ::testing::Values("json", "llvm")),
                         [](const auto& info) {
                           std::string name = std::get<0>(info.param).name;
                           std::ranges::replace(name, '/', '_');
                           return name + "_" + std::get<1>(info.param);
                         });

}  // namespace
}  // namespace byoc::test
