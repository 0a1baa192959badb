#include "kernels/pointwise_boxed.h"

namespace flambeau {

void run_boxed_out(const PointwiseOp& op, const Tensor& out, std::initializer_list<Input> inputs,
                   std::initializer_list<Scalar> params, bool inplace) {
  std::vector<Boxed> args;
  if (!inplace) args.push_back({&out, BoxKind::Tensor});
  for (const Input& in : inputs)
    args.push_back(in.tensor ? Boxed{in.tensor, BoxKind::Tensor}
                             : Boxed{in.scalar, BoxKind::Scalar});
  for (const Scalar& s : params) args.push_back({&s, BoxKind::Scalar});
  const std::string name = std::string(op.name) + (inplace ? "_" : "_out");
  Tensor result;
  boxed_hook(name.c_str(), args.data(), args.size(), &result, BoxKind::Tensor, 1);
}

}  // namespace flambeau
