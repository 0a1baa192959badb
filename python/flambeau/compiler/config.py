"""Settings of `torch.compile`. There is no compiler yet: they change nothing."""

from __future__ import annotations

from flambeau import _settings

_settings.install(
    __name__,
    {
        "job_id": None,
        "pgo_extra_read_key": None,
        "pgo_extra_write_key": None,
        "cache_key_tag": "",
        "dynamic_sources": "",
        "unbacked_sources": "",
        "force_disable_caches": False,
    },
)
