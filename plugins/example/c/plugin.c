// SPDX-License-Identifier: Apache-2.0
/* A whole plugin in plain C11, with no library but libc: f32 relu, one op to a region. It reads no
 * graph: the pattern gives op and dtype, and the shapes come with the tensors at run time.
 * `byoc new-plugin NAME --c` makes a copy of it under another name to start from. */
#include <byoc/plugin/manifest.h>
#include <stdlib.h>
#include <string.h>

BYOC_MANIFEST("example_c", "0.1.0");

#define STR(text) \
  { text, sizeof(text) - 1 } /* a string literal as a byoc_str */
#define HEADER(type, tag) \
  { sizeof(type), tag, NULL }

typedef struct { /* byoc_instance */
  const byoc_host* host;
} instance;

typedef struct { /* byoc_kernel */
  const byoc_host* host;
  char* symbol;
} kernel;

typedef struct { /* byoc_module */
  const byoc_host* host;
  kernel* kernels;
  uint64_t n, room;
} module;

/* Errors are objects that the host makes and frees. function: its index in byoc_compile, or -1. */
static byoc_status* fail(const byoc_host* host, uint32_t code, int64_t function,
                         const char* message) {
  byoc_str text = {message, strlen(message)};
  return host->status_new(host->ctx, code, function, -1, __FILE__, __LINE__, text);
}

/* Refuses unknown extensions that must not be ignored; every struct may carry one. */
static byoc_status* check_understood(const byoc_host* host, const byoc_hdr* header) {
  for (const byoc_ext* ext = header->ext; ext; ext = ext->next) {
    if (ext->id & BYOC_EXT_MUST_UNDERSTAND)
      return fail(host, BYOC_UNIMPLEMENTED, -1, "the host requires an unknown extension");
  }
  return NULL;
}

static byoc_status* open_plugin(const byoc_host* host, byoc_str options_json, byoc_instance** out) {
  byoc_status* unknown = check_understood(host, &host->h);
  if (unknown) return unknown;
  if (options_json.n > 2)
    return fail(host, BYOC_INVALID_ARGUMENT, -1, "there are no options"); /* not {} */
  instance* self = calloc(1, sizeof *self);
  if (!self) return fail(host, BYOC_RESOURCE_EXHAUSTED, -1, "out of memory");
  self->host = host;
  *out = (byoc_instance*)self;
  return NULL;
}

static void close_plugin(byoc_instance* self) { free(self); }

/* The ops of this plugin; the host does the matching. Without `judge`, every match is taken.
 */
static byoc_status* patterns(byoc_instance* self, const byoc_pattern* const** out, uint64_t* n) {
  static const byoc_pattern relu = {
      .h = HEADER(byoc_pattern, BYOC_TAG_PATTERN),
      .name = STR("relu"),
      .dag_json = STR("{\"op\":\"relu\",\"dtype\":[\"f32\"]}"),
  };
  static const byoc_pattern* const all[] = {&relu};
  (void)self;
  *out = all;
  *n = 1;
  return NULL;
}

static void release(byoc_module* handle) {
  module* m = (module*)handle;
  for (uint64_t k = 0; k < m->n; ++k) free(m->kernels[k].symbol);
  free(m->kernels);
  free(m);
}

static module* make_module(const byoc_host* host, uint64_t room) {
  module* m = calloc(1, sizeof *m);
  if (!m) return NULL;
  m->host = host;
  m->room = room;
  m->kernels = calloc(room ? room : 1, sizeof *m->kernels);
  if (m->kernels) return m;
  free(m);
  return NULL;
}

static int add_kernel(module* m, const char* symbol, uint64_t length) {
  char* copy = m->n < m->room ? calloc(1, length + 1) : NULL;
  if (!copy) return 0;
  memcpy(copy, symbol, length);
  m->kernels[m->n].host = m->host;
  m->kernels[m->n++].symbol = copy;
  return 1;
}

