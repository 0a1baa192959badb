// The backward graph: a Node per differentiable call, edges to the nodes of its inputs.
#pragma once
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "dispatch/state.h"

namespace flambeau {

class Node;
using Grads = std::vector<Tensor>;

struct Edge {
  Ref<Node> node;
  uint32_t input_nr = 0;  // which output of the node's forward call the gradient belongs to
  explicit operator bool() const { return bool(node); }
};

// Shape and dtype of a forward output: what the gradient that arrives must have.
struct OutputMeta {
  Dims sizes;
  DType dtype = DType::Float32;
  Device device;
};

using GradHook = std::function<Tensor(const Tensor&)>;  // may return an undefined tensor: unchanged
using PreHook = std::function<Grads(Grads)>;            // grad_outputs -> grad_outputs
using PostHook = std::function<Grads(Grads inputs, const Grads& outputs)>;

// Hooks are rare: one pointer in the node.
struct NodeHooks {
  struct TensorHook {
    uint64_t id;
    uint32_t input_nr;
    GradHook call;
  };
  struct Pre {
    uint64_t id;
    PreHook call;
  };
  struct Post {
    uint64_t id;
    PostHook call;
  };
  std::vector<TensorHook> tensor;  // on one output's gradient
  std::vector<TensorHook> retain;  // retain_grad: after all tensor hooks
  std::vector<Pre> pre;
  std::vector<Post> post;
};

class Node : public RefCounted {
 public:
  Node();
  // As grad_fn shows it: the operator's, or what `label` says instead.
  const char* name() const { return label ? label : own_name(); }
  virtual const char* own_name() const = 0;
  // Gradients of the inputs; entry i belongs to edges[i]. Undefined tensors mean zero.
  virtual Grads apply(Grads grads) = 0;
  // Drops saved tensors; a second backward then fails with PyTorch's message.
  virtual void release_saved() {}
  virtual void visit_saved(const std::function<void(const Tensor&)>&) {}

  std::vector<Edge> edges;
  std::vector<OutputMeta> outputs;
  uint64_t sequence;
  const char* label = nullptr;
  CallSite site;  // the Python line that made it
  std::unique_ptr<NodeHooks> hooks;
  void* pyobject = nullptr;  // cached wrapper, see bind/node_type.cpp

  bool needs(size_t i) const { return bool(edges[i]); }
  uint32_t add_output(const Tensor& t);
  NodeHooks& make_hooks() {
    if (!hooks) hooks = std::make_unique<NodeHooks>();
    return *hooks;
  }
  static void* operator new(size_t bytes);
  static void operator delete(void* p, size_t bytes);

 protected:
  void destroy() noexcept override;  // iterative: a chain of any length
};

uint64_t next_hook_id();

// Shows the node that a composition's result comes from as one operation. Nodes made before the
// mark (the result is an input as it was) keep their names.
class NodeMark {
 public:
  NodeMark();
  Tensor named(Tensor t, const char* name) const;
  TensorList named(TensorList list, const char* name) const;
  template <class... T>
  std::tuple<T...> named(std::tuple<T...> t, const char* name) const {
    std::apply([&](auto&... each) { (named(each, name), ...); }, t);
    return t;
  }
  // After a change in place; a view's history is its base's and keeps its name.
  void name_changed(const Tensor& self, const char* name) const;

 private:
  uint64_t start_;
};

// A tensor kept for backward, with the version it had.
class SavedTensor {
 public:
  SavedTensor() = default;
  // `output` marks a result of the node itself: its grad_fn would be a reference cycle.
  void save(const Tensor& t, bool output = false, const Node* owner = nullptr);
  void save(const OptTensor& t) {
    if (t) save(*t);
  }
  // The tensor, with its history (the node itself for a saved output).
  Tensor get(Node& owner) const;
  bool has() const { return tensor_.defined(); }
  void reset() {
    tensor_ = Tensor();
    released_ = true;
  }

 private:
  Tensor tensor_;
  uint32_t version_ = 0;
  uint32_t output_nr_ = 0;
  bool output_ = false;
  bool released_ = false;
};

class SavedList {
 public:
  void save(const TensorList& list);
  TensorList get(Node& owner) const;
  void reset();

