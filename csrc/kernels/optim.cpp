// Optimizer steps: what each rule's numbers are, and the one driver that walks the tensors.
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

namespace kernels {
namespace {

const OptimLoops& loops() {
  static const OptimLoops* const tables[3] = {FLAMBEAU_TABLE_BASELINE(optim_loops, 0),
                                              FLAMBEAU_TABLE_AVX2(optim_loops, 0),
                                              FLAMBEAU_TABLE_AVX2(optim_loops, 0)};
  return *tables[chosen_target()];
}

constexpr int64_t kChunk = 8192;
constexpr size_t kMaxTensors = 5;  // of one parameter: it, its gradient, its state
constexpr size_t kGradients = 1;   // read, never written

struct NamedList {
  const char* name;
  const TensorList& list;
  bool optional = false;  // if empty, the rule goes without it
};

OptimKind kind_of(const char* op, size_t i, DType dtype, bool wide) {
  switch (dtype) {
    case DType::Float32:
    case DType::Complex64:
      return OptimKind::Float;
    case DType::Float64:
    case DType::Complex128:
      return OptimKind::Double;
    case DType::Float16:
      return wide ? OptimKind::WideHalf : OptimKind::Half;
    case DType::BFloat16:
      return wide ? OptimKind::WideBFloat16 : OptimKind::BFloat16;
    default:
      fail(op, ": params[", i, "] has dtype ", dtype, ", expected a floating or complex dtype");
  }
}

// Tensors of one step, checked before anything changes. `step.each(numbers)` then runs the rule's
// loop over all elements of all parameters, cut into pieces that threads share; complex elements
// count as two real ones.
class Step {
 public:
  Step(const char* op, const TensorList& params, const TensorList& grads,
       std::initializer_list<NamedList> states, std::initializer_list<NamedList> counters)
      : op_(op), params_(params) {
    columns_.push_back(&params);
    check_column({"grads", grads});
    columns_.push_back(&grads);
    for (auto& s : states) {
      const bool without = s.optional && s.list.empty();
      if (!without) check_column(s);
      columns_.push_back(without ? nullptr : &s.list);
    }
    columns_.resize(kMaxTensors);
    for (auto& c : counters) {
      check_counters(c);
      counters_.push_back(&c.list);
    }
  }

  bool idle() const { return params_.empty() || params_[0].is_meta(); }

  // numbers(i): the numbers of the rule for parameter i.
  template <class F>
  void each(const OptimRule& rule, bool wide, F&& numbers) {
    using Numbers = decltype(numbers(size_t(0)));
    std::vector<Work> works(params_.size());
    for (size_t i = 0; i < works.size(); i++) lay_out(i, works[i], rule, wide);
    std::vector<Numbers> all;
    all.reserve(works.size());
    for (size_t i = 0; i < works.size(); i++) all.push_back(numbers(i));
    run(works, [&](size_t i) { return static_cast<const void*>(&all[i]); });
    finish(works);
  }

 private:
  struct Work {
    char* at[kMaxTensors] = {};
    int64_t n = 0, width = 0;  // elements, and bytes of one
    OptimLoop loop = nullptr;
    TensorList moved;  // copies in one order of elements, where the tensors differ in theirs
  };
  struct Piece {
    size_t param;
    int64_t begin, end;
  };

  void check_column(const NamedList& c) const {
    check(c.list.size() == params_.size(), op_, ": ", params_.size(), " params but ", c.list.size(),
          " ", c.name);
    for (size_t i = 0; i < c.list.size(); i++) {
      const Tensor &t = c.list[i], &p = params_[i];
      check(t.dtype() == p.dtype() && equal(t.sizes(), p.sizes()), op_, ": ", c.name, "[", i,
            "] has shape ", t.sizes(), " and dtype ", t.dtype(), ", but params[", i, "] has ",
            p.sizes(), " and ", p.dtype());
    }
  }

  void check_counters(const NamedList& c) const {
    check(c.list.size() == params_.size(), op_, ": ", params_.size(), " params but ", c.list.size(),
          " ", c.name);
    for (size_t i = 0; i < c.list.size(); i++) {
      const Tensor& t = c.list[i];
      check(t.numel() == 1 && (t.dtype() == DType::Float32 || t.dtype() == DType::Float64), op_,
            ": ", c.name, "[", i, "] must be one float32 or float64 number, got shape ", t.sizes(),
            " and dtype ", t.dtype());
    }
  }

