/* SPDX-License-Identifier: Apache-2.0 */
/* Loads an artifact and runs it while the n-th allocation of the process fails, for every n.

     failing_allocations ARTIFACT PLUGIN|- [MOST]

   Each attempt must end with success or an error, and must free all that it allocated. Then every
   n is tried again with all allocations from the n-th on failing. Prints the counts. MOST limits
   the attempts of each kind, which are then spread over all n. */
#include <errno.h>
#include <execinfo.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "byoc/c/byoc.h"

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);

static atomic_long made, live;     /* since the last attempt began; all */
static atomic_long failing_at;     /* 0: none fails */
static atomic_int fails_from_then; /* all later ones, too */

static int fails(void) {
  const long n = atomic_fetch_add(&made, 1) + 1, at = atomic_load(&failing_at);
  if (at == 0 || (fails_from_then ? n < at : n != at)) return 0;
  errno = ENOMEM;
  return 1;
}
static void* counted(void* memory) {
  if (memory != NULL) atomic_fetch_add(&live, 1);
  return memory;
}

void* malloc(size_t size) { return fails() ? NULL : counted(__libc_malloc(size)); }
void* calloc(size_t n, size_t size) { return fails() ? NULL : counted(__libc_calloc(n, size)); }
void* realloc(void* memory, size_t size) {
  if (fails()) return NULL;
  void* out = __libc_realloc(memory, size);
  if (memory == NULL) counted(out);
  return out;
}
void* memalign(size_t align, size_t size) {
  return fails() ? NULL : counted(__libc_memalign(align, size));
}
void* aligned_alloc(size_t align, size_t size) { return memalign(align, size); }
int posix_memalign(void** out, size_t align, size_t size) {
  *out = memalign(align, size);
  return *out == NULL ? ENOMEM : 0;
}
void free(void* memory) {
  if (memory != NULL) atomic_fetch_sub(&live, 1);
  __libc_free(memory);
}

static const char *artifact, *plugin;
static float *in_data, *out_data; /* allocated before the attempts */
enum { kElements = 1 << 16 };
enum { kWorked, kRefused, kFault };

static int note(byoc_error* error, char* text) {
  if (error == NULL) return 0;
  snprintf(text, 200, "%s: %s", byoc_error_slug(error), byoc_error_message(error));
  byoc_error_free(error);
  return 1;
}

/* Loads and runs once. Returns 1 and a text when a function returned an error. */
static int attempt(char* text) {
  byoc_options* options = NULL;
  byoc_program* program = NULL;
  byoc_session* session = NULL;
  byoc_context* context = NULL;
  int failed = note(byoc_options_new(&options), text);
  if (!failed && strcmp(plugin, "-") != 0)
    failed = note(byoc_options_set(options, "plugin", plugin), text);
  failed = failed || note(byoc_program_load(artifact, &program), text) ||
           note(byoc_session_new(program, 0, options, NULL, &session), text) ||
           note(byoc_context_new(session, &context), text);
  if (!failed) {
    byoc_tensor_info in, out;
    failed = note(byoc_session_input(session, 0, &in), text) ||
             note(byoc_session_output(session, 0, &out), text);
    DLTensor x = {in_data, {kDLCPU, 0}, in.ndim, in.dtype, (int64_t*)in.shape, NULL, 0};
    DLTensor y = {out_data, {kDLCPU, 0}, out.ndim, out.dtype, (int64_t*)out.shape, NULL, 0};
    failed = failed || note(byoc_run(context, &x, 1, &y, 1), text);
  }
  byoc_context_free(context);
  byoc_session_free(session);
  byoc_program_free(program);
  byoc_options_free(options);
  return failed;
}

/* Prints where the process ends. */
static void on_crash(int signal) {
  void* frames[40];
  char line[100];
  const int size = snprintf(line, sizeof line, "signal %d where allocation %ld fails%s\n", signal,
                            (long)failing_at, fails_from_then ? ", and later ones" : "");
  if (write(STDOUT_FILENO, line, (size_t)size) < 0) _exit(kFault);
  failing_at = 0;
  backtrace_symbols_fd(frames, backtrace(frames, 40), STDOUT_FILENO);
  _exit(kFault);
}

static int attempt_failing_at(long n, int from_then, char* text) {
  made = 0;
  fails_from_then = from_then;
  failing_at = n;
  const int failed = attempt(text);
  failing_at = 0;
  return failed;
}

/* Runs in a child process. */
static int outcome_of(long n, int from_then) {
  char text[256] = "", other[256] = "";
  long before = live;
  const int failed = attempt_failing_at(n, from_then, text);
  if (failed && text[0] == ':') {
    printf("n = %ld: an error without a slug: %s\n", n, text);
    return kFault;
  }
  if (!failed && out_data[0] != 0.5f) {
    printf("n = %ld: wrong result %g\n", n, out_data[0]);
    return kFault;
  }
  /* What is made once and kept may have been made late: the second time must keep nothing. The
     loader of glibc 2.36 itself keeps two allocations when its third or a later one fails. */
  if (live > before && strstr(text, "native module") == NULL) {
    attempt(other);
    before = live;
    attempt_failing_at(n, from_then, other);
    if (live > before) {
      printf("n = %ld: %ld allocations are lost (%s)\n", n, live - before, text);
      return kFault;
    }
  }
  if (attempt(other)) {
    printf("n = %ld: does not work afterwards: %s\n", n, other);
    return kFault;
  }
  return failed ? kRefused : kWorked;
}

/* Returns the number of faults. */
static long try_all(int from_then, long total, long most) {
  const char* kind = from_then ? "the n-th, and all later ones" : "the n-th";
  long counts[3] = {0, 0, 0};
  const long step = most > 0 && total > most ? total / most : 1;
  for (long n = 1; n <= total; n += step) {
    const pid_t child = fork();
    if (child == 0) _exit(outcome_of(n, from_then));
    int status = 0;
    waitpid(child, &status, 0);
    ++counts[WIFEXITED(status) && WEXITSTATUS(status) < kFault ? WEXITSTATUS(status) : kFault];
  }
  printf("of %ld allocations %s fails: %ld ended with an error, %ld worked, %ld faults\n", total,
         kind, counts[kRefused], counts[kWorked], counts[kFault]);
  return counts[kFault];
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  artifact = argv[1], plugin = argv[2];
  in_data = calloc(kElements, sizeof(float)), out_data = calloc(kElements, sizeof(float));
  for (size_t k = 0; k < kElements; ++k) in_data[k] = 0.5f;
  void* frame;
  backtrace(&frame, 1); /* loads what it needs */
  signal(SIGABRT, on_crash);
  signal(SIGSEGV, on_crash);
  setvbuf(stdout, NULL, _IONBF, 0);
  char text[256];
  for (int k = 0; k < 3; ++k) {
    if (!attempt(text)) continue;
    printf("cannot run: %s\n", text);
    return 1;
  }
  made = 0;
  attempt(text);
  const long total = made, most = argc > 3 ? atol(argv[3]) : 0;
  long faults = try_all(0, total, most);
  faults += try_all(1, total, most);
  return faults != 0;
}
