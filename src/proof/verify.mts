#!/usr/bin/env node
/**
 * Checks a proof of what a run did, offline: `node verify.mjs proof.json --key <public key>`. It was written from docs/evidence/proof-format.md
 * and docs/events.md, imports nothing but Node, and shares no code with what it checks. Exit code 0: proven; 1: not; 2: misused.
 */
import { createHash, createHmac, createPublicKey, verify } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

type Json = null | boolean | number | string | Json[] | Fields;
interface Fields {
  [key: string]: Json;
}

export interface ProofReport {
  readonly ok: boolean;
  /** What is wrong; null: nothing. */
  readonly problem: string | null;
  readonly proven: readonly string[];
  readonly notProven: readonly string[];
}

class Wrong extends Error {}
function must(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Wrong(what);
}

const canonical = (value: Json | undefined): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.keys(value).sort();
  return `{${members.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(',')}}`;
};
const sha256 = (bytes: string | Buffer): Buffer => createHash('sha256').update(bytes).digest();
const digest = (value: Json | undefined): string => `sha256:${sha256(canonical(value)).toString('hex')}`;
const digestOfText = (text: string): string => `sha256:${sha256(text).toString('hex')}`;
const roll = (before: Json | undefined, value: Json | undefined): string =>
  digestOfText(`${before}\n${canonical(value)}`);

const fieldsOf = (value: Json | undefined, what: string): Fields => {
  must(typeof value === 'object' && value !== null && !Array.isArray(value), `${what} is no object`);
  return value;
};
/** An object that has these members and no other; those after `optional` may be missing. */
const exactly = (
  value: Json | undefined,
  names: readonly string[],
  optional: readonly string[],
  what: string,
): Fields => {
  const fields = fieldsOf(value, what);
  for (const name of names) must(Object.hasOwn(fields, name), `${what} has no member "${name}"`);
  for (const name of Object.keys(fields))
    must(
      names.includes(name) || optional.includes(name),
      `${what} has a member "${name}", which the format does not know`,
    );
  return fields;
};
const listOf = (value: Json | undefined, what: string): Json[] => {
  must(Array.isArray(value), `${what} is no list`);
  return value;
};
const textOf = (value: Json | undefined, what: string): string => {
  must(typeof value === 'string', `${what} is no text`);
  return value;
};
const textLike = (value: Json | undefined, pattern: RegExp, what: string): string => {
  const text = textOf(value, what);
  must(pattern.test(text), `${what} is not written as the format says`);
  return text;
};
const countOf = (value: Json | undefined, least: number, what: string): number => {
  must(
    typeof value === 'number' && Number.isSafeInteger(value) && value >= least,
    `${what} is no whole number from ${least}`,
  );
  return value;
};
const HEX = /^[0-9a-f]{64}$/;
const HASH = /^sha256:[0-9a-f]{64}$/;
const COMMITMENT = /^hmac-sha256:[0-9a-f]{64}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const hashesOf = (value: Json | undefined, what: string): Buffer[] =>
  listOf(value, what).map((one) => {
    must(typeof one === 'string' && HEX.test(one), `${what} has something else than hashes`);
    return Buffer.from(one, 'hex');
  });
/** What a member holds that must be there: programs do not agree on what an absent one is. */
const memberOf = (fields: Fields, name: string): Json => {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  must(value !== undefined, `it has no member "${name}"`);
  return value;
};
const numberOf = (value: Json | undefined, what: string): number => {
  must(typeof value === 'number', `${what} is no number`);
  return value;
};
/** A time is written in one way. 30 February is none. */
const isTime = (text: string): boolean => {
  const time = new Date(text);
  return !Number.isNaN(time.getTime()) && time.toISOString() === text;
};
/** The bytes of a base64 text that is written in the one way that they can be. */
const bytesOf = (base64: string): Buffer | null => {
  const bytes = Buffer.from(base64, 'base64');
  return bytes.toString('base64') === base64 ? bytes : null;
};

/** Where a number ends that begins here, if there is one. */
function afterNumber(text: string, at: number): number {
  const number = /-?[0-9][-+.0-9Ee]*/y;
  number.lastIndex = at;
  const written = number.exec(text)?.[0];
  if (written === undefined) return at;
  must(JSON.stringify(Number(written)) === written, `the number ${written} is not written as RFC 8785 does`);
  return at + written.length - 1;
}

/**
 * JSON in which no object has a member twice, and each number is written as RFC 8785 writes it: programs do not agree on which of the two
 * counts, and on what a number is that no double can be.
 */
