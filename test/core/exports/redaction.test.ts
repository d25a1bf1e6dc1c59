import { expect, it } from 'vitest';
import type { Family } from '../../../src/core/exports/atif.js';
import type { ConversationMessage } from '../../../src/core/exports/conversation.js';
import { redactFamily, redaction, redactorOf } from '../../../src/core/exports/redaction.js';
import { Allowance } from '../../../src/core/limits/allowance.js';

const redact = redaction.parse({
  patterns: [{ pattern: '[\\w.]+@[\\w.]+', replacement: '<mail>' }],
  keys: ['password'],
});
const clean = redactorOf(redact, (text) => text, new Allowance({ made: 10_000 }));

it('redacts the text of an output as well, and it stays JSON in its order', () => {
  const text = '{"to":"ada@example.org","at":{"password":"hunter2","a":1}}';
  const message = {
    ...{ role: 'tool', callId: 'c1', tool: 'send', text, seq: 1, at: '2026-01-01T00:00:00.000Z', copied: false },
    outcome: { type: 'output', output: { at: { a: 1, password: 'hunter2' }, to: 'ada@example.org' }, text },
  } as unknown as ConversationMessage;
  const run = { input: null, output: null, metadata: {}, error: null };
  const family = {
    ...{ conversation: { run, loops: [{ messages: [message] }] }, prompts: new Map(), children: new Map() },
  } as unknown as Family;
  const work = redactFamily(family, clean);
  let step = work.next();
  while (step.done !== true) step = work.next();
  const said = '{"to":"<mail>","at":{"password":"[redacted]","a":1}}';
  expect(step.value.conversation.loops[0]?.messages[0]).toMatchObject({
    ...{ text: said, outcome: { text: said, output: { to: '<mail>', at: { password: '[redacted]', a: 1 } } } },
  });
});

it('leaves a text that is JSON as it was written where nothing in it is hidden', () => {
  const text = '{ "id": 12345678901234567890,\n  "at": [1.0] }';
  expect(clean(text)).toBe(text);
  expect(clean('{ "password": "hunter2" }')).toBe('{"password":"[redacted]"}');
});
