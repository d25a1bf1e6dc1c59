import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readTask } from '../../src/cli/commands/tasks/read-task.js';
import { runHere } from '../cli/in-process.js';
import { BUSYBOX, DOCKER_HOST, describeDockerSlowly } from '../harness/docker.js';
import { ADMIN, dataOf, engineFor } from '../harness/engine.js';
import { obedient, told } from './obedient.js';

/** Task directories of Harbor, from the disk to the reward: imported, submitted, executed, and judged by their own test.sh. */

const WORDS = 'grep -c . /app/words.txt >/app/count.txt';

/** A directory whose test says by itself how much of it passed. */
const harbor = (verdict: string, ...commands: readonly string[]): Readonly<Record<string, string>> => ({
  'task.toml':
    'version = "1.0"\n[metadata]\ndifficulty = "easy"\ncategory = "text"\n[verifier]\ntimeout_sec = 60\n[agent]\ntimeout_sec = 120\n[environment]\nmemory_mb = 128\n',
  'instruction.md': told(...commands),
  'environment/Dockerfile': `FROM ${BUSYBOX}\nWORKDIR /app\nCOPY words.txt .\n`,
  'environment/words.txt': 'one\ntwo\nthree\n',
  'tests/test.sh': `#!/bin/sh\nmkdir -p /logs/verifier\n${verdict}\n`,
  'tests/expected': '3\n',
});
const AS_TEXT = 'if cmp -s /app/count.txt /tests/expected; then echo 1; else echo 0; fi >/logs/verifier/reward.txt';
const AS_JSON =
  'if cmp -s /app/count.txt /tests/expected; then r=1; else r=0.25; fi; echo "{\\"reward\\": $r}" >/logs/verifier/reward.json; exit 9';

/** Its image has to be built; its agent and its tests write outside of the workspace, as Harbor's may. */
const builtIn = (workdir: string): Readonly<Record<string, string>> => {
  const at = workdir === '/' ? '' : workdir;
  return {
    ...harbor(
      `if cmp -s ${at}/count.txt /tests/expected && cmp -s /data/out/copy.txt /tests/expected; then echo 1; else echo 0; fi >/logs/verifier/reward.txt`,
      `grep -c . /etc/words.txt >${at}/count.txt && cp ${at}/count.txt /data/out/copy.txt`,
    ),
    'environment/Dockerfile': `FROM ${BUSYBOX}\nWORKDIR ${workdir}\nCOPY words.txt /words\nRUN mkdir -p /data/out /etc && cp /words /etc/words.txt\n`,
  };
};

describeDockerSlowly('a task of Harbor', () => {
  const t = engineFor('pglite', { agents: [obedient], dockerHost: DOCKER_HOST });
  let dir = '';
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'holdfast-harbor-'));
  });
  afterAll(() => rmSync(dir, { recursive: true }));

  it.each([
    ['reward.txt', harbor(AS_TEXT, WORDS), 1, { type: 'success' }],
    ['reward.txt, by who did nothing', harbor(AS_TEXT), 0, { type: 'failure' }],
    ['reward.json, whatever its exit code', harbor(AS_JSON, WORDS), 1, { type: 'success' }],
    ['reward.json, by who did nothing', harbor(AS_JSON), 0.25, { type: 'partial_success' }],
    ['tests in an image that was built', builtIn('/app'), 1, { type: 'success' }],
    ['tests in an image that was built to work in a taken place', builtIn('/tmp'), 1, { type: 'success' }],
  ])(
    'is judged by its %s',
    async (what, files, share, result) => {
      const name = what.replaceAll(/\W+/g, '-');
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(dir, name, path)), { recursive: true });
        writeFileSync(join(dir, name, path), text);
      }
      const out = join(dir, `${name}.yaml`);
      const imported = await runHere(['task', 'import', join(dir, name), '--out', out], { DOCKER_HOST });
      expect(imported, imported.stderr).toMatchObject({ code: 0 });
      const { id, runId } = await t.engine.submitTask({ task: readTask(out), agent: 'obedient' }, ADMIN);
      await expect
        .poll(async () => (await t.engine.getRun(runId, ADMIN, { waitMs: 20_000 })).completedAt, { timeout: 100_000 })
        .not.toBeNull();
      const task = await t.engine.getTask(id, ADMIN);
      expect(task).toMatchObject({ status: 'completed', result });
      const [verified] = await dataOf(t.engine, runId, 'task.verified');
      expect(verified).toMatchObject({ evidence: { tests: [{ name: 'test.sh', share }] } });
    },
    120_000,
  );
});
