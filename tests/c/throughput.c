/* SPDX-License-Identifier: Apache-2.0 */
/* Runs an artifact in threads, as often as it can: the side of C of tests/python/threads.py.
 *   throughput ARTIFACT
 * For each line "THREADS SECONDS" of the input it prints the runs that were done, the seconds and
 * the processor time of the process in seconds. Each thread has a context and tensors of its own.
 */
#include <byoc/c/byoc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kMostThreads = 64 };

static byoc_session* session;
static volatile int stops;

typedef struct Caller {
  pthread_t thread;
  byoc_context* context;
  DLTensor input, output;
  unsigned long runs;
} Caller;

static void check(byoc_error* error) {
  if (error == NULL) return;
  fprintf(stderr, "%s\n", byoc_error_text(error));
  exit(1);
}

static double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static DLTensor tensor_of(byoc_tensor_info info) {
  size_t bytes = info.dtype.bits / 8;
  for (int32_t k = 0; k < info.ndim; ++k) bytes *= (size_t)info.shape[k];
  DLTensor out = {calloc(bytes, 1),     {kDLCPU, 0}, info.ndim, info.dtype,
                  (int64_t*)info.shape, NULL,        0};
  return out;
}

static void make(Caller* caller) {
  byoc_tensor_info input, output;
  check(byoc_session_input(session, 0, &input));
  check(byoc_session_output(session, 0, &output));
  caller->input = tensor_of(input), caller->output = tensor_of(output);
  check(byoc_context_new(session, &caller->context));
  check(byoc_run(caller->context, &caller->input, 1, &caller->output, 1));
}

static void* run(void* raw) {
  Caller* caller = raw;
  for (caller->runs = 0; !stops; ++caller->runs)
    check(byoc_run(caller->context, &caller->input, 1, &caller->output, 1));
  return NULL;
}

static void turn(Caller* callers, int count, double seconds) {
  const double processor = seconds_of(CLOCK_PROCESS_CPUTIME_ID),
               begin = seconds_of(CLOCK_MONOTONIC);
  stops = 0;
  for (int k = 0; k < count; ++k) pthread_create(&callers[k].thread, NULL, run, &callers[k]);
  struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&pause, NULL);
  stops = 1;
  unsigned long runs = 0;
  for (int k = 0; k < count; ++k) pthread_join(callers[k].thread, NULL), runs += callers[k].runs;
  printf("%lu %.6f %.6f\n", runs, seconds_of(CLOCK_MONOTONIC) - begin,
         seconds_of(CLOCK_PROCESS_CPUTIME_ID) - processor);
  fflush(stdout);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  byoc_program* program = NULL;
  byoc_options* options = NULL;
  check(byoc_program_load(argv[1], &program));
  check(byoc_options_new(&options));
  check(byoc_options_set(options, "threads", "1"));
  check(byoc_session_new(program, 0, options, NULL, &session));
  static Caller callers[kMostThreads];
  int made = 0, count = 0;
  double seconds = 0;
  while (scanf("%d %lf", &count, &seconds) == 2 && count <= kMostThreads) {
    for (; made < count; ++made) make(&callers[made]);
    turn(callers, count, seconds);
  }
  return 0;
}
