"""How processes find each other."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "launching of several processes",
    classes="RendezvousHandler RendezvousParameters RendezvousInfo RendezvousStoreInfo",
    functions="get_rendezvous_handler",
)
