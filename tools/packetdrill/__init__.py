"""packetdrill's scripts against the endpoint: `python3 tools/packetdrill --help`."""
