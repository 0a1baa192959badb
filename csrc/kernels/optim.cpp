#include <atomic>
#include <cmath>

#include "kernels/optim_loops.h"
#include "kernels/pointwise.h"
#include "kernels/targets.h"
#include "ops/all.h"
#include "runtime/parallel.h"

namespace flambeau {
namespace baseline {
extern const OptimLoops optim_loops[];
}
namespace avx2 {
extern const OptimLoops optim_loops[];
}
namespace avx512 {
extern const OptimLoops optim_loops[];
}

namespace kernels {
namespace {

const OptimLoops& loops() {
  static const OptimLoops* const tables[3] = {FLAMBEAU_TABLE_BASELINE(optim_loops, 0),
                                              FLAMBEAU_TABLE_AVX2(optim_loops, 0),
                                              FLAMBEAU_TABLE_AVX512(optim_loops, 0)};
  return *tables[chosen_target()];
}

constexpr int64_t kChunk = 8192;

struct Piece {
  uint32_t param;
  int64_t begin, end;
};

// All parameters cut into pieces that threads share.
template <class F>
void for_pieces(const TensorList& params, F&& f) {
  std::vector<Piece> pieces;
  int64_t total = 0;
  for (size_t i = 0; i < params.size(); i++) {
    int64_t n = params[i].numel();
    total += n;
    for (int64_t at = 0; at < n; at += kChunk)
      pieces.push_back({uint32_t(i), at, std::min(n, at + kChunk)});
  }
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; k++)
      f(pieces[size_t(k)].param, pieces[size_t(k)].begin, pieces[size_t(k)].end);
  };
  LongWork work(total >= (1 << 18));
  int64_t count = int64_t(pieces.size());
  if (total < 16384)
    run(0, count);
  else
    parallel_for(count, 1, run);
}

void check_list(const char* op, const char* name, const TensorList& list,
                const TensorList& params) {
  check(list.size() == params.size(), op, ": ", params.size(), " params but ", list.size(), " ",
        name);
  for (size_t i = 0; i < list.size(); i++) {
    const Tensor &t = list[i], &p = params[i];
    check(t.dtype() == p.dtype() && equal(t.sizes(), p.sizes()), op, ": ", name, "[", i,
          "] has shape ", t.sizes(), " and dtype ", t.dtype(), ", but params[", i, "] has ",
          p.sizes(), " and ", p.dtype());
    check(t.is_contiguous() || equal(t.strides(), p.strides()), op, ": ", name, "[", i,
          "] and params[", i, "] have different strides");
  }
}

// Gradients in the parameters' own element order.
TensorList matching(const TensorList& grads, const TensorList& params) {
  TensorList out;
  for (size_t i = 0; i < grads.size(); i++) {
    const Tensor &g = grads[i], &p = params[i];
    if ((g.is_contiguous() && p.is_contiguous()) || equal(g.strides(), p.strides())) {
      out.push_back(g);
    } else {
      Tensor moved = flambeau::empty_strided(p.sizes(), p.strides(), g.dtype());
      copy_kernel(moved, g);
      out.push_back(moved);
    }
  }
  return out;
}

void check_params(const char* op, const TensorList& params) {
  for (size_t i = 0; i < params.size(); i++) {
    check(params[i].dtype() == DType::Float32 || params[i].dtype() == DType::Float64, op,
          ": params[", i, "] has dtype ", params[i].dtype(), ", expected float32 or float64");
    check(is_non_overlapping_and_dense(params[i].sizes(), params[i].strides()), op, ": params[", i,
          "] must be dense, got strides ", params[i].strides());
  }
}

char* element(const Tensor& t, int64_t i) { return t.bytes() + i * t.itemsize(); }

}  // namespace

void _adam_step_(const TensorList& params, const TensorList& grads, const TensorList& exp_avgs,
                 const TensorList& exp_avg_sqs, const TensorList& max_exp_avg_sqs,
                 const TensorList& steps, double lr, double beta1, double beta2, double eps,
                 double weight_decay, bool decoupled, bool amsgrad, bool maximize) {
  const char* op = "_adam_step_";
  check_params(op, params);
  if (!params.empty() && params[0].is_meta()) return;
  check(grads.size() == params.size() && steps.size() == params.size(), op,
        ": params, grads and steps differ in length");
  TensorList g = matching(grads, params);
  check_list(op, "grads", g, params);
  check_list(op, "exp_avgs", exp_avgs, params);
  check_list(op, "exp_avg_sqs", exp_avg_sqs, params);
  if (amsgrad) check_list(op, "max_exp_avg_sqs", max_exp_avg_sqs, params);
  std::vector<AdamScalars> scalars;
  for (size_t i = 0; i < params.size(); i++) {
    check(steps[i].numel() == 1 && steps[i].dtype() == DType::Float32, op, ": steps[", i,
          "] must be one float32 number");
    float* step = steps[i].data<float>();
    *step += 1;
    double t = *step, correction1 = 1 - std::pow(beta1, t), correction2 = 1 - std::pow(beta2, t);
    scalars.push_back({weight_decay, 1 - lr * weight_decay, 1 - beta1, beta2, 1 - beta2,
                       std::sqrt(correction2), eps, lr / correction1,
                       !decoupled && weight_decay != 0, decoupled && weight_decay != 0, amsgrad,
                       maximize});
  }
  for_pieces(params, [&](uint32_t i, int64_t begin, int64_t end) {
    loops().adam[params[i].dtype() == DType::Float64](
        element(params[i], begin), element(g[i], begin), element(exp_avgs[i], begin),
        element(exp_avg_sqs[i], begin), amsgrad ? element(max_exp_avg_sqs[i], begin) : nullptr,
        end - begin, scalars[i]);
  });
  for (auto& p : params) bump_version(p, op);
}

