import { z } from 'zod';
import { exhaustedBudget, exhaustedText } from '../budgets/budget.js';
import { HoldfastError } from '../errors/errors.js';
import { canonical, digestOf, isObject, type JsonValue, jsonObject, jsonValue, plainText } from '../json.js';
import { firstUnknownName } from '../nearest-name.js';
import { assertAnswerable } from './answer.js';

/** A hundred years: a Date of any start holds it. */
export const LONGEST_MS = 100 * 366 * 24 * 3_600_000;
const MEMO_BYTES = 65_536;

const sentence = z.string().min(1).max(8192).overwrite(plainText);
const durationMs = z.int().min(0).max(LONGEST_MS);

/** Name of something that happens outside: `invoice.paid`. */
export const eventName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}$/,
    'expected 1 to 200 letters, digits and "_.:-", a letter or digit first',
  );
/** Which of several events of one name: an order number, the id of a payment. */
export const eventKey = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[\x21-\x7e]+$/, 'expected visible ASCII characters');

const question = z.strictObject({
  kind: z.literal('question'),
  text: sentence,
  choices: z.array(z.string().min(1).max(1000)).min(1).max(100).nullable(),
  schema: jsonObject.nullable(),
});
const timer = z.strictObject({
  kind: z.literal('timer'),
  until: z.iso.datetime().nullable(),
  afterMs: durationMs.nullable(),
});
const event = z.strictObject({ kind: z.literal('event'), name: eventName, key: eventKey.nullable() });
const childRun = z.strictObject({ kind: z.literal('child_run'), runId: z.string().min(1).max(200) });

/** What a call, or the run itself, waits for, as a person and the log read it. */
export const waitSpec = z
  .discriminatedUnion('kind', [question, timer, event, childRun, exhaustedBudget])
  .meta({ id: 'Wait' });
export type WaitSpec = z.infer<typeof waitSpec>;

/** The n-th wait of a call, from 1 on. A settlement belongs to one of them. */
export const placedWait = z.object({ ordinal: z.int().min(1), spec: waitSpec });
export type PlacedWait = z.infer<typeof placedWait>;

/** A wait as the calls table keeps it: `dueAt` is fixed when the call asks, so that a timer survives restarts. */
export const callWait = placedWait.extend({
  dueAt: z.iso.datetime().nullable(),
  expiresInMs: z.int().min(1).nullable().optional(),
  memo: jsonValue,
});
export type CallWait = z.infer<typeof callWait>;

/** Digest of what a tool keeps while a call waits; null: it keeps nothing. */
export const memoDigest = (memo: JsonValue): string | null => (memo === null ? null : digestOf(memo));

interface Common {
  /** JSON of the tool's own, at most 64 KiB: `resume` gets it back. No one else sees it. */
  readonly memo?: JsonValue;
}
interface Expiring extends Common {
  /** Milliseconds until no one need wait any longer; null: never. */
  readonly expiresInMs?: number | null;
}

/** A question to a person. Without choices and schema the answer is a text. Expires like an approval unless it says otherwise. */
export interface QuestionWait extends Expiring {
  readonly kind: 'question';
  readonly text: string;
  readonly choices?: readonly string[];
  /** A JSON schema (draft 2020-12, no patterns, no external references) that the answer must fit. */
  readonly schema?: { readonly [key: string]: JsonValue };
}
/** A time, absolute or counted from now. */
export interface TimerWait extends Common {
  readonly kind: 'timer';
  readonly until?: Date | string;
  readonly afterMs?: number;
}
/** Something that is told to `POST /api/v1/events/{name}`. Without a key any event of the name will do. Never expires by default. */
export interface EventWait extends Expiring {
  readonly kind: 'event';
  readonly name: string;
  readonly key?: string;
}
export type WaitRequest = QuestionWait | TimerWait | EventWait;

/** The same in every copy of this module. */
const WAIT = Symbol.for('holdfast.wait');

/** What the body of a tool returns in place of an output: see `waitFor`. */
export interface Interruption {
  readonly [WAIT]: true;
  readonly spec: WaitSpec;
  readonly expiresInMs: number | null | undefined;
  readonly memo: JsonValue;
}

/**
 * What a tool returns when it finds that it must wait: `return waitFor({ kind: 'question', text: 'Which account?' })`. The
 * run pauses, other calls of the same response end first and never run again. What settles the wait becomes the output of
 * the call, or goes to the tool's `resume` where it declares one. Throws `wait_invalid`.
 */
