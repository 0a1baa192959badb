#include "core/device.h"

#include "core/absent.h"

namespace flambeau {

namespace {
const char* const kNames[kNumDeviceTypes] = {
    "cpu",    "meta",   "cuda",   "privateuseone", "transform", "ipu", "xpu",
    "mkldnn", "opengl", "opencl", "ideep",         "hip",       "ve",  "fpga",
    "maia",   "xla",    "lazy",   "vulkan",        "mps",       "hpu", "mtia"};
}  // namespace

const char* device_name(DeviceType t) { return kNames[int(t)]; }

Device parse_device(const std::string& text) {
  auto colon = text.find(':');
  std::string kind = text.substr(0, colon);
  Device d;
  int type = 0;
  while (type < kNumDeviceTypes && kind != kNames[type]) type++;
  check(type < kNumDeviceTypes && DeviceType(type) != DeviceType::Transform,
        "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, "
        "xla, lazy, vulkan, mps, meta, hpu, mtia, privateuseone device type at start of device "
        "string: ",
        kind);
  d.type = DeviceType(type);
  if (colon != std::string::npos) {
    std::string number = text.substr(colon + 1);
    bool digits = !number.empty() && number.size() <= 2 &&
                  number.find_first_not_of("0123456789") == std::string::npos;
    check(digits, "Invalid device string: '", text, "'");
    d.index = int8_t(std::stoi(number));
  }
  return d;
}

std::string to_string(Device d) {
  d = visible_device(d);
  std::string out = device_name(d.type);
  if (d.index >= 0) out += ":" + std::to_string(d.index);
  return out;
}

void require_module(DeviceType t) {
  if (t == DeviceType::CUDA) fail<AssertionError>("Torch not compiled with CUDA enabled");
  if (t == DeviceType::XPU) fail<AssertionError>("Torch not compiled with XPU enabled");
  if (t == DeviceType::MTIA)
    fail<AssertionError>(
        "Torch not compiled with MTIA enabled. Ensure you have `import "
        "mtia.host_runtime.torch_mtia.dynamic_library` in your python src file and include "
        "`//mtia/host_runtime/torch_mtia:torch_mtia` as your target dependency!");
  if (t == DeviceType::HPU) fail<ModuleNotFoundError>("No module named 'torch.hpu'");
}

void fail_move(DeviceType t) {
  require_module(t);
  fail("PyTorch is not linked with support for ", device_name(t),
       " devices: this build has cpu and meta");
}

const char* memory_format_name(MemoryFormat m) {
  switch (m) {
    case MemoryFormat::Contiguous:
      return "contiguous_format";
    case MemoryFormat::Preserve:
      return "preserve_format";
    case MemoryFormat::ChannelsLast:
      return "channels_last";
    default:
      return "channels_last_3d";
  }
}

}  // namespace flambeau
