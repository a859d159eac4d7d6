/* SPDX-License-Identifier: Apache-2.0 */
/* A program in C99 that uses byoc by dlopen alone.
 *   c_program compile LIBRARY MODEL PLUGINS ARTIFACT     compiles MODEL, saves it
 *   c_program run LIBRARY ARTIFACT PLUGINS OUTPUT        loads it from memory, runs it in 8 threads
 *                                                        on ones, writes the first output's bytes
 *   c_program json LIBRARY MODEL PLUGINS COMMAND NAME=VALUE...   prints what byoc_COMMAND gives;
 *                                                        MODEL - is no model
 *   c_program errors LIBRARY MODEL PLUGINS               reaches the errors of every function
 *   c_program register LIBRARY MODEL PLUGINS             runs MODEL by a plugin of this program
 *   c_program allocator LIBRARY ARTIFACT PLUGINS         counts the memory of contexts
 *   c_program states LIBRARY ARTIFACT PLUGINS            runs a model with a state of 4 floats on
 *                                                        ones, prints the state after each step
 *   c_program cycles LIBRARY ARTIFACT PLUGINS N          loads, runs and frees N times
 *   c_program compile-cycles LIBRARY MODEL PLUGINS N ARTIFACT   compiles and saves before that
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "by_name.h"

byoc_status* byoc_plugin_entry_v1(const byoc_host* host, const byoc_plugin** out);

#define DEFINE(name) __typeof__(&name) p_##name;
RUNTIME_FUNCTIONS(DEFINE)
COMPILE_FUNCTIONS(DEFINE)

static void* library;
static void load(const char* path, int has_compiler) {
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
#define LOAD(name)                              \
  *(void**)(&p_##name) = dlsym(library, #name); \
  if (p_##name == NULL) fprintf(stderr, "no %s\n", #name), exit(1);
  RUNTIME_FUNCTIONS(LOAD)
  if (!has_compiler) return;
  COMPILE_FUNCTIONS(LOAD)
}

void check(byoc_error* error) {
  if (error == NULL) return;
  fprintf(stderr, "%s\n", p_byoc_error_text(error));
  p_byoc_error_free(error);
  exit(1);
}

byoc_options* options_with(const char* plugins, const char* compiler) {
  byoc_options* options = NULL;
  check(p_byoc_options_new(&options));
  setenv("BYOC_PLUGIN_PATH", plugins, 1);
  if (compiler != NULL) check(p_byoc_options_set(options, "compiler", compiler));
  return options;
}

static uint64_t progress_calls;
static void progress(void* user, const char* what, uint64_t done, uint64_t total) {
  (void)what, (void)done, (void)total;
  ++*(uint64_t*)user;
}

static void compile_file(const char* model, const char* plugins, const char* artifact) {
  byoc_options* options = options_with(plugins, "onednn,llvm");
  check(p_byoc_options_set(options, "shape", "N=1,4"));
  byoc_watch watch = {sizeof watch, NULL, progress, &progress_calls};
  byoc_program* program = NULL;
  check(p_byoc_compile_model(model, options, &watch, &program));
  printf("%zu sizes: %s, %s\n", p_byoc_program_size_count(program),
         p_byoc_program_size_label(program, 0), p_byoc_program_size_label(program, 1));
  if (progress_calls < 2) exit(1); /* one per size */
  size_t first = 9, count = 9;
  check(p_byoc_program_find_entry(program, NULL, &first, &count)); /* the only model */
  if (first != 0 || count != 2 || p_byoc_program_size_entry(program, 1)[0] != 0) exit(1);
  check(p_byoc_program_save(program, artifact));
  p_byoc_program_free(program);
  p_byoc_options_free(options);
}

typedef struct Job {
  const byoc_session* session;
  float* output;
  size_t bytes;
} Job;

static size_t elements(const byoc_tensor_info* info) {
  size_t n = 1;
  for (int32_t k = 0; k < info->ndim; ++k) n *= (size_t)info->shape[k];
  return n;
}

DLTensor view(const byoc_tensor_info* info, void* data) {
  DLTensor out = {data, {kDLCPU, 0}, info->ndim, info->dtype, (int64_t*)info->shape, NULL, 0};
  return out;
}

