import type { Knex } from 'knex';

export interface AccessRow {
  readonly tenant: string;
  readonly actor: string;
  readonly role: string;
  readonly method: string;
  readonly route: string;
  readonly target: string | null;
  readonly status: number;
}

export async function insertAccess(db: Knex, row: AccessRow): Promise<void> {
  await db('holdfast.access_log').insert(row);
}
