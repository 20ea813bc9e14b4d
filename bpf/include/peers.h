/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only
 * The peers that are helped, and which of them are away. */
#ifndef HANDFAST_PEERS_H
#define HANDFAST_PEERS_H

#include "kernel.h"

/* An IPv4 address is kept as RFC 4291 section 2.5.5.2 maps it. */
struct network {
    __u32 prefix_len;
    __u32 address[4];
};

/* Until when they are away (CLOCK_MONOTONIC, ns). The daemon renews it: one that has died leaves nobody frozen. */
struct peers {
    __u64 away_until;
};

struct {
    __uint(type, BPF_MAP_TYPE_LPM_TRIE);
    __uint(max_entries, 1024);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, struct network);
    __type(value, struct peers);
} peers SEC(".maps");

static __always_inline struct peers *peers_of_four(__be32 address) {
    struct network key = {.prefix_len = 128, .address = {0, 0, bpf_htonl(0xffff), address}};
    return bpf_map_lookup_elem(&peers, &key);
}

static __always_inline struct peers *peers_of_six(const __be32 *address) {
    struct network key = {.prefix_len = 128};
    __builtin_memcpy(key.address, address, sizeof(key.address));
    return bpf_map_lookup_elem(&peers, &key);
}

static __always_inline int is_away(const struct peers *of) {
    return of && of->away_until > bpf_ktime_get_ns();
}

#endif
