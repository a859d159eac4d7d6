// SPDX-License-Identifier: Apache-2.0
/* Stands in for the OpenMP runtime of another compiler: its name is what matters. */
void function_of_another_openmp(void);
void function_of_another_openmp(void) {}
