/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only
 * Datagrams of a cgroup's programs. The end has sockets of UDP on this machine, the aliases. A target that is used gets
 * one, and what a program sends to the target goes to its alias. What comes from an alias has the target's name. The
 * end takes an alias back that nobody uses. */
#ifndef HANDFAST_DATAGRAMS_H
#define HANDFAST_DATAGRAMS_H

#include "places.h"

/* Of each family. As `EACH` of crates/bpf/src/datagrams.rs. */
#define EACH 128

/* Who asks a name server needs no session, and without one no names. */
#define DOMAIN 53

/* A sender whose socket is not closed. */
#define OPEN (~0ULL)

/* What a socket has sent is read by then. */
#define LINGER_NS 2000000000ULL

#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86dd

struct alias {
    /* Where the end listens; port 0: nowhere. */
    struct place at;
    struct place target;
    /* When something was led there last (CLOCK_MONOTONIC, ns). */
    __u64 used;
    /* 0: it is free, and has no target. */
    __u32 is_taken;
    __u32 zero;
};

/* Those of IPv4 are the first ones. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 2 * EACH);
    __type(key, __u32);
    __type(value, struct alias);
} aliases SEC(".maps");

/* Which one a target has. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 2 * EACH);
    __type(key, struct place);
    __type(value, __u32);
} by_target SEC(".maps");

/* Which one is at a place. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 2 * EACH);
    __type(key, struct place);
    __type(value, __u32);
} by_place SEC(".maps");

/* Where the search for a free one begins, for each family. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 2);
    __type(key, __u32);
    __type(value, __u32);
} turns SEC(".maps");

/* Targets to which no session leads, until when (CLOCK_MONOTONIC, ns). */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 1024);
    __type(key, struct place);
    __type(value, __u64);
} refused SEC(".maps");

/* From where programs of the cgroup have sent to aliases: what others of this machine send there the end drops. Until when
 * (CLOCK_MONOTONIC, ns): a socket that is closed may have sent what the end has not read yet. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 4096);
    __type(key, struct place);
    __type(value, __u64);
} senders SEC(".maps");

/* The port of a socket that is in `senders`. */
struct {
    __uint(type, BPF_MAP_TYPE_SK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct place);
} sent_from SEC(".maps");

static __always_inline int is_refused(const struct place *target) {
    __u64 *until = bpf_map_lookup_elem(&refused, target);
    return until && *until > bpf_ktime_get_ns();
}

static __always_inline struct alias *alias_at(const __u32 *slot) {
    return slot ? bpf_map_lookup_elem(&aliases, slot) : 0;
}

/* Gives a target an alias; NULL: all are taken. */
static __always_inline struct alias *take_alias(const struct place *target) {
    __u32 family = !is_mapped(target), *turn = bpf_map_lookup_elem(&turns, &family);
    __u32 begin = turn ? __sync_fetch_and_add(turn, 1) : 0;
    for (__u32 n = 0; n < EACH; n++) {
        __u32 slot = family * EACH + (begin + n) % EACH;
        struct alias *alias = alias_at(&slot);
        if (!alias || !alias->at.port || __sync_val_compare_and_swap(&alias->is_taken, 0, 1))
            continue;
        alias->target = *target;
        alias->used = bpf_ktime_get_ns();
        if (!bpf_map_update_elem(&by_target, target, &slot, BPF_NOEXIST))
            return alias;
        /* Another processor has given it one meanwhile. */
        alias->is_taken = 0;
        return alias_at(bpf_map_lookup_elem(&by_target, target));
    }
    return 0;
}

/* No session leads there, and no name is found without: it goes straight, whatever the policy is. */
static __always_inline int is_straight(const struct place *place) {
    return is_near(place) || place->port == bpf_htons(DOMAIN) ||
           (is_mapped(place) && place->address[3] == 0xffffffff);
}

/* Where a datagram to `place` is led; NULL: it goes on, and the answer is `verdict`. */
static __always_inline struct place *alias_of(struct bpf_sock_addr *context, const struct place *place,
                                              int *verdict) {
    __u32 first = 0;
    struct end *to = bpf_map_lookup_elem(&end, &first);
    struct alias *alias = 0;
    *verdict = GO_ON;
    if (!to || !to->leads_datagrams || !context->sk || is_straight(place))
        return 0;
    if (context->protocol != IPPROTO_UDP && context->protocol != IPPROTO_UDPLITE)
        return 0;
    if (is_refused(place)) {
        *verdict = REFUSE;
        return 0;
    }
    if (context->protocol == IPPROTO_UDP && !is_of_link(place) && bpf_get_netns_cookie(context) == to->network) {
        alias = alias_at(bpf_map_lookup_elem(&by_target, place));
        if (!alias)
            alias = take_alias(place);
    }
    if (!alias) {
        *verdict = to->is_strict ? REFUSE : GO_ON;
        return 0;
    }
    alias->used = bpf_ktime_get_ns();
    return &alias->at;
}

