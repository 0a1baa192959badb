// Devices that have a name but no kernels in this build.
#pragma once
#include "core/device.h"
#include "core/error.h"

namespace flambeau {

struct AssertionError : Error {
  using Error::Error;
};
struct ModuleNotFoundError : Error {
  using Error::Error;
};

// Raises PyTorch's error for the device types that it loads a module for, and returns for others:
// what is missing there depends on the call.
void require_module(DeviceType t);
// A tensor is to move to the device.
[[noreturn]] void fail_move(DeviceType t);

}  // namespace flambeau
