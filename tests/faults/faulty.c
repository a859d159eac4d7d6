// SPDX-License-Identifier: Apache-2.0
/* Broken plugins, one per way to be broken. Faults before `open` are chosen when this is
 * compiled (-DFAULT=...), later ones by the option "fault". Without a fault it is a working
 * plugin for f32 relu, which adds the first element of its first constant, if any, to results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/plugin/manifest.h"

enum {
  NONE,
  WRONG_MAJOR,
  NEEDS_MINOR,
  WRONG_ARCH,
  NO_NOTE,
  BAD_NOTE,
  NO_ENTRY,
  UNRESOLVED,
  MISSING_LIBRARY,
  NULL_TABLE,
  WRONG_TAG,
  SMALL_TABLE,
  NO_RUN,
  WRONG_ID,
  WRONG_VERSION,
  MUST_UNDERSTAND,
  ENTRY_FAILS,
  TABLE_MAJOR,
  LOOSE_NOTE,
  NO_SHOW,
  MINOR_0
};

#define NOTE(major, minor, arch)                                               \
  BYOC_MANIFEST_NOTE(                                                          \
      "{\"schema\":\"byoc.plugin/"                                             \
      "1\",\"id\":\"faulty\",\"version\":\"1.0.0\",\"abi\":{\"major\":" #major \
      ",\"min_host_minor\":" #minor "},\"arch\":\"" arch "\"}")
#if FAULT_IS_WRONG_MAJOR
NOTE(2, 0, BYOC_MANIFEST_ARCH);
#elif FAULT_IS_NEEDS_MINOR
NOTE(1, 11, BYOC_MANIFEST_ARCH);
#elif FAULT_IS_WRONG_ARCH
NOTE(1, 0, "m68k");
#elif FAULT_IS_BAD_NOTE
BYOC_MANIFEST_NOTE("{\"schema\":\"byoc.plugin/1\",\"id\":");
#elif FAULT_IS_LOOSE_NOTE
__asm__(".pushsection .note.byoc,\"\",@progbits\n.long 1\n.popsection\n");
#elif !FAULT_IS_NO_NOTE
BYOC_MANIFEST("faulty", "1.0.0");
#endif

#if FAULT_IS_UNRESOLVED
void symbol_that_nobody_defines(void);
#endif
#if FAULT_IS_MISSING_LIBRARY
void function_of_gone(void);
#endif

/* Sets a variable, so that a test can detect that code of this file has run. */
__attribute__((constructor)) static void trace(void) { setenv("BYOC_TEST_FAULTY_RAN", "1", 1); }

#define STR(text) ((byoc_str){text, sizeof(text) - 1})

typedef struct {
  const byoc_host* host;
  char fault[32];
} instance;
typedef struct {            /* a function in the blob, as a line of text */
  char symbol[64], key[33]; /* the first constant's key, in hex */
  unsigned n_consts;
} record;
typedef struct {
  const instance* owner;
  record saved;
  byoc_held constant;
  uint8_t use[8];
} function;
typedef struct {
  const instance* owner;
  uint64_t n;
  function* functions;
} module;

static int is(const instance* self, const char* fault) { return strcmp(self->fault, fault) == 0; }

/* The kernels give two rows; or another number, by the fault. */
static int counts(const instance* self) { return strncmp(self->fault, "count-", 6) == 0; }

static byoc_status* fail(const instance* self, uint32_t code, int64_t at, byoc_str message) {
  return self->host->status_new(self->host->ctx, code, at, -1, __FILE__, __LINE__, message);
}

static byoc_status* plugin_open(const byoc_host* host, byoc_str options, byoc_instance** out) {
  static const char kKey[] = "{\"fault\":\"";
  instance* self = calloc(1, sizeof *self);
  self->host = host;
  if (options.n > sizeof kKey && memcmp(options.p, kKey, sizeof kKey - 1) == 0) {
    const char* value = options.p + sizeof kKey - 1;
    const char* end = memchr(value, '"', options.n - (sizeof kKey - 1));
    if (end && end - value < (long)sizeof self->fault)
      memcpy(self->fault, value, (size_t)(end - value));
  }
  if (is(self, "open")) {
    free(self);
    byoc_str why = STR("no licence");
    return host->status_new(host->ctx, BYOC_PERMISSION_DENIED, -1, -1, NULL, 0, why);
  }
  if (is(self, "open-null")) {
    free(self);
    self = NULL;
  }
  *out = (byoc_instance*)self;
  return NULL;
}

