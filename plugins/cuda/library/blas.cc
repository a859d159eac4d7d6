// SPDX-License-Identifier: Apache-2.0
// Row-major matrices are column-major ones that are transposed: d = a b is computed as d' = b' a',
// so that the library's first factor is b.
#include "plugins/cuda/library/blas.h"

#include "byoc/base/dtype.h"
#include "plugins/cuda/library/opened.h"

namespace byoc::cuda {
namespace {

using namespace blas;

constexpr size_t kLeastVersion = 11000;             // 11.0
constexpr uint64_t kMostWorkspaceBytes = 32 << 20;  // as the library advises for sm_90
constexpr uint32_t kAlignBytes = 64;                // of the values between kernels

const Wanted& wanted() {
  static const Wanted kWanted = {
      "cuBLASLt",
      {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"},
      "install it (Debian: libcublaslt, pip: nvidia-cublas-cu12) where the loader finds it, or "
      "name "
      "it by --plugin-option cuda.cublaslt=FILE; until then byoc's own kernels are used"};
  return kWanted;
}

/// The entry points.
struct Table {
#define BYOC_CUBLASLT_TYPED(name, type) std::add_pointer_t<type> name = nullptr;
  BYOC_CUBLASLT_ENTRY_POINTS(BYOC_CUBLASLT_TYPED)
#undef BYOC_CUBLASLT_TYPED
};

// Versions up to 11 have two digits less: 11501 is 11.5.1, and 120405 is 12.4.5.
std::string version_text_of(size_t number) {
  const size_t major = number >= 100000 ? number / 10000 : number / 1000;
  const size_t minor = number >= 100000 ? number / 100 % 100 : number / 100 % 10;
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(number % 100);
}

const char* name_of(StatusNumber status) {
  switch (status) {
    case kNotInitialised:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case kAllocFailed:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case kWrongValue:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case kArchMismatch:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case kMappingError:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case kExecutionFailed:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case kInternalError:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case kNotSupported:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "an unknown status";
  }
}

void check(StatusNumber status, const char* call) {
  if (status == kDone) return;
  const uint32_t code = status == kAllocFailed       ? BYOC_RESOURCE_EXHAUSTED
                        : status == kExecutionFailed ? BYOC_UNAVAILABLE
                                                     : BYOC_INTERNAL;
  throw sdk::Error(
      code, std::string(call) + ": " + name_of(status) + " (" + std::to_string(status) + ")");
}

int32_t type_of(uint64_t dtype) {
  switch (static_cast<DType>(dtype)) {
    case DType::kF64:
      return kR64F;
    case DType::kF16:
      return kR16F;
    case DType::kBF16:
      return kR16BF;
    default:
      return kR32F;
  }
}

#define BYOC_CUBLASLT(table, name, ...) check((table).name(__VA_ARGS__), #name)

/// A thing of the library, freed with this object.
template <class T>
class Owned {
 public:
  using Free = StatusNumber (*)(T);
  explicit Owned(Free free) : free_(free) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (value_ != nullptr) free_(value_);
  }
  T* to() { return &value_; }
  T get() const { return value_; }

 private:
  Free free_;
  T value_ = nullptr;
};

/// A matrix in memory as the library has it: column-major, with a leading dimension.
class Matrix {
 public:
  explicit Matrix(const Table& table) : table_(table), layout_(table.cublasLtMatrixLayoutDestroy) {}
  void make(uint64_t type, uint64_t rows, uint64_t columns, uint64_t leading, uint64_t batch,
            uint64_t distance) {
    BYOC_CUBLASLT(table_, cublasLtMatrixLayoutCreate, layout_.to(), type_of(type), rows, columns,
                  static_cast<int64_t>(leading));
    const auto count = static_cast<int32_t>(batch);
    const auto step = static_cast<int64_t>(distance);
    BYOC_CUBLASLT(table_, cublasLtMatrixLayoutSetAttribute, layout_.get(), kBatchCount, &count,
                  sizeof count);
    BYOC_CUBLASLT(table_, cublasLtMatrixLayoutSetAttribute, layout_.get(), kBatchDistance, &step,
                  sizeof step);
  }
  Layout get() const { return layout_.get(); }

 private:
  const Table& table_;
  Owned<Layout> layout_;
};

class OpenBlas;

class Planned : public BlasProduct {
 public:
  Planned(std::shared_ptr<const OpenBlas> library, const MatrixProduct& product);
  /// Returns false where the library has no algorithm.
  bool choose();
  uint64_t workspace_bytes() const override { return choice_.workspace_bytes; }
  void run(CUdeviceptr a, CUdeviceptr b, CUdeviceptr d, CUdeviceptr workspace,
           CUstream stream) const override;

 private:
  void transpose(int32_t which, bool is_transposed);
  const std::shared_ptr<const OpenBlas> library_;
  const bool is_double_;
  Owned<Descriptor> descriptor_;
  Matrix first_, second_, result_;  // b, a, d
  Choice choice_{};
};

class OpenBlas : public Blas, public std::enable_shared_from_this<OpenBlas> {
 public:
  OpenBlas(const Table& table, std::shared_ptr<const Device> device)
      : table_(table), device_(std::move(device)) {}
  ~OpenBlas() override {
    if (handle_ == nullptr) return;
    try {
      const Device::Current current(*device_);
      table_.cublasLtDestroy(handle_);
    } catch (const sdk::Error&) {  // the device is gone
    }
  }
  std::string version() const override { return version_text_of(table_.cublasLtGetVersion()); }
  std::unique_ptr<const BlasProduct> plan(const MatrixProduct& product,
                                          std::string& why) const override {
    const Device::Current current(*device_);
    {
      std::lock_guard lock(mutex_);
      if (handle_ == nullptr) BYOC_CUBLASLT(table_, cublasLtCreate, &handle_);
    }
    auto out = std::make_unique<Planned>(shared_from_this(), product);
    if (out->choose()) return out;
    why = "cuBLASLt has no algorithm for a product of " + std::to_string(product.m) + " x " +
          std::to_string(product.n) + " x " + std::to_string(product.k);
    return nullptr;
  }
  const Table& table() const { return table_; }
  Handle handle() const { return handle_; }

