import type { Knex } from 'knex';

/** Reads in a transaction that cannot write and sees one moment: what others commit meanwhile none of its statements sees. */
export const atOneMoment = <T>(db: Knex, read: (trx: Knex.Transaction) => Promise<T>): Promise<T> =>
  db.transaction(read, { readOnly: true, isolationLevel: 'repeatable read' });
