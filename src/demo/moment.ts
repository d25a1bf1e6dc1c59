import { setTimeout as sleep } from 'node:timers/promises';
import { EVENT_DATA, type EventData, type EventKind, type RunEvent, TERMINAL_KINDS } from '../core/log/event.js';
import type { PaymentLine } from './pay.js';

/** When the server is killed, each once. */
export const KILLS = ['model', 'payment', 'paused'] as const;
export type Kill = (typeof KILLS)[number];

/** Where the demo stops watching, to do something. */
export type Moment =
  | { readonly type: 'kill'; readonly kill: Kill; readonly text: string }
  | { readonly type: 'paused' }
  | { readonly type: 'over' };

const FIRST_TURN_TO_KILL = 3;
const INTO_MODEL_CALL_MS = 300;
const PAYMENT_TIMEOUT_MS = 5000;
const LOOK_MS = 20;

export interface Watch {
  /** What was done before. */
  readonly killed: ReadonlySet<Kill>;
  readonly payments: () => readonly PaymentLine[];
  /** Whether something that waits is an approval, not only a question about a killed payment. */
  readonly approvalWaits: () => Promise<boolean>;
}

export const dataOf = <K extends EventKind>(kind: K, event: RunEvent): EventData<K> | null =>
  event.kind === kind ? EVENT_DATA[kind].parse(event.data) : null;

/** What an event calls for; null: nothing, the run goes on. */
export async function momentOf(event: RunEvent, watch: Watch): Promise<Moment | null> {
  if (TERMINAL_KINDS.has(event.kind)) return { type: 'over' };
  const asked = dataOf('model.requested', event);
  if (asked !== null && asked.turn >= FIRST_TURN_TO_KILL && !watch.killed.has('model')) {
    await sleep(INTO_MODEL_CALL_MS);
    return { type: 'kill', kill: 'model', text: `in the middle of model call ${asked.turn}` };
  }
  const started = dataOf('call.started', event);
  if (started?.tool === 'pay' && !watch.killed.has('payment') && (await isMade(started.callId, watch))) {
    return {
      type: 'kill',
      kill: 'payment',
      text: 'in the middle of a payment: its line is written, the bank has not answered',
    };
  }
  if (event.kind !== 'run.paused') return null;
  if (!watch.killed.has('paused') && (await watch.approvalWaits())) {
    return { type: 'kill', kill: 'paused', text: 'while the run is paused for an approval' };
  }
  return { type: 'paused' };
}

/** Looks until the line of a payment is in the file. */
async function isMade(callId: string, { payments }: Watch): Promise<boolean> {
  const until = performance.now() + PAYMENT_TIMEOUT_MS;
  while (performance.now() < until) {
    if (payments().some((line) => line.callId === callId)) return true;
    await sleep(LOOK_MS);
  }
  return false;
}
