import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Program } from '../cli/program.js';
import { freePort } from '../harness/free-port.js';

/** Two cells behind a front of HAProxy, each a process of its own. */

const HAS_HAPROXY = spawnSync('haproxy', ['-v']).error === undefined;
const IS_REQUIRED = (process.env['HOLDFAST_TEST_REQUIRE'] ?? '').split(',').includes('haproxy');
if (!HAS_HAPROXY && IS_REQUIRED) throw new Error('haproxy is not installed, and HOLDFAST_TEST_REQUIRE names haproxy');

const CONFIG = `
import { Agent } from '@openai/agents';
import { z } from 'zod';
import { defineConfig, defineTool, functionModel } from 'holdfast';

const pay = defineTool({
  name: 'pay', description: 'Pays.', input: z.object({ amount: z.number() }), output: z.object({ paid: z.number() }),
  approval: 'It costs money.', execute: ({ amount }) => ({ paid: amount }),
});
const payer = functionModel('payer', ({ input }) =>
  input.some((item) => item.type === 'function_call_result')
    ? [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'done' }] }]
    : [{ type: 'function_call', callId: 'c1', name: 'pay', arguments: '{"amount":5}', status: 'completed' }]);
export default defineConfig({ agents: [
  { agent: new Agent({ name: 'payer', model: payer, tools: [pay] }), grants: ['tool:call:pay'] },
] });
`;

const CELLS = ['a', 'b'] as const;
type Cell = (typeof CELLS)[number];
const TOKENS = { a: 'token-of-acme-0123456789', b: 'token-of-globex-0123456789' } as const;
const TENANTS = { a: 'acme', b: 'globex' } as const;
const FRONT = join(import.meta.dirname, '../../deploy/cells/haproxy.cfg');

const ELSEWHERE = 'token-of-a-cell-elsewhere';

interface Answer {
  readonly status: number;
  readonly body: { readonly [field: string]: unknown };
}

