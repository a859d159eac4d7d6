// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs that every plugin runs, by subject, with the number of ops that onednn must take.
#include <ostream>
#include <vector>

namespace byoc::test {

struct Program {
  const char* name;
  const char* text;  // parameters named w... become random constants
  int onednn;        // ops that onednn takes; -1: not counted
};
inline std::ostream& operator<<(std::ostream& out, const Program& program) {
  return out << program.name;
}

std::vector<Program> programs_of_convolutions();
std::vector<Program> programs_of_residuals();
std::vector<Program> programs_of_pools();
std::vector<Program> programs_of_layouts();
std::vector<Program> programs_of_products();
std::vector<Program> programs_of_functions();

}  // namespace byoc::test
