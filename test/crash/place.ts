import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/**
 * One instant at which a process is killed with SIGKILL, named from outside: before or after the n-th statement that makes
 * something durable, right after such a statement was sent, or at a named place inside a tool or model of the test. `stop`: it
 * stands still there, after the statement.
 */
export interface KillAt {
  readonly when: 'before' | 'sent' | 'after' | 'place' | 'stop' | 'each';
  readonly statement?: number;
  /** Instead of a number: the first statement that has this text, or the commit of its transaction. */
  readonly text?: string;
  readonly commit?: boolean;
  readonly place?: string;
  /** `each`: dies at the first place that is not in this file yet, and writes it there before. */
  readonly deaths?: string;
}

export const die = (): never => {
  // A server that works for a process of the test kills that one, and itself with it.
  if (process.env['KILL_PARENT'] === '1') process.kill(process.ppid, 'SIGKILL');
  process.kill(process.pid, 'SIGKILL');
  // SIGKILL arrives in a moment; nothing may happen until then.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  throw new Error('unreachable');
};

/** Stands still until SIGCONT. */
export const standStill = (): void => {
  process.kill(process.pid, 'SIGSTOP');
};

const asked: KillAt | null = process.env['KILL_AT'] === undefined ? null : JSON.parse(process.env['KILL_AT']);
/** Dies when the first run is committed and nothing of it has been executed. */
const started: KillAt = { when: 'after', text: 'insert into "holdfast"."runs"', commit: true };
export const killAt = process.env['ONLY_START'] === '1' ? started : asked;

/** A place of the test's own code where the process may be told to die, or to stand still until SIGCONT. */
export function place(name: string): void {
  if (killAt?.deaths !== undefined) {
    const died = existsSync(killAt.deaths) ? readFileSync(killAt.deaths, 'utf8').split('\n') : [];
    if (died.includes(name)) return;
    appendFileSync(killAt.deaths, `${name}\n`);
    die();
  }
  if (killAt?.place !== name) return;
  if (killAt.when === 'place') die();
  if (killAt.when === 'stop') standStill();
}
