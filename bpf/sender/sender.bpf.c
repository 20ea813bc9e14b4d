/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only
 * A sender whose peer is away for a while: CUBIC that keeps cwnd and ssthresh meanwhile ([iosl] IV.C, single-ended).
 *
 * A connection freezes when its peer is said to be away. It thaws with the first acknowledgment after the return, not
 * with the return: a timer that goes off in between is the outage's, too. */
#include "peers.h"

#define TCP_CONGESTION 13
#define TCP_NODELAY 1
#define TCP_USER_TIMEOUT 18
/* Linux 6.15. */
#define TCP_RTO_MAX_MS 44
/* What that is unless somebody sets it. */
#define RTO_MAX_MS 120000
/* For so long the kernel repeats where nothing is capped (tcp_retries2 of 15, a timeout of 200 ms that doubles). */
#define PATIENCE_MS 924600

#define TCP_ESTABLISHED 1
#define TCP_FIN_WAIT1 4
#define TCP_CLOSE_WAIT 8

/* enum tcp_ca_state */
#define TCP_CA_OPEN 0
#define TCP_CA_LOSS 4

/* enum sk_pacing */
#define SK_PACING_NONE 0
#define SK_PACING_NEEDED 1

#define NAME "handfast_cubic"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inet_connection_sock {
    __u64 icsk_ca_priv[13];
};

struct bictcp {
    __u32 epoch_start;
};

enum tcp_ca_event {
    CA_EVENT_TX_START,
};

struct ack_sample {
    __u32 pkts_acked;
};

struct tcp_congestion_ops {
    __u32 (*ssthresh)(struct sock *sk);
    void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
    void (*set_state)(struct sock *sk, __u8 new_state);
    void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
    void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
    __u32 (*undo_cwnd)(struct sock *sk);
    void (*init)(struct sock *sk);
    char name[16];
};

#pragma clang attribute pop

extern void cubictcp_init(struct sock *sk) __ksym;
extern __u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym;
extern void cubictcp_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern void cubictcp_state(struct sock *sk, __u8 new_state) __ksym;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

/* What a connection had when its peer went away. */
struct kept {
    __u32 cwnd;
    __u32 ssthresh;
    __u8 is_frozen;
    /* Until its recovery is over: what it may send at once would overflow the bottleneck's queue. */
    __u8 is_paced;
};

struct {
    __uint(type, BPF_MAP_TYPE_SK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct kept);
} kept SEC(".maps");

/* What the daemon wants of a run over all connections. */
enum task {
    TASK_ADOPT,
    TASK_FREEZE,
    TASK_KICK,
};

struct orders {
    __u32 task;
    /* TCP_RTO_MAX_MS of connections that are helped; 0: as it is. */
    __u32 rto_max_ms;
    /* Its network namespace: a cgroup has programs of several. */
    __u64 network;
    /* Of those that are there already, only what a daemon before this one has taken: which cgroup the others are of is
     * not seen there. */
    __u32 is_bounded;
    /* Nobody is away for longer. */
    __u32 longest_ms;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct orders);
} orders SEC(".maps");

struct counters {
    __u64 adopted;
    __u64 frozen;
    __u64 thawed;
    __u64 timeouts;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct counters);
} counters SEC(".maps");

#define COUNT(field)                                                                                                   \
    do {                                                                                                               \
        __u32 first = 0;                                                                                               \
        struct counters *all = bpf_map_lookup_elem(&counters, &first);                                                 \
        if (all)                                                                                                       \
            __sync_fetch_and_add(&all->field, 1);                                                                      \
    } while (0)

static __always_inline struct peers *peers_of(struct sock *sk) {
    __be32 address[4];
    if (sk->__sk_common.skc_family == AF_INET)
        return peers_of_four(sk->__sk_common.skc_daddr);
    address[0] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[0];
    address[1] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[1];
    address[2] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[2];
    address[3] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[3];
    return peers_of_six(address);
}

