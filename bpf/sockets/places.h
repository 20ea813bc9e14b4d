/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only
 * Where programs want to go, and where the end of sessions is. */
#ifndef HANDFAST_PLACES_H
#define HANDFAST_PLACES_H

#include "kernel.h"

#define SOCK_STREAM 1
#define SOCK_DGRAM 2
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define IPPROTO_UDPLITE 136

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
    /* There are aliases (datagrams.h). */
    __u32 leads_datagrams;
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

#endif
