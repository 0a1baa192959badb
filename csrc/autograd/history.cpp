#include "autograd/history.h"

#include "ops/all.h"

namespace flambeau {
namespace {

struct Geometry {
  Dims sizes, strides;
  int64_t offset;
  explicit Geometry(const Tensor& t) : sizes(t.sizes()), strides(t.strides()), offset(t.offset()) {}
};

struct StridedViewBackward final : Node {
  Geometry base, view;
  StridedViewBackward(const Tensor& b, const Tensor& v) : base(b), view(v) {}
  const char* own_name() const override { return "AsStridedBackward0"; }
  Grads apply(Grads grads) override {
    if (!grads[0].defined()) return {Tensor()};
    return {ops::_strided_scatter(grads[0], base.sizes, base.strides, base.offset, view.sizes,
                                  view.strides, view.offset)};
  }
};

// Gradients: outside the view they pass to the old base; inside they pass through `change`, whose
// first input is the view's old value.
struct CopySlices final : Node {
  Geometry base, view;
  Ref<Node> change;
  CopySlices(const Tensor& b, const Tensor& v, Ref<Node> c)
      : base(b), view(v), change(std::move(c)) {}
  const char* own_name() const override { return "torch::autograd::CopySlices"; }
  void release_saved() override { change->release_saved(); }
  void visit_saved(SavedVisitor& v) override { change->visit_saved(v); }
  void visit_refs(RefVisitor& v) override {
    visit_edges_and_hooks(v);  // what is saved belongs to `change`
    v.node(change);
  }
  Grads apply(Grads grads) override {
    if (!grads[0].defined()) return Grads(edges.size());
    const Tensor& grad = grads[0];
    Tensor inside = ops::_strided_gather(grad, base.sizes, base.strides, base.offset, view.sizes,
                                         view.strides, view.offset);
    Grads passed = change->apply({inside});
    Tensor removed = ops::sub(grad,
                              ops::_strided_scatter(inside, base.sizes, base.strides, base.offset,
                                                    view.sizes, view.strides, view.offset),
                              1);
    Tensor first = passed.empty() ? Tensor() : passed[0];
    Tensor back = removed;
    if (first.defined())
      back = ops::add(removed,
                      ops::_strided_scatter(first, base.sizes, base.strides, base.offset,
                                            view.sizes, view.strides, view.offset),
                      1);
    Grads out;
    out.push_back(back);
    for (size_t i = 1; i < passed.size(); i++) out.push_back(passed[i]);
    out.resize(edges.size());
    return out;
  }
};

}  // namespace

Ref<Node> make_strided_view_node(const Tensor& view, const Tensor& base) {
  auto node = make_ref<StridedViewBackward>(base, view);
  node->edges.push_back(gradient_edge(base));
  node->add_output(view);
  return node;
}

Ref<Node> make_copy_slices(const Tensor& view, const Tensor& base, const Ref<Node>& change) {
  auto node = make_ref<CopySlices>(base, view, change);
  node->edges = change->edges;
  if (node->edges.empty()) node->edges.emplace_back();
  // the view's old value came from the base
  node->edges[0] = base->requires_grad ? gradient_edge(base) : Edge{};
  if (!change->edges.empty()) change->edges[0] = node->edges[0];
  return node;
}

}  // namespace flambeau
