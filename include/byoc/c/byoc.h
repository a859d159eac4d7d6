/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BYOC_C_BYOC_H
#define BYOC_C_BYOC_H
/// @file
/// byoc for programs in C, and in every language that can call C. Two shared libraries have it:
/// libbyoc_runtime.so.0 loads and runs compiled models, libbyoc.so.0 does that and the rest. A
/// program links one of them, or opens it with dlopen.
///
/// Functions that can fail return a byoc_error, NULL for success; the caller frees it. Results are
/// written to the last argument when there is no error, and to nothing else. Handles are freed by
/// the function of their name; freeing NULL has no effect. Texts are UTF-8 and end with a null
/// byte; `const char*` results live as long as the handle that they come from.
///
/// Here is what both libraries have; byoc/c/tools.h, which comes with it, has what only libbyoc.so
/// has: compiling, and the work of the commands.
///
/// No exception leaves a function. A handle may be used by several threads at a time where its
/// description states it. Within a soname, functions are added and never removed or changed.
#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#include "byoc/plugin/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Mark functions that both libraries have, and those that only libbyoc.so has.
#define BYOC_RUNTIME_API __attribute__((visibility("default")))
#define BYOC_API __attribute__((visibility("default")))

/// The version of this header: grows with each addition. Functions without another statement are of
/// minor 1.
#define BYOC_C_API_MINOR 6

/// Returns the version of the library, "0.1.0".
BYOC_RUNTIME_API const char* byoc_version(void);
/// Returns BYOC_C_API_MINOR of the library: it has all functions of headers up to that minor.
BYOC_RUNTIME_API uint32_t byoc_c_api_minor(void);

/* ---- errors ---- */

/// An error. Immutable; any thread may read it.
typedef struct byoc_error byoc_error;
/// Makes an error, for functions of the program that byoc calls. `message` is copied.
BYOC_RUNTIME_API byoc_error* byoc_error_new(enum byoc_code code, const char* message);
BYOC_RUNTIME_API enum byoc_code byoc_error_code(const byoc_error* error);
/// Returns a short stable name, "unknown-plugin"; "" when there is none.
BYOC_RUNTIME_API const char* byoc_error_slug(const byoc_error* error);
/// Returns the fault, with the value at fault.
BYOC_RUNTIME_API const char* byoc_error_message(const byoc_error* error);
/// Returns the file, pass or node; "" when there is none.
BYOC_RUNTIME_API const char* byoc_error_where(const byoc_error* error);
/// Returns the next step for the user; "" when there is none.
BYOC_RUNTIME_API const char* byoc_error_help(const byoc_error* error);
/// Returns all of it, as the commands print it, without a newline at the end.
BYOC_RUNTIME_API const char* byoc_error_text(const byoc_error* error);
BYOC_RUNTIME_API void byoc_error_free(byoc_error* error);
/// Frees a text that a function gave the caller.
BYOC_RUNTIME_API void byoc_text_free(char* text);

/* ---- options, progress, cancelling ---- */

/// Options by name, as the commands have them as flags: "threads", "compiler", "shape". One thread
/// at a time may set them; any number may use them.
typedef struct byoc_options byoc_options;
BYOC_RUNTIME_API byoc_error* byoc_options_new(byoc_options** out);
/// Sets an option; one that may be given several times gets a further value. A flag such as
/// "strict" has the value "" or NULL. Names and values are checked by the functions that use them,
/// which report an option that they do not have.
BYOC_RUNTIME_API byoc_error* byoc_options_set(byoc_options* options, const char* name,
                                              const char* value);
BYOC_RUNTIME_API void byoc_options_free(byoc_options* options);

