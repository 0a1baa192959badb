#pragma once
#include <cstdint>
#include <vector>
namespace flambeau {
class Generator { public: uint64_t seed() { return 0; } void manual_seed(uint64_t) {} uint64_t initial_seed() const { return 0; } std::vector<uint8_t> get_state() const { return {}; } void set_state(const std::vector<uint8_t>&) {} };
Generator& default_generator();
}
