// Calls of operators with boxed arguments: a kernel of any type seen as a list of pointers with
// tags. A device type without kernels of its own (function transforms) is served so, by one hook.
#pragma once
#include <string>
#include <tuple>
#include <vector>

#include "core/tensor.h"

namespace flambeau {

class Generator;

enum class BoxKind : uint8_t {
  None,
  Tensor,
  OptTensor,
  TensorList,
  OptTensorList,
  Operand,
  Scalar,
  OptScalar,
  Int,
  OptInt,
  Ints,
  OptInts,
  Float,
  OptFloat,
  Bool,
  OptBool,
  Str,
  OptStr,
  DType,
  OptDType,
  OptDevice,
  OptMemoryFormat,
  Generator,
};

template <class T>
constexpr BoxKind kBoxKind = BoxKind::None;
#define FLAMBEAU_BOX(TYPE, KIND) \
  template <>                    \
  inline constexpr BoxKind kBoxKind<TYPE> = BoxKind::KIND
FLAMBEAU_BOX(Tensor, Tensor);
FLAMBEAU_BOX(OptTensor, OptTensor);
FLAMBEAU_BOX(TensorList, TensorList);
FLAMBEAU_BOX(std::vector<OptTensor>, OptTensorList);
FLAMBEAU_BOX(Operand, Operand);
FLAMBEAU_BOX(Scalar, Scalar);
FLAMBEAU_BOX(std::optional<Scalar>, OptScalar);
FLAMBEAU_BOX(int64_t, Int);
FLAMBEAU_BOX(std::optional<int64_t>, OptInt);
FLAMBEAU_BOX(Dims, Ints);
FLAMBEAU_BOX(std::optional<Dims>, OptInts);
FLAMBEAU_BOX(double, Float);
FLAMBEAU_BOX(std::optional<double>, OptFloat);
FLAMBEAU_BOX(bool, Bool);
FLAMBEAU_BOX(std::optional<bool>, OptBool);
FLAMBEAU_BOX(std::string, Str);
FLAMBEAU_BOX(std::optional<std::string>, OptStr);
FLAMBEAU_BOX(DType, DType);
FLAMBEAU_BOX(std::optional<DType>, OptDType);
FLAMBEAU_BOX(std::optional<Device>, OptDevice);
FLAMBEAU_BOX(std::optional<MemoryFormat>, OptMemoryFormat);
FLAMBEAU_BOX(Generator*, Generator);
#undef FLAMBEAU_BOX

struct Boxed {
  const void* at;
  BoxKind kind;
};

// Runs operator `name` on the arguments and fills the result: `count` values of `kind` from
// `result` on (several only of Tensor).
using BoxedHook = void (*)(const char* name, const Boxed* args, size_t n, void* result,
                           BoxKind kind, size_t count);
extern BoxedHook boxed_hook;
// The operator whose kernel was asked for last: read by the boxed kernel as it starts.
extern constinit thread_local const char* boxed_name;
// The device type that it was asked for.
extern constinit thread_local DeviceType boxed_device;

// A function of a kernel's type that passes the call on to the hook.
template <class F>
struct BoxedKernel;
template <class R, class... A>
struct BoxedKernel<R (*)(A...)> {
  static R call(A... a) {
    const Boxed args[] = {{&a, kBoxKind<std::decay_t<A>>}..., {nullptr, BoxKind::None}};
    if constexpr (std::is_void_v<R>) {
      boxed_hook(boxed_name, args, sizeof...(A), nullptr, BoxKind::None, 0);
    } else if constexpr (kBoxKind<R> == BoxKind::None) {
      Tensor results[std::tuple_size_v<R>];
      boxed_hook(boxed_name, args, sizeof...(A), results, BoxKind::Tensor, std::tuple_size_v<R>);
      return std::apply([&](auto... i) { return R{std::move(results[i])...}; },
                        indices(std::make_index_sequence<std::tuple_size_v<R>>()));
    } else {
      R result{};
      boxed_hook(boxed_name, args, sizeof...(A), &result, kBoxKind<R>, 1);
      return result;
    }
  }

 private:
  template <size_t... I>
  static constexpr auto indices(std::index_sequence<I...>) {
    return std::tuple(I...);
  }
};

}  // namespace flambeau
