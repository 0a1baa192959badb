#include "autograd/engine.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <queue>

#include "core/transform.h"
#include "kernels/pointwise.h"
#include "ops/all.h"

namespace flambeau {
namespace {

thread_local std::vector<std::function<void()>>* callbacks = nullptr;

// Brings a gradient into the shape and dtype of what it belongs to: undoes broadcasting, drops an
// imaginary part, converts.
Tensor fit(Tensor g, const OutputMeta& want, const Node& node, size_t index) {
  if (!g.defined()) return g;
  if (visible_device(g.device()) != visible_device(want.device)) [[unlikely]]
    check(g.dim() == 0 || want.sizes.size() == 0, "Function ", node.name(),
          " returned an invalid gradient at index ", index, " - expected device ", want.device,
          " but got ", g.device());
  if (!equal(g.sizes(), want.sizes)) {
    bool fits = g.sizes().size() >= want.sizes.size();
    size_t lead = fits ? g.sizes().size() - want.sizes.size() : 0;
    for (size_t i = 0; fits && i < want.sizes.size(); i++)
      fits = want.sizes[i] == g.sizes()[lead + i] || want.sizes[i] == 1;
    check(fits, "Function ", node.name(), " returned an invalid gradient at index ", index,
          " - got ", g.sizes(), " but expected shape compatible with ", want.sizes);
    g = ops::sum_to_size(g, want.sizes);
  }
  if (g.dtype() != want.dtype) {
    if (g.is_complex() && !is_complex(want.dtype)) g = ops::real(g);
    if (g.dtype() != want.dtype) g = ops::_to_dtype(g, want.dtype);
  }
  return g;
}

int64_t element_count(const Dims& sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

bool has_nan(const Tensor& t) {
  if (t.is_meta() || !is_differentiable(t.dtype())) return false;
  NoGrad off;
  return ops::item(ops::any(ops::isnan(t))).to_bool();
}

// In anomaly mode: no result may be NaN, and what fails says where it was made.
struct Watched {
  Node& node;
  bool on = anomaly_mode.on.load(std::memory_order_relaxed);
  template <class F>
  Grads run(F&& f) {
    if (!on) return f();
    try {
      Grads results = f();
      if (anomaly_mode.check_nan.load(std::memory_order_relaxed))
        for (size_t i = 0; i < results.size(); i++)
          check(!results[i].defined() || !has_nan(results[i]), "Function '", node.name(),
                "' returned nan values in its ", i, "th output", describe_call_site(node.site),
                ".");
      return results;
    } catch (...) {
      anomaly_mode.report(node);
      throw;
    }
  }
};

void accumulate(Tensor& slot, Tensor g) {
  if (!g.defined()) return;
  if (!slot.defined())
    slot = std::move(g);
  else if (is_sparse(slot) && !is_sparse(g)) [[unlikely]]
    slot = ops::add(g, slot, 1);
  else
    slot = ops::add(slot, g, 1);
}

// What one run knows of a node.
struct State {
  Node* node;
  Grads buffer;              // gradients of its outputs that have arrived
  int64_t dependencies = 0;  // edges to it whose node has not run
  bool queued = false;
  bool needed = false;    // leads to one of the inputs that were asked for
  bool captured = false;  // is one of them
};

// The states of the nodes of a run, found by node: open addressing over a dense list.
class StateTable {
 public:
  StateTable() : slots_(kFirst, 0) { states_.reserve(kFirst / 2); }

  // Position of the node's state, and whether it is new.
  std::pair<uint32_t, bool> insert(Node* node) {
    if ((states_.size() + 1) * 2 > slots_.size()) grow();
    uint32_t& slot = slots_[find_slot(node)];
    if (slot) return {slot - 1, false};
    states_.push_back({node, {}});
    slot = uint32_t(states_.size());
    return {slot - 1, true};
  }
  State& operator[](uint32_t i) { return states_[i]; }
  bool contains(const Node* node) const { return slots_[find_slot(node)] != 0; }
  State& of(const Node* node) { return states_[slots_[find_slot(node)] - 1]; }
  auto begin() { return states_.begin(); }
  auto end() { return states_.end(); }

 private:
  static constexpr size_t kFirst = 64;

  size_t find_slot(const Node* node) const {
    const size_t mask = slots_.size() - 1;
    const uint64_t hash = uint64_t(reinterpret_cast<uintptr_t>(node)) * 0x9E3779B97F4A7C15u;
    size_t at = size_t(hash >> (64 - std::countr_zero(slots_.size())));
    while (slots_[at] && states_[slots_[at] - 1].node != node) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    slots_.assign(slots_.size() * 4, 0);
    for (uint32_t i = 0; i < states_.size(); i++) slots_[find_slot(states_[i].node)] = i + 1;
  }

  std::vector<State> states_;
  std::vector<uint32_t> slots_;  // 1 + position, 0 when free
};

struct Task {
  Node* node;
  bool operator<(const Task& o) const { return node->sequence < o.node->sequence; }
};

std::atomic<uint64_t> run_ids{1};

class Backward {
 public:
  Backward(const BackwardOptions& options) : options_(options) {}
  static constinit thread_local Backward* current;

  uint64_t id() const { return id_; }
  bool selective() const { return selective_; }
  bool reaches(const Node* node) {
    return states_.contains(node) && (!selective_ || states_.of(node).needed);
  }

  Grads run(const std::vector<Target>& roots, const Grads& root_grads,
            const std::vector<Target>& inputs) {
    std::vector<Edge> root_edges = start(roots, root_grads);
    count_dependencies();
    if (!inputs.empty()) select(inputs);
    Scoped<uint8_t> grad_mode(thread_state.grad_mode, options_.create_graph ? kGradOn : kGradOff);
    Scoped<Backward*> running(current, this);
    std::priority_queue<Task> ready;
    for (auto& e : root_edges) enqueue(states_.of(e.node.get()), ready);
    while (!ready.empty()) {
      Ref<Node> node(ready.top().node);
      ready.pop();
      step(node, ready);
    }
    return finish(inputs);
  }

 private:
  struct Capture {
    Node* node;
    uint32_t input_nr;
    Tensor grad;
  };

  std::vector<Edge> start(const std::vector<Target>& roots, const Grads& root_grads) {
    std::vector<Edge> edges;
    for (size_t i = 0; i < roots.size(); i++) {
      const Tensor& root = roots[i].tensor;
      if (root.defined())
        check(wants_grad(root), "element ", i,
              " of tensors does not require grad and does not have a grad_fn. Hint: is an input's "
              "requires_grad set, and was it computed outside of no_grad() and detach()?");
      Edge e = root.defined() ? gradient_edge(root) : roots[i].edge;
      Tensor g = i < root_grads.size() ? root_grads[i] : Tensor();
      if (!root.defined()) {
        const OutputMeta& want = e.node->outputs[e.input_nr];
        if (!g.defined()) {
          check(element_count(want.sizes) == 1,
                "grad can be implicitly created only for scalar outputs, got shape ", want.sizes);
          g = empty(want.sizes, want.dtype, want.device);
          fill_kernel(g, 1);
        }
        check(equal(g.sizes(), want.sizes), "Mismatch in shape: grad_output[", i,
              "] has a shape of ", g.sizes(), " and output[", i, "] has a shape of ", want.sizes,
              ".");
      } else if (!g.defined()) {
        check(root.numel() == 1,
              "grad can be implicitly created only for scalar outputs, got shape ", root.sizes(),
              ". Hint: pass `gradient`, or reduce it first, as with .sum()");
        check(is_differentiable(root.dtype()) && !root.is_complex(),
              "grad can be implicitly created only for real scalar outputs but got ", root.dtype());
        g = ops::ones_like(detach(root), {}, {});
      } else {
        check(equal(g.sizes(), root.sizes()), "Mismatch in shape: grad_output[", i,
              "] has a shape of ", g.sizes(), " and output[", i, "] has a shape of ", root.sizes(),
              ".");
        check(g.is_complex() == root.is_complex(),
              "For complex Tensors, both grad_output and output are "
              "required to have the same dtype. Mismatch in dtype: grad_output[",
              i, "] has a dtype of ", g.dtype(), " and output[", i, "] has a dtype of ",
              root.dtype(), ".");
      }
      states_.insert(e.node.get());
      auto& buffer = buffer_of(e.node.get());
      if (!options_.create_graph && g->requires_grad) g = detach(g);
      accumulate(buffer[e.input_nr], fit(g, e.node->outputs[e.input_nr], *e.node, i));
      keep_.push_back(e.node);
      edges.push_back(std::move(e));
    }
    return edges;
  }

  // Finds every node that the roots lead to.
  void count_dependencies() {
    std::vector<Node*> stack;
    for (auto& state : states_) stack.push_back(state.node);
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      for (auto& e : node->edges) {
        if (!e) continue;
        auto [at, is_new] = states_.insert(e.node.get());
        states_[at].dependencies++;
        if (is_new) stack.push_back(e.node.get());
      }
    }
  }

  static void enqueue(State& state, std::priority_queue<Task>& ready) {
    if (state.dependencies || state.queued) return;
    state.queued = true;
    ready.push({state.node});
  }

  // Only nodes on a path to one of `inputs` run.
  void select(const std::vector<Target>& inputs) {
    for (auto& t : inputs) {
      Edge e = t.tensor.defined() ? gradient_edge(t.tensor) : t.edge;
      check(bool(e), "One of the differentiated Tensors does not require grad");
      captures_.push_back({e.node.get(), e.input_nr, {}});
      keep_.push_back(e.node);
      State& state = states_[states_.insert(e.node.get()).first];
      state.needed = state.captured = true;
    }
    // From the inputs on: an accumulator has the largest sequence, other nodes come after those
    // they lead to. Only a graph changed by in-place operations needs a second pass.
    std::vector<Node*> by_age;
    for (auto& state : states_) by_age.push_back(state.node);
    std::sort(by_age.begin(), by_age.end(),
              [](Node* a, Node* b) { return a->sequence + 1 < b->sequence + 1; });
    for (bool changed = true; changed;) {
      changed = false;
      for (Node* node : by_age) {
        State& state = states_.of(node);
        if (state.needed) continue;
        for (auto& e : node->edges)
          if (e && states_.of(e.node.get()).needed) {
            state.needed = changed = true;
            break;
          }
      }
    }
    selective_ = true;
  }

  Grads& buffer_of(Node* node) {
    Grads& buffer = states_.of(node).buffer;
    if (buffer.size() < node->outputs.size()) buffer.resize(node->outputs.size());
    return buffer;
  }

  bool runs(const State& state) {
    if (!selective_) return true;
    if (!state.needed) return false;
    if (!state.captured) return true;
    // a captured node itself runs only when it leads to another captured one, or accumulates
    if (options_.accumulate && state.node->edges.empty()) return true;
    for (auto& e : state.node->edges)
      if (e && states_.of(e.node.get()).needed) return true;
    return false;
  }

  Grads run_hooks(Node& node, Grads grads) {
    if (node.edges.empty()) grads = leaf_hooks(node, std::move(grads));
    if (!node.hooks) return grads;
    auto copy = *node.hooks;  // a hook may remove itself
    for (auto& hook : copy.tensor) {
      Tensor& g = grads[hook.input_nr];
      if (!g.defined()) continue;
      if (Tensor changed = hook.call(g); changed.defined()) g = changed;
    }
    for (auto& hook : copy.retain)
      if (grads[hook.input_nr].defined()) hook.call(grads[hook.input_nr]);
    for (auto& hook : copy.pre) {
      grads = hook.call(std::move(grads));
      check(grads.size() == node.outputs.size(), "a prehook of ", node.name(), " returned ",
            grads.size(), " gradients, expected ", node.outputs.size());
      for (size_t i = 0; i < grads.size(); i++)
        grads[i] = fit(std::move(grads[i]), node.outputs[i], node, i);
    }
    return grads;
  }

  void step(const Ref<Node>& node, std::priority_queue<Task>& ready) {
    State& state = states_.of(node.get());
    Grads grads = std::move(buffer_of(node.get()));
    bool any = false;
    for (auto& g : grads) any |= g.defined();
    Grads results;
    if (any && (!selective_ || state.needed)) {
      const bool leaf = node->edges.empty();
      if (!(leaf && selective_ && !options_.accumulate))
        grads = run_hooks(*node, std::move(grads));
      else
        grads = leaf_hooks(*node, std::move(grads));
      if (state.captured) capture(node.get(), grads);
      if (runs(state)) {
        Grads kept = node->hooks && !node->hooks->post.empty() ? grads : Grads();
        Scoped<Node*> running(running_node, node.get());
        results = Watched{*node}.run([&] { return node->apply(std::move(grads)); });
        if (!options_.retain_graph) node->release_saved();
        if (node->hooks && !node->hooks->post.empty()) {
          // hooks see gradients in their inputs' shapes
          for (size_t i = 0; i < std::min(results.size(), node->edges.size()); i++)
            if (const Edge& e = node->edges[i]; e && results[i].defined())
              results[i] = fit(std::move(results[i]), e.node->outputs[e.input_nr], *node, i);
          auto post = node->hooks->post;
          for (auto& hook : post) results = hook.call(std::move(results), kept);
        }
      }
    }
    for (size_t i = 0; i < node->edges.size(); i++) {
      const Edge& e = node->edges[i];
      if (!e) continue;
      Node* next = e.node.get();
      if (i < results.size() && results[i].defined()) {
        auto& buffer = buffer_of(next);
        Tensor g = fit(std::move(results[i]), next->outputs[e.input_nr], *node, i);
        // only leaves among dense tensors keep sparse gradients
        if (is_transform(g) && !next->edges.empty() && is_sparse(g) &&
            next->outputs[e.input_nr].device.type != DeviceType::Transform) [[unlikely]]
          g = ops::to_dense(g, std::nullopt);
        accumulate(buffer[e.input_nr], std::move(g));
      }
      State& following = states_.of(next);
      following.dependencies--;
      enqueue(following, ready);
    }
  }

  // Hooks of a leaf live in its tensor; autograd.grad runs them as backward does.
  Grads leaf_hooks(Node& node, Grads grads) {
    auto* leaf = dynamic_cast<AccumulateGrad*>(&node);
    if (!leaf || !grads[0].defined()) return grads;
    auto& meta = meta_of(leaf->variable);
    if (meta.hooks.empty()) return grads;
    auto hooks = meta.hooks;  // a hook may remove itself
    for (auto& hook : hooks)
      if (Tensor changed = hook.call(grads[0]); changed.defined()) grads[0] = changed;
    return grads;
  }

  void capture(Node* node, const Grads& grads) {
    for (size_t i = 0; i < captures_.size(); i++)
      if (captures_[i].node == node) captures_[i].grad = grads[captures_[i].input_nr];
  }

  Grads finish(const std::vector<Target>& inputs) {
    Grads out;
    for (size_t i = 0; i < inputs.size(); i++) {
      if (options_.accumulate && captures_[i].node->edges.empty()) {
        out.emplace_back();
        continue;
      }
      const Tensor& g = captures_[i].grad;
      check(g.defined() || options_.allow_unused, "The differentiated Tensor at index ", i,
            " appears to not have been used in the graph. Set allow_unused=True if this is the "
            "desired behavior.");
      out.push_back(g);
    }
    return out;
  }

  BackwardOptions options_;
  const uint64_t id_ = run_ids.fetch_add(1);
  StateTable states_;
  std::vector<Capture> captures_;  // by input
  std::vector<Ref<Node>> keep_;
  bool selective_ = false;
};

constinit thread_local Backward* Backward::current = nullptr;

}  // namespace

uint64_t backward_id() { return Backward::current ? Backward::current->id() : 0; }
bool backward_is_selective() { return Backward::current && Backward::current->selective(); }
bool backward_reaches(const Node* node) {
  return Backward::current && Backward::current->reaches(node);
}

void queue_callback(std::function<void()> call) {
  check(callbacks != nullptr, "Final callbacks can only be installed during backward pass.");
  callbacks->push_back(std::move(call));
}

Grads run_backward(const TensorList& roots, const Grads& root_grads, const TensorList& inputs,
                   const BackwardOptions& options) {
  std::vector<Target> from, to;
  for (auto& t : roots) from.push_back({t, {}});
  for (auto& t : inputs) to.push_back({t, {}});
  return run_backward(from, root_grads, to, options);
}

Grads run_backward(const std::vector<Target>& roots, const Grads& root_grads,
                   const std::vector<Target>& inputs, const BackwardOptions& options) {
  std::vector<std::function<void()>> pending;
  Scoped<std::vector<std::function<void()>>*> scope(callbacks, callbacks ? callbacks : &pending);
  Grads out = Backward(options).run(roots, root_grads, inputs);
  for (size_t i = 0; i < pending.size(); i++) pending[i]();
  return out;
}

}  // namespace flambeau
