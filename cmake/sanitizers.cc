// What the address and undefined sanitizers are told in every program of a build with them, whoever
// starts it: the options of the environment come on top.

extern "C" {

// The leak check of GCC 12 takes a thread's dynamic storage for a block of glibc 2.19's when its
// address happens to look like one, and ends on a wild pointer ("Tracer caught signal 11"): always
// with libgomp's workers. Without the interceptor it finds that storage as what it is, from malloc.
// And memory that cannot be had is an error that byoc reports, not the end of the program.
const char* __asan_default_options() {
  return "intercept_tls_get_addr=0:allocator_may_return_null=1";
}

const char* __ubsan_default_options() { return "halt_on_error=1:print_stacktrace=1"; }

}  // extern "C"
