// Nodes that in-place changes of views need. Internal to autograd/.
#pragma once
#include "autograd/node.h"

namespace flambeau {

// "The elements of `base` that `view` shows", as a node.
Ref<Node> make_strided_view_node(const Tensor& view, const Tensor& base);
// "`base`, with the elements that `view` shows replaced by the result of `change`".
Ref<Node> make_copy_slices(const Tensor& view, const Tensor& base, const Ref<Node>& change);

}  // namespace flambeau
