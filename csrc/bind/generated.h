// What the generated binding files include.
#pragma once
#include "autograd/node.h"
#include "bind/convert.h"
#include "bind/parser.h"
#include "bind/tensor_type.h"
#include "ops/all.h"

namespace flambeau::bind {

using FastCall = PyObject* (*)(PyObject* self, PyObject* const* args, Py_ssize_t n,
                               PyObject* kwnames);

// A Python operator (`__add__`) served by an operator function.
struct OperatorSlot {
  const char* kind;    // operator, rop (reflected) or iop (in-place)
  const char* symbol;  // + - * / // % ** @ & | ^ << >> < <= > >= == != neg abs invert
  FastCall call;
};
struct FamilyTables {
  PyMethodDef* functions;
  PyMethodDef* methods;
  const char* const* names;
  const OperatorSlot* operators;
};
struct AliasRow {
  const char* module;
  const char* name;
  const char* target;
};
extern const FamilyTables family_tables[];
extern const AliasRow alias_rows[];

}  // namespace flambeau::bind
