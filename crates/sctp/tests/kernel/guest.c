// The kernel's end of main.rs: the init of a machine that has nothing else. It echoes every message of every association
// in its stream. After one from port 5003 it opens one itself, to port 7000, and sends a hundred messages.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Of linux/sctp.h, which not every system has.
enum { SCTP = 132, SCTP_EVENTS = 11, SCTP_BINDX_ADD = 100, SCTP_SNDRCV = 1, UNORDERED = 1 };
struct sndrcvinfo {
    unsigned short stream, ssn, flags;
    unsigned ppid, context, ttl, tsn, cumtsn;
    int assoc;
};

static char buffer[1 << 20];

static void check(const char *what, int result) {
    if (result < 0)
        printf("GUEST %s: %s\n", what, strerror(errno));
}

static void load(const char *module) {
    int fd = open(module, O_RDONLY);
    check(module, fd < 0 ? fd : (int)syscall(SYS_finit_module, fd, "", 0));
    close(fd);
}

static void set(const char *path, const char *value) {
    int fd = open(path, O_WRONLY);
    check(path, fd < 0 ? fd : (int)write(fd, value, strlen(value)));
    close(fd);
}

static struct sockaddr_in address(const char *text, int port) {
    struct sockaddr_in made = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_aton(text, &made.sin_addr);
    return made;
}

static void up(const char *device, const char *text) {
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct ifreq request = {0};
    struct sockaddr_in ours = address(text, 0), mask = address("255.255.255.0", 0);
    strcpy(request.ifr_name, device);
    memcpy(&request.ifr_addr, &ours, sizeof ours);
    check(device, ioctl(fd, SIOCSIFADDR, &request));
    memcpy(&request.ifr_addr, &mask, sizeof mask);
    check(device, ioctl(fd, SIOCSIFNETMASK, &request));
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    check(device, ioctl(fd, SIOCSIFFLAGS, &request));
    close(fd);
}

static int sctp(void) {
    int fd = socket(AF_INET, SOCK_STREAM, SCTP);
    unsigned char events[14] = {1}; // Each message tells its stream.
    check("events", setsockopt(fd, SCTP, SCTP_EVENTS, events, sizeof events));
    return fd;
}

static int answer(int fd, size_t len, const struct sndrcvinfo *in) {
    char control[CMSG_SPACE(sizeof *in)] = {0};
    struct iovec iov = {buffer, len};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    struct sndrcvinfo out = {.stream = in->stream, .flags = in->flags & UNORDERED, .ppid = in->ppid};
    header->cmsg_level = SCTP;
    header->cmsg_type = SCTP_SNDRCV;
    header->cmsg_len = CMSG_LEN(sizeof out);
    memcpy(CMSG_DATA(header), &out, sizeof out);
    return (int)sendmsg(fd, &message, 0);
}

static void echo(int fd) {
    size_t have = 0;
    struct sndrcvinfo info = {0};
    for (;;) {
        char control[256];
        struct iovec iov = {buffer + have, sizeof buffer - have};
        struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
        ssize_t len = recvmsg(fd, &message, 0);
        if (len <= 0)
            return;
        for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header))
            if (header->cmsg_level == SCTP && header->cmsg_type == SCTP_SNDRCV)
                memcpy(&info, CMSG_DATA(header), sizeof info);
        have += len;
        if (message.msg_flags & MSG_EOR) {
            check("echo", answer(fd, have, &info));
            have = 0;
        }
    }
}

static void open_one(void) {
    int fd = sctp();
    struct sockaddr_in to = address("10.0.0.1", 7000);
    check("connect", connect(fd, (struct sockaddr *)&to, sizeof to));
    for (int n = 0; n < 100; n++)
        check("send", (int)send(fd, buffer, 1 + n * 19, 0));
    shutdown(fd, SHUT_WR);
    while (recv(fd, buffer, sizeof buffer, 0) > 0)
        ;
    close(fd);
}

int main(void) {
    setvbuf(stdout, 0, _IOLBF, 0);
    mkdir("/proc", 0755);
    mount("proc", "/proc", "proc", 0, 0);
    load("/m/crc32c_generic.ko");
    load("/m/libcrc32c.ko");
    load("/m/udp_tunnel.ko");
    load("/m/ip6_udp_tunnel.ko");
    load("/m/sctp.ko");
    load("/m/e1000.ko");
    sleep(1);
    up("lo", "127.0.0.1");
    up("eth0", "10.0.0.2");
    up("eth1", "10.0.1.2");
    // So that a failover takes seconds.
    set("/proc/sys/net/sctp/rto_min", "200");
    set("/proc/sys/net/sctp/rto_initial", "500");
    set("/proc/sys/net/sctp/path_max_retrans", "1");
    set("/proc/sys/net/sctp/hb_interval", "2000");
    int listening = sctp();
    struct sockaddr_in both[] = {address("10.0.0.2", 6000), address("10.0.1.2", 6000)};
    check("bindx", setsockopt(listening, SCTP, SCTP_BINDX_ADD, both, sizeof both));
    check("listen", listen(listening, 5));
    printf("GUEST ready\n");
    for (;;) {
        int fd = accept(listening, 0, 0);
        struct sockaddr_in peer = {0};
        socklen_t len = sizeof peer;
        getpeername(fd, (struct sockaddr *)&peer, &len);
        echo(fd);
        close(fd);
        if (ntohs(peer.sin_port) == 5003) {
            sleep(1);
            open_one();
        }
    }
}
