import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { describe } from 'vitest';
import { tarEntries } from '../../src/containers/files/tar-entries.js';
import { BUSYBOX, DOCKER_HOST, describeDocker, hasDocker } from '../harness/docker.js';
import { dockerOf } from '../harness/on-docker.js';

/**
 * A registry that the engine of the tests pulls from. It speaks what a pull needs of the distribution API
 * (github.com/opencontainers/distribution-spec). The engine has a network of its own, where a small program passes connections on.
 */

const SOCKET = DOCKER_HOST.slice('unix://'.length);
const PID_FILE = join(dirname(SOCKET), 'engine.pid');
const MANIFEST = 'application/vnd.docker.distribution.manifest.v2+json';
const PASS_ON = `
const net = require('node:net');
const [, socket, port] = process.argv;
net.createServer((from) => {
  const to = net.connect(socket);
  for (const end of [from, to]) end.on('error', () => [from, to].map((one) => one.destroy()));
  from.pipe(to).pipe(from);
}).listen(Number(port), '127.0.0.1', () => console.log('listens'));
`;

/** Runs a suite where the engine was started by .ci/docker: only then this machine has a way into its network. */
export function describeWithRegistry(name: string, suite: () => void): void {
  if (!hasDocker || existsSync(PID_FILE)) describeDocker(name, suite);
  else describe.skip(`${name} (the engine has no ${PID_FILE}: only one of .ci/docker reaches the registry)`, suite);
}

interface Blob {
  readonly type: string;
  readonly bytes: Buffer;
}

export interface TestRegistry {
  /** As names of images have it. */
  readonly host: string;
  /** Of each request: method, path, and user and password. */
  readonly asked: readonly string[];
  /** Those who may pull, as `user:password`; null: everyone. */
  login: string | null;
  /** How layers are sent: in so many parts, with a pause after each. */
  slow: { readonly parts: number; readonly pauseMs: number } | null;
  /** Puts a new image of busybox under a name and a tag. Returns its id. */
  publish(name: string, tag: string): Promise<string>;
  close(): Promise<void>;
}

const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** A layer with one file. */
function layerOf(bytes: Buffer): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-layer-'));
  try {
    writeFileSync(join(folder, 'made'), bytes);
    return execFileSync('tar', ['-C', folder, '-c', 'made'], { maxBuffer: 2 * bytes.length });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The layers of an image, and its configuration. */
async function savedImage(image: string): Promise<{ readonly config: object; readonly layers: readonly Buffer[] }> {
  const files = new Map<string, Buffer>();
  const archive = await dockerOf(DOCKER_HOST).getImage(image).get();
  for await (const { path, isFile, content } of tarEntries(archive as unknown as AsyncIterable<Buffer>)) {
    const parts: Buffer[] = [];
    if (isFile) for await (const part of content()) parts.push(part);
    files.set(path, Buffer.concat(parts));
  }
  const file = (path: string): Buffer => files.get(path) ?? Buffer.alloc(0);
  const [{ Config, Layers }] = JSON.parse(String(file('manifest.json')));
  return { config: JSON.parse(String(file(Config))), layers: Layers.map(file) };
}

export async function startRegistry(): Promise<TestRegistry> {
  const blobs = new Map<string, Blob>();
  const manifests = new Map<string, string>();
  const asked: string[] = [];
  const socket = join(tmpdir(), `holdfast-registry-${process.pid}-${randomBytes(3).toString('hex')}.sock`);
  const port = 20_000 + (randomBytes(2).readUInt16BE() % 12_000);
  const host = `127.0.0.1:${port}`;

  const send = async (reply: ServerResponse, method: string | undefined, { type, bytes }: Blob): Promise<void> => {
    const head = { 'content-type': type, 'content-length': bytes.length, 'docker-content-digest': digestOf(bytes) };
    reply.writeHead(200, head);
    if (method === 'HEAD') return void reply.end();
    const parts = registry.slow?.parts ?? 1;
    const size = Math.ceil(bytes.length / parts);
    for (let at = 0; at < bytes.length; at += size) {
      reply.write(bytes.subarray(at, at + size));
      await sleep(registry.slow?.pauseMs ?? 0);
    }
    reply.end();
  };
  const answer = (request: IncomingMessage, reply: ServerResponse): void => {
    const { method, url = '', headers } = request;
    const given = Buffer.from((headers.authorization ?? '').replace(/^Basic /, ''), 'base64').toString();
    asked.push(`${method} ${url} ${given}`.trim());
    if (registry.login !== null && registry.login !== given) {
      reply.writeHead(401, { 'www-authenticate': 'Basic realm="tests"', 'content-type': 'application/json' });
      return void reply.end(JSON.stringify({ errors: [{ code: 'UNAUTHORIZED', message: 'no such login' }] }));
    }
    if (url === '/v2/') return void reply.end('{}');
    const [, name = '', kind, reference = ''] = /^\/v2\/(.+)\/(manifests|blobs)\/(.+)$/.exec(url) ?? [];
    const found = blobs.get(kind === 'manifests' ? (manifests.get(`${name}:${reference}`) ?? reference) : reference);
    if (found !== undefined) return void send(reply, method, found);
    reply.writeHead(404, { 'content-type': 'application/json' });
    reply.end(JSON.stringify({ errors: [{ code: 'MANIFEST_UNKNOWN', message: 'manifest unknown' }] }));
  };
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  const inside = ['--target', readFileSync(PID_FILE, 'utf8').trim(), '--net', process.execPath, '-e', PASS_ON];
  const passing: ChildProcess = spawn('nsenter', [...inside, socket, String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((resolve, reject) => {
    passing.stdout?.once('data', resolve);
    passing.once('exit', (code) => reject(new Error(`what passes connections on has ended with ${code}`)));
  });

  const keep = (type: string, bytes: Buffer) => {
    const digest = digestOf(bytes);
    blobs.set(digest, { type, bytes });
    return { mediaType: type, size: bytes.length, digest };
  };
  const registry: TestRegistry = {
    ...{ host, asked, login: null, slow: null },
    publish: async (name, tag) => {
      const { config, layers: known } = await savedImage(BUSYBOX);
      // A layer that no engine has, so that something is to be sent.
      const layers = [...known, layerOf(randomBytes(3 * 1024 * 1024))];
      const own = {
        ...{ ...config, created: new Date().toISOString() },
        rootfs: { type: 'layers', diff_ids: layers.map(digestOf) },
      };
      const manifest = {
        ...{ schemaVersion: 2, mediaType: MANIFEST },
        config: keep('application/vnd.docker.container.image.v1+json', Buffer.from(JSON.stringify(own))),
        layers: layers.map((layer) =>
          keep('application/vnd.docker.image.rootfs.diff.tar.gzip', gzipSync(layer, { level: 1 })),
        ),
      };
      const { digest } = keep(MANIFEST, Buffer.from(JSON.stringify(manifest)));
      manifests.set(`${name}:${tag}`, digest);
      return manifest.config.digest;
    },
    close: async () => {
      passing.kill();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(socket, { force: true });
    },
  };
  return registry;
}
