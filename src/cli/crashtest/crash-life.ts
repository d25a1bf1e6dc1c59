import { readFileSync } from 'node:fs';
import type { CliServices } from '../cli-services.js';
import { printError } from '../print.js';

/** The first argument of a process that lives one life of a crash test. */
export const CRASH_LIFE = 'crashtest-life';

/** Lives one life, as its standard input says. */
export async function crashLife(services: CliServices): Promise<void> {
  const { life, live } = await import('./life.js');
  try {
    await live(life.parse(JSON.parse(readFileSync(0, 'utf8'))), services);
  } catch (error) {
    printError(error);
    // The engine would keep the process.
    process.exit(1);
  }
}
