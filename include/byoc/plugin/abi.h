// SPDX-License-Identifier: Apache-2.0
#ifndef BYOC_PLUGIN_ABI_H
#define BYOC_PLUGIN_ABI_H
/// @file
/// The byoc plugin ABI, major 1: plain C, one exported symbol, versioned append-only structs.
///
/// Every struct but byoc_str, byoc_bytes and byoc_held begins with byoc_hdr {size, tag, ext}.
/// Fields come in 8-byte units, there is no tail padding, new fields are appended, zero means
/// absent. A reader tests a field with BYOC_HAS before it uses it, never by version alone. Strings
/// are (pointer, length) UTF-8 and not terminated. Status objects, constants and packed blobs are
/// made and freed by the host; instances and modules are freed through the table that made them;
/// all else is borrowed for the call. No exception, C++ type or malloc'd pointer crosses. No host
/// symbol is imported: all services come in byoc_host.
///
/// "reserved" marks a slot, a field or a flag that has no effect yet: the host passes 0 or NULL in
/// it, and reads nothing from it. docs/plugin-abi.md has the same contract with examples.
#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
/// A check at compile time, in C and in C++. Used in this header.
#define BYOC_STATIC_ASSERT static_assert
/// `noexcept` in C++, nothing in C.
#define BYOC_NOEXCEPT noexcept
#else
/// A check at compile time, in C and in C++. Used in this header.
#define BYOC_STATIC_ASSERT __extension__ _Static_assert
/// `noexcept` in C++, nothing in C.
#define BYOC_NOEXCEPT
#endif

/// Changes with anything that an existing plugin would notice. Host and plugin have the same one.
#define BYOC_ABI_MAJOR 1
/// Grows with each addition. 1: the slots `layouts` and `show`. 2: byoc_native_call.failure,
/// `signature` of kernels and native functions, the flag BYOC_NO_NATIVE. 3: the slot `knobs`,
/// byoc_function.point, the flag BYOC_PLUGIN_LOOPS. 4: the flags BYOC_PLUGIN_COUNTED and
/// BYOC_KERNEL_OUT_SHAPES, byoc_call.out_shapes; BYOC_MODULE_PACKED, BYOC_CONST_PACKED. 5: the flag
/// BYOC_PLUGIN_ATTENTION. 6: the flag BYOC_PLUGIN_CHAINS. 7: byoc_machine, byoc_verdict.machine.
/// 8: the slot `partition`, reserved before. 9: the flag BYOC_PLUGIN_OPEN_SIZES, byoc_call.sizes,
/// byoc_native_call.sizes, open_workspace in byoc_kernel_info and byoc_native_fn. 10: devices with
/// memory of their own: byoc_device_table, byoc_call.stream, reserved before, BYOC_KERNEL_ASYNC,
/// `placement` of kernels, BYOC_CONST_DEVICE and byoc_const.device_data.
#define BYOC_ABI_MINOR 10
/// The name of a plugin's one exported symbol, a byoc_plugin_entry_fn.
#define BYOC_ENTRY_SYMBOL "byoc_plugin_entry_v1"
/// The name of the one exported symbol of a native module, a byoc_native_entry_fn.
#define BYOC_NATIVE_ENTRY_SYMBOL "byoc_native_entry_v1"

/// A link of the list of extensions of a struct. Owned by the writer of the struct. Minor 10
/// defines no extension.
typedef struct byoc_ext {
  uint32_t size;                ///< the size of the extension that this begins, in bytes
  uint32_t id;                  ///< the kind of extension; bit 31 is BYOC_EXT_MUST_UNDERSTAND
  const struct byoc_ext* next;  ///< the next link, or NULL
} byoc_ext;
/// Bit 31 of byoc_ext.id: a reader that does not support the extension refuses the struct.
#define BYOC_EXT_MUST_UNDERSTAND 0x80000000u

/// The head of every struct with a version. The writer of the struct fills it.
typedef struct byoc_hdr {
  uint32_t size;        ///< the size of the whole struct in bytes, in the version of its writer
  uint32_t tag;         ///< the kind of struct, a byoc_tag; a wrong one means a wrong pointer
  const byoc_ext* ext;  ///< the extensions of the struct, usually NULL
} byoc_hdr;

/// UTF-8 text without a terminating null byte. Lives as long as the struct or the call that has it.
typedef struct byoc_str {
  const char* p;  ///< the first byte; NULL is allowed when n is 0
  uint64_t n;     ///< the length in bytes
} byoc_str;

/// Bytes. They live as long as the struct or the call that has them.
typedef struct byoc_bytes {
  const void* p;  ///< the first byte; NULL is allowed when n is 0
  uint64_t n;     ///< the length in bytes
} byoc_bytes;

/// True when the struct is long enough to hold f and f is not null or zero (f: a pointer or number;
/// for a byoc_str compare h.size with the offset of its end).
#define BYOC_HAS(s, f) ((s)->h.size >= offsetof(__typeof__(*(s)), f) + sizeof((s)->f) && (s)->f)

/// byoc_hdr.tag: the kind of a struct, which catches garbage.
enum byoc_tag {
  BYOC_TAG_HOST = 0x62790001,  ///< byoc_host
  BYOC_TAG_CONST,              ///< byoc_const
  BYOC_TAG_PATTERN,            ///< byoc_pattern
  BYOC_TAG_VERDICT,            ///< byoc_verdict
  BYOC_TAG_FUNCTION,           ///< byoc_function
  BYOC_TAG_COMPILE,            ///< byoc_compile
  BYOC_TAG_LOAD,               ///< byoc_load
  BYOC_TAG_KERNEL_INFO,        ///< byoc_kernel_info
  BYOC_TAG_CALL,               ///< byoc_call
  BYOC_TAG_SINK,               ///< byoc_sink
  BYOC_TAG_SAVE,               ///< byoc_save
  BYOC_TAG_PLUGIN,             ///< byoc_plugin
  BYOC_TAG_NATIVE_CALL,        ///< byoc_native_call
  BYOC_TAG_NATIVE_FN,          ///< byoc_native_fn
  BYOC_TAG_NATIVE_TABLE,       ///< byoc_native_table
  BYOC_TAG_LAYOUT,             ///< byoc_layout
  BYOC_TAG_NATIVE_FAILURE,     ///< byoc_native_failure
  BYOC_TAG_MACHINE,            ///< byoc_machine
  BYOC_TAG_DEVICE,             ///< byoc_device
  BYOC_TAG_COPY,               ///< byoc_copy
  BYOC_TAG_DEVICE_TABLE        ///< byoc_device_table
};

