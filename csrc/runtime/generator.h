// The random generator: a 32-bit Mersenne Twister (Matsumoto & Nishimura 1998), consumed word for
// word as PyTorch's CPU generator does, so that one seed gives one stream.
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace flambeau {

class Generator {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;
  static constexpr size_t kStateBytes = 5056;  // the serialized form, as in saved PyTorch states

  explicit Generator(uint64_t seed = kDefaultSeed) { manual_seed(seed); }

  // Seeds from the system's randomness and returns the seed.
  uint64_t seed();
  void manual_seed(uint64_t seed);
  uint64_t initial_seed() const { return seed_; }

  uint32_t random() {
    if (next_ == kWords) refill();
    return temper(state_[next_++]);
  }
  uint64_t random64() {
    uint64_t high = random();
    return high << 32 | random();
  }
  // n consecutive results of random().
  void random_words(uint32_t* out, size_t n);

  // The second value of a Box-Muller pair, kept for the next single draw.
  std::optional<float> next_float_normal;
  std::optional<double> next_double_normal;

  std::vector<uint8_t> get_state() const;
  void set_state(const std::vector<uint8_t>& bytes);

  // Held by operators while they draw.
  mutable std::mutex mutex;

 private:
  static constexpr size_t kWords = 624, kShift = 397;

  static uint32_t temper(uint32_t y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }
  void refill();

  uint64_t seed_ = 0;
  size_t next_ = kWords;
  bool fresh_ = true;  // seeded and not drawn from yet; only the serialized form tells
  alignas(64) uint32_t state_[kWords];
};

// The generator of operators that are given none.
Generator& default_generator();

}  // namespace flambeau
