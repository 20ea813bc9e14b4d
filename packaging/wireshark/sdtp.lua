-- Wireshark and tshark: SDTP, the SDN-based transmission protocol between edge switches, as handfast writes it.
--
-- It is found in IP (protocol 253) and in Ethernet (type 0x88b5). In UDP the destination port is the number of a slice:
-- name the slices in the preference "UDP destination ports", or use "Decode As".
--
-- Layout: crates/wire/src/sdtp. "Figure 3" is that of the paper.

local sdtp = Proto("sdtp", "SDN-based Transmission Protocol")

local HEADER_LEN = 24
local OPTIONAL_LEN = 20
local SEAL_LEN = 28
local IP_PROTOCOL = 253
local ETHER_TYPE = 0x88b5
local DATA, RR, RD, RI, CN, PD, CM = 0, 1, 2, 3, 4, 5, 6

local TYPES = { [DATA] = "Data", [RR] = "RR", [RD] = "RD", [RI] = "RI", [CN] = "CN", [PD] = "PD", [CM] = "CM" }
local LONG_TYPES = {
    [DATA] = "Data",
    [RR] = "Retransmission request",
    [RD] = "Retransmission data",
    [RI] = "Retransmission information",
    [CN] = "Caching notification",
    [PD] = "Parity of data (not in the paper)",
    [CM] = "Congestion met (not in the paper)",
}
local TRIGGERS = { [0] = "C: count", [1] = "T: interarrival time", [2] = "R: timeout of a retransmission" }
local HAS_TRIGGER = { [RR] = true, [RD] = true, [RI] = true, [PD] = true }
local ECN = { [0] = "Not-ECT", [1] = "ECT(1)", [2] = "ECT(0)", [3] = "CE" }
local PROTOCOLS = { [4] = "IPv4 packet", [6] = "TCP segment", [41] = "IPv6 packet", [253] = "control" }
local STATUS = { [0] = "Bad", [1] = "Good", [2] = "Unverified" }

