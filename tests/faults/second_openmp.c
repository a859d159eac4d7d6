// SPDX-License-Identifier: Apache-2.0
/* Replaces the OpenMP runtime of another compiler; only its name matters. */
void function_of_another_openmp(void);
void function_of_another_openmp(void) {}
