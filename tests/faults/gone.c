// SPDX-License-Identifier: Apache-2.0
/* A library that a plugin needs and that is missing when the plugin is loaded. */
void function_of_gone(void);
void function_of_gone(void) {}