local f = {
    protocol = ProtoField.uint8("sdtp.protocol", "Protocol", base.DEC, PROTOCOLS),
    length = ProtoField.uint16("sdtp.length", "Total length"),
    data_offset = ProtoField.uint8("sdtp.data_offset", "Data offset (32-bit words)"),
    checksum = ProtoField.uint16("sdtp.checksum", "Checksum", base.HEX),
    checksum_status = ProtoField.uint8("sdtp.checksum.status", "Checksum status", base.DEC, STATUS),
    flag = ProtoField.uint16("sdtp.flag", "Flag", base.HEX),
    type = ProtoField.uint16("sdtp.type", "Type", base.DEC, LONG_TYPES, 0xe000),
    trigger = ProtoField.uint16("sdtp.trigger", "Trigger", base.DEC, TRIGGERS, 0x1800),
    ecn = ProtoField.uint16("sdtp.ecn", "ECN", base.DEC, ECN, 0x0600),
    end_known = ProtoField.bool("sdtp.end_known", "End known", 16, nil, 0x0100),
    ipv6 = ProtoField.bool("sdtp.ipv6", "Hosts speak IPv6", 16, nil, 0x0080),
    sealed = ProtoField.bool("sdtp.sealed", "Sealed", 16, nil, 0x0040),
    never = ProtoField.bool("sdtp.never", "Never", 16, nil, 0x0020),
    reserved = ProtoField.uint16("sdtp.reserved", "Reserved", base.HEX, nil, 0x001f),
    src_edge = ProtoField.ipv4("sdtp.src_edge", "Source edge"),
    dst_edge = ProtoField.ipv4("sdtp.dst_edge", "Destination edge"),
    connection = ProtoField.uint16("sdtp.connection", "Connection (source port)"),
    slice = ProtoField.uint16("sdtp.slice", "Slice (destination port)"),
    sequence = ProtoField.uint32("sdtp.sequence", "Slice-level sequence number"),
    start_seq = ProtoField.uint32("sdtp.start_seq", "StartSeq"),
    end_seq = ProtoField.uint32("sdtp.end_seq", "EndSeq"),
    start_num = ProtoField.uint16("sdtp.start_num", "StartNum"),
    timestamp = ProtoField.uint32("sdtp.timestamp", "Timestamp of the request (us)"),
    add_l = ProtoField.uint16("sdtp.add_l", "AddL"),
    parity_count = ProtoField.uint16("sdtp.parity.count", "Packets"),
    parity_lengths = ProtoField.uint16("sdtp.parity.lengths", "Lengths, exclusive or", base.HEX),
    parity_check = ProtoField.uint32("sdtp.parity.check", "Check of the packets", base.HEX),
    parity_sum = ProtoField.bytes("sdtp.parity.sum", "Packets, exclusive or"),
    release_until = ProtoField.uint32("sdtp.until", "All before this has arrived"),
    congested_until = ProtoField.uint32("sdtp.congested", "Data before this has met a full queue"),
    held = ProtoField.uint32("sdtp.held", "Bytes of the stream that wait"),
    tcp_ack = ProtoField.uint32("sdtp.tcp.ack", "Acknowledgement"),
    tcp_header_len = ProtoField.uint8("sdtp.tcp.hdr_len", "TCP header length"),
    tcp_flags = ProtoField.uint16("sdtp.tcp.flags", "TCP flags", base.HEX, nil, 0x0fff),
    tcp_eln = ProtoField.bool("sdtp.tcp.flags.eln", "ELN", 16, nil, 0x0400),
    tcp_eln_loss = ProtoField.bool("sdtp.tcp.flags.eln_loss", "ELN: loss", 16, nil, 0x0200),
    tcp_window = ProtoField.uint16("sdtp.tcp.window", "Window"),
    tcp_checksum = ProtoField.uint16("sdtp.tcp.checksum", "TCP checksum of the host", base.HEX),
    since_start = ProtoField.uint16("sdtp.since_start", "Bytes since the start"),
    hop_limit = ProtoField.uint8("sdtp.hop_limit", "Hop limit of the host's packet"),
    traffic_class = ProtoField.uint8("sdtp.traffic_class", "Traffic class of the host's packet", base.HEX),
    identification = ProtoField.uint16("sdtp.identification", "Identification", base.HEX),
    dont_fragment = ProtoField.bool("sdtp.dont_fragment", "Do not fragment", 32, nil, 0x80000000),
    host = ProtoField.uint32("sdtp.host", "Number of the sending host", base.DEC, nil, 0x7ff00000),
    flow_label = ProtoField.uint32("sdtp.flow_label", "Flow label", base.HEX, nil, 0x000fffff),
    tcp_options = ProtoField.bytes("sdtp.tcp.options", "TCP options"),
    payload = ProtoField.bytes("sdtp.payload", "Payload"),
    seal_node = ProtoField.uint32("sdtp.seal.node", "Node"),
    seal_counter = ProtoField.uint64("sdtp.seal.counter", "Counter"),
    seal_tag = ProtoField.bytes("sdtp.seal.tag", "Tag"),
}
sdtp.fields = f

local bad_checksum = ProtoExpert.new("sdtp.checksum.bad", "Bad checksum", expert.group.CHECKSUM, expert.severity.ERROR)
local short = ProtoExpert.new("sdtp.short", "Shorter than its fields", expert.group.MALFORMED, expert.severity.ERROR)
sdtp.experts = { bad_checksum, short }

sdtp.prefs.ports = Pref.range("UDP destination ports", "", "Numbers of the slices that travel in UDP", 65535)

-- Whether bytes begin with an SDTP packet. Protocol 253 is for experiments of anybody.
local function is_sdtp(buffer)
    if buffer:captured_len() < HEADER_LEN then
        return false
    end
    local length = buffer(1, 2):uint()
    local is_known = PROTOCOLS[buffer(0, 1):uint()] and TYPES[buffer(6, 2):bitfield(0, 3)]
    return is_known
        and buffer(3, 1):uint() * 4 == HEADER_LEN + OPTIONAL_LEN
        and length >= HEADER_LEN + OPTIONAL_LEN
        and length <= buffer:reported_len()
end

-- RFC 1071: the sum of all 16-bit words, folded; all ones where the checksum is right.
local function sum(buffer)
    local total = 0
    local length = buffer:len()
    for at = 0, length - 2, 2 do
        total = total + buffer(at, 2):uint()
    end
    if length % 2 == 1 then
        total = total + buffer(length - 1, 1):uint() * 256
    end
    while total > 0xffff do
        total = total % 0x10000 + math.floor(total / 0x10000)
    end
    return total
end