/// The code of a status: the 17 canonical codes of gRPC, then three of byoc. The host reads a
/// larger number as BYOC_UNKNOWN.
enum byoc_code {
  BYOC_OK = 0,                   ///< success, which is a NULL status
  BYOC_CANCELLED = 1,            ///< the user has interrupted the work
  BYOC_UNKNOWN = 2,              ///< no other code fits
  BYOC_INVALID_ARGUMENT = 3,     ///< an option, an attribute or a tensor is wrong
  BYOC_DEADLINE_EXCEEDED = 4,    ///< the work took too long
  BYOC_NOT_FOUND = 5,            ///< for instance, from `kernel`: the module has no such symbol
  BYOC_ALREADY_EXISTS = 6,       ///< a name is taken
  BYOC_PERMISSION_DENIED = 7,    ///< `load`: native code is not allowed (BYOC_NO_NATIVE)
  BYOC_RESOURCE_EXHAUSTED = 8,   ///< memory is short
  BYOC_FAILED_PRECONDITION = 9,  ///< the state does not allow the call
  BYOC_ABORTED = 10,             ///< the work was given up
  BYOC_OUT_OF_RANGE = 11,        ///< `run`: an index outside of its tensor
  BYOC_UNIMPLEMENTED = 12,       ///< not supported, for instance a form of `show`
  BYOC_INTERNAL = 13,            ///< a defect of the plugin
  BYOC_UNAVAILABLE = 14,         ///< a device or service is missing
  BYOC_DATA_LOSS = 15,           ///< `load`: the blob is damaged
  BYOC_UNAUTHENTICATED = 16,     ///< not used
  /// `compile`: the function given by the status's index goes to the next plugin of the list that
  /// accepts it, and to the default codegen when there is none.
  BYOC_DECLINED = 17,
  BYOC_STALE_ARTIFACT = 18,  ///< `load`: the blob was made for something else, compile again
  BYOC_BAD_GRAPH = 19        ///< the graph JSON cannot be read
};

/// An error: a code, a place and a message. NULL means success. Made by byoc_host.status_new. A
/// plugin that does not return a status calls byoc_host.status_free.
typedef struct byoc_status byoc_status;
/// The host's data for one plugin. The plugin passes it back.
typedef struct byoc_host_ctx byoc_host_ctx;
/// The host's handle of work that a user can interrupt. Borrowed for the call that it comes with.
typedef struct byoc_cancel byoc_cancel;
/// The host's handle of a constant. Borrowed for the call that it comes with.
typedef struct byoc_const_ref byoc_const_ref;
/// The plugin's state for one PluginSet, made by `open`. Owned by the plugin, freed by `close`.
typedef struct byoc_instance byoc_instance;
/// Compiled functions, made by `compile` or `load`. Owned by the plugin, freed by `release`.
typedef struct byoc_module byoc_module;
/// One function of a module. Owned by the plugin; lives as long as its module.
typedef struct byoc_kernel byoc_kernel;
/// A queue of a device: work begins in the order in which it was enqueued. Since minor 10. Owned by
/// the plugin, freed by `stream_free`.
typedef struct byoc_stream byoc_stream;
/// A mark in a stream. Since minor 10. Owned by the plugin, freed by `event_free`.
typedef struct byoc_event byoc_event;

/// A read-only tensor that the host keeps alive until the holder calls release(ctx).
typedef struct byoc_held {
  const DLTensor* view;  ///< the bytes; valid until release(ctx)
  void* ctx;             ///< the argument of `release`
  /// Gives the tensor up. The holder calls it once, from any thread.
  void (*release)(void*);
} byoc_held;

/// Writes the `n` bytes of a packed constant to `dst`. The host calls it within packed_get, on the
/// same thread, with the `u` given there. A status other than NULL becomes that of packed_get.
typedef byoc_status* (*byoc_fill_fn)(void* u, void* dst, uint64_t n);
/// Does the elements [lo, hi) of a loop. The host calls it within parallel_for, on several threads
/// at once, with different `worker` numbers. Nonzero stops the loop.
typedef int32_t (*byoc_range_fn)(void* u, uint64_t lo, uint64_t hi, uint32_t worker);

