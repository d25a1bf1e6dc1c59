import type { Knex } from 'knex';
import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { jsonOrNull } from '../../core/json.js';
import type { MemorySpace } from '../../core/tools/memory-space.js';

interface Owning {
  readonly runId: string;
  readonly agent: string;
  readonly sessionId: string | null;
}

/** Whose documents of a space a run reads and writes. Throws `memory_without_owner`. */
export async function ownerOf(
  db: Knex,
  { name, scope }: MemorySpace,
  { runId, agent, sessionId }: Owning,
): Promise<string> {
  const without = (what: string): HoldfastError =>
    new HoldfastError('memory_without_owner', `The space ${name} has the scope ${scope}, and run ${runId} ${what}.`);
  if (scope === 'run') return runId;
  if (scope === 'agent') return agent;
  if (scope === 'tenant') return '';
  if (scope === 'session') {
    if (sessionId === null) throw without('is in no session');
    return sessionId;
  }
  const subjects: string[] = await db('holdfast.run_subjects')
    .where({ run_id: runId })
    .orderBy('subject')
    .limit(2)
    .pluck('subject');
  const [only, other] = subjects;
  if (only === undefined) throw without('is about no subject');
  if (other !== undefined) throw without('is about several subjects');
  return only;
}

const created = z.object({ requestedBy: z.array(z.string()) });

/** Who asked for a run, as the first event of its log says; empty: it does not say. */
export async function requestersOf(db: Knex, runId: string): Promise<readonly string[]> {
  const first: { data: string | null } | undefined = await db('holdfast.events')
    .where({ run_id: runId, seq: 1 })
    .first('data');
  return created.safeParse(jsonOrNull(first?.data ?? '')).data?.requestedBy ?? [];
}
