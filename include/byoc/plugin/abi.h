// SPDX-License-Identifier: Apache-2.0
#ifndef BYOC_PLUGIN_ABI_H
#define BYOC_PLUGIN_ABI_H
/* The byoc plugin ABI, major 1: plain C, one exported symbol, versioned append-only structs.
 *
 * Every struct but byoc_str, byoc_bytes and byoc_held begins with byoc_hdr {size, tag, ext}. Fields
 * come in 8-byte units, there is no tail padding, new fields are appended, zero means absent. A
 * reader tests a field with BYOC_HAS before it uses it, never by version alone. Strings are
 * (pointer, length) UTF-8 and not terminated. Status objects, constants and packed blobs are made
 * and freed by the host; instances and modules are freed through the table that made them; all else
 * is borrowed for the call. No exception, C++ type or malloc'd pointer crosses. No host symbol is
 * imported: all services come in byoc_host.
 *
 * "reserved" marks a slot, a field or a flag that has no effect yet: the host passes 0 or NULL in
 * it, and reads nothing from it. */
#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define BYOC_STATIC_ASSERT static_assert
#define BYOC_NOEXCEPT noexcept
#else
#define BYOC_STATIC_ASSERT _Static_assert
#define BYOC_NOEXCEPT
#endif

#define BYOC_ABI_MAJOR 1
/* 1: the slots `layouts` and `show`. 2: byoc_native_call.failure, `signature` of kernels and native
 * functions, the flag NO_NATIVE. */
#define BYOC_ABI_MINOR 2
#define BYOC_ENTRY_SYMBOL "byoc_plugin_entry_v1"
#define BYOC_NATIVE_ENTRY_SYMBOL "byoc_native_entry_v1"

typedef struct byoc_ext {
  uint32_t size, id;
  const struct byoc_ext* next;
} byoc_ext;
#define BYOC_EXT_MUST_UNDERSTAND 0x80000000u /* bit 31 of id: refuse the struct if unknown */
typedef struct byoc_hdr {
  uint32_t size, tag;
  const byoc_ext* ext;
} byoc_hdr;
typedef struct byoc_str {
  const char* p;
  uint64_t n;
} byoc_str;
typedef struct byoc_bytes {
  const void* p;
  uint64_t n;
} byoc_bytes;

/* True when the struct is long enough to hold f and f is not null or zero (f: a pointer or number).
 */
#define BYOC_HAS(s, f) ((s)->h.size >= offsetof(__typeof__(*(s)), f) + sizeof((s)->f) && (s)->f)

enum byoc_tag { /* byoc_hdr.tag: catches garbage */
                BYOC_TAG_HOST = 0x62790001,
                BYOC_TAG_CONST,
                BYOC_TAG_PATTERN,
                BYOC_TAG_VERDICT,
                BYOC_TAG_FUNCTION,
                BYOC_TAG_COMPILE,
                BYOC_TAG_LOAD,
                BYOC_TAG_KERNEL_INFO,
                BYOC_TAG_CALL,
                BYOC_TAG_SINK,
                BYOC_TAG_SAVE,
                BYOC_TAG_PLUGIN,
                BYOC_TAG_NATIVE_CALL,
                BYOC_TAG_NATIVE_FN,
                BYOC_TAG_NATIVE_TABLE,
                BYOC_TAG_LAYOUT,
                BYOC_TAG_NATIVE_FAILURE
};

enum byoc_code { /* the 16 canonical codes, then ours */
                 BYOC_OK = 0,
                 BYOC_CANCELLED = 1,
                 BYOC_UNKNOWN = 2,
                 BYOC_INVALID_ARGUMENT = 3,
                 BYOC_DEADLINE_EXCEEDED = 4,
                 BYOC_NOT_FOUND = 5,
                 BYOC_ALREADY_EXISTS = 6,
                 BYOC_PERMISSION_DENIED = 7,
                 BYOC_RESOURCE_EXHAUSTED = 8,
                 BYOC_FAILED_PRECONDITION = 9,
                 BYOC_ABORTED = 10,
                 BYOC_OUT_OF_RANGE = 11,
                 BYOC_UNIMPLEMENTED = 12,
                 BYOC_INTERNAL = 13,
                 BYOC_UNAVAILABLE = 14,
                 BYOC_DATA_LOSS = 15,
                 BYOC_UNAUTHENTICATED = 16,
                 /* compile: the function given by index goes to the next plugin of the list that takes
                  * it, and to the default codegen where none does */
                 BYOC_DECLINED = 17,
                 BYOC_STALE_ARTIFACT = 18,
                 BYOC_BAD_GRAPH = 19
};