static void plugin_close(byoc_instance* self) { free(self); }

static byoc_status* plugin_patterns(byoc_instance* self, const byoc_pattern* const** out,
                                    uint64_t* n) {
  static const char kRelu[] = "{\"op\":\"relu\",\"dtype\":[\"f32\"]}";
  static const byoc_pattern relu = {
      {sizeof relu, BYOC_TAG_PATTERN, NULL}, {"relu", 4}, {kRelu, sizeof kRelu - 1}, 3, 0, 0, 0, 0};
  static const byoc_pattern garbage = {
      {sizeof garbage, 42, NULL}, {NULL, 0}, {NULL, 0}, 0, 0, 0, 0, 0};
  static const byoc_pattern* const good[] = {&relu};
  static const byoc_pattern* const bad[] = {&relu, &garbage};
  int broken = is((instance*)self, "patterns");
  *out = broken ? bad : good;
  *n = broken ? 2 : 1;
  return NULL;
}

static byoc_status* plugin_judge(byoc_instance* self, uint32_t pattern, byoc_str json,
                                 byoc_verdict* io) {
  const instance* me = (instance*)self;
  (void)pattern, (void)json;
  io->accept = is(me, "judge-refuse") || is(me, "judge-mute") ? 0 : is(me, "judge-answer") ? 9 : 1;
  if (is(me, "judge-refuse")) io->reason = STR("only on Sundays");
  if (is(me, "judge-fail")) return fail(me, BYOC_INTERNAL, -1, STR("the judge is ill"));
  return NULL;
}

static void hex(const byoc_const* constant, char* out) {
  for (int k = 0; k < 16; ++k) sprintf(out + 2 * k, "%02x", constant->key[k]);
}

/* first: the function's first constant, or NULL. */
static byoc_status* add(module* m, const record* saved, const byoc_const* first) {
  function* f = &m->functions[m->n++];
  f->owner = m->owner;
  f->saved = *saved;
  if (!first) return NULL;
  f->use[0] = BYOC_CONST_KEPT;
  return m->owner->host->const_keep(first->ref, &f->constant);
}

static void plugin_release(byoc_module* handle) {
  module* m = (module*)handle;
  for (uint64_t k = 0; k < m->n; ++k) {
    if (m->functions[k].constant.release)
      m->functions[k].constant.release(m->functions[k].constant.ctx);
  }
  free(m->functions);
  free(m);
}

static byoc_status* plugin_compile(byoc_instance* self, const byoc_compile* in, byoc_module** out) {
  instance* me = (instance*)self;
  if (is(me, "compile")) return fail(me, BYOC_UNAVAILABLE, 0, STR("the chip is on fire"));
  if (is(me, "decline"))
    return fail(me, BYOC_DECLINED, (int64_t)in->n_functions - 1, STR("not today"));
  if (is(me, "decline-nobody")) return fail(me, BYOC_DECLINED, -1, STR("not today"));
  if (is(me, "unknown-code")) return fail(me, 4711, -1, STR("what is this"));
  if (is(me, "compile-null")) return NULL;
  module* m = calloc(1, sizeof *m);
  m->owner = me;
  m->functions = calloc(in->n_functions + 1, sizeof *m->functions);
  for (uint64_t k = 0; k < in->n_functions; ++k) {
    const byoc_function* f = in->functions[k];
    const byoc_const* first = f->n_consts ? f->consts[0] : NULL;
    record saved = {{0}, "-", (unsigned)f->n_consts};
    memcpy(saved.symbol, f->symbol.p, f->symbol.n < 63 ? f->symbol.n : 63);
    if (first) hex(first, saved.key);
    byoc_status* status = add(m, &saved, first);
    if (status) return plugin_release((byoc_module*)m), status;
  }
  *out = (byoc_module*)m;
  return NULL;
}

