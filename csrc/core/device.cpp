#include "core/device.h"

#include "core/error.h"

namespace flambeau {

const char* device_name(DeviceType t) {
  switch (t) {
    case DeviceType::Transform:
      return "transform";
    case DeviceType::CPU:
      return "cpu";
    case DeviceType::Meta:
      return "meta";
    case DeviceType::CUDA:
      return "cuda";
    default:
      return "privateuseone";
  }
}

Device parse_device(const std::string& text) {
  auto colon = text.find(':');
  std::string kind = text.substr(0, colon);
  Device d;
  if (kind == "cpu")
    d.type = DeviceType::CPU;
  else if (kind == "meta")
    d.type = DeviceType::Meta;
  else if (kind == "cuda")
    d.type = DeviceType::CUDA;
  else if (kind == "privateuseone")
    d.type = DeviceType::PrivateUse;
  else
    fail("Expected one of cpu, cuda, meta device type at start of device string: ", text);
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
