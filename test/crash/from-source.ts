import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import type { DatabaseKind } from '../harness/database.js';
import type { KillAt } from './place.js';
import type { RunReport } from './report.js';
import { startChild } from './run-child.js';
import { type Template, templateOf } from './template.js';
import { dieAndGoOn } from './two-lives.js';
import { effectsIn } from './world.js';

interface Source {
  readonly program: string;
  /** Where the files of effects go. */
  readonly scratch: string;
  /** What is done to the world without a crash. */
  readonly effects: readonly string[];
}

/**
 * What is made of a run that the program makes first, with ONLY_SOURCE=1, as often as it is to be made: each time from a copy of the
 * same database. Before the first test it is made without a crash: that is `whole`.
 */
export function fromSource(kind: DatabaseKind, { program, scratch, effects: expected }: Source) {
  let template: Template;
  let whole: RunReport | undefined;
  let copies = 0;

  const finish = async (kill: KillAt | undefined) => {
    const copy = await template.copy(`c${copies}`);
    const file = join(scratch, `${kind}-${copies++}`);
    try {
      const lives = await dieAndGoOn(program, kill, { ...copy.env, EFFECTS_FILE: file });
      return { ...lives, effects: effectsIn(file).toSorted() };
    } finally {
      await copy.drop();
    }
  };

  beforeAll(async () => {
    template = await templateOf(kind);
    const env = { ...template.env, EFFECTS_FILE: join(scratch, `${kind}-source`), ONLY_SOURCE: '1' };
    const source = await startChild(env, undefined, program).ended;
    expect(source.code, source.stderr).toBe(0);
    const { ended, effects } = await finish(undefined);
    [whole] = ended.runs;
    expect(whole, ended.stderr).toMatchObject({ status: 'completed', ok: true, complete: true });
    expect(effects).toEqual(expected);
  }, 180_000);
  afterAll(() => template.drop());

  return { finish, whole: () => whole };
}