/* Counts `part` in `text`. Quotes inside JSON strings are escaped, so a key cannot hide
 * in one. */
static int count(byoc_str text, const char* part) {
  int times = 0;
  uint64_t n = strlen(part);
  for (uint64_t k = 0; k + n <= text.n; ++k) times += memcmp(text.p + k, part, n) == 0;
  return times;
}

/* Refuses attributes and requirements: each may change the meaning of the graph. */
static int is_single_relu(byoc_str graph) {
  return count(graph, "\"args\":") == 1 && count(graph, "\"op\":\"relu\"") == 1 &&
         count(graph, "\"attrs\":") == 0 && count(graph, "\"requires\":[]") == 1 &&
         count(graph, "\"dtype\":\"f32\"") == count(graph, "\"dtype\":");
}

static byoc_status* compile(byoc_instance* handle, const byoc_compile* in, byoc_module** out) {
  const byoc_host* host = ((instance*)handle)->host;
  byoc_status* unknown = check_understood(host, &in->h);
  for (uint64_t k = 0; k < in->n_functions && !unknown; ++k)
    unknown = check_understood(host, &in->functions[k]->h);
  if (unknown) return unknown;
  module* m = make_module(host, in->n_functions);
  if (!m) return fail(host, BYOC_RESOURCE_EXHAUSTED, -1, "out of memory");
  for (uint64_t k = 0; k < in->n_functions; ++k) {
    const byoc_function* f = in->functions[k];
    /* max_ops is 1, but a region written by hand may hold more: send that one to another plugin. */
    if (!is_single_relu(f->graph_json)) {
      release((byoc_module*)m);
      return fail(host, BYOC_DECLINED, (int64_t)k, "takes regions of a single relu");
    }
    if (!add_kernel(m, f->symbol.p, f->symbol.n)) {
      release((byoc_module*)m);
      return fail(host, BYOC_RESOURCE_EXHAUSTED, -1, "out of memory");
    }
  }
  *out = (byoc_module*)m;
  return NULL;
}

static const byoc_str saved_form = STR("example_c/1"); /* names the form of what `save` writes */

/* Saves the symbols, each with a null byte, into the artifact. */
static byoc_status* save(const byoc_module* handle, byoc_save* io) {
  const module* m = (const module*)handle;
  byoc_status* unknown = check_understood(m->host, &io->h);
  if (unknown) return unknown;
  io->compat = saved_form;
  for (uint64_t k = 0; k < m->n; ++k) {
    const char* symbol = m->kernels[k].symbol;
    byoc_status* status = io->blob->write(io->blob->u, symbol, strlen(symbol) + 1);
    if (status) return status;
  }
  return NULL;
}

static byoc_status* load(byoc_instance* handle, const byoc_load* in, byoc_module** out) {
  const byoc_host* host = ((instance*)handle)->host;
  byoc_status* unknown = check_understood(host, &in->h);
  if (unknown) return unknown;
  const char *at = in->blob.p, *end = at + in->blob.n;
  if (in->blob.n && end[-1] != 0)
    return fail(host, BYOC_DATA_LOSS, -1, "the saved symbols are cut short");
  uint64_t n = 0;
  for (uint64_t k = 0; k < in->blob.n; ++k) n += at[k] == 0;
  module* m = make_module(host, n);
  if (!m) return fail(host, BYOC_RESOURCE_EXHAUSTED, -1, "out of memory");
  for (; at < end; at += strlen(at) + 1) {
    if (add_kernel(m, at, strlen(at))) continue;
    release((byoc_module*)m);
    return fail(host, BYOC_RESOURCE_EXHAUSTED, -1, "out of memory");
  }
  *out = (byoc_module*)m;
  return NULL;
}

