// A matrix as the tiled loops are given it, in plain types. Strides are in elements.
#pragma once
#include <cstdint>

namespace flambeau {

struct TileMatrix {
  char* data;
  int64_t row, col;
};

}  // namespace flambeau
