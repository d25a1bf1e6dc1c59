import type { Parts } from './parts.js';

export interface Health {
  readonly status: 'pass' | 'warn' | 'fail';
  readonly version: string;
  readonly database: 'pglite' | 'postgres';
  readonly checks: { readonly [name: string]: { readonly status: 'pass' | 'fail'; readonly detail?: string } };
}

export async function health(parts: Parts, isStopping: boolean): Promise<Health> {
  const database = await parts.world.knex.raw('select 1').then(
    () => ({ status: 'pass' as const }),
    (error: unknown) => ({ status: 'fail' as const, detail: error instanceof Error ? error.message : 'no answer' }),
  );
  const engine = isStopping ? ({ status: 'fail', detail: 'stopping' } as const) : ({ status: 'pass' } as const);
  const status = database.status === 'pass' && engine.status === 'pass' ? 'pass' : 'fail';
  return { status, version: parts.build, database: parts.database.kind, checks: { database, engine } };
}
