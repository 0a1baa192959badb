"""Discrete Fourier transforms and short-time transforms."""

from __future__ import annotations

from .samples import T
from .table import FACTORY, composite, decomp, native, op

# ---- kernels: `dim` is transformed along, the last of a real transform's being the halved one;
# `normalization` divides by nothing (0), the root of the number of points (1), the number (2).
op(
    "_fft_c2c(Tensor self, int[] dim, int normalization, bool forward) -> Tensor",
    kernel=native,
    grad={"self": "_fft_c2c(grad, dim, normalization, not forward)"},
    forms="",
    tags="internal",
)
op(
    "_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
    kernel=native,
    grad={"self": "fft_r2c_grad(grad, self.shape, dim, normalization, onesided)"},
    forms="",
    tags="internal",
    samples=[
        (T(2, 6), (1,), 0, True),
        (T(5, 2), (0,), 1, True),
        (T(3, 4), (0, 1), 2, False),
    ],
)
op(
    "_fft_c2r(Tensor self, int[] dim, int normalization, int last_dim_size) -> Tensor",
    kernel=native,
    grad={"self": "fft_c2r_grad(grad, dim, normalization)"},
    forms="",
    tags="internal",
)

_ONE = "int? n=None, int dim=-1, str? norm=None"
_TWO = "int[]? s=None, int[] dim=(-2,-1), str? norm=None"
_MANY = "int[]? s=None, int[]? dim=None, str? norm=None"

# Each: what it does, and what the arguments leave open. The two-dimensional forms are the
# n-dimensional ones with other defaults.
for _name, _doc in {
    "fft": "Discrete Fourier transform",
    "ifft": "Inverse of `fft.fft`",
    "rfft": "The non-negative frequencies of the Fourier transform of real numbers",
    "irfft": "Inverse of `fft.rfft`",
    "hfft": "Fourier transform, real, of a signal whose other half is its conjugate",
    "ihfft": "Inverse of `fft.hfft`",
}.items():
    op(
        f"fft_{_name}(Tensor self, {_ONE}) -> Tensor",
        kernel=composite,
        samples=[
            (T(5),),
            (T(2, 4), 6, 0),
            (T(3, 6), 4, -1, "ortho"),
            (T(2, 3), None, 1, "forward"),
        ],
        forms="out",
        alias=f"fft.{_name}",
        tags="autocast:fp32",
        doc=f"{_doc}, along one dimension. ``n`` cuts the signal or pads it with zeros; ``norm``"
        ' says which direction divides by the number of points: "backward" (the inverse one),'
        ' "forward", or "ortho" (each by its root).',
    )
    for _suffix, _arguments in (("2", _TWO), ("n", _MANY)):
        op(
            f"fft_{_name}{_suffix}(Tensor self, {_arguments}) -> Tensor",
            kernel=composite if _suffix == "n" else decomp(f"fft_{_name}n(self, s, dim, norm)"),
            samples=[(T(3, 4),), (T(2, 3, 4), (2, 6)), (T(3, 2, 4), None, (0, 2), "ortho")],
            forms="out",
            alias=f"fft.{_name}{_suffix}",
            tags="" if "hfft" in _name else "autocast:fp32",
            doc=f"{_doc}, along {'two' if _suffix == '2' else 'several'} dimensions; ``s`` are their sizes"
            " (the last one that of the real signal). See `fft.fft` for ``norm``.",
        )
for _name, _doc in {
    "fftfreq": "Frequencies that the results of `fft.fft` belong to, for ``n`` points at distance ``d``.",
    "rfftfreq": "Frequencies that the results of `fft.rfft` belong to, for ``n`` points at distance ``d``.",
}.items():
    op(
        f"fft_{_name}(int n, float d=1.0, {FACTORY}) -> Tensor",
        kernel=native,
        forms="out",
        alias=f"fft.{_name}",
        doc=_doc,
        example=f">>> flambeau.fft.{_name}(4, 0.5)",
    )
for _name, _doc in {
    "fftshift": "Frequencies in the order of their size: that of zero comes to the middle.",
    "ifftshift": "Inverse of `fft.fftshift`.",
}.items():
    op(
        f"fft_{_name}(Tensor self, int[]? dim=None) -> Tensor",
        kernel=composite,
        samples=[(T(5),), (T(3, 4),), (T(3, 4), 1), (T(),)],
        forms="",
        alias=f"fft.{_name}",
        doc=_doc,
    )

# ---- short-time transforms
op(
    "stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None,"
    " bool center=True, str pad_mode='reflect', bool normalized=False, bool? onesided=None,"
    " bool? return_complex=None, bool? align_to_window=None) -> Tensor",
    kernel=composite,
    samples=[
        (T(12), 4, None, None, T(4), True, "reflect", False, None, True),
        (T(2, 9), 4, 2, 3, T(3), False, "reflect", True, False, True),
    ],
    forms="function method",
    tags="autocast:fp32",
    doc="Fourier transforms of overlapping frames, ``hop_length`` (a quarter of ``n_fft``) apart: frequencies"
    " by frames. Each frame is multiplied by ``window``, which is centred in it; with ``center`` the signal"
    " is padded so that frame t is centred at ``t * hop_length``.",
)
op(
    "istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None,"
    " bool center=True, bool normalized=False, bool? onesided=None, int? length=None,"
    " bool return_complex=False) -> Tensor",
    kernel=composite,
    forms="function method",
    doc="The signal of which `stft` gives these frames, or the one nearest to them: frames are added up and"
    " divided by the sum of the squared windows.",
    example="""
        >>> window = flambeau.hann_window(4)
        >>> frames = flambeau.stft(flambeau.arange(8.0), 4, window=window, return_complex=True)
        >>> flambeau.istft(frames, 4, window=window)
    """,
)

# ---- windows
_N = "int window_length, bool periodic=True"
for _name, _more, _doc in (
    ("hann", "", "``sin(pi * n / N) ** 2``"),
    ("hamming", ", float alpha=0.54, float beta=0.46", "``alpha - beta * cos(2 * pi * n / N)``"),
    (
        "blackman",
        "",
        "``0.42 - 0.5 * cos(2 * pi * n / N) + 0.08 * cos(4 * pi * n / N)``",
    ),
    ("bartlett", "", "``1 - |2 * n / N - 1|``, a triangle"),
    (
        "kaiser",
        ", float beta=12.0",
        "``i0(beta * sqrt(1 - (2 * n / N - 1) ** 2)) / i0(beta)``",
    ),
):
    op(
        f"{_name}_window({_N}{_more}, {FACTORY}) -> Tensor",
        kernel=native,
        forms="function out",
        doc=f"{_doc}, where N is ``window_length``, or one less without ``periodic``.",
        example=f">>> flambeau.{_name}_window(5, periodic=False)",
    )
