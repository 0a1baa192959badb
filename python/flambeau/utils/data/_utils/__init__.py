"""Parts of the data loader: collation, fetching, worker information."""

from . import collate, fetch, worker
