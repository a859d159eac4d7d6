// SPDX-License-Identifier: Apache-2.0
// Reductions. Many short ones have a thread each; a long one has a group of threads, whose partial
// results are combined as a tree in shared memory:
//   groups g { shared part[T]
//     threads t { sum = identity; for k: sum += x[g, k T + t]; part[t] = sum }
//     threads t in 0..T/2 { part[t] += part[t + T/2] } ...
//     threads t in 0..1 { y[g] = part[0] } }
#include <bit>

#include "byoc/te/rewrite.h"
#include "plugins/cuda/loops/job.h"

namespace byoc::cuda {
namespace {

// Returns true when the terms of a result follow each other in memory, for the first load.
bool has_adjacent_terms(const Job& job) {
  if (job.reduce.empty() || job.values.empty()) return false;
  te::Expr flat;
  const te::Axis& last = job.compute().reduce.back();
  te::any_node(job.values[0], [&](const te::Expr& node) {
    const auto* load = std::get_if<std::shared_ptr<const te::Load>>(&node->kind);
    if (load == nullptr || (*load)->tensor.rank() == 0) return false;
    const te::Expr& index = (*load)->indices.back();
    const te::Expr next = te::Substitution({{last.var.id(), te::Expr(last.var) + 1}})(index);
    flat = te::simplify(next - index);
    return te::as_int(flat) == 1;
  });
  return !flat.is_empty() && te::as_int(flat) == 1;
}

te::Stmt by_threads(const Job& job, Groups& groups) {
  return groups.flat(job.elements(), [&](const te::Expr& flat) {
    const te::Exprs at = unflattened(flat, job.extents), zero = {0};
    const std::vector<te::Tensor> sums = partial_results(job, {1});
    te::Exprs reduce;
    std::vector<te::Var> vars;
    for (size_t k = 0; k < job.reduce.size(); ++k) reduce.push_back(vars.emplace_back("k"));
    te::Stmt loops = combined(job, sums, zero, terms_at(job, at, reduce));
    for (size_t k = job.reduce.size(); k-- > 0;)
      loops = te::make_for(vars[k], 0, job.reduce[k], te::LoopKind::kSerial, std::move(loops));
    te::Stmt body = te::make_block(
        {cleared(job, sums, zero), std::move(loops), stored(job, at, loads_of(sums, zero))});
    return allocated(sums, std::move(body));
  });
}

// Computes part[t] of all terms k with k mod width = t.
te::Stmt own_terms(const Job& job, const te::Exprs& at, int64_t width,
                   const std::vector<te::Tensor>& parts, Groups& groups) {
  return groups.threads(width, [&](const te::Expr& t) {
    const te::Exprs zero = {0};
    const std::vector<te::Tensor> sums = partial_results(job, {1});
    const int64_t terms = job.terms();
    te::Stmt loop = te::loop("k", ceil_div(terms, width), [&](const te::Expr& k) {
      const te::Expr term = k * width + t;
      te::Stmt add = combined(job, sums, zero, terms_at(job, at, unflattened(term, job.reduce)));
      return terms % width == 0 ? add : te::make_if(term < te::Expr(terms), add);
    });
    std::vector<te::Stmt> body = {cleared(job, sums, zero), std::move(loop)};
    for (size_t k = 0; k < parts.size(); ++k)
      body.push_back(te::make_store(parts[k], {t}, sums[k](zero)));
    return allocated(sums, te::make_block(std::move(body)));
  });
}

}  // namespace

std::vector<te::Stmt> reduced_by_group(const Job& job, const te::Exprs& at, int64_t width,
                                       const std::vector<te::Tensor>& parts, Groups& groups) {
  std::vector<te::Stmt> out = {own_terms(job, at, width, parts, groups)};
  for (int64_t half = width / 2; half > 0; half /= 2) {
    out.push_back(groups.threads(half, [&](const te::Expr& t) {
      return combined(job, parts, {t}, loads_of(parts, {t + half}));
    }));
  }
  return out;
}

bool has_groups(const Job& job) {
  constexpr int64_t kShort = 32, kLong = 256, kManyResults = 16384;
  if (job.terms() < kShort) return false;
  return has_adjacent_terms(job) || (job.terms() >= kLong && job.elements() < kManyResults);
}

namespace {

te::Stmt by_groups(const Job& job, Groups& groups) {
  const auto terms = static_cast<uint64_t>(job.terms());
  const auto width = static_cast<int64_t>(std::min<uint64_t>(kThreads, std::bit_floor(terms)));
  return groups.groups(job.elements(), [&](const te::Expr& g) {
    const te::Exprs at = unflattened(g, job.extents);
    const std::vector<te::Tensor> parts = partial_results(job, {width});
    std::vector<te::Stmt> body = reduced_by_group(job, at, width, parts, groups);
    body.push_back(groups.threads(
        1, [&](const te::Expr& t) { return stored(job, at, loads_of(parts, {t})); }));
    return groups.shared(parts, te::make_block(std::move(body)));
  });
}

}  // namespace

te::Stmt reduction_kernel(const Job& job, Groups& groups) {
  return has_groups(job) ? by_groups(job, groups) : by_threads(job, groups);
}

}  // namespace byoc::cuda
