import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { obliging, serves } from '../models/providers/fake-provider.js';
import { VLLM } from '../models/providers/open-providers.js';
import { CHAT } from '../models/servers/chat-wire.js';
import { refuses } from '../models/servers/wire.js';
import { wireServer } from '../models/servers/wire-server.js';
import { Program } from './program.js';

const KEY = 'key-of-a-server-0123456789';
const MODEL = `vllm/${VLLM.model}`;

let cwd: string;
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'doctor-model-'));
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const doctor = (args: readonly string[], url: string) => {
  return new Program(['doctor', '--model', ...args], { cwd, env: { VLLM_BASE_URL: `${url}/v1`, VLLM_API_KEY: KEY } })
    .ended;
};

describe('doctor --model', () => {
  it('prints what works with a server as a table', async () => {
    await using server = await wireServer(serves(VLLM, obliging('{"city":"Oslo","degrees":12}')));
    const { code, stdout, stderr } = await doctor([MODEL], server.url);
    expect(stderr).toBe('');
    expect(stdout.split('\n').map((line) => line.split(/ {2,}/).slice(0, 2).join(' '))).toEqual([
      ' CHECK',
      ...['answer', 'stream', 'tool call', 'second turn', 'schema', 'usage'].map((check) => `ok ${check}`),
      '',
    ]);
    expect(code).toBe(0);
    expect(server.received.map(({ headers }) => headers.authorization)).toEqual(Array(5).fill(`Bearer ${KEY}`));
  });

  it('prints the rows as JSON and exits with 1 when one fails, without a key', async () => {
    await using server = await wireServer(refuses(CHAT, 401, `the key ${KEY} is wrong`));
    const { code, stdout, stderr } = await doctor([MODEL, '--json'], server.url);
    expect(code).toBe(1);
    const rows: { check: string; status: string }[] = JSON.parse(stdout);
    expect(rows.map(({ check, status }) => `${check}: ${status}`)).toEqual([
      ...['answer: fail', 'stream: skip', 'tool call: skip', 'second turn: skip', 'schema: skip'],
    ]);
    expect(stdout + stderr).not.toContain(KEY);
  });

  it('takes no router, no unknown prefix and no name without a model', async () => {
    for (const name of ['router/cheap', 'nowhere/model', '', ' ', 'openai/']) {
      const { code, stdout } = await doctor([name, '--json'], 'http://127.0.0.1:1');
      expect(code).toBe(1);
      expect(JSON.parse(stdout)).toMatchObject([{ check: 'model', status: 'fail' }]);
    }
  });
});
