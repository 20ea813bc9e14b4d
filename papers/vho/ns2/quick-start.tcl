# Quick-Start (RFC 4782) in ns-2: the peer of ../quick-start.toml.
#
#   ns quick-start.tcl ?-option value?...        prints one JSON line: segments delivered at each moment of -at
#
# As ours, and not by default: -ssthresh ours, the approved window becomes ssthresh too, and half of what got through after a loss;
# -limit 100, a sender that has asked starts slowly by RFC 3742. `own` and 0 are ns-2's ways, for ablations (docs/explanation/peers.md).

array set cfg {
    -scheme    approved
    -seed      1
    -time      2
    -at        0.25,0.5,0.75,1,1.5,2
    -ssthresh  ours
    -limit     100
    -window    300
    -payload   1024
    -iw        4
    -tick      0.0001
}
foreach {k v} $argv {
    if {![info exists cfg($k)]} {
        puts stderr "unknown option $k; known: [lsort [array names cfg]]"
        exit 2
    }
    set cfg($k) $v
}

# What is asked for, KiB/s; whether the far router takes part; which segment is lost, the SYN being number 0.
array set schemes {
    without  {0    1 {}}
    refused  {313  0 {}}
    approved {313  1 {}}
    reduced  {5000 1 {}}
    lost     {313  1 20}
}
if {![info exists schemes($cfg(-scheme))]} {
    puts stderr "unknown scheme $cfg(-scheme); known: [lsort [array names schemes]]"
    exit 2
}
lassign $schemes($cfg(-scheme)) request takes_part lost
set asks [expr {$request > 0}]

# Mode 0: what is asked for does not depend on what there is to send.
Agent/TCP set qs_enabled_ $asks
Agent/TCP set qs_request_mode_ 0
Agent/TCP set rate_request_ $request
Agent/TCPSink set qs_enabled_ true
# RFC 4782 appendix D as in ours: 95 %, intervals of 150 ms, four of them. ns-2's own: 85 %, 200 ms, five.
Agent/QSAgent set alloc_rate_ 0.95
Agent/QSAgent set threshold_ 0.95
Agent/QSAgent set state_delay_ 0.15
Queue set util_check_intv_ 0.15
Queue set util_records_ 4

set ns [new Simulator]
$ns node-config -QS ON
foreach node {fh near far mh} { set $node [$ns node] }
foreach {a b rate delay} [list $fh $near 100Mb 1ms $near $far 20Mb 49ms $far $mh 100Mb 1ms] {
    $ns duplex-link $a $b $rate $delay DropTail
    $ns queue-limit $a $b 1000
    $ns queue-limit $b $a 1000
}
[$far qs-agent] set qs_enabled_ $takes_part
if {$lost ne ""} {
    set em [new ErrorModel/List]
    $em droplist $lost
    $ns link-lossmodel $em $near $far
}

# syn_ and delay_growth_: segment 0 is a SYN of 40 bytes, and the first window follows its acknowledgment. Limited slow start is part of
# the growth of windowOption_ 1 only, which does not differ from that of 0 in slow start.
set limited [expr {$asks && !$takes_part && $cfg(-limit) > 0}]
foreach {name value} [list packetSize_ $cfg(-payload) window_ $cfg(-window) windowInit_ $cfg(-iw) windowInitOption_ 1 \
        timestamps_ false overhead_ 0 minrto_ 0.2 tcpTick_ $cfg(-tick) syn_ true delay_growth_ true bugFix_ 0 \
        windowOption_ $limited precisionReduce_ 0 max_ssthresh_ [expr {$limited ? $cfg(-limit) : 0}]] {
    Agent/TCP/Sack1 set $name $value
}
set tcp [new Agent/TCP/Sack1]
set sink [new Agent/TCPSink/Sack1]
$ns attach-agent $fh $tcp
$ns attach-agent $mh $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp

if {$asks && $takes_part && $cfg(-ssthresh) eq "ours"} {
    # The approval is there after 102 ms, the first segment's acknowledgment after 205 ms, the third duplicate after 280 ms.
    $ns at 0.11 { $tcp set ssthresh_ [expr {int([$tcp set cwnd_])}] }
    if {$lost ne ""} { $ns at 0.35 { $tcp set ssthresh_ 14 } }
}

set delivered {}
foreach moment [split $cfg(-at) ,] {
    # bytes_ counts headers too.
    $ns at $moment { lappend delivered [expr {([$sink set bytes_] - 40) / ($cfg(-payload) + 40)}] }
}
proc finish {} {
    global delivered
    puts "{\"delivered_segments\": \[[join $delivered ,]\]}"
    exit 0
}
$ns at 0 "$ftp start"
$ns at [expr {$cfg(-time) + 0.001}] finish
$ns run
