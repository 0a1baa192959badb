// OpEntry: what the dispatcher knows of an operator at run time. Generated code defines one per
// operator; a backend or a user's operator fills slots of the same record.
#pragma once
#include <string>

#include "core/boxed.h"
#include "dispatch/state.h"

namespace flambeau {

struct OpEntry {
  const char* name;  // name or name_overload
  const char* schema;
  const char* family;
  // Function pointers of the operator's own C++ type, by device: functional and in-place/out form.
  void* kernel[kNumDeviceTypes] = {};
  void* out_kernel[kNumDeviceTypes] = {};
  OpEntry* next = nullptr;  // list of all entries

  OpEntry(const char* name, const char* schema, const char* family, void* cpu, void* cpu_out);
  template <class F>
  F get(Device d, DType dtype) const {
    void* k = kernel[int(d.type)];
    if (!k) [[unlikely]] {
      missing(d, dtype);
      return BoxedKernel<F>::call;
    }
    return reinterpret_cast<F>(k);
  }
  // Makes the next boxed kernel this operator's; an error for a device that is not served so.
  void missing(Device d, DType dtype) const;
};

OpEntry* first_entry();
OpEntry* find_entry(const std::string& name);

// In-place operators: a 0-d cpu tensor goes with any device, but cannot take values from there.
inline void check_stays(const char* op, const Tensor& self, Device used) {
  if (self.device().type != used.type && used.type != DeviceType::Transform) [[unlikely]]
    fail(op,
         ": Expected all tensors to be on the same device, but the tensor changed in place is on ",
         self.device(), " and an argument on ", used);
}

// The device all arguments share; 0-d cpu tensors go with any. Reports the first that differs.
class DeviceCheck {
 public:
  explicit DeviceCheck(const char* op) : op_(op) {}
  void add(const Tensor& t, const char* argument) {
    if (!t.defined()) return;
    if (!seen_) {
      first_ = &t;
      first_name_ = argument;
      seen_ = true;
    } else if (t->device.type != (*first_).device().type) [[unlikely]] {
      mixed(t, argument);
    } else if (first_->dim() == 0) {
      first_ = &t;  // one with dimensions speaks for the device
      first_name_ = argument;
    }
  }
  void add(const OptTensor& t, const char* argument) {
    if (t) add(*t, argument);
  }
  void add(const Operand& t, const char* argument) {
    if (t.is_tensor()) add(t.tensor(), argument);
  }
  void add(const TensorList& list, const char* argument) {
    for (auto& t : list) add(t, argument);
  }
  void add(const std::vector<OptTensor>& list, const char* argument) {
    for (auto& t : list) add(t, argument);
  }
  // An argument that may be on any device: only a transform's tensor among them decides.
  template <class T>
  void add_any(const T& t, const char* argument) {
    DeviceCheck other(op_);
    other.add(t, argument);
    if (other.device().type == DeviceType::Transform) [[unlikely]]
      *this = other;
  }
  Device device() const { return seen_ ? first_->device() : Device{}; }
  DType dtype() const { return seen_ ? first_->dtype() : DType::Float32; }

 private:
  void mixed(const Tensor& t, const char* argument);
  const char* op_;
  const Tensor* first_ = nullptr;
  const char* first_name_ = "";
  bool seen_ = false;
};

// The device of a factory or of random numbers: inside function transforms these decide.
inline Device made_on(Device d) {
  if (thread_state.transforms && d.type != DeviceType::Transform) [[unlikely]]
    return {DeviceType::Transform, int8_t(d.type)};
  return d;
}

}  // namespace flambeau
