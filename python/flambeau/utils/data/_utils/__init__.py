"""Parts of the data loader: collation, fetching, worker information, saved positions."""

from . import collate, fetch, position, worker