  template <class F>
  bool all_of(size_t i, F&& holds) const {
    for (auto* column : columns_)
      if (column && !holds((*column)[i])) return false;
    return true;
  }

  void lay_out(size_t i, Work& w, const OptimRule& rule, bool wide) {
    const Tensor& p = params_[i];
    w.loop = rule[int(kind_of(op_, i, p.dtype(), wide))];
    w.width = p.is_complex() ? p.itemsize() / 2 : p.itemsize();
    w.n = p.is_complex() ? 2 * p.numel() : p.numel();
    const bool flat = all_of(i, [](const Tensor& t) { return t.is_contiguous(); }) ||
                      (is_non_overlapping_and_dense(p.sizes(), p.strides()) &&
                       all_of(i, [&](const Tensor& t) { return equal(t.strides(), p.strides()); }));
    if (!flat) w.moved.resize(kMaxTensors);
    for (size_t k = 0; k < kMaxTensors; k++) {
      if (!columns_[k]) continue;
      const Tensor& t = (*columns_[k])[i];
      if (!flat) {
        if (k != kGradients) check_overlap(op_, t, t);
        w.moved[k] = flambeau::empty(t.sizes(), t.dtype());
        copy_kernel(w.moved[k], t);
      }
      w.at[k] = flat ? t.bytes() : w.moved[k].bytes();
    }
  }

  template <class F>
  void run(const std::vector<Work>& works, F&& numbers) const {
    std::vector<Piece> pieces;
    int64_t total = 0;
    for (size_t i = 0; i < works.size(); i++) {
      total += works[i].n;
      for (int64_t at = 0; at < works[i].n; at += kChunk)
        pieces.push_back({i, at, std::min(works[i].n, at + kChunk)});
    }
    auto chunk = [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; k++) {
        const Piece& piece = pieces[size_t(k)];
        const Work& w = works[piece.param];
        void* at[kMaxTensors];
        for (size_t j = 0; j < kMaxTensors; j++)
          at[j] = w.at[j] ? w.at[j] + piece.begin * w.width : nullptr;
        w.loop(at, piece.end - piece.begin, numbers(piece.param));
      }
    };
    LongWork work(total >= (1 << 18));
    if (total < 16384)
      chunk(0, int64_t(pieces.size()));
    else
      parallel_for(int64_t(pieces.size()), 1, chunk);
  }

  void finish(const std::vector<Work>& works) const {
    const auto site = current_call_site();
    for (size_t k = 0; k < kMaxTensors; k++) {
      if (!columns_[k] || k == kGradients) continue;
      for (size_t i = 0; i < works.size(); i++) {
        const Tensor& t = (*columns_[k])[i];
        if (!works[i].moved.empty()) copy_kernel(t, works[i].moved[k]);
        version_counter(t).bump(op_, site);
      }
    }
    for (auto* list : counters_)
      for (auto& t : *list) version_counter(t).bump(op_, site);
  }

  const char* op_;
  const TensorList& params_;
  std::vector<const TensorList*> columns_, counters_;
};

double number(const Tensor& t) {
  return t.dtype() == DType::Float64 ? *t.data<double>() : double(*t.data<float>());
}

void set_number(const Tensor& t, double value) {
  if (t.dtype() == DType::Float64)
    *t.data<double>() = value;
  else
    *t.data<float>() = float(value);
}

// In the counter's own precision, as its operators do.
double multiply(const Tensor& t, double factor) {
  const bool wide = t.dtype() == DType::Float64;
  set_number(t, wide ? number(t) * factor : double(float(number(t)) * float(factor)));
  return number(t);
}

double advance(const Tensor& step) {
  set_number(step, number(step) + 1);
  return number(step);
}

// f(t), computed once for parameters that follow each other with the same step count.
template <class F>
auto by_step(const TensorList& steps, F f) {
  return [&steps, f, last = std::nan(""), value = decltype(f(0.0))()](size_t i) mutable {
    const double t = advance(steps[i]);
    if (t != last) value = f(t);
    last = t;
    return value;
  };
}

GradientNumbers gradient(double weight_decay, bool maximize) { return {weight_decay, maximize}; }

}  // namespace

