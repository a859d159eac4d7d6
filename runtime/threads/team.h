// SPDX-License-Identifier: Apache-2.0
#pragma once
// Workers of our own, for sessions without OpenMP code. Unlike a team of libgomp, whose loops end
// when every member has come, these help where they come in time: a loop never waits for a worker
// that has not begun, such as one whose core is busy with another process.
#include <cstdint>

namespace byoc::team {

using Work = void (*)(void* data, uint32_t worker);

/// Returns whether each worker has to do its share of each loop: BYOC_ALL_WORKERS=1, for tests.
bool needs_all();

/// Returns the number of workers, and one more, the caller of `run`.
uint32_t size();

/// Makes workers until `size` is `threads`, or as many as the system allows. They stay. With more
/// `threads` than `cores` they sleep at once when there is nothing to do. With BYOC_PIN=1 this
/// thread and each worker are bound to a core of their own. One caller at a time.
void start(uint32_t threads, uint32_t cores);

/// Returns the time for which loops run without workers after one was late: twice the delay, or,
/// when it was late soon (`since_ns`) after the end of such a time (`last_ns`, 0 for none), four
/// times that one, up to a second.
uint64_t time_alone_ns(uint64_t late_ns, uint64_t since_ns, uint64_t last_ns);

/// Calls `work` with worker 0 on this thread, and with 1 to `threads` - 1 on the workers that come
/// before it returns there. Returns when no call is left. After a worker was much later than this
/// thread, which happens when it loses its core, none are called for a while. One caller at a time;
/// allocates nothing.
void run(uint32_t threads, Work work, void* data);

}  // namespace byoc::team
