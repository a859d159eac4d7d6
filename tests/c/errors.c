/* SPDX-License-Identifier: Apache-2.0 */
/* The errors of every function of byoc/c/byoc.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "by_name.h"

int faults;
/* Prints the error of a call; it is a fault when there is none, or no help where one is due. */
void expect(const char* call, byoc_error* error, enum byoc_code code, const char* slug) {
  if (error == NULL || p_byoc_error_code(error) != code ||
      strcmp(p_byoc_error_slug(error), slug) != 0) {
    printf("%s: code %d \"%s\", expected %d \"%s\": %s\n", call, (int)p_byoc_error_code(error),
           p_byoc_error_slug(error), (int)code, slug, p_byoc_error_message(error));
    ++faults;
  }
  p_byoc_error_free(error);
}

static byoc_error* failing_extern(void* user, const DLTensor* in, size_t n_in, DLTensor* out,
                                  size_t n_out) {
  (void)user, (void)in, (void)n_in, (void)out, (void)n_out;
  return p_byoc_error_new(BYOC_ABORTED, "given up by a test");
}

static const enum byoc_code bad = BYOC_INVALID_ARGUMENT;

/* Arguments that are NULL. */
static void reach_null_arguments(const char* model) {
  byoc_options* options = NULL;
  byoc_program* program = NULL;
  byoc_session* session = NULL;
  byoc_context* context = NULL;
  byoc_tensor_info info;
  const char* null = "null-argument";
  check(p_byoc_options_new(&options));
  EXPECT(bad, null, p_byoc_options_new(NULL));
  EXPECT(bad, null, p_byoc_options_set(NULL, "a", "b"));
  EXPECT(bad, null, p_byoc_options_set(options, NULL, "b"));
  EXPECT(bad, null, p_byoc_canceller_new(NULL));
  EXPECT(bad, null, p_byoc_register_plugin(NULL));
  EXPECT(bad, "allocator-size", p_byoc_set_allocator(&(byoc_allocator){0, NULL, NULL, NULL}));
  EXPECT(bad, null, p_byoc_set_allocator(&(byoc_allocator){sizeof(byoc_allocator), 0, 0, 0}));
  EXPECT(bad, null, p_byoc_program_load(NULL, &program));
  EXPECT(bad, null, p_byoc_program_load(model, NULL));
  EXPECT(BYOC_NOT_FOUND, "file", p_byoc_program_load("/no/such/file", &program));
  EXPECT(BYOC_DATA_LOSS, "artifact-corrupt", p_byoc_program_load_memory("garbage", 7, &program));
  EXPECT(bad, null, p_byoc_program_load_memory(NULL, 7, &program));
  EXPECT(bad, null, p_byoc_program_save(NULL, "/tmp/x"));
  EXPECT(bad, null, p_byoc_session_new(NULL, 0, NULL, NULL, &session));
  EXPECT(bad, null, p_byoc_session_input(NULL, 0, &info));
  EXPECT(bad, null, p_byoc_session_output(NULL, 0, &info));
  EXPECT(bad, null, p_byoc_session_set_extern(NULL, "f", failing_extern, NULL));
  EXPECT(bad, null, p_byoc_context_new(NULL, &context));
  EXPECT(bad, null, p_byoc_run(NULL, NULL, 0, NULL, 0));
  EXPECT(bad, null, p_byoc_context_output_shape(NULL, 0, NULL, NULL));
  EXPECT(bad, null, p_byoc_context_take_inputs(NULL, NULL, 0));
  p_byoc_options_free(options);
}

static void reach_null_arguments_of_tools(const char* model) {
  byoc_program* program = NULL;
  char* json = NULL;
  const char* null = "null-argument";
  EXPECT(bad, null, p_byoc_compile_model(NULL, NULL, NULL, &program));
  EXPECT(bad, null, p_byoc_option_names(NULL));
  EXPECT(bad, null, p_byoc_explain(model, NULL, NULL, NULL));
  EXPECT(bad, null, p_byoc_verify(NULL, NULL, NULL, &json));
  EXPECT(bad, null, p_byoc_place(NULL, NULL, NULL, &json));
  EXPECT(bad, null, p_byoc_tune(NULL, NULL, NULL, &json));
  EXPECT(bad, null, p_byoc_partition(NULL, NULL, NULL, &json));
  EXPECT(bad, null, p_byoc_partition(model, NULL, NULL, NULL));
  EXPECT(bad, null, p_byoc_partition_svg(NULL, NULL, NULL, &json));
  EXPECT(bad, null, p_byoc_partition_svg(model, NULL, NULL, NULL));
  EXPECT(bad, null, p_byoc_bench(NULL, NULL, NULL, &json));
  EXPECT(bad, null, p_byoc_bench(model, NULL, NULL, NULL));
  EXPECT(bad, null, p_byoc_profile(NULL, NULL, NULL, &json));
  EXPECT(bad, null, p_byoc_profile(model, NULL, NULL, NULL));
  EXPECT(bad, null, p_byoc_report(NULL, NULL, NULL, &json));
  EXPECT(bad, null, p_byoc_report(model, NULL, NULL, NULL));
  EXPECT(bad, null, p_byoc_plugins(NULL, NULL, NULL));
  EXPECT(bad, null, p_byoc_doctor(NULL, NULL, NULL));
}

