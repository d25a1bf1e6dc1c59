import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Starts or stops an engine of a suite's own, by `.ci/docker`. `up` answers where it listens. */
export const ownEngine = (...args: readonly string[]): string =>
  execFileSync('bash', ['.ci/docker', ...args], { encoding: 'utf8' }).trim();

/** Kills the engine of this directory, and waits until it is dead. Its containers live. */
export async function killEngine(dir: string): Promise<void> {
  const pid = Number(readFileSync(join(dir, 'engine.pid'), 'utf8'));
  process.kill(pid, 'SIGKILL');
  while (existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')))
    await new Promise((resolve) => setTimeout(resolve, 20));
}