/* The same for a socket that is connected there: it keeps its target's name. */
static __always_inline struct place *lead_datagrams(struct bpf_sock_addr *context, const struct place *place,
                                                    int *verdict) {
    struct place *by = alias_of(context, place, verdict), *kept;
    if (!context->sk)
        return 0;
    kept = by ? bpf_sk_storage_get(&targets, context->sk, 0, BPF_SK_STORAGE_GET_F_CREATE) : 0;
    if (kept)
        *kept = *place;
    else
        /* It may be used for the second time. */
        bpf_sk_storage_delete(&targets, context->sk);
    return by;
}

/* The target of the alias from which something has come; NULL: it is from elsewhere. */
static __always_inline struct place *target_of(struct bpf_sock_addr *context, const struct place *from) {
    __u32 first = 0;
    struct end *to = bpf_map_lookup_elem(&end, &first);
    struct alias *alias;
    if (!to || bpf_get_netns_cookie(context) != to->network)
        return 0;
    alias = alias_at(bpf_map_lookup_elem(&by_place, from));
    return alias && alias->is_taken ? &alias->target : 0;
}

/* RFC 791 section 3.1 and RFC 8200 section 3, as far as they are needed here. */
struct four {
    __u8 version_and_length;
    __u8 between[8];
    __u8 protocol;
    __u16 checksum;
    __be32 from;
    __be32 to;
};

struct six {
    __u8 between[6];
    __u8 next;
    __u8 hops;
    __be32 from[4];
    __be32 to[4];
};

/* Whether it is a datagram of UDP within this machine: from where, and to where. */
static __always_inline int is_within(struct __sk_buff *packet, struct place *from, struct place *to) {
    struct four four;
    struct six six;
    __be16 ports[2];
    __u32 length;
    if (packet->protocol == bpf_htons(ETH_P_IP)) {
        if (bpf_skb_load_bytes(packet, 0, &four, sizeof(four)))
            return 0;
        length = (four.version_and_length & 15) * 4;
        if (four.protocol != IPPROTO_UDP || bpf_ntohl(four.to) >> 24 != 127 ||
            bpf_skb_load_bytes(packet, length, ports, sizeof(ports)))
            return 0;
        map_four(from, four.from, ports[0]);
        map_four(to, four.to, ports[1]);
        return 1;
    }
    if (packet->protocol != bpf_htons(ETH_P_IPV6) || bpf_skb_load_bytes(packet, 0, &six, sizeof(six)))
        return 0;
    if (six.next != IPPROTO_UDP || six.to[0] || six.to[1] || six.to[2] || six.to[3] != bpf_htonl(1) ||
        bpf_skb_load_bytes(packet, sizeof(six), ports, sizeof(ports)))
        return 0;
    __builtin_memcpy(from->address, six.from, sizeof(from->address));
    __builtin_memcpy(to->address, six.to, sizeof(to->address));
    from->port = ports[0];
    to->port = ports[1];
    from->zero = to->zero = 0;
    return 1;
}

/* A port is not known yet when a socket is connected, so it is learnt here. Who is connected to a target that is refused
 * learns of that here too (EPERM). */
SEC("cgroup_skb/egress")
int on_egress(struct __sk_buff *packet) {
    struct place from, to, *kept;
    struct bpf_sock *socket = packet->sk;
    struct alias *alias;
    __u64 open = OPEN, *until;
    if (!is_within(packet, &from, &to))
        return GO_ON;
    alias = alias_at(bpf_map_lookup_elem(&by_place, &to));
    if (!alias)
        return GO_ON;
    if (alias->is_taken && is_refused(&alias->target))
        return REFUSE;
    until = bpf_map_lookup_elem(&senders, &from);
    if (until && *until == OPEN)
        return GO_ON;
    socket = socket ? bpf_sk_fullsock(socket) : 0;
    kept = socket ? bpf_sk_storage_get(&sent_from, socket, 0, BPF_SK_STORAGE_GET_F_CREATE) : 0;
    if (!kept)
        return GO_ON;
    *kept = from;
    bpf_map_update_elem(&senders, &from, &open, BPF_ANY);
    return GO_ON;
}

/* Its port may be somebody else's from now on. */
SEC("cgroup/sock_release")
int on_release(struct bpf_sock *socket) {
    struct place *kept = bpf_sk_storage_get(&sent_from, socket, 0, 0);
    __u64 until = bpf_ktime_get_ns() + LINGER_NS;
    if (kept)
        bpf_map_update_elem(&senders, kept, &until, BPF_EXIST);
    return GO_ON;
}

#endif
