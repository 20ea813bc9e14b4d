/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only
 * Programs of a cgroup connect to the end of sessions in place of their targets, and do not see that. The end learns
 * the target by the address that the connection comes from. */
#include "kernel.h"

#define SOCK_STREAM 1
#define IPPROTO_TCP 6

#define REFUSE 0
#define GO_ON 1

/* An address and a port, as on the wire; an IPv4 address as RFC 4291 section 2.5.5.2 maps it. */
struct place {
    __be32 address[4];
    __be16 port;
    __u16 zero;
};

/* Where the end listens. */
struct end {
    struct place four;
    /* Port 0: this machine has no IPv6. */
    struct place six;
    /* What cannot be led to a session is refused. */
    __u32 is_strict;
    __u32 zero;
    /* The network namespace that it is in: in another one its address is somebody else's. */
    __u64 network;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct end);
} end SEC(".maps");

/* Where a socket wanted to go. */
struct {
    __uint(type, BPF_MAP_TYPE_SK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct place);
} targets SEC(".maps");

/* The same by the address that its connection comes from, until the end has asked. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 4096);
    __type(key, struct place);
    __type(value, struct place);
} sources SEC(".maps");

static __always_inline void map_four(struct place *place, __be32 address, __be16 port) {
    place->address[0] = place->address[1] = 0;
    place->address[2] = bpf_htonl(0xffff);
    place->address[3] = address;
    place->port = port;
    place->zero = 0;
}

static __always_inline int is_mapped(const struct place *place) {
    return !place->address[0] && !place->address[1] && place->address[2] == bpf_htonl(0xffff);
}

/* This machine, all of a link, or nowhere: no session leads there. */
static __always_inline int is_near(const struct place *place) {
    __u32 last = bpf_ntohl(place->address[3]);
    if (!place->port)
        return 1;
    if (is_mapped(place))
        return last >> 24 == 127 || !last || last >> 28 == 14;
    if (bpf_ntohl(place->address[0]) >> 24 == 0xff)
        return 1;
    return !place->address[0] && !place->address[1] && !place->address[2] && last <= 1;
}

/* fe80::/10 is of one link of this machine (RFC 4291 section 2.5.6); the other end is at none of them. */
static __always_inline int is_of_link(const struct place *place) {
    return bpf_ntohl(place->address[0]) >> 22 == 0xfe80 >> 6;
}

/* Where a socket is led that wants to go to `place`; NULL: it goes on, and the answer is `verdict`. */
static __always_inline struct place *lead(struct bpf_sock_addr *context, const struct place *place, int *verdict) {
    __u32 first = 0;
    struct end *to = bpf_map_lookup_elem(&end, &first);
    struct place *by, *kept;
    int can_lead;
    *verdict = GO_ON;
    if (!to || context->type != SOCK_STREAM || !context->sk)
        return 0;
    if (is_near(place)) {
        /* It may be used for the second time. */
        bpf_sk_storage_delete(&targets, context->sk);
        return 0;
    }
    by = is_mapped(place) ? &to->four : &to->six;
    can_lead = context->protocol == IPPROTO_TCP && by->port && !is_of_link(place);
    kept = can_lead && bpf_get_netns_cookie(context) == to->network
               ? bpf_sk_storage_get(&targets, context->sk, 0, BPF_SK_STORAGE_GET_F_CREATE)
               : 0;
    if (!kept) {
        bpf_sk_storage_delete(&targets, context->sk);
        *verdict = to->is_strict ? REFUSE : GO_ON;
        return 0;
    }
    *kept = *place;
    return by;
}

SEC("cgroup/connect4")
int on_connect4(struct bpf_sock_addr *context) {
    struct place place, *by;
    int verdict;
    map_four(&place, context->user_ip4, context->user_port);
    by = lead(context, &place, &verdict);
    if (by) {
        context->user_ip4 = by->address[3];
        context->user_port = by->port;
    }
    return verdict;
}

SEC("cgroup/connect6")
int on_connect6(struct bpf_sock_addr *context) {
    struct place place = {}, *by;
    int verdict;
    place.address[0] = context->user_ip6[0];
    place.address[1] = context->user_ip6[1];
    place.address[2] = context->user_ip6[2];
    place.address[3] = context->user_ip6[3];
    place.port = context->user_port;
    by = lead(context, &place, &verdict);
    if (by) {
        context->user_ip6[0] = by->address[0];
        context->user_ip6[1] = by->address[1];
        context->user_ip6[2] = by->address[2];
        context->user_ip6[3] = by->address[3];
        context->user_port = by->port;
    }
    return verdict;
}

SEC("cgroup/getpeername4")
int on_getpeername4(struct bpf_sock_addr *context) {
    struct place *target = context->sk ? bpf_sk_storage_get(&targets, context->sk, 0, 0) : 0;
    if (target) {
        context->user_ip4 = target->address[3];
        context->user_port = target->port;
    }
    return GO_ON;
}

SEC("cgroup/getpeername6")
int on_getpeername6(struct bpf_sock_addr *context) {
    struct place *target = context->sk ? bpf_sk_storage_get(&targets, context->sk, 0, 0) : 0;
    if (target) {
        context->user_ip6[0] = target->address[0];
        context->user_ip6[1] = target->address[1];
        context->user_ip6[2] = target->address[2];
        context->user_ip6[3] = target->address[3];
        context->user_port = target->port;
    }
    return GO_ON;
}

/* Before the end can take the connection: this side of it is there first. */
SEC("sockops")
int on_established(struct bpf_sock_ops *ops) {
    struct place from = {}, *target;
    if (ops->op != BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB || !ops->sk)
        return 1;
    target = bpf_sk_storage_get(&targets, ops->sk, 0, 0);
    if (!target)
        return 1;
    if (ops->family == AF_INET) {
        map_four(&from, ops->local_ip4, 0);
    } else {
        from.address[0] = ops->local_ip6[0];
        from.address[1] = ops->local_ip6[1];
        from.address[2] = ops->local_ip6[2];
        from.address[3] = ops->local_ip6[3];
    }
    from.port = bpf_htons(ops->local_port);
    bpf_map_update_elem(&sources, &from, target, BPF_ANY);
    return 1;
}