function parseStrictly(text: string): Json {
  const value: Json = JSON.parse(text);
  // The text is JSON from here on.
  const open: (Set<string> | null)[] = [];
  let isName = false;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at];
    if (sign === '{') open.push(new Set());
    else if (sign === '[') open.push(null);
    else if (sign === '}' || sign === ']') open.pop();
    if (sign === '{' || sign === ',') isName = open.at(-1) !== null;
    else if (sign === '[' || sign === ':') isName = false;
    if (sign !== '"') {
      at = afterNumber(text, at);
      continue;
    }
    const start = at;
    for (at++; text[at] !== '"'; at++) if (text[at] === '\\') at++;
    const name: string = JSON.parse(text.slice(start, at + 1));
    must(name.isWellFormed(), 'a text has half of a pair of surrogates');
    const names = open.at(-1);
    if (!isName || names === null || names === undefined) continue;
    must(!names.has(name), `an object has the member "${name}" twice`);
    names.add(name);
  }
  return value;
}

// Merkle trees (RFC 9162, section 2.1)

const leafOf = (text: string): Buffer => sha256(Buffer.concat([Buffer.of(0), Buffer.from(text, 'utf8')]));
const above = (left: Buffer, right: Buffer): Buffer => sha256(Buffer.concat([Buffer.of(1), left, right]));

function rootFrom(leaf: Buffer, index: bigint, size: bigint, proof: readonly Buffer[]): Buffer | null {
  if (index < 0n || index >= size) return null;
  let [at, last, made] = [index, size - 1n, leaf];
  for (const hash of proof) {
    if (last === 0n) return null;
    if (at % 2n === 1n || at === last) {
      made = above(hash, made);
      while (at % 2n === 0n && at !== 0n) [at, last] = [at / 2n, last / 2n];
    } else made = above(made, hash);
    [at, last] = [at / 2n, last / 2n];
  }
  return last === 0n ? made : null;
}

function extendsTree(older: Checkpoint, newer: Checkpoint, proof: readonly Buffer[]): boolean {
  if (older.size === newer.size) return older.root.equals(newer.root);
  if (older.size < 1n || older.size > newer.size || proof.length === 0) return false;
  let [at, last] = [older.size - 1n, newer.size - 1n];
  while (at % 2n === 1n) [at, last] = [at / 2n, last / 2n];
  const [first = older.root, ...rest] = at === 0n ? [older.root, ...proof] : proof;
  let [before, after] = [first, first];
  for (const hash of rest) {
    if (last === 0n) return false;
    if (at % 2n === 1n || at === last) {
      [before, after] = [above(hash, before), above(hash, after)];
      while (at % 2n === 0n && at !== 0n) [at, last] = [at / 2n, last / 2n];
    } else after = above(after, hash);
    [at, last] = [at / 2n, last / 2n];
  }
  return last === 0n && before.equals(older.root) && after.equals(newer.root);
}

// Signed notes and checkpoints (C2SP)

interface Key {
  readonly text: string;
  readonly name: string;
  readonly id: string;
  readonly bytes: Buffer;
}

function keyOf(text: string): Key {
  const [, name = '', id = '', base64 = ''] = /^([^\s+]{1,200})\+([0-9a-f]{8})\+(\S{44})$/u.exec(text) ?? [];
  must(!CONTROLS.test(name), `"${text}" is no public key: its name has a control character`);
  const tagged = bytesOf(base64);
  const fits = tagged?.length === 33 && tagged[0] === 1 && idOf(name, tagged) === id;
  must(tagged !== null && fits, `"${text}" is no public key: expected name+id+base64`);
  return { text, name, id, bytes: tagged.subarray(1) };
}
const idOf = (name: string, tagged: Buffer): string =>
  sha256(Buffer.concat([Buffer.from(`${name}\n`), tagged])).toString('hex', 0, 4);