static void* run_job(void* raw) {
  Job* job = raw;
  byoc_tensor_info in, out;
  check(p_byoc_session_input(job->session, 0, &in));
  check(p_byoc_session_output(job->session, 0, &out));
  float* input = malloc(elements(&in) * sizeof(float));
  for (size_t k = 0; k < elements(&in); ++k) input[k] = 1;
  job->bytes = elements(&out) * sizeof(float);
  job->output = malloc(job->bytes);
  byoc_context* context = NULL;
  check(p_byoc_context_new(job->session, &context));
  for (int k = 0; k < 20; ++k) {
    DLTensor x = view(&in, input), y = view(&out, job->output);
    check(p_byoc_run(context, &x, 1, &y, 1));
  }
  const int64_t* shape = NULL;
  int32_t ndim = 0;
  check(p_byoc_context_output_shape(context, 0, &shape, &ndim));
  if (ndim != out.ndim || memcmp(shape, out.shape, sizeof(int64_t) * (size_t)ndim) != 0)
    fprintf(stderr, "another shape\n"), exit(1);
  p_byoc_context_free(context);
  free(input);
  return NULL;
}

static void* bytes_of(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) perror(path), exit(1);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  void* data = malloc(*size);
  if (fread(data, 1, *size, file) != *size) exit(1);
  fclose(file);
  return data;
}

static void run_file(const char* artifact, const char* plugins, const char* output) {
  enum { kThreads = 8 };
  size_t size = 0;
  void* bytes = bytes_of(artifact, &size);
  byoc_program* program = NULL;
  check(p_byoc_program_load_memory(bytes, size, &program));
  memset(bytes, 0, size); /* it was copied */
  free(bytes);
  byoc_options* options = options_with(plugins, NULL);
  check(p_byoc_options_set(options, "threads", "1"));
  byoc_session* session = NULL;
  check(p_byoc_session_new(program, 0, options, NULL, &session));
  p_byoc_program_free(program); /* the session needs none of them */
  p_byoc_options_free(options);
  pthread_t threads[kThreads];
  Job jobs[kThreads];
  for (int k = 0; k < kThreads; ++k) {
    jobs[k].session = session;
    pthread_create(&threads[k], NULL, run_job, &jobs[k]);
  }
  for (int k = 0; k < kThreads; ++k) pthread_join(threads[k], NULL);
  for (int k = 1; k < kThreads; ++k) {
    if (memcmp(jobs[k].output, jobs[0].output, jobs[0].bytes) != 0)
      fprintf(stderr, "threads differ\n"), exit(1);
  }
  FILE* file = fopen(output, "wb");
  fwrite(jobs[0].output, 1, jobs[0].bytes, file);
  fclose(file);
  for (int k = 0; k < kThreads; ++k) free(jobs[k].output);
  p_byoc_session_free(session);
}

typedef byoc_error* (*model_fn)(const char*, const byoc_options*, const byoc_watch*, char**);

