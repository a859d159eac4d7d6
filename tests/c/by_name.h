/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BYOC_TESTS_C_BY_NAME_H
#define BYOC_TESTS_C_BY_NAME_H
/* The functions of byoc/c as pointers, which main loads by name. */
#include <stddef.h>

#include "byoc/c/devices.h"
#include "byoc/c/states.h"

/* Every function of the headers, loaded by name. */
#define RUNTIME_FUNCTIONS(X)                                                                      \
  X(byoc_version)                                                                                 \
  X(byoc_c_api_minor)                                                                             \
  X(byoc_error_new)                                                                               \
  X(byoc_error_code)                                                                              \
  X(byoc_error_slug)                                                                              \
  X(byoc_error_message)                                                                           \
  X(byoc_error_where)                                                                             \
  X(byoc_error_help)                                                                              \
  X(byoc_error_text)                                                                              \
  X(byoc_error_free)                                                                              \
  X(byoc_text_free)                                                                               \
  X(byoc_options_new) X(byoc_options_set) X(byoc_options_free) X(byoc_canceller_new)              \
      X(byoc_canceller_cancel) X(byoc_canceller_free) X(byoc_register_plugin) X(byoc_plugin_host) \
          X(byoc_set_allocator) X(byoc_shutdown) X(byoc_program_load) X(byoc_program_load_memory) \
              X(byoc_program_save) X(byoc_program_size_count) X(byoc_program_size_label)          \
                  X(byoc_program_free) X(byoc_session_new) X(byoc_session_input_count)            \
                      X(byoc_session_output_count) X(byoc_session_input) X(byoc_session_output)   \
                          X(byoc_session_warning_count) X(byoc_session_warning)                   \
                              X(byoc_session_set_extern) X(byoc_session_free) X(byoc_context_new) \
                                  X(byoc_run) X(byoc_session_is_open) X(byoc_context_take_inputs) \
                                      X(byoc_context_output_shape) X(byoc_context_free)           \
                                          STATE_FUNCTIONS(X) DEVICE_FUNCTIONS(X)
#define DEVICE_FUNCTIONS(X)    \
  X(byoc_session_device_count) \
  X(byoc_session_device)       \
  X(byoc_device_memory_new)    \
  X(byoc_device_memory_write) X(byoc_device_memory_read) X(byoc_device_memory_free)
#define STATE_FUNCTIONS(X)          \
  X(byoc_session_state_count)       \
  X(byoc_session_state)             \
  X(byoc_session_state_output)      \
  X(byoc_session_state_is_in_place) \
  X(byoc_context_new_sharing)       \
  X(byoc_program_size_entry)        \
  X(byoc_program_find_entry)        \
  X(byoc_context_reset_states) X(byoc_context_get_state) X(byoc_context_set_state)
/* Those that take a model and return a text. */
#define MODEL_FUNCTIONS(X) \
  X(byoc_explain)          \
  X(byoc_verify)           \
  X(byoc_place)            \
  X(byoc_tune)             \
  X(byoc_partition) X(byoc_partition_svg) X(byoc_bench) X(byoc_profile) X(byoc_report)
#define COMPILE_FUNCTIONS(X) \
  X(byoc_compile_model)      \
  X(byoc_option_names) X(byoc_plugins) X(byoc_doctor) MODEL_FUNCTIONS(X)

#define DECLARE(name) extern __typeof__(&name) p_##name;
RUNTIME_FUNCTIONS(DECLARE)
COMPILE_FUNCTIONS(DECLARE)

/* Ends the program with the text of an error, when there is one. */
void check(byoc_error* error);
/* Returns options, and sets the folder of plugins. */
byoc_options* options_with(const char* plugins, const char* compiler);
/* Returns a tensor of that type. */
DLTensor view(const byoc_tensor_info* info, void* data);

/* Counts a fault when the error has not this code and slug. */
void expect(const char* call, byoc_error* error, enum byoc_code code, const char* slug);
#define EXPECT(code, slug, call) expect(#call, call, code, slug)
extern int faults;

/* Reaches the errors of every function. */
void reach_errors(const char* model, const char* plugins);

#endif
