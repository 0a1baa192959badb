"""How tensors and storages are pickled for another process: by the descriptor of their memory."""

from __future__ import annotations

from multiprocessing import reduction
from multiprocessing.reduction import ForkingPickler

from flambeau import _C
from flambeau._pickle import StorageHandle, _reduce_tensor

__all__ = ["init_reductions", "reduce_storage", "reduce_tensor", "rebuild_storage"]


def rebuild_storage(descriptor, block_bytes, begin, nbytes):
    """The storage in the block of memory behind a descriptor that was sent."""
    block = _C._open_shared_block(descriptor.detach(), block_bytes, False)
    return block.storage(begin, nbytes)


def reduce_storage(storage):
    """Moves a storage to shared memory and names it by its descriptor."""
    storage.share_memory_()
    block = storage._shared_block()
    begin = storage.data_ptr() - block.address
    descriptor = reduction.DupFd(block.descriptor)
    return rebuild_storage, (descriptor, block.nbytes, begin, storage.nbytes())


def _reduce_handle(handle):
    return StorageHandle, (handle.storage,)


def reduce_tensor(tensor):
    """Pickles a tensor with its storage in shared memory.

    Errors: `RuntimeError` for a result of differentiable operators, whose history stays here.
    """
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd "
            "does not support crossing process boundaries.  If you just want to transfer the "
            "data, call detach() on the tensor before serializing (e.g., putting it on the queue)."
        )
    return _reduce_tensor(tensor, 4)


def init_reductions():
    """Makes `multiprocessing` pickle so."""
    ForkingPickler.register(_C.UntypedStorage, reduce_storage)
    ForkingPickler.register(StorageHandle, _reduce_handle)
    ForkingPickler.register(_C.Tensor, reduce_tensor)
