// Argument binding of generated operator functions: overloads, keywords, defaults and type checks
// from static tables. Objects are only checked here; conversion happens in convert.h, once the
// overload is known.
#pragma once
#include <vector>

#include "bind/python.h"

namespace flambeau::bind {

enum class Kind : uint8_t {
  Tensor,
  WeakTensor,
  OptTensor,
  TensorList,
  OptTensorList,
  Operand,
  Scalar,
  OptScalar,
  Int,
  OptInt,
  Ints,
  OptInts,
  Float,
  OptFloat,
  Bool,
  OptBool,
  Str,
  OptStr,
  DType,
  OptDType,
  OptDevice,
  OptLayout,      // of factories: a sparse one passes the call on to flambeau._sparse.factories
  OptLayoutName,  // as its name
  OptMemoryFormat,
  OptGenerator,
  Out,
  OutTuple,
};

constexpr uint8_t kLoneInt = 255;

struct Param {
  const char* name;
  PyObject* interned;
  Kind kind;
  uint8_t expand;  // int[2]: 2; kLoneInt: one int stands for a list of one; 0: lists only. A
                   // WeakTensor with 1 may be a number before a tensor only
  bool required;
  bool kwonly;
};

struct Signature {
  Param* params;
  uint8_t count;
  uint8_t positional;
  int8_t variadic;  // index of an int[] that may be given as separate ints
  const char* text;
};

struct Callable {
  const char* name;
  Signature* signatures;
  int count;
  PyObject* function = nullptr;  // what __torch_function__ receives
  PyObject* method = nullptr;
};

constexpr int kMaxArguments = 24;

struct Bound {
  PyObject* at[kMaxArguments];  // borrowed; null means the default
  int which = -1;
  bool done = false;  // an override returned `result`
  PyObject* result = nullptr;
  Object packed;  // separate ints gathered into a tuple

  Bound(Callable& c, PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames);

 private:
  struct Try;
  bool attempt(const Signature& s, PyObject* self, PyObject* const* args, Py_ssize_t n,
               PyObject* kwnames, std::string* why);
  bool of_sparse() const;  // whether the first argument is a sparse tensor
  std::vector<PyObject*> overriders_;
  bool sparse_layout_ = false;  // a factory was asked for a sparse tensor
};

// Whether `o` has a __torch_function__ that wants to see calls.
bool has_override(PyObject* o);
// Calls the overrides of `objects` in PyTorch's order (subclasses first).
PyObject* call_override(const std::vector<PyObject*>& objects, PyObject* function, PyObject* args,
                        PyObject* kwargs);
extern constinit thread_local bool torch_function_enabled;

}  // namespace flambeau::bind
