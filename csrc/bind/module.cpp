// The extension module `flambeau._C`.
#include "autograd/node.h"
#include "bind/autograd_type.h"
#include "bind/collector.h"
#include "bind/generated.h"
#include "bind/interop.h"
#include "bind/optimizer.h"
#include "bind/override.h"
#include "bind/shared.h"
#include "bind/transform.h"
#include "dispatch/entry.h"
#include "dispatch/promotion.h"
#include "runtime/allocator.h"
#include "runtime/cpu.h"
#include "runtime/parallel.h"

namespace flambeau {
void init_libraries();  // kernels/gemm.cpp
std::vector<std::pair<std::string, std::string>> library_versions();
}  // namespace flambeau

namespace flambeau::bind {
namespace {

PyObject* get_num_threads(PyObject*, PyObject*) { return PyLong_FromLong(num_threads()); }
PyObject* set_num_threads_py(PyObject*, PyObject* n) {
  return guarded([&]() -> PyObject* {
    check<TypeError>(PyLong_Check(n), "set_num_threads expects an int, but got ",
                     Py_TYPE(n)->tp_name);
    int64_t v = as_int(n);
    check(v > 0, "set_num_threads expects a positive integer, got ", v);
    set_num_threads(int(std::min<int64_t>(v, 1024)));
    Py_RETURN_NONE;
  });
}
PyObject* get_default_dtype(PyObject*, PyObject*) { return wrap(default_dtype()); }
PyObject* set_default_dtype_py(PyObject*, PyObject* d) {
  return guarded([&]() -> PyObject* {
    check<TypeError>(is_dtype(d), "set_default_dtype: expected a torch.dtype, got ",
                     Py_TYPE(d)->tp_name);
    set_default_dtype(as_dtype(d));
    Py_RETURN_NONE;
  });
}
PyObject* memory_stats_py(PyObject*, PyObject*) {
  MemoryStats s = memory_stats();
  Object out(must(PyDict_New()));
  for (auto& [name, value] : s.items()) {
    Object v(PyLong_FromLongLong(int64_t(value)));
    must(PyDict_SetItemString(out.get(), name, v.get()));
  }
  return out.release();
}
PyObject* reset_peak(PyObject*, PyObject*) {
  reset_peak_memory_stats();
  Py_RETURN_NONE;
}
PyObject* empty_cache_py(PyObject*, PyObject*) {
  empty_cache();
  Py_RETURN_NONE;
}
PyObject* cpu_features_py(PyObject*, PyObject*) {
  Object list(must(PyList_New(0)));
  for (auto& f : cpu_features()) {
    Object s(wrap(f));
    must(PyList_Append(list.get(), s.get()));
  }
  return list.release();
}
PyObject* cpu_target_py(PyObject*, PyObject*) {
  static const char* names[] = {"baseline", "avx2", "avx512"};
  return PyUnicode_FromString(names[int(cpu_target())]);
}
PyObject* libraries_py(PyObject*, PyObject*) {
  Object out(must(PyDict_New()));
  for (auto& [name, version] : library_versions()) {
    Object v(wrap(version));
    must(PyDict_SetItemString(out.get(), name.c_str(), v.get()));
  }
  return out.release();
}
PyObject* register_type(PyObject*, PyObject* args) {
  const char* name;
  PyObject* type;
  if (!PyArg_ParseTuple(args, "sO!", &name, &PyType_Type, &type)) return nullptr;
  auto*& slot = std::string_view(name) == "Size" ? size_type : parameter_type;
  slot = reinterpret_cast<PyTypeObject*>(incref(type));
  Py_RETURN_NONE;
}
// _registry() -> [(name, schema, family)] of all operators
PyObject* registry_py(PyObject*, PyObject*) {
  Object list(must(PyList_New(0)));
  for (OpEntry* e = first_entry(); e; e = e->next) {
    Object row(must(Py_BuildValue("(sss)", e->name, e->schema, e->family)));
    must(PyList_Append(list.get(), row.get()));
  }
  return list.release();
}
PyObject* promote_py(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *a, *b;
    if (!PyArg_ParseTuple(args, "OO", &a, &b)) return nullptr;
    return wrap(promote(as_dtype(a), as_dtype(b)));
  });
}
PyObject* can_cast_py(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *a, *b;
    if (!PyArg_ParseTuple(args, "OO", &a, &b)) return nullptr;
    return wrap(can_cast(as_dtype(a), as_dtype(b)));
  });
}

