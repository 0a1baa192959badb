// Random numbers into contiguous arrays, drawing from the generator in PyTorch's order (its portable
// stream). Every function holds the generator's mutex. T: half_t, bfloat16_t, float, double, and
// where noted also bool, uint8_t, int8_t, int16_t, int32_t, int64_t. Integers, permutations and
// comparisons equal PyTorch's; logarithms and cosines agree to the last bits.
#pragma once
#include <cstdint>

#include "core/half.h"
#include "runtime/generator.h"

namespace flambeau::random {

template <class T>
void uniform(T* out, int64_t n, double from, double to, Generator& g);

// From 16 elements on normals come from blocks of 16. That holds for contiguous tensors only: for
// others PyTorch draws one by one, as normal_serial does.
template <class T>
void normal(T* out, int64_t n, double mean, double std, Generator& g);
template <class T>
void normal_serial(T* out, int64_t n, double mean, double std, Generator& g);

// All types. Integers in [base, base + range); range 0 stands for all 2^64.
template <class T>
void random_from_to(T* out, int64_t n, uint64_t range, int64_t base, Generator& g);
// All types: [0, largest value], for floating types [0, 2^digits].
template <class T>
void random_full(T* out, int64_t n, Generator& g);
// All types but bool: a permutation of 0 … n-1.
template <class T>
void randperm(T* out, int64_t n, Generator& g);

// All types. 1 with probability p (0 <= p <= 1, checked by the caller), else 0.
template <class T>
void bernoulli(T* out, int64_t n, double p, Generator& g);
// P: float or double (16-bit probabilities are converted to float first).
template <class T, class P>
void bernoulli(T* out, const P* p, int64_t n, Generator& g);

template <class T>
void exponential(T* out, int64_t n, double lambda, Generator& g);
// All types but bool.
template <class T>
void geometric(T* out, int64_t n, double p, Generator& g);
template <class T>
void cauchy(T* out, int64_t n, double median, double sigma, Generator& g);
template <class T>
void log_normal(T* out, int64_t n, double mean, double std, Generator& g);
// Throws Error for a negative rate.
template <class T>
void poisson(T* out, const T* rate, int64_t n, Generator& g);

// `samples` draws with replacement from `rows` distributions over `categories` weights; throws
// Error for negative, infinite or NaN weights, or rows that sum to zero. Without replacement the
// draw is topk(weights / exponential(1)), see multinomial in kernels/.
template <class T>
void multinomial(int64_t* out, const T* weights, int64_t rows, int64_t categories, int64_t samples,
                 Generator& g);

}  // namespace flambeau::random
