// Connectionist temporal classification (Graves, Fernandez, Gomez, Schmidhuber, Connectionist
// Temporal Classification: Labelling Unsegmented Sequence Data with Recurrent Neural Networks,
// 2006): forward and backward variables, equations 6 to 16, as logarithms in double precision.
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/pointwise.h"
#include "ops/all.h"
#include "runtime/parallel.h"

namespace flambeau::kernels {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double log_sum(double a, double b) {
  const double top = std::max(a, b);
  return std::isinf(top) ? top : top + std::log1p(std::exp(std::min(a, b) - top));
}
double log_sum(double a, double b, double c) {
  const double top = std::max(a, std::max(b, c));
  if (std::isinf(top)) return top;
  return top + std::log(std::exp(a - top) + std::exp(b - top) + std::exp(c - top));
}

// The arguments, checked. Targets lie in rows of a matrix, or one after the other.
struct Sequences {
  int64_t steps, batch, classes, blank, longest = 0;
  Dims input_lengths, target_lengths;
  std::vector<int64_t> offsets;
  Tensor targets;

  Sequences(const Tensor& log_probs, const Tensor& t, const Dims& inputs, const Dims& lengths,
            int64_t blank_label)
      : blank(blank_label), input_lengths(inputs), target_lengths(lengths) {
    check(
        log_probs.dim() == 3, "Expected 3-dimensional tensor, but got ", log_probs.dim(),
        "-dimensional tensor for argument #1 'log_probs' (while checking arguments for ctc_loss)");
    steps = log_probs.size(0);
    batch = log_probs.size(1);
    classes = log_probs.size(2);
    check(!t.is_complex(), "ctc_loss: targets must be integers, got ", t.dtype());
    check(t.dim() == 1 || t.dim() == 2, "ctc_loss: targets must be 1D or 2D, got ", t.dim(),
          " dimensions");
    check(0 <= blank && blank < classes, "ctc_loss: blank must be in label range, 0 to ",
          classes - 1, ", got ", blank);
    check(int64_t(inputs.size()) == batch, "ctc_loss: input_lengths must be of size batch_size ",
          batch, ", got ", inputs.size());
    check(int64_t(lengths.size()) == batch, "ctc_loss: target_lengths must be of size batch_size ",
          batch, ", got ", lengths.size());
    int64_t at = 0;
    for (int64_t b = 0; b < batch; b++) {
      const int64_t frames = inputs[size_t(b)], labels = lengths[size_t(b)];
      check(frames >= 0 && frames <= steps, "Expected input_lengths to have value at most ", steps,
            ", but got value ", frames, " (while checking arguments for ctc_loss)");
      check(labels >= 0, "Expected target_lengths to have value at least 0, but got value ", labels,
            " (while checking arguments for ctc_loss)");
      offsets.push_back(t.dim() == 1 ? at : b * t.size(1));
      at += labels;
      longest = std::max(longest, labels);
    }
    if (t.dim() == 1)
      check(t.numel() == at, "Expected tensor to have size ", at, " at dimension 0, but got size ",
            t.numel(), " for targets (while checking arguments for ctc_loss)");
    else
      check(t.size(0) == batch && t.size(1) >= longest, "Expected tensor to have size at least ",
            longest, " at dimension 1, but got size ", t.size(1),
            " for targets (while checking arguments for ctc_loss)");
    if (t.is_meta()) return;
    targets = cast_of(contiguous_of(t), DType::Int64);
    for (int64_t b = 0; b < batch; b++)
      for (int64_t s = 0; s < lengths[size_t(b)]; s++) {
        const int64_t label = targets.data<int64_t>()[offsets[size_t(b)] + s];
        check(0 <= label && label < classes, "ctc_loss: targets must be in label range, 0 to ",
              classes - 1, ", but sequence ", b, " has ", label);
      }
  }
  int64_t states() const { return 2 * longest + 1; }
  // The label of a state: blanks and labels take turns.
  int64_t label(int64_t b, int64_t state) const {
    return state % 2 ? targets.data<int64_t>()[offsets[size_t(b)] + state / 2] : blank;
  }
  // Whether a path may come to `state` from two states before: over a blank, between labels that
  // differ.
  bool skips(int64_t b, int64_t state) const {
    return state % 2 && state > 1 && label(b, state) != label(b, state - 2);
  }
};

template <class T>
double forward(const Sequences& s, const T* x, T* alpha, int64_t b) {
  const int64_t frames = s.input_lengths[size_t(b)], states = 2 * s.target_lengths[size_t(b)] + 1,
                row = s.batch * s.classes;
  x += b * s.classes;
  if (frames == 0) return states == 1 ? 0 : -kNever;
  std::vector<double> now(size_t(states), kNever), before;
  now[0] = double(x[s.blank]);
  if (states > 1) now[1] = double(x[s.label(b, 1)]);
  for (int64_t t = 0; t < frames; t++) {
    if (t > 0) {
      before = now;
      for (int64_t k = 0; k < states; k++) {
        const double stay = before[size_t(k)], step = k > 0 ? before[size_t(k - 1)] : kNever,
                     skip = s.skips(b, k) ? before[size_t(k - 2)] : kNever;
        now[size_t(k)] = log_sum(stay, step, skip) + double(x[t * row + s.label(b, k)]);
      }
    }
    for (int64_t k = 0; k < states; k++) alpha[t * s.states() + k] = T(now[size_t(k)]);
  }
  return -log_sum(now[size_t(states - 1)], states > 1 ? now[size_t(states - 2)] : kNever);
}

template <class T>
void backward(const Sequences& s, const T* x, const T* alpha, double loss, double grad, T* out,
              int64_t b) {
  const int64_t frames = s.input_lengths[size_t(b)], states = 2 * s.target_lengths[size_t(b)] + 1,
                row = s.batch * s.classes;
  x += b * s.classes;
  out += b * s.classes;
  std::vector<double> now(size_t(states), kNever), after, mass(static_cast<size_t>(s.classes));
  for (int64_t t = frames - 1; t >= 0; t--) {
    if (t == frames - 1) {
      now[size_t(states - 1)] = double(x[t * row + s.blank]);
      if (states > 1) now[size_t(states - 2)] = double(x[t * row + s.label(b, states - 2)]);
    } else {
      after = now;
      for (int64_t k = 0; k < states; k++) {
        const double stay = after[size_t(k)], step = k + 1 < states ? after[size_t(k + 1)] : kNever,
                     skip = k + 2 < states && s.skips(b, k + 2) ? after[size_t(k + 2)] : kNever;
        now[size_t(k)] = log_sum(stay, step, skip) + double(x[t * row + s.label(b, k)]);
      }
    }
    std::fill(mass.begin(), mass.end(), kNever);
    for (int64_t k = 0; k < states; k++) {
      double& m = mass[size_t(s.label(b, k))];
      m = log_sum(m, double(alpha[t * s.states() + k]) + now[size_t(k)]);
    }
    // with respect to what a log-softmax made: equation 16
    for (int64_t c = 0; c < s.classes; c++) {
      const double p = double(x[t * row + c]);
      out[t * row + c] = T((std::exp(p) - std::exp(mass[size_t(c)] + loss - p)) * grad);
    }
  }
}

void check_dtype(const Tensor& log_probs) {
  check<NotImplementedError>(
      log_probs.dtype() == DType::Float32 || log_probs.dtype() == DType::Float64,
      "\"ctc_loss_cpu\" not implemented for '", log_probs.dtype(), "'");
}

}  // namespace

