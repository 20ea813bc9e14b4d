"""The claims of [sdtp]: what each says and what it needs. The functions that judge are in the modules beside."""

from __future__ import annotations

from handfast.studies.reproduce import Claims, need

from . import beyond, delays, draw, incc, path, protocol, rivals, setup

CLAIMS = Claims(
    "sdtp",
    "An SDN-Based Transmission Protocol with In-Path Packet Caching and Retransmission (Chen and others, 2019)",
)

CLAIMS.claim(
    "6",
    "set-up takes longer with the control delay: with 10 ms far less than TCP's, with 65 ms more at low loss and "
    "less at high",
    paper="Figure 6: increases with the control delay; 10 ms: much less than TCP; 65 ms: larger if the loss is small",
    needs=[need("connect")],
    figure=draw.set_up,
)(setup.set_up)

CLAIMS.claim(
    "7",
    "the mean delay of packets is below TCP's, the more so the more are lost",
    paper="Figure 7: TCP's delay is enlarged much more by losses",
    needs=[need("delay")],
    figure=draw.mean_delays,
)(delays.mean_delay)

CLAIMS.claim(
    "8",
    "delays vary less than TCP's, whose mean and variation both grow faster with loss",
    paper="Figure 8: TCP incurs higher delay jitter for different packet loss rates",
    needs=[need("delay"), need("packets")],
    figure=draw.packets,
)(delays.variation)

CLAIMS.claim(
    "hs",
    "a connection is set up in two ways through the controller, with less signalling in the data plane",
    paper="section III-A and Figure 2: a two-way handshake; the receiving edge makes the closing ACK, the sending "
    "edge drops the client's; if there is no available path, the controller deploys a new one",
    needs=[need("connect", loss="0"), need("detour")],
)(setup.handshake)

CLAIMS.claim(
    "ri",
    "an RI spares the nodes downstream needless requests",
    paper="section III-C: an RD comes out of order to the segments that follow; to avoid spurious loss detection",
    needs=[need("information")],
    figure=draw.needless_requests,
)(path.information)

CLAIMS.claim(
    "sel",
    "chosen caches cost less than a cache at every switch, at the same delay",
    paper="section I: every switch with caching inevitably incurs substantial resource consumption and signalling",
    needs=[need("selection")],
    figure=draw.chosen_caches,
)(path.selection)

CLAIMS.claim(
    "cache",
    "a CN releases what is cached, and a full cache is survived",
    paper="section II-B: buffer space release is necessary to avoid overflow, realised by periodical CNs",
    needs=[need("cache")],
    figure=draw.caches,
)(path.caches)

CLAIMS.claim(
    "ep",
    "the policy of equalised loss probability balances the requests of segments",
    paper="section II-C: the numbers of retransmission requests sent over each segment are balanced",
    needs=[need("segments")],
    figure=draw.segments,
)(path.segments)

CLAIMS.claim(
    "core",
    "headers are converted, losses detected by three triggers, and repaired within their segment",
    paper="section III: header, lists, equations (1) to (3), three triggers, RR, RD, RI and CN",
    needs=[need("core")],
    figure=draw.rules,
)(protocol.core)

CLAIMS.claim(
    "hdr",
    "throughput is higher than TCP's, because the header is shorter",
    paper="section III-B: achieves higher throughput according to the simplified packet header",
    needs=[need("headers")],
    figure=draw.headers,
)(protocol.header)

CLAIMS.claim(
    "cong",
    "SDTP helps especially when congestion happens",
    paper="section I: further reduces E2E packet transmission delay especially when congestion happens",
    needs=[need("congestion")],
    figure=draw.congestion,
)(protocol.congestion)

CLAIMS.claim(
    "beyond",
    "what the paper leaves out: bursts, reordering, losses of one link, of the hosts' links, outages, several "
    "flows, a node that begins anew, a transfer: delays are below TCP's",
    paper="none",
    needs=[need("beyond"), need("restarts")],
    figure=draw.beyond,
    beyond=True,
)(beyond.beyond)

CLAIMS.claim(
    "rivals",
    "beside nodes that duplicate, code or repeat between the same switches, or know TCP there: delays and transfers "
    "take no longer with SDTP, on short and on long links",
    paper="none",
    needs=[need("rivals")],
    figure=draw.rivals,
    beyond=True,
)(rivals.rivals)

CLAIMS.claim(
    "place",
    "the placement that minimises the delay has shorter delays than equalised losses, with no more functions",
    paper="section V, its future work: optimise the placement to minimise the E2E packet delay",
    needs=[need("placement")],
    figure=draw.placements,
    beyond=True,
)(beyond.placement)

CLAIMS.claim(
    "incc",
    "caching-based in-network congestion control: what a queue has no room for waits, and the sender slows down "
    "without a loss",
    paper="section V, its future work: also investigate caching-based in-network congestion control",
    needs=[need("incc")],
    figure=draw.in_network,
    beyond=True,
)(incc.control)
