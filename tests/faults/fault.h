/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BYOC_TESTS_FAULTS_FAULT_H
#define BYOC_TESTS_FAULTS_FAULT_H
/* The faults of plugins whose C++ source is compiled once. groups/fault.c, compiled once per
   fault with -DFAULT=..., has the one of a plugin. */
#ifdef __cplusplus
extern "C" {
#endif

enum byoc_test_fault {
  kNone,
  /* outside.cc: the tensor, or the place in it, that one element is accessed outside of */
  kRead,
  kWrite,
  kBefore,
  kInput,
  kConstant,
  kWorkspace,
  /* groups/pairs.cc: the promise about groups that is broken */
  kUnreadable,
  kOverlap,
  kRepeat,
  kNames,
  kDeclines,
  kValues,
  /* open/sizes.cc: the promise about open sizes that is broken */
  kBounds,
  kLeast,
  kShared,
  kRefuses
};

extern const enum byoc_test_fault the_fault;

#ifdef __cplusplus
}
#endif
#endif
