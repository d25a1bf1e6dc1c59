import { describe, expect, it } from 'vitest';
import { cycles } from '../../scripts/architecture/cycles.js';
import { valueCycles } from '../../scripts/architecture/measures.js';
import { allowed, compared, titleIdiomsIn, usesIn, vocabulary } from '../../scripts/architecture/vocabulary.js';
import { WALKS, walked } from '../../scripts/architecture/walks.js';

describe('the vocabulary', () => {
  const found = compared(vocabulary(), allowed());

  it('has no more idioms and metaphors than the list allows', () => {
    if (found.shrunk.length > 0) console.warn(`Run "npm run architecture -- --write": ${found.shrunk.join('; ')}`);
    expect(found.grown, 'Use the term of the field: CONTRIBUTING.md, "Writing".').toEqual([]);
  });

  it('counts idioms in comments and strings, and metaphors in names', () => {
    const source = "// whoever\nconst openDoors = 'done anew, by nobody'; /* it stands still */ type World = string;";
    expect(usesIn(source)).toEqual({ idioms: 4, names: ['openDoors', 'World'] });
  });

  it('counts idioms in titles of tests alone', () => {
    expect(titleIdiomsIn("it('is done anew', () => { say('anew'); });\nit.each(all)('%s by nobody', f);")).toBe(2);
  });

  it('tells what grew from what shrank', () => {
    const list = { core: { idioms: 3, names: 1 } };
    expect(compared({ core: { idioms: 4, names: 0 } }, list)).toEqual({
      grown: ['core: 4 idioms, allowed 3'],
      shrunk: ['core: 0 names, allowed 1'],
    });
  });
});

describe('the walks', () => {
  it.each(WALKS)('each hop of "$name" is in the code', (walk) => {
    expect(walked(walk).problems, 'Correct scripts/architecture/walks.ts.').toEqual([]);
  });

  it('names a hop that is not in the code', () => {
    const hops = [{ to: 'engine:startRun' }, { to: 'storage:dequeue' }];
    const { problems } = walked({ name: 'none', most: 1, hops });
    expect(problems).toEqual(['engine:startRun does not name dequeue']);
  });
});

describe('cycles', () => {
  it('are found, and only they', () => {
    const graph = new Map([
      ['a', ['b', 'd']],
      ['b', ['c']],
      ['c', ['a']],
      ['d', ['e']],
      ['e', []],
    ]);
    expect(cycles(graph)).toEqual([['a', 'b', 'c']]);
  });

  it('are none of values', () => {
    expect(valueCycles()).toEqual([]);
  });
});