static __always_inline struct kept *freeze(struct sock *sk) {
    struct tcp_sock *tp = (struct tcp_sock *)sk;
    struct kept *own = bpf_sk_storage_get(&kept, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
    if (!own || own->is_frozen)
        return own;
    own->cwnd = tp->snd_cwnd;
    own->ssthresh = tp->snd_ssthresh;
    own->is_frozen = 1;
    COUNT(frozen);
    return own;
}

/* What a frozen connection has kept; NULL: it is not frozen. */
static __always_inline struct kept *frozen(struct sock *sk) {
    struct kept *own;
    if (is_away(peers_of(sk)))
        return freeze(sk);
    own = bpf_sk_storage_get(&kept, sk, 0, 0);
    return own && own->is_frozen ? own : 0;
}

static __always_inline void restore(struct sock *sk, const struct kept *own) {
    struct tcp_sock *tp = (struct tcp_sock *)sk;
    tp->snd_cwnd = own->cwnd;
    tp->snd_ssthresh = own->ssthresh;
}

/* The kernel gives up after tcp_retries2 timeouts. Capped ones are over within seconds, so it is told a time instead.
 * Only while it repeats by its timer: later the time would end connections whose peer does not read, or that are idle
 * (tcp_probe_timer, tcp_keepalive_timer). */
static __always_inline void be_patient(struct sock *sk, __u8 new_state) {
    int limit = 0, timeout = 0;
    if (bpf_getsockopt(sk, SOL_TCP, TCP_USER_TIMEOUT, &timeout, sizeof(timeout)))
        return;
    if (new_state != TCP_CA_LOSS) {
        if (timeout != PATIENCE_MS)
            return;
        timeout = 0;
    } else {
        /* What the program has set stays. */
        if (timeout || bpf_getsockopt(sk, SOL_TCP, TCP_RTO_MAX_MS, &limit, sizeof(limit)) || limit >= RTO_MAX_MS)
            return;
        timeout = PATIENCE_MS;
    }
    bpf_setsockopt(sk, SOL_TCP, TCP_USER_TIMEOUT, &timeout, sizeof(timeout));
}

SEC("struct_ops")
void BPF_PROG(on_init, struct sock *sk) {
    /* By this a run over all connections knows those of this daemon. What it kept before another congestion control
     * was in between is old. */
    struct kept *own = bpf_sk_storage_get(&kept, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
    if (own)
        own->is_frozen = 0;
    COUNT(adopted);
    cubictcp_init(sk);
}

/* A loss of the outage is no congestion. Where recovery ends, the kernel sets cwnd to this. */
SEC("struct_ops")
__u32 BPF_PROG(on_loss, struct sock *sk) {
    struct kept *own = frozen(sk);
    if (!own)
        return cubictcp_recalc_ssthresh(sk);
    return own->cwnd > own->ssthresh ? own->cwnd : own->ssthresh;
}

/* What it kept for a recovery that is over. */
static __always_inline void unpace(struct sock *sk, struct kept *own) {
    if (!own || !own->is_paced)
        return;
    sk->sk_pacing_status = SK_PACING_NONE;
    own->is_paced = 0;
}

SEC("struct_ops")
void BPF_PROG(on_state, struct sock *sk, __u8 new_state) {
    struct kept *own;
    be_patient(sk, new_state);
    /* Also of one that is frozen: the next state may come after its thaw, or never. */
    if (new_state == TCP_CA_OPEN)
        unpace(sk, bpf_sk_storage_get(&kept, sk, 0, 0));
    own = frozen(sk);
    if (own) {
        if (new_state != TCP_CA_LOSS)
            return;
        /* The timeout has just set cwnd to one. It repeats the first segment only, whatever cwnd is. */
        restore(sk, own);
        COUNT(timeouts);
        if (sk->sk_pacing_status == SK_PACING_NONE) {
            sk->sk_pacing_status = SK_PACING_NEEDED;
            own->is_paced = 1;
        }
        return;
    }
    cubictcp_state(sk, new_state);
}

/* Where nothing is in flight, nothing was lost, and no acknowledgment is to come: what it kept would be old when one
 * does. */
static __always_inline void thaw_idle(const struct tcp_sock *tp, struct kept *own) {
    if (tp->packets_out)
        return;
    own->is_frozen = 0;
    COUNT(thawed);
}

SEC("struct_ops")
void BPF_PROG(on_event, struct sock *sk, enum tcp_ca_event event) {
    struct kept *own = bpf_sk_storage_get(&kept, sk, 0, 0);
    /* It was idle, and a daemon that has died did not say that its peer is back. */
    if (event == CA_EVENT_TX_START && own && own->is_frozen && !is_away(peers_of(sk)))
        thaw_idle((struct tcp_sock *)sk, own);
    cubictcp_cwnd_event(sk, event);
}

SEC("struct_ops")
void BPF_PROG(on_acked, struct sock *sk, const struct ack_sample *sample) {
    /* A round trip that contains the outage says nothing of the path. */
    if (!frozen(sk))
        cubictcp_acked(sk, sample);
}

SEC("struct_ops")
void BPF_PROG(on_ack, struct sock *sk, __u32 ack, __u32 acked) {
    struct kept *own = frozen(sk);
    struct bictcp *cubic;
    if (!own) {
        cubictcp_cong_avoid(sk, ack, acked);
        return;
    }
    restore(sk, own);
    if (is_away(peers_of(sk)))
        return;
    own->is_frozen = 0;
    /* CUBIC's time does not go on while nothing is sent (RFC 9438 section 4.2: t is since the epoch's beginning). */
    cubic = (struct bictcp *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
    cubic->epoch_start = 0;
    COUNT(thawed);
}

SEC("struct_ops")
__u32 BPF_PROG(on_undo, struct sock *sk) {
    return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops cubic = {
    .init = (void *)on_init,
    .ssthresh = (void *)on_loss,
    .set_state = (void *)on_state,
    .cwnd_event = (void *)on_event,
    .pkts_acked = (void *)on_acked,
    .cong_avoid = (void *)on_ack,
    .undo_cwnd = (void *)on_undo,
    .name = NAME,
};

static __always_inline struct orders *ordered(void) {
    __u32 first = 0;
    return bpf_map_lookup_elem(&orders, &first);
}

/* New connections of the cgroup. */
SEC("sockops")
int on_established(struct bpf_sock_ops *ops) {
    char name[] = NAME;
    struct orders *order = ordered();
    struct peers *of;
    int limit;
    __be32 address[4];
    if (ops->op != BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB && ops->op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
        return 1;
    if (!order || bpf_get_netns_cookie(ops) != order->network)
        return 1;
    if (ops->family == AF_INET) {
        of = peers_of_four(ops->remote_ip4);
    } else {
        address[0] = ops->remote_ip6[0];
        address[1] = ops->remote_ip6[1];
        address[2] = ops->remote_ip6[2];
        address[3] = ops->remote_ip6[3];
        of = peers_of_six(address);
    }
    if (!of || bpf_setsockopt(ops, SOL_TCP, TCP_CONGESTION, name, sizeof(name)))
        return 1;
    limit = order->rto_max_ms;
    if (limit)
        bpf_setsockopt(ops, SOL_TCP, TCP_RTO_MAX_MS, &limit, sizeof(limit));
    return 1;
}

static __always_inline int has_name(struct tcp_sock *tp) {
    static const char own[] = NAME;
    char name[16] = {};
    if (bpf_getsockopt(tp, SOL_TCP, TCP_CONGESTION, name, sizeof(name)))
        return 0;
    return !bpf_strncmp(name, sizeof(name), own);
}

static __always_inline void limit_timeout(struct tcp_sock *tp, int limit) {
    if (limit)
        bpf_setsockopt(tp, SOL_TCP, TCP_RTO_MAX_MS, &limit, sizeof(limit));
}

/* A connection of a daemon that has died has the same name, and its maps: the kernel compares what is registered, and
 * begins anew with this one. What has it already stays as it is. */
static __always_inline void adopt(struct tcp_sock *tp, const struct orders *order) {
    char name[] = NAME;
    if (order->is_bounded && !has_name(tp))
        return;
    if (bpf_setsockopt(tp, SOL_TCP, TCP_CONGESTION, name, sizeof(name)))
        return;
    limit_timeout(tp, order->rto_max_ms);
}

/* A sender whose window is closed gives up after 15 probes that nobody answers (tcp_probe_timer), or where data is in
 * flight once nothing has come for two longest timeouts (tcp_rtx_probe0_timed_out). Both have to last as long as a peer
 * may be away, as far as RTO_MAX_MS allows: of 15 probes that double, six or more wait for the longest time. */
#define LATE_PROBES 6
/* What is waited for comes a round trip after the return. */
#define MARGIN_MS 1000

static __always_inline __u32 longest_timeout(const struct tcp_sock *tp, const struct orders *order) {
    __u32 limit = 0;
    if (!tp->packets_out && tp->write_seq != tp->snd_nxt)
        limit = order->longest_ms / LATE_PROBES;
    else if (tp->packets_out && !tp->snd_wnd)
        limit = order->longest_ms / 2 + MARGIN_MS;
    if (limit > RTO_MAX_MS)
        limit = RTO_MAX_MS;
    return limit > order->rto_max_ms ? limit : order->rto_max_ms;
}

/* Whether the link is back the peer's acknowledgment says. It has to be asked now, not when the timer goes off: to set
 * TCP_NODELAY sends what waits, and its acknowledgment starts the recovery. */
static __always_inline void kick(struct tcp_sock *tp) {
    int was = 0, is = 1;
    if (bpf_getsockopt(tp, SOL_TCP, TCP_NODELAY, &was, sizeof(was)))
        return;
    bpf_setsockopt(tp, SOL_TCP, TCP_NODELAY, &is, sizeof(is));
    if (!was)
        bpf_setsockopt(tp, SOL_TCP, TCP_NODELAY, &was, sizeof(was));
}

/* Connections that are there already. */
SEC("iter/tcp")
int look_at(struct bpf_iter__tcp *context) {
    struct sock_common *common = context->sk_common;
    struct orders *order = ordered();
    struct tcp_sock *tp;
    struct kept *own;
    __u8 state;
    if (!common || !order)
        return 0;
    state = common->skc_state;
    if (state != TCP_ESTABLISHED && state != TCP_CLOSE_WAIT && state != TCP_FIN_WAIT1)
        return 0;
    tp = bpf_skc_to_tcp_sock(common);
    if (!tp)
        return 0;
    if (order->task == TASK_ADOPT) {
        if (peers_of((struct sock *)tp))
            adopt(tp, order);
        return 0;
    }
    own = bpf_sk_storage_get(&kept, tp, 0, 0);
    if (!own || !has_name(tp))
        return 0;
    if (order->task == TASK_FREEZE) {
        if (is_away(peers_of((struct sock *)tp))) {
            freeze((struct sock *)tp);
            limit_timeout(tp, longest_timeout(tp, order));
        }
    } else if (!is_away(peers_of((struct sock *)tp))) {
        /* Also of one that an acknowledgment has thawed by now. */
        limit_timeout(tp, order->rto_max_ms);
        if (!own->is_frozen)
            return 0;
        thaw_idle(tp, own);
        kick(tp);
    }
    return 0;
}