/// Ends work from another thread or a signal handler.
typedef struct byoc_canceller byoc_canceller;
BYOC_RUNTIME_API byoc_error* byoc_canceller_new(byoc_canceller** out);
/// Cancels, for good, all work that was given this canceller: it ends with BYOC_CANCELLED and the
/// slug "interrupted". May be called in a signal handler.
BYOC_RUNTIME_API void byoc_canceller_cancel(byoc_canceller* canceller);
/// No work that was given it, and no session, may be left.
BYOC_RUNTIME_API void byoc_canceller_free(byoc_canceller* canceller);

/// Called during long work: what is done and how much of it; `total` 0 means that it is not known.
typedef void (*byoc_progress_fn)(void* user, const char* what, uint64_t done, uint64_t total);
/// The caller's view of work. Set `size` to sizeof(byoc_watch), or the functions that take it
/// return an error with the slug "watch-size"; the rest may be zero.
typedef struct byoc_watch {
  size_t size;
  byoc_canceller* cancel;
  byoc_progress_fn progress;  ///< called by the thread that called byoc
  void* user;                 ///< passed to `progress`
} byoc_watch;

/* ---- plugins ---- */

/// Adds a plugin that is a part of the program, or written in another language. `table` is filled
/// as a plugin's entry fills it (byoc/plugin/abi.h), and lives until the process ends. Every search
/// for plugins that begins later finds it first. Thread-safe. Errors: what is wrong with the table;
/// BYOC_ALREADY_EXISTS for an id that is registered.
BYOC_RUNTIME_API byoc_error* byoc_register_plugin(const byoc_plugin* table);
/// Returns the services of byoc for the entry of such a plugin: entry(byoc_plugin_host(), &table).
BYOC_RUNTIME_API const byoc_host* byoc_plugin_host(void);

/// The memory of contexts, from the program: arenas, workspaces and copied tensors. The threads
/// that make and free contexts call it, several at a time.
typedef struct byoc_allocator {
  size_t size;  ///< sizeof(byoc_allocator)
  /// Returns memory at a multiple of `alignment`, a power of two; NULL: there is none.
  void* (*allocate)(void* user, size_t bytes, size_t alignment);
  void (*release)(void* user, void* memory, size_t bytes);
  void* user;  ///< passed to both; lives as long as contexts that were made with it
} byoc_allocator;
/// Sets the allocator of contexts that are made later, and copies the struct; NULL: that of the
/// system. Thread-safe. Errors: slug "null-argument", "allocator-size". Since minor 2.
BYOC_RUNTIME_API byoc_error* byoc_set_allocator(const byoc_allocator* allocator);

/// Ends the use of plugins in this process. Call it last, when no handle is left.
BYOC_RUNTIME_API void byoc_shutdown(void);

/// A compiled model, of one size or several. Immutable; any thread may use it.
typedef struct byoc_program byoc_program;
/// Reads an artifact. Its weights stay in the file, which is mapped.
BYOC_RUNTIME_API byoc_error* byoc_program_load(const char* path, byoc_program** out);
/// Reads an artifact from memory, which is copied.
BYOC_RUNTIME_API byoc_error* byoc_program_load_memory(const void* data, size_t size,
                                                      byoc_program** out);
/// Writes an artifact: completely, or not at all.
BYOC_RUNTIME_API byoc_error* byoc_program_save(const byoc_program* program, const char* path);
/// Returns the number of sizes, 1 or more.
BYOC_RUNTIME_API size_t byoc_program_size_count(const byoc_program* program);
/// Returns the label of size k, "N=4"; "" in a program of one size, and for k that is too large.
BYOC_RUNTIME_API const char* byoc_program_size_label(const byoc_program* program, size_t k);
BYOC_RUNTIME_API void byoc_program_free(byoc_program* program);

/* ---- sessions ---- */

/// A program that is loaded for running. Immutable after byoc_session_set_extern; any number of
/// threads may run it, each with a context of its own. It needs no handle that it was made from,
/// but the canceller of its watch.
typedef struct byoc_session byoc_session;
/// Loads size k of a program. Options: "threads" (0: all cores), "plugin", "plugin-option",
/// "no-native", "check", "isolate", "isolate-plugin". `options` and `watch` may be NULL.
BYOC_RUNTIME_API byoc_error* byoc_session_new(const byoc_program* program, size_t k,
                                              const byoc_options* options, const byoc_watch* watch,
                                              byoc_session** out);
