import { mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { watchTokens } from '../../src/cli/commands/server/server-process.js';
import { SLOW } from '../harness/slow.js';
import { collectingLog } from '../http/door.js';
import { Program } from './program.js';

let dir: string;
let end = (): void => undefined;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-tokens-'));
});
afterEach(() => {
  end();
  rmSync(dir, { recursive: true });
});

const listOf = (...actors: string[]) =>
  JSON.stringify(actors.map((actor) => ({ token: `token-of-${actor}-0123456789`, actor, role: 'viewer' })));

function watch(file: string | null) {
  const { log, logged } = collectingLog();
  const seen: string[] = [];
  end = watchTokens(file, (tokens) => seen.push(tokens.map(({ actor }) => actor).join()), log);
  return { seen, logged: () => logged.map(({ fields }) => Reflect.get(fields, 'event')) };
}

test('the tokens are read again when the file changes, is replaced, and is behind a link that changes', async () => {
  const file = join(dir, 'tokens');
  writeFileSync(join(dir, 'one'), listOf('ann', 'bob'));
  symlinkSync(join(dir, 'one'), file);
  const { seen } = watch(file);
  expect(seen.splice(0)).toEqual(['ann,bob']);
  writeFileSync(join(dir, 'one'), listOf('ann'));
  await expect.poll(() => seen).toEqual(['ann']);
  writeFileSync(join(dir, 'two'), listOf('cid'));
  renameSync(join(dir, 'two'), join(dir, 'one'));
  await expect.poll(() => seen).toEqual(['ann', 'cid']);
  writeFileSync(join(dir, 'three'), listOf('dan'));
  symlinkSync(join(dir, 'three'), join(dir, 'link'));
  renameSync(join(dir, 'link'), file);
  await expect.poll(() => seen).toEqual(['ann', 'cid', 'dan']);
});

test('a file that is gone or holds no list changes nothing, and is told; what comes after it counts', async () => {
  const file = join(dir, 'tokens');
  writeFileSync(file, listOf('ann'));
  const { seen, logged } = watch(file);
  writeFileSync(file, '[');
  await expect.poll(logged).toEqual(['tokens_read', 'tokens_unreadable']);
  unlinkSync(file);
  await expect.poll(logged).toEqual(['tokens_read', 'tokens_unreadable', 'tokens_unreadable']);
  expect(seen.splice(0)).toEqual(['ann']);
  writeFileSync(file, listOf('bob'));
  await expect.poll(() => seen).toEqual(['bob']);
});

test('SIGHUP reads it at once and ends nothing, also where there is no file', () => {
  const file = join(dir, 'tokens');
  writeFileSync(file, listOf('ann'));
  const { seen } = watch(file);
  writeFileSync(file, listOf('bob'));
  process.emit('SIGHUP');
  expect(seen).toEqual(['ann', 'bob']);
  end();
  const without = watch(null);
  process.emit('SIGHUP');
  expect(without.logged()).toEqual(['nothing_read_again']);
});

test.runIf(SLOW)('SIGHUP ends no server that still waits for its database', async () => {
  const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none', HOLDFAST_DATA_DIR: dir, HOLDFAST_PORT: '0' };
  writeFileSync(join(dir, 'holdfast.config.mjs'), 'export default { agents: [] };');
  const server = new Program(['serve'], { cwd: dir, env });
  await expect.poll(() => server.stderr, { timeout: 60_000 }).toContain('start_waits');
  server.child.kill('SIGHUP');
  const ended = await Promise.race([
    server.ended.then(() => true),
    new Promise((resolve) => setTimeout(resolve, 500, false)),
  ]);
  server.child.kill('SIGKILL');
  await server.ended;
  expect(ended).toBe(false);
});
