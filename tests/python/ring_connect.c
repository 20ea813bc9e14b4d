/* Connects by io_uring, asks for /part and writes what comes to standard output. */
#include <arpa/inet.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BOTH (PROT_READ | PROT_WRITE)

int main(int argc, char **argv) {
    struct io_uring_params about;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[2]))};
    static char buffer[1 << 16];
    long got;
    memset(&about, 0, sizeof(about));
    inet_pton(AF_INET, argv[1], &to.sin_addr);
    int socket_fd = socket(AF_INET, SOCK_STREAM, 0);
    int ring = syscall(SYS_io_uring_setup, 4, &about);
    if (ring < 0) {
        perror("io_uring_setup");
        return 3;
    }
    char *submissions = mmap(0, about.sq_off.array + 4 * sizeof(unsigned), BOTH, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    struct io_uring_sqe *entry = mmap(0, 4 * sizeof(*entry), BOTH, MAP_SHARED, ring, IORING_OFF_SQES);
    char *completions = mmap(0, about.cq_off.cqes + 8 * sizeof(struct io_uring_cqe), BOTH, MAP_SHARED, ring, IORING_OFF_CQ_RING);
    memset(entry, 0, sizeof(*entry));
    entry->opcode = IORING_OP_CONNECT;
    entry->fd = socket_fd;
    entry->addr = (unsigned long)&to;
    entry->off = sizeof(to);
    ((unsigned *)(submissions + about.sq_off.array))[0] = 0;
    __atomic_store_n((unsigned *)(submissions + about.sq_off.tail), 1, __ATOMIC_RELEASE);
    syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, 0, 0);
    int result = ((struct io_uring_cqe *)(completions + about.cq_off.cqes))[0].res;
    if (result) {
        fprintf(stderr, "connect: %s\n", strerror(-result));
        return 1;
    }
    dprintf(socket_fd, "GET /part HTTP/1.0\r\n\r\n");
    while ((got = read(socket_fd, buffer, sizeof(buffer))) > 0)
        write(1, buffer, got);
    return got < 0;
}
