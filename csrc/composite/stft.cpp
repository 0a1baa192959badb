// Short-time Fourier transforms: frames of a signal, and their overlapping sum.
#include "autograd/formulas.h"
#include "core/transform.h"
#include "ops/all.h"

namespace flambeau::ops {
namespace {

// Beginning of a message: the call as the user made it.
template <class... A>
void check_call(bool ok, const char* op, const Tensor& self, int64_t n_fft, int64_t hop,
                int64_t win_length, const A&... parts) {
  if (!ok) [[unlikely]]
    fail(op, "(", self.dtype(), self.sizes(), ", n_fft=", n_fft, ", hop_length=", hop,
         ", win_length=", win_length, "): ", parts...);
}

// A window of win_length in the middle of n_fft numbers; ones where none is given.
Tensor frame_window(const OptTensor& window, int64_t win_length, int64_t n_fft, DType dtype,
                    Device device) {
  if (!window && win_length == n_fft) return Tensor();
  Tensor w = window ? *window : ones(Dims{win_length}, dtype, device);
  const int64_t left = (n_fft - win_length) / 2;
  return win_length == n_fft ? w : constant_pad_nd(w, Dims{left, n_fft - win_length - left}, 0);
}

bool is_complex_window(const OptTensor& window) { return window && window->is_complex(); }

}  // namespace

Tensor stft_uncast(const Tensor& self, int64_t n_fft, std::optional<int64_t> hop_length,
                   std::optional<int64_t> length, const OptTensor& window, bool center,
                   const std::string& pad_mode, bool normalized, std::optional<bool> onesided,
                   std::optional<bool> return_complex, std::optional<bool> align_to_window) {
  const int64_t hop = hop_length.value_or(n_fft / 4), win_length = length.value_or(n_fft);
  auto expect = [&](bool ok, const auto&... parts) {
    check_call(ok, "stft", self, n_fft, hop, win_length, parts...);
  };
  const bool complex = self.is_complex() || is_complex_window(window);
  check(return_complex.has_value() || complex,
        "stft requires the return_complex parameter be given for real inputs, and will further "
        "require that return_complex=True in a future PyTorch release.");
  expect(is_differentiable(self.dtype()), "expected a tensor of floating point or complex values");
  expect(self.dim() == 1 || self.dim() == 2, "expected a 1D or 2D tensor");
  check(!center || !align_to_window.value_or(false),
        "stft align_to_window should only be set when center = false");
  Tensor x = self.dim() == 1 ? unsqueeze(self, 0) : self;
  if (center) {
    const int64_t half = n_fft / 2;
    x = squeeze_dim(pad(unsqueeze(x, 0), Dims{half, half}, pad_mode, std::nullopt), 0);
  }
  int64_t n = x.size(1);
  expect(0 < n_fft && n_fft <= n, "expected 0 < n_fft < ", n, ", but got n_fft=", n_fft);
  expect(hop > 0, "expected hop_length > 0, but got hop_length=", hop);
  expect(0 < win_length && win_length <= n_fft,
         "expected 0 < win_length <= n_fft, but got win_length=", win_length);
  expect(!window || (window->dim() == 1 && window->size(0) == win_length),
         "expected a 1D window tensor of size equal to win_length=", win_length,
         ", but got window with size ", window ? window->sizes() : Dims{});
  const bool half = onesided.value_or(!complex);
  check(!half || !complex, "Cannot have onesided output if window or input is complex");
  if (align_to_window.value_or(false)) {  // the first window, not its frame, begins the signal
    const int64_t left = (n_fft - win_length) / 2;
    x = constant_pad_nd(x, Dims{left, n_fft - win_length - left}, 0);
    n = x.size(1);
  }
  Tensor frames = unfold(x, 1, n_fft, hop);  // batch x frames x n_fft
  const Tensor w = frame_window(window, win_length, n_fft, x.dtype(), x.device());
  if (w.defined()) frames = frames * w;
  Tensor out = complex ? _fft_c2c(frames, Dims{2}, normalized, true)
                       : _fft_r2c(frames, Dims{2}, normalized, half);
  out = transpose(out, 1, 2);
  if (self.dim() == 1) out = squeeze_dim(out, 0);
  return return_complex.value_or(true) ? out : view_as_real(out);
}

Tensor istft(const Tensor& self, int64_t n_fft, std::optional<int64_t> hop_length,
             std::optional<int64_t> win, const OptTensor& window, bool center, bool normalized,
             std::optional<bool> onesided, std::optional<int64_t> length, bool return_complex) {
  const int64_t hop = hop_length.value_or(n_fft / 4), win_length = win.value_or(n_fft);
  auto expect = [&](bool ok, const auto&... parts) {
    check_call(ok, "istft", self, n_fft, hop, win_length, parts...);
  };
  check(self.is_complex(),
        "istft requires a complex-valued input tensor matching the output from stft with "
        "return_complex=True.");
  expect(self.numel() != 0, "input tensor cannot be empty.");
  expect(self.dim() == 2 || self.dim() == 3, "expected a tensor with 2 or 3 dimensions, but got ",
         self.dim());
  const int64_t frames = self.size(-1), bins = self.size(-2),
                total = n_fft + hop * (frames - 1);  // points that frames cover
  const bool half = onesided.value_or(bins != n_fft);
  expect(bins == (half ? n_fft / 2 + 1 : n_fft),
         "expected the frequency dimension (3rd to the last) of the input tensor to match n_fft",
         half ? " / 2 + 1" : "", " when onesided=", half ? "True" : "False", ", but got ", bins);
  expect(0 < hop && hop <= win_length, "expected 0 < hop_length <= win_length");
  expect(0 < win_length && win_length <= n_fft, "expected 0 < win_length <= n_fft");
  expect(!window || (window->dim() == 1 && window->size(0) == win_length),
         "Invalid window shape. window has to be 1D and length of `win_length`");
  check(!half || !return_complex, "Cannot have onesided output if window or input is complex");
  check(return_complex || !is_complex_window(window),
        "Complex windows are incompatible with return_complex=False");
  Tensor w = frame_window(window, win_length, n_fft, real_dtype(self.dtype()), self.device());
  if (!w.defined()) w = ones(Dims{n_fft}, real_dtype(self.dtype()), self.device());

  Tensor x = transpose(self.dim() == 2 ? unsqueeze(self, 0) : self, 1, 2);
  const int64_t divides = normalized ? 1 : 2;
  if (return_complex)
    x = _fft_c2c(x, Dims{2}, divides, false);
  else
    x = _fft_c2r(half ? x : slice(x, 2, 0, n_fft / 2 + 1, 1), Dims{2}, divides, n_fft);
  // frames overlap and add up; so do the squares of their windows
  Tensor y = formulas::unfold_grad(x * w, Dims{x.size(0), total}, 1, n_fft, hop);
  Tensor envelope = formulas::unfold_grad(expand(square(w), Dims{1, frames, n_fft}, false),
                                          Dims{1, total}, 1, n_fft, hop);
  const int64_t start = center ? n_fft / 2 : 0, end = length   ? start + *length
                                                      : center ? total - n_fft / 2
                                                               : total;
  y = slice(y, 1, start, end, 1);
  envelope = slice(envelope, 1, start, end, 1);
  if (has_values(envelope)) {
    NoGrad off;
    expect(item(amin(abs(envelope), Dims{}, false)).to_double() >= 1e-11,
           "window overlap add min: 1: the windows leave points of the signal at zero");
  }
  y = y / envelope;
  if (end > total) y = constant_pad_nd(y, Dims{0, end - total}, 0);
  return self.dim() == 2 ? squeeze_dim(y, 0) : y;
}

}  // namespace flambeau::ops
