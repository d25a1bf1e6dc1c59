import { spawnSync } from 'node:child_process';

/**
 * Tests start real processes of the built program; this builds it once, so that they never run old code. Types are
 * checked by `npm run types`: code is built even where they do not hold yet.
 */
export function setup(): void {
  const { error } = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.test.json']);
  if (error !== undefined) throw error;
}
