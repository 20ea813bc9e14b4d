# Case (a): fixed host -- base station -- mobile host, one SACK (Reno growth)
# flow, random loss on the radio link.  See README.md for the parameters.
#
#   ns wireless.tcl ?-option value?...

array set cfg {
    -seed     1
    -time     20000
    -loss     1e-3
    -queue    50
    -payload  1024
    -window   1000
    -iw       4
    -minrto   0.2
    -tick     0.01
    -headers  needed
    -sched    List
    -count    1
}
foreach {k v} $argv {
    if {![info exists cfg($k)]} {
        puts stderr "unknown option $k; known: [lsort [array names cfg]]"
        exit 2
    }
    set cfg($k) $v
}

# An ns-2 packet carries every header the program knows (4,648 bytes, cleared at
# each allocation) unless told otherwise.  The bench is to meet ns-2 at its
# fastest, so only the headers this simulation reads stay.
if {$cfg(-headers) eq "needed"} {
    remove-all-packet-headers
    add-packet-header Flags IP TCP
}

set ns [new Simulator]
$ns use-scheduler $cfg(-sched)

set fh [$ns node]
set bs [$ns node]
set mh [$ns node]
$ns duplex-link $fh $bs 10Mb 20ms DropTail
$ns duplex-link $bs $mh 2Mb 2ms DropTail
foreach {a b} [list $fh $bs $bs $fh $bs $mh $mh $bs] {
    # ns-2 tests length+1 >= limit_ before it queues, and the packet being sent
    # is no longer in the queue: limit_ N is N-1 waiting and one in service.
    $ns queue-limit $a $b $cfg(-queue)
}

# After the queue and the wire, so a lost packet has used its air time; and
# with a stream of its own, so the losses depend on the seed and on nothing
# else that draws a number.  Seed N is the N-th stream of ns-2's generator: it
# is linear, and seeding it with 1, 2, 3... gives runs whose losses coincide.
for {set i 0} {$i < $cfg(-seed)} {incr i} { set rng [new RNG] }
set ranvar [new RandomVariable/Uniform]
$ranvar use-rng $rng
set em [new ErrorModel]
$em unit pkt
$em set rate_ $cfg(-loss)
$em ranvar $ranvar
$ns link-lossmodel $em $bs $mh

# Neither one-way agent nor sink counts the packets that reach a sink: this is
# ns-2's own counter, put behind the radio link, where the receiver's node
# begins.
set mon [new QueueMonitor]
if {$cfg(-count)} {
    set snoop [new SnoopQueue/In]
    $snoop set-monitor $mon
    set ttl [[$ns link $bs $mh] set ttl_]
    $snoop target [$ttl target]
    $ttl target $snoop
}

# Set on the class: the agent computes its first window while it is created,
# and later changes of these would come too late.
Agent/TCP/Sack1 set packetSize_ $cfg(-payload)
Agent/TCP/Sack1 set window_ $cfg(-window)
Agent/TCP/Sack1 set windowInit_ $cfg(-iw)
Agent/TCP/Sack1 set windowInitOption_ 1
Agent/TCP/Sack1 set timestamps_ false
Agent/TCP/Sack1 set overhead_ 0
Agent/TCP/Sack1 set minrto_ $cfg(-minrto)
Agent/TCP/Sack1 set tcpTick_ $cfg(-tick)
# Without these two, segment 0 would be a 40-byte SYN and not data.
Agent/TCP/Sack1 set syn_ false
Agent/TCP/Sack1 set delay_growth_ false

set tcp [new Agent/TCP/Sack1]
set sink [new Agent/TCPSink/Sack1]
$ns attach-agent $fh $tcp
$ns attach-agent $mh $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp

proc finish {} {
    global cfg tcp mon
    set arrived [$mon set parrivals_]
    set acks    [$tcp set nackpack_]
    set packets [expr {$arrived + $acks}]
    # bytes_ of the sink is a 32-bit int and wraps; the cumulative ACK does not.
    set goodput [expr {([$tcp set ack_] + 1.0) * $cfg(-payload) * 8 / $cfg(-time)}]
    puts [format {{"case":"wireless","seed":%d,"sim_s":%g,"segments_sent":%d,"segments_arrived":%d,"acks_arrived":%d,"retransmitted_segments":%d,"timeouts":%d,"goodput_bps":%.1f,"packets":%d,"packet_hops":%d}} \
        $cfg(-seed) $cfg(-time) [$tcp set ndatapack_] $arrived $acks \
        [$tcp set nrexmitpack_] [$tcp set nrexmit_] $goodput \
        $packets [expr {2 * $packets}]]
    exit 0
}

$ns at 0 "$ftp start"
$ns at $cfg(-time) finish
$ns run
