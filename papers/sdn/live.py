"""sdn-11: packet-ins to the live controller."""
