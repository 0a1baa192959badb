// The backward graph: a Node per differentiable call, edges to the nodes of its inputs.
#pragma once
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
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

// Hooks are rare: one pointer in the node. `python` is the object that the hook calls, if it is
// one; the hook holds one reference to it.
struct NodeHooks {
  struct TensorHook {
    uint64_t id;
    uint32_t input_nr;
    GradHook call;
    void* python = nullptr;
  };
  struct Pre {
    uint64_t id;
    PreHook call;
    void* python = nullptr;
  };
  struct Post {
    uint64_t id;
    PostHook call;
    void* python = nullptr;
  };
  std::vector<TensorHook> tensor;  // on one output's gradient
  std::vector<TensorHook> retain;  // retain_grad: after all tensor hooks
  std::vector<Pre> pre;
  std::vector<Post> post;
  std::shared_ptr<void> metadata;  // what Python keeps with the node, a dict
};

class SavedTensor;
class SavedList;
class SavedOperand;

// Shown what a node keeps for backward, under the names of the operator's arguments.
class SavedVisitor {
 public:
  virtual ~SavedVisitor() = default;
  virtual void visit(const char* name, SavedTensor&) = 0;
  virtual void visit(const char* name, SavedList&) = 0;
  virtual void visit(const char* name, SavedOperand&) = 0;
  virtual void visit(const char*, const std::vector<OptTensor>&) {}
  virtual void visit(const char*, const Scalar&) {}
  virtual void visit(const char*, const Dims&) {}
  virtual void visit(const char*, const std::vector<Dims>&) {}
  virtual void visit(const char*, const int64_t&) {}
  virtual void visit(const char*, const double&) {}
  virtual void visit(const char*, const bool&) {}
  virtual void visit(const char*, const std::string&) {}
  virtual void visit(const char*, const DType&) {}
  virtual void visit(const char*, const std::optional<Dims>&) {}
  virtual void visit(const char*, const std::optional<int64_t>&) {}
  virtual void visit(const char*, const std::optional<double>&) {}
  virtual void visit(const char*, const std::optional<bool>&) {}
  virtual void visit(const char*, const std::optional<Scalar>&) {}
  virtual void visit(const char*, const std::optional<DType>&) {}
  virtual void visit(const char*, const std::optional<std::string>&) {}
};

// Shown every counted reference that a node or a tensor's record holds, each once.
class RefVisitor {
 public:
  virtual ~RefVisitor() = default;
  virtual void tensor(const Tensor& t) = 0;
  virtual void node(const Ref<Node>& node) = 0;
  virtual void python(void* object) = 0;
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
  virtual void visit_saved(SavedVisitor&) {}
  // Everything that this node owns a counted reference to. What it leaves out is never collected
  // as part of a cycle; what it names twice would be freed while in use.
  virtual void visit_refs(RefVisitor& v);
  void visit_edges_and_hooks(RefVisitor& v);

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

// What a hook made of a tensor that was to be saved.
struct PackedTensor {
  virtual ~PackedTensor() = default;
  virtual Tensor unpack() = 0;
  virtual void* python() const = 0;  // the object it holds
};
// While `on`, tensors of this thread are saved as what `pack` makes of them.
struct SavedHooks {
  bool on = false;
  std::unique_ptr<PackedTensor> (*pack)(const Tensor& t) = nullptr;
};
extern constinit thread_local SavedHooks saved_hooks;

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
  bool has() const { return tensor_.defined() || packed_; }
  bool released() const { return released_; }
  void reset() {
    tensor_ = Tensor();
    packed_.reset();
    released_ = true;
  }
  // Replaces what is kept by what a hook makes of it.
  void pack(std::unique_ptr<PackedTensor> (*pack)(const Tensor&, void*), void* context);
  bool packed() const { return bool(packed_); }
  void visit_refs(RefVisitor& v) const;

