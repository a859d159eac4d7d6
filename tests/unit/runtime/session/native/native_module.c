// SPDX-License-Identifier: Apache-2.0
/* A native module like those of the llvm plugin. Each macro BYOC_BREAK_... makes it violate
 * the contract in one place. */
#include <string.h>

#include "byoc/plugin/abi.h"

/* Computes y = (x + k) * p. The data are x f32[4], kept constant k f32[4], packed constant p f32[4]
 * and y f32[4]. The sum is in the workspace, which is aligned to 256 bytes. */
static int32_t add_mul(const byoc_native_call* call) {
  const float *x = call->data[0], *k = call->data[1], *p = call->data[2];
  float *y = call->data[3], *sum = call->workspace;
  if ((uintptr_t)sum % 256 != 0) return 7;
  for (int i = 0; i < 4; ++i) sum[i] = x[i] + k[i];
  for (int i = 0; i < 4; ++i) y[i] = sum[i] * p[i];
  return x[0] < 0 ? 42 : 0;
}

/* Copies a block of x to y. */
static int32_t copy_block(void* u, uint64_t lo, uint64_t hi, uint32_t worker) {
  const byoc_native_call* call = u;
  (void)worker;
  memcpy((float*)call->data[1] + lo, (const float*)call->data[0] + lo, (hi - lo) * sizeof(float));
  return 0;
}
static int32_t copy(const byoc_native_call* call) {
  return call->host->parallel_for(call->host->ctx, 4, 1, copy_block, (void*)call);
}

static const char kTypes[] = "f32[4] f32[4] u8[16] -> f32[4]"; /* of x, k, p -> y */
static const byoc_native_fn kAddMul = {
    {sizeof kAddMul, BYOC_TAG_NATIVE_FN, NULL}, add_mul, 16, 256, {kTypes, sizeof kTypes - 1}};
/* The struct of ABI minor 1, which has no signature. */
enum { kMinor1 = offsetof(byoc_native_fn, signature) };
static const byoc_native_fn kCopy = {
    {kMinor1, BYOC_TAG_NATIVE_FN, NULL}, copy, 0, 0, {"not to be read", 14}};
#ifdef BYOC_BREAK_FUNCTION
static const byoc_native_fn* const kFns[] = {&kAddMul, NULL};
#else
static const byoc_native_fn* const kFns[] = {&kAddMul, &kCopy};
#endif
#ifdef BYOC_BREAK_ABI
enum { kMajor = BYOC_ABI_MAJOR + 1 };
#else
enum { kMajor = BYOC_ABI_MAJOR };
#endif
static const byoc_native_table kTable = {
    {sizeof kTable, BYOC_TAG_NATIVE_TABLE, NULL}, kMajor, BYOC_ABI_MINOR, 2, kFns};

__attribute__((visibility("default")))
#ifdef BYOC_BREAK_ENTRY
const byoc_native_table*
some_other_entry(const byoc_host* host) {
#else
const byoc_native_table*
byoc_native_entry_v1(const byoc_host* host) {
#endif
  (void)kCopy;
  return host == NULL ? NULL : &kTable;
}
