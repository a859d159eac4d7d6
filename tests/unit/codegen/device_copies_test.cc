// SPDX-License-Identifier: Apache-2.0
// The copies that the pass copy_to_devices inserts, and the places of values on devices.
#include <gmock/gmock.h>

#include "byoc/pass/codegen.h"
#include "byoc/plugin/abi.h"
#include "support/flow.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A compiled function of plugin "a", on a device unless its name begins with "host".
ExternalFunction function_named(std::string symbol, uint32_t n_in = 1) {
  ExternalFunction out;
  if (!symbol.starts_with("host")) out.device = {kDLExtDev, 0};
  out.symbol = std::move(symbol);
  out.n_in = n_in;
  out.n_out = 1;
  return out;
}

IRModule with_functions(std::string_view text, std::vector<ExternalFunction> functions) {
  IRModule module = parse(text);
  ExternalModule compiled;
  compiled.plugin = "a";
  compiled.blob = Buffer::copy({});
  compiled.functions = std::move(functions);
  module.external_mods.push_back(std::move(compiled));
  return module;
}

std::string copied(std::string_view text, std::vector<ExternalFunction> functions) {
  Result<IRModule> out = copy_to_devices(with_functions(text, std::move(functions)), PassContext());
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  if (!out.ok()) return "";
  out->external_mods.clear();
  return print(*out);
}

constexpr const char* kDiamond = R"(
fn main(%x: f32[64]) {
  %0 = call_dps_packed(@there, %x) : f32[64]
  %1 = call_dps_packed(@host, %0) : f32[64]
  %2 = call_dps_packed(@there_2, %0, %1) : f32[64]
  %3 = call_dps_packed(@there_2, %1, %2) : f32[64]
  return %3, %0
})";

TEST(DeviceCopies, AreOnePerValueAndDirectionRightAfterItIsMade) {
  const std::string text = copied(
      kDiamond, {function_named("there"), function_named("there_2", 2), function_named("host")});
  EXPECT_THAT(text, HasSubstr(R"(
    %0 = copy_to_device(%x) {device=0} loc("x")
    %1 = call_dps_packed(@there, %0) : f32[64]
    %2 = copy_to_host(%1) loc("there")
    %3 = call_dps_packed(@host, %2) : f32[64]
    %4 = copy_to_device(%3) {device=0} loc("host")
    %5 = call_dps_packed(@there_2, %1, %4) : f32[64]
    %6 = call_dps_packed(@there_2, %4, %5) : f32[64]
    %7 = copy_to_host(%6) loc("there_2")
    return %7, %2
)"));
}

TEST(DeviceCopies, LeaveArgumentsThatKernelsHaveOnTheHost) {
  ExternalFunction second = function_named("there_2", 2);
  second.placement = {BYOC_PLACE_DEVICE, BYOC_PLACE_HOST, BYOC_PLACE_DEVICE};
  const std::string text =
      copied(kDiamond, {function_named("there"), second, function_named("host")});
  EXPECT_THAT(text, HasSubstr("%5 = call_dps_packed(@there_2, %1, %3)"));
}

TEST(DeviceCopies, AreNoneWithoutADevice) {
  const std::string text =
      copied("fn main(%x: f32[64]) {\n  %0 = call_dps_packed(@host, %x) : f32[64]\n  return %0\n}",
             {function_named("host")});
  EXPECT_THAT(text, Not(HasSubstr("copy_to")));
}

TEST(DeviceCopies, AreMadeOfModulesThatWereWrittenAsText) {
  ExternalFunction second = function_named("there_2", 2);
  second.placement = {BYOC_PLACE_DEVICE, BYOC_PLACE_HOST, BYOC_PLACE_DEVICE};
  const IRModule module =
      with_functions(kDiamond, {function_named("there"), second, function_named("host")});
  const std::string folder = testing::TempDir() + "/device_text.ir";
  ASSERT_TRUE(write_module(module, folder).ok());
  Result<IRModule> read = read_module(folder, all_ops());
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->external_mods[0].functions[1].device, (std::vector<uint32_t>{kDLExtDev, 0}));
  EXPECT_EQ(read->external_mods[0].functions[1].placement, second.placement);
}

TEST(DeviceCopies, RefuseValuesWhoseSizesRunsCount) {
  Result<IRModule> out = copy_to_devices(
      with_functions("fn main(%x: f32[8]) {\n  %0 = call_dps_packed(@there, %x) : f32[?n<=8]\n"
                     "  return %0\n}",
                     {function_named("there")}),
      PassContext());
  EXPECT_EQ(out.status().slug(), "device-sizes");
}

TEST(DeviceCopies, GiveValuesPlacesOnTheDeviceThatAreUsedAgain) {
  Result<IRModule> module = copy_to_devices(
      with_functions(kDiamond, {function_named("there"), function_named("there_2", 2),
                                function_named("host")}),
      PassContext());
  ASSERT_TRUE(module.ok());
  module = plan_memory(*std::move(module), PassContext());
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  Result<Executable> out = make_executable(*module);
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  ASSERT_EQ(out->program.devices.size(), 1u);
  EXPECT_EQ(out->program.devices[0].plugin, "a");
  EXPECT_EQ(out->program.devices[0].arena_bytes, 3u * 256) << "at most three values live at a time";
  EXPECT_EQ(out->program.arena_bytes, 256u) << "the result of host, on the host";
  for (const Step& step : out->program.steps) {
    if (step.module != Step::kDeviceCopy) continue;
    EXPECT_NE(step.args[0].kind == Place::kDevice, step.args[1].kind == Place::kDevice);
  }
}

}  // namespace
}  // namespace byoc::test
