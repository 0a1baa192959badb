// Device, layout and memory format tags.
#pragma once
#include <cstdint>
#include <ostream>
#include <string>

namespace flambeau {

// PrivateUse is the slot that a third party registers under its own name. Transform is no place:
// tensors of function transforms have it (core/transform.h), with the device type of their values
// as index.
// Those behind it are names only, which programs compare with.
// clang-format off
enum class DeviceType : uint8_t {
  CPU, Meta, CUDA, PrivateUse, Transform,
  IPU, XPU, MKLDNN, OpenGL, OpenCL, IDEEP, HIP, VE, FPGA, MAIA, XLA, Lazy, Vulkan, MPS, HPU, MTIA,
};
// clang-format on
constexpr int kNumDeviceTypes = 21;

struct Device {
  DeviceType type = DeviceType::CPU;
  int8_t index = -1;
  bool operator==(const Device& o) const {
    // cpu and cpu:0 are the same place
    return type == o.type &&
           (type == DeviceType::CPU || type == DeviceType::Meta || index == o.index);
  }
};

// The device that a user sees: of a transform's tensor that of its values.
inline Device visible_device(Device d) {
  return d.type == DeviceType::Transform ? Device{DeviceType(d.index)} : d;
}

const char* device_name(DeviceType t);
Device parse_device(const std::string& text);
std::string to_string(Device d);
inline std::ostream& operator<<(std::ostream& out, Device d) { return out << to_string(d); }

enum class Layout : uint8_t { Strided };
enum class MemoryFormat : uint8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
const char* memory_format_name(MemoryFormat m);

}  // namespace flambeau
