#include "dispatch/autocast.h"

#include <memory>
#include <unordered_map>
#include <utility>

#include "autograd/node.h"
#include "ops/all.h"

namespace flambeau {

constinit thread_local AutocastRegions autocast_regions;

namespace {

// A weight is used by several operators of a region: one cast, and one node that sums up their
// gradients in the lower dtype, serves them all.
struct KeptCast {
  Tensor source;  // keeps the address from being used again
  Tensor cast;
  const char* data;
  uint32_t version;
};
using Cache = std::unordered_map<const TensorImpl*, KeptCast>;
// Made by the first cast of a region and gone with it: threads end without one.
thread_local Cache* cache = nullptr;

bool castable(const Tensor& t) {
  return t.is_floating() && t.dtype() != DType::Float64 && !t.is_meta();
}

Tensor kept_cast(const Tensor& t, DType dtype) {
  if (!cache) cache = new Cache();
  auto [at, fresh] = cache->try_emplace(t.impl());
  KeptCast& k = at->second;
  // Changed values, another memory (`.data = `), another dtype inside, and a cast that was made
  // without recording its gradient all need a new one.
  const bool usable = !fresh && k.cast.defined() && k.version == t.version() &&
                      k.data == t.bytes() && equal(k.cast.sizes(), t.sizes()) &&
                      k.cast.dtype() == dtype && (wants_grad(k.cast) || !grad_enabled());
  if (usable) return k.cast;
  KeptCast made{t, ops::_to_dtype(t, dtype), t.bytes(), t.version()};
  Tensor cast = made.cast;
  std::swap(k, made);  // the one before goes last: its destructors may run Python
  return cast;
}

}  // namespace

Tensor autocast_to(const Tensor& t, DType dtype) {
  if (!castable(t) || t.dtype() == dtype) return t;
  const bool weight = t.dtype() == DType::Float32 && t.requires_grad() && is_leaf(t);
  // without a region there is nobody to empty the cache
  if (weight && autocast_regions.keep_casts && autocast_regions.depth > 0)
    return kept_cast(t, dtype);
  return ops::_to_dtype(t, dtype);
}

TensorList autocast_to(const TensorList& list, DType dtype) {
  TensorList out;
  for (auto& t : list) out.push_back(autocast_to(t, dtype));
  return out;
}

void autocast_widen(const char* op, DType& widest, const Tensor& t) {
  if (widest == DType::Float32 || !castable(t) || t.dtype() == widest) return;
  check(t.dtype() == DType::Float32, op, ": Unexpected floating ScalarType in autocast: got ",
        t.dtype(), ", expected ", thread_state.autocast_dtype, " or Float; cast it first");
  widest = DType::Float32;
}

void clear_autocast_cache() {
  // destructors may run Python, which may come back here
  std::unique_ptr<Cache> gone(std::exchange(cache, nullptr));
}

}  // namespace flambeau
