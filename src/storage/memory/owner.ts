import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
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