interface Note {
  /** What is signed: it ends with a line feed. */
  readonly text: string;
  readonly lines: readonly string[];
  readonly signatures: readonly { readonly name: string; readonly id: string; readonly bytes: Buffer }[];
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the format forbids them
const CONTROLS = /[\x00-\x09\x0b-\x1f]/;
const MOST_SIGNATURES = 100;

/** A note with so many lines of text, and its signatures. */
function noteOf(note: string, lines: number, what: string): Note {
  const end = note.lastIndexOf('\n\n') + 1;
  must(end > 0 && note.endsWith('\n') && !CONTROLS.test(note), `${what} is no signed note`);
  const text = note.slice(0, end);
  must(text.split('\n').length === lines + 1, `${what} has another number of lines than ${lines}`);
  const signatures = note
    .slice(end + 1, -1)
    .split('\n')
    .map((line) => {
      const [, name = '', base64 = ''] = /^— ([^\s+]{1,200}) (\S+)$/u.exec(line) ?? [];
      const bytes = bytesOf(base64);
      must(bytes !== null && bytes.length > 4, `${what} has a line that is no signature`);
      return { name, id: bytes.toString('hex', 0, 4), bytes: bytes.subarray(4) };
    });
  must(signatures.length <= MOST_SIGNATURES, `${what} has more than ${MOST_SIGNATURES} signatures`);
  return { text, lines: text.slice(0, -1).split('\n'), signatures };
}

/** A note with two signatures in the name of one key is signed only if both are right. Null: it has none in its name. */
const signedBy = ({ text, signatures }: Note, key: Key): boolean | null => {
  const own = signatures.filter(({ name, id }) => name === key.name && id === key.id);
  if (own.length === 0) return null;
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: key.bytes.toString('base64url') };
  const publicKey = createPublicKey({ key: jwk, format: 'jwk' });
  return own.every(({ bytes }) => bytes.length === 64 && verify(null, Buffer.from(text), publicKey, bytes));
};

const isSigned = (note: Note, key: Key): boolean => signedBy(note, key) === true;

interface Handover {
  readonly from: Key;
  readonly to: Key;
  readonly until: bigint | null;
}

interface Revocation {
  readonly revoked: Key;
  readonly until: bigint;
  readonly note: Note;
}

const sizeOf = (text: string, what: string): bigint => BigInt(textLike(text, /^(0|[1-9]\d{0,15})$/, what));

function handoverOf(text: string, what: string): Handover | Revocation {
  const [, title = '', , size = ''] = text.split('\n');
  if (title === 'key revocation') {
    const note = noteOf(text, 4, what);
    return { revoked: keyOf(note.lines[2] ?? ''), until: sizeOf(size, `the number of entries of ${what}`), note };
  }
  must(title === 'key hand-over', `${what} is none`);
  const isDated = text.split('\n')[4] !== '';
  const note = noteOf(text, isDated ? 5 : 4, what);
  const [origin, , older = '', newer = '', until = ''] = note.lines;
  const [from, to] = [keyOf(older), keyOf(newer)];
  must(
    [from, to].every((key) => key.name === origin && isSigned(note, key)),
    `${what} is not signed by both of its keys`,
  );
  return { from, to, until: isDated ? sizeOf(until, `the number of entries of ${what}`) : null };
}

interface Trust {
  readonly key: Key;
  /** A checkpoint of more entries is not believed. */
  readonly until: bigint | null;
  /** Why it is trusted, where it is not one of those that were given. */
  readonly because: string | null;
}

/** The keys that are trusted, and up to where: those that were given, those before them, and those that they alone led to. */
function trustOf(given: readonly Key[], texts: readonly string[]): readonly Trust[] {
  const notes = texts.map((text, index) => handoverOf(text, `hand-over ${index + 1}`));
  const handovers = notes.filter((note) => 'from' in note);
  const all = new Map<string, { key: Key; because: string | null }>(
    given.map((key) => [key.text, { key, because: null }]),
  );
  const successors = successorsIn(handovers);
  const isOnly = ({ from }: Handover): boolean => successors.get(from.text)?.size === 1;
  const said = (until: bigint | null): string =>
    until === null ? 'without a number of entries' : `at ${until} entries`;
  for (let before = -1; before !== all.size; ) {
    before = all.size;
    for (const { from, to, until } of handovers)
      if (all.has(to.text) && !all.has(from.text))
        all.set(from.text, { key: from, because: `it handed over to ${to.text} ${said(until)}` });
    if (all.size !== before) continue;
    for (const one of handovers)
      if (all.has(one.from.text) && !all.has(one.to.text) && isOnly(one))
        all.set(one.to.text, { key: one.to, because: `${one.from.text} handed over to it ${said(one.until)}` });
  }
  const believed = handovers.filter(({ from, to }) => all.has(from.text) && all.has(to.text));
  const bounds = believed.map(({ from, until }) => ({ text: from.text, until }));
  const later = successorsIn(believed);
  for (const note of notes) {
    if (!('revoked' in note)) continue;
    const after = leadsTo(later, note.revoked.text);
    const signers = [...all.values()].filter(({ key }) => after.has(key.text) && key.name === note.note.lines[0]);
    if (signers.some(({ key }) => isSigned(note.note, key)))
      bounds.push({ text: note.revoked.text, until: note.until });
  }
  return [...all.values()].map(({ key, because }) => {
    const own = bounds.flatMap(({ text, until }) => (text === key.text && until !== null ? [until] : []));
    return { key, because, until: own.reduce<bigint | null>((a, b) => (a === null || b < a ? b : a), null) };
  });
}

