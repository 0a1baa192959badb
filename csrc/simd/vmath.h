// The vector math: scalar, branch-free expressions that the compiler vectorizes inside plain loops.
#pragma once
#include "simd/vmath_activation.h"
#include "simd/vmath_array.h"
#include "simd/vmath_basic.h"
#include "simd/vmath_erf.h"
#include "simd/vmath_exp.h"
#include "simd/vmath_int.h"
#include "simd/vmath_special.h"
#include "simd/vmath_trig.h"
