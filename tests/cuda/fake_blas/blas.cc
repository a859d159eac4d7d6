// SPDX-License-Identifier: Apache-2.0
// A pretended cuBLASLt on the pretended driver: it checks its arguments, and computes products in
// f64 when the stream comes to them. Environment variables:
//   FAKE_BLAS_LOG=1                       prints the products
//   FAKE_BLAS_FAIL=cublasLtMatmul:13      the result of an entry point
//   FAKE_BLAS_NONE=1                      there is no algorithm
//   FAKE_BLAS_VERSION=10203
// Source: "cuBLAS Library", Using the cuBLASLt API.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "fake/numbers.h"
#include "fake/shared.h"

namespace fake_cuda {
namespace {

enum : int { kInvalidValue = 7, kNotSupported = 15 };
constexpr size_t kWorkspaceBytes = 4096;
constexpr int kIllegalAddress = 700;

struct Handle {};
struct Descriptor {
  int compute, scale, operations[2] = {0, 0};
};
struct Layout {
  int type;
  uint64_t rows, columns;
  int64_t leading, distance = 0;
  int32_t batch = 1;
  uint64_t item() const { return type == 1 ? 8 : type == 0 ? 4 : 2; }
  // Returns the bytes of all matrices.
  uint64_t bytes() const {
    const uint64_t one = static_cast<uint64_t>(leading) * (columns - 1) + rows;
    return item() * (static_cast<uint64_t>(distance) * static_cast<uint64_t>(batch - 1) + one);
  }
};
struct Preference {
  uint64_t workspace_bytes = 0;
  uint32_t aligns[4] = {256, 256, 256, 256};
};
struct Choice {
  uint64_t algorithm[8];
  size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};

// Returns the result that the environment gives to an entry point.
int planned(const char* name) {
  const char* text = std::getenv("FAKE_BLAS_FAIL");
  if (text == nullptr) return 0;
  const std::string all = text;
  const size_t colon = all.find(':');
  return all.substr(0, colon) == name ? std::stoi(all.substr(colon + 1)) : 0;
}

double element(const Layout& x, const unsigned char* data, int64_t batch, uint64_t row,
               uint64_t column) {
  const uint64_t at =
      static_cast<uint64_t>(batch * x.distance) + column * static_cast<uint64_t>(x.leading) + row;
  uint64_t bits = 0;
  std::memcpy(&bits, data + at * x.item(), x.item());
  if (x.type == 14) return std::bit_cast<float>(static_cast<uint32_t>(bits << 16));
  return number_of(bits, {'f', static_cast<int>(8 * x.item())});
}

// Rounds f32 to bf16, ties to even.
uint64_t bf16_of(double x) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(x));
  return std::isnan(x) ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

void set(const Layout& x, unsigned char* data, int64_t batch, uint64_t row, uint64_t column,
         double value) {
  const uint64_t at =
      static_cast<uint64_t>(batch * x.distance) + column * static_cast<uint64_t>(x.leading) + row;
  const uint64_t bits =
      x.type == 14 ? bf16_of(value) : bits_of(value, {'f', static_cast<int>(8 * x.item())});
  std::memcpy(data + at * x.item(), &bits, x.item());
}

struct Call {
  Descriptor descriptor;
  Layout a, b, d;
  uint64_t places[3];