type Successors = ReadonlyMap<string, ReadonlySet<string>>;

/** To which keys each key handed over. */
function successorsIn(handovers: readonly Handover[]): Successors {
  const found = new Map<string, Set<string>>();
  for (const { from, to } of handovers) found.set(from.text, (found.get(from.text) ?? new Set()).add(to.text));
  return found;
}

/** The keys to which a key handed over, directly or through others, without itself. */
function leadsTo(successors: Successors, from: string): ReadonlySet<string> {
  const after = new Set([from]);
  for (const key of after) for (const next of successors.get(key) ?? []) after.add(next);
  after.delete(from);
  return after;
}

interface Checkpoint {
  readonly origin: string;
  readonly size: bigint;
  readonly root: Buffer;
  readonly key: Key;
  /** By whom it is signed, and why that key is trusted. */
  readonly signed: string;
}

function checkpointOf(text: string, trust: readonly Trust[], what: string): Checkpoint {
  const note = noteOf(text, 3, what);
  const named = trust.filter(({ key }) => signedBy(note, key) !== null);
  must(
    named.every(({ key }) => isSigned(note, key)),
    `${what} is not signed: it has a wrong signature in the name of a key that you trust`,
  );
  must(named.length > 0, `${what} is not signed by a key that you trust`);
  const [origin = '', size = '', base64 = ''] = note.lines;
  const root = bytesOf(base64);
  must(/^(0|[1-9]\d{0,15})$/.test(size) && root?.length === 32, `${what} is no checkpoint`);
  const ofLog = named.filter(({ key }) => key.name === origin);
  must(ofLog.length > 0, `${what} is of another log than its key`);
  const signer = ofLog.find(({ until }) => until === null || BigInt(size) <= until);
  must(
    signer !== undefined,
    `${what} has ${size} entries, and its key is believed up to ${ofLog[0]?.until}: it handed over to another, or was revoked`,
  );
  const { key, because } = signer;
  const signed = because === null ? key.text : `${key.text}, which is trusted because ${because}`;
  return { origin, size: BigInt(size), root, key, signed };
}

// The state of a run (docs/events.md)

const NOTHING = digestOfText('');
const startOf = (): Fields => ({
  ...{ status: 'none', segment: 0, turns: 0, usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 } },
  ...{ openCalls: {}, closedCalls: { count: 0, digest: NOTHING }, pending: {}, conversation: NOTHING },
  ...{ cancelRequested: false, result: null },
});

const put = (object: Json | undefined, key: string, value: Json): void => {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
};
const part = (state: Fields, name: string): Fields => fieldsOf(state[name], name);
const addUsage = (state: Fields, data: Fields): void => {
  const [usage, more] = [part(state, 'usage'), part(data, 'usage')];
  for (const name of Object.keys(usage)) usage[name] = Number(usage[name]) + numberOf(memberOf(more, name), name);
};
const nameIn = (data: Fields, name: string): string => textOf(memberOf(data, name), name);
const mark = (state: Fields, data: Fields, at: string): void => {
  const callId = nameIn(data, 'callId');
  const call = Object.entries(part(state, 'openCalls')).find(([id]) => id === callId);
  if (call !== undefined) fieldsOf(call[1], 'call')['at'] = at;
};
const end = (state: Fields, status: string, result: Json): void => {
  Object.assign(state, { status, pending: {}, result: digest(result) });
};

const isFields = (value: Json | undefined): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const LARGEST = Number.MAX_VALUE;