/// The services of the host. Owned by the host, one per plugin id, and valid for the rest of the
/// process. Plugins call the functions from any thread.
typedef struct byoc_host {
  byoc_hdr h;          ///< tag: BYOC_TAG_HOST
  uint32_t abi_major;  ///< BYOC_ABI_MAJOR of the host
  uint32_t abi_minor;  ///< BYOC_ABI_MINOR of the host
  byoc_host_ctx* ctx;  ///< the first argument of the functions that have one of this type
  byoc_str version;    ///< the version of byoc, such as "0.1.0"
  /// Makes a status; its owner is the plugin until it returns it. function: an index in
  /// byoc_compile.functions, node: an index in the graph's "nodes", -1 = none. `file` may be NULL;
  /// it and `line` are logged as debug. Never NULL: when memory is short it returns a
  /// preallocated status.
  byoc_status* (*status_new)(byoc_host_ctx*, uint32_t code, int64_t function, int64_t node,
                             const char* file, uint32_t line, byoc_str msg);
  /// Frees a status that the plugin does not return. NULL is allowed.
  void (*status_free)(byoc_status*);
  /// Prints a line on stderr when BYOC_LOG allows it. level: 0 error, 1 warning, 2 info, 3 debug,
  /// 4 trace.
  void (*log)(byoc_host_ctx*, uint32_t level, byoc_str who, byoc_str msg);
  /// Returns `n` bytes aligned to `align` bytes, a power of two; NULL when memory is short. The
  /// plugin owns them and frees them with `free`.
  void* (*alloc)(byoc_host_ctx*, uint64_t n, uint64_t align);
  /// Frees memory of `alloc`. NULL is allowed.
  void (*free)(byoc_host_ctx*, void*);
  /// Returns how many workers a parallel_for that starts here has; the worker numbers are smaller.
  /// Within `compile`, `load` and `run`: `threads` of the request; elsewhere 1024, the upper limit.
  uint32_t (*max_workers)(byoc_host_ctx*);
  /// Calls fn(u, lo, hi, worker) for the blocks of `grain` elements of [0, n) and returns when all
  /// are done. The calling thread is one of the workers. Nested loops, and loops outside of
  /// `compile`, `load` and `run`, run on the calling thread. A nonzero return of `fn` stops the
  /// blocks that have not begun and is returned. Allocates nothing.
  int32_t (*parallel_for)(byoc_host_ctx*, uint64_t n, uint64_t grain, byoc_range_fn fn, void* u);
  /// Returns nonzero after the user has interrupted the work that the byoc_cancel came with: the
  /// plugin returns BYOC_CANCELLED soon. NULL is allowed, and is never cancelled.
  uint32_t (*cancelled)(const byoc_cancel*);
  /// Shows how far that work is, 0 to 1000, and a word such as "compiling". NULL is allowed.
  void (*progress)(const byoc_cancel*, uint32_t permille, byoc_str what);
  /// Returns the steady clock, in ns.
  uint64_t (*now_ns)(byoc_host_ctx*);
  /// Records a stretch of the call `call_id`, from t0 to t1 in ns of now_ns: its node in the graph
  /// JSON (-1: none), a name, and `n` strings, keys and values in turn, which are copied. Recorded
  /// only while the call has BYOC_CALL_SPANS. The spans of one thread nest or are disjoint.
  void (*span)(byoc_host_ctx*, uint64_t call_id, int64_t node, byoc_str name, uint64_t t0,
               uint64_t t1, const byoc_str* kv, uint64_t n);
  /// Keeps a constant of the current `compile` or `load` without a copy. The plugin owns *out.
  byoc_status* (*const_keep)(byoc_const_ref*, byoc_held* out);
  /// Returns the blob of `n` bytes, aligned to `align` bytes, that `fill` writes once per key. All
  /// instances of the plugin in the process share it. A key is the name of a layout and the key of
  /// a constant. The plugin owns *out; the memory is freed with the last holder. Threads that
  /// request the same key wait for the one that fills; `fill` does not request that key.
  byoc_status* (*packed_get)(byoc_host_ctx*, byoc_bytes key, uint64_t n, uint64_t align,
                             byoc_fill_fn, void*, byoc_held* out);
} byoc_host;

/// A constant lent to the plugin. Owned by the host and valid until the call returns; const_keep
/// makes it last longer.
typedef struct byoc_const {
  byoc_hdr h;            ///< tag: BYOC_TAG_CONST
  byoc_str name;         ///< the name in the graph, such as "c0"
  byoc_const_ref* ref;   ///< the argument of const_keep
  const DLTensor* view;  ///< the elements, read-only, aligned to 64 bytes
  uint8_t key[16];       ///< XXH3-128 hash of the bytes; equal keys have equal bytes
  uint64_t flags;        ///< reserved
  /// Since minor 10, in `load`, for constants that info gave BYOC_CONST_DEVICE at compile: their
  /// address on the kernel's device, valid until the module is released. NULL for others.
  const void* device_data;
} byoc_const;

/// The `pattern` of judge for a single op of a plugin that lists no pattern.
#define BYOC_NO_PATTERN 0xffffffffu
/// Ops that a plugin can run: one, or several that become one node. Owned by the instance; the host
/// copies the texts before its next call.
typedef struct byoc_pattern {
  byoc_hdr h;          ///< tag: BYOC_TAG_PATTERN
  byoc_str name;       ///< the pattern's name; a composite is called ID.NAME
  byoc_str dag_json;   ///< the pattern, in the grammar of docs/patterns.md
  int32_t priority;    ///< among the patterns of this plugin: higher goes first
  uint32_t flags;      ///< reserved
  uint64_t launch_ns;  ///< reserved; ns
  double gflops;       ///< reserved; 10^9 operations per second
  double gbytes_s;     ///< reserved; 10^9 bytes per second
} byoc_pattern;

/// A rate of one worker, and of all workers of a run together.
typedef struct byoc_rate {
  double one;  ///< with one worker
  double all;  ///< with byoc_machine.threads workers at the same time
} byoc_rate;

/// A cache, or the memory.
typedef struct byoc_machine_level {
  uint64_t bytes;  ///< its size; UINT64_MAX for the memory
  uint64_t cores;  ///< the number of cores that share it, at least 1
  byoc_rate read;  ///< reading all bytes of what it keeps, 10^9 bytes per second
  byoc_rate fill;  ///< bringing lines to the core by reading a word of each, 10^9 bytes per second
} byoc_machine_level;

/// The machine that estimates are for, and the workers of a run. Owned by the host, valid for the
/// call. A number that is not known is 0.
typedef struct byoc_machine {
  byoc_hdr h;                        ///< tag: BYOC_TAG_MACHINE
  uint32_t threads;                  ///< workers of a run, at least 1
  uint32_t n_levels;                 ///< the number of `levels`, at least 1
  const byoc_machine_level* levels;  ///< from the first cache to the memory
  byoc_rate f32;         ///< multiplications and additions of f32, 10^9 per second; above 0
  byoc_rate f16;         ///< the same of f16 or bf16, where the processor has instructions for them
  byoc_rate i8;          ///< the same of i8, with sums of i32
  double loop_ns;        ///< starting parallel_for with all workers and waiting for its end
  double barrier_ns;     ///< one barrier of all workers inside of a loop
  double round_trip_ns;  ///< a value from a core to another one and back
} byoc_machine;

