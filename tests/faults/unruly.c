// SPDX-License-Identifier: Apache-2.0
/* The C++ example plugin, with one promise broken per build (-DFAULT_...=1): input for `byoc
 * check-plugin`. It calls the example through the example's table. */
#define _GNU_SOURCE
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "byoc/plugin/abi.h"

/* plugins/example/cpp/plugin.cc, compiled with its entry renamed. */
byoc_status* example_entry(const byoc_host* host, const byoc_plugin** out);

static const byoc_plugin* good;
static byoc_plugin table;
static const byoc_host* the_host;

#define STR(text) ((byoc_str){text, sizeof(text) - 1})
__attribute__((unused)) static byoc_status* refuse(byoc_str why) {
  return the_host->status_new(the_host->ctx, BYOC_INVALID_ARGUMENT, -1, -1, NULL, 0, why);
}

/* Group 1. */
#if FAULT_UNIQUE
__asm__(
    ".globl one_in_the_process\n.type one_in_the_process, @gnu_unique_object\n"
    ".size one_in_the_process, 4\n.data\none_in_the_process: .long 0\n.text\n");
#endif
#if FAULT_TEXTREL
__asm__(".text\n.quad byoc_plugin_entry_v1\n");
#endif
#if FAULT_OPENMP
void function_of_another_openmp(void);
#endif

/* Group 2: faults when it is opened. */
#if FAULT_THREADS
static void* sleep_forever(void* unused) {
  for (;;) pause();
  return unused;
}
#endif
#if FAULT_JOINED
/* A thread of the library, not of an instance: shutdown ends it. */
static pthread_t helper;
static int is_started, wakes[2];
static void* wait_for_shutdown(void* unused) {
  char byte;
  if (read(wakes[0], &byte, 1) != 0) abort();
  return unused;
}
static byoc_status* end_helper(void) {
  if (is_started) {
    close(wakes[1]);
    pthread_join(helper, NULL);
  }
  return NULL;
}
#endif
__attribute__((unused)) static void ignore_signal(int signal) { (void)signal; }

static byoc_status* open_badly(const byoc_host* host, byoc_str options, byoc_instance** out) {
#if FAULT_PRINTS
  puts("hello from the plugin");
#elif FAULT_THREADS
  pthread_t thread;
  pthread_create(&thread, NULL, sleep_forever, NULL);
#elif FAULT_JOINED
  if (!is_started && pipe(wakes) == 0)
    is_started = pthread_create(&helper, NULL, wait_for_shutdown, NULL) == 0;
#elif FAULT_ENVIRONMENT
  setenv("OMP_NUM_THREADS", "1", 1);
#elif FAULT_FOLDER
  if (chdir("/") != 0) abort();
#elif FAULT_LOCALE
  setlocale(LC_ALL, "C.UTF-8");
#elif FAULT_SIGNALS
  signal(SIGUSR1, ignore_signal);
#elif FAULT_ROUNDING
  fesetround(FE_TOWARDZERO);
#elif FAULT_MEMORY
  enum { kBytes = 300 << 20 };
  volatile char* memory = malloc(kBytes);
  for (int k = 0; k < kBytes; k += 4096) memory[k] = 1;
#endif
  return good->open(host, options, out);
}

/* Group 4: patterns in addition to the example's own. */
#if FAULT_PATTERN_SYNTAX
#define EXTRA_PATTERN "{\"op\":\"relu\",\"args\":["
#elif FAULT_PATTERN_OP
#define EXTRA_PATTERN "{\"op\":\"frobnicate\"}"
#elif FAULT_PATTERN_NEVER
#define EXTRA_PATTERN \
  "{\"op\":\"relu\",\"dtype\":[\"i8\"],\"args\":[{\"op\":\"add\",\"dtype\":[\"f32\"]}]}"