/** What a change of a call makes of the member at its path; undefined removes it. */
const MADE: { readonly [op: string]: (op: Fields, old: Json | undefined) => Json | undefined } = {
  set: (op) => memberOf(op, 'value'),
  remove: () => undefined,
  add: (op, old) =>
    Math.max(-LARGEST, Math.min(LARGEST, (typeof old === 'number' ? old : 0) + numberOf(op['by'], 'by'))),
  append: (op, old) => [...(Array.isArray(old) ? old : []), ...listOf(op['values'], 'values')],
};
const placed = (
  value: Json | undefined,
  [name, ...rest]: readonly string[],
  make: (old: Json | undefined) => Json | undefined,
): Json | undefined => {
  if (name === undefined) return make(value);
  const held = isFields(value) ? value : {};
  const made = placed(Object.hasOwn(held, name) ? held[name] : undefined, rest, make);
  const others = Object.entries(held).filter(([other]) => other !== name);
  return Object.fromEntries(made === undefined ? others : [...others, [name, made]]);
};
const STEPS = /^(?:\/(?:[^~/]|~[01])*)+$/;
/** The state that an agent declares, after a call that changed it. */
const changeOwn = (state: Fields, outcome: Fields): void => {
  const own = state['agentState'];
  if (own === undefined || outcome['type'] !== 'output' || outcome['state'] === undefined) return;
  let { value } = fieldsOf(own, 'agentState');
  for (const one of listOf(fieldsOf(outcome['state'], 'state')['changes'], 'changes')) {
    const op = fieldsOf(one, 'change');
    const name = textOf(op['op'], 'op');
    const make = Object.hasOwn(MADE, name) ? MADE[name] : undefined;
    must(make !== undefined, `the change ${name} of a state is not known`);
    const names = textLike(op['path'], STEPS, 'path').slice(1).split('/');
    value = placed(
      value,
      names.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~')),
      (old) => make(op, old),
    );
    value = isFields(value) ? value : {};
  }
  state['agentState'] = { version: Number(fieldsOf(own, 'agentState')['version']) + 1, value: value ?? {} };
};

const CHANGES: { readonly [kind: string]: (state: Fields, data: Fields) => void } = {
  'run.created': (s, d) => {
    Object.assign(s, { status: 'queued', conversation: roll(s['conversation'], memberOf(d, 'input')) });
    if (d['state'] !== undefined) s['agentState'] = { version: 0, value: d['state'] };
  },
  'segment.started': (s, d) => Object.assign(s, { status: 'running', segment: memberOf(d, 'segment') }),
  'segment.rebuilt': (s, d) => Object.assign(s, { segment: memberOf(d, 'segment') }),
  'segment.cut': (s) => Object.assign(s, { status: 'queued' }),
  'model.responded': (s, d) => {
    addUsage(s, d);
    Object.assign(s, { turns: Number(s['turns']) + 1, conversation: roll(s['conversation'], memberOf(d, 'output')) });
  },
  'call.checked': (s, d) =>
    put(s['openCalls'], nameIn(d, 'callId'), {
      ...{ tool: memberOf(d, 'tool'), digest: memberOf(d, 'digest'), at: 'checked' },
    }),
  'call.started': (s, d) => mark(s, d, 'started'),
  'call.unknown': (s, d) => mark(s, d, 'unknown'),
  'call.finished': (s, d) => {
    const closed = part(s, 'closedCalls');
    delete part(s, 'openCalls')[nameIn(d, 'callId')];
    s['closedCalls'] = { count: Number(closed['count']) + 1, digest: roll(closed['digest'], d) };
    changeOwn(s, part(d, 'outcome'));
  },
  'child.ended': addUsage,
  'interruption.requested': (s, d) => put(s['pending'], nameIn(d, 'id'), memberOf(d, 'kind')),
  'interruption.decided': (s, d) => void delete part(s, 'pending')[nameIn(d, 'id')],
  'run.paused': (s) => Object.assign(s, { status: 'paused' }),
  'run.cancel_requested': (s) => Object.assign(s, { cancelRequested: true }),
  'run.completed': (s, d) => end(s, 'completed', memberOf(d, 'output')),
  'run.failed': (s, d) => end(s, 'failed', memberOf(part(d, 'error'), 'code')),
  'run.cancelled': (s, d) => end(s, 'cancelled', memberOf(d, 'reason')),
};
const UNCHANGED: ReadonlySet<string> = new Set([
  ...['session.loaded', 'session.saved', 'run.forked', 'environment.prepared', 'model.requested', 'model.failed'],
  ...['mcp.listed', 'mcp.changed', 'child.started', 'interruption.voted', 'task.verified'],
  ...['standing_decision.made', 'standing_decision.revoked'],
]);
const isKnown = (kind: string): boolean => Object.hasOwn(CHANGES, kind) || UNCHANGED.has(kind);
const TERMINAL = /^run\.(completed|failed|cancelled)$/;
const HASHED = [
  ...['v', 'runId', 'tenant', 'seq', 'parentId', 'kind', 'at', 'dataHash'],
  ...['stateVersion', 'stateHashBefore', 'stateHashAfter', 'prevHash'],
];

// The log of the run