/// The answer of judge. The host passes it zeroed but for `h` and `machine`; judge fills it.
typedef struct byoc_verdict {
  byoc_hdr h;           ///< tag: BYOC_TAG_VERDICT
  uint32_t accept;      ///< 0 no, 1 yes, 2 yes but slow
  uint32_t confidence;  ///< reserved
  /// An estimate of the time of one run on `machine`, ns; 0: none. The choice of plugins by cost
  /// compares it with those of other plugins; without `machine` nothing is decided by it.
  uint64_t est_ns;
  uint64_t workspace;     ///< reserved, bytes; check-plugin requires repeatable values
  uint64_t packed_bytes;  ///< reserved, bytes; check-plugin requires repeatable values
  /// With 0 and 2: why. With 1, optional: by which implementation, as explain shows it. Static or
  /// owned by the instance, valid until the next judge on this thread.
  byoc_str reason;
  const byoc_machine* machine;  ///< since minor 7; NULL: no estimate is needed. Test with BYOC_HAS
} byoc_verdict;

/// A function to compile. Owned by the host and valid until the call returns.
typedef struct byoc_function {
  byoc_hdr h;                       ///< tag: BYOC_TAG_FUNCTION
  byoc_str symbol;                  ///< the name that `kernel` is called with
  byoc_str graph_json;              ///< the body, in the format of docs/graph-json.md
  const byoc_const* const* consts;  ///< in the order of the graph's "constants"
  uint64_t n_consts;                ///< the number of `consts`
  /// Since minor 3. A point of the function's knob space: an object with a string per knob, as in
  /// docs/plugin-abi.md ("Knobs"). Absent, empty: the plugin's own choice. A point outside of the
  /// space is BYOC_INVALID_ARGUMENT. Empty in the requests of `knobs`.
  byoc_str point;
} byoc_function;

/// The bits of byoc_compile.flags.
enum byoc_compile_flags {
  /// The host saves and releases the module and loads nothing of it in this process, as
  /// `byoc compile` does.
  BYOC_COMPILE_ONLY = 1,
  BYOC_DETERMINISTIC = 2,  ///< reserved; compiling is always deterministic
  /// No kernel rounds otherwise than the direct sum of the op's definition, as Winograd and lower
  /// precision do. The order of terms and fused multiply-add are the plugin's choice.
  BYOC_STRICT_FP = 4,
  /// Since minor 9. The model is compiled for several sizes, and equal constants of these are
  /// stored once: weights should be packed in forms that do not depend on sizes.
  BYOC_SHARED_WEIGHTS = 16
};
/// The bits of byoc_load.flags, besides BYOC_STRICT_FP.
enum byoc_load_flags {
  /// Since minor 2. The user does not trust the bytes: a plugin whose blob holds machine code
  /// refuses it with BYOC_PERMISSION_DENIED and runs nothing of it.
  BYOC_NO_NATIVE = 8
};

/// The request of `compile` and `show`. Owned by the host and valid until the call returns.
typedef struct byoc_compile {
  byoc_hdr h;                             ///< tag: BYOC_TAG_COMPILE
  const byoc_function* const* functions;  ///< the functions to compile
  uint64_t n_functions;                   ///< the number of `functions`
  byoc_str options_json;                  ///< the options, as `open` received them
  byoc_str target_json;                   ///< the machine to compile for; "{}": this one
  uint32_t threads;                       ///< workers of a run, at least 1
  uint32_t flags;                         ///< byoc_compile_flags
  const byoc_cancel* cancel;              ///< NULL, or for `cancelled` every 100 ms or so
} byoc_compile;

/// The request of `load`. Owned by the host and valid until the call returns.
typedef struct byoc_load {
  byoc_hdr h;             ///< tag: BYOC_TAG_LOAD
  byoc_bytes blob;        ///< the bytes that `save` wrote; the host has checked their hash
  byoc_str compat;        ///< the text that `save` set
  byoc_str options_json;  ///< the options at compile, as the artifact has them
  /// The constants of all functions of the module, each key once, in order of first use.
  const byoc_const* const* consts;
  uint64_t n_consts;          ///< the number of `consts`
  uint32_t threads;           ///< workers of a run, at least 1
  uint32_t flags;             ///< BYOC_STRICT_FP as it was at compile, and byoc_load_flags
  const byoc_cancel* cancel;  ///< NULL, or for `cancelled` every 100 ms or so
} byoc_load;

/// The bits of byoc_kernel_info.flags.
enum byoc_kernel_flags {
  BYOC_KERNEL_SERIAL = 1,       ///< one run of the kernel at a time; the Session takes a lock
  BYOC_KERNEL_MAY_ALLOC = 2,    ///< run may allocate; kept in the artifact, for reports
  BYOC_KERNEL_OWN_THREADS = 4,  ///< reserved
  /// Since minor 4. The graph has outputs with counted dims, and run writes byoc_call.out_shapes.
  BYOC_KERNEL_OUT_SHAPES = 8,
  /// Since minor 10, for kernels of a device. run enqueues the work on byoc_call.stream. Inputs on
  /// the host are read when it returns; no output is on the host.
  BYOC_KERNEL_ASYNC = 16
};
/// A kernel's use of a constant. The host frees its copy of constants that no kernel keeps.
enum byoc_const_use {
  BYOC_CONST_UNUSED = 0,  ///< the kernel does not read it
  BYOC_CONST_COPIED = 1,  ///< it was read at compile or load and is not needed any more
  BYOC_CONST_KEPT = 2,    ///< it is read in every run
  BYOC_CONST_PACKED = 3,  ///< since minor 4: it is read by `fill` of packed_get alone
  /// Since minor 10, for kernels of a device: every run reads it in the device's memory. The host
  /// copies it there once per key and device, for all Sessions of a PluginSet (device_data).
  BYOC_CONST_DEVICE = 4
};
/// Where an argument of a kernel of a device is.
enum byoc_place {
  BYOC_PLACE_DEVICE = 0,  ///< in memory of the kernel's device
  BYOC_PLACE_HOST = 1     ///< in memory of the host, as for operands that hold shapes
};
/// The facts about a kernel. The host passes it zeroed but for `h`; info fills it. Pointers are
/// owned by the plugin and live with the kernel.
typedef struct byoc_kernel_info {
  byoc_hdr h;                     ///< tag: BYOC_TAG_KERNEL_INFO
  uint32_t n_in;                  ///< the number of inputs, as in the graph
  uint32_t n_out;                 ///< the number of outputs, as in the graph
  uint64_t workspace_bytes;       ///< scratch memory of one run, bytes, at most 2^46
  uint64_t workspace_align;       ///< bytes: a power of two up to 4096; 0 reads as 1
  uint64_t flags;                 ///< byoc_kernel_flags
  const uint32_t* inplace_pairs;  ///< (input, output) that may share memory: 2 * n_inplace numbers
  uint64_t n_inplace;             ///< the number of pairs
  const uint8_t* const_use;       ///< byoc_const_use, n_consts of them
  uint64_t n_consts;              ///< the number of `const_use`; 0: all constants are kept
  uint64_t resident_bytes;        ///< reserved
  /// kDLCPU or zeros: the host. Since minor 10 also a device of the plugin's byoc_device_table, on
  /// which the kernel runs and has its workspace; any other is refused.
  DLDevice device;
  byoc_str implementation;  ///< a name for reports, such as "jit:avx2"
  /// Since minor 2. The types of byoc_call.args according to the kernel's own graph: inputs, "->",
  /// outputs, separated by single spaces, such as "f32[1,8] i64[] -> f32[1,8]"; or "*" when run
  /// goes by the views that it gets and refuses those that do not fit together. When a program is
  /// loaded, the host compares it with the types of every step that calls the kernel. Absent:
  /// nothing is compared, and loading with BYOC_NO_NATIVE fails. Not needed at compile.
  byoc_str signature;
  /// Since minor 9, for functions with open dims. The bytes of the workspace as an expression of
  /// the function's sizes (byoc/base/size_expression.h), such as "256*B*T"; workspace_bytes is then
  /// ignored, and each run gives a workspace for its sizes. Empty: workspace_bytes in every run.
  byoc_str open_workspace;
  /// Since minor 10, for kernels of a device: byoc_place per input, then per output. An artifact
  /// records them: load gives the same as compile.
  const uint8_t* placement;
  uint64_t n_placement;  ///< the number of `placement`; 0: all arguments are on the device
} byoc_kernel_info;

