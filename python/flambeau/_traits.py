"""Small facts about the build, and private functions of PyTorch that packages call."""

from __future__ import annotations

import enum
import os

from ._C import int64

has_lapack = True
has_mkl = False
has_openmp = True
has_spectral = True


class AcceleratorError(RuntimeError):
    """An error of a device other than the CPU; nothing raises it here.

    Example:
        >>> issubclass(AcceleratorError, RuntimeError)
        True
    """


class Tag(enum.IntEnum):
    """What is known of an operator, in the order of PyTorch's numbers."""

    core = 0
    cudagraph_unsafe = 1
    data_dependent_output = 2
    dynamic_output_shape = 3
    flexible_layout = 4
    generated = 5
    inplace = 6
    inplace_view = 7
    maybe_aliasing_or_mutating = 8
    needs_contiguous_strides = 9
    needs_exact_strides = 10
    needs_fixed_stride_order = 11
    nondeterministic_bitwise = 12
    nondeterministic_seeded = 13
    out = 14
    pt2_compliant_tag = 15
    pointwise = 16
    reduction = 17
    view_copy = 18


class classproperty:
    """A property of a class.

    Example:
        >>> class A:
        ...     name = classproperty(lambda cls: cls.__name__.lower())
        >>> A.name
        'a'
    """

    def __init__(self, func):
        self.func = func

    def __get__(self, instance, owner):
        return self.func(owner)


def compiled_with_cxx11_abi():
    """Whether std::string has its new form in the binary interface: it has.

    Example:
        >>> compiled_with_cxx11_abi()
        True
    """
    return True


def is_vulkan_available():
    """Whether there is a Vulkan device: no.

    Example:
        >>> is_vulkan_available()
        False
    """
    return False


def is_distributed(input):
    """Whether a tensor is of the old distributed kind: none is.

    Example:
        >>> import flambeau
        >>> is_distributed(flambeau.ones(1))
        False
    """
    return False


def get_file_path(*path_components):
    """The path of a file in the package.

    Example:
        >>> get_file_path("version.py").endswith("version.py")
        True
    """
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), *path_components)


def _shape_as_tensor(self):
    """The sizes of a tensor, in a tensor."""
    from ._factory import tensor

    return tensor(list(self.shape), dtype=int64)


def _softmax_backward_data(grad_output, output, dim, input_dtype, *, grad_input=None):
    """The gradient of softmax from its result."""
    product = grad_output * output
    grad = product - output * product.sum(dim, keepdim=True)
    return _given(grad.to(input_dtype), grad_input)


def _log_softmax_backward_data(grad_output, output, dim, input_dtype, *, out=None):
    """The gradient of log_softmax from its result."""
    grad = grad_output - output.exp() * grad_output.sum(dim, keepdim=True)
    return _given(grad.to(input_dtype), out)


def _given(result, out):
    return result if out is None else out.copy_(result)
