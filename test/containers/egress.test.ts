import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DockerEngine } from '../../src/containers/docker/docker-engine.js';
import { type Environment, type EnvironmentIdentity, environmentName } from '../../src/core/containers/environment.js';
import { checkedAddresses } from '../../src/tools/http/http-address.js';
import { BUSYBOX, DOCKER_HOST, describeDocker, TOOLS } from '../harness/docker.js';
import { endedOf, never, newIdentity, noSecrets, shell } from './environments.js';

/** Containers without a network that reach single hosts, each with its control: the same where it happens. */

const docker = new Docker({ socketPath: DOCKER_HOST.slice('unix://'.length) });
const upstream = http.createServer((request, response) => response.end(`hello ${request.headers.host}`));

/** What urllib, which goes by the variables, finds: a status and what is said. */
const FETCH = `python3 -c '
import sys, urllib.request, urllib.error
for url in sys.argv[1:]:
    try:
        with urllib.request.urlopen(url, timeout=10) as found:
            print(found.status, found.read().decode().strip())
    except urllib.error.HTTPError as error:
        print(error.code)
    except Exception as error:
        print(type(error).__name__)
' `;
const DIRECT = `python3 -c '
import socket, sys
try:
    socket.create_connection((sys.argv[1], 80), timeout=1)
    print("connected")
except OSError as error:
    print(error.errno if error.errno is not None else "no answer")
' `;
const UNREACHABLE = '101\n';

describeDocker('egress', () => {
  let dir = '';
  let port = 0;
  let engine: DockerEngine;
  const denied: string[] = [];
  const made: EnvironmentIdentity[] = [];
  const engineAt = (place: string) =>
    new DockerEngine(
      { host: DOCKER_HOST, certPath: null },
      {
        patienceMs: 1000,
        egress: {
          dir: place,
          onDenied: ({ host, port: at, runId }) => denied.push(`${runId} ${host}:${at}`),
          addressesOf: (host, at) => {
            const resolve = async () => (host.endsWith('.test') ? [{ address: '127.0.0.1', family: 4 }] : []);
            // The server of the test counts as public.
            const own = new Set([`allowed.test:${port}`, `other.test:${port}`]);
            return checkedAddresses(new URL(`http://${host}:${at}`), resolve, own);
          },
        },
      },
    );
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'hf-'));
    upstream.listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    port = (upstream.address() as AddressInfo).port;
    engine = engineAt(join(dir, 'e'));
  });
  afterAll(async () => {
    for (const identity of made) await engine.remove(identity, never);
    engine.close();
    upstream.closeAllConnections();
    upstream.close();
    await rm(dir, { recursive: true, force: true });
  });
  const open = (identity: EnvironmentIdentity, by = engine, begun = false): Promise<Environment> => {
    made.push(identity);
    return by.open(identity, { begun, starting: async () => {}, secrets: noSecrets, signal: never });
  };
  const reaching = (rules: readonly string[], image = TOOLS) =>
    newIdentity({ image, limits: { memoryMb: 256 }, security: { allowedEgress: [...rules] } });
  const say = async (environment: Environment, text: string): Promise<string> =>
    endedOf(await environment.run(shell(text), never)).stdout.text;

  it('lets through what is named and nothing else, without a network, and tells what it denied', async () => {
    const identity = reaching([`allowed.test:${port}`, '169.254.169.254']);
    const environment = await open(identity);
    const urls = [`http://allowed.test:${port}/`, `http://other.test:${port}/`, 'http://169.254.169.254/latest'];
    expect(await say(environment, FETCH + urls.join(' '))).toBe(`200 hello allowed.test:${port}\n403\n403\n`);
    expect(denied).toEqual([`${identity.runId} other.test:${port}`, `${identity.runId} 169.254.169.254:80`]);
    expect(await say(environment, 'tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "')).toBe('lo\n');
    // Controls: the same host, once it is named; the same connection, on an open network.
    const other = await open(reaching([`*.test:${port}`]));
    expect(await say(other, FETCH + urls[1])).toBe(`200 hello other.test:${port}\n`);
    const opened = newIdentity({ image: TOOLS, security: { networkMode: 'open' } });
    const network = await open(opened);
    const { Networks } = (await docker.getContainer(environmentName(opened)).inspect()).NetworkSettings;
    const { Gateway = '' } = Networks['bridge'] ?? {};
    expect(await say(environment, `${DIRECT} ${Gateway}`)).toBe(UNREACHABLE);
    expect(await say(network, `${DIRECT} ${Gateway}`)).not.toBe(UNREACHABLE);
  });

  it('tunnels to it, with node in place of python', async () => {
    const environment = await open(reaching([`allowed.test:${port}`]));
    const text = `node -e '
      const ask = (to) => new Promise((done) => {
        require("http").request({ host: "127.0.0.1", port: 3128, method: "CONNECT", path: to })
          .on("connect", (answer, socket) => { console.log(answer.statusCode); socket.destroy(); done(); }).end();
      });
      ask("allowed.test:${port}").then(() => ask("other.test:${port}"));'`;
    expect(await say(environment, text)).toBe('200\n403\n');
  });

  it('goes on after a stop, and with another worker, from where it is', async () => {
    const identity = reaching([`allowed.test:${port}`]);
    const ask = `${FETCH} http://allowed.test:${port}/`;
    expect(await say(await open(identity), ask)).toContain('200');
    await engine.stop(identity, never);
    expect(await say(await open(identity, engine, true), ask)).toContain('200');
    engine.close();
    const elsewhere = engineAt(join(dir, 'f'));
    expect(await say(await open(identity, elsewhere, true), ask)).toContain('200');
    elsewhere.close();
  });

  it('listens again where another worker took its place and is gone', async () => {
    const identity = reaching([`allowed.test:${port}`]);
    const [first, second] = [engineAt(join(dir, 'first', 'egress')), engineAt(join(dir, 'second', 'egress'))];
    const ask = `${FETCH} http://allowed.test:${port}/`;
    try {
      expect(await say(await open(identity, first), ask)).toContain('200');
      expect(await say(await open(identity, second, true), ask)).toContain('200');
      second.close();
      expect(await say(await open(identity, first, true), ask)).toContain('200');
      // Removed by the one whose directory it is not.
      await second.remove(identity, never);
      expect(await readdir(join(dir, 'first', 'egress'))).toEqual([]);
    } finally {
      first.close();
      second.close();
    }
  });

  it('leaves no directory', async () => {
    const identity = reaching([`allowed.test:${port}`]);
    const before = await readdir(join(dir, 'e'));
    await open(identity);
    expect(await readdir(join(dir, 'e'))).toHaveLength(before.length + 1);
    await engine.remove(identity, never);
    expect(await readdir(join(dir, 'e'))).toEqual(before);
  });

  it('is refused where it cannot be, unless the best is enough', async () => {
    const unenforceable = (why: string) => ({
      code: 'environment_unenforceable',
      message: expect.stringContaining(why),
    });
    await expect(open(reaching(['a.test'], BUSYBOX))).rejects.toMatchObject(unenforceable('socat'));
    const best = newIdentity({ bestEffort: true, security: { allowedEgress: ['a.test'] } });
    expect(await say(await open(best), 'echo up')).toBe('up\n');
    const far = engineAt(join(dir, 'x'.repeat(90)));
    await expect(open(reaching(['a.test']), far)).rejects.toMatchObject(unenforceable('too long'));
    const none = new DockerEngine({ host: DOCKER_HOST, certPath: null }, { patienceMs: 1000 });
    await expect(open(reaching(['a.test']), none)).rejects.toMatchObject(unenforceable('no socket can be shared'));
  });
});