local function add_checksum(buffer, tree)
    local item = tree:add(f.checksum, buffer(4, 2))
    local status = 2
    if buffer:captured_len() == buffer:reported_len() then
        status = sum(buffer) == 0xffff and 1 or 0
    end
    tree:add(f.checksum_status, buffer(4, 2), status):set_generated()
    if status == 0 then
        item:add_proto_expert_info(bad_checksum)
    end
end

local function add_flag(range, tree)
    local branch = tree:add(f.flag, range)
    local kind = range:bitfield(0, 3)
    branch:add(f.type, range)
    if HAS_TRIGGER[kind] then
        branch:add(f.trigger, range)
    end
    for _, field in ipairs({ f.ecn, f.end_known, f.ipv6, f.sealed, f.never, f.reserved }) do
        branch:add(field, range)
    end
    return kind
end

-- The required fields (Figure 3).
local function add_header(buffer, tree)
    tree:add(f.protocol, buffer(0, 1))
    tree:add(f.length, buffer(1, 2))
    tree:add(f.data_offset, buffer(3, 1))
    add_checksum(buffer, tree)
    local kind = add_flag(buffer(6, 2), tree)
    tree:add(f.src_edge, buffer(8, 4))
    tree:add(f.dst_edge, buffer(12, 4))
    tree:add(f.connection, buffer(16, 2))
    tree:add(f.slice, buffer(18, 2))
    tree:add(f.sequence, buffer(20, 4))
    return kind
end

-- What RR and RI say of the packets that are expected.
local function add_expected(field, end_known, tree)
    tree:add(f.start_seq, field(0, 4))
    if end_known then
        tree:add(f.end_seq, field(4, 4))
    end
    tree:add(f.start_num, field(8, 2))
end

local function add_host_ip(field, tree)
    tree:add(f.since_start, field(10, 2))
    tree:add(f.hop_limit, field(12, 1))
    tree:add(f.traffic_class, field(13, 1))
    tree:add(f.identification, field(14, 2))
    tree:add(f.dont_fragment, field(16, 4))
    tree:add(f.host, field(16, 4))
    tree:add(f.flow_label, field(16, 4))
end

-- A TCP segment: its fields, its options, its payload. Returns the bytes of the payload.
local function add_segment(body, tree)
    local header_len = body(4, 1):bitfield(0, 4) * 4
    tree:add(f.tcp_ack, body(0, 4))
    tree:add(f.tcp_header_len, body(4, 1), header_len)
    local flags = tree:add(f.tcp_flags, body(4, 2))
    flags:add(f.tcp_eln, body(4, 2))
    flags:add(f.tcp_eln_loss, body(4, 2))
    tree:add(f.tcp_window, body(6, 2))
    tree:add(f.tcp_checksum, body(8, 2))
    add_host_ip(body, tree)
    local options_len = header_len - 20
    local payload_len = body:len() - OPTIONAL_LEN - options_len
    if options_len < 0 or payload_len < 0 then
        tree:add_proto_expert_info(short)
        return 0
    end
    if options_len > 0 then
        tree:add(f.tcp_options, body(OPTIONAL_LEN, options_len))
    end
    if payload_len > 0 then
        tree:add(f.payload, body(OPTIONAL_LEN + options_len, payload_len))
    end
    return payload_len
end

-- Data of hosts: the optional field and what follows it. Returns what the column "Info" says of it.
local function add_data(protocol, body, pinfo, tree, root)
    if protocol == 6 then
        return " Len=" .. add_segment(body, tree)
    end
    add_host_ip(body, tree)
    if body:len() > OPTIONAL_LEN then
        local ip = Dissector.get(protocol == 4 and "ip" or "ipv6")
        -- A malformed packet is an error in Lua; Wireshark has shown it then.
        pcall(ip.call, ip, body(OPTIONAL_LEN):tvb(), pinfo, root)
    end
    return ""
end

local function add_control(kind, body, flag, tree)
    local end_known = flag:bitfield(7, 1) == 1
    if kind == CN then
        tree:add(f.release_until, body(0, 4))
        return " Until=" .. body(0, 4):uint()
    end
    if kind == CM then
        tree:add(f.congested_until, body(0, 4))
        tree:add(f.held, body(4, 4))
        return " Until=" .. body(0, 4):uint() .. " Held=" .. body(4, 4):uint()
    end
    add_expected(body, end_known, tree)
    local info = " StartSeq=" .. body(0, 4):uint() .. (end_known and " EndSeq=" .. body(4, 4):uint() or "")
    if kind == RR then
        tree:add(f.timestamp, body(12, 4))
    elseif flag:bitfield(10, 1) == 1 then
        return info .. " Never"
    else
        tree:add(f.add_l, body(10, 2))
        return info .. " AddL=" .. body(10, 2):uint()
    end
    return info