typedef struct byoc_status byoc_status; /* NULL = ok; made by byoc_host.status_new */
typedef struct byoc_host_ctx byoc_host_ctx;
typedef struct byoc_cancel byoc_cancel;
typedef struct byoc_const_ref byoc_const_ref;
typedef struct byoc_instance byoc_instance;
typedef struct byoc_module byoc_module;
typedef struct byoc_kernel byoc_kernel;

/* A read-only tensor kept alive until release(ctx). */
typedef struct byoc_held {
  const DLTensor* view;
  void* ctx;
  void (*release)(void*);
} byoc_held;
typedef byoc_status* (*byoc_fill_fn)(void* u, void* dst, uint64_t n);
typedef int32_t (*byoc_range_fn)(void* u, uint64_t lo, uint64_t hi, uint32_t worker);

/* Host to plugin; valid for the process; every function is thread-safe. */
typedef struct byoc_host {
  byoc_hdr h;
  uint32_t abi_major, abi_minor;
  byoc_host_ctx* ctx;
  byoc_str version;
  /* function, node: indices, -1 = none. Never NULL: out of memory gives a preallocated status. */
  byoc_status* (*status_new)(byoc_host_ctx*, uint32_t code, int64_t function, int64_t node,
                             const char* file, uint32_t line, byoc_str msg);
  void (*status_free)(byoc_status*);
  void (*log)(byoc_host_ctx*, uint32_t level, byoc_str who, byoc_str msg); /* 0 error .. 4 trace */
  void* (*alloc)(byoc_host_ctx*, uint64_t n, uint64_t align);              /* NULL: out of memory */
  void (*free)(byoc_host_ctx*, void*);
  uint32_t (*max_workers)(byoc_host_ctx*); /* worker ids are smaller */
  /* Runs fn over blocks of [0, n) of about `grain`; the caller joins in; nested runs go inline; a
   * nonzero return stops the rest and is returned. */
  int32_t (*parallel_for)(byoc_host_ctx*, uint64_t n, uint64_t grain, byoc_range_fn fn, void* u);
  /* Nonzero once the user has interrupted the work that the byoc_cancel came with: the plugin
   * returns CANCELLED soon. NULL is allowed in both, and is never cancelled. */
  uint32_t (*cancelled)(const byoc_cancel*);
  /* Shows how far that work is, 0 to 1000, and a word on what is done; from any thread. */
  void (*progress)(const byoc_cancel*, uint32_t permille, byoc_str what);
  uint64_t (*now_ns)(byoc_host_ctx*);
  /* A stretch of the call `call_id`, from t0 to t1 as now_ns counts: its node in the graph JSON
   * (-1: none), a name, n strings, keys and values in turn. Kept only while the call has SPANS.
   * Those told by one thread nest or are apart. */
  void (*span)(byoc_host_ctx*, uint64_t call_id, int64_t node, byoc_str name, uint64_t t0,
               uint64_t t1, const byoc_str* kv, uint64_t n);
  byoc_status* (*const_keep)(byoc_const_ref*, byoc_held* out); /* zero-copy hold */
  /* Filled once per key and shared by all instances; key = layout id + constant key. */
  byoc_status* (*packed_get)(byoc_host_ctx*, byoc_bytes key, uint64_t n, uint64_t align,
                             byoc_fill_fn, void*, byoc_held* out);
} byoc_host;

typedef struct byoc_const {
  byoc_hdr h;
  byoc_str name;
  byoc_const_ref* ref;
  const DLTensor* view;
  uint8_t key[16];
  uint64_t flags; /* reserved */
} byoc_const;

#define BYOC_NO_PATTERN 0xffffffffu /* judge: a single op that no pattern names */
typedef struct byoc_pattern {
  byoc_hdr h;
  byoc_str name, dag_json;
  int32_t priority;
  uint32_t flags;          /* reserved */
  uint64_t launch_ns;      /* reserved */
  double gflops, gbytes_s; /* reserved */
} byoc_pattern;

typedef struct byoc_verdict { /* filled by judge; zeroed by the host */
  byoc_hdr h;
  uint32_t accept;                          /* 0 no, 1 yes, 2 yes but slow */
  uint32_t confidence;                      /* reserved */
  uint64_t est_ns, workspace, packed_bytes; /* reserved; check-plugin requires repeatable values */
  /* With 0 and 2: why. With 1, optional: by which implementation, as explain shows it. Static or
   * owned by the instance, valid until the next judge on this thread. */
  byoc_str reason;
} byoc_verdict;

