// Cycles through C++: a leaf whose gradient has a history, a hook that closes over its tensor, a
// custom function's context that holds the result. Python's collector takes a container for garbage
// when all references to it come from other garbage; it learns of references by tp_traverse. The
// nodes and tensors in between are counted by C++ and shared among many Python objects, so none of
// these may report alone what they hold. Instead, in a full collection:
//
// 1. At the first traversal of the counting pass we look at every tensor and node that a Python
//    object reaches, and compare the references counted in each with those found. One with more is
//    held from outside (a running backward, a C++ local): it and what it reaches stays. For all
//    others, each reference to a Python object is reported, once.
// 2. In the pass that finds what is reachable, each Python object of a tensor or node reports
//    everything that it reaches, so that whatever a living tensor needs is found again. What was
//    not reached then is garbage, and tp_clear cuts it.
//
// Young collections report nothing of this. Cycles without any Python object (a leaf that went
// out of scope before its gradient) are cut after the collection, by the same comparison.
#include "bind/collector.h"

#include <unordered_map>

namespace flambeau::bind::collector {

bool active = false;
int64_t kept_objects = 0;

namespace {

// ---- rings of our Python objects ---------------------------------------------------------------

template <class T>
struct Ring {
  T* first = nullptr;
  void enter(T* o) {
    o->before = nullptr;
    o->after = first;
    if (first) first->before = o;
    first = o;
  }
  void leave(T* o) {
    if (!o->before && first != o) return;  // never entered
    (o->before ? o->before->after : first) = o->after;
    if (o->after) o->after->before = o->before;
  }
};
constinit Ring<PyTensor> tensors;
constinit Ring<PyNode> nodes;

// ---- what CPython does -------------------------------------------------------------------------

// The head before a collected object; bit 1 of `previous` is set while it takes part.
struct Head {
  uintptr_t next, previous;
};
bool takes_part(void* o) { return (static_cast<Head*>(o) - 1)->previous & 2; }

visitproc count_pass = nullptr, reach_pass = nullptr;  // how the two passes visit

struct Probe {
  PyObject_HEAD int seen;
  bool marked;
};
int probe_traverse(PyObject* o, visitproc visit, void*) {
  auto* probe = reinterpret_cast<Probe*>(o);
  if (probe->seen == 0) {
    count_pass = visit;
    probe->marked = takes_part(o);
  } else if (probe->seen == 1) {
    reach_pass = visit;
  }
  probe->seen++;
  return 0;
}
void probe_dealloc(PyObject* o) {
  PyObject_GC_UnTrack(o);
  PyTypeObject* type = Py_TYPE(o);
  PyObject_GC_Del(o);
  Py_DECREF(type);
}

// Learns the visitors of the two passes from a collection of the youngest objects.
bool learn_passes(PyObject* gc) {
  PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(probe_traverse)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(probe_dealloc)},
                         {0, nullptr}};
  PyType_Spec spec{"flambeau._C._Probe", sizeof(Probe), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                   slots};
  Object type(must(PyType_FromSpec(&spec)));
  Object o(must(PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(type.get()), 0)));
  Object done(must(PyObject_CallMethod(gc, "collect", "i", 0)));
  const bool marked = reinterpret_cast<Probe*>(o.get())->marked;
  return count_pass && reach_pass && count_pass != reach_pass && marked && !takes_part(o.get());
}

// ---- the graph ---------------------------------------------------------------------------------

struct Item {
  const RefCounted* object;
  TensorImpl* tensor;  // or null: a node
  Node* node;
  int64_t found = 0;  // references to it
  bool held = false;  // from outside, or by what is
  bool reached = false;
  std::vector<uint32_t> leads_to;
  std::vector<PyObject*> python;
};

class Graph final : RefVisitor {
 public:
  // `passing`: only Python objects that take part in the collection are accounted for; otherwise
  // all count as holding from outside.
  void build(bool passing) {
    items.clear();
    index_.clear();
    for (PyTensor* o = tensors.first; o; o = o->after)
      if (o->tensor.defined() && o->tensor->autograd) add(o->tensor.impl());
    for (PyNode* o = nodes.first; o; o = o->after)
      if (o->node) add(o->node.get());
    for (TensorImpl* t : possible_cycles()) add(t);
    for (uint32_t at = 0; at < items.size(); at++) {
      now_ = at;
      if (Node* node = items[at].node) {
        node->visit_refs(*this);
        continue;
      }
      TensorImpl* t = items[at].tensor;
      if (t->autograd) static_cast<AutogradMeta*>(t->autograd.get())->visit_refs(*this);
      if (t->owns_pyobject) python(t->pyobject);
    }
    std::vector<uint32_t> held;
    for (uint32_t at = 0; at < items.size(); at++) {
      Item& item = items[at];
      int64_t known = item.found;
      if (passing) known += wrapper(item);
      bool owned_elsewhere = item.tensor && item.tensor->owns_pyobject &&
                             Py_REFCNT(static_cast<PyObject*>(item.tensor->pyobject)) != 1;
      if (item.object->use_count() != known || (!passing && owned_elsewhere)) {
        item.held = true;
        held.push_back(at);
      }
    }
    while (!held.empty()) {
      uint32_t at = held.back();
      held.pop_back();
      for (uint32_t next : items[at].leads_to)
        if (!items[next].held) {
          items[next].held = true;
          held.push_back(next);
        }
    }
  }

