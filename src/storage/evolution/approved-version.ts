import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import { APPLY_TOOL, EVOLUTION_AGENT } from '../../core/evolution/version.js';
import { EVENT_DATA, type EventData, type EventKind } from '../../core/log/event.js';
import type { KeyedEvent } from '../../core/log/recording.js';
import { readKeyedEvents } from '../log/keyed-events.js';
import type { VersionRow } from './agent-versions.js';

type Proposed = Pick<VersionRow, 'tenant' | 'id' | 'agent' | 'patch'>;

/**
 * Whether the log of its proposal says that a version was approved, with this patch. The log of an erased or removed run says nothing any
 * more; then its row does.
 */
export async function isApprovedInLog(db: Knex, version: Proposed): Promise<boolean> {
  const { tenant, id } = version;
  const key = await db<{ run_id: string; tenant: string }>('holdfast.run_keys').where({ run_id: id, tenant }).first();
  if (key === undefined) return isKnownLoss(db, id);
  try {
    return saysApproved(await readKeyedEvents(db, id, null), version);
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'log_broken') return false;
    throw error;
  }
}

const isKnownLoss = async (db: Knex, runId: string): Promise<boolean> =>
  (await db('holdfast.log_entries').where({ run_id: runId }).whereNotNull('loss').first('run_id')) !== undefined;

function saysApproved(log: readonly KeyedEvent[], { agent, patch }: Proposed): boolean {
  const of = <K extends EventKind>(kind: K): EventData<K>[] =>
    log.flatMap((event) => {
      const parsed = event.kind === kind ? EVENT_DATA[kind].safeParse(event.data) : null;
      return parsed?.success === true ? [parsed.data as EventData<K>] : [];
    });
  if (of('run.created')[0]?.agent !== EVOLUTION_AGENT) return false;
  const applied = new Set(
    of('call.checked').flatMap(({ tool, callId, arguments: given }) => {
      const { agent: about, patch: asked } = given as { readonly agent?: unknown; readonly patch?: unknown };
      return tool === APPLY_TOOL && about === agent && asked === patch ? [callId] : [];
    }),
  );
  return of('call.finished').some(({ callId, outcome }) => applied.has(callId) && outcome.type === 'output');
}
