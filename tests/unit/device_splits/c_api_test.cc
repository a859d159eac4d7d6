// SPDX-License-Identifier: Apache-2.0
// Tensors on a device by the C API.
#include <gmock/gmock.h>

#include "byoc/c/devices.h"
#include "split.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

#define ASSERT_DONE(call)                                \
  do {                                                   \
    byoc_error* error = (call);                          \
    ASSERT_EQ(error, nullptr) << byoc_error_text(error); \
  } while (false)

/// Expects an error, and returns its code and slug.
std::string failed(byoc_error* error) {
  if (error == nullptr) return "no error";
  std::string out = cat(static_cast<int>(byoc_error_code(error)), " ", byoc_error_slug(error));
  byoc_error_free(error);
  return out;
}

class DeviceCApi : public testing::Test {
 protected:
  /// Loads a program whose one op is on sim.
  void SetUp() override {
    const auto plugins = sim_plugins();
    const Executable executable = split(
        simplified(parse("fn main(%x: f32[64]) {\n  %0 = tanh(%x)\n  return %0\n}"), plugins),
        [](size_t) { return true; }, plugins);
    const std::string path = testing::TempDir() + "/c_devices.byoc";
    ASSERT_TRUE(save_artifact(executable, path).ok());
    byoc_options* options = nullptr;
    ASSERT_DONE(byoc_options_new(&options));
    const std::string wraps = cat("sim.wraps=", BYOC_PLUGIN_DIR, "/libbyoc_json.so");
    const std::string sim = cat(BYOC_BUILD_DIR, "/tests/sim/libbyoc_sim.so");
    ASSERT_DONE(byoc_options_set(options, "plugin", sim.c_str()));
    ASSERT_DONE(byoc_options_set(options, "plugin-option", wraps.c_str()));
    byoc_program* program = nullptr;
    ASSERT_DONE(byoc_program_load(path.c_str(), &program));
    ASSERT_DONE(byoc_session_new(program, 0, options, nullptr, &session_));
    byoc_program_free(program);
    byoc_options_free(options);
    ASSERT_DONE(byoc_context_new(session_, &context_));
  }
  void TearDown() override {
    byoc_context_free(context_);
    byoc_session_free(session_);
  }
  byoc_session* session_ = nullptr;
  byoc_context* context_ = nullptr;
};

TEST_F(DeviceCApi, ASessionListsItsDevices) {
  ASSERT_EQ(byoc_session_device_count(session_), 1u);
  byoc_used_device device;
  ASSERT_DONE(byoc_session_device(session_, 0, &device));
  EXPECT_STREQ(device.plugin, "sim");
  EXPECT_EQ(device.device.device_type, kDLExtDev);
  EXPECT_EQ(failed(byoc_session_device(session_, 1, &device)), cat(int{BYOC_OUT_OF_RANGE}, " "));
  EXPECT_EQ(byoc_session_input_device(session_, 0), 0);
  EXPECT_EQ(byoc_session_output_device(session_, 0), 0);
  EXPECT_EQ(byoc_session_input_device(session_, 1), -1);
}

TEST_F(DeviceCApi, InputsAndOutputsMayBeOnADevice) {
  byoc_used_device device;
  ASSERT_DONE(byoc_session_device(session_, 0, &device));
  byoc_device_memory *x = nullptr, *y = nullptr;
  ASSERT_DONE(byoc_device_memory_new(session_, 0, 256, &x));
  ASSERT_DONE(byoc_device_memory_new(session_, 0, 256, &y));
  std::vector<float> values(64, 0.5f);
  ASSERT_DONE(byoc_device_memory_write(x, values.data(), 256));
  byoc_tensor_info info;
  ASSERT_DONE(byoc_session_input(session_, 0, &info));
  DLTensor in{byoc_device_memory_data(x),       device.device, info.ndim, info.dtype,
              const_cast<int64_t*>(info.shape), nullptr,       0};
  DLTensor out = in;
  out.data = byoc_device_memory_data(y);
  ASSERT_DONE(byoc_run(context_, &in, 1, &out, 1));
  ASSERT_DONE(byoc_device_memory_read(y, values.data(), 256));
  EXPECT_NEAR(values[63], 0.46211716, 1e-6);  // tanh(0.5)
  in.device = {kDLCUDA, 1};
  EXPECT_EQ(failed(byoc_run(context_, &in, 1, &out, 1)),
            cat(int{BYOC_INVALID_ARGUMENT}, " input-data"));
  byoc_device_memory_free(x);
  byoc_device_memory_free(y);
}

TEST_F(DeviceCApi, MemoryChecksItsBytes) {
  byoc_device_memory* memory = nullptr;
  EXPECT_EQ(failed(byoc_device_memory_new(session_, 0, size_t{1} << 40, &memory)),
            cat(int{BYOC_RESOURCE_EXHAUSTED}, " device-memory"));
  EXPECT_EQ(failed(byoc_device_memory_new(session_, 7, 16, &memory)),
            cat(int{BYOC_OUT_OF_RANGE}, " "));
  ASSERT_DONE(byoc_device_memory_new(session_, 0, 16, &memory));
  const char bytes[32] = {};
  EXPECT_EQ(failed(byoc_device_memory_write(memory, bytes, 17)), cat(int{BYOC_OUT_OF_RANGE}, " "));
  byoc_device_memory_free(memory);
}

}  // namespace
}  // namespace byoc::test
