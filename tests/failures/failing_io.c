/* SPDX-License-Identifier: Apache-2.0 */
/* A library for LD_PRELOAD: one call of the system on files below a folder fails.

     FAIL_UNDER  calls on files whose path has this text count, and no others; the path of a
                 relative name is that of the current folder
     FAIL_AT     the number of the call that fails, from 1; 0: none does
     FAIL_HOW    eio or enospc: an error; short: half of the bytes are read or written;
                 full: every write from then on fails with ENOSPC; vanish: FAIL_GONE is renamed
                 before the call; clock: the time of day jumps by a day at every call of it
     FAIL_COUNT  a file to which the number of calls of this process is appended */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))next(#name))

static void* next(const char* name) { return dlsym(RTLD_NEXT, name); }

static atomic_long calls;
enum { kMostFiles = 4096 };
static atomic_char watched[kMostFiles];

static int is_under(const char* path) {
  const char* under = getenv("FAIL_UNDER");
  char folder[4096];
  if (under == NULL || path == NULL) return 0;
  if (path[0] == '/') return strstr(path, under) != NULL;
  return getcwd(folder, sizeof folder) != NULL && strstr(folder, under) != NULL;
}
static int is_watched(int fd) { return fd >= 0 && fd < kMostFiles && watched[fd]; }
static int is(const char* how) {
  const char* given = getenv("FAIL_HOW");
  return given != NULL && strcmp(given, how) == 0;
}

enum { kWorks, kFails, kCut };
/* Counts a call; `writes`: it needs room on the disk. */
static int outcome(int writes) {
  const char* at_text = getenv("FAIL_AT");
  const long n = ++calls, at = at_text ? atol(at_text) : 0;
  if (at == 0 || n < at) return kWorks;
  if (is("full")) {
    errno = ENOSPC;
    return writes ? kFails : kWorks;
  }
  if (n != at) return kWorks;
  if (is("vanish")) {
    const char* gone = getenv("FAIL_GONE");
    char to[4096];
    snprintf(to, sizeof to, "%s.gone", gone);
    rename(gone, to);
    return kWorks;
  }
  if (is("short")) return kCut;
  errno = is("enospc") ? ENOSPC : EIO;
  return kFails;
}

__attribute__((destructor)) static void append_count(void) {
  const char* path = getenv("FAIL_COUNT");
  if (path == NULL || calls == 0) return;
  char line[32];
  const int n = snprintf(line, sizeof line, "%ld\n", (long)calls);
  const int fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (fd < 0) return;
  syscall(SYS_write, fd, line, n);
  syscall(SYS_close, fd);
}
/* _exit runs no destructors. */
void _exit(int code) {
  append_count();
  syscall(SYS_exit_group, code);
  __builtin_unreachable();
}

static int watch(int fd, const char* path) {
  if (fd >= 0 && fd < kMostFiles) watched[fd] = (char)is_under(path);
  return fd;
}

#define OPEN(name, parameters, arguments, path, flags)                          \
  int name parameters {                                                         \
    mode_t mode = 0;                                                            \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                      \
      va_list list;                                                             \
      va_start(list, flags);                                                    \
      mode = va_arg(list, mode_t);                                              \
      va_end(list);                                                             \
    }                                                                           \
    if (is_under(path) && outcome(((flags)&O_CREAT) != 0) == kFails) return -1; \
    return watch(REAL(name) arguments, path);                                   \
  }
OPEN(open, (const char* path, int flags, ...), (path, flags, mode), path, flags)
OPEN(open64, (const char* path, int flags, ...), (path, flags, mode), path, flags)
OPEN(openat, (int folder, const char* path, int flags, ...), (folder, path, flags, mode), path,
     flags)
OPEN(openat64, (int folder, const char* path, int flags, ...), (folder, path, flags, mode), path,
     flags)

FILE* fopen(const char* path, const char* mode) {
  if (is_under(path) && outcome(mode[0] != 'r') == kFails) return NULL;
  FILE* file = REAL(fopen)(path, mode);
  if (file != NULL) watch(fileno(file), path);
  return file;
}
FILE* fopen64(const char* path, const char* mode) { return fopen(path, mode); }

/* A transfer of n bytes; `cut` has half as many. */
#define TRANSFER(name, parameters, whole, cut, writes)       \
  ssize_t name parameters {                                  \
    if (!is_watched(fd)) return REAL(name) whole;            \
    const int come = outcome(writes);                        \
    if (come == kFails) return -1;                           \
    return come == kCut ? REAL(name) cut : REAL(name) whole; \
  }
TRANSFER(read, (int fd, void* to, size_t n), (fd, to, n), (fd, to, n / 2), 0)
TRANSFER(write, (int fd, const void* from, size_t n), (fd, from, n), (fd, from, (n + 1) / 2), 1)
TRANSFER(pread, (int fd, void* to, size_t n, off_t at), (fd, to, n, at), (fd, to, n / 2, at), 0)
TRANSFER(pwrite, (int fd, const void* from, size_t n, off_t at), (fd, from, n, at),
         (fd, from, (n + 1) / 2, at), 1)
TRANSFER(readv, (int fd, const struct iovec* to, int n), (fd, to, n), (fd, to, (n + 1) / 2), 0)
TRANSFER(writev, (int fd, const struct iovec* from, int n), (fd, from, n), (fd, from, (n + 1) / 2),
         1)

#define ON_FILE(name, parameters, arguments, writes)            \
  int name parameters {                                         \
    if (is_watched(fd) && outcome(writes) == kFails) return -1; \
    return REAL(name) arguments;                                \
  }
ON_FILE(fsync, (int fd), (fd), 1)
ON_FILE(fdatasync, (int fd), (fd), 1)
ON_FILE(ftruncate, (int fd, off_t size), (fd, size), 1)
ON_FILE(posix_fallocate, (int fd, off_t at, off_t size), (fd, at, size), 1)

int close(int fd) {
  const int fails = is_watched(fd) && outcome(1) == kFails, error = errno;
  if (fd >= 0 && fd < kMostFiles) watched[fd] = 0;
  const int closed = REAL(close)(fd); /* closed in any case, as Linux does */
  if (fails) errno = error;
  return fails ? -1 : closed;
}
int rename(const char* from, const char* to) {
  if (is_under(to) && outcome(1) == kFails) return -1;
  return REAL(rename)(from, to);
}
int mkdir(const char* path, mode_t mode) {
  if (is_under(path) && outcome(1) == kFails) return -1;
  return REAL(mkdir)(path, mode);
}
int unlink(const char* path) { /* that it fails is no one's to repair */
  if (is_under(path)) outcome(0);
  return REAL(unlink)(path);
}
void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) {
  if (is_watched(fd) && outcome(0) == kFails) return MAP_FAILED;
  return (void*)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}
void* mmap64(void* at, size_t size, int protection, int flags, int fd, off_t offset) {
  return mmap(at, size, protection, flags, fd, offset);
}

/* Forwards and backwards by turns. */
static long jump(void) {
  static atomic_long turn;
  if (!is("clock")) return 0;
  const long n = ++turn;
  return n % 2 ? 86400 * (n % 5) : -86400 * (n % 7);
}
int clock_gettime(clockid_t clock, struct timespec* out) {
  const int result = (int)syscall(SYS_clock_gettime, clock, out);
  if (clock == CLOCK_REALTIME) out->tv_sec += jump();
  return result;
}
time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}
