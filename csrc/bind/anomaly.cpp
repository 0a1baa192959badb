// Anomaly mode: the Python stack that made a node, kept with it and shown when it fails.
#include "bind/autograd_type.h"
#include "bind/convert.h"

namespace flambeau::bind {
namespace {

PyObject* helper(const char* name) {
  Object module(must(PyImport_ImportModule("flambeau.autograd.anomaly_mode")));
  return must(PyObject_GetAttrString(module.get(), name));
}

PyObject* metadata_of(Node& node) {
  auto& kept = node.make_hooks().metadata;
  if (!kept) kept = keep(Object(must(PyDict_New())).get());
  return static_cast<PyObject*>(kept.get());
}

// Runs inside of Node's constructor: the node has no name yet and is not counted, so nothing of it
// but its metadata may be touched.
void record(Node& node) {
  WithGil gil;
  if (!PyEval_GetFrame()) return;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  guarded([&]() -> PyObject* {
    Object stack(helper("_stack"));
    Object lines(must(PyObject_CallNoArgs(stack.get())));
    PyObject* kept = metadata_of(node);
    must(PyDict_SetItemString(kept, "traceback_", lines.get()));
    if (running_node) {
      Object parent(must(wrap_node(Ref<Node>(running_node))));
      must(PyDict_SetItemString(kept, "parent_", parent.get()));
    }
    Py_RETURN_NONE;
  });
  PyErr_Restore(type, value, trace);
}

// An exception is in flight, perhaps with a Python error set: warns beside it.
void report(Node& node) {
  WithGil gil;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  guarded([&]() -> PyObject* {
    Object show(helper("_report"));
    Object o(must(wrap_node(Ref<Node>(&node))));
    return must(PyObject_CallOneArg(show.get(), o.get()));
  });
  if (PyErr_Occurred()) {
    if (!type) return;  // warnings are errors here
    PyErr_Clear();
  }
  PyErr_Restore(type, value, trace);
}

PyObject* set_anomaly(PyObject*, PyObject* args) {
  int on, check_nan;
  if (!PyArg_ParseTuple(args, "pp", &on, &check_nan)) return nullptr;
  anomaly_mode.on = on;
  anomaly_mode.check_nan = check_nan;
  Py_RETURN_NONE;
}
PyObject* get_anomaly(PyObject*, PyObject*) {
  return Py_BuildValue("(OO)", anomaly_mode.on ? Py_True : Py_False,
                       anomaly_mode.check_nan ? Py_True : Py_False);
}

PyMethodDef functions[] = {{"_set_anomaly", set_anomaly, METH_VARARGS, nullptr},
                           {"_get_anomaly", get_anomaly, METH_NOARGS, nullptr},
                           {}};

}  // namespace

void add_anomaly(PyObject* module) {
  anomaly_mode.record = record;
  anomaly_mode.report = report;
  must(PyModule_AddFunctions(module, functions));
}

}  // namespace flambeau::bind