#endif
static byoc_status* patterns_badly(byoc_instance* self, const byoc_pattern* const** out,
                                   uint64_t* n) {
  byoc_status* status = good->patterns(self, out, n);
#ifdef EXTRA_PATTERN
  static const char kDag[] = EXTRA_PATTERN;
  static const byoc_pattern extra = {.h = {sizeof extra, BYOC_TAG_PATTERN, NULL},
                                     .name = {"odd", 3},
                                     .dag_json = {kDag, sizeof kDag - 1}};
  static const byoc_pattern* all[16];
  memcpy(all, *out, *n * sizeof *all);
  all[(*n)++] = &extra;
  *out = all;
#endif
  return status;
}

static byoc_status* judge_badly(byoc_instance* self, uint32_t pattern, byoc_str json,
                                byoc_verdict* io) {
#if FAULT_ENDS
  if (strlen(json.p) == 7) return refuse(STR("an unlucky number")); /* it has no null byte */
#endif
  byoc_status* status = good->judge(self, pattern, json, io);
#if FAULT_REPEATABLE
  static uint64_t calls;
  io->est_ns = ++calls;
#elif FAULT_CONCURRENT
  static int inside;
  int others = __atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST);
  usleep(500);
  if (others) io->accept = 0, io->reason = STR("busy");
  __atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST);
#elif FAULT_REASONS
  if (io->accept == 0) io->reason = (byoc_str){NULL, 0};
#endif
  return status;
}

/* Groups 3 to 5: faults when it compiles functions. */
static int has(byoc_str text, const char* part) {
  return memmem(text.p, text.n, part, strlen(part)) != NULL;
}
static int is_composite; /* the function that was compiled last */
__attribute__((unused)) static int is_unrolled;

/* Groups 5 and 10: faults that a single run of a small tensor does not show. */
__attribute__((unused)) static int has_two_ops, is_repeated, has_workers, has_compiled, runs_now;
__attribute__((unused)) static const byoc_kernel* last_kernel; /* that was loaded */
__attribute__((unused)) static float first_result[7];
__attribute__((unused)) static const byoc_kernel* first_owner;
__attribute__((unused)) static byoc_status* load_badly(byoc_instance* self, const byoc_load* in,
                                                       byoc_module** out) {
  has_workers = in->threads > 1;
  return good->load(self, in, out);
}

/* Runs as a plugin that reads only the number of inputs: a relu, whatever the graph is. */
__attribute__((unused)) static byoc_status* compile_anything(byoc_instance* self,
                                                             const byoc_compile* in,
                                                             byoc_module** out) {
  byoc_function f = *in->functions[0];
  const byoc_function* list[] = {&f};
  byoc_compile request = *in;
  f.graph_json =
      STR("{\"format\":\"byoc.graph\",\"version\":1,\"requires\":[],\"symbol\":\"f\","
          "\"types\":[{\"dtype\":\"f32\",\"shape\":[2]}],\"inputs\":[{\"name\":\"x\",\"type\":0}],"
          "\"constants\":[],\"nodes\":[{\"op\":\"relu\",\"version\":1,\"args\":[[\"i\",0]],"
          "\"types\":[0]}],\"outputs\":[[\"n\",0,0]]}");
  f.n_consts = 0;
  request.functions = list;
  return good->compile(self, &request, out);
}

