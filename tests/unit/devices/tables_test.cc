// SPDX-License-Identifier: Apache-2.0
// What the host refuses of plugins with devices: incomplete tables, and kernels that contradict
// themselves.
#include <gmock/gmock.h>

#include <cstring>

#include "byoc/host/register.h"
#include "runtime/host/kernel_facts.h"

namespace byoc::test {
namespace {

template <class T>
void any_slot(T& slot) {
  slot = reinterpret_cast<T>(+[] {});  // never called
}

byoc_device_table whole_devices() {
  byoc_device_table table{};
  table.h = {sizeof table, BYOC_TAG_DEVICE_TABLE, nullptr};
  any_slot(table.devices), any_slot(table.dev_alloc), any_slot(table.dev_free);
  any_slot(table.copy), any_slot(table.stream_new), any_slot(table.stream_free);
  any_slot(table.event_new), any_slot(table.event_free), any_slot(table.event_record);
  any_slot(table.event_wait), any_slot(table.event_sync);
  return table;
}

byoc_plugin plugin_with(const byoc_device_table* devices) {
  byoc_plugin table{};
  table.h = {sizeof table, BYOC_TAG_PLUGIN, nullptr};
  table.abi_major = BYOC_ABI_MAJOR;
  table.abi_minor = BYOC_ABI_MINOR;
  table.min_host_minor = 10;
  table.id = {"tabled", 6};
  table.version = {"1.0.0", 5};
  any_slot(table.open), any_slot(table.close), any_slot(table.patterns), any_slot(table.compile);
  any_slot(table.load), any_slot(table.save), any_slot(table.kernel), any_slot(table.info);
  any_slot(table.run), any_slot(table.release);
  table.device = devices;
  return table;
}

TEST(DeviceTables, NeedAllSlots) {
  byoc_device_table devices = whole_devices();
  devices.event_wait = nullptr;
  const byoc_plugin table = plugin_with(&devices);
  EXPECT_THAT(register_plugin(&table).message(), testing::HasSubstr("has no \"event_wait\""));
}

TEST(DeviceTables, NeedTheirTag) {
  byoc_device_table devices = whole_devices();
  devices.h.tag = BYOC_TAG_PLUGIN;
  const byoc_plugin table = plugin_with(&devices);
  EXPECT_THAT(register_plugin(&table).message(), testing::HasSubstr("no byoc_device_table"));
}

TEST(DeviceTables, RefuseHostsThatDoNotHaveThem) {
  const byoc_device_table devices = whole_devices();
  byoc_plugin table = plugin_with(&devices);
  table.min_host_minor = 9;
  EXPECT_THAT(register_plugin(&table).message(),
              testing::HasSubstr("has devices, and works with hosts of minor 9"));
  table.min_host_minor = BYOC_ABI_MINOR + 1;
  const Status later = register_plugin(&table);
  EXPECT_THAT(later.message(), testing::HasSubstr(cat(BYOC_ABI_MINOR + 1)));
  EXPECT_THAT(later.message(), testing::HasSubstr(cat(BYOC_ABI_MINOR)));
}

TEST(DeviceTables, AreNotReadBeyondATableOfMinor9) {
  const byoc_device_table devices{};  // without a tag
  byoc_plugin table = plugin_with(&devices);
  table.id = {"shorter", 7};
  table.min_host_minor = 0;
  table.h.size = offsetof(byoc_plugin, device);
  EXPECT_TRUE(register_plugin(&table).ok());
}

byoc_kernel_info given;

byoc_status* give_kernel(byoc_module*, byoc_str, byoc_kernel** out) {
  *out = reinterpret_cast<byoc_kernel*>(&given);
  return nullptr;
}
byoc_status* give_info(const byoc_kernel*, byoc_kernel_info* io) {
  const byoc_hdr header = io->h;
  *io = given;
  io->h = header;
  return nullptr;
}

std::string refusal_of(const byoc_kernel_info& info, bool has_devices) {
  const byoc_device_table devices = whole_devices();
  byoc_plugin table = plugin_with(has_devices ? &devices : nullptr);
  table.kernel = give_kernel;
  table.info = give_info;
  given = info;
  return read_kernel(table, "tabled", nullptr, {"f", info.n_in, info.n_out, info.n_consts, false})
      .status()
      .message();
}

TEST(DeviceKernels, AreRefusedWithTheReason) {
  const uint8_t places[] = {BYOC_PLACE_HOST, BYOC_PLACE_HOST}, wrong[] = {0, 7};
  const uint8_t use[] = {BYOC_CONST_DEVICE};
  const byoc_kernel_info good{.n_in = 1, .n_out = 1, .device = {kDLExtDev, 0}};
  EXPECT_EQ(refusal_of(good, true), "");
  EXPECT_THAT(refusal_of(good, false), testing::HasSubstr("no slots for devices"));
  byoc_kernel_info info = good;
  const int later = 1000;  // of a DLPack that has more types
  std::memcpy(&info.device.device_type, &later, sizeof later);
  EXPECT_THAT(refusal_of(info, false), testing::HasSubstr("device type 1000"));
  EXPECT_EQ(refusal_of(info, true), "");
  info = good;
  info.placement = places;
  info.n_placement = 2;
  EXPECT_EQ(refusal_of(info, true), "");
  info.flags = BYOC_KERNEL_ASYNC;
  EXPECT_THAT(refusal_of(info, true), testing::HasSubstr("output 0 on the host"));
  info.placement = wrong;
  EXPECT_THAT(refusal_of(info, true), testing::HasSubstr("places argument 1 at 7"));
  info.n_placement = 1;
  EXPECT_THAT(refusal_of(info, true), testing::HasSubstr("places 1 arguments"));
  info = {.n_in = 1, .n_out = 1, .flags = BYOC_KERNEL_ASYNC};
  EXPECT_THAT(refusal_of(info, true), testing::HasSubstr("flag ASYNC"));
  info = {.n_in = 1, .n_out = 1, .const_use = use, .n_consts = 1};
  EXPECT_THAT(refusal_of(info, true), testing::HasSubstr("runs on the host"));
}

}  // namespace
}  // namespace byoc::test
