#include "runtime/generator.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "core/error.h"

// The refill and the bulk loops are worth their unrolled form at every optimization level.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

namespace flambeau {

namespace {

// The serialized form: little-endian, with the gaps of the C struct it once was.
struct SavedState {
  uint64_t seed;
  int32_t left;  // words until the next refill, plus one
  int32_t seeded;
  uint64_t next;
  uint64_t words[624];
  double unused_x;
  double double_normal;
  double unused_rho;
  int32_t has_double_normal;
  int32_t padding;
  float float_normal;
  uint8_t has_float_normal;
  uint8_t padding_end[3];
};
static_assert(sizeof(SavedState) == Generator::kStateBytes);

// One step of the recurrence: the top bit of `a` joined to the rest of `b`.
inline uint32_t twist(uint32_t a, uint32_t b) {
  uint32_t mixed = (a & 0x80000000u) | (b & 0x7fffffffu);
  return (mixed >> 1) ^ (-(b & 1u) & 0x9908b0dfu);
}

}  // namespace

void Generator::manual_seed(uint64_t seed) {
  seed_ = seed;
  state_[0] = uint32_t(seed);
  for (uint32_t i = 1; i < kWords; i++) {
    state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
  }
  next_ = kWords;
  fresh_ = true;
  next_float_normal.reset();
  next_double_normal.reset();
}

uint64_t Generator::seed() {
  std::random_device device;
  // 53 bits, so that the seed survives a double
  uint64_t value = ((uint64_t(device()) << 32) | device()) & 0x1fffffffffffffu;
  manual_seed(value);
  return value;
}

void Generator::refill() {
  // Each loop reads words that it has not yet written, or wrote 227 steps before: vectors are safe.
  constexpr size_t split = kWords - kShift;
  uint32_t* s = state_;
  for (size_t i = 0; i < split; i++) s[i] = s[i + kShift] ^ twist(s[i], s[i + 1]);
#pragma GCC ivdep
  for (size_t i = split; i < kWords - 1; i++) s[i] = s[i - split] ^ twist(s[i], s[i + 1]);
  s[kWords - 1] = s[kShift - 1] ^ twist(s[kWords - 1], s[0]);
  next_ = 0;
  fresh_ = false;
}

void Generator::random_words(uint32_t* out, size_t n) {
  while (n) {
    if (next_ == kWords) refill();
    size_t count = std::min(n, kWords - next_);
    const uint32_t* words = state_ + next_;
    for (size_t i = 0; i < count; i++) out[i] = temper(words[i]);
    next_ += count;
    out += count;
    n -= count;
  }
}

std::vector<uint8_t> Generator::get_state() const {
  SavedState saved{};
  saved.seed = seed_;
  saved.seeded = 1;
  saved.left = fresh_ ? 1 : int32_t(kWords + 1 - next_);
  saved.next = fresh_ ? 0 : next_;
  std::copy(state_, state_ + kWords, saved.words);
  saved.has_double_normal = next_double_normal.has_value();
  saved.double_normal = next_double_normal.value_or(0);
  saved.has_float_normal = next_float_normal.has_value();
  saved.float_normal = next_float_normal.value_or(0);
  std::vector<uint8_t> bytes(sizeof saved);
  std::memcpy(bytes.data(), &saved, sizeof saved);
  return bytes;
}

void Generator::set_state(const std::vector<uint8_t>& bytes) {
  check(bytes.size() == kStateBytes, "set_state: Expected a CPUGeneratorImplState of size ",
        kStateBytes, " but found the input RNG state size to be ", bytes.size(),
        "; pass what get_state returned");
  SavedState saved;
  std::memcpy(&saved, bytes.data(), sizeof saved);
  bool fresh = saved.left == 1 && saved.next == 0;
  check(saved.seeded == 1 && saved.next <= kWords &&
            (fresh || saved.left + int64_t(saved.next) == int64_t(kWords) + 1),
        "set_state: Invalid mt19937 state");
  seed_ = saved.seed;
  fresh_ = fresh;
  next_ = fresh ? kWords : size_t(saved.next);
  std::copy(saved.words, saved.words + kWords, state_);
  next_double_normal.reset();
  next_float_normal.reset();
  if (saved.has_double_normal) next_double_normal = saved.double_normal;
  if (saved.has_float_normal) next_float_normal = saved.float_normal;
}

Generator& default_generator() {
  static Generator generator;
  return generator;
}

}  // namespace flambeau
