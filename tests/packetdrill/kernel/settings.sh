#!/bin/sh
# What these scripts expect of a network namespace.
exec sysctl -q \
    net.ipv4.tcp_rmem="4096 540000 15728640" net.ipv4.tcp_wmem="4096 262144 4194304" \
    net.ipv4.tcp_timestamps=1 net.ipv4.tcp_sack=1 net.ipv4.tcp_dsack=1 net.ipv4.tcp_frto=2 \
    net.ipv4.tcp_recovery=1 net.ipv4.tcp_reordering=3 net.ipv4.tcp_congestion_control=cubic \
    net.ipv4.tcp_slow_start_after_idle=0 net.ipv4.tcp_ecn=0
