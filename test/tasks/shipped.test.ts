import { basename } from 'node:path';
import { expect, it } from 'vitest';
import { placeOf } from '../../src/cli/read-task.js';
import { scanForHardcoded } from '../../src/core/hardcoding.js';
import { DIFFICULTIES } from '../../src/core/task-definition.js';
import { codes, pageText, rows, section } from '../docs/pages.js';
import { SHIPPED } from './shipped-tasks.js';

/** What each of the tasks that ship has; that it can be done, and not by doing nothing, agents show. */

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

it('docs/tasks.md lists each, and no other', () => {
  const listed = rows(section(pageText('docs/tasks.md'), '## Tasks that ship')).map(([name = '', ...rest]) => [
    codes(name)[0],
    ...rest,
  ]);
  expect(listed).toEqual(SHIPPED.map(({ name, tags, category, difficulty }) => [name, tags[0], category, difficulty]));
});
