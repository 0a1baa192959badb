// Products of small float matrices. Plain types only: the header is also compiled once per
// instruction set.
#pragma once
#include "kernels/tile_matrix.h"

namespace flambeau {

// A right operand of so many bytes is used where it lies.
constexpr int64_t kSmallGemmDirect = 24 << 10;

struct SmallGemmFns {
  // bytes of 64-byte aligned memory that a call needs
  int64_t (*scratch)(int64_t n, int64_t k);
  // c = a · b, c dense
  void (*multiply)(int64_t m, int64_t n, int64_t k, const TileMatrix& a, const TileMatrix& b,
                   void* c, void* scratch);
};

}  // namespace flambeau
