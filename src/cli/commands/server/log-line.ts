import type { LogReport } from '../../../core/evidence/log-view.js';

/** What was found of a log over all runs that is whole. */
export function logLine({ entries, checkpoints, size, outside }: LogReport): string {
  const signed =
    size === null ? 'no checkpoint' : `signed up to ${size}${outside ? '' : ', kept in the database alone'}`;
  return `${entries} entries, ${checkpoints} checkpoints, ${signed}`;
}
