/* SPDX-License-Identifier: Apache-2.0 */
#include "faults/fault.h"

const enum byoc_test_fault the_fault = FAULT;