/* Models and options that are wrong. */
static void reach_wrong_options(const char* model, const char* plugins) {
  byoc_options* options = options_with(plugins, "json");
  byoc_program* program = NULL;
  char* json = NULL;
  EXPECT(bad, "model-file", p_byoc_compile_model("/no/such.onnx", options, NULL, &program));
  EXPECT(bad, "usage", p_byoc_tune(model, options, NULL, &json));
  check(p_byoc_options_set(options, "shape", "N=1"));
  check(p_byoc_options_set(options, "thread", "1"));
  EXPECT(BYOC_NOT_FOUND, "usage", p_byoc_compile_model(model, options, NULL, &program));
  EXPECT(BYOC_NOT_FOUND, "usage", p_byoc_explain(model, options, NULL, &json));
  p_byoc_options_free(options);

  options = options_with(plugins, "missing");
  check(p_byoc_options_set(options, "shape", "N=1"));
  EXPECT(BYOC_NOT_FOUND, "unknown-plugin", p_byoc_compile_model(model, options, NULL, &program));
  EXPECT(BYOC_NOT_FOUND, "unknown-plugin", p_byoc_verify(model, options, NULL, &json));
  EXPECT(BYOC_NOT_FOUND, "unknown-plugin", p_byoc_place(model, options, NULL, &json));
  EXPECT(BYOC_NOT_FOUND, "unknown-plugin", p_byoc_partition(model, options, NULL, &json));
  EXPECT(BYOC_NOT_FOUND, "unknown-plugin", p_byoc_partition_svg(model, options, NULL, &json));
  EXPECT(BYOC_NOT_FOUND, "unknown-plugin", p_byoc_profile(model, options, NULL, &json));
  EXPECT(BYOC_NOT_FOUND, "unknown-plugin", p_byoc_bench(model, options, NULL, &json));
  EXPECT(BYOC_NOT_FOUND, "unknown-plugin", p_byoc_report(model, options, NULL, &json));
  EXPECT(BYOC_NOT_FOUND, "usage", p_byoc_plugins(options, NULL, &json));
  EXPECT(BYOC_NOT_FOUND, "usage", p_byoc_doctor(options, NULL, &json));
  p_byoc_options_free(options);
}

/* Values of options that the new functions refuse, and a file that cannot be written. */
static void reach_wrong_values(const char* model, const char* plugins) {
  static const struct {
    const char *name, *value;
    byoc_error* (**call)(const char*, const byoc_options*, const byoc_watch*, char**);
    enum byoc_code code;
    const char* slug;
  } rows[] = {
      {"svg", "net.png", &p_byoc_partition, BYOC_INVALID_ARGUMENT, "usage"},
      {"output", "/no/such/folder/net.ir", &p_byoc_partition, BYOC_NOT_FOUND, "file"},
      {"svg", "net.svg", &p_byoc_partition_svg, BYOC_NOT_FOUND, "usage"},
      {"rounds", "0", &p_byoc_bench, BYOC_INVALID_ARGUMENT, "usage"},
      {"threads", "1,x", &p_byoc_bench, BYOC_INVALID_ARGUMENT, "usage"},
      {"vs", "compiler", &p_byoc_bench, BYOC_INVALID_ARGUMENT, "usage"},
      {"no-check", "yes", &p_byoc_bench, BYOC_INVALID_ARGUMENT, "usage"},
      {"seed", "-1", &p_byoc_profile, BYOC_INVALID_ARGUMENT, "usage"},
      {"input", "z=1", &p_byoc_profile, BYOC_NOT_FOUND, "unknown-input"},
      {"output", "net.png", &p_byoc_report, BYOC_INVALID_ARGUMENT, "usage"},
      {"costs", "/no/such/costs.json", &p_byoc_report, BYOC_NOT_FOUND, "file"},
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
    byoc_options* options = options_with(plugins, "json");
    char* json = NULL;
    check(p_byoc_options_set(options, "shape", "N=1"));
    check(p_byoc_options_set(options, rows[k].name, rows[k].value));
    expect(rows[k].value, (*rows[k].call)(model, options, NULL, &json), rows[k].code, rows[k].slug);
    p_byoc_options_free(options);
  }
  byoc_options* options = options_with(plugins, NULL);
  char* json = NULL;
  check(p_byoc_options_set(options, "plugin-option", "json"));
  EXPECT(bad, "usage", p_byoc_plugins(options, NULL, &json));
  EXPECT(bad, "usage", p_byoc_doctor(options, NULL, &json));
  p_byoc_options_free(options);
}

