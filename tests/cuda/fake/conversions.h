// SPDX-License-Identifier: Apache-2.0
#pragma once
// Instructions that move and convert.
#include "fake/thread.h"

namespace fake_cuda {

void move(Thread& t, const Instruction& i);
void load(Thread& t, const Instruction& i);
void store(Thread& t, const Instruction& i);
void convert(Thread& t, const Instruction& i);
void convert_address(Thread& t, const Instruction& i);
void permute(Thread& t, const Instruction& i);
void extract_bits(Thread& t, const Instruction& i);

}  // namespace fake_cuda
