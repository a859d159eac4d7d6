// SPDX-License-Identifier: Apache-2.0
/* Uses the ABI header in plain C11, with tables of other minor versions. */
#include "byoc/plugin/abi.h"

int can_judge(const byoc_plugin* table);
int can_judge(const byoc_plugin* table) { return BYOC_HAS(table, judge) ? 1 : 0; }

int can_show(const byoc_plugin* table);
int can_show(const byoc_plugin* table) { return BYOC_HAS(table, show) ? 1 : 0; }

int has_knobs(const byoc_plugin* table);
int has_knobs(const byoc_plugin* table) { return BYOC_HAS(table, knobs) ? 1 : 0; }

int max_ops_or_zero(const byoc_plugin* table);
int max_ops_or_zero(const byoc_plugin* table) {
  return BYOC_HAS(table, max_ops) ? (int)table->max_ops : 0;
}
