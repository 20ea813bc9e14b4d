"""The peer of `controller.py`: a minimal os-ken application, run as `osken_app.py PORT`.

It does per packet-in what `handfastd controller` does as far as a page of Python goes: parse the frame down to TCP,
look its station and its connection up, leave out what came before, and answer with a packet-out.
"""

from __future__ import annotations

import sys
from typing import ClassVar

from os_ken import cfg
from os_ken.base.app_manager import AppManager, OSKenApp
from os_ken.controller import controller, ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import hub
from os_ken.lib.packet import ethernet, ipv4, packet, tcp
from os_ken.ofproto import ofproto_v1_3

PORT_OF_STATION = 2

Connection = tuple[str, str, int, int]


class Answer(OSKenApp):  # type: ignore[misc]
    """Answers each new segment."""

    OFP_VERSIONS: ClassVar[list[int]] = [ofproto_v1_3.OFP_VERSION]

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.stations: dict[str, dict[Connection, int]] = {}
        """By station and connection, where what has come ends. Sequence numbers do not wrap here."""

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def packet_in(self, event: ofp_event.EventOFPPacketIn) -> None:
        """A segment has come."""
        message = event.msg
        frame = packet.Packet(message.data)
        ether, ip, segment = (frame.get_protocol(kind) for kind in (ethernet.ethernet, ipv4.ipv4, tcp.tcp))
        if segment is None:
            return
        connections = self.stations.setdefault(ether.dst, {})
        key = (ip.src, ip.dst, segment.src_port, segment.dst_port)
        end = segment.seq + ip.total_length - ip.header_length * 4 - segment.offset * 4
        if end <= connections.get(key, 0):
            return
        connections[key] = end
        self.answer(message.datapath, message.data)

    def answer(self, datapath: controller.Datapath, data: bytes) -> None:
        """Sends the frame on."""
        parser, protocol = datapath.ofproto_parser, datapath.ofproto
        out = parser.OFPPacketOut(
            datapath=datapath,
            buffer_id=protocol.OFP_NO_BUFFER,
            in_port=protocol.OFPP_CONTROLLER,
            actions=[parser.OFPActionOutput(PORT_OF_STATION)],
            data=data,
        )
        datapath.send_msg(out)


def main() -> None:
    """Runs until it is killed."""
    hub.patch()
    cfg.CONF(args=[], project="os_ken")
    cfg.CONF.set_override("ofp_tcp_listen_port", int(sys.argv[1]))
    cfg.CONF.set_override("ofp_listen_host", "127.0.0.1")
    AppManager.run_apps(["os_ken.controller.ofp_handler", "osken_app"])


if __name__ == "__main__":
    main()
