#!/usr/bin/env node
/**
 * Checks a proof of what a run did, offline: `node verify.mjs proof.json --key <public key>`. It was written from docs/events.md and
 * docs/evidence.md, imports nothing but Node, and shares no code with what it checks. Exit code 0: proven; 1: not; 2: misused.
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
const listOf = (value: Json | undefined, what: string): Json[] => {
  must(Array.isArray(value), `${what} is no list`);
  return value;
};
const textOf = (value: Json | undefined, what: string): string => {
  must(typeof value === 'string', `${what} is no text`);
  return value;
};
const hashesOf = (value: Json | undefined, what: string): Buffer[] =>
  listOf(value, what).map((one) => {
    must(typeof one === 'string' && /^[0-9a-f]{64}$/.test(one), `${what} has something else than hashes`);
    return Buffer.from(one, 'hex');
  });

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
  const [, name = '', id = '', base64 = ''] = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/u.exec(text.trim()) ?? [];
  const tagged = Buffer.from(base64, 'base64');
  const fits = sha256(Buffer.concat([Buffer.from(`${name}\n`), tagged])).toString('hex', 0, 4) === id;
  must(tagged.length === 33 && tagged[0] === 1 && fits, `"${text.trim()}" is no public key: expected name+id+base64`);
  return { text: text.trim(), name, id, bytes: tagged.subarray(1) };
}

const isSigned = (note: string, key: Key): boolean => {
  const end = note.lastIndexOf('\n\n') + 1;
  if (end === 0) return false;
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: key.bytes.toString('base64url') };
  return note
    .slice(end + 1)
    .split('\n')
    .some((line) => {
      const [dash, name, base64 = ''] = line.split(' ');
      const bytes = Buffer.from(base64, 'base64');
      if (dash !== '—' || name !== key.name || bytes.length !== 68 || bytes.toString('hex', 0, 4) !== key.id)
        return false;
      const publicKey = createPublicKey({ key: jwk, format: 'jwk' });
      return verify(null, Buffer.from(note.slice(0, end)), publicKey, bytes.subarray(4));
    });
};

/** Keys that are trusted because trusted ones have handed over to them, or took over from them: both have signed. */
function withHandovers(trusted: readonly Key[], notes: readonly string[]): readonly Key[] {
  const all = new Map(trusted.map((key) => [key.text, key]));
  for (let round = 0; round <= notes.length; round++)
    for (const note of notes) {
      const [origin, title, older = '', newer = ''] = note.split('\n');
      if (title !== 'key hand-over') continue;
      const pair = [keyOf(older), keyOf(newer)];
      const good = pair.every((key) => key.name === origin && isSigned(note, key));
      if (good && pair.some(({ text }) => all.has(text))) for (const key of pair) all.set(key.text, key);
    }
  return [...all.values()];
}

interface Checkpoint {
  readonly origin: string;
  readonly size: bigint;
  readonly root: Buffer;
  readonly key: Key;
}

function checkpointOf(note: string, keys: readonly Key[], what: string): Checkpoint {
  const key = keys.find((one) => isSigned(note, one));
  must(key !== undefined, `${what} is not signed by a key that you trust`);
  const [origin = '', size = '', base64 = ''] = note.split('\n');
  const root = Buffer.from(base64, 'base64');
  must(/^(0|[1-9]\d*)$/.test(size) && root.length === 32, `${what} is no checkpoint`);
  must(origin === key.name, `${what} is of another log than its key`);
  return { origin, size: BigInt(size), root, key };
}

// The state of a run (docs/events.md)

const NOTHING = digestOfText('');
const startOf = (): Fields => ({
  ...{ status: 'none', segment: 0, turns: 0, usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 } },
  ...{ openCalls: {}, closedCalls: { count: 0, digest: NOTHING }, pending: {}, conversation: NOTHING },
  ...{ cancelRequested: false, result: null },
});