interface Chain {
  /** Hash, state hash and kind of each event. */
  readonly events: readonly Fields[];
  /** How many payloads are shown of the events that are signed. */
  readonly shown: number;
  /** Up to which of them the state was made again, and why no further. */
  readonly folded: number;
  readonly why: string | null;
}

/** Changes the state by an event of a kind that is known. */
function change(kind: string, state: Fields, data: Json | undefined, what: string): void {
  try {
    const payload = fieldsOf(data, 'it');
    CHANGES[kind]?.(state, payload);
  } catch (error) {
    throw error instanceof Wrong
      ? new Wrong(`${what}: its payload has not the shape of its kind: ${error.message}`)
      : error;
  }
}

/** Checks a log by itself; what comes after the event `signed` adds to nothing that is proven. */
function checkChain(bundle: Fields, signed: number): Chain {
  const [runId, tenant] = [textOf(bundle['runId'], 'runId'), textOf(bundle['tenant'], 'tenant')];
  const state = startOf();
  let [prevHash, before, at] = [digestOfText(`holdfast:v1\n${tenant}\n${runId}`), digest(state), ''];
  let [shown, folded] = [0, 0];
  let why: string | null = null;
  const events = listOf(bundle['events'], 'events').map((one, index) => {
    const seq = index + 1;
    const event = exactly(one, [...HASHED, 'hash'], ['data', 'salt'], `event ${seq}`);
    const fits = (holds: boolean, what: string): void => must(holds, `event ${seq}: ${what}`);
    fits(event['seq'] === seq && event['stateVersion'] === seq && event['v'] === 1, 'it is not the one of this place');
    fits(event['runId'] === runId && event['tenant'] === tenant, 'it belongs to another run');
    fits(event['prevHash'] === prevHash, 'it does not follow from the event before');
    fits(
      event['hash'] === digest(Object.fromEntries(HASHED.map((name) => [name, event[name] ?? null]))),
      'its hash does not fit',
    );
    fits(event['stateHashBefore'] === before, 'it begins with another state');
    fits(isParent(event['parentId'], runId, seq), 'it follows from no earlier event of its log');
    const time = textLike(event['at'], TIME, `event ${seq}: its time`);
    fits(isTime(time), 'its time is none');
    fits(time >= at, 'its time is before that of the event before');
    const kind = textOf(event['kind'], 'kind');
    textLike(event['dataHash'], COMMITMENT, `event ${seq}: its commitment`);
    const after = textLike(event['stateHashAfter'], HASH, `event ${seq}: its hash of the state`);
    const shows = Object.hasOwn(event, 'data');
    fits(shows === Object.hasOwn(event, 'salt'), 'it shows a payload that nothing proves, or a salt without a payload');
    if (shows) {
      const salt = Buffer.from(textLike(event['salt'], HEX, `event ${seq}: its salt`), 'hex');
      const commitment = createHmac('sha256', salt).update(canonical(event['data'])).digest('hex');
      fits(event['dataHash'] === `hmac-sha256:${commitment}`, 'its payload is not the one that was committed to');
      if (seq <= signed) shown += 1;
    }
    if (seq <= signed && why === null) {
      if (!shows) why = `the payload of event ${seq} is withheld or erased`;
      else if (!isKnown(kind)) why = `event ${seq} has the kind "${kind}", which this program does not know`;
      else {
        change(kind, state, event['data'], `event ${seq}`);
        fits(after === digest(state), 'the state after it is not what it says');
        folded = seq;
      }
    }
    [prevHash, before, at] = [textOf(event['hash'], 'hash'), after, time];
    return event;
  });
  const early = events.findIndex(({ kind }) => TERMINAL.test(String(kind)));
  must(early < 0 || early === events.length - 1, `event ${early + 2}: the run was over before it`);
  return { events, shown, folded, why };
}

/** The first event follows from none; every other one from an earlier one of its log. */
function isParent(id: Json | undefined, runId: string, seq: number): boolean {
  if (seq === 1) return id === null;
  if (typeof id !== 'string' || !id.startsWith(`${runId}:`)) return false;
  const parent = id.slice(runId.length + 1);
  return /^[1-9]\d{0,15}$/.test(parent) && Number(parent) < seq;
}

/** What the reader has from elsewhere. */
export interface Given {
  /** Public keys that are trusted. */
  readonly keys: readonly string[];
  /** Hand-overs and revocations that the file of these keys has, which the bundle may keep back. */
  readonly notes: readonly string[];
}