  Item* find(const RefCounted* object) {
    auto it = index_.find(object);
    return it == index_.end() ? nullptr : &items[it->second];
  }
  void clear() {
    items.clear();
    index_.clear();
  }

  std::vector<Item> items;

 private:
  // 1 for a Python object that takes part and holds the item.
  static int64_t wrapper(const Item& item) {
    if (item.node) return item.node->pyobject && takes_part(item.node->pyobject);
    return item.tensor->pyobject && !item.tensor->owns_pyobject &&
           takes_part(item.tensor->pyobject);
  }
  uint32_t add(TensorImpl* t) { return add(t, t, nullptr); }
  uint32_t add(Node* n) { return add(n, nullptr, n); }
  uint32_t add(const RefCounted* object, TensorImpl* t, Node* n) {
    auto [it, is_new] = index_.emplace(object, uint32_t(items.size()));
    if (is_new) items.push_back({object, t, n, 0, false, false, {}, {}});
    return it->second;
  }
  void lead(uint32_t next) {
    items[next].found++;
    items[now_].leads_to.push_back(next);
  }
  void tensor(const Tensor& t) override { lead(add(t.impl())); }
  void node(const Ref<Node>& n) override { lead(add(n.get())); }
  void python(void* o) override {
    if (o) items[now_].python.push_back(static_cast<PyObject*>(o));
  }

  std::unordered_map<const RefCounted*, uint32_t> index_;
  uint32_t now_ = 0;
};

Graph& graph() {
  static auto* g = new Graph();
  return *g;
}
bool counting = false, built = false;
const RefCounted* first_counted = nullptr;

PyObject* on_collection(PyObject*, PyObject* args) {
  PyObject* phase;
  PyObject* facts;
  if (!PyArg_ParseTuple(args, "OO", &phase, &facts)) return nullptr;
  PyObject* generation = PyDict_GetItemString(facts, "generation");
  const bool full = generation && PyLong_AsLong(generation) == 2;
  if (!full) Py_RETURN_NONE;
  return guarded([&]() -> PyObject* {
    if (PyUnicode_CompareWithASCIIString(phase, "start") == 0) {
      active = kept_objects > 0 || !possible_cycles().empty();
      counting = built = false;
      Py_RETURN_NONE;
    }
    if (!active) Py_RETURN_NONE;
    active = counting = built = false;
    std::vector<Tensor> garbage;
    if (!possible_cycles().empty()) {
      graph().build(false);
      for (Item& item : graph().items)
        if (item.tensor && !item.held) garbage.emplace_back(Ref<TensorImpl>(item.tensor));
    }
    graph().clear();
    for (Tensor& t : garbage) clear_record(t);
    Py_RETURN_NONE;
  });
}

}  // namespace

void enter(PyTensor* o) { tensors.enter(o); }
void enter(PyNode* o) { nodes.enter(o); }
void leave(PyTensor* o) { tensors.leave(o); }
void leave(PyNode* o) { nodes.leave(o); }

int traverse(const RefCounted* owned, visitproc visit, void* arg) {
  if (!owned) return 0;
  Graph& g = graph();
  if (visit == count_pass) {
    // The first one again: a second round over what was not reached, after finalizers ran.
    if (counting && owned != first_counted) return 0;
    counting = built = true;
    first_counted = owned;
    g.build(true);
    for (Item& item : g.items)
      if (!item.held)
        for (PyObject* o : item.python) Py_VISIT(o);
    return 0;
  }
  if (visit != reach_pass || !built) return 0;
  counting = false;
  Item* start = g.find(owned);
  if (!start || start->held || start->reached) return 0;
  std::vector<uint32_t> stack{uint32_t(start - g.items.data())};
  start->reached = true;
  while (!stack.empty()) {
    Item& item = g.items[stack.back()];
    stack.pop_back();
    for (PyObject* o : item.python) Py_VISIT(o);
    for (uint32_t next : item.leads_to)
      if (!g.items[next].held && !g.items[next].reached) {
        g.items[next].reached = true;
        stack.push_back(next);
      }
  }
  return 0;
}

bool is_garbage(const RefCounted* owned) {
  if (!active || !built || !owned) return false;
  Item* item = graph().find(owned);
  return item && !item->held && !item->reached;
}

void clear_record(const Tensor& t) {
  auto* meta = meta_if(t);
  if (!meta) return;
  // moved out first: what their destructors run must find the record empty
  Tensor grad = std::move(meta->grad);
  meta->grad = Tensor();
  Ref<Node> fn = std::move(meta->grad_fn);
  meta->grad_fn = nullptr;
  auto hooks = std::move(meta->hooks);
  auto post = std::move(meta->post_accumulate);
  auto view = std::move(meta->view);
  meta->hooks.clear();
  meta->post_accumulate.clear();
}

void add_collector(PyObject* module) {
  static PyMethodDef functions[] = {{"_on_collection", on_collection, METH_VARARGS, nullptr}, {}};
  must(PyModule_AddFunctions(module, functions));
  Object gc(must(PyImport_ImportModule("gc")));
  if (!learn_passes(gc.get())) return;  // an unknown collector: cycles stay, nothing breaks
  Object callbacks(must(PyObject_GetAttrString(gc.get(), "callbacks")));
  Object ours(must(PyObject_GetAttrString(module, "_on_collection")));
  must(PyList_Append(callbacks.get(), ours.get()));
}

}  // namespace flambeau::bind::collector