const put = (object: Json | undefined, key: Json | undefined, value: Json): void => {
  Object.defineProperty(object, String(key), { value, enumerable: true, configurable: true, writable: true });
};
const part = (state: Fields, name: string): Fields => fieldsOf(state[name], name);
const addUsage = (state: Fields, data: Fields): void => {
  const [usage, more] = [part(state, 'usage'), part(data, 'usage')];
  for (const name of Object.keys(usage)) usage[name] = Number(usage[name]) + Number(more[name]);
};
const mark = (state: Fields, data: Fields, at: string): void => {
  const call = Object.entries(part(state, 'openCalls')).find(([id]) => id === data['callId']);
  if (call !== undefined) fieldsOf(call[1], 'call')['at'] = at;
};
const end = (state: Fields, status: string, result: Json | undefined): void => {
  Object.assign(state, { status, pending: {}, result: digest(result) });
};

const CHANGES: { readonly [kind: string]: (state: Fields, data: Fields) => void } = {
  'run.created': (s, d) => Object.assign(s, { status: 'queued', conversation: roll(s['conversation'], d['input']) }),
  'segment.started': (s, d) => Object.assign(s, { status: 'running', segment: d['segment'] }),
  'segment.rebuilt': (s, d) => Object.assign(s, { segment: d['segment'] }),
  'segment.cut': (s) => Object.assign(s, { status: 'queued' }),
  'model.responded': (s, d) => {
    addUsage(s, d);
    Object.assign(s, { turns: Number(s['turns']) + 1, conversation: roll(s['conversation'], d['output']) });
  },
  'call.checked': (s, d) =>
    put(s['openCalls'], d['callId'], { tool: d['tool'] ?? null, digest: d['digest'] ?? null, at: 'checked' }),
  'call.started': (s, d) => mark(s, d, 'started'),
  'call.unknown': (s, d) => mark(s, d, 'unknown'),
  'call.finished': (s, d) => {
    const closed = part(s, 'closedCalls');
    delete part(s, 'openCalls')[String(d['callId'])];
    s['closedCalls'] = { count: Number(closed['count']) + 1, digest: roll(closed['digest'], d) };
  },
  'child.ended': addUsage,
  'interruption.requested': (s, d) => put(s['pending'], d['id'], d['kind'] ?? null),
  'interruption.decided': (s, d) => void delete part(s, 'pending')[String(d['id'])],
  'run.paused': (s) => Object.assign(s, { status: 'paused' }),
  'run.cancel_requested': (s) => Object.assign(s, { cancelRequested: true }),
  'run.completed': (s, d) => end(s, 'completed', d['output']),
  'run.failed': (s, d) => end(s, 'failed', part(d, 'error')['code']),
  'run.cancelled': (s, d) => end(s, 'cancelled', d['reason']),
};
const UNCHANGED =
  /^(session\.(loaded|saved)|run\.forked|model\.(requested|failed)|mcp\.(listed|changed)|child\.started|interruption\.voted|standing_decision\.(made|revoked))$/;
const TERMINAL = /^run\.(completed|failed|cancelled)$/;
const HASHED = [
  ...['v', 'runId', 'tenant', 'seq', 'parentId', 'kind', 'at', 'dataHash'],
  ...['stateVersion', 'stateHashBefore', 'stateHashAfter', 'prevHash'],
];

// The log of the run

interface Chain {
  /** Hash, state hash and kind of each event. */
  readonly events: readonly Fields[];
  readonly shown: number;
  /** Up to which event the state was made again. */
  readonly folded: number;
}

