// SPDX-License-Identifier: Apache-2.0
// Every sample of every op, written as ONNX, read again, and computed by the reference kernels.
#include "byoc/export.h"
#include "byoc/import.h"
#include "core/conform/samples/samples.h"
#include "core/export/rows.h"
#include "support/evaluate.h"
#include "support/temp_folder.h"

namespace byoc {
namespace {

using conform::Program;
using testing::Values;

/// Returns inputs within the domains of the program.
std::vector<Values> inputs_of(const Program& program) {
  std::vector<Values> inputs;
  const Function& main = program.module.function("main");
  for (size_t k = 0; k < main.num_params(); ++k) {
    const TensorType& type = *main.nodes[k].types[0];
    std::vector<std::byte> bytes(static_cast<size_t>(*size_bytes(type)));
    conform::fill(bytes.data(), type, program.domains[k], 7 + k);
    inputs.push_back(testing::from_bytes(type, bytes.data()));
  }
  return inputs;
}

/// Writes the program, reads it, and compares. Returns why that cannot be done, or "".
std::string round_trip(const Program& program, const std::string& path) {
  Status written = export_onnx(program.module, path);
  if (!written.ok()) return written.message();
  auto read = import_onnx(path, all_ops());
  if (!read.ok()) return cat("reading: ", read.status().to_string());
  std::vector<Values> inputs = inputs_of(program);
  auto expected = testing::evaluate(program.module, inputs), got = testing::evaluate(*read, inputs);
  if (!expected.ok()) return cat("reference: ", expected.status().to_string());
  if (!got.ok()) return cat("computing: ", got.status().to_string());
  EXPECT_EQ(got->size(), expected->size());
  for (size_t k = 0; k < std::min(got->size(), expected->size()); ++k) {
    const DType dtype = (*expected)[k].type.dtype;  // attributes of ONNX are f32
    const double allowed = testing::rounding(dtype == DType::kF64 ? DType::kF32 : dtype);
    testing::expect_near((*got)[k], (*expected)[k], allowed);
  }
  return "";
}

/// Returns the ops without a form in ONNX, which export_onnx refuses.
std::set<std::string> ops_without_row() {
  std::set<std::string> out;
  for (const OpDef* op : conform::ops_to_check()) {
    if (onnx_export::find_row(op->name) == nullptr) out.insert(op->name);
  }
  return out;
}

TEST(ExportRoundTrip, GivesEverySampleAgain) {
  test::TempFolder folder;
  size_t ops = 0;
  for (const OpDef* op : conform::ops_to_check()) {
    if (onnx_export::find_row(op->name) == nullptr) continue;
    size_t passed = 0;
    for (const Program& program : conform::programs_of(*op, conform::Level::kCore)) {
      SCOPED_TRACE(program.label);
      std::string reason = round_trip(program, folder.file("m.onnx"));
      if (reason.empty()) ++passed;
      else
        EXPECT_THAT(reason,
                    ::testing::AnyOf(cat("no ONNX form of ", op->name, " on i32"),  // convolutions
                                     "no ONNX form of mod on floats without fmod",
                                     "no ONNX form of space_to_depth with mode CRD"));
    }
    EXPECT_GT(passed, 0u) << op->name;
    ops += passed > 0;
  }
  EXPECT_GE(ops, 146u);
}

TEST(ExportRoundTrip, RefusesOpsWithoutAForm) {
  test::TempFolder folder;
  std::set<std::string> without = ops_without_row();
  EXPECT_TRUE(without.contains("layout_transform"));
  for (const std::string& name : without) {
    for (const Program& program :
         conform::programs_of(**all_ops().get(name), conform::Level::kCore)) {
      Status status = export_onnx(program.module, folder.file("m.onnx"));
      EXPECT_EQ(status.slug(), "onnx-export") << name;
      EXPECT_THAT(status.message(), ::testing::HasSubstr(name));
      break;
    }
  }
  EXPECT_EQ(folder.count(), 0u);
}

}  // namespace
}  // namespace byoc
