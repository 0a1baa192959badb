"""How processes find each other."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "launching of several processes",
    functions="register_rendezvous_handler rendezvous",
)
