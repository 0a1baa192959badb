#include "dispatch/entry.h"

#include "core/absent.h"

namespace flambeau {

constinit thread_local ThreadState thread_state;

static OpEntry*& list_head() {
  static OpEntry* head = nullptr;
  return head;
}

OpEntry::OpEntry(const char* name, const char* schema, const char* family, void* cpu, void* cpu_out)
    : name(name), schema(schema), family(family), next(list_head()) {
  for (auto d : {DeviceType::CPU, DeviceType::Meta}) {
    kernel[int(d)] = cpu;  // the same function: on meta it allocates the result and returns
    out_kernel[int(d)] = cpu_out;
  }
  list_head() = this;
}

void OpEntry::missing(Device d, DType dtype) const {
  // an operator without a kernel of its own on the cpu is carried out by the hook everywhere
  const bool everywhere =
      !kernel[int(DeviceType::CPU)] && (d.type == DeviceType::CPU || d.type == DeviceType::Meta);
  if ((d.type == DeviceType::Transform || everywhere) && boxed_hook) {
    boxed_name = name;
    boxed_device = d.type;
    return;
  }
  require_module(d.type);
  fail<NotImplementedError>("Could not run '", name, "' with arguments on the device '",
                            device_name(d.type), "' (dtype ", info(dtype).name,
                            "): no kernel is registered for it. Move the tensors to a device that "
                            "has one (cpu), or register a kernel for '",
                            device_name(d.type), "'");
}

OpEntry* first_entry() { return list_head(); }

OpEntry* find_entry(const std::string& name) {
  for (OpEntry* e = list_head(); e; e = e->next)
    if (name == e->name) return e;
  return nullptr;
}

void DeviceCheck::mixed(const Tensor& t, const char* argument) {
  if (first_->device().type == DeviceType::Transform) return;
  if (t.device().type == DeviceType::Transform) {
    first_ = &t;
    first_name_ = argument;
    return;
  }
  const bool scalar = t.dim() == 0 && t.device().type == DeviceType::CPU;
  if (scalar) return;
  if (first_->dim() == 0 && first_->device().type == DeviceType::CPU) {
    first_ = &t;
    first_name_ = argument;
    return;
  }
  fail(op_, ": Expected all tensors to be on the same device, but found at least two devices, ",
       first_->device(), " (argument '", first_name_, "') and ", t.device(), " (argument '",
       argument, "')!");
}

}  // namespace flambeau
