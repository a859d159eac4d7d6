/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BYOC_C_TOOLS_H
#define BYOC_C_TOOLS_H
/// @file
/// Compiling, and what the commands of byoc do: the functions of libbyoc.so that
/// libbyoc_runtime.so.0 does not have. Programs include byoc/c/byoc.h.
///
/// `options` and `watch` may be NULL. Any number of threads may call these functions, byoc_place
/// and byoc_tune one at a time. The caller frees the texts with byoc_text_free. Functions for a
/// model have the options of byoc_compile_model, and those that their comments name. An option that
/// a function does not have, or a value that is not valid, is an error with the slug "usage".
#include "byoc/c/byoc.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Compiles an .onnx or .ir file. Options are the flags of `byoc compile`: "compiler", "shape",
/// "bind", "threads", "target", "level", ..., and "input", whose shapes set open sizes. Errors: as
/// the command.
BYOC_API byoc_error* byoc_compile_model(const char* model, const byoc_options* options,
                                        const byoc_watch* watch, byoc_program** out);
/// Returns the names of all options of compiling as JSON: [{"name":"threads","value":"N",...}].
BYOC_API byoc_error* byoc_option_names(char** json);

/* ---- models: what the commands of these names print with --json ---- */

/// Returns the plugin of each op, and the reasons of the others. Options: "op".
BYOC_API byoc_error* byoc_explain(const char* model, const byoc_options* options,
                                  const byoc_watch* watch, char** json);
/// Compares the outputs, and the values between regions, with a reference. A difference is no
/// error. Options: "against", "seed", "steps", "tolerance", and "output", which is the
/// folder of a wrong piece.
BYOC_API byoc_error* byoc_verify(const char* model, const byoc_options* options,
                                 const byoc_watch* watch, char** json);
/// Measures which plugin runs each op fastest. Options: "rounds", "improve", "min-time", "timeout",
/// "estimates", "no-check", "plan-file", "output".
BYOC_API byoc_error* byoc_place(const char* model, const byoc_options* options,
                                const byoc_watch* watch, char** json);
/// Measures the choices that plugins have. Options: "log" and "program" (the command byoc, which
/// has the workers), both required; "trials", "budget", "task", "seed", "jobs", "build-limit",
/// "run-limit", "starts", "observations".
BYOC_API byoc_error* byoc_tune(const char* model, const byoc_options* options,
                               const byoc_watch* watch, char** json);
/// Cuts the model into regions. Options: "output" (the file of the module; "-": it is the member
/// "text"), "svg" (the file of the picture). Since minor 2.
BYOC_API byoc_error* byoc_partition(const char* model, const byoc_options* options,
                                    const byoc_watch* watch, char** json);
/// Returns the picture of `byoc partition --svg`. Since minor 2.
BYOC_API byoc_error* byoc_partition_svg(const char* model, const byoc_options* options,
                                        const byoc_watch* watch, char** svg);
/// Times a model, an artifact, or a folder of byoc dump, after comparing its outputs with those of
/// the reference. Options: "seed", "rounds", "min-time", "warmup", "vs", "region", "observations",
/// "tolerance", "no-check", "no-peaks", "no-native"; "threads" may be a list, "1,2". With "op",
/// "attr" and "weight" it times an op, and the model is NULL. Errors: slug "bench-mismatch" for
/// wrong outputs, which are not timed. Since minor 2.
BYOC_API byoc_error* byoc_bench(const char* model, const byoc_options* options,
                                const byoc_watch* watch, char** json);
/// Runs a model or an artifact with a clock around each step, as `byoc run --profile`. Options:
/// "seed", "trace" (a file), "no-native". Since minor 2.
BYOC_API byoc_error* byoc_profile(const char* model, const byoc_options* options,
                                  const byoc_watch* watch, char** json);
/// Explains, compiles and times a model, and writes the page of `byoc report` to the file of the
/// option "output"; without it there is no page. Options: "seed", "rounds", "min-time", "warmup",
/// "vs", "costs", "tolerance", "no-check", "no-run". When it is cancelled after the first
/// explanation, the result has what was done until then, and its member "interrupted" is true.
/// Since minor 2.
BYOC_API byoc_error* byoc_report(const char* model, const byoc_options* options,
                                 const byoc_watch* watch, char** json);

/* ---- the installation ---- */

/// Returns the plugins that were found, and the reasons of those that were refused, which are no
/// error: what `byoc plugins --json` prints. Options: "plugin", "plugin-option". Since minor 2.
BYOC_API byoc_error* byoc_plugins(const byoc_options* options, const byoc_watch* watch,
                                  char** json);
/// Returns what byoc runs on and what is wrong with it, as `byoc doctor --json`. Options: "plugin",
/// "plugin-option", "min-free". Since minor 2.
BYOC_API byoc_error* byoc_doctor(const byoc_options* options, const byoc_watch* watch, char** json);

/// Is the command `byoc`: what its program's main does, with the exit code as the result. Handles
/// signals, prints, and ends the use of plugins in this process. A process calls it once, on its
/// main thread. Since minor 2.
BYOC_API int byoc_command(int argc, char** argv);

#ifdef __cplusplus
}
#endif
#endif
