import { basename } from 'node:path';
import { expect, it } from 'vitest';
import { placeOf } from '../../src/cli/commands/tasks/read-task.js';
import { scanForHardcoded } from '../../src/core/tasks/hardcoding.js';
import { DIFFICULTIES } from '../../src/core/tasks/task-definition.js';
import { newIdentity, openedFor } from '../containers/environments.js';
import { codes, pageText, rows } from '../docs/pages.js';
import { BUSYBOX, describeDockerSlowly, TOOLS } from '../harness/docker.js';
import { attempt, makeAttempts, SHIPPED } from './attempt.js';

/** The tasks that ship: that each can be done, and is not done by doing nothing. */

const LANGUAGES = ['python', 'javascript', 'shell'];

it('there are many, of every kind', () => {
  expect(SHIPPED.length).toBeGreaterThanOrEqual(30);
  for (const difficulty of DIFFICULTIES)
    expect(SHIPPED.filter((task) => task.difficulty === difficulty).length, difficulty).toBeGreaterThan(1);
  for (const language of LANGUAGES)
    expect(SHIPPED.filter(({ tags }) => tags.includes(language)).length, language).toBeGreaterThan(5);
  expect(new Set(SHIPPED.map(({ category }) => category)).size).toBeGreaterThanOrEqual(7);
  expect(
    SHIPPED.filter(({ antiHardcoding }) => Object.keys(antiHardcoding.randomizedInputs).length > 0).length,
  ).toBeGreaterThan(5);
});

it('each is whole: named after its directory, with several hidden tests, a solution and an estimate', () => {
  for (const task of SHIPPED) {
    expect(basename(placeOf(task.name)), task.name).toBe(task.name);
    expect(task.verification.tests.length, task.name).toBeGreaterThanOrEqual(3);
    expect(task.antiHardcoding.hiddenTests, task.name).toBe(true);
    expect(task.solution, task.name).not.toBeNull();
    expect(task.estimatedSteps, task.name).not.toBeNull();
    expect(
      LANGUAGES.filter((language) => task.tags.includes(language)),
      task.name,
    ).toHaveLength(1);
  }
});

it('no reference solution has its answers written down', () => {
  for (const { name, solution, expectedOutputs } of SHIPPED) {
    const files = Object.entries(solution?.files ?? {}).map(
      ([path, file]) => [path, 'text' in file ? file.text : ''] as const,
    );
    expect(scanForHardcoded(new Map(files), expectedOutputs ?? []), name).toEqual([]);
  }
});

it('docs/tasks/shipped.md lists each, and no other', () => {
  const listed = rows(pageText('docs/tasks/shipped.md')).map(([name = '', ...rest]) => [codes(name)[0], ...rest]);
  expect(listed).toEqual(SHIPPED.map(({ name, tags, category, difficulty }) => [name, tags[0], category, difficulty]));
});

describeDockerSlowly('tasks that ship', () => {
  const { open } = openedFor();
  const check = async (image: string, tasks: typeof SHIPPED) => {
    const limits = { memoryMb: 1024, cpuCores: null, maxProcesses: 256 };
    const environment = await open(newIdentity({ image, limits }));
    const attempts = tasks.flatMap((task) => [attempt(task, 7, true), attempt(task, 7, false)]);
    const wrong: string[] = [];
    for (const { task, solved, ended } of await makeAttempts(environment, attempts)) {
      const failed = Object.entries(ended).filter(([, { code }]) => code !== 0);
      if (solved) wrong.push(...failed.map(([name, { said }]) => `${task.name} is solved, and ${name} fails: ${said}`));
      else if (task.verification.tests.every(({ name }) => ended[name]?.code === 0))
        wrong.push(`${task.name} is done by doing nothing`);
    }
    expect(wrong).toEqual([]);
  };

  it('each is done by its solution, and not by doing nothing', async () => {
    const half = (of: number) => SHIPPED.filter((_, index) => index % 2 === of);
    await Promise.all([check(TOOLS, half(0)), check(TOOLS, half(1))]);
  }, 400_000);

  it('those for a shell need no more than busybox', () =>
    check(
      BUSYBOX,
      SHIPPED.filter(({ tags }) => tags.includes('shell')),
    ));
});
