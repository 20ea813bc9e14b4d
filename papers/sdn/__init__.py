"""[sdn]: Singh and Pandey, "An SDN-based true end-to-end TCP for wireless LAN", Wireless Networks 27 (2021)."""