/// The bits of byoc_call.flags.
enum byoc_call_flags {
  BYOC_CALL_SPANS = 1  ///< the call's spans are recorded; without it a plugin reads no clock
};
/// One run of a kernel. Owned by the host and valid until run returns.
typedef struct byoc_call {
  byoc_hdr h;  ///< tag: BYOC_TAG_CALL
  /// Inputs, then outputs. run writes every element of the outputs and nothing else. Outputs share
  /// no memory with other arguments, but for the in-place pairs; inputs may share.
  const DLTensor* const* args;
  uint32_t n_args;           ///< n_in + n_out of info
  uint32_t flags;            ///< byoc_call_flags
  void* workspace;           ///< scratch memory as info requested it, contents undefined
  uint64_t workspace_bytes;  ///< bytes of `workspace`, at least those of info
  /// Since minor 10 (reserved before): a byoc_stream of the kernel's device, on which it computes;
  /// NULL for kernels of the host. Views of arguments on a device have its DLDevice, and are
  /// aligned to 256 bytes.
  void* stream;
  const byoc_cancel* cancel;  ///< NULL, or for `cancelled` in long runs
  uint64_t call_id;           ///< the argument of byoc_host.span
  /// Since minor 4, for kernels with BYOC_KERNEL_OUT_SHAPES, else NULL: per output a place for its
  /// dims, or NULL for an output whose dims are numbers. The view of an output has the bounds of
  /// its counted dims, and memory for them. run writes the dims of this run, at most the bounds,
  /// and the elements in row-major order of these dims, from the begin of the memory.
  int64_t* const* out_shapes;
  /// Since minor 9, for functions with open dims, which plugins with BYOC_PLUGIN_OPEN_SIZES get:
  /// the sizes of this run, in the order of "sizes" in the graph JSON; NULL for others. The views
  /// of inputs and outputs have the dims of this run.
  const int64_t* sizes;
} byoc_call;

/// A place to write bytes or text to. Owned by the host and valid until the call returns.
typedef struct byoc_sink {
  byoc_hdr h;  ///< tag: BYOC_TAG_SINK
  void* u;     ///< the first argument of `write`
  /// Appends bytes; called on the thread of the slot. The plugin returns a status other than NULL.
  byoc_status* (*write)(void* u, const void*, uint64_t);
} byoc_sink;

/// The bits of byoc_save.flags.
enum byoc_module_flags {
  BYOC_MODULE_NATIVE = 1,  ///< the blob is a native module, see byoc_native_table
  /// Since minor 4: the artifact keeps what packed_get returned on the thread of compile, and
  /// packed_get on the thread of load returns it again, without `fill`. The keys then name all that
  /// the bytes depend on, with the version of a library that made them.
  BYOC_MODULE_PACKED = 2
};
/// The request of save, and its results. Owned by the host and valid until the call returns.
typedef struct byoc_save {
  byoc_hdr h;             ///< tag: BYOC_TAG_SAVE
  uint64_t flags;         ///< set by the plugin: byoc_module_flags
  byoc_str compat;        ///< set by the plugin: the text for `compat`; lives with the module
  const byoc_sink* blob;  ///< takes the bytes of the module
  void* u;                ///< the first argument of `packed`
  /// Stores a constant in the layout that native code reads, aligned to `align` bytes, a power of
  /// two up to 64. function: an index in byoc_compile.functions. Called on the thread of save.
  byoc_status* (*packed)(void* u, uint64_t function, byoc_bytes data, uint64_t align);
} byoc_save;

/// A layout that a plugin computes an op in, and in which the host then passes it. Owned by the
/// instance and valid until the next call on it. Several rows of one op are in order of preference:
/// the first whose block divides the extent is used.
typedef struct byoc_layout {
  byoc_hdr h;  ///< tag: BYOC_TAG_LAYOUT
  /// "conv2d": convolutions arrive as conv2d_nchwc with channels in blocks of `block` (images
  /// NCHW{block}c, weights OIHW{inner}i{block}o); ops between such convolutions may use the same
  /// blocks. "matmul": products with a constant matrix (matmul, gemm) arrive as matmul_packed,
  /// columns in panels of `block`.
  byoc_str op;
  uint64_t block;  ///< elements: a power of two up to 64
} byoc_layout;

