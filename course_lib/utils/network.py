"""Why a download failed, and what to do about it. Standard library only."""

import re
import tomllib
from pathlib import Path

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
CAUSES = tuple((row["cause"], row["advice"]) for row in _TABLE["causes"])


def network_advice(text: str) -> str | None:
    """What to do about a failed download, from its error messages; None if they name no cause that we know.

    >>> network_advice("Tunnel connection failed: 407 Proxy Authentication Required")
    'The proxy asks for a name and a password: set HTTPS_PROXY=http://NAME:PASSWORD@HOST:PORT.'
    """
    return next((advice for cause, advice in CAUSES if re.search(cause, text, re.IGNORECASE)), None)
