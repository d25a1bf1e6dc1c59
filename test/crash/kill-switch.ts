import { appendFileSync } from 'node:fs';
import { isDurable, watchStatements } from '../../src/storage/database/statement-watch.js';
import { die, killAt, standStill } from './place.js';

const statementLog = process.env['STATEMENT_LOG'];

let armed = false;
let counted = 0;

/** Counts from now on: what a start does before the run goes on is not of interest. */
export function arm(): void {
  armed = true;
}

let inTransaction: unknown;
/** Who stands still there goes on afterwards. */
let met = false;

/** Whether this is the statement that was named. */
function isAim(session: unknown, text: string, index: number): boolean {
  if (killAt?.text === undefined) return killAt?.statement === index;
  const isFirst = inTransaction === undefined && text.includes(killAt.text);
  if (isFirst) inTransaction = session;
  return killAt.commit ? inTransaction === session && /^\s*commit/i.test(text) : isFirst;
}

function around<T>(session: unknown, text: string, send: () => T): T {
  if (!armed || !isDurable(text)) return send();
  const index = counted++;
  if (statementLog !== undefined)
    appendFileSync(statementLog, `${index} ${text.replaceAll(/\s+/g, ' ').slice(0, 120)}\n`);
  const hit = !met && isAim(session, text, index) ? killAt?.when : null;
  met ||= hit !== null;
  if (hit === 'before') die();
  const sent = send();
  if (hit === 'sent') setImmediate(die);
  if (hit === 'after' && sent instanceof Promise) return sent.then(die, die) as T;
  if (hit === 'stop' && sent instanceof Promise) return sent.finally(standStill) as T;
  return sent;
}

/** Puts the switch around every statement of both drivers. */
export const install = (): void => watchStatements(around);
