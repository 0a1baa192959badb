// Python objects <-> C++ values, after the parser has checked their types.
#pragma once
#include <optional>
#include <tuple>
#include <vector>

#include "bind/python.h"
#include "bind/tensor_type.h"
#include "runtime/generator.h"

namespace flambeau::bind {

// ---- checks ------------------------------------------------------------------------------------
bool is_number(PyObject* o);  // Python or NumPy number
bool is_numpy_bool(PyObject* o);
bool is_dtype(PyObject* o);  // flambeau.dtype, or float, int, bool, complex
bool is_device(PyObject* o);
bool is_layout(PyObject* o);
bool is_sparse_layout(PyObject* o);
bool is_memory_format(PyObject* o);
bool is_generator(PyObject* o);

// ---- from Python -------------------------------------------------------------------------------
Scalar as_scalar(PyObject* o);
int64_t as_int(PyObject* o);
double as_float(PyObject* o);
bool as_bool(PyObject* o);
std::string as_str(PyObject* o);
DType as_dtype(PyObject* o);
Device as_device(PyObject* o);
MemoryFormat as_memory_format(PyObject* o);
Generator* as_generator(PyObject* o);
std::string as_layout(PyObject* o);  // "sparse_coo"
Dims as_dims(PyObject* o, int expand);
std::optional<Dims> as_opt_dims(PyObject* o, int expand);
inline OptTensor as_opt_tensor(PyObject* o) { return o ? OptTensor(as_tensor(o)) : std::nullopt; }
TensorList as_tensor_list(PyObject* o);
// A number as a 0-d tensor that is weak in promotion.
Tensor as_weak_tensor(PyObject* o);
std::vector<OptTensor> as_opt_tensor_list(PyObject* o);
inline Operand as_operand(PyObject* o) {
  if (is_tensor(o)) return Operand(as_tensor(o));
  return Operand(as_scalar(o));
}
template <class T, class F>
std::optional<T> as_opt(PyObject* o, F&& f) {
  return o ? std::optional<T>(f(o)) : std::nullopt;
}
const Tensor& out_item(PyObject* o, int i);

// ---- to Python
// -----------------------------------------------------------------------------------
PyObject* wrap(const TensorList& list);  // tuple
PyObject* wrap(const Scalar& s);
PyObject* wrap(DType t);
PyObject* wrap(Device d);
PyObject* wrap(MemoryFormat m);
PyObject* wrap(Generator* g);  // one that somebody else owns; None when null
PyObject* wrap(const std::string& s);
PyObject* wrap_layout(const Tensor& t);
PyObject* wrap_size(IntSpan sizes);  // flambeau.Size
inline PyObject* wrap(bool b) { return PyBool_FromLong(b); }
inline PyObject* wrap(int64_t v) { return PyLong_FromLongLong(v); }
inline PyObject* wrap(double v) { return PyFloat_FromDouble(v); }
inline PyObject* wrap(const Dims& v) { return wrap_size(v); }
// Result of a factory: sets requires_grad as asked.
PyObject* wrap_leaf(const Tensor& t, PyObject* requires_grad);

// A named tuple type for operators with several results, made on first use.
struct NamedResult {
  const char* name;
  std::vector<const char*> fields;
  PyTypeObject* type = nullptr;
};
PyObject* fill_named(NamedResult& n, const Tensor* values, size_t count);
PyObject* fill_tuple(const Tensor* values, size_t count);

template <class... T>
PyObject* wrap_named(NamedResult& n, const std::tuple<T...>& t) {
  return std::apply(
      [&](auto&... v) {
        const Tensor values[] = {v...};
        return fill_named(n, values, sizeof...(T));
      },
      t);
}
template <class... T>
PyObject* wrap_tuple(const std::tuple<T...>& t) {
  return std::apply(
      [&](auto&... v) {
        const Tensor values[] = {v...};
        return fill_tuple(values, sizeof...(T));
      },
      t);
}

// ---- small types: dtype, device, layout, memory_format, Size, Generator (types.cpp)
// --------------
void add_types(PyObject* module);
PyObject* dtype_object(DType t);  // borrowed
extern PyTypeObject* size_type;

}  // namespace flambeau::bind