/* "symbol", which has all constants of the module, or "symbol n_consts key". */
static byoc_status* add_line(module* m, const char* line, size_t length, const byoc_load* in) {
  char text[160] = {0}, key[33];
  record saved = {{0}, "-", (unsigned)in->n_consts};
  const byoc_const* first = in->n_consts ? in->consts[0] : NULL;
  memcpy(text, line, length < sizeof text ? length : sizeof text - 1);
  if (sscanf(text, "%63s %u %32s", saved.symbol, &saved.n_consts, saved.key) == 3) {
    first = NULL;
    for (uint64_t c = 0; c < in->n_consts; ++c) {
      hex(in->consts[c], key);
      if (strcmp(key, saved.key) == 0) first = in->consts[c];
    }
  }
  return add(m, &saved, first);
}

static byoc_status* plugin_load(byoc_instance* self, const byoc_load* in, byoc_module** out) {
  instance* me = (instance*)self;
  if (is(me, "load")) return fail(me, BYOC_DATA_LOSS, -1, STR("the blob has a moth in it"));
  module* m = calloc(1, sizeof *m);
  m->owner = me;
  m->functions = calloc(in->blob.n + 1, sizeof *m->functions);
  const char *at = in->blob.p, *end = at + in->blob.n;
  for (const char* stop; at < end && (stop = memchr(at, '\n', (size_t)(end - at))); at = stop + 1) {
    byoc_status* status = add_line(m, at, (size_t)(stop - at), in);
    if (status) return plugin_release((byoc_module*)m), status;
  }
  *out = (byoc_module*)m;
  return NULL;
}

static byoc_status* plugin_save(const byoc_module* handle, byoc_save* io) {
  const module* m = (const module*)handle;
  if (is(m->owner, "save")) return fail(m->owner, BYOC_RESOURCE_EXHAUSTED, -1, STR("no paper"));
  io->compat = STR("faulty/1");
  if (is(m->owner, "packed")) return io->packed(io->u, 99, (byoc_bytes){"x", 1}, 64);
  if (is(m->owner, "packed-align")) return io->packed(io->u, 0, (byoc_bytes){"x", 1}, 48);
  if (is(m->owner, "pack")) {
    byoc_status* status = io->packed(io->u, 0, (byoc_bytes){"layout", 6}, 32);
    if (status) return status;
  }
  for (uint64_t k = 0; k < m->n; ++k) {
    const record* saved = &m->functions[k].saved;
    char line[160];
    int n = sprintf(line, "%s %u %s\n", saved->symbol, saved->n_consts, saved->key);
    byoc_status* status = io->blob->write(io->blob->u, line, (uint64_t)n);
    if (status) return status;
  }
  return NULL;
}

static byoc_status* plugin_kernel(byoc_module* handle, byoc_str symbol, byoc_kernel** out) {
  module* m = (module*)handle;
  if (is(m->owner, "kernel-null")) return NULL;
  for (uint64_t k = 0; k < m->n; ++k) {
    function* f = &m->functions[k];
    if (strlen(f->saved.symbol) != symbol.n || memcmp(f->saved.symbol, symbol.p, symbol.n) != 0)
      continue;
    *out = (byoc_kernel*)f;
    return NULL;
  }
  return fail(m->owner, BYOC_NOT_FOUND, -1, STR("no such function"));
}

static byoc_status* plugin_info(const byoc_kernel* kernel, byoc_kernel_info* io) {
  static const uint32_t far_pair[] = {0, 5};
  static const uint32_t same_pair[] = {0, 0};
  static const uint8_t bad_use[] = {7, 7, 7, 7, 7, 7, 7, 7};
  const function* f = (const function*)kernel;
  const instance* me = f->owner;
  io->n_in = is(me, "counts") ? 3 : 1;
  io->n_out = 1;
  io->workspace_align = is(me, "align") ? 48 : 64;
  io->workspace_bytes = is(me, "workspace") ? UINT64_MAX : 128;
  io->inplace_pairs = is(me, "inplace") ? far_pair : same_pair;
  io->n_inplace = is(me, "no-inplace") ? 0 : 1;
  io->const_use = is(me, "const-use") ? bad_use : f->use;
  io->n_consts = is(me, "const-count") ? 5 : f->saved.n_consts;
  io->flags = is(me, "out-shapes") || counts(me) ? BYOC_KERNEL_OUT_SHAPES
              : is(me, "serial")                 ? BYOC_KERNEL_SERIAL
                                                 : 0;
  io->device.device_type = is(me, "device") ? kDLCUDA : kDLCPU;
  io->implementation = STR("a loop");
  if (is(me, "any-types")) io->signature = STR("*");
  if (is(me, "other-types")) io->signature = STR("f32[3] -> f32[3]");
  return NULL;
}

