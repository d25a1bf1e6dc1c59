import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createEngineDatabase, type TestDatabase } from '../harness/database.js';
import { freePort } from '../harness/free-port.js';
import { runHere } from './in-process.js';
import { Program } from './program.js';

/** One agent, which answers when the file `go` is there. */
const config = (go: string): string => `
import { existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { Agent } from '@openai/agents';
import { defineConfig, functionModel } from 'holdfast';

const model = functionModel('patient', async () => {
  while (!existsSync(${JSON.stringify(go)})) await setTimeout(20);
  return [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'here' }] }];
});
export default defineConfig({ agents: [{ agent: new Agent({ name: 'late', model }) }] });
`;

let database: TestDatabase;
let env: { [name: string]: string };
let server: Program;
const go = (): string => join(database.options.dataDir, 'go');

async function start(): Promise<void> {
  server = new Program(['serve'], { cwd: database.options.dataDir, env });
  await server.printed(/^agents +late$/m);
}
const holdfast = (...args: string[]) => new Program(args, { cwd: database.options.dataDir, env });

beforeAll(async () => {
  database = await createEngineDatabase('pglite');
  const port = await freePort();
  env = {
    HOLDFAST_DATA_DIR: database.options.dataDir,
    HOLDFAST_PORT: String(port),
  };
  writeFileSync(join(database.options.dataDir, 'holdfast.config.ts'), config(go()));
  await start();
});
afterAll(async () => {
  server.child.kill('SIGKILL');
  await server.ended;
  await database.drop();
});

it('commands that wait survive a server that is killed and started again', async () => {
  const running = holdfast('run', 'late', 'go', '--wait');
  const [, id = ''] = await running.printed(/^run (\S+)/);
  const [waiting, following] = [holdfast('wait', id, '--json'), holdfast('events', id, '--follow')];
  const watching = holdfast('watch', id);
  await watching.printed(/^input /);
  await following.printed(/run\.created/);
  server.child.kill('SIGKILL');
  await server.ended;
  for (const one of [running, waiting, following, watching])
    await expect
      .poll(() => one.stderr)
      .toMatch(/^holdfast: No server answers at \S+ \(.+\)\. Trying again for 300 sec/m);
  await start();
  writeFileSync(go(), '');
  const [run, wait, events, watch] = await Promise.all([running.ended, waiting.ended, following.ended, watching.ended]);
  for (const { code, stderr } of [run, wait, events, watch]) {
    expect(stderr).toMatch(/\nholdfast: The server answers again\.\n$/);
    expect(code).toBe(0);
  }
  expect(watch.stdout).toMatch(/^input {6}go\nlate {7}here\ncompleted {2}here\n {11}1 turns, \d+ tokens, .+\n$/);
  expect(run.stdout).toContain('output   here');
  expect(JSON.parse(wait.stdout)).toMatchObject({ id, status: 'completed', output: 'here' });
  const seqs = events.stdout
    .trim()
    .split('\n')
    .map((line) => Number.parseInt(line, 10));
  expect(seqs).toEqual(seqs.map((_seq, index) => index + 1));
  expect(events.stdout).toMatch(/run\.completed[^\n]*\n$/);
}, 240_000);

it('a server that does not return in time has an exit code of its own', async () => {
  const away = { HOLDFAST_URL: 'http://127.0.0.1:9', HOLDFAST_TOKEN: 'a-token-of-16-chars' };
  for (const line of [
    ['wait', 'run_1'],
    ['run', 'late', 'go', '--wait'],
    ['events', 'run_1', '--follow'],
  ]) {
    const ended = await runHere([...line, '--retry-for', '1'], away);
    expect(ended.code, line.join(' ')).toBe(4);
    expect(ended.stdout).toBe('');
    expect(ended.stderr.trim().split('\n')).toEqual([
      expect.stringMatching(/^holdfast: No server answers at http:\/\/127\.0\.0\.1:9 .+ Trying again for 1 seconds\.$/),
      expect.stringMatching(/^holdfast: No server answers .+, and did not within 1 seconds\. \(server_unreachable\)$/),
      expect.stringContaining('--retry-for'),
    ]);
  }
});

it('an error that no restart mends ends a wait at once', async () => {
  const ended = await runHere(['wait', 'run_1'], env);
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('(run_unknown)') });
});