static byoc_status* compile_badly(byoc_instance* self, const byoc_compile* in, byoc_module** out) {
  byoc_str graph = in->functions[0]->graph_json;
  is_composite = has(graph, "\"call\":");
  has_two_ops = !is_composite && has(graph, "\"args\":[[\"n\",0");
  is_repeated = has(graph, "\"args\":[[\"i\",0],[\"i\",0]]");
  has_compiled = 1;
#if FAULT_DECLINES
  return the_host->status_new(the_host->ctx, BYOC_DECLINED, 0, -1, NULL, 0,
                              STR("takes nothing today"));
#elif FAULT_LONGER
  if (in->h.size != sizeof *in) return refuse(STR("a byoc_compile of another size"));
#elif FAULT_OPTIONAL
  if (in->h.ext) return refuse(STR("takes no extensions"));
#elif FAULT_REQUIRED
  byoc_compile plain = *in;
  plain.h.ext = NULL;
  return good->compile(self, &plain, out);
#elif FAULT_UNKNOWN_OP
  if (has(graph, "\"op\":\"conform_unknown\"")) return compile_anything(self, in, out);
#elif FAULT_UNKNOWN_DTYPE
  if (has(graph, "\"f7\"")) return compile_anything(self, in, out);
#elif FAULT_UNKNOWN_ATTR
  if (has(graph, "\"conform_unknown\":1")) return compile_anything(self, in, out);
#elif FAULT_REQUIRES
  if (has(graph, "\"requires\":[\"")) return compile_anything(self, in, out);
#elif FAULT_COMPILES
  if (has(graph, "[3,1,1,1,2]")) return refuse(STR("ran out of registers"));
#elif FAULT_POINTS
  is_unrolled = has(in->functions[0]->point, "\"unroll\":\"4\"");
#elif FAULT_OUTSIDE
  if (in->functions[0]->point.n == 0) return good->compile(self, in, out);
  byoc_function f = *in->functions[0];
  const byoc_function* list[] = {&f};
  byoc_compile request = *in;
  f.point = (byoc_str){NULL, 0};
  request.functions = list;
  return good->compile(self, &request, out);
#elif FAULT_CONSTANTS
  if (in->functions[0]->n_consts) *(volatile char*)in->functions[0]->consts[0]->view->data += 1;
#endif
  return good->compile(self, in, out);
}

/* Group 6. */
#if FAULT_KNOBS
static byoc_status* knobs_badly(byoc_instance* self, const byoc_compile* in, const byoc_sink* out) {
  (void)self, (void)in;
  return out->write(out->u, "{\"task\":\"t\"}", 12);
}
#elif FAULT_KNOBS_REPEAT
static byoc_status* knobs_badly(byoc_instance* self, const byoc_compile* in, const byoc_sink* out) {
  static int calls;
  char text[400];
  int n = snprintf(
      text, sizeof text,
      "{\"task\":\"t\",\"kind\":\"k\",\"flops\":%d,\"bytes\":8,\"knobs\":[{\"name\":\"block\","
      "\"values\":[\"4096\",\"16384\"]},{\"name\":\"unroll\",\"values\":[\"1\",\"4\"]}],"
      "\"guesses\":[{\"block\":\"16384\",\"unroll\":\"1\"}]}",
      ++calls);
  (void)self, (void)in;
  return out->write(out->u, text, (uint64_t)n);
}
#elif FAULT_FIRST_GUESS
static byoc_status* show_badly(byoc_instance* self, const byoc_compile* in, byoc_str form,
                               const byoc_sink* out) {
  (void)self, (void)form;
  return out->write(out->u, in->functions[0]->point.p, in->functions[0]->point.n);
}
#endif

static byoc_status* info_badly(const byoc_kernel* kernel, byoc_kernel_info* io) {
  byoc_status* status = good->info(kernel, io);
#if FAULT_IN_PLACE
  static const uint32_t pair[] = {0, 0};
  io->inplace_pairs = pair;
  io->n_inplace = 1;
#endif
  last_kernel = kernel;
  first_owner = NULL;
  return status;
}

/* Group 5. Inputs come first; the last argument is the one output. */
static uint64_t elements(const DLTensor* t) {
  uint64_t n = 1;
  for (int k = 0; k < t->ndim; ++k) n *= (uint64_t)t->shape[k];
  return n;
}
__attribute__((unused)) static float* data(const DLTensor* t) {
  return (float*)((char*)t->data + t->byte_offset);
}

