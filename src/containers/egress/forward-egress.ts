import { HoldfastError } from '../../core/errors/errors.js';
import { type EngineConnection, StreamCut } from '../docker/engine-connection.js';
import { runAttached } from '../exec/exec.js';
import { EGRESS_SIGN, EGRESS_SOCKET, type Shared, unshared } from './egress.js';

/** Where programs in the container find the proxy. */
const PORT = 3128;
const WITHIN_MS = 30_000;

const IN_NODE = `
const net = require("net");
net.createServer({ allowHalfOpen: true }, (here) => {
  const there = net.connect({ path: process.argv[1], allowHalfOpen: true });
  const end = () => { here.destroy(); there.destroy(); };
  here.on("error", end).pipe(there);
  there.on("error", end).pipe(here);
}).listen(${PORT}, "127.0.0.1");
`;

const IN_PYTHON = `
import socket, sys, threading
def pump(source, target):
    try:
        while True:
            piece = source.recv(65536)
            if not piece:
                break
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        source.close()
        target.close()
def serve(here):
    there = socket.socket(socket.AF_UNIX)
    try:
        there.connect(sys.argv[1])
    except OSError:
        here.close()
        return
    back = threading.Thread(target=pump, args=(there, here), daemon=True)
    back.start()
    pump(here, there)
    back.join()
    here.close()
    there.close()
server = socket.create_server(("127.0.0.1", ${PORT}), backlog=128)
while True:
    here, _ = server.accept()
    threading.Thread(target=serve, args=(here,), daemon=True).start()
`;

/**
 * Says what the sign of the directory is, and forwards a port of the container's own loopback to the socket, unless someone does. Arguments:
 * sign, socket, programs. 3 is for an image that has nothing to do so with.
 */
const FORWARD = `
cat "$1" || exit 2
up() { grep -qs "0100007F:${PORT.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000 0A" /proc/net/tcp; }
up && exit 0
if command -v socat >/dev/null 2>&1; then
  socat TCP-LISTEN:${PORT},bind=127.0.0.1,fork,reuseaddr "UNIX-CONNECT:$2" </dev/null >/dev/null 2>&1 &
elif command -v python3 >/dev/null 2>&1; then
  python3 -c "$3" "$2" </dev/null >/dev/null 2>&1 &
elif command -v node >/dev/null 2>&1; then
  node -e "$4" "$2" </dev/null >/dev/null 2>&1 &
else
  exit 3
fi
tries=0
until up; do
  tries=$((tries + 1))
  [ $tries -gt 200 ] && exit 4
  sleep 0.05
done
`;

interface Place {
  readonly engine: EngineConnection;
  readonly container: string;
  readonly user: string;
  readonly signal: AbortSignal;
}

/** Makes sure that programs in a container reach the proxy of this process, after each start of it. Throws `environment_unenforceable`. */
export async function forwardEgress({ engine, container, user, signal }: Place, { sign }: Shared): Promise<void> {
  const argv = ['sh', '-c', FORWARD, 'sh', EGRESS_SIGN, EGRESS_SOCKET, IN_PYTHON, IN_NODE];
  const result = await runAttached(
    engine,
    { container, user, cwd: '/', argv, maxBytes: 4096, timeoutMs: WITHIN_MS },
    signal,
  );
  if (result.exitCode === null && !result.timedOut) throw new StreamCut();
  if (result.stdout.toString('utf8') !== sign) throw unshared('the engine is not on the machine of this worker');
  if (result.exitCode === 0) return;
  throw result.exitCode === 3
    ? new HoldfastError(
        'environment_unenforceable',
        'security.allowedEgress: the image has none of socat, python3 and node. One of them has to forward to the proxy.',
      )
    : unshared(`nothing listens on port ${PORT} of the container`);
}

/** Variables that most programs look at. */
export const egressVariables = (): Readonly<Record<string, string>> => {
  const proxy = `http://127.0.0.1:${PORT}`;
  const none = 'localhost,127.0.0.1,::1';
  return {
    ...{ HTTP_PROXY: proxy, HTTPS_PROXY: proxy, NO_PROXY: none, http_proxy: proxy, https_proxy: proxy, no_proxy: none },
    NODE_USE_ENV_PROXY: '1',
  };
};
