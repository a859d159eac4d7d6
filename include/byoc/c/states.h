/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BYOC_C_STATES_H
#define BYOC_C_STATES_H
/// @file
/// States: values that a context keeps from run to run (docs/state.md). A program has them when it
/// was compiled with the option "state"; they are no arguments of byoc_run.
///
/// All functions but the last two are of minor 4. A state has the name of its input, or that of its
/// output. One run, or one of these functions, at a time uses the states of a context; another one
/// at that time is an error with the slug "state-in-use".
#include "byoc/c/byoc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- states ---- */

/// Returns how many states a context of the session has.
BYOC_RUNTIME_API size_t byoc_session_state_count(const byoc_session* session);
/// Describes state k, with the name of its input. Errors: BYOC_OUT_OF_RANGE.
BYOC_RUNTIME_API byoc_error* byoc_session_state(const byoc_session* session, size_t k,
                                                byoc_tensor_info* out);
/// Returns the name of the output of state k, "" for no state. Lives as long as the session.
BYOC_RUNTIME_API const char* byoc_session_state_output(const byoc_session* session, size_t k);
/// Returns 1 when runs write state k over its old value, else 0.
BYOC_RUNTIME_API int32_t byoc_session_state_is_in_place(const byoc_session* session, size_t k);
/// Makes a context with the states of `other`, a context of the same model for other sizes. One of
/// the two runs at a time. Errors: as byoc_context_new; slug "state-type", "unknown-state".
BYOC_RUNTIME_API byoc_error* byoc_context_new_sharing(const byoc_session* session,
                                                      const byoc_context* other,
                                                      byoc_context** out);
/// Sets all states to zeros, as they are in a new context.
BYOC_RUNTIME_API byoc_error* byoc_context_reset_states(byoc_context* context);
/// Copies a state to `to`, which is compact and of its type. Errors: slug "unknown-state",
/// "state-dtype", "state-shape"; "state-broken" after a run that failed in the middle.
BYOC_RUNTIME_API byoc_error* byoc_context_get_state(const byoc_context* context, const char* name,
                                                    const DLTensor* to);
/// Sets a state from a tensor of its type, which may have strides. Errors: as
/// byoc_context_get_state, but for "state-broken".
BYOC_RUNTIME_API byoc_error* byoc_context_set_state(byoc_context* context, const char* name,
                                                    const DLTensor* from);

/* ---- files of several models ---- */

/// Returns the name of the model that size k is of, "decode", in a file of several (byoc join); ""
/// in other files, and for k that is too large. Minor 5, as the next function.
BYOC_RUNTIME_API const char* byoc_program_size_entry(const byoc_program* program, size_t k);
/// Finds the sizes of a model, which are *first, *first + 1, ... *first + *count - 1. NULL names
/// the only model. Errors: slug "unknown-entry", with the names that there are; slug
/// "artifact-entries" for NULL in a file of several.
BYOC_RUNTIME_API byoc_error* byoc_program_find_entry(const byoc_program* program, const char* name,
                                                     size_t* first, size_t* count);

#ifdef __cplusplus
}
#endif
#endif
