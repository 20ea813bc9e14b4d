"""A scenario with flows of several kinds: some cross the outage, one begins behind it, one has nothing to say."""

SCENARIO = """
name = "several"
description = "A download, an upload and a call cross an outage; a page comes later"
duration = "20s"

[nodes]
server = {kind = "host"}
ap = {kind = "ap"}
phone = {kind = "station"}

[[links]]
between = ["server", "ap"]
rate = "1Gbit/s"
delay = "9ms"

[[links]]
name = "radio"
between = ["ap", "phone"]
rate = "10Mbit/s"
delay = "1ms"
queue = "50pkt"

[[flows]]
name = "download"
from = "server"
to = "phone"

[[flows]]
name = "upload"
from = "phone"
to = "server"

[[flows]]
name = "call"
from = "server"
to = "phone"
app = {paced = {size = "200B", interval = "20ms"}}

[[flows]]
name = "page"
from = "server"
to = "phone"
app = {transfer = "100kB"}
start = "15s"

[[events]]
at = "6s"
do = "outage"
link = "radio"
gap = "2s"
phase = "random"

[schemes]
linux = {sender = "linux"}
sack = {sender = "sack"}
newreno = {sender = "newreno"}
"""
