import { expect, test } from 'vitest';
import { ProcessGate } from '../../../src/engine/workers/step-gate.js';

const never = new AbortController().signal;
const settle = () => new Promise((resolve) => setImmediate(resolve));

function open() {
  const marks: (string | null)[] = [];
  const gate = new ProcessGate(async (runId) => {
    marks.push(runId);
  });
  const inside = new Set<string>();
  const enter = (runId: string, alone = false, signal = never) => {
    const entered = gate.enter(runId, alone, signal).then((leave) => {
      inside.add(runId);
      return () => {
        inside.delete(runId);
        leave();
        // A second time it is no one's step that leaves.
        leave();
      };
    });
    return entered;
  };
  return { gate, marks, inside, enter };
}

test('steps of ordinary runs work together', async () => {
  const { enter, inside, marks } = open();
  await Promise.all([enter('a'), enter('b'), enter('a')]);
  expect([...inside]).toEqual(['a', 'b']);
  expect(marks).toEqual([]);
});

test('a run that must be alone waits for those that work, and those that come later wait for it', async () => {
  const { enter, inside, marks } = open();
  const leaveA = await enter('a');
  const suspect = [enter('s', true), enter('s', true)];
  const later = enter('b');
  await settle();
  expect([...inside]).toEqual(['a']);
  expect(marks).toEqual([]);
  leaveA();
  const [first, second] = await Promise.all(suspect);
  expect([...inside]).toEqual(['s']);
  // Said before any of its steps begins.
  expect(marks).toEqual(['s', 's']);
  first?.();
  await settle();
  expect(inside.has('b')).toBe(false);
  second?.();
  await later;
  expect([...inside]).toEqual(['b']);
  expect(marks).toEqual(['s', 's', null]);
});

test('two suspects have the process one after the other', async () => {
  const { enter, inside } = open();
  const leave = await enter('s', true);
  const other = enter('t', true);
  await settle();
  expect([...inside]).toEqual(['s']);
  leave();
  await other;
  expect([...inside]).toEqual(['t']);
});

test('nothing begins while the gate is shut', async () => {
  const { gate, enter, inside } = open();
  gate.shut();
  const waiting = [enter('a'), enter('s', true)];
  await settle();
  expect(inside.size).toBe(0);
  gate.open();
  (await waiting[0])?.();
  await waiting[1];
  expect([...inside]).toEqual(['s']);
});

test('no further step of a run that is alone begins while the gate is shut', async () => {
  const { gate, enter, inside } = open();
  const leave = await enter('s', true);
  gate.shut();
  let isInside = false;
  const second = enter('s', true).then(() => {
    isInside = true;
  });
  await settle();
  expect(isInside).toBe(false);
  gate.open();
  await second;
  leave();
  expect(inside.has('s')).toBe(false);
});

test('a run that is stopped does not wait, and keeps no one waiting', async () => {
  const { enter, inside } = open();
  const leave = await enter('a');
  const stop = new AbortController();
  const suspect = enter('s', true, stop.signal);
  const later = enter('b');
  await settle();
  stop.abort();
  await Promise.all([suspect, later]);
  expect(inside.has('b')).toBe(true);
  leave();
  await enter('c', false, AbortSignal.abort());
  expect(inside.has('c')).toBe(true);
});

test('a mark that cannot be written keeps no run from going on', async () => {
  const gate = new ProcessGate(() => Promise.reject(new Error('the database is away')));
  (await gate.enter('s', true, never))();
  await settle();
  await gate.enter('a', false, never);
});
