import { z } from 'zod';
import { type JsonValue, pointerToken } from '../json.js';
import type { RunEvent } from './event.js';

/** Hits that one event gives. */
const HITS_PER_EVENT = 3;
/** Characters on each side of a hit. */
const AROUND = 60;

export const findRequest = z
  .string()
  .min(1)
  .max(200)
  .describe('A text as it stands in a value or a name of a payload; upper and lower case are alike.');

const foundText = z.object({
  seq: z.int(),
  kind: z.string(),
  pointer: z.string().describe('Where in the payload: a JSON Pointer.'),
  before: z.string().describe('Up to 60 characters before the match.'),
  match: z.string(),
  after: z.string().describe('Up to 60 characters after it.'),
});
export type FoundText = z.infer<typeof foundText>;

export const foundTexts = z
  .object({
    items: z.array(foundText).describe('Up to 3 of an event, in the order of the log.'),
    upTo: z.int().describe('The last event that was read.'),
    nextCursor: z.string().nullable().describe('Where to go on; null: the log was read to its end.'),
  })
  .meta({ id: 'FoundTexts' });
export type FoundTexts = z.infer<typeof foundTexts>;

/** Names and values of a payload as texts, each with its place, depth first. */
function* textsIn(value: JsonValue, pointer: string): Generator<readonly [pointer: string, text: string]> {
  if (typeof value !== 'object' || value === null) {
    yield [pointer, typeof value === 'string' ? value : JSON.stringify(value)];
    return;
  }
  for (const [name, part] of Object.entries(value)) {
    const place = `${pointer}/${pointerToken(name)}`;
    if (!Array.isArray(value)) yield [place, name];
    yield* textsIn(part, place);
  }
}

/** A pattern that a text alone fits. */
export const literal = (text: string): RegExp => new RegExp(text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu');

/** Where the payload of an event has a text. */
export function foundIn({ seq, kind, data }: RunEvent, wanted: RegExp): readonly FoundText[] {
  const found: FoundText[] = [];
  for (const [pointer, text] of data === null ? [] : textsIn(data, '')) {
    const hit = wanted.exec(text);
    if (hit === null) continue;
    const [end, from] = [hit.index + hit[0].length, Math.max(0, hit.index - AROUND)];
    const around = { before: text.slice(from, hit.index), match: hit[0], after: text.slice(end, end + AROUND) };
    found.push({ seq, kind, pointer, ...around });
    if (found.length === HITS_PER_EVENT) break;
  }
  return found;
}