  uint64_t rows(const Layout& x, int operation) const {
    return operation == 0 ? x.rows : x.columns;
  }
  uint64_t columns(const Layout& x, int operation) const {
    return operation == 0 ? x.columns : x.rows;
  }
  // Returns an error of the arguments.
  int check() const {
    const int *ops = descriptor.operations, wide = descriptor.compute == 70;
    for (const Layout* x : {&a, &b, &d})
      if (x->leading < static_cast<int64_t>(x->rows) || x->batch != d.batch || x->rows == 0)
        return kInvalidValue;
    if (rows(a, ops[0]) != d.rows || columns(b, ops[1]) != d.columns ||
        columns(a, ops[0]) != rows(b, ops[1]))
      return kInvalidValue;
    const bool has_types = a.type == b.type && (d.type == a.type || (d.type == 0 && a.type != 1)) &&
                           (a.type == 1) == (wide != 0) && descriptor.scale == (wide != 0 ? 1 : 0);
    return has_types && (wide != 0 || descriptor.compute == 68) ? 0 : kNotSupported;
  }
  int run() const {
    unsigned char* data[3];
    const Layout* layouts[] = {&a, &b, &d};
    for (int k = 0; k < 3; ++k) {
      data[k] = find_memory(places[k], layouts[k]->bytes());
      if (data[k] == nullptr) return kIllegalAddress;
    }
    const int* ops = descriptor.operations;
    for (int64_t batch = 0; batch < d.batch; ++batch) {
      for (uint64_t column = 0; column < d.columns; ++column) {
        for (uint64_t row = 0; row < d.rows; ++row) {
          double sum = 0;
          for (uint64_t k = 0; k < columns(a, ops[0]); ++k)
            sum += (ops[0] == 0 ? element(a, data[0], batch, row, k)
                                : element(a, data[0], batch, k, row)) *
                   (ops[1] == 0 ? element(b, data[1], batch, k, column)
                                : element(b, data[1], batch, column, k));
          set(d, data[2], batch, row, column, sum);
        }
      }
    }
    return 0;
  }
};

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;
#define ENTRY extern "C" __attribute__((visibility("default"))) int
#define BEGIN(name) \
  if (const int wrong = planned(name); wrong != 0) return wrong

extern "C" __attribute__((visibility("default"))) size_t cublasLtGetVersion() {
  const char* text = std::getenv("FAKE_BLAS_VERSION");
  return text == nullptr ? 120405 : static_cast<size_t>(std::atoll(text));
}
ENTRY cublasLtCreate(Handle** out) {
  BEGIN("cublasLtCreate");
  return *out = new Handle(), 0;
}
ENTRY cublasLtDestroy(Handle* handle) { return delete handle, 0; }
ENTRY cublasLtMatmulDescCreate(Descriptor** out, int compute, int scale) {
  BEGIN("cublasLtMatmulDescCreate");
  return *out = new Descriptor{compute, scale}, 0;
}
ENTRY cublasLtMatmulDescDestroy(Descriptor* x) { return delete x, 0; }
ENTRY cublasLtMatmulDescSetAttribute(Descriptor* x, int which, const void* value, size_t n) {
  BEGIN("cublasLtMatmulDescSetAttribute");
  if ((which != 3 && which != 4) || n != 4) return kInvalidValue;
  return std::memcpy(&x->operations[which - 3], value, n), 0;
}
ENTRY cublasLtMatrixLayoutCreate(Layout** out, int type, uint64_t rows, uint64_t columns,
                                 int64_t leading) {
  BEGIN("cublasLtMatrixLayoutCreate");
  return *out = new Layout{type, rows, columns, leading}, 0;
}
ENTRY cublasLtMatrixLayoutDestroy(Layout* x) { return delete x, 0; }
ENTRY cublasLtMatrixLayoutSetAttribute(Layout* x, int which, const void* value, size_t n) {
  BEGIN("cublasLtMatrixLayoutSetAttribute");
  if (which == 5 && n == 4) return std::memcpy(&x->batch, value, n), 0;
  if (which == 6 && n == 8) return std::memcpy(&x->distance, value, n), 0;
  return kInvalidValue;
}
ENTRY cublasLtMatmulPreferenceCreate(Preference** out) {
  BEGIN("cublasLtMatmulPreferenceCreate");
  return *out = new Preference(), 0;
}
ENTRY cublasLtMatmulPreferenceDestroy(Preference* x) { return delete x, 0; }
ENTRY cublasLtMatmulPreferenceSetAttribute(Preference* x, int which, const void* value, size_t n) {
  BEGIN("cublasLtMatmulPreferenceSetAttribute");
  if (which == 1 && n == 8) return std::memcpy(&x->workspace_bytes, value, n), 0;
  if (which >= 5 && which <= 8 && n == 4) return std::memcpy(&x->aligns[which - 5], value, n), 0;
  return kInvalidValue;
}
ENTRY cublasLtMatmulAlgoGetHeuristic(Handle*, Descriptor* descriptor, Layout* a, Layout* b, Layout*,
                                     Layout* d, Preference* preference, int count, Choice* out,
                                     int* found) {
  BEGIN("cublasLtMatmulAlgoGetHeuristic");
  *found = 0;
  if (const int wrong = Call{*descriptor, *a, *b, *d, {}}.check(); wrong != 0) return wrong;
  if (std::getenv("FAKE_BLAS_NONE") != nullptr || count < 1) return 0;
  if (preference->workspace_bytes < kWorkspaceBytes) return kInvalidValue;
  *out = {{d->rows, d->columns}, kWorkspaceBytes, 0, 1, {}};
  return *found = 1, 0;
}
ENTRY cublasLtMatmul(Handle*, Descriptor* descriptor, const void* alpha, const void* a_data,
                     Layout* a, const void* b_data, Layout* b, const void* beta, const void* c_data,
                     Layout* c, void* d_data, Layout* d, const uint64_t* algorithm, void* workspace,
                     size_t n, void* stream) {
  BEGIN("cublasLtMatmul");
  const auto address = [](const void* x) { return reinterpret_cast<uint64_t>(x); };
  const Call call{*descriptor, *a, *b, *d, {address(a_data), address(b_data), address(d_data)}};
  const bool is_wide = descriptor->scale == 1;
  const double one =
                   is_wide ? *static_cast<const double*>(alpha) : *static_cast<const float*>(alpha),
               zero =
                   is_wide ? *static_cast<const double*>(beta) : *static_cast<const float*>(beta);
  if (call.check() != 0 || one != 1 || zero != 0 || c != d || c_data != d_data ||
      algorithm[0] != d->rows || n < kWorkspaceBytes || address(workspace) % 256 != 0)
    return kInvalidValue;
  for (uint64_t place : call.places)
    if (place % 64 != 0) return kInvalidValue;
  const uint64_t memory = address(workspace);
  if (std::getenv("FAKE_BLAS_LOG") != nullptr)
    std::fprintf(
        stderr,
        "cublasLtMatmul %c%c %llu x %llu x %llu, ld %lld %lld %lld, batch %d, types %d %d\n",
        call.descriptor.operations[0] == 0 ? 'n' : 't',
        call.descriptor.operations[1] == 0 ? 'n' : 't', static_cast<unsigned long long>(d->rows),
        static_cast<unsigned long long>(d->columns),
        static_cast<unsigned long long>(call.columns(*a, call.descriptor.operations[0])),
        static_cast<long long>(a->leading), static_cast<long long>(b->leading),
        static_cast<long long>(d->leading), d->batch, a->type, d->type);
  add_work(stream, [call, memory, n] {
    unsigned char* const scratch = find_memory(memory, n);
    if (scratch == nullptr) return kIllegalAddress;
    std::memset(scratch, 0xff, n);  // a library may write all of it
    return call.run();
  });
  return 0;
}
