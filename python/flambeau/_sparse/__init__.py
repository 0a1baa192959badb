"""Sparse tensors: their records, the rules by which operators work on them, and how they are made.

A sparse tensor's storage is a record (csrc/core/transform.h) that holds indices and values, dense
tensors both. An operator with such an argument has no kernel to go to; it comes to `dispatch`
instead, which finds its rule. What has no rule is refused. Autograd lies above: the rules compute
on plain tensors, and nothing of that is recorded.
"""
