// Sorting works on unsigned keys whose order is the elements' order: NaN above all, -0 equal to 0,
// reversed for descending. A key and a position make one record, so that every sort is stable and
// every comparison cheap.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/dtype.h"

namespace flambeau {

template <class T>
using KeyOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
KeyOf<T> sort_key(T v) {
  if constexpr (std::is_same_v<T, half_t> || std::is_same_v<T, bfloat16_t>) {
    return sort_key(float(v));
  } else if constexpr (std::is_floating_point_v<T>) {
    using U = KeyOf<T>;
    constexpr U sign = U(1) << (sizeof(T) * 8 - 1);
    const U bits = std::bit_cast<U>(v + T(0));  // -0 becomes 0
    const U negative = U(0) - (bits >> (sizeof(T) * 8 - 1));
    const U key = bits ^ (negative | sign);
    return v != v ? U(-1) : key;
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return v;
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return uint64_t(v) ^ (uint64_t(1) << 63);
  } else if constexpr (std::is_signed_v<T>) {
    return uint32_t(int32_t(v)) ^ 0x80000000u;
  } else {
    return uint32_t(v);
  }
}

// One element on its way through a sort. Records of narrow keys are one 64-bit integer.
template <class K>
struct Record {
  K key;
  uint64_t at;
  bool operator<(const Record& o) const { return key != o.key ? key < o.key : at < o.at; }
};
template <>
struct Record<uint32_t> {
  uint64_t bits;
  Record() = default;
  Record(uint32_t key, uint64_t at) : bits(uint64_t(key) << 32 | at) {}
  bool operator<(const Record& o) const { return bits < o.bits; }
};
inline int64_t position(const Record<uint32_t>& r) { return int64_t(uint32_t(r.bits)); }
inline int64_t position(const Record<uint64_t>& r) { return int64_t(r.at); }
inline uint32_t key_of(const Record<uint32_t>& r) { return uint32_t(r.bits >> 32); }
inline uint64_t key_of(const Record<uint64_t>& r) { return r.key; }

// Dispatch on ordered (not complex) element types.
template <class F>
void visit_ordered(DType t, const char* op, F&& f) {
  check<NotImplementedError>(!is_complex(t), op, "(): complex numbers have no order (got ", t, ")");
  visit(t, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, complex64_t> && !std::is_same_v<T, complex128_t>) f(tag);
  });
}

// The same, with the unsigned integers that few operators take.
template <class F>
void visit_sortable(DType t, const char* op, F&& f) {
  if (t == DType::UInt16) return f(TypeTag<uint16_t>{});
  if (t == DType::UInt32) return f(TypeTag<uint32_t>{});
  if (t == DType::UInt64) return f(TypeTag<uint64_t>{});
  visit_ordered(t, op, f);
}

// Sorts records by key; `scratch` holds as many.
void sort_records(Record<uint32_t>* data, Record<uint32_t>* scratch, int64_t n);
void sort_records(Record<uint64_t>* data, Record<uint64_t>* scratch, int64_t n);

}  // namespace flambeau