/* A sound span of the whole run, unless the fault is in it. */
__attribute__((unused)) static void tell_spans(const byoc_call* call, uint64_t begin) {
  enum { kLongBefore = 1000000000 };
  uint64_t end = the_host->now_ns(the_host->ctx), id = call->call_id, n = 0;
  int64_t node = 0;
  byoc_str name = STR("work"), details[] = {STR("src"), STR("abcd"), STR("dst")};
#if FAULT_SPANS_BACKWARDS
  end = begin - 1;
#elif FAULT_SPANS_EARLY
  begin -= kLongBefore;
#elif FAULT_SPANS_LATE
  end += kLongBefore;
#elif FAULT_SPANS_CROSSING
  the_host->span(the_host->ctx, id, 0, STR("first"), begin, begin + 2, NULL, 0);
  begin += 1, end += 3;
  while (the_host->now_ns(the_host->ctx) < end) continue;
#elif FAULT_SPANS_NAMELESS
  name = (byoc_str){NULL, 0};
#elif FAULT_SPANS_NODE
  node = 3;
#elif FAULT_SPANS_CALL
  id ^= UINT64_C(1) << 40;
#elif FAULT_SPANS_PAIRS
  n = 3;
#endif
  the_host->span(the_host->ctx, id, node, name, begin, end, details, n);
}

/* Changes the results of a run whose tensors are compact and have elements. */
__attribute__((unused)) static void spoil_results(const byoc_kernel* kernel, const byoc_call* call,
                                                  float last, int others) {
  uint32_t n_in = call->n_args - 1;
  const DLTensor *x = call->args[0], *y = call->args[n_in];
  uint64_t n = elements(y);
#if FAULT_VALUES
  if (n_in == 1) data(y)[0] += 1e-3f;
#elif FAULT_SPECIAL
  for (uint64_t k = 0; k < n; ++k)
    if (data(y)[k] != data(y)[k]) data(y)[k] = 0;
#elif FAULT_OUTPUTS
  data(y)[n - 1] = last;
#elif FAULT_GUARDS
  if (n == 7 && n_in == 1) data(y)[n] = 0;
#elif FAULT_COMPOSITES
  if (is_composite) data(y)[0] += 1;
#elif FAULT_POINTS
  if (is_unrolled) data(y)[0] += 1;
#elif FAULT_OTHER_VALUES
  int is_usual = n == 7 && n_in == 1; /* the kit's usual values are between -2 and 2, and not 0 */
  for (uint64_t k = 0; k < n; ++k) {
    const float value = data(x)[k] < 0 ? -data(x)[k] : data(x)[k];
    is_usual &= value > 1e-6f && value <= 2;
  }
  if (is_usual && first_owner == kernel) memcpy(data(y), first_result, sizeof first_result);
  else if (is_usual) first_owner = kernel, memcpy(first_result, data(y), sizeof first_result);
#elif FAULT_LARGE_VALUES
  for (uint64_t k = 0; k < n; ++k)
    if (data(y)[k] > 100 && data(y)[k] < 1e30f) data(y)[k] = 100;
#elif FAULT_REPEATED
  if (is_repeated && !is_composite) data(y)[0] += 1;
#elif FAULT_LINKED
  if (has_two_ops) data(y)[0] += 1;
#elif FAULT_LARGE_TENSORS
  if (n > 4096 && n_in == 1) data(y)[n - 1] += 1;
#elif FAULT_ONE_MODEL
  if (kernel != last_kernel) data(y)[0] += 1;
#elif FAULT_WORKERS
  if (has_workers) data(y)[0] += 1;
#elif FAULT_AT_ONCE
  if (others > 0) data(y)[0] += 1;
#elif FAULT_ELSEWHERE
  if (!has_compiled) data(y)[0] += 1;
#endif
  (void)x, (void)n, (void)last, (void)others, (void)kernel;
}

/* A fault of every run, or of one that takes as long as a slow kernel. */
static byoc_status* begin_run(uint64_t n, uint32_t n_in) {
  (void)n, (void)n_in;
#if FAULT_RUN_FAILS
  return refuse(STR("the chip is too hot"));
#elif FAULT_RUN_CRASHES
  abort();
#elif FAULT_RUN_EXITS
  exit(3);
#elif FAULT_RUN_SLEEPS
  if (n == 30 && n_in == 1) nanosleep(&(struct timespec){0, 400000000}, NULL);
#endif
  return NULL;
}