function checkChain(bundle: Fields): Chain {
  const [runId, tenant] = [textOf(bundle['runId'], 'runId'), textOf(bundle['tenant'], 'tenant')];
  const state = startOf();
  let [prevHash, before, at] = [digestOfText(`holdfast:v1\n${tenant}\n${runId}`), digest(state), ''];
  let [shown, folded] = [0, 0];
  const events = listOf(bundle['events'], 'events').map((one, index) => {
    const event = fieldsOf(one, `event ${index + 1}`);
    const seq = index + 1;
    const fits = (holds: boolean, what: string): void => must(holds, `event ${seq}: ${what}`);
    fits(event['seq'] === seq && event['stateVersion'] === seq && event['v'] === 1, 'it is not the one of this place');
    fits(event['runId'] === runId && event['tenant'] === tenant, 'it belongs to another run');
    fits(event['prevHash'] === prevHash, 'it does not follow from the event before');
    fits(
      event['hash'] === digest(Object.fromEntries(HASHED.map((name) => [name, event[name] ?? null]))),
      'its hash does not fit',
    );
    fits(event['stateHashBefore'] === before, 'it begins with another state');
    const time = textOf(event['at'], 'at');
    fits(time >= at && !Number.isNaN(Date.parse(time)), 'its time is before that of the event before');
    const kind = textOf(event['kind'], 'kind');
    if (event['salt'] !== undefined) {
      const salt = Buffer.from(textOf(event['salt'], 'salt'), 'hex');
      const commitment = createHmac('sha256', salt).update(canonical(event['data'])).digest('hex');
      fits(event['dataHash'] === `hmac-sha256:${commitment}`, 'its payload is not the one that was committed to');
      shown += 1;
      if (folded === index && (kind in CHANGES || UNCHANGED.test(kind))) {
        CHANGES[kind]?.(state, fieldsOf(event['data'], 'data'));
        fits(event['stateHashAfter'] === digest(state), 'the state after it is not what it says');
        folded = seq;
      }
    } else fits(event['data'] === undefined, 'it shows a payload that nothing proves');
    [prevHash, before, at] = [textOf(event['hash'], 'hash'), textOf(event['stateHashAfter'], 'stateHashAfter'), time];
    return event;
  });
  const early = events.findIndex(({ kind }) => TERMINAL.test(String(kind)));
  must(early < 0 || early === events.length - 1, `event ${early + 2}: the run was over before it`);
  return { events, shown, folded };
}

export interface OtherCheckpoint {
  readonly note: string;
  /** Hex hashes, as `GET /api/v1/log/consistency` gives them. */
  readonly proof: readonly string[];
}

/** Checks a bundle with public keys that are trusted, and whether another checkpoint is of the same log. Never throws. */
export function checkProof(
  text: string,
  trusted: readonly string[],
  other: OtherCheckpoint | null = null,
): ProofReport {
  try {
    return { ok: true, problem: null, ...judge(fieldsOf(JSON.parse(text) as Json, 'the bundle'), trusted, other) };
  } catch (error) {
    const problem =
      error instanceof Wrong ? error.message : `it cannot be read: ${error instanceof Error ? error.message : error}`;
    return { ok: false, problem, proven: [], notProven: [] };
  }
}