 private:
  void pack_with(const std::function<std::unique_ptr<PackedTensor>(const Tensor&)>& pack,
                 const Tensor& original);
  Tensor with_history(const Tensor& t, Ref<Node> fn, uint32_t output_nr) const;

  Tensor tensor_;
  std::unique_ptr<PackedTensor> packed_;
  Ref<Node> fn_;  // of a packed tensor: where its gradient goes
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
  std::vector<SavedTensor>& items() { return items_; }

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
    if (is_tensor_) return Operand(tensor_.get(owner));
    if (tensor_.released()) [[unlikely]]
      tensor_.get(owner);  // the error of a second backward
    return Operand(scalar_);
  }
  void reset() { tensor_.reset(); }
  bool is_tensor() const { return is_tensor_; }
  SavedTensor& tensor() { return tensor_; }
  const Scalar& scalar() const { return scalar_; }

 private:
  SavedTensor tensor_;
  Scalar scalar_;
  bool is_tensor_ = false;
};

// How a view came about: only Plain ones may change in place where that is recorded.
enum class ViewKind : uint8_t {
  Plain,
  Several,  // one of several results of a view function
  NoGrad,   // made while nothing was recorded
  Custom    // in, or as the result of, a custom function
};

struct ViewInfo {
  Tensor base;           // the tensor that owns the memory (never itself a view)
  uint32_t version = 0;  // version at which grad_fn was made
  ViewKind kind = ViewKind::Plain;
  const char* op = "";
};

struct AutogradMeta;
// How a hook of retain_grad finds the tensor that its node must not keep.
struct MetaLink {
  std::mutex mutex;
  AutogradMeta* meta;  // null once the tensor is gone
  uint64_t hook_id;
};

struct AutogradMeta final : AutogradRecord {
  Tensor grad;
  Ref<Node> grad_fn;
  uint32_t output_nr = 0;
  bool requires_grad = false;  // asked for on this leaf
  bool retains_grad = false;
  Node* accumulator = nullptr;  // weak: the accumulator owns the tensor
  std::shared_ptr<MetaLink> link;
  Ref<Node> foreign_accumulator;  // of an alias of a leaf, whose gradient goes to the leaf
  std::unique_ptr<ViewInfo> view;
  std::vector<NodeHooks::TensorHook> hooks;  // leaf hooks, read by the accumulator
  struct PostAccumulate {
    uint64_t id;
    std::function<void(const Tensor&)> call;
    void* python = nullptr;
  };
  std::vector<PostAccumulate> post_accumulate;
  TensorImpl* cyclic = nullptr;  // the tensor, once it is in the list of possible cycles
  ~AutogradMeta() override;
  void visit_refs(RefVisitor& v) const;
};

// A tensor whose gradient has a history may hold itself alive: remembers it for the collector.
void note_possible_cycle(const Tensor& t);
// The tensors so remembered; not counted, so that the collector sees their true counts.
std::vector<TensorImpl*> possible_cycles();

AutogradMeta& meta_of(const Tensor& t);
// Keeps the gradient of a tensor that is no leaf.
void retain_grad(const Tensor& t);
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
void set_view(const Tensor& result, const Tensor& base, const char* op,
              ViewKind kind = ViewKind::Plain);
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
  void visit_refs(RefVisitor& v) override;
  Tensor variable;
};

// ---- anomaly mode: nodes remember the Python stack that made them, backward looks for NaN
struct AnomalyMode {
  std::atomic<bool> on = false, check_nan = true;
  void (*record)(Node& node) = nullptr;  // a node was made while on
  void (*report)(Node& node) = nullptr;  // `node` failed: an exception is in flight
};
extern constinit AnomalyMode anomaly_mode;
// The node whose apply() runs in this thread, null outside of backward.
extern constinit thread_local Node* running_node;

// The Python line of a call site, " (file.py:12)" or "".
extern std::string (*describe_call_site)(CallSite site);

}  // namespace flambeau