export interface OtherCheckpoint {
  readonly note: string;
  /** Hex hashes, as `GET /api/v1/log/consistency` gives them. */
  readonly proof: readonly string[];
}

const isGiven = (given: readonly string[] | Given): given is Given => !Array.isArray(given);

/** Checks a bundle with public keys that are trusted, and whether another checkpoint is of the same log. Never throws. */
export function checkProof(
  text: string,
  trusted: readonly string[] | Given,
  other: OtherCheckpoint | null = null,
): ProofReport {
  const given = isGiven(trusted) ? trusted : { keys: trusted, notes: [] };
  try {
    return { ok: true, problem: null, ...judge(parseStrictly(text), given, other) };
  } catch (error) {
    const problem =
      error instanceof Wrong ? error.message : `it cannot be read: ${error instanceof Error ? error.message : error}`;
    return { ok: false, problem, proven: [], notProven: [] };
  }
}

/** Each note is compared with the others: more than a log ever has would take hours. */
const MOST_NOTES = 1000;

function fewOf(value: Json | undefined, what: string): readonly Json[] {
  const list = listOf(value, what);
  must(list.length <= MOST_NOTES, `${what}: ${list.length} are more than the ${MOST_NOTES} that a bundle may have`);
  return list;
}

const BUNDLE = ['format', 'runId', 'tenant', 'events', 'entry', 'inclusion', 'checkpoint', 'keys', 'handovers'];
const ENTRY = ['index', 'v', 'runId', 'tenant', 'seq', 'hash', 'stateHash', 'complete', 'previous'];

function judge(value: Json, { keys: trusted, notes }: Given, other: OtherCheckpoint | null) {
  must(
    fieldsOf(value, 'the bundle')['format'] === 'holdfast-proof-v1',
    'it is no proof of a format that this program knows',
  );
  const bundle = exactly(value, BUNDLE, [], 'the bundle');
  must(trusted.length > 0, 'no public key was given: one that the bundle itself brings proves nothing');
  const own = fewOf(bundle['handovers'], 'handovers').map((note) => textOf(note, 'hand-over'));
  for (const key of fewOf(bundle['keys'], 'keys')) keyOf(textOf(key, 'key'));
  const keys = trustOf(
    trusted.map((key) => keyOf(key.trim())),
    [...new Set([...notes, ...own])],
  );
  const checkpoint = checkpointOf(textOf(bundle['checkpoint'], 'checkpoint'), keys, 'the checkpoint');
  const { index, ...entry } = exactly(bundle['entry'], ENTRY, [], 'the entry');
  const seq = countOf(entry['seq'], 1, 'seq of the entry');
  const { events, shown, folded, why } = checkChain(bundle, seq);
  const last = events[seq - 1];
  must(
    last !== undefined,
    `the log was signed with ${seq} events, and the bundle has ${events.length}: its end is missing`,
  );
  must(
    entry['v'] === 1 && entry['runId'] === bundle['runId'] && entry['tenant'] === bundle['tenant'],
    'the entry is of another run',
  );
  must(
    entry['hash'] === last['hash'] && entry['stateHash'] === last['stateHashAfter'],
    `the entry commits to another event ${seq}`,
  );
  if (entry['previous'] !== null) textLike(entry['previous'], HEX, 'previous of the entry');
  const complete = entry['complete'] === true;
  must(
    typeof entry['complete'] === 'boolean' && complete === TERMINAL.test(String(last['kind'])),
    'the entry says something else of whether the run is over',
  );
  must(!complete || events.length === seq, 'the entry says that the run was over, and the bundle goes on');
  const root = rootFrom(
    leafOf(canonical(entry)),
    BigInt(countOf(index, 0, 'index of the entry')),
    checkpoint.size,
    hashesOf(bundle['inclusion'], 'inclusion'),
  );
  must(root?.equals(checkpoint.root) === true, 'the entry is not in the log that the checkpoint was signed of');
  const proven = [
    `proven up to event ${seq}: events 1 to ${seq} of run ${String(bundle['runId'])}, in this order and with these times, are in the log ${checkpoint.origin} of ${checkpoint.size} entries, signed by ${checkpoint.signed}`,
    complete
      ? `event ${seq} is the last: the run is over, and none of its events is missing`
      : `the run had ${seq} events when it was signed`,
    `${shown} of the payloads of these ${seq} events are shown, and are those that were committed to`,
  ];
  if (folded > 0) proven.push(`the state was made again up to event ${folded}`);
  const notProven = [
    'that what was logged is true',
    'that no one was shown another log, unless you compare checkpoints with others',
  ];
  if (!complete) notProven.unshift('how the run went on');
  if (why !== null) notProven.unshift(`what the state was after event ${folded}: ${why}`);
  if (events.length > seq) notProven.unshift(`events ${seq + 1} to ${events.length}, which no signature covers`);
  if (shown < seq) notProven.unshift(`what the ${seq - shown} payloads say that are withheld or erased`);
  if (other !== null) proven.push(compare(checkpoint, other, keys));
  return { proven, notProven };
}