/* Two stretches of the run, in the order load, store; or others, by the fault. */
static void tell_spans(const instance* me, const byoc_call* call) {
  static const byoc_str details[] = {STR("implementation"), STR("a loop"),     STR("src"),
                                     STR("abcd"),           STR("is_reorder"), STR("1")};
  const byoc_host* host = me->host;
  uint64_t now = host->now_ns(host->ctx);
  if (is(me, "spans-backwards"))
    host->span(host->ctx, call->call_id, 0, STR("load"), now, now - 1, NULL, 0);
  if (is(me, "spans-stray"))
    host->span(host->ctx, ~call->call_id, 0, STR("load"), now, now, NULL, 0);
  if (is(me, "spans-broken"))
    host->span(host->ctx, call->call_id, 0, (byoc_str){NULL, 7}, now, now, NULL, 0);
  if (is(me, "spans-broken"))
    host->span(host->ctx, call->call_id, 0, STR("load"), now, now, details, 5);
  if (strncmp(me->fault, "spans-", 6) == 0) return;
  host->span(host->ctx, call->call_id, 0, STR("load"), now, now + 10, details, 6);
  host->span(host->ctx, call->call_id, -1, STR("store"), now + 10, now + 30, NULL, 0);
}

static byoc_status* plugin_run(byoc_kernel* kernel, const byoc_call* call) {
  const function* f = (const function*)kernel;
  if (is(f->owner, "run")) return fail(f->owner, BYOC_INTERNAL, -1, STR("the kernel panicked"));
  static volatile uint64_t runs;
  if (is(f->owner, "race")) ++runs; /* shared by all callers, without a lock */
  const DLTensor* x = call->args[0];
  const float* from = (const float*)((const char*)x->data + x->byte_offset);
  float* to = (float*)((char*)call->args[1]->data + call->args[1]->byte_offset);
  if (is(f->owner, "run-negative") && from[0] < 0)
    return fail(f->owner, BYOC_INTERNAL, -1, STR("the kernel panicked"));
  float plus = f->constant.view ? *(const float*)f->constant.view->data : 0;
  uint64_t n = 1;
  for (int k = 0; k < x->ndim; ++k) n *= (uint64_t)x->shape[k];
  for (uint64_t k = 0; k < n; ++k) to[k] = (from[k] > 0 ? from[k] : 0) + plus;
  if (counts(f->owner) && !is(f->owner, "count-none"))
    *call->out_shapes[0] = is(f->owner, "count-five") ? 5 : is(f->owner, "count-minus") ? -1 : 2;
  if (call->flags & BYOC_CALL_SPANS) tell_spans(f->owner, call);
  return NULL;
}

static byoc_status* plugin_compat(byoc_instance* self, byoc_str text, uint32_t* level) {
  *level = is((instance*)self, "compat")                       ? 9
           : is((instance*)self, "compat-better")              ? 2
           : is((instance*)self, "compat-unknown")             ? 0
           : text.n == 8 && memcmp(text.p, "faulty/1", 8) == 0 ? 3
                                                               : 1;
  return NULL;
}