/// The bits of byoc_plugin.flags.
enum byoc_plugin_flags {
  BYOC_PLUGIN_DEFAULT = 1,     ///< the plugin may be the default codegen
  BYOC_PLUGIN_HORIZONTAL = 2,  ///< regions may join without a value between them
  /// As the default codegen the plugin gets functions of one anchor or reduction each, with the
  /// ops that fuse into it, and no larger regions.
  BYOC_PLUGIN_ONE_ANCHOR = 4,
  /// Since minor 3. The plugin compiles functions that are written as loops: a graph that requires
  /// "loops", whose member "loops" is the text (docs/te.md). `judge` is not called for them.
  BYOC_PLUGIN_LOOPS = 8,
  /// Since minor 4. The plugin takes values with counted dims, which each run finds out anew. The
  /// views of such inputs differ from run to run. Other plugins get no op that reads or gives one.
  BYOC_PLUGIN_COUNTED = 16,
  /// Since minor 5, with BYOC_PLUGIN_ONE_ANCHOR. Functions may also be attention: a product, ops on
  /// its elements, a softmax of its rows, and the product of the result with another matrix; with
  /// moves and factors of the operands before, and the ops that fuse with a product after. Hosts
  /// of minor 8 and later form none by themselves: `partition` lists them as groups.
  BYOC_PLUGIN_ATTENTION = 32,
  /// Since minor 6, with BYOC_PLUGIN_ONE_ANCHOR. Functions may also be chains: a convolution of one
  /// pixel each, a depthwise one, and another of one pixel each, or a depthwise one with one of the
  /// others, and ops on elements between them and after; all in blocks of channels. Hosts of minor
  /// 8 and later form none by themselves, as with BYOC_PLUGIN_ATTENTION.
  BYOC_PLUGIN_CHAINS = 64,
  /// Since minor 9. The plugin compiles functions with open dims: sizes that the inputs of a run
  /// have, with bounds, and expressions of them. Other plugins get no op that reads or gives a
  /// value with an open dim.
  BYOC_PLUGIN_OPEN_SIZES = 128
};

/// Kinds of memory of a device: the bits of byoc_device.kinds, and one of them for dev_alloc.
enum byoc_memory_kind {
  BYOC_MEMORY_DEVICE = 1,        ///< for kernels and copies only: an access of the host is an error
  BYOC_MEMORY_HOST_VISIBLE = 2,  ///< memory of the host that copies are fast from; not used yet
  BYOC_MEMORY_UNIFIED = 4        ///< for kernels and for the host; not used yet
};
/// A device of a plugin. Owned by the instance; lives as long as it.
typedef struct byoc_device {
  byoc_hdr h;       ///< tag: BYOC_TAG_DEVICE
  DLDevice device;  ///< the type of DLPack and a number; not kDLCPU
  byoc_str name;    ///< for messages, such as "NVIDIA H200"
  uint64_t kinds;   ///< byoc_memory_kind, with BYOC_MEMORY_DEVICE at least
  uint64_t align;   ///< bytes: a power of two up to 4096, which all memory of dev_alloc has; 0: 64
  uint64_t bytes;   ///< its memory; 0: unknown
  byoc_str capabilities;  ///< a JSON object for reports and for the plugin itself, or empty
} byoc_device;

/// A copy of bytes. Owned by the host and valid until the call returns.
typedef struct byoc_copy {
  byoc_hdr h;           ///< tag: BYOC_TAG_COPY
  void* dst;            ///< the first byte that is written
  const void* src;      ///< the first byte that is read
  DLDevice dst_device;  ///< where `dst` is; kDLCPU: memory of the host
  DLDevice src_device;  ///< where `src` is; at least one of the two is a device of the table
  uint64_t bytes;       ///< at least 1; the ranges do not overlap
  byoc_stream* stream;  ///< enqueued there; NULL: done when the call returns
} byoc_copy;

/// The slots of a plugin with devices (byoc_plugin.device). In static storage. All slots are
/// set. The calls may overlap with each other and with those of byoc_plugin, but for two calls
/// on one stream or event. A device that is gone is BYOC_UNAVAILABLE in all of them, and memory
/// that it lacks BYOC_RESOURCE_EXHAUSTED.
typedef struct byoc_device_table {
  byoc_hdr h;  ///< tag: BYOC_TAG_DEVICE_TABLE
  /// Lists the devices. Called once per instance, after open, on the same thread. None, or an
  /// error: the plugin can compile for them, and no kernel of a device is loaded, with that reason.
  byoc_status* (*devices)(byoc_instance*, const byoc_device* const** out, uint64_t* n);
  /// Allocates `n` bytes of a byoc_memory_kind, aligned to `align` and to byoc_device.align. Called
  /// when constants are loaded and when a Context is made, never in a run.
  byoc_status* (*dev_alloc)(byoc_instance*, DLDevice, uint32_t kind, uint64_t n, uint64_t align,
                            void** out);
  /// Frees memory of dev_alloc, after the streams that used it. NULL is allowed.
  void (*dev_free)(byoc_instance*, DLDevice, void*);
  /// Copies from the host to a device, back, or within a device. An error may also come from a
  /// later event_sync.
  byoc_status* (*copy)(byoc_instance*, const byoc_copy*);
  /// Makes a stream. Called when a Context is made.
  byoc_status* (*stream_new)(byoc_instance*, DLDevice, byoc_stream** out);
  /// Drops the work that has not begun, and returns when none of its work reads or writes memory of
  /// the host any more. It does not wait for a kernel that never ends.
  void (*stream_free)(byoc_stream*);
  /// Makes an event, which counts as reached until it is recorded. Called when a Context is made.
  byoc_status* (*event_new)(byoc_instance*, DLDevice, byoc_event** out);
  /// Frees an event, after the streams that it was recorded on. NULL is allowed.
  void (*event_free)(byoc_event*);
  /// Marks the end of the work that the stream has now. An event that was recorded before moves.
  byoc_status* (*event_record)(byoc_event*, byoc_stream*);
  /// Lets the later work of a stream of the same device wait for the event as it is recorded now.
  byoc_status* (*event_wait)(byoc_event*, byoc_stream*);
  /// Blocks the thread until the event is reached, or for `timeout_ns`: BYOC_DEADLINE_EXCEEDED
  /// then, after which the host may call it again. Returns the error of the work before the event.
  byoc_status* (*event_sync)(byoc_event*, uint64_t timeout_ns);
} byoc_device_table;

