"""Why a download failed, and what to do about it. Standard library only."""

import re

CAUSES = (  # from the most telling to the most general
    (
        r"not yet valid|certificate has expired",
        "A certificate is out of date, or this computer's clock is wrong. Set the clock and try again.",
    ),
    (
        r"certificate.?verify.?failed|SSLCertVerificationError|confirming the ssl certificate",
        "This network opens encrypted connections with its own certificate, which Python does not know.\n"
        "Ask its administrators for it, a .pem file, and set PIP_CERT and REQUESTS_CA_BUNDLE to its path.",
    ),
    (
        r"\b407\b|Proxy Authentication Required",
        "The proxy asks for a name and a password: set HTTPS_PROXY=http://NAME:PASSWORD@HOST:PORT.",
    ),
    (
        r"\b40[13]\b[^\n]*(Client Error|while getting)|HTTP error 40[13]\b",
        "The server, or a filter of this network, refuses. Try another network, or ask its administrators.",
    ),
    (
        r"\b50\d Server Error|HTTP error 50\d\b",
        "The server has a problem. Try again later.",
    ),
    (
        r"ProxyError|Cannot connect to proxy",
        "The proxy does not answer. Correct or unset HTTPS_PROXY, or the proxy that `pip config list` shows.",
    ),
    (
        r"Temporary failure in name resolution|NewConnectionError|NameResolutionError|Failed to establish"
        r"|getaddrinfo|Network is unreachable|timed out|Connection(Reset|Timeout)?Error|SSLError"
        r"|Max retries exceeded|IncompleteRead",
        "The network cannot be reached. Check it (behind a proxy: set HTTPS_PROXY), then try again.",
    ),
)


def network_advice(text: str) -> str | None:
    """What to do about a failed download, from its error messages; None if they name no cause that we know.

    >>> network_advice("Tunnel connection failed: 407 Proxy Authentication Required")
    'The proxy asks for a name and a password: set HTTPS_PROXY=http://NAME:PASSWORD@HOST:PORT.'
    """
    return next((advice for cause, advice in CAUSES if re.search(cause, text, re.IGNORECASE)), None)
