import { expect, it } from 'vitest';
import type { ModelDelta } from '../../src/core/log/delta.js';
import { CleanDeltas } from '../../src/models/providers/streamed-response.js';
import { knowSecret } from '../../src/models/secrets/known-secrets.js';

const KEY = 'Dk83mZq0LpXw72TbVr19';
knowSecret(KEY);

const said = (deltas: readonly ModelDelta[]): readonly ModelDelta[] => {
  const given: ModelDelta[] = [];
  const clean = new CleanDeltas((delta) => given.push(delta));
  for (const delta of deltas) clean.push(delta);
  clean.end();
  return given;
};
const joined = (deltas: readonly ModelDelta[], type: string): string =>
  deltas.map((one) => (one.type === type ? one.delta : '')).join('');

it('a secret that a model says is in no delta, wherever it is split and whatever comes between', () => {
  for (const size of [1, 2, 3, 7, 12, 50]) {
    const pieces = `it is ${KEY}, really`.match(new RegExp(`.{1,${size}}`, 'g')) ?? [];
    const given = said(
      pieces.flatMap((delta): ModelDelta[] => [
        { type: 'text', delta },
        { type: 'reasoning', delta },
        { type: 'arguments', delta, callId: 'c1', tool: 'pay' },
        { type: 'arguments', delta: '.', callId: 'c2', tool: 'pay' },
      ]),
    );
    for (const type of ['text', 'reasoning']) {
      expect(joined(given, type)).toMatch(/^it is .{0,4}\[redacted\], really$/);
      expect(joined(given, type)).not.toContain(KEY.slice(0, 5));
    }
    expect(joined(given, 'arguments')).not.toContain(KEY.slice(5));
  }
});

it('what only begins like a secret comes at the end', () => {
  expect(said([{ type: 'text', delta: `so ${KEY.slice(0, 9)}` }])).toEqual([
    { type: 'text', delta: 'so ' },
    { type: 'text', delta: KEY.slice(0, 9) },
  ]);
  expect(said([{ type: 'text', delta: 'all at D' }])).toEqual([{ type: 'text', delta: 'all at D' }]);
});
