"""Reading archives of `torch.package`: pickles, texts and bytes, and Python modules beside them."""

from ._importer import PackageImporter, is_from_package

__all__ = ["PackageImporter", "is_from_package"]