typedef struct byoc_function {
  byoc_hdr h;
  byoc_str symbol, graph_json;
  const byoc_const* const* consts; /* in the order of the graph's "constants" */
  uint64_t n_consts;
} byoc_function;

/* COMPILE_ONLY: the host saves and releases the module and loads nothing of it in this process, as
 * `byoc compile` does. DETERMINISTIC: reserved; compiling is always deterministic. STRICT_FP: no
 * kernel rounds otherwise than the direct sum of the op's definition, as Winograd and lower
 * precision do; the order of terms and fused multiply-add are the plugin's choice. */
enum byoc_compile_flags { BYOC_COMPILE_ONLY = 1, BYOC_DETERMINISTIC = 2, BYOC_STRICT_FP = 4 };
/* NO_NATIVE, of byoc_load alone: the user does not trust the bytes. A plugin whose blob holds
 * machine code refuses it with PERMISSION_DENIED and runs nothing of it. */
enum byoc_load_flags { BYOC_NO_NATIVE = 8 };
typedef struct byoc_compile {
  byoc_hdr h;
  const byoc_function* const* functions;
  uint64_t n_functions;
  byoc_str options_json, target_json;
  uint32_t threads, flags;   /* of a run, at least 1 | byoc_compile_flags */
  const byoc_cancel* cancel; /* NULL: cannot be cancelled; else to be polled every 100 ms or so */
} byoc_compile;

typedef struct byoc_load {
  byoc_hdr h;
  byoc_bytes blob;
  byoc_str compat, options_json;
  const byoc_const* const* consts; /* all its functions', each key once, in order of first use */
  uint64_t n_consts;
  uint32_t threads, flags; /* of a run, at least 1 | STRICT_FP as it was at compile, NO_NATIVE */
  const byoc_cancel* cancel;
} byoc_load;

/* SERIAL: one run at a time. MAY_ALLOC: run may allocate; kept in the artifact, for reports.
 * OWN_THREADS: reserved. OUT_SHAPES: reserved, and refused. */
enum byoc_kernel_flags {
  BYOC_KERNEL_SERIAL = 1,
  BYOC_KERNEL_MAY_ALLOC = 2,
  BYOC_KERNEL_OWN_THREADS = 4,
  BYOC_KERNEL_OUT_SHAPES = 8
};
enum byoc_const_use { BYOC_CONST_UNUSED = 0, BYOC_CONST_COPIED = 1, BYOC_CONST_KEPT = 2 };
typedef struct byoc_kernel_info { /* filled by info; pointers live with the kernel */
  byoc_hdr h;
  uint32_t n_in, n_out;
  uint64_t workspace_bytes, workspace_align, flags;
  const uint32_t* inplace_pairs; /* n_inplace pairs (input, output) */
  uint64_t n_inplace;
  const uint8_t* const_use; /* byoc_const_use, n_consts of them */
  uint64_t n_consts;
  uint64_t resident_bytes; /* reserved */
  DLDevice device;         /* kDLCPU or zeros; any other is refused */
  byoc_str implementation;
  /* since minor 2. The types of byoc_call.args according to the kernel's own graph: inputs, "->",
   * outputs, separated by single spaces, such as "f32[1,8] i64[] -> f32[1,8]"; or "*" when run goes
   * by the views that it gets and refuses those that do not fit together. When a program is loaded,
   * the host compares it with the types of every step that calls the kernel. Absent: nothing is
   * compared, and loading with NO_NATIVE fails. Not needed at compile. */
  byoc_str signature;
} byoc_kernel_info;

/* byoc_call.flags. SPANS: the host wants this call's spans; without it a plugin takes no times. */
enum byoc_call_flags { BYOC_CALL_SPANS = 1 };
typedef struct byoc_call {
  byoc_hdr h;
  const DLTensor* const* args; /* inputs, then outputs */
  uint32_t n_args, flags;
  void* workspace;
  uint64_t workspace_bytes;
  void* stream; /* reserved */
  const byoc_cancel* cancel;
  uint64_t call_id;
  int64_t* const* out_shapes; /* reserved, with OUT_SHAPES: the true dims, by the kernel */
} byoc_call;