/* A convolution in blocks and two widths of panels; or garbage, by the fault. */
static byoc_status* plugin_layouts(byoc_instance* self, byoc_str target,
                                   const byoc_layout* const** out, uint64_t* n) {
  const instance* me = (instance*)self;
  static const byoc_hdr h = {sizeof(byoc_layout), BYOC_TAG_LAYOUT, NULL};
  static byoc_layout conv2d, spoilt, last;
  static const byoc_layout* pointers[3];
  conv2d = (byoc_layout){h, STR("conv2d"), 8};
  spoilt = (byoc_layout){h, STR("matmul"), 32};
  last = (byoc_layout){h, STR("matmul"), 16};
  memcpy(pointers, (const byoc_layout*[]){&conv2d, &spoilt, &last}, sizeof pointers);
  if (is(me, "layouts-fail")) return fail(me, BYOC_UNAVAILABLE, -1, target);
  if (is(me, "layouts-tag")) spoilt.h.tag = BYOC_TAG_SINK;
  if (is(me, "layouts-short")) spoilt.h.size = 8;
  if (is(me, "layouts-row")) pointers[1] = NULL;
  if (is(me, "layouts-op")) spoilt.op.p = NULL;
  if (is(me, "layouts-zero")) spoilt.block = 0;
  if (is(me, "layouts-odd")) spoilt.block = 24;
  if (is(me, "layouts-wide")) spoilt.block = 128;
  *out = is(me, "layouts-null") ? NULL : pointers;
  *n = strncmp(me->fault, "layouts", 7) == 0 ? 3 : 0;
  return NULL;
}

static byoc_status* plugin_show(byoc_instance* self, const byoc_compile* in, byoc_str form,
                                const byoc_sink* out) {
  const instance* me = (instance*)self;
  if (form.n != 3 || memcmp(form.p, "asm", 3) != 0)
    return fail(me, BYOC_UNIMPLEMENTED, -1, STR("has no such code"));
  byoc_str symbol = in->functions[0]->symbol;
  byoc_status* status = out->write(out->u, "code of ", 8);
  return status ? status : out->write(out->u, symbol.p, symbol.n);
}

static const byoc_ext kExt = {sizeof kExt, BYOC_EXT_MUST_UNDERSTAND | 5, NULL};
static const byoc_plugin kTable = {
    .h = {FAULT == SMALL_TABLE ? 64
          : FAULT == MINOR_0   ? offsetof(byoc_plugin, layouts)
                               : sizeof kTable,
          FAULT == WRONG_TAG ? 7 : BYOC_TAG_PLUGIN, FAULT == MUST_UNDERSTAND ? &kExt : NULL},
    .abi_major = FAULT == TABLE_MAJOR ? 2 : 1,
    .flags = FAULT == NO_SHOW ? 0 : BYOC_PLUGIN_COUNTED,
    .id = {FAULT == WRONG_ID ? "mask" : "faulty", FAULT == WRONG_ID ? 4 : 6},
    .version = {FAULT == WRONG_VERSION ? "9.9.9" : "1.0.0", 5},
    .open = plugin_open,
    .close = plugin_close,
    .patterns = plugin_patterns,
    .judge = plugin_judge,
    .compile = plugin_compile,
    .load = plugin_load,
    .save = plugin_save,
    .kernel = plugin_kernel,
    .info = plugin_info,
    .run = FAULT == NO_RUN ? NULL : plugin_run,
    .compat = plugin_compat,
    .release = plugin_release,
    .layouts = plugin_layouts,
    .show = FAULT == NO_SHOW ? NULL : plugin_show,
};

#if FAULT_IS_NO_ENTRY
byoc_status* some_other_entry(const byoc_host* host, const byoc_plugin** out);
byoc_status* some_other_entry(const byoc_host* host, const byoc_plugin** out) {
#else
byoc_status* byoc_plugin_entry_v1(const byoc_host* host, const byoc_plugin** out) {
#endif
#if FAULT_IS_UNRESOLVED
  symbol_that_nobody_defines();
#endif
#if FAULT_IS_MISSING_LIBRARY
  function_of_gone();
#endif
  byoc_str why = STR("this machine has no such chip");
  if (FAULT == ENTRY_FAILS)
    return host->status_new(host->ctx, BYOC_UNAVAILABLE, -1, -1, NULL, 0, why);
  *out = FAULT == NULL_TABLE ? NULL : &kTable;
  return NULL;
}