void _adam_step_(const TensorList& params, const TensorList& grads, const TensorList& exp_avgs,
                 const TensorList& exp_avg_sqs, const TensorList& max_exp_avg_sqs,
                 const TensorList& steps, double lr, double beta1, double beta2, double eps,
                 double weight_decay, bool decoupled, bool maximize, bool fused) {
  Step step("_adam_step_", params, grads,
            {{"exp_avgs", exp_avgs},
             {"exp_avg_sqs", exp_avg_sqs},
             {"max_exp_avg_sqs", max_exp_avg_sqs, true}},
            {{"steps", steps}});
  if (step.idle()) return;
  step.each(loops().adam, fused, by_step(steps, [=](double t) {
              return AdamNumbers{gradient(decoupled ? 0 : weight_decay, maximize),
                                 1 - lr * weight_decay,
                                 1 - beta1,
                                 beta2,
                                 1 - beta2,
                                 std::sqrt(1 - std::pow(beta2, t)),
                                 eps,
                                 lr / (1 - std::pow(beta1, t)),
                                 decoupled && weight_decay != 0};
            }));
}

void _sgd_step_(const TensorList& params, const TensorList& grads,
                const TensorList& momentum_buffers, double lr, double momentum, double dampening,
                double weight_decay, bool nesterov, bool maximize, bool first_step, bool fused) {
  Step step("_sgd_step_", params, grads, {{"momentum_buffers", momentum_buffers, momentum == 0}},
            {});
  if (step.idle()) return;
  step.each(loops().sgd, fused, [&](size_t) {
    return SgdNumbers{
        gradient(weight_decay, maximize), momentum, 1 - dampening, lr, nesterov, first_step};
  });
}

void _adamax_step_(const TensorList& params, const TensorList& grads, const TensorList& exp_avgs,
                   const TensorList& exp_infs, const TensorList& steps, double lr, double beta1,
                   double beta2, double eps, double weight_decay, bool maximize) {
  Step step("_adamax_step_", params, grads, {{"exp_avgs", exp_avgs}, {"exp_infs", exp_infs}},
            {{"steps", steps}});
  if (step.idle()) return;
  step.each(loops().adamax, false, by_step(steps, [=](double t) {
              return AdamaxNumbers{gradient(weight_decay, maximize), 1 - beta1, beta2, eps,
                                   lr / (1 - std::pow(beta1, t))};
            }));
}

void _nadam_step_(const TensorList& params, const TensorList& grads, const TensorList& exp_avgs,
                  const TensorList& exp_avg_sqs, const TensorList& steps,
                  const TensorList& mu_products, double lr, double beta1, double beta2, double eps,
                  double weight_decay, double momentum_decay, bool decoupled, bool maximize) {
  Step step("_nadam_step_", params, grads, {{"exp_avgs", exp_avgs}, {"exp_avg_sqs", exp_avg_sqs}},
            {{"steps", steps}, {"mu_products", mu_products}});
  if (step.idle()) return;
  step.each(loops().nadam, false, [&](size_t i) {
    const double t = advance(steps[i]);
    auto momentum = [&](double at) {
      return beta1 * (1 - 0.5 * std::pow(0.96, at * momentum_decay));
    };
    const double mu = momentum(t), next = momentum(t + 1);
    const double product = multiply(mu_products[i], mu);
    return NadamNumbers{gradient(decoupled ? 0 : weight_decay, maximize),
                        1 - lr * weight_decay,
                        1 - beta1,
                        beta2,
                        1 - beta2,
                        1 - std::pow(beta2, t),
                        eps,
                        -lr * (1 - mu) / (1 - product),
                        -lr * next / (1 - product * next),
                        decoupled && weight_decay != 0};
  });
}

void _radam_step_(const TensorList& params, const TensorList& grads, const TensorList& exp_avgs,
                  const TensorList& exp_avg_sqs, const TensorList& steps, double lr, double beta1,
                  double beta2, double eps, double weight_decay, bool decoupled, bool maximize) {
  Step step("_radam_step_", params, grads, {{"exp_avgs", exp_avgs}, {"exp_avg_sqs", exp_avg_sqs}},
            {{"steps", steps}});
  if (step.idle()) return;
  step.each(loops().radam, false, by_step(steps, [=](double t) {
              const double power = std::pow(beta2, t), correction = 1 - power;
              const double limit = 2 / (1 - beta2) - 1, rho = limit - 2 * t * power / correction;
              const double ratio =
                  (rho - 4) * (rho - 2) * limit / ((limit - 4) * (limit - 2) * rho);
              return RadamNumbers{gradient(decoupled ? 0 : weight_decay, maximize),
                                  1 - lr * weight_decay,
                                  1 - beta1,
                                  beta2,
                                  1 - beta2,
                                  1 - std::pow(beta1, t),
                                  std::sqrt(correction),
                                  eps,
                                  lr,
                                  std::sqrt(ratio),
                                  decoupled && weight_decay != 0,
                                  rho > 5};
            }));
}

