/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only
 * What the programs read of the kernel: only the fields that they use. The loader finds where this kernel has them
 * (CO-RE). */
#ifndef HANDFAST_KERNEL_H
#define HANDFAST_KERNEL_H

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define AF_INET 2
#define AF_INET6 10
#define SOL_TCP 6

/* The verifier knows by its licence which helpers a program may call. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
    union {
        __u8 u6_addr8[16];
        __be32 u6_addr32[4];
    } in6_u;
};

struct sock_common {
    __be32 skc_daddr;
    unsigned short skc_family;
    volatile unsigned char skc_state;
    struct in6_addr skc_v6_daddr;
};

struct sock {
    struct sock_common __sk_common;
    __u32 sk_pacing_status;
};

struct tcp_sock {
    __u32 snd_cwnd;
    __u32 snd_ssthresh;
    __u32 packets_out;
    __u32 write_seq;
    __u32 snd_nxt;
    __u32 snd_wnd;
};

struct seq_file;

struct bpf_iter_meta {
    struct seq_file *seq;
    __u64 session_id;
    __u64 seq_num;
};

struct bpf_iter__tcp {
    struct bpf_iter_meta *meta;
    struct sock_common *sk_common;
};

#pragma clang attribute pop

#endif
