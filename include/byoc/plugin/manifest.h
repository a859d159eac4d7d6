// SPDX-License-Identifier: Apache-2.0
#ifndef BYOC_PLUGIN_MANIFEST_H
#define BYOC_PLUGIN_MANIFEST_H
#include <stdint.h>

#include "byoc/plugin/abi.h"

/// The name of the note.
#define BYOC_MANIFEST_NOTE_NAME "byoc"
/// The type of the note.
#define BYOC_MANIFEST_NOTE_TYPE 1
/// The member `schema` of the manifest.
#define BYOC_MANIFEST_SCHEMA "byoc.plugin/1"

#if defined(__x86_64__)
/// The processor that this is compiled for, the member `arch` of the manifest.
#define BYOC_MANIFEST_ARCH "x86_64"
#elif defined(__aarch64__)
#define BYOC_MANIFEST_ARCH "aarch64"
#elif defined(__riscv) && __riscv_xlen == 64
#define BYOC_MANIFEST_ARCH "riscv64"
#else
#error "name this processor in byoc/plugin/manifest.h"
#endif

#define BYOC_MANIFEST_TEXT_(x) #x
/// The value of a macro as a string literal. Used in this header.
#define BYOC_MANIFEST_TEXT(x) BYOC_MANIFEST_TEXT_(x)

/// Any text as a note; both strings end in a null byte and are padded to four bytes, as in ELF.
#define BYOC_MANIFEST_NOTE(text)                                                    \
  static const struct {                                                             \
    uint32_t name_bytes, text_bytes, type;                                          \
    char name[(sizeof(BYOC_MANIFEST_NOTE_NAME) + 3) / 4 * 4];                       \
    char json[(sizeof(text) + 3) / 4 * 4];                                          \
  } byoc_manifest_note __attribute__((section(".note.byoc"), used, aligned(4))) = { \
      sizeof(BYOC_MANIFEST_NOTE_NAME), sizeof(text), BYOC_MANIFEST_NOTE_TYPE,       \
      BYOC_MANIFEST_NOTE_NAME, text}

/// The manifest without its last brace, as a string literal.
#define BYOC_MANIFEST_MEMBERS(id, version)                                            \
  "{\"schema\":\"" BYOC_MANIFEST_SCHEMA "\",\"id\":\"" id "\",\"version\":\"" version \
  "\",\"abi\":{\"major\":" BYOC_MANIFEST_TEXT(                                        \
      BYOC_ABI_MAJOR) ",\"min_host_minor\":0},\"arch\":\"" BYOC_MANIFEST_ARCH "\""

/// BYOC_MANIFEST("id", "1.0.0"): the plugin's manifest as an ELF note, once per plugin, in C or
/// C++. The host reads it from the file before it loads anything, so that a plugin for another ABI
/// or processor never runs. id and version are string literals; the id is [a-z][a-z0-9_-]*, at
/// most 64 characters long.
#define BYOC_MANIFEST(id, version) BYOC_MANIFEST_NOTE(BYOC_MANIFEST_MEMBERS(id, version) "}")

/// BYOC_MANIFEST_PRIORITY("id", "1.0.0", -10): the same with the table's priority, an integer
/// literal. A plugin whose manifest has one below 0 is opened when it is named, and not before.
#define BYOC_MANIFEST_PRIORITY(id, version, priority) \
  BYOC_MANIFEST_NOTE(                                 \
      BYOC_MANIFEST_MEMBERS(id, version) ",\"priority\":" BYOC_MANIFEST_TEXT(priority) "}")

/// BYOC_MANIFEST_WITH("id", "1.0.0", "\"kept_compiles\":true"): the same with optional members of
/// docs/plugin-abi.md, a string literal, with commas between several.
#define BYOC_MANIFEST_WITH(id, version, members) \
  BYOC_MANIFEST_NOTE(BYOC_MANIFEST_MEMBERS(id, version) "," members "}")

#endif
