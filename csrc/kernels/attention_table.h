// What the blocked attention loops are given, in plain types: the header is also compiled once per
// instruction set.
#pragma once
#include <cstdint>

#include "kernels/tile_matrix.h"

namespace flambeau {

// One head of queries. Rows of the mask are queries, its columns keys.
struct AttentionHead {
  TileMatrix q, out, mask;
  char* lse;  // dense
  // the backward pass alone
  TileMatrix grad, dq;
};

struct AttentionShape {
  int64_t queries, keys, width, value_width;
  bool causal, masked, mask_is_bool;
  double scale;
};

// Queries [q_begin, q_end) of one head, over all keys.
struct AttentionForward {
  AttentionShape shape;
  AttentionHead head;
  TileMatrix k, v;
  int64_t q_begin, q_end;
};

// The heads that share keys and values: gradients of the queries [q_begin, q_end), of the keys and
// values [k_begin, k_end), each from all of the other that is in its range.
struct AttentionBackward {
  AttentionShape shape;
  const AttentionHead* heads;
  int64_t count;
  TileMatrix k, v, dk, dv;
  int64_t q_begin, q_end, k_begin, k_end;
  bool wants_q, wants_kv;
};

struct AttentionFns {
  // bytes of 64-byte aligned memory that a call needs
  int64_t (*forward_scratch)(const AttentionForward& task);
  void (*forward)(const AttentionForward& task, void* scratch);
  int64_t (*backward_scratch)(const AttentionBackward& task);
  void (*backward)(const AttentionBackward& task, void* scratch);
};

}  // namespace flambeau