/// An input or output.
typedef struct byoc_tensor_info {
  const char* name;
  DLDataType dtype;  ///< of bool: code 6 (kDLBool), 8 bits; runs take unsigned bytes, too
  int32_t ndim;
  const int64_t* shape;  ///< the extents; bounds for dims that a run counts, and for open ones
} byoc_tensor_info;
BYOC_RUNTIME_API size_t byoc_session_input_count(const byoc_session* session);
BYOC_RUNTIME_API size_t byoc_session_output_count(const byoc_session* session);
/// Errors: BYOC_OUT_OF_RANGE.
BYOC_RUNTIME_API byoc_error* byoc_session_input(const byoc_session* session, size_t k,
                                                byoc_tensor_info* out);
BYOC_RUNTIME_API byoc_error* byoc_session_output(const byoc_session* session, size_t k,
                                                 byoc_tensor_info* out);
/// Returns 1 when runs count extents of output k, else 0. Since minor 2.
BYOC_RUNTIME_API int32_t byoc_session_output_is_counted(const byoc_session* session, size_t k);
/// Returns 1 when a run takes every size within bounds, else 0. Since minor 3.
BYOC_RUNTIME_API int32_t byoc_session_is_open(const byoc_session* session);
/// Return the number of warnings of loading, and warning k ("" for k that is too large).
BYOC_RUNTIME_API size_t byoc_session_warning_count(const byoc_session* session);
BYOC_RUNTIME_API const char* byoc_session_warning(const byoc_session* session, size_t k);

/// A function of the program that a model calls. Returns NULL or an error, which byoc frees.
typedef byoc_error* (*byoc_extern_fn)(void* user, const DLTensor* inputs, size_t n_in,
                                      DLTensor* outputs, size_t n_out);
/// Sets the function of an extern, before the first run. Errors: BYOC_NOT_FOUND.
BYOC_RUNTIME_API byoc_error* byoc_session_set_extern(byoc_session* session, const char* symbol,
                                                     byoc_extern_fn function, void* user);
BYOC_RUNTIME_API void byoc_session_free(byoc_session* session);

/// The memory of one caller of a session, which outlives it. Has one run at a time.
typedef struct byoc_context byoc_context;
BYOC_RUNTIME_API byoc_error* byoc_context_new(const byoc_session* session, byoc_context** out);
/// Runs: reads `inputs` and writes `outputs`, on the CPU or, since minor 6, on a device of the
/// program, in the order of the session. Allocates nothing. Inputs may have strides; outputs are
/// compact, of the shape of byoc_session_output, or byoc_context_take_inputs. Errors: slug "input-"
/// or "output-" and "count", "dtype", "shape", "size", "data"; "output-overlap", "run-failed".
BYOC_RUNTIME_API byoc_error* byoc_run(byoc_context* context, const DLTensor* inputs, size_t n_in,
                                      DLTensor* outputs, size_t n_out);
/// Gives byoc_context_output_shape the shapes that open sizes of `n` inputs make. Since minor 3.
BYOC_RUNTIME_API byoc_error* byoc_context_take_inputs(byoc_context*, const DLTensor*, size_t n);
/// Returns the shape of output k of the last run, with numbers for the dims that it counted, or of
/// byoc_context_take_inputs. Valid until the next of these calls. Errors: BYOC_OUT_OF_RANGE.
BYOC_RUNTIME_API byoc_error* byoc_context_output_shape(const byoc_context* context, size_t k,
                                                       const int64_t** shape, int32_t* ndim);
BYOC_RUNTIME_API void byoc_context_free(byoc_context* context);

#ifdef __cplusplus
}
#endif

#include "byoc/c/tools.h"
#endif