static byoc_status* find_kernel(byoc_module* handle, byoc_str symbol, byoc_kernel** out) {
  module* m = (module*)handle;
  for (uint64_t k = 0; k < m->n; ++k) {
    const char* name = m->kernels[k].symbol;
    if (strlen(name) != symbol.n || memcmp(name, symbol.p, symbol.n) != 0) continue;
    *out = (byoc_kernel*)&m->kernels[k];
    return NULL;
  }
  return fail(m->host, BYOC_NOT_FOUND, -1, "no such function in this module");
}

static byoc_status* info(const byoc_kernel* handle, byoc_kernel_info* io) {
  static const uint32_t in_place[] = {0, 0}; /* output 0 may be the memory of input 0 */
  byoc_str implementation = STR("plain loop");
  byoc_str any_types = STR("*"); /* run reads the sizes from the views of each call */
  byoc_status* unknown = check_understood(((const kernel*)handle)->host, &io->h);
  if (unknown) return unknown;
  io->n_in = io->n_out = 1;
  io->inplace_pairs = in_place;
  io->n_inplace = 1;
  io->device.device_type = kDLCPU;
  io->implementation = implementation;
  if (io->h.size >= offsetof(byoc_kernel_info, signature) + sizeof io->signature)
    io->signature = any_types; /* an older host has no such field */
  return NULL;
}

typedef struct {
  const float* x;
  float* y;
} span;

static int32_t relu(void* u, uint64_t lo, uint64_t hi, uint32_t worker) {
  const span* s = u;
  (void)worker;
  for (uint64_t k = lo; k < hi; ++k) s->y[k] = s->x[k] < 0 ? 0 : s->x[k];
  return 0;
}

/* Returns the number of f32 elements, or -1 for another dtype. */
static int64_t elements(const DLTensor* t) {
  int64_t n = 1;
  if (t->dtype.code != kDLFloat || t->dtype.bits != 32) return -1;
  for (int32_t k = 0; k < t->ndim; ++k) n *= t->shape[k];
  return n;
}

/* Any number of threads may call it at once: it keeps no state in the kernel and does not allocate.
 */
static byoc_status* run(byoc_kernel* handle, const byoc_call* call) {
  const byoc_host* host = ((kernel*)handle)->host;
  const DLTensor *x = call->args[0], *y = call->args[1];
  byoc_status* unknown = check_understood(host, &call->h);
  if (unknown) return unknown;
  if (x->strides || y->strides) /* given only where the elements do not lie one after another */
    return fail(host, BYOC_INVALID_ARGUMENT, -1, "takes compact row-major tensors");
  int64_t n = elements(x);
  if (n < 0 || elements(y) != n) /* `info` promises that any views are safe */
    return fail(host, BYOC_INVALID_ARGUMENT, -1, "takes f32 tensors of one size");
  span s = {(const float*)((const char*)x->data + x->byte_offset),
            (float*)((char*)y->data + y->byte_offset)};
  if (host->parallel_for(host->ctx, (uint64_t)n, 16384, relu, &s) == 0) return NULL;
  return fail(host, BYOC_INTERNAL, -1, "the loop stopped early");
}

static byoc_status* compat(byoc_instance* self, byoc_str text, uint32_t* level) {
  (void)self;
  int is_same = text.n == saved_form.n && memcmp(text.p, saved_form.p, text.n) == 0;
  *level = is_same ? 3 : 1;
  return NULL;
}

static const byoc_plugin table = {
    .h = HEADER(byoc_plugin, BYOC_TAG_PLUGIN),
    .abi_major = BYOC_ABI_MAJOR,
    .abi_minor = BYOC_ABI_MINOR,
    .priority = 1,
    .max_ops = 1,
    .id = STR("example_c"),
    .version = STR("0.1.0"),
    .open = open_plugin,
    .close = close_plugin,
    .patterns = patterns,
    .compile = compile,
    .load = load,
    .save = save,
    .kernel = find_kernel,
    .info = info,
    .run = run,
    .compat = compat,
    .release = release,
};

byoc_status* byoc_plugin_entry_v1(const byoc_host* host, const byoc_plugin** out) {
  *out = &table;
  return check_understood(host, &host->h);
}
