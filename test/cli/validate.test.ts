import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BUSYBOX, DOCKER_HOST, describeDockerSlowly } from '../harness/docker.js';
import { runHere } from './in-process.js';

/** Tasks are tried in real containers, with their solution and with nothing. */

describeDockerSlowly('validation of tasks', () => {
  let dir = '';
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'holdfast-validation-'));
  });
  afterAll(() => rmSync(dir, { recursive: true }));

  const task = (name: string, command: string, image = BUSYBOX): string => {
    const path = join(dir, `${name}.json`);
    const said = { category: 'words', difficulty: 'easy', instruction: 'Write a.', environment: { image } };
    const verification = { tests: [{ name: 'test', command }] };
    const definition = { name, version: '1.0.0', ...said, verification, solution: { files: { a: 'right' } } };
    writeFileSync(path, JSON.stringify(definition));
    return path;
  };

  it('says which ones are right, give a reward for nothing, refuse their solution, or have no image', async () => {
    const places = [
      task('good', 'test "$(cat a)" = right'),
      task('generous', 'true'),
      task('severe', 'test "$(cat a)" = other'),
      task('nowhere', 'true', 'holdfast-test/none:1'),
    ];
    const { code, stdout } = await runHere(['task', 'validate', ...places, '--json'], { DOCKER_HOST });
    expect(code).toBe(1);
    const { counts, tasks } = JSON.parse(stdout);
    expect(counts).toEqual({ right: 1, wrong: 2, flaky: 0, error: 1 });
    expect(
      Object.fromEntries(tasks.map(({ name, problems }: { name: string; problems: string[] }) => [name, problems])),
    ).toEqual({
      good: [],
      generous: [expect.stringMatching(/^it gives a reward of [\d.]+ for nothing in 1 of 1 attempts$/)],
      severe: ['it refuses its own solution in 1 of 1 attempts: test'],
      nowhere: [expect.stringContaining('image_unknown'), expect.stringContaining('image_unknown')],
    });
  }, 120_000);
});