PyMethodDef functions[] = {
    {"get_num_threads", get_num_threads, METH_NOARGS, "Threads that operators use."},
    {"set_num_threads", set_num_threads_py, METH_O, "set_num_threads(n)"},
    {"get_default_dtype", get_default_dtype, METH_NOARGS, nullptr},
    {"set_default_dtype", set_default_dtype_py, METH_O, nullptr},
    {"_memory_stats", memory_stats_py, METH_NOARGS, nullptr},
    {"_reset_peak_memory_stats", reset_peak, METH_NOARGS, nullptr},
    {"_empty_cache", empty_cache_py, METH_NOARGS, nullptr},
    {"_cpu_features", cpu_features_py, METH_NOARGS, nullptr},
    {"_cpu_target", cpu_target_py, METH_NOARGS, nullptr},
    {"_libraries", libraries_py, METH_NOARGS, nullptr},
    {"_register_type", register_type, METH_VARARGS, nullptr},
    {"_registry", registry_py, METH_NOARGS, nullptr},
    {"promote_types", promote_py, METH_VARARGS, "promote_types(type1, type2) -> dtype"},
    {"_optimizer_lists", reinterpret_cast<PyCFunction>(optimizer_lists), METH_FASTCALL, nullptr},
    {"can_cast", can_cast_py, METH_VARARGS, "can_cast(from_, to) -> bool"},
    {}};

// `_C.ops`: every operator as a function, `_C._public`: names that belong into `flambeau`,
// `_C._aliases`: (module, name, operator).
void add_operators(PyObject* module) {
  static PyModuleDef ops_def{PyModuleDef_HEAD_INIT,
                             "flambeau._C.ops",
                             nullptr,
                             -1,
                             nullptr,
                             nullptr,
                             nullptr,
                             nullptr,
                             nullptr};
  Object ops(must(PyModule_Create(&ops_def)));
  Object names(must(PyList_New(0)));
  for (const FamilyTables* f = family_tables; f->functions; f++) {
    must(PyModule_AddFunctions(ops.get(), f->functions));
    for (const char* const* n = f->names; *n; n++) {
      Object s(must(PyUnicode_InternFromString(*n)));
      must(PyList_Append(names.get(), s.get()));
    }
  }
  Object aliases(must(PyList_New(0)));
  for (const AliasRow* a = alias_rows; a->module; a++) {
    Object row(must(Py_BuildValue("(sss)", a->module, a->name, a->target)));
    must(PyList_Append(aliases.get(), row.get()));
  }
  must(PyModule_AddObjectRef(module, "ops", ops.get()));
  must(PyModule_AddObjectRef(module, "_public", names.get()));
  must(PyModule_AddObjectRef(module, "_aliases", aliases.get()));
}

PyObject* init_module() {
  static PyModuleDef def{PyModuleDef_HEAD_INIT,
                         "flambeau._C",
                         "flambeau's C++ core.",
                         -1,
                         functions,
                         nullptr,
                         nullptr,
                         nullptr,
                         nullptr};
  return guarded([&]() -> PyObject* {
    Object module(must(PyModule_Create(&def)));
#ifdef Py_GIL_DISABLED
    PyUnstable_Module_SetGIL(module.get(), Py_MOD_GIL_USED);
#endif
    init_libraries();
    set_blocking_hooks(
        {[]() -> void* { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; },
         [](void* state) {
           if (state) PyEval_RestoreThread(static_cast<PyThreadState*>(state));
         }});
    add_types(module.get());
    make_tensor_type(module.get());
    add_overrides(module.get());
    add_operators(module.get());
    add_autograd(module.get());
    add_interop(module.get());
    add_shared(module.get());
    add_batch(module.get());
    add_transforms(module.get());
    collector::add_collector(module.get());
    return module.release();
  });
}

}  // namespace
}  // namespace flambeau::bind

extern "C" __attribute__((visibility("default"))) PyObject* PyInit__C() {
  return flambeau::bind::init_module();
}
