import { z } from 'zod';
import { EVENT_DATA, EVENT_KINDS, runEvent } from '../../src/core/log/event.js';
import { EVENT_TEXTS, SYSTEM_EVENT_TEXTS } from '../../src/core/log/event-texts.js';
import { INVARIANTS } from '../../src/core/log/invariant.js';
import { EMPTY_STATE } from '../../src/core/log/state.js';
import { SYSTEM_EVENT_DATA, SYSTEM_EVENT_KINDS, systemEvent } from '../../src/core/log/system-event.js';
import { code, fieldTable, json, table } from './markdown.js';

/** The names of the fields of a payload, in the order of its schema. */
const fieldsOf = (schema: z.ZodType): string =>
  schema instanceof z.ZodObject ? Object.keys(schema.shape).map(code).join(', ') : '';

/** The fields of a payload with their meanings. Throws where a field has none. */
function dataTable(schema: z.ZodType): string {
  if (!(schema instanceof z.ZodObject)) throw new Error('The payload of an event is an object.');
  return fieldTable(schema);
}

export const EVENT_BLOCKS = {
  'event-fields': () => fieldTable(runEvent),
  'event-kinds': () =>
    table(
      ['Kind', 'Meaning', 'Written'],
      EVENT_KINDS.map((kind) => [code(kind), EVENT_TEXTS[kind].meaning, EVENT_TEXTS[kind].written]),
    ),
  'event-data': () => EVENT_KINDS.map((kind) => `### ${kind}\n\n${dataTable(EVENT_DATA[kind])}`).join('\n\n'),
  'event-changes': () =>
    table(
      ['Kind', 'Change'],
      EVENT_KINDS.map((kind) => [code(kind), EVENT_TEXTS[kind].change]),
    ),
  'event-invariants': () =>
    table(
      ['Invariant', 'What holds'],
      Object.entries(INVARIANTS).map(([name, what]) => [code(name), what]),
    ),
  'empty-state': () => json(EMPTY_STATE),
  'system-event-fields': () => fieldTable(systemEvent),
  'system-event-kinds': () =>
    table(
      ['Kind', 'Written', 'Data'],
      SYSTEM_EVENT_KINDS.map((kind) => [
        code(kind),
        SYSTEM_EVENT_TEXTS[kind].written,
        fieldsOf(SYSTEM_EVENT_DATA[kind]),
      ]),
    ),
  'system-event-names': () =>
    table(
      ['In other systems', 'Here'],
      SYSTEM_EVENT_KINDS.map((kind) => [SYSTEM_EVENT_TEXTS[kind].elsewhere, code(kind)]),
    ),
};