function compare(checkpoint: Checkpoint, { note, proof }: OtherCheckpoint, keys: readonly Trust[]): string {
  const second = checkpointOf(note, keys, 'the other checkpoint');
  must(second.origin === checkpoint.origin, 'the other checkpoint is of another log');
  const [older, newer] = second.size <= checkpoint.size ? [second, checkpoint] : [checkpoint, second];
  must(
    extendsTree(older, newer, hashesOf([...proof], 'the consistency proof')),
    'the two checkpoints are not of one log: it was rewritten, or forked',
  );
  return `the log of ${newer.size} entries begins with the one of ${older.size}: nothing in it was changed or removed`;
}

/**
 * What was given as keys: as text, or as `@` and the content of a file. A line of a file is a key as text, or
 * `{"key": "…", "handover": …, "revocation": …}`, which is how Holdfast keeps them.
 */
export function givenOf(keys: readonly string[], read: (path: string) => string): Given {
  const lines = keys.flatMap((key) => (key.startsWith('@') ? read(key.slice(1)).split('\n') : [key]));
  const given: { keys: string[]; notes: string[] } = { keys: [], notes: [] };
  for (const line of lines.map((one) => one.trim()).filter((one) => one !== '')) {
    const kept = line.startsWith('{')
      ? exactly(parseStrictly(line), ['key', 'handover'], ['revocation'], 'a line of keys')
      : {};
    given.keys.push(line.startsWith('{') ? textOf(kept['key'], 'key') : line);
    for (const note of [kept['handover'] ?? null, kept['revocation'] ?? null])
      if (note !== null) given.notes.push(textOf(note, 'a note of a line of keys'));
  }
  return given;
}

/** The text of a file, which must be UTF-8: programs do not agree on what else it says. */
export const textOfFile = (path: string): string =>
  new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(path));

const USAGE =
  'usage: node verify.mjs <proof.json> --key <public key, or @file> [--key …] [--checkpoint <note> [--consistency <json>]]';

/** What the arguments of the program say; null: something else than it knows. */
function optionsOf(args: readonly string[]) {
  const given: { [name: string]: string[] } = { '--key': [], '--checkpoint': [], '--consistency': [] };
  const files: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? '';
    if (!arg.startsWith('--')) {
      files.push(arg);
      continue;
    }
    const value = args[++at];
    if (!Object.hasOwn(given, arg) || value === undefined || value.startsWith('--')) return null;
    given[arg]?.push(value);
  }
  const { '--key': keys = [], '--checkpoint': checkpoints = [], '--consistency': proofs = [] } = given;
  const [file] = files;
  const isMore = files.length > 1 || checkpoints.length > 1 || proofs.length > checkpoints.length;
  return file === undefined || keys.length === 0 || isMore
    ? null
    : { file, keys, other: checkpoints[0], proof: proofs[0] };
}

/** A line for a terminal: what a proof names must not move its cursor, hide or begin a line. */
const shown = (line: string): string =>
  line.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`);

/** The program. Gives its exit code. */
export function main(args: readonly string[], write: (line: string) => void): number {
  const print = (line: string) => write(shown(line));
  const asked = optionsOf(args);
  if (asked === null) {
    print(USAGE);
    return 2;
  }
  try {
    const keys = givenOf(asked.keys, textOfFile);
    const proof = asked.proof === undefined ? [] : JSON.parse(textOfFile(asked.proof)).proof;
    const second = asked.other === undefined ? null : { note: textOfFile(asked.other), proof };
    const report = checkProof(textOfFile(asked.file), keys, second);
    for (const line of report.proven) print(`proven      ${line}`);
    for (const line of report.notProven) print(`not proven  ${line}`);
    print(report.problem === null ? 'ok' : `NOT PROVEN: ${report.problem}`);
    return report.ok ? 0 : 1;
  } catch (error) {
    print(`A file that was named cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    return 2;
  }
}

const [, program] = process.argv;
if (program !== undefined && realpathSync(program) === fileURLToPath(import.meta.url))
  process.exitCode = main(process.argv.slice(2), (line) => console.log(line));
