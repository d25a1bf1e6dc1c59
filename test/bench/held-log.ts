import pg from 'pg';

/** The statements of this process that write events: how many there were, and a door in front of them. */
export interface HeldLog {
  /** How many have come to the door. */
  readonly count: () => number;
  /** From now on they wait in front of it. */
  readonly hold: () => void;
  /** Those that wait, and all that come, go through. */
  readonly release: () => void;
}

const WRITES_EVENTS = 'insert into holdfast.events';

type Query = (this: unknown, ...args: unknown[]) => unknown;

/** Puts a door in front of the statements that write events, on every connection to PostgreSQL. At first it is open. */
export function holdLog(): HeldLog {
  const waiting: (() => void)[] = [];
  let isHeld = false;
  let count = 0;
  const client = pg.Client.prototype as unknown as { query: Query };
  const send = client.query;
  client.query = function query(this: unknown, ...args) {
    const [statement] = args as [{ readonly text?: unknown; readonly callback?: unknown } | string | undefined];
    const text = typeof statement === 'string' ? statement : statement?.text;
    if (typeof text !== 'string' || !text.includes(WRITES_EVENTS)) return send.apply(this, args);
    count++;
    if (!isHeld) return send.apply(this, args);
    // Its answer goes to the callback in it: no one waits for what is given here.
    if (typeof statement !== 'object' || typeof statement.callback !== 'function')
      throw new Error('a statement that writes events has no callback');
    waiting.push(() => void send.apply(this, args));
    return statement;
  };
  return {
    count: () => count,
    hold: () => {
      isHeld = true;
    },
    release: () => {
      isHeld = false;
      for (const go of waiting.splice(0)) go();
    },
  };
}
