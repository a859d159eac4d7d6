// SPDX-License-Identifier: Apache-2.0
// Options that are built into every program of a build with the address and undefined sanitizers;
// options of the environment are added to them.

#include <sys/resource.h>

#include <algorithm>

extern "C" {

// The leak check of GCC 12 takes a thread's dynamic storage for a block of glibc 2.19's when its
// address happens to look like one, and ends on a wild pointer ("Tracer caught signal 11");
// libgomp's workers always cause that. Without the interceptor it finds that storage as memory from
// malloc. A failed allocation returns null, because byoc reports it as an error.
const char* __asan_default_options() {
  return "intercept_tls_get_addr=0:allocator_may_return_null=1";
}

const char* __ubsan_default_options() { return "halt_on_error=1:print_stacktrace=1"; }

}  // extern "C"

namespace {

// Enlarges the stack: with red zones around its variables, a frame takes several times its size.
__attribute__((constructor)) void enlarge_stack() {
  rlimit limit{};
  ::getrlimit(RLIMIT_STACK, &limit);
  limit.rlim_cur = std::min<rlim_t>(std::max<rlim_t>(limit.rlim_cur, 64 << 20), limit.rlim_max);
  ::setrlimit(RLIMIT_STACK, &limit);
}

}  // namespace