 private:
  std::vector<SavedTensor> items_;
  bool released_ = false;
};

// An argument that may be a number.
class SavedOperand {
 public:
  void save(const Operand& o) {
    if (o.is_tensor())
      tensor_.save(o.tensor());
    else
      scalar_ = o.scalar();
    is_tensor_ = o.is_tensor();
  }
  Operand get(Node& owner) const {
    return is_tensor_ ? Operand(tensor_.get(owner)) : Operand(scalar_);
  }
  void reset() { tensor_.reset(); }

 private:
  SavedTensor tensor_;
  Scalar scalar_;
  bool is_tensor_ = false;
};

struct ViewInfo {
  Tensor base;              // the tensor that owns the memory (never itself a view)
  uint32_t version = 0;     // version at which grad_fn was made
  bool no_inplace = false;  // one of several outputs of a view function, or made under no_grad
  const char* op = "";
};

struct AutogradMeta final : AutogradRecord {
  Tensor grad;
  Ref<Node> grad_fn;
  uint32_t output_nr = 0;
  bool requires_grad = false;  // asked for on this leaf
  bool retains_grad = false;
  Node* accumulator = nullptr;  // weak: the accumulator owns the tensor
  std::unique_ptr<ViewInfo> view;
  std::vector<NodeHooks::TensorHook> hooks;  // leaf hooks, read by the accumulator
  std::vector<std::pair<uint64_t, std::function<void(const Tensor&)>>> post_accumulate;
  ~AutogradMeta() override;
};

AutogradMeta& meta_of(const Tensor& t);
inline AutogradMeta* meta_if(const Tensor& t) {
  return static_cast<AutogradMeta*>(t->autograd.get());
}

// ---- history
// ------------------------------------------------------------------------------------- grad_fn of
// a tensor; null for leaves. A view whose base changed in place gets its new one here.
Ref<Node> grad_fn(const Tensor& t);
// Where the gradient of `t` goes: its grad_fn, its accumulator, or nothing.
Edge gradient_edge(const Tensor& t);
bool is_leaf(const Tensor& t);
void set_history(const Tensor& result, const Ref<Node>& node);
// Before an in-place change: leaves that require grad and some views may not be changed.
void check_inplace(const Tensor& self, const char* op);
// After one: the tensor's (and, for a view, its base's) history continues in `node`.
void rebase_history(const Tensor& self, const Ref<Node>& node);
// Marks `result` as a view of `base`, so that in-place changes reach the base's history.
void set_view(const Tensor& result, const Tensor& base, const char* op, bool no_inplace = false);
void set_requires_grad(const Tensor& t, bool value);
Tensor detach(const Tensor& t);      // shares memory and version counter
Tensor data_alias(const Tensor& t);  // `.data`: shares memory, own version counter
void set_data(const Tensor& t, const Tensor& source);

// Whether `t`, a view, got a history by an in-place change of its base after it was made.
bool gained_history(const Tensor& t);
inline bool wants_grad(const Tensor& t) {
  return t.defined() && (t->requires_grad || (t->autograd && gained_history(t)));
}
inline bool wants_grad(const OptTensor& t) { return t && wants_grad(*t); }
inline bool wants_grad(const Operand& t) { return t.is_tensor() && wants_grad(t.tensor()); }
inline bool wants_grad(const TensorList& list) {
  for (auto& t : list)
    if (wants_grad(t)) return true;
  return false;
}
inline bool wants_grad(const std::vector<OptTensor>& list) {
  for (auto& t : list)
    if (wants_grad(t)) return true;
  return false;
}
template <class... A>
inline bool any_wants_grad(const A&... args) {
  return grad_enabled() && (wants_grad(args) || ...);
}

inline void add_edge(Node& node, const Tensor& t) {
  node.edges.push_back(wants_grad(t) ? gradient_edge(t) : Edge{});
}
inline void add_edge(Node& node, const OptTensor& t) {
  node.edges.push_back(wants_grad(t) ? gradient_edge(*t) : Edge{});
}
inline void add_edge(Node& node, const Operand& t) {
  node.edges.push_back(wants_grad(t) ? gradient_edge(t.tensor()) : Edge{});
}
inline void add_edge(Node& node, const TensorList& list) {
  for (auto& t : list) add_edge(node, t);
}

// Leaf: adds to `.grad`.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(const Tensor& variable);
  ~AccumulateGrad() override;
  const char* own_name() const override { return "torch::autograd::AccumulateGrad"; }
  Grads apply(Grads grads) override;
  Tensor variable;
};

// The Python line of a call site, " (file.py:12)" or "".
extern std::string (*describe_call_site)(CallSite site);

}  // namespace flambeau
