// Exceptions of the core. Each maps to one Python type in bind/: Error -> RuntimeError, the others
// to the Python exception of the same name. `check(cond, parts...)` builds the message only on
// failure.
#pragma once
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace flambeau {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct TypeError : Error {
  using Error::Error;
};
struct ValueError : Error {
  using Error::Error;
};
struct IndexError : Error {
  using Error::Error;
};
struct NotImplementedError : Error {
  using Error::Error;
};
struct OutOfMemory : Error {
  using Error::Error;
};
struct LinAlgError : Error {
  using Error::Error;
};

template <class... A>
std::string cat_text(const A&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

template <class E = Error, class... A>
[[noreturn, gnu::cold, gnu::noinline]] void fail(const A&... parts) {
  throw E(cat_text(parts...));
}

template <class E = Error, class... A>
inline void check(bool ok, const A&... parts) {
  if (!ok) [[unlikely]]
    fail<E>(parts...);
}

}  // namespace flambeau
