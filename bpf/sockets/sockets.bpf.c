/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only
 * Programs of a cgroup connect to the end of sessions in place of their targets, and do not see that. The end learns
 * the target of a connection by the address that it comes from, and that of a datagram by the address to which it
 * came (datagrams.h). */
#include "datagrams.h"
#include "places.h"

/* Where a socket wanted to go, by the address that its connection comes from, until the end has asked. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 4096);
    __type(key, struct place);
    __type(value, struct place);
} sources SEC(".maps");

/* Where a socket of TCP is led that wants to go to `place`; NULL: it goes on, and the answer is `verdict`. */
static __always_inline struct place *lead_stream(struct bpf_sock_addr *context, const struct place *place,
                                                 int *verdict) {
    __u32 first = 0;
    struct end *to = bpf_map_lookup_elem(&end, &first);
    struct place *by, *kept;
    int can_lead;
    *verdict = GO_ON;
    if (!to || !context->sk)
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

static __always_inline struct place *lead(struct bpf_sock_addr *context, const struct place *place, int *verdict) {
    *verdict = GO_ON;
    if (context->type == SOCK_STREAM)
        return lead_stream(context, place, verdict);
    return context->type == SOCK_DGRAM ? lead_datagrams(context, place, verdict) : 0;
}

static __always_inline void place_of_six(const struct bpf_sock_addr *context, struct place *place) {
    place->address[0] = context->user_ip6[0];
    place->address[1] = context->user_ip6[1];
    place->address[2] = context->user_ip6[2];
    place->address[3] = context->user_ip6[3];
    place->port = context->user_port;
    place->zero = 0;
}

static __always_inline void show_four(struct bpf_sock_addr *context, const struct place *place) {
    context->user_ip4 = place->address[3];
    context->user_port = place->port;
}

static __always_inline void show_six(struct bpf_sock_addr *context, const struct place *place) {
    context->user_ip6[0] = place->address[0];
    context->user_ip6[1] = place->address[1];
    context->user_ip6[2] = place->address[2];
    context->user_ip6[3] = place->address[3];
    context->user_port = place->port;
}

SEC("cgroup/connect4")
int on_connect4(struct bpf_sock_addr *context) {
    struct place place, *by;
    int verdict;
    map_four(&place, context->user_ip4, context->user_port);
    by = lead(context, &place, &verdict);
    if (by)
        show_four(context, by);
    return verdict;
}

SEC("cgroup/connect6")
int on_connect6(struct bpf_sock_addr *context) {
    struct place place, *by;
    int verdict;
    place_of_six(context, &place);
    by = lead(context, &place, &verdict);
    if (by)
        show_six(context, by);
    return verdict;
}

SEC("cgroup/getpeername4")
int on_getpeername4(struct bpf_sock_addr *context) {
    struct place *target = context->sk ? bpf_sk_storage_get(&targets, context->sk, 0, 0) : 0;
    if (target)
        show_four(context, target);
    return GO_ON;
}

SEC("cgroup/getpeername6")
int on_getpeername6(struct bpf_sock_addr *context) {
    struct place *target = context->sk ? bpf_sk_storage_get(&targets, context->sk, 0, 0) : 0;
    if (target)
        show_six(context, target);
    return GO_ON;
}

SEC("cgroup/sendmsg4")
int on_sendmsg4(struct bpf_sock_addr *context) {
    struct place place, *by;
    int verdict;
    map_four(&place, context->user_ip4, context->user_port);
    by = alias_of(context, &place, &verdict);
    if (by)
        show_four(context, by);
    return verdict;
}

/* An IPv4 address in a socket of IPv6 is seen by `on_sendmsg4`. */
SEC("cgroup/sendmsg6")
int on_sendmsg6(struct bpf_sock_addr *context) {
    struct place place, *by;
    int verdict;
    place_of_six(context, &place);
    by = alias_of(context, &place, &verdict);
    if (by)
        show_six(context, by);
    return verdict;
}

SEC("cgroup/recvmsg4")
int on_recvmsg4(struct bpf_sock_addr *context) {
    struct place from, *target;
    map_four(&from, context->user_ip4, context->user_port);
    target = target_of(context, &from);
    if (target && is_mapped(target))
        show_four(context, target);
    return GO_ON;
}

SEC("cgroup/recvmsg6")
int on_recvmsg6(struct bpf_sock_addr *context) {
    struct place from, *target;
    place_of_six(context, &from);
    target = target_of(context, &from);
    if (target)
        show_six(context, target);
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
