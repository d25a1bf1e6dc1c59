/** Programs for the image of tools, each of which prints what came of system calls: `open` or the name of the error. */

const BEGIN = `
import ctypes, errno, platform
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.argtypes = [ctypes.c_long] * 7
def call(*args):
    ctypes.set_errno(0)
    made = libc.syscall(*(list(args) + [0] * (7 - len(args))))
    return 'open' if made >= 0 else errno.errorcode[ctypes.get_errno()]
def sock(family, kind=1):
    return call(41 if platform.machine() == 'x86_64' else 198, family, kind, 0)
`;

const as = (program: string): string => `python3 -c '${(BEGIN + program).replaceAll("'", '"')}'`;

/** Sockets by their family; the last has a number whose lower half, which is all that the kernel looks at, is that of AF_VSOCK. */
export const SOCKETS = as(`
print(*[sock(family) for family in (1, 2, 10)], sock(16, 3))
print(*[sock(family) for family in (40, 38, 31, 21, 30, 40 + 2 ** 32)])
`);
export const SOCKETS_BOUND = 'open open open open\nEPERM EPERM EPERM EPERM EPERM EPERM\n';

export const IO_URING = as('print(*[call(number, 1, 0) for number in (425, 426, 427)])');
export const IO_URING_BOUND = 'EPERM EPERM EPERM\n';

/** Where the machine has such: the same as a program of 32 bits asks for it: socketcall(SYS_SOCKET, [family, SOCK_STREAM, 0]) and socket(family, …), by int 0x80. */
export const IN_32_BITS = as(`
def int80(number, first, second, third):
    word = lambda value: value.to_bytes(4, 'little')
    code = b'\\x53\\xb8' + word(number) + b'\\xbb' + word(first) + b'\\xb9' + word(second) + b'\\xba' + word(third) + b'\\xcd\\x80\\x5b\\xc3'
    ctypes.memmove(page, code, len(code))
    made = ctypes.CFUNCTYPE(ctypes.c_int)(page)()
    return 'open' if made >= 0 else errno.errorcode[-made]
def socketcall(family):
    ctypes.memmove(page + 1024, (ctypes.c_uint32 * 3)(family, 1, 0), 12)
    return int80(102, 1, page + 1024, 0)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
# In the lower half, which is all that such a program can name.
page = libc.mmap(None, 4096, 7, 0x22 | 0x40, -1, 0)
print(socketcall(40), socketcall(2), int80(359, 40, 1, 0), int80(359, 2, 1, 0))
`);
export const IN_32_BITS_BOUND = 'ENOSYS ENOSYS EPERM open\n';

/** What programs do all the time. */
export const USUAL = `set -e
python3 -c 'import socket, subprocess, threading
one = threading.Thread(target=print, args=("thread",)); one.start(); one.join()
print(subprocess.run(["echo", "child"], capture_output=True, text=True).stdout.strip())
a, b = socket.socketpair(); a.send(b"pair"); print(b.recv(4).decode())
server = socket.create_server(("127.0.0.1", 0)); socket.create_connection(server.getsockname()); print("connected")'
node -e 'new (require("node:worker_threads").Worker)("console.log(1 + 1)", { eval: true })'
git init --quiet repository && git -C repository status --short && echo repository
`;
export const USUAL_SAID = 'thread\nchild\npair\nconnected\n2\nrepository\n';

/** Whether programs of 32 bits can be asked for here as above. */
export const HAS_32_BITS = process.arch === 'x64';