end

-- RD: its own field stands before that of the data.
local function add_repeat(body, tree)
    tree:add(f.start_seq, body(0, 4))
    tree:add(f.start_num, body(4, 2))
    tree:add(f.timestamp, body(8, 4))
end

-- PD: which packets, what they are made from, and the sum. Returns what the column "Info" says of it.
local function add_parity(body, tree)
    tree:add(f.start_seq, body(0, 4))
    tree:add(f.end_seq, body(4, 4))
    tree:add(f.parity_count, body(8, 2))
    tree:add(f.parity_lengths, body(10, 2))
    tree:add(f.timestamp, body(12, 4))
    tree:add(f.parity_check, body(16, 4))
    if body:len() > OPTIONAL_LEN then
        tree:add(f.parity_sum, body(OPTIONAL_LEN))
    end
    return " StartSeq=" .. body(0, 4):uint() .. " EndSeq=" .. body(4, 4):uint()
end

local function add_seal(buffer, tree)
    local seal = buffer(buffer:len() - SEAL_LEN, SEAL_LEN)
    local branch = tree:add(sdtp, seal, "Seal")
    branch:add(f.seal_node, seal(0, 4))
    branch:add(f.seal_counter, seal(4, 8))
    branch:add(f.seal_tag, seal(12, 16))
end

-- What the packet carries: all between the required fields and the seal.
local function add_message(kind, buffer, body_len, pinfo, tree, root)
    if body_len < OPTIONAL_LEN then
        tree:add_proto_expert_info(short)
        return ""
    end
    local body = buffer(HEADER_LEN, body_len):tvb()
    local protocol = buffer(0, 1):uint()
    if kind == DATA then
        return add_data(protocol, body, pinfo, tree, root)
    end
    if kind == PD then
        return add_parity(body, tree)
    end
    if kind ~= RD then
        return add_control(kind, body, buffer(6, 2), tree)
    end
    add_repeat(body, tree)
    if body_len < 2 * OPTIONAL_LEN then
        tree:add_proto_expert_info(short)
        return ""
    end
    return add_data(protocol, body(OPTIONAL_LEN):tvb(), pinfo, tree, root)
end

function sdtp.dissector(buffer, pinfo, root)
    if not is_sdtp(buffer) then
        return 0
    end
    local length = buffer(1, 2):uint()
    local kind = buffer(6, 2):bitfield(0, 3)
    pinfo.cols.protocol = "SDTP"
    local tree = root:add(sdtp, buffer(0, math.min(length, buffer:captured_len())))
    if buffer:captured_len() < length then
        -- The capture has cut it.
        buffer = buffer(0):tvb()
        tree:append_text(", cut")
        tree:add(f.protocol, buffer(0, 1))
        return buffer:captured_len()
    end
    buffer = buffer(0, length):tvb()
    add_header(buffer, tree)
    local sealed = buffer(6, 2):bitfield(9, 1) == 1
    local body_len = length - HEADER_LEN - (sealed and SEAL_LEN or 0)
    local connection, slice = buffer(16, 2):uint(), buffer(18, 2):uint()
    local name = TYPES[kind] .. " " .. connection .. " in slice " .. slice
    local info = add_message(kind, buffer, body_len, pinfo, tree, root)
    if sealed then
        if length >= HEADER_LEN + SEAL_LEN then
            add_seal(buffer, tree)
        else
            tree:add_proto_expert_info(short)
        end
    end
    tree:append_text(", " .. name)
    pinfo.cols.info = name .. " Seq=" .. buffer(20, 4):uint() .. info
    return length
end

local ports = nil
local udp_ports = DissectorTable.get("udp.port")

function sdtp.prefs_changed()
    if ports == sdtp.prefs.ports then
        return
    end
    if ports and ports ~= "" then
        udp_ports:remove(ports, sdtp)
    end
    ports = sdtp.prefs.ports
    if ports ~= "" then
        udp_ports:add(ports, sdtp)
    end
end

DissectorTable.get("ip.proto"):add(IP_PROTOCOL, sdtp)
DissectorTable.get("ethertype"):add(ETHER_TYPE, sdtp)
udp_ports:add_for_decode_as(sdtp)
