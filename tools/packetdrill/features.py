"""What a script needs that the stack does not have: by words in its text, never by how it ends."""

from __future__ import annotations

import re

FEATURES: dict[str, str] = {
    "fast open": r"TCP_FASTOPEN|MSG_FASTOPEN|\bFO\b|TFO_COOKIE",
    "zero copy": r"TCP_ZEROCOPY_RECEIVE|SO_EE_ORIGIN_ZEROCOPY|SO_EE_CODE_ZEROCOPY",
    "MD5 and authentication": r"TCP_MD5SIG|\bmd5\b|TCP_AO",
    "PSP": r"\bpsp",
    "epoll": r"\bepoll_(?:create|ctl|wait)",
    "other protocols": r"SOCK_DGRAM|SOCK_RAW|IPPROTO_UDP|IPPROTO_ICMP|\bgre\b|\bmpls\b",
    "multipath TCP": r"IPPROTO_MPTCP",
}
"""A feature's name, and what in a script shows that it is used."""

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def missing(script: str) -> list[str]:
    """The features that a script uses and the stack does not have."""
    text = COMMENT.sub("", script)
    return [name for name, words in FEATURES.items() if re.search(words, text)]
