#include "autograd/node.h"

#include <atomic>
#include <mutex>
#include <unordered_set>

#include "autograd/history.h"
#include "core/transform.h"
#include "kernels/pointwise.h"
#include "ops/all.h"
#include "runtime/allocator.h"
#include "runtime/parallel.h"

namespace flambeau {

std::string (*describe_call_site)(CallSite) = [](CallSite) { return std::string(); };

namespace {
constinit thread_local uint64_t sequence_counter = 0;
std::atomic<uint64_t> hook_ids{1};
}  // namespace

constinit thread_local SavedHooks saved_hooks;
constinit AnomalyMode anomaly_mode;
constinit thread_local Node* running_node = nullptr;

uint64_t next_hook_id() { return hook_ids.fetch_add(1); }

void* Node::operator new(size_t bytes) { return allocate(bytes); }
void Node::operator delete(void* p, size_t bytes) { deallocate(p, bytes); }

Node::Node() : sequence(sequence_counter++), site(current_call_site()) {
  if (anomaly_mode.on.load(std::memory_order_relaxed)) [[unlikely]]
    anomaly_mode.record(*this);
}

void Node::visit_refs(RefVisitor& v) {
  struct Saved final : SavedVisitor {
    RefVisitor& out;
    explicit Saved(RefVisitor& o) : out(o) {}
    void visit(const char*, SavedTensor& t) override { t.visit_refs(out); }
    void visit(const char*, SavedList& list) override {
      for (auto& t : list.items()) t.visit_refs(out);
    }
    void visit(const char*, SavedOperand& o) override { o.tensor().visit_refs(out); }
  } saved(v);
  visit_saved(saved);
  visit_edges_and_hooks(v);
}

void Node::visit_edges_and_hooks(RefVisitor& v) {
  for (auto& e : edges)
    if (e) v.node(e.node);
  if (!hooks) return;
  for (auto& h : hooks->tensor) v.python(h.python);
  for (auto& h : hooks->retain) v.python(h.python);
  for (auto& h : hooks->pre) v.python(h.python);
  for (auto& h : hooks->post) v.python(h.python);
  v.python(hooks->metadata.get());
}

NodeMark::NodeMark() : start_(sequence_counter) {}

Tensor NodeMark::named(Tensor t, const char* name) const {
  const AutogradMeta* meta = t.defined() ? meta_if(t) : nullptr;
  if (meta && meta->grad_fn && meta->grad_fn->sequence >= start_) meta->grad_fn->label = name;
  return t;
}
TensorList NodeMark::named(TensorList list, const char* name) const {
  for (auto& t : list) named(t, name);
  return list;
}
void NodeMark::name_changed(const Tensor& self, const char* name) const {
  const AutogradMeta* meta = meta_if(self);
  if (meta && !meta->view) named(self, name);
}

uint32_t Node::add_output(const Tensor& t) {
  outputs.push_back({t.sizes(), t.dtype(), t.device()});
  return uint32_t(outputs.size() - 1);
}

// A node that dies hands its edges to a queue of this thread instead of releasing them in its own
// destructor, so that a chain of any length is freed in a loop.
void Node::destroy() noexcept {
  static thread_local std::vector<Node*>* queue = nullptr;
  if (queue) {
    queue->push_back(this);
    return;
  }
  std::vector<Node*> pending{this};
  queue = &pending;
  while (!pending.empty()) {
    Node* node = pending.back();
    pending.pop_back();
    delete node;  // releases edges and saved tensors; nodes that reach zero are queued
  }
  queue = nullptr;
}

// ---- saved values
// ----------------------------------------------------------------------------------

void SavedTensor::save(const Tensor& t, bool output, const Node*) {
  released_ = false;
  if (!t.defined()) return;
  check(!t->inference,
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
        "inference mode in "
        "computation tracked by autograd. To work around this, make a clone to get a normal tensor "
        "and use it instead.");
  version_ = t.version();
  output_ = output;
  AutogradMeta* meta = meta_if(t);
  if (output) output_nr_ = meta ? meta->output_nr : 0;
  if (saved_hooks.on) [[unlikely]]
    return pack_with([](const Tensor& kept) { return saved_hooks.pack(kept); }, t);
  if (output) {
    tensor_ = detach(t);
    return;
  }
  version_counter(t);
  tensor_ = t;
  if (meta && meta->grad_fn) {
    // An alias with its own record: a later in-place change of `t` must not make a cycle.
    Ref<Node> fn = grad_fn(t);
    tensor_ = with_history(t, std::move(fn), meta->output_nr);
  }
}

Tensor SavedTensor::with_history(const Tensor& t, Ref<Node> fn, uint32_t output_nr) const {
  Tensor out = detach(t);
  auto& own = meta_of(out);
  out->requires_grad = true;
  if (fn->edges.empty() && dynamic_cast<AccumulateGrad*>(fn.get())) [[unlikely]] {
    own.requires_grad = true;
    own.accumulator = fn.get();
    own.foreign_accumulator = std::move(fn);
    return out;
  }
  own.grad_fn = std::move(fn);
  own.output_nr = output_nr;
  return out;
}

void SavedTensor::pack_with(const std::function<std::unique_ptr<PackedTensor>(const Tensor&)>& pack,
                            const Tensor& original) {
  if (!output_ && wants_grad(original)) {
    Edge e = gradient_edge(original);
    fn_ = e.node;
    output_nr_ = e.input_nr;
  }
  const uint32_t before = original.version();
  NoGrad off;
  Scoped<bool> plain(saved_hooks.on, false);
  packed_ = pack(original);
  check(original.version() == before,
        "A saved tensor pack hook is modifying its input in place. Tensors provided as input to "
        "pack hook can not be modified by in-place operations: change a clone() of it");
  tensor_ = Tensor();
}

void SavedTensor::pack(std::unique_ptr<PackedTensor> (*pack)(const Tensor&, void*), void* context) {
  check(!packed_,
        "Calling register_hooks on a saved tensor whose hooks have already been set: "
        "only one pair of hooks is allowed at a time");
  check(!released_, "register_hooks: this saved tensor has been freed already");
  check(tensor_.defined(), "register_hooks: a saved tensor that is None has no hooks");
  pack_with([&](const Tensor& t) { return pack(t, context); }, Tensor(tensor_));
}

void SavedTensor::visit_refs(RefVisitor& v) const {
  if (tensor_.defined()) v.tensor(tensor_);
  if (fn_) v.node(fn_);
  if (packed_) v.python(packed_->python());
}

Tensor SavedTensor::get(Node& owner) const {
  if (released_) [[unlikely]]
    fail(
        "Trying to backward through the graph a second time (or directly access saved tensors "
        "after "
        "they have already been freed). Saved intermediate values of the graph are freed when you "
        "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
        "through the graph a second time or if you need to access saved tensors after calling "
        "backward. (at ",
        owner.name(), describe_call_site(owner.site), ")");
  if (packed_) [[unlikely]] {
    Tensor out = packed_->unpack();
    Ref<Node> fn = output_ ? Ref<Node>(&owner) : fn_;
    return fn ? with_history(out, std::move(fn), output_nr_) : out;
  }
  if (!tensor_.defined()) return tensor_;
  if (tensor_.version() != version_) [[unlikely]] {
    const auto& counter = version_counter(tensor_);
    std::string saver(owner.name());
    fail(
        "one of the variables needed for gradient computation has been modified by an inplace "
        "operation: a tensor of shape ",
        tensor_.sizes(), " (", info(tensor_.dtype()).name, ") was saved by ", saver,
        describe_call_site(owner.site), output_ ? " as its result" : "", " at version ", version_,
        " and is at version ", counter.version, " now; the last change was by '",
        counter.op ? counter.op : "?", "'", describe_call_site(counter.site),
        ". Hint: make a copy first (clone()), or use the out-of-place form of that operation.");
  }
  return output_ ? with_history(tensor_, Ref<Node>(&owner), output_nr_) : tensor_;
}

void SavedList::save(const TensorList& list) {
  items_.resize(list.size());
  for (size_t i = 0; i < list.size(); i++) items_[i].save(list[i]);
}
TensorList SavedList::get(Node& owner) const {
  TensorList out;
  for (auto& s : items_) out.push_back(s.get(owner));
  return out;
}
void SavedList::reset() {
  for (auto& s : items_) s.reset();
}

// ---- records
// ---------------------------------------------------------------------------------------

namespace {
std::mutex cycles_lock;
std::unordered_set<TensorImpl*>& cycles() {
  static auto* set = new std::unordered_set<TensorImpl*>();
  return *set;
}
}  // namespace

void note_possible_cycle(const Tensor& t) {
  auto& meta = meta_of(t);
  if (meta.cyclic) return;
  std::lock_guard guard(cycles_lock);
  cycles().insert(meta.cyclic = t.impl());
}

std::vector<TensorImpl*> possible_cycles() {
  std::lock_guard guard(cycles_lock);
  return {cycles().begin(), cycles().end()};
}

AutogradMeta::~AutogradMeta() {
  if (link) {
    std::lock_guard guard(link->mutex);
    link->meta = nullptr;
  }
  if (!cyclic) return;
  std::lock_guard guard(cycles_lock);
  cycles().erase(cyclic);
}

namespace {
void add_retain_hook(const AutogradMeta& meta) {
  // The tensor may go while its graph stays, also in another thread. Nothing is computed or
  // destroyed under the lock: that may wait for the interpreter, which may wait for the lock.
  auto hook = [link = meta.link](const Tensor& g) {
    Tensor before;
    {
      std::lock_guard guard(link->mutex);
      if (!link->meta) return Tensor();
      before = link->meta->grad;
    }
    Tensor grad = before.defined() ? ops::add(before, g, 1) : g;
    std::lock_guard guard(link->mutex);
    if (link->meta) std::swap(link->meta->grad, grad);
    return Tensor();
  };
  meta.grad_fn->make_hooks().retain.push_back({meta.link->hook_id, meta.output_nr, hook});
}
// Gives a tensor another node: a gradient that is retained is that of the tensor as it is now.
void set_grad_fn(AutogradMeta& meta, Ref<Node> node, uint32_t output_nr) {
  const Ref<Node> before = std::move(meta.grad_fn);
  meta.grad_fn = std::move(node);
  meta.output_nr = output_nr;
  if (!meta.link) return;
  if (before && before->hooks)
    std::erase_if(before->hooks->retain, [&](auto& h) { return h.id == meta.link->hook_id; });
  add_retain_hook(meta);
}
}  // namespace

void retain_grad(const Tensor& t) {
  grad_fn(t);  // of a view whose base has changed
  AutogradMeta& meta = meta_of(t);
  meta.retains_grad = true;
  meta.link = std::make_shared<MetaLink>();
  meta.link->meta = &meta;
  meta.link->hook_id = next_hook_id();
  add_retain_hook(meta);
}

void AutogradMeta::visit_refs(RefVisitor& v) const {
  if (grad.defined()) v.tensor(grad);
  if (grad_fn) v.node(grad_fn);
  if (foreign_accumulator) v.node(foreign_accumulator);
  if (view && view->base.defined()) v.tensor(view->base);
  for (auto& h : hooks) v.python(h.python);
  for (auto& h : post_accumulate) v.python(h.python);
}

AutogradMeta& meta_of(const Tensor& t) {
  if (!t->autograd) t->autograd = std::make_unique<AutogradMeta>();
  return *static_cast<AutogradMeta*>(t->autograd.get());
}

Tensor detach(const Tensor& t) { return alias(t, t.sizes(), t.strides(), t.offset()); }

Tensor data_alias(const Tensor& t) {
  return from_storage(t.storage(), t.sizes(), t.strides(), t.offset(), t.dtype());
}

void set_data(const Tensor& t, const Tensor& source) {
  check(t.device() == source.device(),
        "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
        "incompatible tensor type: devices ",
        to_string(t.device()), " and ", to_string(source.device()));
  check(
      !t->requires_grad || source.is_floating() || source.is_complex(),
      "data set to a tensor that requires gradients must be floating point or complex dtype, got ",
      source.dtype());
  await_long_work();
  t->storage = source->storage;
  t->dtype = source->dtype;
  t->device = source->device;
  t->set_geometry(source.sizes(), source.strides(), source.offset());
  if (auto* meta = meta_if(t))
    if (meta->accumulator) meta->accumulator->outputs[0] = {t.sizes(), t.dtype(), t.device()};
}

bool is_leaf(const Tensor& t) {
  auto* meta = meta_if(t);
  return !meta || !meta->grad_fn;
}

namespace {
// A view that may not change in place did (by `op`), or its base did (op is null).
[[noreturn]] void refuse_change(const AutogradMeta& meta, const char* op) {
  const ViewInfo& view = *meta.view;
  const std::string name =
      view.kind == ViewKind::Custom || !meta.grad_fn ? view.op : meta.grad_fn->name();
  const std::string what =
      op ? cat_text("is a view and is being modified inplace by '", op, "'")
         : std::string(
               "is a view and its base or another view of its base has been modified "
               "inplace");
  if (view.kind == ViewKind::NoGrad)
    fail("A view was created in no_grad mode and ",
         op ? cat_text("is being modified inplace by '", op, "' with grad mode enabled")
            : std::string("its base or another view of its base has been modified inplace with "
                          "grad mode enabled"),
         ". Output ", meta.output_nr, " of ", name,
         " is such a view. Do both inside no_grad, or both outside.");
  fail("Output ", meta.output_nr, " of ", name, " ", what, ". ",
       view.kind == ViewKind::Several
           ? "This view is the output of a function that returns multiple views. Such functions do "
             "not allow the output views to be modified inplace. You should replace the inplace "
             "operation by an out-of-place one."
           : "This view was created inside a custom Function (or because an input was returned "
             "as-is): a change of it in place would pass by the function's own backward. Return "
             "or use a clone() of it.");
}
}  // namespace

Ref<Node> grad_fn(const Tensor& t) {
  auto* meta = meta_if(t);
  if (!meta) return nullptr;
  if (meta->view) {
    ViewInfo& view = *meta->view;
    if (view.kind != ViewKind::Plain && view.version != t.version() &&
        (meta->grad_fn || view.base->requires_grad)) [[unlikely]]
      refuse_change(*meta, nullptr);
    // The base (or another view of it) was changed in place and now has history: this view's own
    // history is "the same elements of the base as it is now".
    if (view.version != t.version() && view.base->requires_grad && grad_enabled()) {
      auto* base_meta = meta_if(view.base);
      if (base_meta && base_meta->grad_fn) {
        set_grad_fn(*meta, make_strided_view_node(t, view.base), 0);
        t->requires_grad = true;
      }
      view.version = t.version();
    }
  }
  return meta->grad_fn;
}

bool gained_history(const Tensor& t) {
  auto* meta = meta_if(t);
  return meta->view && meta->view->base->requires_grad && grad_fn(t) && t->requires_grad;
}

Edge gradient_edge(const Tensor& t) {
  if (Ref<Node> fn = grad_fn(t)) return {std::move(fn), meta_if(t)->output_nr};
  auto* meta = meta_if(t);
  if (!meta || !meta->requires_grad) return {};
  static std::mutex lock;  // the accumulator pointer is weak: make and look up under one lock
  std::lock_guard guard(lock);
  if (!meta->accumulator) {
    auto node = make_ref<AccumulateGrad>(t);
    meta->accumulator = node.get();
    return {node, 0};
  }
  return {Ref<Node>(meta->accumulator), 0};
}

void set_history(const Tensor& result, const Ref<Node>& node) {
  if (!result.defined() || !is_differentiable(result.dtype())) {
    if (result.defined()) node->add_output(result);
    return;
  }
  auto& meta = meta_of(result);
  const uint32_t output_nr = node->add_output(result);
  if (meta.link) [[unlikely]] {  // changed in place
    set_grad_fn(meta, node, output_nr);
  } else {
    meta.output_nr = output_nr;
    meta.grad_fn = node;
  }
  result->requires_grad = true;
}

void set_requires_grad(const Tensor& t, bool value) {
  if (value)
    check(is_differentiable(t.dtype()),
          "only Tensors of floating point and complex dtype can require gradients, got ",
          t.dtype());
  if (!is_leaf(t)) {
    check(value,
          "you can only change requires_grad flags of leaf variables. If you want to use a "
          "computed variable in a subgraph that doesn't require differentiation use "
          "var_no_grad = var.detach().");
    return;
  }
  if (!value && !t->autograd) return;
  check(!(value && t->inference && !thread_state.inference_mode),
        "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  meta_of(t).requires_grad = value;
  t->requires_grad = value;
}

void set_view(const Tensor& result, const Tensor& base, const char* op, ViewKind kind) {
  auto* base_meta = meta_if(base);
  // Only a base that has, or may get, a history needs to know its views.
  auto& meta = meta_of(result);
  meta.view = std::make_unique<ViewInfo>();
  if (base_meta && base_meta->view) {
    meta.view->base = base_meta->view->base;
    if (base_meta->view->kind != ViewKind::Plain) kind = base_meta->view->kind;
  } else {
    meta.view->base = base;
  }
  meta.view->kind = kind;
  meta.view->version = result.version();
  meta.view->op = op;
}

void check_inplace(const Tensor& self, const char* op) {
  check(!self->inference || thread_state.inference_mode || !grad_enabled(), op,
        ": Inplace update to inference tensor outside InferenceMode is not allowed. You can make a "
        "clone to get a normal tensor before doing inplace update.");
  if (!self->requires_grad && !self->autograd) return;
  auto* meta = meta_if(self);
  if (!grad_enabled()) return;
  if (meta && meta->view) {
    const Tensor& base = meta->view->base;
    if (base->requires_grad && is_leaf(base))
      fail("a view of a leaf Variable that requires grad is being used in an in-place operation (",
           op, "). Use torch.no_grad() around it, or clone() first.");
    if (self->requires_grad && is_leaf(self))
      fail("a leaf Variable that requires grad is being used in an in-place operation (", op,
           "). Use torch.no_grad() around it, or work on a clone().");
    if (meta->view->kind != ViewKind::Plain && (self->requires_grad || base->requires_grad))
      refuse_change(*meta, op);
    return;
  }
  if (self->requires_grad && is_leaf(self))
    fail("a leaf Variable that requires grad is being used in an in-place operation (", op,
         "). Use torch.no_grad() around it, or work on a clone().");
}

void rebase_history(const Tensor& self, const Ref<Node>& node) {
  auto* meta = meta_if(self);
  if (meta && meta->view) {
    const Tensor base = meta->view->base;
    node->add_output(self);
    Ref<Node> slices = make_copy_slices(self, base, node);
    auto& base_meta = meta_of(base);
    const uint32_t base_nr = slices->add_output(base);
    set_grad_fn(base_meta, slices, base_nr);
    base->requires_grad = true;
    set_grad_fn(*meta, make_strided_view_node(self, base), 0);
    self->requires_grad = true;
    meta->view->version = self.version();
    return;
  }
  set_history(self, node);
}

// ---- leaves
// ------------------------------------------------------------------------------------------

AccumulateGrad::AccumulateGrad(const Tensor& v) : variable(v) {
  sequence = UINT64_MAX;  // leaves first: gradients are freed as soon as they are complete
  add_output(v);
}

AccumulateGrad::~AccumulateGrad() {
  if (auto* meta = meta_if(variable)) meta->accumulator = nullptr;
}

void AccumulateGrad::visit_refs(RefVisitor& v) {
  Node::visit_refs(v);
  v.tensor(variable);
}

namespace {
// Whether `g` lies as the gradient of `t` has to: as `t`, or contiguous where `t` has gaps.
bool lies_as(const Tensor& g, const Tensor& t) {
  if (!is_non_overlapping_and_dense(t.sizes(), t.strides())) return g.is_contiguous();
  for (size_t d = 0; d < t.sizes().size(); d++)
    if (t.sizes()[d] != 1 && g.strides()[d] != t.strides()[d]) return false;
  return true;
}
// A copy of `g` that does.
Tensor copy_as(const Tensor& g, const Tensor& t) {
  Tensor own = empty_strided(g.sizes(),
                             is_non_overlapping_and_dense(t.sizes(), t.strides())
                                 ? IntSpan(t.strides())
                                 : IntSpan(contiguous_strides(g.sizes())),
                             g.dtype(), g.device());
  if (!own.is_meta()) copy_kernel(own, g);
  return own;
}
}  // namespace

Grads AccumulateGrad::apply(Grads grads) {
  Tensor g = grads[0];
  if (!g.defined()) return {};
  auto& meta = meta_of(variable);
  grads.clear();
  if (!meta.grad.defined()) {
    bool steal = !grad_enabled() && g->use_count() == 1 && g->storage->use_count() == 1 &&
                 lies_as(g, variable);
    if (grad_enabled() || is_transform(g)) {
      meta.grad = ops::clone(g);
      if (meta.grad->requires_grad) note_possible_cycle(variable);
    } else {
      meta.grad = steal ? g : copy_as(g, variable);
    }
  } else if (grad_enabled() || (is_sparse(meta.grad) && !is_sparse(g))) {
    meta.grad = is_sparse(meta.grad) ? ops::add(g, meta.grad, 1) : ops::add(meta.grad, g, 1);
    if (meta.grad->requires_grad) note_possible_cycle(variable);
  } else {
    ops::add_(meta.grad, g, 1);
  }
  auto after = meta.post_accumulate;
  for (auto& hook : after) hook.call(variable);
  return {};
}

}  // namespace flambeau