void _sgd_step_(const TensorList& params, const TensorList& grads, const TensorList& buffers,
                double lr, double momentum, double dampening, double weight_decay, bool nesterov,
                bool maximize, bool first_step) {
  const char* op = "_sgd_step_";
  check_params(op, params);
  if (!params.empty() && params[0].is_meta()) return;
  check(grads.size() == params.size(), op, ": params and grads differ in length");
  TensorList g = matching(grads, params);
  check_list(op, "grads", g, params);
  if (momentum != 0) check_list(op, "momentum_buffers", buffers, params);
  const SgdScalars s{weight_decay, momentum, 1 - dampening, -lr, nesterov, maximize, first_step};
  for_pieces(params, [&](uint32_t i, int64_t begin, int64_t end) {
    loops().sgd[params[i].dtype() == DType::Float64](
        element(params[i], begin), element(g[i], begin),
        momentum != 0 ? element(buffers[i], begin) : nullptr, end - begin, s);
  });
  for (auto& p : params) bump_version(p, op);
}

// ---- scaling of losses

namespace {

void check_number(const char* op, const char* name, const Tensor& t, DType dtype,
                  const char* kind) {
  check(t.numel() == 1, name, " must be a 1-element tensor.", " (", op, " got shape ", t.sizes(),
        ")");
  check(t.dtype() == dtype, name, " must be ", kind, " tensor.", " (", op, " got dtype ", t.dtype(),
        ")");
}

}  // namespace

void _amp_foreach_non_finite_check_and_unscale_(const TensorList& self, const Tensor& found_inf,
                                                const Tensor& inv_scale) {
  const char* op = "_amp_foreach_non_finite_check_and_unscale_";
  if (self.empty()) return;
  check_number(op, "inv_scale", inv_scale, DType::Float32, "a float");
  check_number(op, "found_inf", found_inf, DType::Float32, "a float");
  for (auto& g : self)
    check<NotImplementedError>(g.is_floating(), op, ": not implemented for ", g.dtype(),
                               ", expected gradients of floating point");
  if (found_inf.is_meta()) return;
  TensorList work;
  for (auto& g : self) {
    const bool dense = is_non_overlapping_and_dense(g.sizes(), g.strides());
    work.push_back(dense ? g : ops::contiguous(g, MemoryFormat::Contiguous));
  }
  const float factor = *inv_scale.data<float>();
  std::atomic<bool> bad = false;
  for_pieces(work, [&](uint32_t i, int64_t begin, int64_t end) {
    const Tensor& g = work[i];
    const int column = g.dtype() == DType::Float32   ? 0
                       : g.dtype() == DType::Float64 ? 1
                       : g.dtype() == DType::Float16 ? 2
                                                     : 3;
    if (loops().unscale[column](element(g, begin), end - begin, factor))
      bad.store(true, std::memory_order_relaxed);
  });
  if (bad) *found_inf.data<float>() = 1;
  for (size_t i = 0; i < self.size(); i++) {
    if (!work[i].is_same(self[i])) copy_kernel(self[i], work[i]);
    bump_version(self[i], op);
  }
  bump_version(found_inf, op);
}

Tensor _amp_update_scale_(const Tensor& self, const Tensor& growth_tracker, const Tensor& found_inf,
                          double growth_factor, double backoff_factor, int64_t growth_interval) {
  const char* op = "_amp_update_scale_";
  check_number(op, "growth_tracker", growth_tracker, DType::Int32, "an int");
  check_number(op, "current_scale", self, DType::Float32, "a float");
  check_number(op, "found_inf", found_inf, DType::Float32, "a float");
  if (self.is_meta()) return self;
  float& scale = *self.data<float>();
  int32_t& steps = *growth_tracker.data<int32_t>();
  if (*found_inf.data<float>() != 0) {
    scale = float(scale * backoff_factor);
    steps = 0;
  } else if (steps + 1 == growth_interval) {
    const float larger = float(scale * growth_factor);
    if (std::isfinite(larger)) scale = larger;
    steps = 0;
  } else {
    steps++;
  }
  bump_version(growth_tracker, op);
  return self;
}

}  // namespace kernels
}  // namespace flambeau