/* A watch of a size that no header had: nothing in it is read. */
static void reach_wrong_watch(const char* model, const char* plugins) {
  byoc_options* options = options_with(plugins, "json");
  byoc_program* program = NULL;
  byoc_session* session = NULL;
  char* json = NULL;
  const byoc_watch unsized = {0, (byoc_canceller*)16, NULL, NULL};
  check(p_byoc_options_set(options, "shape", "N=1"));
  EXPECT(bad, "watch-size", p_byoc_compile_model(model, options, &unsized, &program));
  EXPECT(bad, "watch-size", p_byoc_explain(model, options, &unsized, &json));
  EXPECT(bad, "watch-size", p_byoc_bench(model, options, &unsized, &json));
  check(p_byoc_compile_model(model, options, NULL, &program));
  EXPECT(bad, "watch-size", p_byoc_session_new(program, 0, NULL, &unsized, &session));
  p_byoc_program_free(program);
  p_byoc_options_free(options);
}

/* Of a session without devices. */
static void reach_device_errors(const byoc_session* session) {
  byoc_used_device device;
  byoc_device_memory* memory = NULL;
  char bytes[4];
  if (p_byoc_session_device_count(session) != 0) {
    fprintf(stderr, "a program of the host uses a device\n");
    exit(1);
  }
  EXPECT(BYOC_OUT_OF_RANGE, "", p_byoc_session_device(session, 0, &device));
  EXPECT(bad, "null-argument", p_byoc_session_device(session, 0, NULL));
  EXPECT(BYOC_OUT_OF_RANGE, "", p_byoc_device_memory_new(session, 0, 4, &memory));
  EXPECT(bad, "null-argument", p_byoc_device_memory_new(session, 0, 4, NULL));
  EXPECT(bad, "null-argument", p_byoc_device_memory_write(NULL, bytes, 4));
  EXPECT(bad, "null-argument", p_byoc_device_memory_read(NULL, bytes, 4));
  p_byoc_device_memory_free(NULL);
}

static void reach_run_errors(const byoc_program* program) {
  byoc_session* session = NULL;
  byoc_context* context = NULL;
  byoc_tensor_info info;
  check(p_byoc_session_new(program, 0, NULL, NULL, &session));
  EXPECT(BYOC_OUT_OF_RANGE, "", p_byoc_session_input(session, 1, &info));
  EXPECT(BYOC_OUT_OF_RANGE, "", p_byoc_session_output(session, 9, &info));
  EXPECT(BYOC_NOT_FOUND, "unknown-extern",
         p_byoc_session_set_extern(session, "f", failing_extern, NULL));
  reach_device_errors(session);
  check(p_byoc_context_new(session, &context));
  EXPECT(bad, "input-count", p_byoc_run(context, NULL, 0, NULL, 0));
  EXPECT(bad, "input-count", p_byoc_context_take_inputs(context, NULL, 0));
  if (p_byoc_session_is_open(session) || p_byoc_session_is_open(NULL)) {
    fprintf(stderr, "a program of one size is open\n");
    exit(1);
  }
  check(p_byoc_session_input(session, 0, &info));
  DLTensor x = view(&info, NULL);
  x.dtype.bits = 64;
  DLTensor y = x;
  EXPECT(bad, "output-dtype", p_byoc_run(context, &x, 1, &y, 1));
  const int64_t* shape;
  int32_t ndim;
  EXPECT(BYOC_OUT_OF_RANGE, "", p_byoc_context_output_shape(context, 5, &shape, &ndim));
  byoc_context* other = NULL;
  EXPECT(BYOC_OUT_OF_RANGE, "", p_byoc_session_state(session, 0, &info));
  EXPECT(BYOC_NOT_FOUND, "unknown-state", p_byoc_context_new_sharing(session, context, &other));
  EXPECT(BYOC_NOT_FOUND, "unknown-state", p_byoc_context_reset_states(context));
  EXPECT(BYOC_NOT_FOUND, "unknown-state", p_byoc_context_get_state(context, "past", &x));
  EXPECT(BYOC_NOT_FOUND, "unknown-state", p_byoc_context_set_state(context, "past", &x));
  p_byoc_context_free(context);
  p_byoc_session_free(session);
}