describe.runIf(HAS_HAPROXY)('Two cells behind a front', () => {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-cells-'));
  const ports = new Map<Cell, number>();
  const cells = new Map<Cell, Program>();
  let front: ChildProcess;
  let url = '';

  const start = async (cell: Cell): Promise<void> => {
    const tokens = [{ token: TOKENS[cell], actor: TENANTS[cell], role: 'admin', tenant: TENANTS[cell] }];
    const program = new Program(['serve', '--port', String(ports.get(cell))], {
      cwd: dir,
      env: { HOLDFAST_DATA_DIR: join(dir, cell), HOLDFAST_TOKENS: JSON.stringify(tokens) },
    });
    cells.set(cell, program);
    await program.printed(/^url +(\S+)\n[\s\S]*^agents/m);
  };
  const ask = async (base: string, token: string, path: string, body?: object): Promise<Answer> => {
    const answer = await fetch(`${base}${path}`, {
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text.startsWith('{') ? JSON.parse(text) : { text } };
  };
  const asked = (cell: Cell, path: string, body?: object) => ask(url, TOKENS[cell], `/api/v1${path}`, body);
  const paused = async (cell: Cell): Promise<string> => {
    const { body } = await asked(cell, '/runs', { agent: 'payer', input: 'go' });
    const waited = await asked(cell, `/runs/${body['id']}?wait=30`);
    expect(waited.body).toMatchObject({ status: 'paused' });
    return String(body['id']);
  };
  const approve = async (cell: Cell, run: string): Promise<unknown> => {
    const { body } = await asked(cell, `/runs/${run}`);
    const [interruption] = body['interruptions'] as readonly string[];
    await asked(cell, `/interruptions/${interruption}/approve`, {});
    return (await asked(cell, `/runs/${run}?wait=30`)).body['status'];
  };

  beforeAll(async () => {
    writeFileSync(join(dir, 'holdfast.config.mjs'), CONFIG);
    const lines = CELLS.map((cell) => {
      mkdirSync(join(dir, cell), { mode: 0o700 });
      return `${createHash('sha256').update(`Bearer ${TOKENS[cell]}`).digest('hex')} cell_${cell}\n`;
    });
    lines.push(`${createHash('sha256').update(`Bearer ${ELSEWHERE}`).digest('hex')} cell_elsewhere\n`);
    writeFileSync(join(dir, 'cells.map'), lines.join(''));
    for (const cell of CELLS) ports.set(cell, await freePort());
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    await Promise.all(CELLS.map(start));
    front = spawn('haproxy', ['-db', '-f', FRONT], {
      env: {
        ...{ ...process.env, FRONT_BIND: `127.0.0.1:${port}`, FRONT_TOKENS: join(dir, 'cells.map') },
        ...{ CELL_A: `127.0.0.1:${ports.get('a')}`, CELL_B: `127.0.0.1:${ports.get('b')}` },
      },
      stdio: 'ignore',
    });
    await vi.waitFor(async () => expect((await fetch(`${url}/livez`)).status).toBe(200), { timeout: 10_000 });
  });
  afterAll(async () => {
    front.kill('SIGKILL');
    for (const { child, ended } of cells.values()) {
      child.kill('SIGKILL');
      await ended;
    }
    rmSync(dir, { recursive: true, force: true });
  });

  it('sends each tenant to its cell, and nowhere else', async () => {
    const runs = { a: await paused('a'), b: await paused('b') };
    for (const cell of CELLS) {
      const direct = await ask(`http://127.0.0.1:${ports.get(cell)}`, TOKENS[cell], '/api/v1/runs');
      expect((direct.body['items'] as readonly { id: string }[]).map(({ id }) => id)).toEqual([runs[cell]]);
      expect(await approve(cell, runs[cell])).toBe('completed');
    }
    expect(await asked('a', `/runs/${runs.b}`)).toMatchObject({ status: 404, body: { code: 'run_unknown' } });
  });

  it('lets an event stream pass as it comes', async () => {
    const id = await paused('b');
    const stream = await fetch(`${url}/api/v1/runs/${id}/events`, {
      headers: { Authorization: `Bearer ${TOKENS.b}`, Accept: 'text/event-stream' },
    });
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const until = async (word: string): Promise<void> => {
      while (!text.includes(word)) {
        const { value, done } = (await reader?.read()) ?? { done: true, value: undefined };
        if (done) throw new Error(`the stream ended before ${word}: ${text}`);
        text += value;
      }
    };
    // The pause is read while the stream goes on; then the decision, and the end.
    await until('interruption.requested');
    expect(await approve('b', id)).toBe('completed');
    await until('run.completed');
  });

  it('refuses a token that no cell has', async () => {
    const answer = await ask(url, 'token-of-someone-else', '/api/v1/runs');
    expect(answer).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
  });

  it('knows a token as a cell does, and names a cell of the map that it does not have', async () => {
    const asAuthorized = (header: string) =>
      fetch(`${url}/api/v1/runs`, { headers: { Authorization: header } }).then(async (answer) => ({
        status: answer.status,
        body: await answer.json(),
      }));
    for (const word of ['bearer ', 'BEARER   '])
      expect(await asAuthorized(`${word}${TOKENS.b}`)).toMatchObject({
        status: 200,
        body: { items: expect.anything() },
      });
    expect(await asAuthorized(`Bearer ${ELSEWHERE}`)).toMatchObject({ status: 503, body: { code: 'cell_away' } });
  });

  it('goes on with one cell while the other is away, whose runs wait until it is back', async () => {
    const id = await paused('a');
    const { child, ended } = cells.get('a') as Program;
    child.kill('SIGKILL');
    await ended;
    await expect
      .poll(() => asked('a', '/runs'), { timeout: 20_000 })
      .toMatchObject({
        status: 503,
        body: { code: 'cell_away' },
      });
    expect(await approve('b', await paused('b'))).toBe('completed');
    await start('a');
    await expect.poll(async () => (await asked('a', '/runs')).status, { timeout: 20_000 }).toBe(200);
    expect(await approve('a', id)).toBe('completed');
  });
});