 private:
  const Table table_;
  const std::shared_ptr<const Device> device_;
  mutable std::mutex mutex_;
  mutable Handle handle_ = nullptr;  // made with the first product, as that takes a context
};

Planned::Planned(std::shared_ptr<const OpenBlas> library, const MatrixProduct& p)
    : library_(std::move(library)),
      is_double_(type_of(p.factor_type) == kR64F),
      descriptor_(library_->table().cublasLtMatmulDescDestroy),
      first_(library_->table()),
      second_(library_->table()),
      result_(library_->table()) {
  BYOC_CUBLASLT(library_->table(), cublasLtMatmulDescCreate, descriptor_.to(),
                is_double_ ? kCompute64F : kCompute32F, is_double_ ? kR64F : kR32F);
  const bool is_b_transposed = p.b_column != 1, is_a_transposed = p.a_column != 1;
  transpose(kTransposeA, is_b_transposed);
  transpose(kTransposeB, is_a_transposed);
  if (is_b_transposed) first_.make(p.factor_type, p.k, p.n, p.b_column, p.batch, p.b_batch);
  else first_.make(p.factor_type, p.n, p.k, p.b_row, p.batch, p.b_batch);
  if (is_a_transposed) second_.make(p.factor_type, p.m, p.k, p.a_column, p.batch, p.a_batch);
  else second_.make(p.factor_type, p.k, p.m, p.a_row, p.batch, p.a_batch);
  result_.make(p.result_type, p.n, p.m, p.d_row, p.batch, p.d_batch);
}

void Planned::transpose(int32_t which, bool is_transposed) {
  const int32_t operation = is_transposed ? kTransposed : kAsItIs;
  BYOC_CUBLASLT(library_->table(), cublasLtMatmulDescSetAttribute, descriptor_.get(), which,
                &operation, sizeof operation);
}

bool Planned::choose() {
  const Table& table = library_->table();
  Owned<Preference> preference(table.cublasLtMatmulPreferenceDestroy);
  BYOC_CUBLASLT(table, cublasLtMatmulPreferenceCreate, preference.to());
  BYOC_CUBLASLT(table, cublasLtMatmulPreferenceSetAttribute, preference.get(), kMostWorkspace,
                &kMostWorkspaceBytes, sizeof kMostWorkspaceBytes);
  for (int32_t which : {kAlignmentA, kAlignmentB, kAlignmentC, kAlignmentD})
    BYOC_CUBLASLT(table, cublasLtMatmulPreferenceSetAttribute, preference.get(), which,
                  &kAlignBytes, sizeof kAlignBytes);
  int32_t found = 0;
  const StatusNumber status = table.cublasLtMatmulAlgoGetHeuristic(
      library_->handle(), descriptor_.get(), first_.get(), second_.get(), result_.get(),
      result_.get(), preference.get(), 1, &choice_, &found);
  if (status == kNotSupported || (status == kDone && found == 0)) return false;
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  return choice_.status == kDone;
}

void Planned::run(CUdeviceptr a, CUdeviceptr b, CUdeviceptr d, CUdeviceptr workspace,
                  CUstream stream) const {
  const float one = 1, zero = 0;
  const double wide_one = 1, wide_zero = 0;
  auto address = [](CUdeviceptr x) { return reinterpret_cast<void*>(x); };
  BYOC_CUBLASLT(library_->table(), cublasLtMatmul, library_->handle(), descriptor_.get(),
                is_double_ ? static_cast<const void*>(&wide_one) : &one, address(b), first_.get(),
                address(a), second_.get(),
                is_double_ ? static_cast<const void*>(&wide_zero) : &zero, address(d),
                result_.get(), address(d), result_.get(), &choice_.algorithm, address(workspace),
                choice_.workspace_bytes, stream);
}

}  // namespace

std::shared_ptr<const Blas> Blas::open(const std::string& option,
                                       std::shared_ptr<const Device> device, std::string& why) {
  void* const library = open_library(wanted(), option, why);
  if (library == nullptr) return nullptr;
  Table table;
#define BYOC_CUBLASLT_FIND(name, type) \
  table.name =                         \
      reinterpret_cast<std::add_pointer_t<type>>(entry_point(library, #name, wanted(), why));
  BYOC_CUBLASLT_ENTRY_POINTS(BYOC_CUBLASLT_FIND)
#undef BYOC_CUBLASLT_FIND
  if (!why.empty()) return nullptr;
  if (table.cublasLtGetVersion() < kLeastVersion) {
    why = "cuBLASLt has the version " + version_text_of(table.cublasLtGetVersion()) +
          ", at least 11.0 is needed: " + wanted().cure;
    return nullptr;
  }
  return std::make_shared<const OpenBlas>(table, std::move(device));
}

}  // namespace byoc::cuda
