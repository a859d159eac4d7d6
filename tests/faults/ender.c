// SPDX-License-Identifier: Apache-2.0
/* Plugins that end or stop the process that loads them, in a static constructor or in the entry:
 * -DWHERE=CONSTRUCTOR or ENTRY, -DHOW=CRASHES, HANGS or EXITS. -DPRIORITY=-7: one that is not
 * opened before it is named. */
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "byoc/plugin/manifest.h"

enum { CONSTRUCTOR, ENTRY };
enum { CRASHES, HANGS, EXITS };

#ifdef PRIORITY
BYOC_MANIFEST_PRIORITY("later_crashes", "1.0.0", PRIORITY);
#else
BYOC_MANIFEST("ender", "1.0.0");
#endif

static void end(void) {
  if (HOW == CRASHES) raise(SIGSEGV);
  if (HOW == EXITS) exit(0);
  for (;;) pause();
}

__attribute__((constructor)) static void construct(void) {
  if (WHERE == CONSTRUCTOR) end();
}

byoc_status* byoc_plugin_entry_v1(const byoc_host* host, const byoc_plugin** out) {
  (void)host;
  if (WHERE == ENTRY) end();
  *out = NULL;
  return NULL;
}
