"""Helpers beside the tensor library: data loading, pytrees and hook handles.

`data` and `hooks` are reached by import (`import flambeau.utils.data`), so that `import flambeau`
does not pay for them.
"""