/// The table of a plugin: numbers and slots. In static storage of the plugin; the host copies it.
/// Slots marked optional may be NULL. No function throws. The calls on one instance do not overlap,
/// but for those of judge, run and release. Each function that returns a byoc_status* returns NULL
/// for success; the host owns any other.
typedef struct byoc_plugin {
  byoc_hdr h;               ///< tag: BYOC_TAG_PLUGIN
  uint32_t abi_major;       ///< BYOC_ABI_MAJOR of the plugin's header; must be the host's
  uint32_t abi_minor;       ///< BYOC_ABI_MINOR of the plugin's header
  uint32_t min_host_minor;  ///< the lowest minor of a host that the plugin works with; 0: any
  uint32_t flags;           ///< byoc_plugin_flags
  int64_t priority;         ///< the place among plugins: higher goes first
  uint64_t max_ops;         ///< the most ops of one region; 0: 4096
  uint64_t max_bytes;       ///< the most bytes of one region, results and constants; 0: no limit
  byoc_str id;              ///< as in the manifest
  byoc_str version;         ///< as in the manifest
  byoc_str vendor;          ///< reserved
  byoc_str build;           ///< reserved
  /// Makes an instance. Called once per PluginSet that finds the plugin, on the thread that makes
  /// the set. options_json: an object of strings. An error refuses the plugin.
  byoc_status* (*open)(const byoc_host*, byoc_str options_json, byoc_instance** out);
  /// Frees an instance. Called once, when its PluginSet goes away, after the release of its
  /// modules, on the thread that destroys the set.
  void (*close)(byoc_instance*);
  /// Lists what the plugin can run. Called once per instance, after open, on the same thread.
  byoc_status* (*patterns)(byoc_instance*, const byoc_pattern* const** out, uint64_t* n);
  /// Optional; pure. Decides on a candidate: a graph of one node, an op or the call of a composite.
  /// Called by partitioning, once per distinct candidate, from any thread and any number of them at
  /// once. pattern: an index in the list of patterns, or BYOC_NO_PATTERN.
  byoc_status* (*judge)(byoc_instance*, uint32_t pattern, byoc_str candidate_json,
                        byoc_verdict* io);
  /// Optional, since minor 8 (reserved before), for plugins with BYOC_PLUGIN_DEFAULT. Writes the
  /// groups of ops that are to be one kernel each as JSON (docs/plugin-abi.md, "Groups"), or
  /// nothing. The request has one function: the ops of a function of the model that the plugin has
  /// as the default codegen. Depends on the request alone, and not on names. Called when a model is
  /// compiled, before compile, on the same thread.
  byoc_status* (*partition)(byoc_instance*, const byoc_compile*, const byoc_sink* groups);
  /// Makes a module. Called when a model is compiled, for all functions of the plugin or a batch of
  /// them, on the thread that compiles. kernel, info and save follow; then release.
  byoc_status* (*compile)(byoc_instance*, const byoc_compile*, byoc_module** out);
  /// Makes a module from the bytes of save. Called once per module when an executable is loaded, on
  /// the thread that loads it. kernel and info follow.
  byoc_status* (*load)(byoc_instance*, const byoc_load*, byoc_module** out);
  /// Writes the bytes of a module for the artifact. Called once per compiled module, on the same
  /// thread as compile.
  byoc_status* (*save)(const byoc_module*, byoc_save* io);
  /// Returns the kernel of a function; it lives as long as the module. Called once per function
  /// after compile and after load, on the same thread.
  byoc_status* (*kernel)(byoc_module*, byoc_str symbol, byoc_kernel** out);
  /// Describes a kernel. Called once per kernel, after `kernel` and before any run, on the
  /// same thread.
  byoc_status* (*info)(const byoc_kernel*, byoc_kernel_info* io);
  /// Computes the outputs. Called per step of a run, from any thread and any number of them at
  /// once; one run at a time when info has BYOC_KERNEL_SERIAL. Keeps nothing of the call.
  byoc_status* (*run)(byoc_kernel*, const byoc_call*);
  /// Optional. Rates a module that was saved with the text `compat`. Called before load, on the
  /// same thread. level: 0 unknown, 1 no, 2 works but recompiling is better, 3 best.
  byoc_status* (*compat)(byoc_instance*, byoc_str compat, uint32_t* level);
  /// Frees a module and its kernels. Called once per module, before its instance is closed: after
  /// save for a compiled one; for a loaded one by the thread that destroys the Session, also while
  /// another slot of the instance runs.
  void (*release)(byoc_module*);
  /// Optional; joins every thread. Called at most once per library, by the explicit shutdown at the
  /// end of a program (shutdown_plugins, which the commands call), after the last instance is
  /// closed, and never from static destructors. No PluginSet of the process can use the library
  /// afterwards. A failure is printed as a warning.
  byoc_status* (*shutdown)(void);
  /// Optional, since minor 1. Lists the layouts that the plugin computes in. Called before layouts
  /// are assigned, on the thread that compiles, for the machine of target_json ("{}": this one).
  /// The table lives with the instance until the next call.
  byoc_status* (*layouts)(byoc_instance*, byoc_str target_json, const byoc_layout* const** out,
                          uint64_t* n);
  /// Optional, since minor 1. Writes the code of the request's functions as text. Called by
  /// `byoc print --llvm` and `--asm`, on the thread that compiles; form: "llvm" or "asm".
  /// BYOC_UNIMPLEMENTED for a form that the plugin lacks.
  byoc_status* (*show)(byoc_instance*, const byoc_compile*, byoc_str form, const byoc_sink* out);
  /// Optional, since minor 3. Writes the knob space of the request's one function as JSON
  /// (docs/plugin-abi.md, "Knobs"), or nothing when the plugin has no choice there. Depends on the
  /// request alone, and not on the values of constants. Called on the thread that compiles or
  /// tunes, before compile.
  byoc_status* (*knobs)(byoc_instance*, const byoc_compile*, const byoc_sink* out);
  /// Optional, since minor 10. The slots of devices with memory of their own. A plugin that needs
  /// them sets min_host_minor to 10.
  const byoc_device_table* device;
} byoc_plugin;