std::tuple<Tensor, Tensor> _ctc_loss(const Tensor& log_probs, const Tensor& targets,
                                     const Dims& input_lengths, const Dims& target_lengths,
                                     int64_t blank, bool) {
  check_dtype(log_probs);
  const Sequences s(log_probs, targets, input_lengths, target_lengths, blank);
  Tensor loss = empty(Dims{s.batch}, log_probs.dtype(), log_probs.device());
  Tensor alpha = empty(Dims{s.batch, s.steps, s.states()}, log_probs.dtype(), log_probs.device());
  if (loss.is_meta()) return {loss, alpha};
  fill_kernel(alpha, kNever);
  const Tensor x = contiguous_of(log_probs);
  LongWork guard(alpha.numel() > 4096);
  visit_float(x.dtype(), "ctc_loss_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_for(s.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; b++)
        loss.data<T>()[b] =
            T(forward(s, x.data<T>(), alpha.data<T>() + b * s.steps * s.states(), b));
    });
  });
  return {loss, alpha};
}

Tensor _ctc_loss_backward(const Tensor& grad_output, const Tensor& log_probs, const Tensor& targets,
                          const Dims& input_lengths, const Dims& target_lengths,
                          const Tensor& neg_log_likelihood, const Tensor& log_alpha, int64_t blank,
                          bool zero_infinity) {
  check_dtype(log_probs);
  const Sequences s(log_probs, targets, input_lengths, target_lengths, blank);
  Tensor out = empty(log_probs.sizes(), log_probs.dtype(), log_probs.device());
  if (out.is_meta()) return out;
  fill_kernel(out, 0);
  const Tensor x = contiguous_of(log_probs), alpha = contiguous_of(log_alpha),
               loss = contiguous_of(neg_log_likelihood), g = contiguous_of(grad_output);
  LongWork guard(alpha.numel() > 4096);
  visit_float(x.dtype(), "ctc_loss_backward_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_for(s.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; b++) {
        const T l = loss.data<T>()[b];
        if (zero_infinity && std::isinf(l)) continue;
        backward(s, x.data<T>(), alpha.data<T>() + b * s.steps * s.states(), double(l),
                 double(g.data<T>()[b]), out.data<T>(), b);
      }
    });
  });
  return out;
}

}  // namespace flambeau::kernels
