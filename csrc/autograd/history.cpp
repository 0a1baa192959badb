#include "autograd/history.h"

#include "ops/all.h"

namespace flambeau {
namespace {

struct Geometry {
  Dims sizes, strides;
  int64_t offset;
  explicit Geometry(const Tensor& t) : sizes(t.sizes()), strides(t.strides()), offset(t.offset()) {}
  // Complex elements as pairs of real ones along a new last axis.
  void split_elements() {
    for (auto& stride : strides) stride *= 2;
    sizes.push_back(2);
    strides.push_back(1);
    offset *= 2;
  }
};

// Where the elements of a view lie among those of its base. One of the two may be complex where the
// other is real (view_as_real, real, imag, view_as_complex): both are then seen as real.
class Placement {
 public:
  Placement(const Tensor& base, const Tensor& view)
      : base_(base),
        view_(view),
        base_complex_(base.is_complex() && !view.is_complex()),
        view_complex_(view.is_complex() && !base.is_complex()) {
    if (base_complex_) base_.split_elements();
    if (view_complex_) view_.split_elements();
  }
  // Of a gradient of the base, the part that is the view's.
  Tensor gather(const Tensor& grad) const {
    Tensor part =
        ops::_strided_gather(base_complex_ ? ops::view_as_real(grad) : grad, base_.sizes,
                             base_.strides, base_.offset, view_.sizes, view_.strides, view_.offset);
    return view_complex_ ? ops::view_as_complex(part) : part;
  }
  // A gradient of the view as one of the base, zero elsewhere.
  Tensor scatter(const Tensor& grad) const {
    Tensor whole = ops::_strided_scatter(view_complex_ ? ops::view_as_real(grad) : grad,
                                         base_.sizes, base_.strides, base_.offset, view_.sizes,
                                         view_.strides, view_.offset);
    return base_complex_ ? ops::view_as_complex(whole) : whole;
  }

 private:
  Geometry base_, view_;
  bool base_complex_, view_complex_;
};

struct StridedViewBackward final : Node {
  Placement placement;
  StridedViewBackward(const Tensor& base, const Tensor& view) : placement(base, view) {}
  const char* own_name() const override { return "AsStridedBackward0"; }
  Grads apply(Grads grads) override {
    if (!grads[0].defined()) return {Tensor()};
    return {placement.scatter(grads[0])};
  }
};

// Gradients: outside the view they pass to the old base; inside they pass through `change`, whose
// first input is the view's old value.
struct CopySlices final : Node {
  Placement placement;
  Ref<Node> change;
  CopySlices(const Tensor& base, const Tensor& view, Ref<Node> c)
      : placement(base, view), change(std::move(c)) {}
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
    Tensor inside = placement.gather(grad);
    Grads passed = change->apply({inside});
    Tensor back = ops::sub(grad, placement.scatter(inside), 1);
    if (!passed.empty() && passed[0].defined())
      back = ops::add(back, placement.scatter(passed[0]), 1);
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
