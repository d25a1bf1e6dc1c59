import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent } from '@openai/agents';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bashTool, defineAgent } from '../../../src/index.js';
import { BUSYBOX } from '../../harness/docker.js';
import { engineFor, runToRest } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';

/** What is at DOCKER_HOST and is no engine, or one that refuses everything: a run ends by name, and its model is told nothing of it. */

const servers: Server[] = [];
async function answering(answer: (url: string, reply: ServerResponse) => void): Promise<string> {
  const server = createServer(({ url = '' }, reply) => answer(url, reply));
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** An engine that says who it is, and no more. */
const engineNamed = (id: string) => (url: string, reply: ServerResponse) => {
  if (url.includes('/version')) return json(reply, 200, { Version: '1', Components: [] });
  if (url.includes('/info')) return json(reply, 200, { ID: id, NCPU: 1, MemTotal: 1e9, Architecture: 'x86_64' });
  if (!url.includes('/volumes/holdfast-engine')) return json(reply, 500, { message: 'refused' });
  json(reply, 200, { Name: 'holdfast-engine', Labels: { 'holdfast.engine': id } });
};

const json = (reply: ServerResponse, status: number, said: object): void => {
  reply.writeHead(status, { 'content-type': 'application/json' });
  reply.end(JSON.stringify(said));
};

describe('a worker whose engine cannot be used', () => {
  const agent = defineAgent({
    agent: new Agent({
      name: 'coder',
      model: scripted([[call('bash', { command: 'true' }, 'b')]]),
      tools: [bashTool()],
    }),
    ...{ grants: ['container:exec:shell'], environment: { image: BUSYBOX } },
  });
  const t = engineFor('pglite', {
    dockerHost: 'unix:///dev/null/engine.sock',
    dockerPatienceMs: 300,
    agents: [agent],
  });
  const hosts = { page: '', tls: '', full: '' };
  beforeAll(async () => {
    hosts.page = await answering((_url, reply) => reply.end('<html>hello</html>'));
    hosts.tls = await answering((_url, reply) => {
      reply.statusCode = 400;
      reply.end('Client sent an HTTP request to an HTTPS server.\n');
    });
    hosts.full = await answering((url, reply) => {
      if (url.includes('/version')) return json(reply, 200, { Version: '1', Components: [] });
      if (url.includes('/info')) return json(reply, 200, { ID: 'x', NCPU: 1, MemTotal: 1e9, Architecture: 'x86_64' });
      if (url.includes('/containers/json')) return json(reply, 200, []);
      if (url.includes('/volumes/create')) return json(reply, 500, { message: 'no space left on device' });
      return url.includes('/volumes/') ? json(reply, 404, { message: 'no such volume' }) : json(reply, 200, {});
    });
  });
  afterAll(() => {
    for (const server of servers) server.close();
  });

  it('fails the run, and does not go on as if a command had failed', { timeout: 60_000 }, async () => {
    const failed = async () => {
      const { status, error } = await runToRest(t.engine, 'coder');
      return { status, error };
    };
    const ended = (code: string, word: string) => ({
      ...{ status: 'failed', error: { code, message: expect.stringContaining(word) } },
    });
    expect(await failed()).toMatchObject(ended('engine_unreachable', 'ENOTDIR'));
    await t.restart({ dockerHost: hosts.page });
    expect(await failed()).toMatchObject(ended('engine_unreachable', 'no container engine'));
    await t.restart({ dockerHost: hosts.tls });
    expect(await failed()).toMatchObject(ended('engine_unreachable', 'HTTPS server'));
    await t.restart({ dockerHost: hosts.full });
    expect(await failed()).toMatchObject(ended('environment_failed', 'no space left on device'));
  });

  it('asks a new engine at the same address who it is', { timeout: 60_000 }, async () => {
    let answer = engineNamed('first');
    const host = await answering((url, reply) => answer(url, reply));
    await t.restart({ dockerHost: host });
    const known = async () => (await t.engine.listWorkers({ limit: 10 })).items.find(({ id }) => id === 'test');
    await expect.poll(known, { timeout: 10_000 }).toMatchObject({ containers: true, engine: 'first' });
    answer = (_url, reply) => reply.destroy();
    await expect.poll(known, { timeout: 20_000 }).toMatchObject({ containers: false });
    answer = engineNamed('second');
    await expect.poll(known, { timeout: 20_000 }).toMatchObject({ containers: true, engine: 'second' });
  });
});
