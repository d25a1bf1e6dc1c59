import { createHash } from 'node:crypto';

/** A task with a version of its own: another definition never has the same. */
export const ownVersion = <T extends { readonly version: string }>(task: T): T => ({
  ...task,
  version: `${task.version}-${createHash('sha256').update(JSON.stringify(task)).digest('hex').slice(0, 16)}`,
});
