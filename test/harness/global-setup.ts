import { execFileSync } from 'node:child_process';

/** Tests start real processes of the built program; this builds it once, so that they never run old code. */
export function setup(): void {
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], { stdio: 'inherit' });
}
