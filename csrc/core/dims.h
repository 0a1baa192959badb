// Dims: a small vector of int64 (sizes, strides, index lists), inline up to 5 entries.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <ostream>
#include <span>
#include <vector>

namespace flambeau {

using IntSpan = std::span<const int64_t>;

class Dims {
 public:
  static constexpr int kInline = 5;
  Dims() = default;
  Dims(std::initializer_list<int64_t> v) { assign(v.begin(), v.size()); }
  Dims(IntSpan v) { assign(v.data(), v.size()); }
  Dims(const std::vector<int64_t>& v) { assign(v.data(), v.size()); }
  explicit Dims(size_t n, int64_t value) {
    resize(n);
    std::fill(begin(), end(), value);
  }
  Dims(const Dims& o) { assign(o.data(), o.size()); }
  Dims(Dims&& o) noexcept { take(o); }
  Dims& operator=(const Dims& o) {
    if (this != &o) assign(o.data(), o.size());
    return *this;
  }
  Dims& operator=(Dims&& o) noexcept {
    if (this != &o) {
      clear_heap();
      take(o);
    }
    return *this;
  }
  ~Dims() { clear_heap(); }

  size_t size() const { return size_; }
  int ndim() const { return int(size_); }
  bool empty() const { return size_ == 0; }
  int64_t* data() { return heap_ ? heap_ : inline_; }
  const int64_t* data() const { return heap_ ? heap_ : inline_; }
  int64_t* begin() { return data(); }
  int64_t* end() { return data() + size_; }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + size_; }
  int64_t& operator[](size_t i) { return data()[i]; }
  int64_t operator[](size_t i) const { return data()[i]; }
  int64_t& back() { return data()[size_ - 1]; }
  int64_t back() const { return data()[size_ - 1]; }
  operator IntSpan() const { return {data(), size_}; }

  void resize(size_t n) {
    if (n > capacity()) grow(n);
    if (n > size_) std::fill(data() + size_, data() + n, 0);
    size_ = uint32_t(n);
  }
  void push_back(int64_t v) {
    if (size_ == capacity()) grow(size_ * 2);
    data()[size_++] = v;
  }
  void pop_back() { size_--; }
  void insert(size_t at, int64_t v) {
    push_back(v);
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(size_t at) {
    std::copy(begin() + at + 1, end(), begin() + at);
    size_--;
  }
  void assign(const int64_t* v, size_t n) {
    if (n > capacity()) grow(n);
    if (n) std::memmove(data(), v, n * sizeof(int64_t));
    size_ = uint32_t(n);
  }
  bool operator==(const Dims& o) const {
    return size_ == o.size_ && std::equal(begin(), end(), o.begin());
  }

 private:
  size_t capacity() const { return heap_ ? capacity_ : size_t(kInline); }
  void grow(size_t n) {
    auto* p = new int64_t[n];
    std::copy(begin(), end(), p);
    delete[] heap_;
    heap_ = p;
    capacity_ = uint32_t(n);
  }
  void clear_heap() {
    delete[] heap_;
    heap_ = nullptr;
  }
  void take(Dims& o) {
    size_ = o.size_;
    capacity_ = o.capacity_;
    heap_ = o.heap_;
    if (!heap_) std::memcpy(inline_, o.inline_, sizeof inline_);
    o.heap_ = nullptr;
    o.size_ = 0;
  }
  uint32_t size_ = 0, capacity_ = 0;
  int64_t* heap_ = nullptr;
  int64_t inline_[kInline];
};

inline bool equal(IntSpan a, IntSpan b) {
  // std::equal calls memcmp, which costs more than these few numbers do.
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); i++)
    if (a[i] != b[i]) return false;
  return true;
}

inline int64_t product(IntSpan v) {
  int64_t n = 1;
  for (int64_t x : v) n *= x;
  return n;
}

// Printed as Python prints a list: [2, 3].
inline std::ostream& operator<<(std::ostream& out, IntSpan v) {
  out << '[';
  for (size_t i = 0; i < v.size(); i++) out << (i ? ", " : "") << v[i];
  return out << ']';
}
inline std::ostream& operator<<(std::ostream& out, const Dims& v) { return out << IntSpan(v); }

// Dimension `d` of `ndim`, counted from the end when negative; 0-d tensors accept -1 and 0.
int64_t wrap_dim(int64_t d, int64_t ndim);
// Sorted, unique, wrapped dims; an empty list means all of them.
Dims wrap_dims(IntSpan dims, int64_t ndim);
Dims contiguous_strides(IntSpan sizes);
Dims broadcast_shapes(IntSpan a, IntSpan b);

}  // namespace flambeau