static model_fn function_named(const char* command) {
#define FIND(name) \
  if (strcmp(command, #name + strlen("byoc_")) == 0) return p_##name;
  MODEL_FUNCTIONS(FIND)
  return NULL;
}

/* `settings` are words such as "seed=3" and "no-check", up to a null pointer. */
static void print_json(const char* model, const char* plugins, const char* command,
                       char** settings) {
  byoc_options* options = options_with(plugins, NULL);
  for (; *settings != NULL; ++settings) {
    char* equals = strchr(*settings, '=');
    if (equals != NULL) *equals = 0;
    check(p_byoc_options_set(options, *settings, equals == NULL ? NULL : equals + 1));
  }
  const model_fn function = function_named(command);
  byoc_watch watch = {sizeof watch, NULL, progress, &progress_calls};
  char* json = NULL;
  if (function != NULL)
    check(function(strcmp(model, "-") == 0 ? NULL : model, options, &watch, &json));
  else if (strcmp(command, "plugins") == 0) check(p_byoc_plugins(options, &watch, &json));
  else check(p_byoc_doctor(options, &watch, &json));
  fputs(json, stdout);
  if (strcmp(command, "bench") == 0 && progress_calls == 0) exit(1);
  struct sigaction now;
  sigaction(SIGINT, NULL, &now); /* Ctrl-C is the program's own */
  if (now.sa_handler != SIG_DFL) fprintf(stderr, "handles SIGINT\n"), exit(1);
  p_byoc_text_free(json);
  p_byoc_options_free(options);
}

/* Runs a model on ones, and returns the bytes of its first output. */
static float* outputs_by(const char* model, const char* plugins, const char* compiler,
                         size_t* bytes) {
  byoc_options* options = options_with(plugins, compiler);
  check(p_byoc_options_set(options, "shape", "N=1"));
  byoc_program* program = NULL;
  byoc_session* session = NULL;
  check(p_byoc_compile_model(model, options, NULL, &program));
  check(p_byoc_session_new(program, 0, NULL, NULL, &session));
  Job job = {session, NULL, 0};
  run_job(&job);
  *bytes = job.bytes;
  p_byoc_session_free(session);
  p_byoc_program_free(program);
  p_byoc_options_free(options);
  return job.output;
}

/* plugins/example/c/plugin.c is linked into this program. */
static void run_by_own_plugin(const char* model, const char* plugins) {
  const byoc_plugin* table = NULL;
  if (byoc_plugin_entry_v1(p_byoc_plugin_host(), &table) != NULL) exit(1);
  byoc_plugin broken = *table;
  broken.compile = NULL;
  EXPECT(BYOC_INVALID_ARGUMENT, "", p_byoc_register_plugin(&broken));
  check(p_byoc_register_plugin(table));
  EXPECT(BYOC_ALREADY_EXISTS, "", p_byoc_register_plugin(table));
  size_t bytes = 0, expected_bytes = 0;
  float* got = outputs_by(model, plugins, "example_c,json", &bytes);
  float* expected = outputs_by(model, plugins, "json", &expected_bytes);
  if (bytes != expected_bytes || memcmp(got, expected, bytes) != 0) ++faults;
  free(got), free(expected);
  byoc_options* options = options_with(plugins, "example_c,json");
  check(p_byoc_options_set(options, "shape", "N=1"));
  char* json = NULL;
  check(p_byoc_explain(model, options, NULL, &json));
  if (strstr(json, "example_c_main_0") == NULL) ++faults;
  p_byoc_text_free(json);
  p_byoc_options_free(options);
  printf("%d faults\n", faults);
  if (faults != 0) exit(1);
}

typedef struct Counts {
  size_t calls, bytes, live;
} Counts;

static void* counted_allocate(void* user, size_t bytes, size_t alignment) {
  Counts* counts = user;
  void* memory = NULL;
  if (posix_memalign(&memory, alignment, bytes) != 0) return NULL;
  ++counts->calls, counts->bytes += bytes, counts->live += bytes;
  return memory;
}

static void counted_release(void* user, void* memory, size_t bytes) {
  ((Counts*)user)->live -= bytes;
  free(memory);
}

/* Contexts get their memory from this program while its allocator is set, and give it back. */
static void count_memory(const char* artifact, const char* plugins) {
  Counts counts = {0, 0, 0};
  byoc_allocator own = {sizeof own, counted_allocate, counted_release, &counts};
  byoc_program* program = NULL;
  byoc_session* session = NULL;
  byoc_context *first = NULL, *second = NULL, *other = NULL;
  p_byoc_options_free(options_with(plugins, NULL));
  check(p_byoc_program_load(artifact, &program));
  check(p_byoc_session_new(program, 0, NULL, NULL, &session));
  check(p_byoc_set_allocator(&own));
  check(p_byoc_context_new(session, &first));
  const Counts one = counts;
  check(p_byoc_context_new(session, &second));
  check(p_byoc_set_allocator(NULL)); /* not of contexts that there are */
  check(p_byoc_context_new(session, &other));
  if (one.calls == 0 || counts.calls != 2 * one.calls || counts.live != 2 * one.live) exit(1);
  p_byoc_context_free(first);
  if (counts.live != one.live) exit(1);
  p_byoc_context_free(other);
  p_byoc_context_free(second);
  printf("%zu bytes for a context, %zu left\n", one.bytes, counts.live);
  p_byoc_session_free(session);
  p_byoc_program_free(program);
}

static void print_state(const byoc_context* context, const char* name, DLTensor* state) {
  check(p_byoc_context_get_state(context, name, state));
  const float* at = state->data;
  printf("%s %g %g %g %g\n", name, at[0], at[1], at[2], at[3]);
}

static void run_with_states(const char* artifact, const char* plugins) {
  byoc_program* program = NULL;
  byoc_session* session = NULL;
  byoc_context *context = NULL, *sharing = NULL;
  byoc_tensor_info info;
  float x[4] = {1, 1, 1, 1}, y[4], z[4] = {0};
  p_byoc_options_free(options_with(plugins, NULL));
  check(p_byoc_program_load(artifact, &program));
  check(p_byoc_session_new(program, 0, NULL, NULL, &session));
  check(p_byoc_session_state(session, 0, &info));
  printf("%zu state, %s to %s, in place %d\n", p_byoc_session_state_count(session), info.name,
         p_byoc_session_state_output(session, 0), p_byoc_session_state_is_in_place(session, 0));
  DLTensor in = view(&info, x), out = view(&info, y), state = view(&info, z);
  check(p_byoc_context_new(session, &context));
  check(p_byoc_run(context, &in, 1, &out, 1));
  check(p_byoc_run(context, &in, 1, &out, 1));
  print_state(context, info.name, &state);
  z[0] = 40;
  check(p_byoc_context_set_state(context, info.name, &state));
  check(p_byoc_context_new_sharing(session, context, &sharing));
  check(p_byoc_run(sharing, &in, 1, &out, 1));
  print_state(context, p_byoc_session_state_output(session, 0), &state);
  check(p_byoc_context_reset_states(sharing));
  print_state(context, info.name, &state);
  p_byoc_context_free(sharing);
  p_byoc_context_free(context);
  p_byoc_session_free(session);
  p_byoc_program_free(program);
}

static long resident_kb(void) {
  long total = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (fscanf(file, "%ld %ld", &total, &resident) != 2) exit(1);
  fclose(file);
  return resident * sysconf(_SC_PAGESIZE) / 1024;
}

static void cycle(const char* artifact) {
  byoc_program* program = NULL;
  byoc_session* session = NULL;
  check(p_byoc_program_load(artifact, &program));
  check(p_byoc_session_new(program, 0, NULL, NULL, &session));
  Job job = {session, NULL, 0};
  run_job(&job);
  free(job.output);
  p_byoc_session_free(session);
  p_byoc_program_free(program);
}

static void compile_cycle(const char* model, const byoc_options* options, const char* artifact) {
  byoc_program* program = NULL;
  check(p_byoc_compile_model(model, options, NULL, &program));
  check(p_byoc_program_save(program, artifact));
  p_byoc_program_free(program);
  cycle(artifact);
}

static void compile_cycles(const char* model, const char* plugins, int count,
                           const char* artifact) {
  byoc_options* options = options_with(plugins, "onednn,llvm");
  check(p_byoc_options_set(options, "shape", "N=1"));
  for (int k = 0; k < count / 10; ++k) compile_cycle(model, options, artifact);
  const long before = resident_kb();
  for (int k = 0; k < count; ++k) compile_cycle(model, options, artifact);
  printf("%ld KiB more after %d cycles\n", resident_kb() - before, count);
  p_byoc_options_free(options);
}

static void cycles(const char* artifact, const char* plugins, int count) {
  p_byoc_options_free(options_with(plugins, NULL));
  for (int k = 0; k < count / 10; ++k) cycle(artifact);
  const long before = resident_kb();
  for (int k = 0; k < count; ++k) cycle(artifact);
  printf("%ld KiB more after %d cycles\n", resident_kb() - before, count);
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const char* command = argv[1];
  const int is_run = strcmp(command, "run") == 0 || strcmp(command, "cycles") == 0 ||
                     strcmp(command, "allocator") == 0 || strcmp(command, "states") == 0;
  load(argv[2], !is_run);
  if (p_byoc_c_api_minor() < BYOC_C_API_MINOR || strlen(p_byoc_version()) < 5) return 1;
  if (strcmp(command, "compile") == 0) compile_file(argv[3], argv[4], argv[5]);
  else if (strcmp(command, "run") == 0) run_file(argv[3], argv[4], argv[5]);
  else if (strcmp(command, "json") == 0) print_json(argv[3], argv[4], argv[5], argv + 6);
  else if (strcmp(command, "errors") == 0) reach_errors(argv[3], argv[4]);
  else if (strcmp(command, "register") == 0) run_by_own_plugin(argv[3], argv[4]);
  else if (strcmp(command, "states") == 0) run_with_states(argv[3], argv[4]);
  else if (strcmp(command, "allocator") == 0) count_memory(argv[3], argv[4]);
  else if (strcmp(command, "compile-cycles") == 0)
    compile_cycles(argv[3], argv[4], atoi(argv[5]), argv[6]);
  else cycles(argv[3], argv[4], atoi(argv[5]));
  p_byoc_shutdown();
  return 0;
}