/// The type of a plugin's entry. It sets *out to a table in static storage. Called once per
/// PluginSet that finds the plugin, on the thread that makes the set.
typedef byoc_status* (*byoc_plugin_entry_fn)(const byoc_host*, const byoc_plugin** out);
/// The one exported symbol, also when all else is hidden. The plugin defines it; only the host
/// calls it. All pointers in the table must be noexcept in C++.
__attribute__((visibility("default"))) byoc_status* byoc_plugin_entry_v1(
    const byoc_host*, const byoc_plugin** out) BYOC_NOEXCEPT;

/// The wrong index, when the run of a native function returns BYOC_OUT_OF_RANGE. Owned by the
/// runtime, filled by run.
typedef struct byoc_native_failure {
  byoc_hdr h;      ///< tag: BYOC_TAG_NATIVE_FAILURE
  byoc_str op;     ///< the op, such as "gather"; static in the module
  int64_t index;   ///< the value that is outside of [low, extent)
  int64_t low;     ///< the smallest index that is allowed
  int64_t extent;  ///< the end of the allowed indices
} byoc_native_failure;

/// One run of a native function. Owned by the runtime and valid until run returns.
typedef struct byoc_native_call {
  byoc_hdr h;  ///< tag: BYOC_TAG_NATIVE_CALL
  /// Inputs; constants that info marked as kept, in the function's order; packed constants, in the
  /// order of save; outputs. All are compact and aligned to 64 bytes.
  void* const* data;
  void* workspace;               ///< scratch memory, workspace_bytes of the function
  const byoc_host* host;         ///< for parallel_for and the like
  uint64_t call_id;              ///< for span; 0 when nothing is recorded
  byoc_native_failure* failure;  ///< since minor 2; optional: test with BYOC_HAS
  const int64_t* sizes;          ///< since minor 9, as byoc_call.sizes
} byoc_native_call;

/// One function of a native module. In static storage of the module.
typedef struct byoc_native_fn {
  byoc_hdr h;  ///< tag: BYOC_TAG_NATIVE_FN
  /// Computes the outputs; 0 = ok, else a byoc_code. Called per step of a run, from any thread and
  /// any number of them at once.
  int32_t (*run)(const byoc_native_call*);
  uint64_t workspace_bytes;  ///< scratch memory of one run, bytes, at most 2^48
  uint64_t workspace_align;  ///< bytes: a power of two up to 4096; 0 reads as 1
  /// Since minor 2, optional. The types of byoc_native_call.data, as in byoc_kernel_info: inputs
  /// and constants before "->", outputs after it. A packed constant of n bytes is u8[n].
  byoc_str signature;
  /// Since minor 9, as in byoc_kernel_info. workspace_bytes is then above 2^48, so that runtimes of
  /// earlier minors refuse the function.
  byoc_str open_workspace;
} byoc_native_fn;

/// A native module: an ELF shared object that the runtime loads without any plugin. In static
/// storage of the module.
typedef struct byoc_native_table {
  byoc_hdr h;                        ///< tag: BYOC_TAG_NATIVE_TABLE
  uint32_t abi_major;                ///< BYOC_ABI_MAJOR of its header; must be the runtime's
  uint32_t abi_minor;                ///< BYOC_ABI_MINOR of its header
  uint64_t n;                        ///< the number of functions, as in the manifest
  const byoc_native_fn* const* fns;  ///< fns[i] is the manifest's symbols[i]
} byoc_native_table;

/// The type of a native module's entry, BYOC_NATIVE_ENTRY_SYMBOL. Called once per module that is
/// loaded, on the thread that loads it.
typedef const byoc_native_table* (*byoc_native_entry_fn)(const byoc_host*);

/// Stops the build when a struct has padding after its last field. Used in this header.
#define BYOC_ASSERT_NO_TAIL(type, last)                                               \
  BYOC_STATIC_ASSERT(sizeof(type) == offsetof(type, last) + sizeof(((type*)0)->last), \
                     #type " has tail padding")
BYOC_ASSERT_NO_TAIL(byoc_host, packed_get);
BYOC_ASSERT_NO_TAIL(byoc_const, device_data);
BYOC_ASSERT_NO_TAIL(byoc_pattern, gbytes_s);
BYOC_ASSERT_NO_TAIL(byoc_machine_level, fill);
BYOC_ASSERT_NO_TAIL(byoc_machine, round_trip_ns);
BYOC_ASSERT_NO_TAIL(byoc_verdict, machine);
BYOC_ASSERT_NO_TAIL(byoc_function, point);
BYOC_ASSERT_NO_TAIL(byoc_compile, cancel);
BYOC_ASSERT_NO_TAIL(byoc_load, cancel);
BYOC_ASSERT_NO_TAIL(byoc_kernel_info, n_placement);
BYOC_ASSERT_NO_TAIL(byoc_call, sizes);
BYOC_ASSERT_NO_TAIL(byoc_sink, write);
BYOC_ASSERT_NO_TAIL(byoc_save, packed);
BYOC_ASSERT_NO_TAIL(byoc_device, capabilities);
BYOC_ASSERT_NO_TAIL(byoc_copy, stream);
BYOC_ASSERT_NO_TAIL(byoc_device_table, event_sync);
BYOC_ASSERT_NO_TAIL(byoc_plugin, device);
BYOC_ASSERT_NO_TAIL(byoc_layout, block);
BYOC_ASSERT_NO_TAIL(byoc_native_failure, extent);
BYOC_ASSERT_NO_TAIL(byoc_native_call, sizes);
BYOC_ASSERT_NO_TAIL(byoc_native_fn, open_workspace);
BYOC_ASSERT_NO_TAIL(byoc_native_table, fns);

#ifdef __cplusplus
}
#endif
#endif
