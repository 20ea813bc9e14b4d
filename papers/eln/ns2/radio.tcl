# [eln]'s network with one base station, in ns-2: the peer of ../radio.toml.
#
#   ns radio.tcl ?-option value?...        prints one JSON line
#
# Fixed host, 10 Mbit/s 20 ms, base station, 2 Mbit/s 2 ms, mobile; drop-tail queues of 50 packets; 1,024 B of payload, ACKs of
# 40 B (table 1). Losses are of data on the radio, after queue and wire, so that a lost packet has used its air time.

# As ours, and not by default: -exit 1, NewReno leaves recovery by RFC 6582 §3.2 step 3 option (1); -counted 1, the window grows by one
# when as many segments are acknowledged as it holds (RFC 5681 §3.1); -precise 0, in whole segments. -careful, -impatient, -tick,
# -stamps, -snooptick and -lan are for ablations (docs/explanation/peers.md).

array set cfg {
    -scheme   sack
    -seed     1
    -time     200
    -loss     1e-3
    -list     {}
    -window   20
    -queue    50
    -payload  1024
    -iw       4
    -start    0.0444
    -minrto   0.2
    -tick     0.01
    -stamps   0
    -careful  auto
    -counted  1
    -precise  0
    -lan      auto
    -exit     1
    -impatient 1
    -snooptick 0.1
}
foreach {k v} $argv {
    if {![info exists cfg($k)]} {
        puts stderr "unknown option $k; known: [lsort [array names cfg]]"
        exit 2
    }
    set cfg($k) $v
}

# Sender, receiver, and whether Snoop sits at the base station.
array set schemes {
    tahoe   {Agent/TCP         Agent/TCPSink       0}
    reno    {Agent/TCP/Reno    Agent/TCPSink       0}
    newreno {Agent/TCP/Newreno Agent/TCPSink       0}
    sack    {Agent/TCP/Sack1   Agent/TCPSink/Sack1 0}
    snoop   {Agent/TCP/Sack1   Agent/TCPSink/Sack1 1}
}
if {![info exists schemes($cfg(-scheme))]} {
    puts stderr "unknown scheme $cfg(-scheme); known: [lsort [array names schemes]]"
    exit 2
}
lassign $schemes($cfg(-scheme)) sender receiver snoop

LanRouter set debug_ 0 ;# or ns-2 warns of it
set ns [new Simulator]
set fh [$ns node]
set bs [$ns node]
set mh [$ns node]
$ns duplex-link $fh $bs 10Mb 20ms DropTail
$ns queue-limit $fh $bs $cfg(-queue)
$ns queue-limit $bs $fh $cfg(-queue)

if {$cfg(-list) ne ""} {
    # These packets, counted from 1, as `loss = {list = [...]}` does.
    set em [new ErrorModel/List]
    $em droplist [lmap number [split $cfg(-list) ,] { expr {$number - 1} }]
} else {
    # Seed N is the N-th stream of ns-2's generator: it is linear, and seeding it with 1, 2, 3... gives runs whose losses coincide.
    for {set i 0} {$i < $cfg(-seed)} {incr i} { set rng [new RNG] }
    set ranvar [new RandomVariable/Uniform]
    $ranvar use-rng $rng
    set em [new ErrorModel]
    $em unit pkt
    $em set rate_ $cfg(-loss)
    $em ranvar $ranvar
}

if {$cfg(-lan) eq "auto"} { set cfg(-lan) $snoop }
if {$cfg(-lan)} {
    # ns-2's Snoop is a link layer of a LAN, and a LAN is no link: its MAC adds 64 bytes to each packet, and hands a packet over
    # when its first bit is there. Rates and delays make up for both, so that a LAN without Snoop (-lan 1) gives what the link
    # below gives. The loss is on a link behind it that takes no time.
    set air [$ns node]
    Channel set delay_ 2ms
    set lan [$ns newLan [list $air] 2Mb 0ms -llType LL -ifqType Queue/DropTail -ifqLen $cfg(-queue) -macType Mac -chanType Channel]
    $lan addNode [list $bs] 2Mb 0ms [expr {$snoop ? "LL/LLSnoop" : "LL"}] Queue/DropTail Mac Phy/WiredPhy false $cfg(-queue)
    foreach {node sent received} [list $bs [expr {$cfg(-payload) + 40}] 40 $air 40 [expr {$cfg(-payload) + 40}]] {
        set mac [[$lan set lanIface_($node)] set mac_]
        $mac set bandwidth_ [expr {2e6 * ($sent + 64) / $sent}]
        $mac set delay_ [expr {$received * 8 / 2e6}]
    }
    $ns duplex-link $air $mh 10Gb 0ms DropTail
    $ns queue-limit $air $mh 1000
    $ns queue-limit $mh $air 1000
    $ns link-lossmodel $em $air $mh
} else {
    $ns duplex-link $bs $mh 2Mb 2ms DropTail
    # ns-2 tests length+1 >= limit_ before it queues, and the packet being sent is no longer in the queue.
    $ns queue-limit $bs $mh $cfg(-queue)
    $ns queue-limit $mh $bs $cfg(-queue)
    $ns link-lossmodel $em $bs $mh
}

Snoop set snoopTick_ $cfg(-snooptick)

# A Reno that never halves twice for one window would be no Reno (Fall and Floyd 1996), and RFC 6675 has no such guard either.
if {$cfg(-careful) eq "auto"} { set cfg(-careful) [expr {$cfg(-scheme) in {tahoe newreno}}] }

# Set on the class: the agent computes its first window while it is created. syn_ and delay_growth_ would make segment 0 a SYN
# of 40 bytes, and keep the first window back.
foreach {name value} [list packetSize_ $cfg(-payload) window_ $cfg(-window) windowInit_ $cfg(-iw) windowInitOption_ 1 \
        timestamps_ $cfg(-stamps) overhead_ 0 minrto_ $cfg(-minrto) tcpTick_ $cfg(-tick) syn_ false delay_growth_ false \
        bugFix_ $cfg(-careful) windowOption_ [expr {!$cfg(-counted)}] precisionReduce_ $cfg(-precise)] {
    $sender set $name $value
}
if {$sender eq "Agent/TCP/Newreno"} {
    $sender set exit_recovery_fix_ $cfg(-exit)
    $sender set newreno_changes1_ $cfg(-impatient)
}
set tcp [new $sender]
set sink [new $receiver]
$ns attach-agent $fh $tcp
$ns attach-agent $mh $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp

proc finish {} {
    global cfg tcp sink
    # The sink counts headers too, but of the first segment: 40 B. bytes_ is of 32 bits, enough for two hours.
    set size [expr {$cfg(-payload) + 40}]
    set delivered [expr {([$sink set bytes_] + 40) / $size * $cfg(-payload)}]
    puts [format {{"delivered_bytes":%d,"goodput_bps":%.1f,"segments_sent":%d,"retransmitted_segments":%d,"timeouts":%d,"reductions":%d}} \
        $delivered [expr {$delivered * 8.0 / $cfg(-time)}] \
        [$tcp set ndatapack_] [$tcp set nrexmitpack_] [$tcp set nrexmit_] [$tcp set ncwndcuts_]]
    exit 0
}

# ns-2 has no handshake; ours takes this long.
$ns at $cfg(-start) "$ftp start"
$ns at $cfg(-time) finish
$ns run
