// SPDX-License-Identifier: Apache-2.0
// A library that reads features of the processor in a constructor and on call, for isa_test.py.
#include <cpuid.h>

static unsigned at_start[4];

static void read_leaf(unsigned subleaf, unsigned out[4]) {
  __cpuid_count(7, subleaf, out[0], out[1], out[2], out[3]);
}

__attribute__((constructor)) static void start(void) { read_leaf(0, at_start); }

// Returns register 0 (eax) to 3 (edx) of leaf 7, subleaf 0, as it was when the library was loaded.
unsigned probe_at_start(int which) { return at_start[which]; }

// Returns register 0 to 3 of leaf 7 as it is now.
unsigned probe_now(unsigned subleaf, int which) {
  unsigned out[4];
  read_leaf(subleaf, out);
  return out[which];
}

// Has the bytes of cpuid, 0f a2, in a number.
unsigned probe_bytes(unsigned x) { return x ^ 0x5a20f00u; }