export function waitFor(request: WaitRequest): Interruption {
  const parsed = waitSpec.safeParse(specOf(request));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw invalid(`${issue?.path.map(String).join('.') || 'kind'}: ${issue?.message ?? 'not valid'}`);
  }
  const spec = parsed.data;
  assertKnown(spec.kind, request);
  if (spec.kind === 'budget') throw invalid('kind: only a run waits for a budget');
  if (spec.kind === 'child_run') throw invalid('kind: only a sub-agent waits for a run; give the agent a subAgent()');
  if (spec.kind === 'question') assertAnswerable(spec);
  if (spec.kind === 'timer' && (spec.until === null) === (spec.afterMs === null))
    throw invalid('a timer takes either until or afterMs');
  const expiresInMs = 'expiresInMs' in request ? request.expiresInMs : undefined;
  if (expiresInMs !== undefined && expiresInMs !== null && !durationMs.min(1).safeParse(expiresInMs).success)
    throw invalid(`expiresInMs: expected a whole number from 1 to ${LONGEST_MS}, or null`);
  return { [WAIT]: true, spec, expiresInMs, memo: memoOf(request.memo ?? null) };
}

type Names<W> = { readonly [Name in keyof Required<W>]: true };

const KNOWN: { readonly [kind: string]: object } = {
  question: {
    kind: true,
    text: true,
    choices: true,
    schema: true,
    expiresInMs: true,
    memo: true,
  } satisfies Names<QuestionWait>,
  timer: { kind: true, until: true, afterMs: true, memo: true } satisfies Names<TimerWait>,
  event: { kind: true, name: true, key: true, expiresInMs: true, memo: true } satisfies Names<EventWait>,
};

/** A name that nothing reads would make another wait of it, such as a question without its choices. Throws `wait_invalid`. */
function assertKnown(kind: string, request: WaitRequest): void {
  const known = KNOWN[kind];
  const first = known && firstUnknownName(request, Object.keys(known));
  if (first !== undefined) throw invalid(`${first.name}: ${first.detail}`);
}

/** What the call of a sub-agent returns: its child's end settles it. */
export const waitForChild = (runId: string, memo: JsonValue): Interruption => ({
  [WAIT]: true,
  spec: { kind: 'child_run', runId },
  expiresInMs: undefined,
  memo,
});

export const isInterruption = (value: unknown): value is Interruption =>
  typeof value === 'object' && value !== null && WAIT in value;

const invalid = (why: string): HoldfastError => new HoldfastError('wait_invalid', `This cannot be waited for: ${why}.`);

function specOf(request: WaitRequest): unknown {
  // Programs without types give anything.
  if (!isObject(request)) return request;
  switch (request.kind) {
    case 'question':
      return { kind: 'question', text: request.text, choices: request.choices ?? null, schema: request.schema ?? null };
    case 'timer':
      return { kind: 'timer', until: isoOf(request.until), afterMs: request.afterMs ?? null };
    case 'event':
      return { kind: 'event', name: request.name, key: request.key ?? null };
    default:
      return request;
  }
}

function isoOf(until: Date | string | undefined): string | null {
  if (until === undefined) return null;
  const time = new Date(until);
  if (Number.isNaN(time.getTime())) throw invalid(`until: ${JSON.stringify(until)} is not a time`);
  return time.toISOString();
}

function memoOf(memo: JsonValue): JsonValue {
  const text = canonicalOrNull(memo);
  if (text === null) throw invalid('memo: expected a JSON value');
  const size = Buffer.byteLength(text);
  if (size <= MEMO_BYTES) return memo;
  throw invalid(`memo: ${size} bytes; at most ${MEMO_BYTES}`);
}

/** Null: it is no JSON. */
function canonicalOrNull(value: unknown): string | null {
  try {
    return canonical(value);
  } catch {
    return null;
  }
}

/** When a timer is due, in milliseconds since 1970; null: it is no timer. */
export function dueAtMs(spec: WaitSpec, nowMs: number): number | null {
  if (spec.kind !== 'timer') return null;
  return spec.until === null ? nowMs + (spec.afterMs ?? 0) : new Date(spec.until).getTime();
}

/** What a person reads about a wait. Holds nothing that differs between two executions. */
export function waitText(tool: string, spec: WaitSpec): string {
  switch (spec.kind) {
    case 'question':
      return spec.text;
    case 'timer':
      return spec.until === null ? `${tool} waits for ${spec.afterMs} ms.` : `${tool} waits until ${spec.until}.`;
    case 'event':
      return `${tool} waits for the event ${spec.name}${spec.key === null ? '' : ` with the key ${spec.key}`}.`;
    case 'budget':
      return exhaustedText(spec);
    case 'child_run':
      return `${tool} waits for the run ${spec.runId}.`;
  }
}
