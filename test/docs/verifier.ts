import { createHash, createHmac } from 'node:crypto';

/** A verifier of logs that was written from docs/events.md alone: it imports nothing of Holdfast. */

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Fields = { [key: string]: Json };

export interface LogEvent {
  readonly id: string;
  readonly v: number;
  readonly runId: string;
  readonly tenant: string;
  readonly seq: number;
  readonly parentId: string | null;
  readonly kind: string;
  readonly at: string;
  readonly data: unknown;
  readonly dataHash: string;
  readonly stateVersion: number;
  readonly stateHashBefore: string;
  readonly stateHashAfter: string;
  readonly prevHash: string;
  readonly hash: string;
}

const sorted = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key] ?? null)]),
  );
};
/** RFC 8785 takes strings and numbers as ECMAScript writes them. Good for objects without keys that are array indexes. */
const canonical = (value: unknown): string => JSON.stringify(sorted(value as Json));
const sha256 = (text: string): string => `sha256:${createHash('sha256').update(text, 'utf8').digest('hex')}`;
const hmac = (key: Buffer, message: string): Buffer => createHmac('sha256', key).update(message, 'utf8').digest();
const roll = (digest: Json, value: unknown): string => sha256(`${String(digest)}\n${canonical(value)}`);

const start = (): Fields => ({
  ...{ status: 'none', segment: 0, turns: 0, usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 } },
  ...{ openCalls: {}, closedCalls: { count: 0, digest: sha256('') }, pending: {}, conversation: sha256('') },
  ...{ cancelRequested: false, result: null },
});

const record = (value: Json | undefined): Fields => value as Fields;

function mark(state: Fields, data: Fields, at: string): void {
  const call = record(state['openCalls'])[String(data['callId'])];
  if (call !== undefined) record(call)['at'] = at;
}

function end(state: Fields, status: string, result: Json | undefined): void {
  Object.assign(state, { status, pending: {}, result: sha256(canonical(result ?? null)) });
}

function addUsage(state: Fields, data: Fields): void {
  const usage = record(state['usage']);
  for (const [name, count] of Object.entries(record(data['usage']))) usage[name] = Number(usage[name]) + Number(count);
}

const CHANGES: { [kind: string]: (state: Fields, data: Fields) => void } = {
  'run.created': (state, data) => {
    Object.assign(state, { status: 'queued', conversation: roll(state['conversation'] ?? '', data['input']) });
  },
  'session.loaded': () => {},
  'session.saved': () => {},
  'run.forked': () => {},
  'mcp.listed': () => {},
  'mcp.changed': () => {},
  'segment.started': (state, data) => {
    Object.assign(state, { status: 'running', segment: data['segment'] });
  },
  'environment.prepared': () => {},
  'model.requested': () => {},
  'model.responded': (state, data) => {
    addUsage(state, data);
    state['turns'] = Number(state['turns']) + 1;
    state['conversation'] = roll(state['conversation'] ?? '', data['output']);
  },
  'model.failed': () => {},
  'call.checked': (state, data) => {
    const { callId, tool, digest } = data;
    record(state['openCalls'])[String(callId)] = { tool: tool ?? '', digest: digest ?? '', at: 'checked' };
  },
  'call.started': (state, data) => mark(state, data, 'started'),
  'call.unknown': (state, data) => mark(state, data, 'unknown'),
  'call.finished': (state, data) => {
    delete record(state['openCalls'])[String(data['callId'])];
    const { count, digest } = record(state['closedCalls']);
    state['closedCalls'] = { count: Number(count) + 1, digest: roll(digest ?? '', data) };
  },
  'child.started': () => {},
  'child.ended': (state, data) => addUsage(state, data),
  'interruption.requested': (state, data) => {
    record(state['pending'])[String(data['id'])] = data['kind'] ?? '';
  },
  'interruption.decided': (state, data) => {
    delete record(state['pending'])[String(data['id'])];
  },
  'interruption.voted': () => {},
  'standing_decision.made': () => {},
  'standing_decision.revoked': () => {},
  'run.paused': (state) => {
    state['status'] = 'paused';
  },
  'segment.cut': (state) => {
    state['status'] = 'queued';
  },
  'segment.rebuilt': (state, data) => {
    state['segment'] = data['segment'] ?? 0;
  },
  'run.cancel_requested': (state) => {
    state['cancelRequested'] = true;
  },
  'task.verified': () => {},
  'run.completed': (state, data) => end(state, 'completed', data['output']),
  'run.failed': (state, data) => end(state, 'failed', record(data['error'])['code']),
  'run.cancelled': (state, data) => end(state, 'cancelled', data['reason']),
};

/** Null: the log is whole. Else the number of the first broken event, and what is wrong with it. */
export function firstBroken(events: readonly LogEvent[], runKey: string): string | null {
  const [{ runId, tenant } = { runId: '', tenant: '' }] = events;
  const state = start();
  let prevHash = sha256(`holdfast:v1\n${tenant}\n${runId}`);
  for (const [index, event] of events.entries()) {
    const seq = index + 1;
    const { v, parentId, kind, at, dataHash, stateVersion, stateHashBefore, stateHashAfter } = event;
    const broken = (what: string): string => `event ${seq}: ${what}`;
    const hashed = {
      v,
      runId,
      tenant,
      seq,
      parentId,
      kind,
      at,
      dataHash,
      stateVersion,
      stateHashBefore,
      stateHashAfter,
    };
    if (event.seq !== seq || event.runId !== runId || event.tenant !== tenant) return broken('place');
    if (event.id !== `${runId}:${seq}` || stateVersion !== seq) return broken('id');
    if (event.prevHash !== prevHash) return broken('prevHash');
    if (event.hash !== sha256(canonical({ ...hashed, prevHash }))) return broken('hash');
    if (stateHashBefore !== sha256(canonical(state))) return broken('stateHashBefore');
    if (['completed', 'failed', 'cancelled'].includes(String(state['status']))) return broken('after the end');
    const salt = hmac(Buffer.from(runKey, 'hex'), String(seq));
    if (dataHash !== `hmac-sha256:${hmac(salt, canonical(event.data)).toString('hex')}`) return broken('dataHash');
    CHANGES[kind]?.(state, event.data as Fields);
    if (stateHashAfter !== sha256(canonical(state))) return broken('stateHashAfter');
    prevHash = event.hash;
  }
  return null;
}
