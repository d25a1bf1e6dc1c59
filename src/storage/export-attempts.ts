import type { Knex } from 'knex';

/** A process: its worker id with the epoch, since the next process has the same id. */
interface Process {
  readonly id: string;
  readonly epoch: number;
}

const nameOf = ({ id, epoch }: Process): string => `${id}:${epoch}`;

/**
 * Notes that a process begins a piece of an export, and gives how often one has died with that piece: a process that ends it in
 * whatever way, or leaves by itself, takes its note away, and one that dies does not.
 */
export async function beginAttempt(db: Knex, id: string, piece: string, process: Process): Promise<number> {
  const { rows }: { rows: { deaths: number }[] } = await db.raw(
    `update holdfast.exports
        set attempt_deaths = case when attempt is distinct from :piece then 0
                                  when attempt_by is null then attempt_deaths else attempt_deaths + 1 end,
            attempt = :piece, attempt_by = :by
      where id = :id returning attempt_deaths as deaths`,
    { id, piece, by: nameOf(process) },
  );
  return rows[0]?.deaths ?? 0;
}

/** Takes the note of a process away. */
export const endAttempt = (db: Knex, id: string, process: Process): Promise<number> =>
  db('holdfast.exports')
    .where({ id, attempt_by: nameOf(process) })
    .update({ attempt_by: null });

/** Takes all notes of a process away that leaves by itself. */
export const leaveAttempts = (db: Knex, process: Process): Promise<number> =>
  db('holdfast.exports')
    .where({ attempt_by: nameOf(process) })
    .update({ attempt_by: null });
