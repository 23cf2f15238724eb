"""Synchronizing folders to disk, so that names of files survive a power failure."""

from __future__ import annotations

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Synchronize a folder to disk, so that new names in it survive a power failure.

    Systems that cannot open folders (Windows) do this themselves.
    """
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
