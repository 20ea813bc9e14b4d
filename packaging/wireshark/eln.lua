-- Wireshark and tshark: the two bits with which an acknowledgement tells of a loss or of a handoff (explicit loss
-- notification), as handfast writes them into the reserved bits of TCP's header.
--
-- Layout: crates/wire/src/tcp/mod.rs, `Flags::ELN` and `Flags::ELN_LOSS`.

local eln = Proto("eln", "Explicit Loss Notification")

local MEANINGS = { [2] = "a handoff is complete", [3] = "the radio has lost what is asked for" }

local f = {
    flag = ProtoField.bool("eln.flag", "ELN flag"),
    loss = ProtoField.bool("eln.loss", "Loss"),
    meaning = ProtoField.uint8("eln.meaning", "Meaning", base.DEC, MEANINGS),
}
eln.fields = f

local tcp_flags = Field.new("tcp.flags")

function eln.dissector(_, pinfo, root)
    for _, flags in ipairs({ tcp_flags() }) do
        local value = flags.value
        -- 0x400 and 0x200 of the twelve bits, without operators that old versions of Lua lack.
        local bits = math.floor(value / 0x200) % 4
        if bits >= 2 then
            local tree = root:add(eln, flags.range, "Explicit Loss Notification: " .. MEANINGS[bits])
            tree:add(f.flag, flags.range, true)
            tree:add(f.loss, flags.range, bits == 3)
            tree:add(f.meaning, flags.range, bits)
            pinfo.cols.info:append(bits == 3 and " [ELN: loss]" or " [ELN: handoff]")
        end
    end
end

register_postdissector(eln)
