"""The claims of [vho]."""
