# Case (b): dumbbell, N CUBIC flows (SACK, timestamps, delayed ACKs) through one
# drop-tail bottleneck.  See README.md for the parameters.
#
#   ns dumbbell.tcl ?-option value?...

array set cfg {
    -seed     1
    -flows    100
    -time     100
    -rate     1Gb
    -queue    1700
    -access   10Gb
    -spread   1.0
    -payload  1448
    -window   20000
    -iw       10
    -minrto   0.2
    -delack   0.1
    -beta     717
    -friendly 0
    -headers  needed
    -sched    Splay
    -count    1
}
foreach {k v} $argv {
    if {![info exists cfg($k)]} {
        puts stderr "unknown option $k; known: [lsort [array names cfg]]"
        exit 2
    }
    set cfg($k) $v
}

# The Linux agent announces each select_ca on C's stdout.  Keep a channel to the
# real one for the result and let /dev/null take descriptor 1.
if {[catch {open /dev/stdout {WRONLY APPEND}} json]} {
    # A pipe has no end to append at.
    set json [open /dev/stdout WRONLY]
}
close stdout
open /dev/null w

# An ns-2 packet carries every header the program knows (4,648 bytes, cleared at
# each allocation) unless told otherwise.  The bench is to meet ns-2 at its
# fastest, so only the headers this simulation reads stay.
if {$cfg(-headers) eq "needed"} {
    remove-all-packet-headers
    add-packet-header Flags IP TCP
}

set ns [new Simulator]
$ns use-scheduler $cfg(-sched)
# Nothing here draws a number, so -seed is only echoed; it is kept because the
# other case has it.  To perturb a run, change -spread.
# ns-2's static routing computes all pairs; on a tree two kinds of routes by
# hand do, and 10,000 flows become possible.
$ns rtproto Manual

# Set on the class: the agent computes its first window while it is created,
# and later changes of these would come too late.
Agent/TCP/Linux set packetSize_ $cfg(-payload)
Agent/TCP/Linux set window_ $cfg(-window)
Agent/TCP/Linux set windowInit_ $cfg(-iw)
Agent/TCP/Linux set windowInitOption_ 1
Agent/TCP/Linux set timestamps_ true
# 10 in ns-2; on the wire the option is padded to 12, which makes 1500 bytes.
Agent/TCP/Linux set ts_option_size_ 12
Agent/TCP/Linux set overhead_ 0
Agent/TCP/Linux set minrto_ $cfg(-minrto)
# Without this, segment 0 would be a 40-byte SYN and not data.
Agent/TCP/Linux set syn_ false
# ns-2 does not add the timestamps to an ACK.
Agent/TCPSink/Sack1/DelAck set packetSize_ 52
Agent/TCPSink/Sack1/DelAck set ts_echo_rfc1323_ true
Agent/TCPSink/Sack1/DelAck set interval_ $cfg(-delack)

proc manual {node args} { eval [list [$node get-module Manual]] $args }

set left  [$ns node]
set right [$ns node]
$ns duplex-link $left $right $cfg(-rate) 8ms DropTail
$ns queue-limit $left $right $cfg(-queue)
$ns queue-limit $right $left $cfg(-queue)
manual $left  add-route-to-adj-node -default $right
manual $right add-route-to-adj-node -default $left

# Neither one-way agent nor sink counts the packets that reach a sink: this is
# ns-2's own counter, put behind each receiver's link, where its node begins.
set mon [new QueueMonitor]

for {set i 0} {$i < $cfg(-flows)} {incr i} {
    set s [$ns node]
    set d [$ns node]
    foreach {host router} [list $s $left $d $right] {
        $ns duplex-link $host $router $cfg(-access) 1ms DropTail
        # The default of 50 would drop a sender's own bursts.
        $ns queue-limit $host $router 100000
        $ns queue-limit $router $host 100000
        manual $host   add-route-to-adj-node -default $router
        manual $router add-route-to-adj-node $host
    }
    if {$cfg(-count)} {
        set snoop [new SnoopQueue/In]
        $snoop set-monitor $mon
        set ttl [[$ns link $right $d] set ttl_]
        $snoop target [$ttl target]
        $ttl target $snoop
    }

    set tcp [new Agent/TCP/Linux]
    $tcp select_ca cubic
    # On the first agent only: these are variables of the module, not of a flow.
    if {$i == 0} {
        $tcp set_ca_default_param cubic beta $cfg(-beta)
        $tcp set_ca_default_param cubic tcp_friendliness $cfg(-friendly)
    }
    set sink [new Agent/TCPSink/Sack1/DelAck]
    $ns attach-agent $s $tcp
    $ns attach-agent $d $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at [expr {double($i) * $cfg(-spread) / $cfg(-flows)}] "$ftp start"
    lappend flows $tcp
}

proc finish {} {
    global cfg flows mon json
    foreach v {sent acks again timeouts segments} { set $v 0 }
    foreach tcp $flows {
        incr sent     [$tcp set ndatapack_]
        incr acks     [$tcp set nackpack_]
        incr again    [$tcp set nrexmitpack_]
        incr timeouts [$tcp set nrexmit_]
        incr segments [expr {[$tcp set ack_] + 1}]
    }
    set arrived [$mon set parrivals_]
    set packets [expr {$arrived + $acks}]
    # bytes_ of a sink is a 32-bit int and wraps; the cumulative ACK does not.
    set goodput [expr {double($segments) * $cfg(-payload) * 8 / $cfg(-time)}]
    puts $json [format {{"case":"dumbbell","flows":%d,"seed":%d,"sim_s":%g,"segments_sent":%d,"segments_arrived":%d,"acks_arrived":%d,"retransmitted_segments":%d,"timeouts":%d,"goodput_bps":%.1f,"packets":%d,"packet_hops":%d}} \
        $cfg(-flows) $cfg(-seed) $cfg(-time) $sent $arrived $acks $again \
        $timeouts $goodput $packets [expr {3 * $packets}]]
    exit 0
}

$ns at $cfg(-time) finish
$ns run