static byoc_status* run_badly(byoc_kernel* kernel, const byoc_call* call) {
  uint32_t n_in = call->n_args - 1;
  const DLTensor *x = call->args[0], *y = call->args[n_in];
  uint64_t n = elements(y);
  DLTensor views[8];
  const DLTensor* args[8];
  byoc_call changed = *call;
  float last = 0;
  int others = 0;
  byoc_status* failed = begin_run(n, n_in);
  if (failed) return failed;
  changed.args = args;
  for (uint32_t k = 0; k < call->n_args; ++k) {
    views[k] = *call->args[k];
    args[k] = &views[k];
#if FAULT_OFFSET
    if (k < n_in) views[k].byte_offset = 0;
#elif FAULT_STRIDED
    if (k < n_in) views[k].strides = NULL;
#elif FAULT_MISALIGNED
    if ((uintptr_t)views[k].data % 64) return refuse(STR("requires tensors aligned to 64"));
#endif
  }
#if FAULT_RUN_PRINTS
  if (n == 7 && n_in == 1) puts("seven elements");
#elif FAULT_RUN_ROUNDING
  if (n == 7 && n_in == 1) fesetround(FE_UPWARD);
#elif FAULT_RUN_LOCALE
  if (n == 7 && n_in == 1) setlocale(LC_ALL, "C.UTF-8");
#elif FAULT_EMPTY
  if (n == 0) return refuse(STR("there is nothing to do"));
#elif FAULT_INPUTS
  if (n == 7 && n_in == 1) *(volatile float*)data(x) += 1;
#elif FAULT_OVERREAD
  if (n == 7 && n_in == 1) (void)*(volatile float*)(data(x) + n);
#elif FAULT_WORKSPACE
  if (n == 7 && n_in == 1) ((volatile char*)call->workspace)[call->workspace_bytes] = 1;
#elif FAULT_IN_PLACE
  if (!y->strides) memset(data(y), 0, n * sizeof(float));
#elif FAULT_OUTPUTS
  last = n && !y->strides ? data(y)[n - 1] : 0;
#endif
#if FAULT_AT_ONCE
  others = __atomic_fetch_add(&runs_now, 1, __ATOMIC_SEQ_CST);
  if (n > 4096) usleep(200);
#endif
#if TELLS_SPANS
  uint64_t begin = the_host->now_ns(the_host->ctx);
#endif
  byoc_status* status = good->run(kernel, &changed);
#if FAULT_SPANS_UNASKED
  tell_spans(call, begin);
#elif TELLS_SPANS
  if (call->flags & BYOC_CALL_SPANS) tell_spans(call, begin);
#endif
#if FAULT_AT_ONCE
  __atomic_fetch_sub(&runs_now, 1, __ATOMIC_SEQ_CST);
#endif
  if (status || n == 0 || y->strides) return status;
  spoil_results(kernel, call, last, others);
  (void)x;
  return status;
}

static void spoil(void) {
  table.open = open_badly;
  table.patterns = patterns_badly;
  table.judge = judge_badly;
  table.compile = compile_badly;
  table.info = info_badly;
  table.run = run_badly;
#if FAULT_WORKERS
  table.load = load_badly;
#endif
#if FAULT_JOINED
  table.shutdown = end_helper;
#endif
#if FAULT_KNOBS || FAULT_KNOBS_REPEAT
  table.knobs = knobs_badly;
#elif FAULT_FIRST_GUESS
  table.show = show_badly;
#endif
}

byoc_status* byoc_plugin_entry_v1(const byoc_host* host, const byoc_plugin** out) {
  the_host = host;
  byoc_status* status = example_entry(host, &good);
  if (status) return status;
  table = *good;
  spoil();
#if FAULT_CRASHES
  raise(SIGSEGV);
#elif FAULT_HANGS
  for (;;) pause();
#elif FAULT_EXITS
  _exit(0);
#elif FAULT_OPENMP
  function_of_another_openmp();
#endif
  *out = &table;
  return NULL;
}