typedef struct byoc_sink {
  byoc_hdr h;
  void* u;
  byoc_status* (*write)(void* u, const void*, uint64_t);
} byoc_sink;

enum byoc_module_flags { BYOC_MODULE_NATIVE = 1 };
typedef struct byoc_save {
  byoc_hdr h;
  uint64_t flags;  /* set by the plugin: byoc_module_flags */
  byoc_str compat; /* set by the plugin; lives with the module */
  const byoc_sink* blob;
  void* u; /* for `packed` */
  /* A constant in the layout native code wants; function = index in byoc_compile. */
  byoc_status* (*packed)(void* u, uint64_t function, byoc_bytes data, uint64_t align);
} byoc_save;

/* A layout that a plugin computes an op in, as the host then hands it over. op "conv2d":
 * convolutions come as conv2d_nchwc with channels in blocks of `block` (images NCHW{block}c,
 * weights OIHW{inner}i{block}o); what lies between such convolutions may follow in the same blocks.
 * op "matmul": products with a constant matrix (matmul, gemm) come as matmul_packed, columns in
 * panels of `block`. Several rows of one op are in order of preference: the first whose block
 * divides the extent is used. */
typedef struct byoc_layout {
  byoc_hdr h;
  byoc_str op;
  uint64_t block; /* a power of two up to 64 */
} byoc_layout;

/* DEFAULT: may be the default codegen. HORIZONTAL: regions may join without a value between them.
 * ONE_ANCHOR: as the default codegen it gets functions of one anchor or reduction each, with the
 * ops that fuse into it, and not whole regions. */
enum byoc_plugin_flags {
  BYOC_PLUGIN_DEFAULT = 1,
  BYOC_PLUGIN_HORIZONTAL = 2,
  BYOC_PLUGIN_ONE_ANCHOR = 4
};
/* Plugin to host; static storage. Slots marked optional may be NULL. No function throws. Calls on
 * one instance come one at a time, but for judge. */
typedef struct byoc_plugin {
  byoc_hdr h;
  uint32_t abi_major, abi_minor, min_host_minor, flags;
  int64_t priority;
  uint64_t max_ops, max_bytes; /* of one region; 0 = 4096 ops, no byte limit */
  byoc_str id, version;
  byoc_str vendor, build; /* reserved */
  /* Called once per PluginSet that finds the plugin. */
  byoc_status* (*open)(const byoc_host*, byoc_str options_json, byoc_instance** out);
  /* Called once per instance, when its PluginSet goes away, after the release of its modules. */
  void (*close)(byoc_instance*);
  /* Called once per instance, after open. */
  byoc_status* (*patterns)(byoc_instance*, const byoc_pattern* const** out, uint64_t* n);
  /* optional; pure. Called by partitioning, once per distinct candidate, from any thread.
   * candidate: a graph of one node, an op or the call of a composite. */
  byoc_status* (*judge)(byoc_instance*, uint32_t pattern, byoc_str candidate_json,
                        byoc_verdict* io);
  /* optional, reserved: the host calls it nowhere. */
  byoc_status* (*partition)(byoc_instance*, byoc_str graph_json, const byoc_sink* groups);
  /* Called when a model is compiled, for all functions that are the plugin's or a batch of them.
   * kernel, info and save follow; then release. */
  byoc_status* (*compile)(byoc_instance*, const byoc_compile*, byoc_module** out);
  /* Called when an executable is loaded, once per module; kernel and info follow. */
  byoc_status* (*load)(byoc_instance*, const byoc_load*, byoc_module** out);
  /* Called once per compiled module: its bytes for the artifact. */
  byoc_status* (*save)(const byoc_module*, byoc_save* io);
  /* Called once per function after compile and after load; the kernel lives as the module. */
  byoc_status* (*kernel)(byoc_module*, byoc_str symbol, byoc_kernel** out);
  /* Called once per kernel, before any run. */
  byoc_status* (*info)(const byoc_kernel*, byoc_kernel_info* io);
  /* Called per step of a run, from any thread; one run at a time where info has SERIAL. */
  byoc_status* (*run)(byoc_kernel*, const byoc_call*);
  /* optional. Called before load, with the text that save gave. level: 0 unknown, 1 no, 2 works but
   * recompiling is better, 3 best. */
  byoc_status* (*compat)(byoc_instance*, byoc_str compat, uint32_t* level);
  /* Called once per module, before its instance is closed. */
  void (*release)(byoc_module*);
  /* optional; joins every thread. Called at most once per library, by the explicit shutdown at the
   * end of a program (shutdown_plugins, which the commands call), after the last instance is
   * closed, and never from static destructors. No PluginSet of the process can use the library
   * afterwards. A failure is printed as a warning. */
  byoc_status* (*shutdown)(void);
  /* optional, since minor 1. Called before layouts are assigned, for the machine of target_json
   * ("{}": this one). The table lives with the instance until the next call. */
  byoc_status* (*layouts)(byoc_instance*, byoc_str target_json, const byoc_layout* const** out,
                          uint64_t* n);
  /* optional, since minor 1. Called by `byoc print --llvm` and `--asm`: writes the code of the
   * request's functions as text; form: "llvm" or "asm". UNIMPLEMENTED for a form it has not. */
  byoc_status* (*show)(byoc_instance*, const byoc_compile*, byoc_str form, const byoc_sink* out);
} byoc_plugin;

