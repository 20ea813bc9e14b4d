/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only
 * A receiver whose peer is to send nothing for a while: the window of its acknowledgments is zero ([iosl] VI.A), and
 * the last one of each connection is kept, so that the daemon can repeat it. */
#include "peers.h"

#define NEXT (-1)
#define ETHERNET 14
#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86dd
#define IPPROTO_TCP 6

#define SYN 0x02
#define RST 0x04
#define ACK 0x10

/* An IPv6 header and the longest one of TCP. */
#define HEADERS 100

struct flow {
    __u32 remote[4];
    __u32 local[4];
    __be16 remote_port;
    __be16 local_port;
};

/* The headers of the last segment, from IP on, and how much it carried. */
struct last {
    __u16 len;
    __u16 payload;
    __u8 headers[HEADERS];
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 1024);
    __type(key, struct flow);
    __type(value, struct last);
} flows SEC(".maps");

struct counters {
    __u64 closed;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct counters);
} counters SEC(".maps");

/* A place for what is too large for the stack. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct last);
} scratch SEC(".maps");

struct four {
    __u8 version;
    __u8 service;
    __be16 len;
    __be16 id;
    __be16 fragment;
    __u8 ttl;
    __u8 protocol;
    __be16 checksum;
    __be32 source;
    __be32 destination;
};

struct six {
    __be32 version;
    __be16 len;
    __u8 next;
    __u8 hops;
    __be32 source[4];
    __be32 destination[4];
};

struct tcp {
    __be16 source;
    __be16 destination;
    __be32 seq;
    __be32 ack;
    __u8 offset;
    __u8 flags;
    __be16 window;
};

/* Whose segment it is, and how long its IP header and all of it are; 0: it is none. */
static __always_inline int find(struct __sk_buff *skb, struct flow *flow, __u32 *total) {
    struct four four;
    struct six six;
    if (skb->protocol == bpf_htons(ETH_P_IP)) {
        if (bpf_skb_load_bytes(skb, ETHERNET, &four, sizeof(four)))
            return 0;
        /* Options and fragments pass. */
        if (four.version != 0x45 || four.protocol != IPPROTO_TCP || four.fragment & bpf_htons(0x3fff))
            return 0;
        flow->remote[2] = flow->local[2] = bpf_htonl(0xffff);
        flow->remote[3] = four.destination;
        flow->local[3] = four.source;
        *total = bpf_ntohs(four.len);
        return sizeof(four);
    }
    if (skb->protocol != bpf_htons(ETH_P_IPV6) || bpf_skb_load_bytes(skb, ETHERNET, &six, sizeof(six)))
        return 0;
    if (six.next != IPPROTO_TCP)
        return 0;
    __builtin_memcpy(flow->remote, six.destination, sizeof(flow->remote));
    __builtin_memcpy(flow->local, six.source, sizeof(flow->local));
    *total = bpf_ntohs(six.len) + sizeof(six);
    return sizeof(six);
}

static __always_inline void keep(struct __sk_buff *skb, const struct flow *flow, __u32 headers, __u32 total) {
    __u32 first = 0;
    struct last *last = bpf_map_lookup_elem(&scratch, &first);
    if (!last || headers > HEADERS || headers < 40 || total < headers)
        return;
    last->len = headers;
    last->payload = total - headers;
    if (!bpf_skb_load_bytes(skb, ETHERNET, last->headers, headers))
        bpf_map_update_elem(&flows, flow, last, BPF_ANY);
}

SEC("tcx/egress")
int on_egress(struct __sk_buff *skb) {
    struct flow flow = {};
    struct peers *of;
    struct tcp tcp;
    __be16 zero = 0;
    __u32 total, first = 0, begins;
    struct counters *all;
    int ip;
    /* Others' segments, which this machine forwards, are not its to change. */
    if (skb->ingress_ifindex)
        return NEXT;
    ip = find(skb, &flow, &total);
    if (!ip)
        return NEXT;
    of = peers_of_six(flow.remote);
    if (!of)
        return NEXT;
    begins = ETHERNET + ip;
    if (bpf_skb_load_bytes(skb, begins, &tcp, sizeof(tcp)))
        return NEXT;
    /* The window of a SYN is not scaled, and closes nothing that is open. */
    if (!(tcp.flags & ACK) || tcp.flags & (SYN | RST) || !tcp.window)
        return NEXT;
    flow.remote_port = tcp.destination;
    flow.local_port = tcp.source;
    keep(skb, &flow, ip + (tcp.offset >> 4) * 4, total);
    if (!is_away(of))
        return NEXT;
    /* RFC 1624. Where the card makes the checksum, the helper leaves it to that. */
    if (bpf_l4_csum_replace(skb, begins + 16, tcp.window, zero, sizeof(zero)))
        return NEXT;
    bpf_skb_store_bytes(skb, begins + 14, &zero, sizeof(zero), 0);
    all = bpf_map_lookup_elem(&counters, &first);
    if (all)
        __sync_fetch_and_add(&all->closed, 1);
    return NEXT;
}