void _adadelta_step_(const TensorList& params, const TensorList& grads,
                     const TensorList& square_avgs, const TensorList& acc_deltas,
                     const TensorList& steps, double lr, double rho, double eps,
                     double weight_decay, bool maximize) {
  Step step("_adadelta_step_", params, grads,
            {{"square_avgs", square_avgs}, {"acc_deltas", acc_deltas}}, {{"steps", steps}});
  if (step.idle()) return;
  step.each(loops().adadelta, false, [&](size_t i) {
    advance(steps[i]);
    return AdadeltaNumbers{gradient(weight_decay, maximize), rho, 1 - rho, eps, lr};
  });
}

void _adagrad_step_(const TensorList& params, const TensorList& grads, const TensorList& sums,
                    const TensorList& steps, double lr, double lr_decay, double eps,
                    double weight_decay, bool maximize, bool fused) {
  Step step("_adagrad_step_", params, grads, {{"sums", sums}}, {{"steps", steps}});
  if (step.idle()) return;
  step.each(loops().adagrad, fused, by_step(steps, [=](double t) {
              return AdagradNumbers{gradient(weight_decay, maximize), eps,
                                    lr / (1 + (t - 1) * lr_decay)};
            }));
}

void _asgd_step_(const TensorList& params, const TensorList& grads, const TensorList& axs,
                 const TensorList& steps, const TensorList& etas, const TensorList& mus, double lr,
                 double lambd, double alpha, double t0, double weight_decay, bool maximize) {
  Step step("_asgd_step_", params, grads, {{"axs", axs}},
            {{"steps", steps}, {"etas", etas}, {"mus", mus}});
  if (step.idle()) return;
  step.each(loops().asgd, false, [&](size_t i) {
    const double t = advance(steps[i]), eta = number(etas[i]), mu = number(mus[i]);
    set_number(etas[i], lr / std::pow(1 + lambd * lr * t, alpha));
    set_number(mus[i], 1 / std::max(1.0, t - t0));
    return AsgdNumbers{gradient(weight_decay, maximize), 1 - lambd * eta, eta, mu};
  });
}

void _rmsprop_step_(const TensorList& params, const TensorList& grads,
                    const TensorList& square_avgs, const TensorList& grad_avgs,
                    const TensorList& momentum_buffers, const TensorList& steps, double lr,
                    double alpha, double eps, double weight_decay, double momentum, bool maximize) {
  Step step("_rmsprop_step_", params, grads,
            {{"square_avgs", square_avgs},
             {"grad_avgs", grad_avgs, true},
             {"momentum_buffers", momentum_buffers, momentum == 0}},
            {{"steps", steps}});
  if (step.idle()) return;
  step.each(loops().rmsprop, false, [&](size_t i) {
    advance(steps[i]);
    return RmspropNumbers{gradient(weight_decay, maximize), alpha, 1 - alpha, eps, momentum, lr};
  });
}

void _rprop_step_(const TensorList& params, const TensorList& grads, const TensorList& prevs,
                  const TensorList& step_sizes, const TensorList& steps, double eta_minus,
                  double eta_plus, double smallest, double largest, bool maximize) {
  Step step("_rprop_step_", params, grads, {{"prevs", prevs}, {"step_sizes", step_sizes}},
            {{"steps", steps}});
  if (step.idle()) return;
  step.each(loops().rprop, false, [&](size_t i) {
    advance(steps[i]);
    return RpropNumbers{gradient(0, maximize), eta_minus, eta_plus, smallest, largest};
  });
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
  int bad = 0;
  Step step(op, self, self, {}, {});
  const UnscaleNumbers numbers{*inv_scale.data<float>(), &bad};
  step.each(loops().unscale, false, [&](size_t) { return numbers; });
  if (bad) *found_inf.data<float>() = 1;
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
