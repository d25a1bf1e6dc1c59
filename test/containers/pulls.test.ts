import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { DockerEngine } from '../../src/containers/docker/docker-engine.js';
import type { PullNews } from '../../src/containers/docker/pull-image.js';
import { imagePolicy } from '../../src/core/containers/image-policy.js';
import { SILENT } from '../../src/engine/engine-config.js';
import { bashTool, createEngine, defineAgent } from '../../src/index.js';
import { createEngineDatabase } from '../harness/database.js';
import { DOCKER_HOST } from '../harness/docker.js';
import { eventsOf, runToRest } from '../harness/engine.js';
import { dockerOf, removeLeft } from '../harness/on-docker.js';
import { call, scripted } from '../harness/script.js';
import { never, newIdentity, noSecrets } from './environments.js';
import { describeWithRegistry, startRegistry, type TestRegistry } from './registry.js';

/** Pulls from a registry that wants a login. Requests to the engine pass through a socket that shows them. */

const SOCKET = DOCKER_HOST.slice('unix://'.length);
const OURS = join(tmpdir(), `holdfast-pulls-${process.pid}.sock`);
const PASSWORD = 'correct-horse-battery';

describeWithRegistry('pulls', () => {
  let registry: TestRegistry;
  let seen: { readonly url: string; readonly auth: string }[] = [];
  const images: string[] = [];
  const proxy = createServer({ maxHeaderSize: 4 * 1024 * 1024 }, (incoming, outgoing) => {
    const { method, url = '', headers } = incoming;
    const auth = Buffer.from(String(headers['x-registry-auth'] ?? ''), 'base64url').toString();
    if (url.includes('/images/create')) seen.push({ url, auth });
    const asked = request({ socketPath: SOCKET, method, path: url, headers }, (reply) => {
      outgoing.writeHead(reply.statusCode ?? 500, reply.headers);
      reply.pipe(outgoing);
    });
    asked.on('error', () => outgoing.destroy());
    incoming.pipe(asked);
  });
  beforeAll(async () => {
    registry = await startRegistry();
    await new Promise<void>((resolve) => proxy.listen(OURS, resolve));
  });
  beforeEach(() => {
    seen = [];
    [registry.login, registry.slow] = [`bot:${PASSWORD}`, null];
  });
  afterAll(async () => {
    for (const image of images)
      await dockerOf(DOCKER_HOST)
        .getImage(image)
        .remove({ force: true })
        .catch(() => {});
    proxy.closeAllConnections();
    proxy.close();
    rmSync(OURS, { force: true });
    await registry.close();
  });
  const published = async (): Promise<string> => {
    const name = `holdfast/pulled-${randomBytes(4).toString('hex')}`;
    images.push(await registry.publish(name, '1'));
    return `${registry.host}/${name}:1`;
  };
  const pulled = async (image: string, passwords: readonly string[]) => {
    const news: PullNews[] = [];
    const asked: string[] = [];
    let next = 0;
    const login = async (host: string, refused: string | null) => {
      asked.push(host);
      const password = refused === null ? passwords[next] : passwords[++next];
      return password === undefined ? null : { username: 'bot', password };
    };
    const engine = new DockerEngine(
      { host: `unix://${OURS}`, certPath: null },
      {
        patienceMs: 1000,
        images: imagePolicy.parse({ pull: 'missing' }),
        pulls: { login, onPull: (one) => news.push(one), tellEachMs: 0 },
      },
    );
    const identity = newIdentity({ image });
    // The socket passes no stream of a program on: nothing runs in the container.
    const options = { begun: false, lookLater: true, starting: async () => {}, secrets: noSecrets, signal: never };
    const opened = engine.open(identity, options);
    const error: unknown = await opened.then(
      () => null,
      (thrown: unknown) => thrown,
    );
    await engine.remove(identity, never);
    return { news, asked, error };
  };

  it('give the login of a registry to the engine, in no address, and tell how far they are', async () => {
    registry.slow = { parts: 8, pauseMs: 150 };
    const image = await published();
    const { news, asked, error } = await pulled(image, [PASSWORD]);
    expect(error).toBeNull();
    expect(asked).toEqual([registry.host]);
    expect(seen.map(({ auth }) => JSON.parse(auth))).toEqual([
      { username: 'bot', password: PASSWORD, serveraddress: registry.host },
    ]);
    expect(seen.map(({ url }) => url).join()).not.toMatch(new RegExp(`${PASSWORD}|authconfig`));
    const parts = news.filter((one) => one.type === 'pulling' && one.totalBytes > 0 && one.doneBytes < one.totalBytes);
    expect(parts.length).toBeGreaterThan(0);
    expect(news.at(-1)).toMatchObject({ type: 'pulled', image, bytes: expect.any(Number) });
  });

  it('read a password again that was refused, and end at once with the same one', async () => {
    const image = await published();
    const none = await pulled(image, []);
    expect(none.error).toMatchObject({ code: 'image_unknown' });
    expect(seen.every(({ auth }) => auth === '' || auth === '{}')).toBe(true);
    seen = [];
    const wrong = await pulled(image, ['wrong-password']);
    expect(wrong.error).toMatchObject({ code: 'image_unknown', message: expect.stringMatching(/login|unauthorized/i) });
    expect(String(wrong.error)).not.toContain('wrong-password');
    expect(seen.length).toBe(1);
    expect(wrong.news.map(({ type }) => type)).toEqual(['failed']);
    const renewed = await pulled(image, ['wrong-password', PASSWORD]);
    expect(renewed.error).toBeNull();
  });

  it('are logged, and a password is in no line and no event', { timeout: 60_000 }, async () => {
    const image = await published();
    const database = await createEngineDatabase('pglite');
    const lines: object[] = [];
    const say = (fields: object): void => void lines.push(fields);
    const agent = (name: string, password: string) => ({
      imagePolicy: {
        pull: 'missing' as const,
        credentials: { [registry.host]: { user: 'bot', password: { place: 'the vault', read: async () => password } } },
      },
      agents: [
        defineAgent({
          agent: new Agent({
            name,
            model: scripted([[call('bash', { command: 'echo works' }, 'b')]]),
            tools: [bashTool()],
          }),
          grants: ['container:exec:shell'],
          environment: { image, limits: { memoryMb: 128, maxProcesses: 64 } },
        }),
      ],
    });
    const runs: string[] = [];
    for (const [name, password, status] of [
      ['refused', 'some-wrong-password', 'failed'],
      ['welcome', PASSWORD, 'completed'],
    ] as const) {
      const engine = await createEngine({
        ...{ ...database.options, workerId: name, dockerHost: DOCKER_HOST, log: { ...SILENT, info: say, warn: say } },
        ...agent(name, password),
      });
      const run = await runToRest(engine, name);
      runs.push(run.id);
      expect(run.status).toBe(status);
      expect(JSON.stringify(await eventsOf(engine, run.id))).not.toContain(password);
      await engine.stop({ graceMs: 1000 });
    }
    await removeLeft(DOCKER_HOST, runs);
    await database.drop();
    const said = lines.map((line) => ({ event: Reflect.get(line, 'event'), image: Reflect.get(line, 'image') }));
    expect(said).toContainEqual({ event: 'image_not_pulled', image });
    expect(said).toContainEqual({ event: 'image_pulled', image });
    expect(JSON.stringify(lines)).not.toMatch(/password|horse/);
  });
});
