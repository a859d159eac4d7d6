// SPDX-License-Identifier: Apache-2.0
// Hides features of the processor from chosen shared libraries of a process, as an audit library
// of the dynamic loader (LD_AUDIT, rtld-audit(7)). Each `cpuid` of those libraries is replaced by
// `ud2`, which has as many bytes, when the library is mapped: before its constructors run and its
// indirect functions are resolved. The handler of SIGILL runs the real `cpuid` and clears bits.
//
//   MASK_CPUID_SITES   a file with a line "OFFSET PATH" per instruction; isa.py writes it. OFFSET
//                      is the hexadecimal address in the library
//   MASK_CPUID_ISA     avx2, or avx2_vnni, which keeps AVX-VNNI
//   MASK_CPUID_LOG     when set, each masked `cpuid` of leaf 7 is printed on stderr
//
// Errors end the process with exit code 1: a library that sees other features than it should must
// not be measured.  Source of the bits: Intel SDM, volume 2A, CPUID.
#define _GNU_SOURCE
#include <cpuid.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

enum { kMostSites = 4096 };

static uintptr_t patched[kMostSites];
static int patched_count = 0;
static int keep_vnni = 0, print_leaves = 0;

static void die(const char* what, const char* which) {
  fprintf(stderr, "mask_cpuid: %s: %s\n", what, which);
  _exit(1);
}

// Clears what an AVX2 processor lacks: AVX-512, AMX, AVX10, and AVX's eight-bit products.
static void mask(uint32_t leaf, uint32_t subleaf, uint32_t* a, uint32_t* b, uint32_t* c,
                 uint32_t* d) {
  if (leaf == 7 && subleaf == 0) {
    // f, dq, ifma, pf, er, cd, bw, vl
    *b &= ~(1u << 16 | 1u << 17 | 1u << 21 | 1u << 26 | 1u << 27 | 1u << 28 | 1u << 30 | 1u << 31);
    *c &=
        ~(1u << 1 | 1u << 6 | 1u << 11 | 1u << 12 | 1u << 14);  // vbmi, vbmi2, vnni, bitalg, popcnt
    *d &= ~(1u << 2 | 1u << 3 | 1u << 8 | 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25);  // fp16, amx
  } else if (leaf == 7 && subleaf == 1) {
    *a &= ~(1u << 5 | 1u << 21 | 1u << 23);                      // avx512_bf16, amx-fp16, avx-ifma
    if (!keep_vnni) *a &= ~(1u << 4);                            // avx-vnni
    *d &= ~(1u << 4 | 1u << 5 | 1u << 8 | 1u << 10 | 1u << 19);  // avx-vnni-int8 and -int16, avx10
  } else if (leaf == 0x24 || leaf == 0x1d || leaf == 0x1e) {     // avx10, amx
    *a = *b = *c = *d = 0;
  }
}

static int is_patched(uintptr_t at) {
  for (int k = 0; k < patched_count; ++k) {
    if (patched[k] == at) return 1;
  }
  return 0;
}

static void emulate(int signal_number, siginfo_t* info, void* context) {
  (void)info;
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  if (!is_patched((uintptr_t)registers[REG_RIP])) {  // an error of the program: it ends by it
    signal(signal_number, SIG_DFL);
    return;
  }
  const uint32_t leaf = (uint32_t)registers[REG_RAX], subleaf = (uint32_t)registers[REG_RCX];
  uint32_t a, b, c, d;
  __cpuid_count(leaf, subleaf, a, b, c, d);
  mask(leaf, subleaf, &a, &b, &c, &d);
  if (print_leaves && leaf == 7) {
    dprintf(STDERR_FILENO, "mask_cpuid: 7.%u %08x %08x %08x %08x\n", subleaf, a, b, c, d);
  }
  registers[REG_RAX] = a;
  registers[REG_RBX] = b;
  registers[REG_RCX] = c;
  registers[REG_RDX] = d;
  registers[REG_RIP] += 2;
}

static void patch(uintptr_t at, const char* path) {
  static const uint8_t cpuid[] = {0x0f, 0xa2}, ud2[] = {0x0f, 0x0b};
  if (memcmp((void*)at, cpuid, 2) != 0) die("the list of instructions is of another version", path);
  if (patched_count == kMostSites) die("too many cpuid instructions", path);
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = at & ~(page - 1);
  const size_t size = ((at + 1) & ~(page - 1)) + page - begin;
  if (mprotect((void*)begin, size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
    die("the system refuses to change code", path);
  }
  patched[patched_count++] = at;
  memcpy((void*)at, ud2, 2);
  mprotect((void*)begin, size, PROT_READ | PROT_EXEC);
}

static void patch_all(const struct link_map* library, FILE* sites) {
  struct stat mapped, listed;
  if (stat(library->l_name, &mapped) != 0) return;
  char line[PATH_MAX + 32];
  while (fgets(line, sizeof line, sites)) {
    line[strcspn(line, "\n")] = 0;
    char* path = line;
    const uintptr_t offset = strtoull(line, &path, 16);
    if (path == line || *path != ' ') die("expected OFFSET PATH", line);
    if (stat(++path, &listed) != 0) die("no such library", path);
    if (listed.st_dev != mapped.st_dev || listed.st_ino != mapped.st_ino) continue;
    patch((uintptr_t)library->l_addr + offset, path);
  }
}

unsigned la_version(unsigned version) {
  (void)version;
  const char* isa = getenv("MASK_CPUID_ISA");
  keep_vnni = isa && strcmp(isa, "avx2_vnni") == 0;
  if (!isa || (!keep_vnni && strcmp(isa, "avx2") != 0)) {
    die("MASK_CPUID_ISA must be avx2 or avx2_vnni, got", isa ? isa : "nothing");
  }
  print_leaves = getenv("MASK_CPUID_LOG") != NULL;
  struct sigaction action = {.sa_sigaction = emulate, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigemptyset(&action.sa_mask);
  if (sigaction(SIGILL, &action, NULL) != 0) die("the handler of SIGILL cannot be set", isa);
  return LAV_CURRENT;
}

unsigned la_objopen(struct link_map* library, Lmid_t space, uintptr_t* cookie) {
  (void)space, (void)cookie;
  const char* path = getenv("MASK_CPUID_SITES");
  FILE* sites = path ? fopen(path, "r") : NULL;
  if (!sites)
    die("MASK_CPUID_SITES must name a file that can be read, got", path ? path : "nothing");
  if (library->l_name[0]) patch_all(library, sites);
  fclose(sites);
  return 0;  // calls between libraries stay as they are
}