function judge(bundle: Fields, trusted: readonly string[], other: OtherCheckpoint | null) {
  must(bundle['format'] === 'holdfast-proof-v1', 'it is no proof of a format that this program knows');
  must(trusted.length > 0, 'no public key was given: one that the bundle itself brings proves nothing');
  const notes = listOf(bundle['handovers'], 'handovers').map((note) => textOf(note, 'hand-over'));
  const keys = withHandovers(trusted.map(keyOf), notes);
  const checkpoint = checkpointOf(textOf(bundle['checkpoint'], 'checkpoint'), keys, 'the checkpoint');
  const { events, shown, folded } = checkChain(bundle);
  const { index, ...entry } = fieldsOf(bundle['entry'], 'entry');
  const seq = Number(entry['seq']);
  const last = events[seq - 1];
  must(
    last !== undefined,
    `the log was signed with ${seq} events, and the bundle has ${events.length}: its end is missing`,
  );
  must(entry['runId'] === bundle['runId'] && entry['tenant'] === bundle['tenant'], 'the entry is of another run');
  must(
    entry['hash'] === last['hash'] && entry['stateHash'] === last['stateHashAfter'],
    `the entry commits to another event ${seq}`,
  );
  const complete = entry['complete'] === true;
  must(complete === TERMINAL.test(String(last['kind'])), 'the entry says something else of whether the run is over');
  must(!complete || events.length === seq, 'the entry says that the run was over, and the bundle goes on');
  must(typeof index === 'number' && Number.isSafeInteger(index), 'the entry has no index');
  const root = rootFrom(
    leafOf(canonical(entry)),
    BigInt(index),
    checkpoint.size,
    hashesOf(bundle['inclusion'], 'inclusion'),
  );
  must(root?.equals(checkpoint.root) === true, 'the entry is not in the log that the checkpoint was signed of');
  const proven = [
    `events 1 to ${seq} of run ${String(bundle['runId'])}, in this order and with these times, are in the log ${checkpoint.origin} of ${checkpoint.size} entries, signed by ${checkpoint.key.text}`,
    complete
      ? `event ${seq} is the last: the run is over, and none of its events is missing`
      : `the run had ${seq} events when it was signed`,
    `${shown} of ${events.length} payloads are those that were committed to`,
    `the state was made again up to event ${folded}`,
  ];
  const notProven = [
    'that what was logged is true',
    'that nobody was shown another log, unless you compare checkpoints with others',
  ];
  if (!complete) notProven.unshift('how the run went on');
  if (events.length > seq) notProven.unshift(`events ${seq + 1} to ${events.length}, which no signature covers`);
  if (shown < events.length)
    notProven.unshift(`what the ${events.length - shown} payloads say that are withheld or erased`);
  if (other !== null) proven.push(compare(checkpoint, other, keys));
  return { proven, notProven };
}

function compare(checkpoint: Checkpoint, { note, proof }: OtherCheckpoint, keys: readonly Key[]): string {
  const second = checkpointOf(note, keys, 'the other checkpoint');
  must(second.origin === checkpoint.origin, 'the other checkpoint is of another log');
  const [older, newer] = second.size <= checkpoint.size ? [second, checkpoint] : [checkpoint, second];
  must(
    extendsTree(older, newer, hashesOf([...proof], 'the consistency proof')),
    'the two checkpoints are not of one log: it was rewritten, or forked',
  );
  return `the log of ${newer.size} entries begins with the one of ${older.size}: nothing in it was changed or removed`;
}

/** The public keys in a file, one in each line: as text, or as `{"key": "…"}`, which is how Holdfast keeps them. */
export const keysIn = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => /^\{"key":"([^"]+)"/.exec(line)?.[1] ?? line);

/** The program. Gives its exit code. */
export function main(args: readonly string[], print: (line: string) => void): number {
  const valuesOf = (name: string): string[] => args.flatMap((arg, at) => (args[at - 1] === name ? [arg] : []));
  const [file] = args.filter((arg, at) => !arg.startsWith('--') && !args[at - 1]?.startsWith('--'));
  const [other] = valuesOf('--checkpoint');
  const [consistency] = valuesOf('--consistency');
  if (file === undefined || valuesOf('--key').length === 0) {
    print(
      'usage: node verify.mjs <proof.json> --key <public key, or @file> [--key …] [--checkpoint <note> --consistency <json>]',
    );
    return 2;
  }
  try {
    const keys = valuesOf('--key').flatMap((key) =>
      key.startsWith('@') ? keysIn(readFileSync(key.slice(1), 'utf8')) : [key],
    );
    const proof = consistency === undefined ? [] : JSON.parse(readFileSync(consistency, 'utf8')).proof;
    const second = other === undefined ? null : { note: readFileSync(other, 'utf8'), proof };
    const report = checkProof(readFileSync(file, 'utf8'), keys, second);
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