/* The one exported symbol, also where all else is hidden. All pointers in the table must be
 * noexcept in C++. */
typedef byoc_status* (*byoc_plugin_entry_fn)(const byoc_host*, const byoc_plugin** out);
__attribute__((visibility("default"))) byoc_status* byoc_plugin_entry_v1(
    const byoc_host*, const byoc_plugin** out) BYOC_NOEXCEPT;

/* Native modules: an ELF shared object that the runtime loads without any plugin. */
/* Which index was wrong, when run returns BYOC_OUT_OF_RANGE. Written by run; the text is static in
 * the module. */
typedef struct byoc_native_failure {
  byoc_hdr h;
  byoc_str op;                /* "gather" */
  int64_t index, low, extent; /* index is outside of [low, extent) */
} byoc_native_failure;
typedef struct byoc_native_call {
  byoc_hdr h;
  void* const* data; /* inputs, constants, outputs */
  void* workspace;
  const byoc_host* host;
  uint64_t call_id;
  byoc_native_failure* failure; /* since minor 2; optional: BYOC_HAS */
} byoc_native_call;
typedef struct byoc_native_fn {
  byoc_hdr h;
  int32_t (*run)(const byoc_native_call*); /* 0 = ok, else a byoc_code */
  uint64_t workspace_bytes, workspace_align;
  /* since minor 2, optional. The types of byoc_native_call.data, as in byoc_kernel_info: inputs and
   * constants before "->", outputs after it. A packed constant of n bytes is u8[n]. */
  byoc_str signature;
} byoc_native_fn;
typedef struct byoc_native_table {
  byoc_hdr h;
  uint32_t abi_major, abi_minor;
  uint64_t n;
  const byoc_native_fn* const* fns; /* fns[i] is the manifest's symbols[i] */
} byoc_native_table;
typedef const byoc_native_table* (*byoc_native_entry_fn)(const byoc_host*);

#define BYOC_ASSERT_NO_TAIL(type, last)                                               \
  BYOC_STATIC_ASSERT(sizeof(type) == offsetof(type, last) + sizeof(((type*)0)->last), \
                     #type " has tail padding")
BYOC_ASSERT_NO_TAIL(byoc_host, packed_get);
BYOC_ASSERT_NO_TAIL(byoc_const, flags);
BYOC_ASSERT_NO_TAIL(byoc_pattern, gbytes_s);
BYOC_ASSERT_NO_TAIL(byoc_verdict, reason);
BYOC_ASSERT_NO_TAIL(byoc_function, n_consts);
BYOC_ASSERT_NO_TAIL(byoc_compile, cancel);
BYOC_ASSERT_NO_TAIL(byoc_load, cancel);
BYOC_ASSERT_NO_TAIL(byoc_kernel_info, signature);
BYOC_ASSERT_NO_TAIL(byoc_call, out_shapes);
BYOC_ASSERT_NO_TAIL(byoc_sink, write);
BYOC_ASSERT_NO_TAIL(byoc_save, packed);
BYOC_ASSERT_NO_TAIL(byoc_plugin, show);
BYOC_ASSERT_NO_TAIL(byoc_layout, block);
BYOC_ASSERT_NO_TAIL(byoc_native_failure, extent);
BYOC_ASSERT_NO_TAIL(byoc_native_call, failure);
BYOC_ASSERT_NO_TAIL(byoc_native_fn, signature);
BYOC_ASSERT_NO_TAIL(byoc_native_table, fns);

#ifdef __cplusplus
}
#endif
#endif
