// SPDX-License-Identifier: Apache-2.0
/* The example plugin with a device: memory of its own kind that ends all work within the call. */
#include "plugin.c"

/* The host has no address of this memory without the bit; kernels and copies take it off. */
#define HIDDEN ((uintptr_t)1 << 62)
static void* shown(const void* p) { return (void*)((uintptr_t)p & ~HIDDEN); }

static byoc_status* devices(byoc_instance* self, const byoc_device* const** out, uint64_t* n) {
  static const byoc_device row = {.h = HEADER(byoc_device, BYOC_TAG_DEVICE),
                                  .device = {kDLExtDev, 0},
                                  .name = STR("frozen device"),
                                  .kinds = BYOC_MEMORY_DEVICE,
                                  .align = 256};
  static const byoc_device* const all[] = {&row};
  (void)self;
  *out = all;
  *n = 1;
  return NULL;
}
static byoc_status* dev_alloc(byoc_instance* self, DLDevice device, uint32_t kind, uint64_t n,
                              uint64_t align, void** out) {
  (void)device, (void)kind;
  void* memory = aligned_alloc(align, (n + align - 1) / align * align);
  if (!memory) return fail(((instance*)self)->host, BYOC_RESOURCE_EXHAUSTED, -1, "out of memory");
  *out = (void*)((uintptr_t)memory | HIDDEN);
  return NULL;
}
static void dev_free(byoc_instance* self, DLDevice device, void* memory) {
  (void)self, (void)device;
  free(shown(memory));
}
static byoc_status* copy(byoc_instance* self, const byoc_copy* in) {
  (void)self;
  memcpy(shown(in->dst), shown(in->src), in->bytes);
  return NULL;
}
static byoc_status* stream_new(byoc_instance* self, DLDevice device, byoc_stream** out) {
  (void)device;
  *out = (byoc_stream*)self;
  return NULL;
}
static void stream_free(byoc_stream* stream) { (void)stream; }
static byoc_status* event_new(byoc_instance* self, DLDevice device, byoc_event** out) {
  (void)device;
  *out = (byoc_event*)self;
  return NULL;
}
static void event_free(byoc_event* event) { (void)event; }
static byoc_status* event_record(byoc_event* event, byoc_stream* stream) {
  (void)event, (void)stream;
  return NULL;
}
static byoc_status* event_sync(byoc_event* event, uint64_t timeout_ns) {
  (void)event, (void)timeout_ns;
  return NULL;
}
static const byoc_device_table device_table = {
    .h = HEADER(byoc_device_table, BYOC_TAG_DEVICE_TABLE),
    .devices = devices,
    .dev_alloc = dev_alloc,
    .dev_free = dev_free,
    .copy = copy,
    .stream_new = stream_new,
    .stream_free = stream_free,
    .event_new = event_new,
    .event_free = event_free,
    .event_record = event_record,
    .event_wait = event_record,
    .event_sync = event_sync,
};

static byoc_status* info_there(const byoc_kernel* handle, byoc_kernel_info* io) {
  byoc_status* status = info(handle, io);
  if (status) return status;
  io->device.device_type = kDLExtDev;
  io->inplace_pairs = NULL;
  io->n_inplace = 0;
  return NULL;
}
static byoc_status* run_there(byoc_kernel* handle, const byoc_call* call) {
  DLTensor views[2] = {*call->args[0], *call->args[1]};
  const DLTensor* args[2] = {&views[0], &views[1]};
  byoc_call here = *call;
  views[0].data = shown(views[0].data);
  views[1].data = shown(views[1].data);
  here.args = args;
  return run(handle, &here);
}

static byoc_plugin with_device;

byoc_status* byoc_plugin_entry_v1(const byoc_host* host, const byoc_plugin** out) {
  with_device = table;
  with_device.min_host_minor = 10;
  with_device.device = &device_table;
  with_device.info = info_there;
  with_device.run = run_there;
  *out = &with_device;
  return check_understood(host, &host->h);
}
