import type { Knex } from 'knex';
import { type SettlementBatch, settleAndResume } from '../../../steps/interruptions/settle-and-resume.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { fieldErrorsOf, invalidRequest } from '../../core/field-errors.js';
import { type EmitEvent, type EmittedEvent, emitBody, KEPT_EVENTS } from '../../core/interruptions/emitted-event.js';
import { eventName } from '../../core/interruptions/wait.js';
import { canonical, digestOf, type JsonValue, toJson } from '../../core/json.js';
import { isOver } from '../../core/runs/run.js';
import {
  countKeptEvents,
  emittedEventOf,
  findEmittedEvent,
  insertEmittedEvent,
  lockEventName,
  type NewEmittedEvent,
  waitsForEvent,
} from '../../storage/interruptions/emitted-events.js';
import { interruptionsByIds, isPast } from '../../storage/interruptions/interruptions.js';
import { findRun } from '../../storage/runs/runs.js';
import { lockRuns } from '../../storage/runs/runs-to-resume.js';
import type { EngineContext } from '../engine-context.js';

/**
 * Tells runs that something happened outside. In one transaction it settles every wait that it matches or, when there is
 * none, is kept for the first that comes. The same id again is the same event.
 */
export async function emitEvent(
  context: EngineContext,
  name: string,
  request: EmitEvent,
  caller: Caller,
): Promise<EmittedEvent> {
  const event = newEvent(context, name, request, caller);
  const { tenant, id } = event;
  const emit = async (settling: SettlementBatch) => {
    const { trx } = settling;
    await lockEventName(trx, tenant, event.name);
    const before = await findEmittedEvent(trx, tenant, id);
    if (before === undefined) {
      await assertTakes(trx, event);
      const delivered = await deliver(context, settling, event);
      if (delivered === 0) await assertCapacity(trx, event);
      // Under another name the same id may come in this moment: then all of this is undone.
      if (!(await insertEmittedEvent(trx, { ...event, delivered }))) throw reused(id);
    } else if (before.digest !== event.digest) throw reused(id);
    return before ?? (await findEmittedEvent(trx, tenant, id));
  };
  const row = await settleAndResume(context.stepContext, emit, { retry: true });
  if (row === undefined) throw new HoldfastError('internal', `The event ${id} was written and is not there.`);
  return emittedEventOf(row);
}

function newEvent(
  context: EngineContext,
  name: string,
  request: EmitEvent,
  caller: Caller,
): Omit<NewEmittedEvent, 'delivered'> {
  const named = eventName.safeParse(name);
  if (!named.success) throw invalidRequest(fieldErrorsOf(named.error, '/path/name'));
  const parsed = emitBody.safeParse(request);
  if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
  const { key = null, runId = null, eventId } = parsed.data;
  const payload = payloadOf(parsed.data.payload);
  const now = context.stepContext.now();
  return {
    ...{ tenant: caller.tenant, actor: caller.actor, name: named.data, key, runId, payload },
    id: eventId ?? `evt_${context.stepContext.newId().replaceAll('-', '')}`,
    digest: digestOf({ name: named.data, key, runId, payload }),
    ...{ emittedAt: new Date(now), expiresAt: new Date(now + KEPT_EVENTS.ttlMs) },
  };
}

function payloadOf(given: JsonValue | undefined): JsonValue {
  const payload = toJson(given);
  const size = Buffer.byteLength(canonical(payload));
  if (size <= KEPT_EVENTS.payloadBytes) return payload;
  throw new HoldfastError('payload_too_large', `payload has ${size} bytes; its bound is ${KEPT_EVENTS.payloadBytes}.`, {
    fields: [{ pointer: '/payload', detail: `at most ${KEPT_EVENTS.payloadBytes} bytes` }],
  });
}

const reused = (id: string): HoldfastError =>
  new HoldfastError('idempotency_key_reused', `The event id ${JSON.stringify(id)} belongs to another event.`);

const refused = (code: 'run_unknown' | 'run_over', message: string): HoldfastError =>
  new HoldfastError(code, message, { fields: [{ pointer: '/runId', detail: message }] });

type Event = Omit<NewEmittedEvent, 'delivered'>;

/** An event for one run is refused where that run can never take it. */
async function assertTakes(trx: Knex.Transaction, { tenant, runId }: Event): Promise<void> {
  if (runId === null) return;
  const run = await findRun(trx, tenant, runId);
  if (run === undefined) throw refused('run_unknown', `There is no run ${JSON.stringify(runId)}.`);
  if (isOver(run.status)) throw refused('run_over', `Run ${runId} is ${run.status}.`);
}

async function assertCapacity(trx: Knex.Transaction, { tenant, name }: Event): Promise<void> {
  const { ofName, ofTenant } = await countKeptEvents(trx, tenant, name);
  if (ofName < KEPT_EVENTS.perName && ofTenant < KEPT_EVENTS.perTenant) return;
  const what = ofName < KEPT_EVENTS.perName ? `${ofTenant} events` : `${ofName} events of the name ${name}`;
  throw new HoldfastError('events_full', `${what} are kept for waits that did not come.`);
}

/** Waits that are settled by the same statements: what one of them takes in memory has a bound. */
const AT_ONCE = 200;

/** Settles every wait that the event matches. Returns how many these were. */
async function deliver(context: EngineContext, settling: SettlementBatch, event: Event): Promise<number> {
  const { trx } = settling;
  const seen = await waitsForEvent(trx, event);
  await lockRuns(trx, [...new Set(seen.map((row) => row.run_id))]);
  let settled = 0;
  const value = { eventId: event.id, payload: event.payload };
  const settlement = { verdict: 'answer', actor: event.actor, message: null, value } as const;
  for (let from = 0; from < seen.length; from += AT_ONCE) {
    const rows = await interruptionsByIds(
      trx,
      seen.slice(from, from + AT_ONCE).map(({ id }) => id),
    );
    const waiting = rows.filter((row) => row.status === 'pending' && !isPast(row, context.stepContext.now()));
    await settling.settleEach(
      waiting.map((row) => ({ row, settling: settlement })),
      waiting.map((row) => row.run_id),
    );
    settled += waiting.length;
  }
  return settled;
}