static void* give_nothing(void* user, size_t bytes, size_t alignment) {
  (void)user, (void)bytes, (void)alignment;
  return NULL;
}
static char unaligned[1 << 20];
static void* give_unaligned(void* user, size_t bytes, size_t alignment) {
  (void)user;
  if (bytes >= sizeof unaligned - 2 * alignment) exit(1);
  return unaligned + alignment - (uintptr_t)unaligned % alignment + 1;
}
static void take_back(void* user, void* memory, size_t bytes) {
  (void)user, (void)memory, (void)bytes;
}

/* Allocators of the program without memory, and with memory that is not aligned. */
static void reach_allocator_errors(const byoc_program* program) {
  byoc_session* session = NULL;
  byoc_context* context = NULL;
  byoc_allocator own = {sizeof own, give_nothing, take_back, NULL};
  check(p_byoc_session_new(program, 0, NULL, NULL, &session));
  check(p_byoc_set_allocator(&own));
  EXPECT(BYOC_RESOURCE_EXHAUSTED, "no-memory", p_byoc_context_new(session, &context));
  own.allocate = give_unaligned;
  check(p_byoc_set_allocator(&own));
  EXPECT(bad, "allocator", p_byoc_context_new(session, &context));
  check(p_byoc_set_allocator(NULL));
  check(p_byoc_context_new(session, &context));
  p_byoc_context_free(context);
  p_byoc_session_free(session);
}

/* Cancelled work, and sessions of a program. */
static void reach_program_errors(const char* model, const char* plugins) {
  byoc_program* program = NULL;
  byoc_session* session = NULL;
  byoc_options* options = options_with(plugins, "json");
  check(p_byoc_options_set(options, "shape", "N=1"));
  byoc_canceller* canceller = NULL;
  check(p_byoc_canceller_new(&canceller));
  p_byoc_canceller_cancel(canceller);
  byoc_watch cancelled = {sizeof cancelled, canceller, NULL, NULL};
  EXPECT(BYOC_CANCELLED, "interrupted", p_byoc_compile_model(model, options, &cancelled, &program));
  check(p_byoc_compile_model(model, options, NULL, &program));
  EXPECT(BYOC_OUT_OF_RANGE, "", p_byoc_session_new(program, 1, NULL, NULL, &session));
  EXPECT(BYOC_NOT_FOUND, "usage", p_byoc_session_new(program, 0, options, NULL, &session));
  EXPECT(BYOC_CANCELLED, "interrupted", p_byoc_session_new(program, 0, NULL, &cancelled, &session));
  size_t first, count;
  EXPECT(bad, "null-argument", p_byoc_program_find_entry(NULL, NULL, &first, &count));
  EXPECT(bad, "null-argument", p_byoc_program_find_entry(program, NULL, NULL, &count));
  EXPECT(BYOC_NOT_FOUND, "unknown-entry",
         p_byoc_program_find_entry(program, "decode", &first, &count));
  EXPECT(BYOC_NOT_FOUND, "file", p_byoc_program_save(program, "/no/such/folder/x.byoc"));
  char* json = NULL;
  EXPECT(BYOC_CANCELLED, "interrupted", p_byoc_bench(model, options, &cancelled, &json));
  EXPECT(BYOC_CANCELLED, "interrupted", p_byoc_profile(model, options, &cancelled, &json));
  EXPECT(BYOC_CANCELLED, "interrupted", p_byoc_report(model, options, &cancelled, &json));
  reach_run_errors(program);
  reach_allocator_errors(program);
  p_byoc_program_free(program);
  p_byoc_canceller_free(canceller);
  p_byoc_options_free(options);
}

void reach_errors(const char* model, const char* plugins) {
  reach_null_arguments(model);
  reach_null_arguments_of_tools(model);
  reach_wrong_options(model, plugins);
  reach_wrong_values(model, plugins);
  reach_wrong_watch(model, plugins);
  reach_program_errors(model, plugins);
  /* Freeing nothing has no effect, and an absent error reads as success. */
  p_byoc_error_free(NULL), p_byoc_text_free(NULL), p_byoc_options_free(NULL);
  p_byoc_canceller_free(NULL), p_byoc_program_free(NULL), p_byoc_session_free(NULL);
  p_byoc_context_free(NULL), p_byoc_canceller_cancel(NULL);
  if (p_byoc_error_code(NULL) != BYOC_OK || *p_byoc_error_help(NULL) || *p_byoc_error_where(NULL))
    ++faults;
  printf("%d faults\n", faults);
  if (faults != 0) exit(1);
}
