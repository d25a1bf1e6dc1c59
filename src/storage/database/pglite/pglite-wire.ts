import { type PGlite, protocol } from '@electric-sql/pglite';
import { KEPT_MAX, statementName } from '../statement-names.js';

const { serialize } = protocol;

/** A message of PostgreSQL's protocol, as its parser names it. */
export interface Message {
  readonly name: string;
  readonly status?: unknown;
  readonly channel?: unknown;
}

/** A call on the wire, kept until its statement may run. */
export type Send = (wire: PgliteWire) => void;

type Config<Make extends 'bind' | 'describe' | 'execute'> = NonNullable<Parameters<(typeof serialize)[Make]>[0]>;
export type Bind = Omit<Config<'bind'>, 'statement'>;
export type Describe = Config<'describe'>;
export type Execute = Config<'execute'>;

/**
 * After so many uses kept plans are made again. No one but the statements themselves tells an embedded database how large its
 * tables are by now: a plan for an empty table would be kept for a full one.
 */
const PLANS_LAST = 2_000;

/** Gathers the messages of a statement, and lets the session of PGlite parse and plan a statement with values once. */
export class PgliteWire {
  readonly #db: PGlite;
  readonly #kept = new Set<string>();
  #gathered: Uint8Array[] = [];
  /** The name of the statement that is parsed last; empty: it has none. */
  #name = '';
  #uses = 0;

  constructor(db: PGlite) {
    this.#db = db;
  }

  get hasGathered(): boolean {
    return this.#gathered.length > 0;
  }

  /** Gathers the messages of a statement, and drops what was left of another one. */
  gather(sends: readonly Send[]): void {
    this.#gathered = [];
    for (const send of sends) send(this);
  }

  query(text: string): void {
    this.#gathered.push(serialize.query(text));
  }

  parse(text: string): void {
    const name = statementName(text);
    const isKept = name !== undefined && this.#kept.has(name);
    this.#name = isKept || this.#kept.size < KEPT_MAX ? (name ?? '') : '';
    if (isKept) this.#uses++;
    else this.#gathered.push(serialize.parse({ text, name: this.#name }));
  }

  bind(config: Bind): void {
    this.#gathered.push(serialize.bind({ ...config, statement: this.#name }));
  }

  describe(message: Describe): void {
    this.#gathered.push(serialize.describe(message));
  }

  execute(message: Execute): void {
    this.#gathered.push(serialize.execute(message));
  }

  sync(): void {
    this.#gathered.push(serialize.sync());
  }

  copyFail(reason: string): void {
    this.#gathered.push(serialize.copyFail(reason));
  }

  /** Sends what was gathered, in one piece; gives the answers. */
  async exchange(): Promise<readonly Message[]> {
    const piece = Buffer.concat(this.#gathered);
    this.#gathered = [];
    const answers: readonly Message[] = await this.#db.execProtocolStream(piece, { throwOnError: false });
    if (this.#name !== '' && answers.some(({ name }) => name === 'parseComplete')) this.#kept.add(this.#name);
    return answers;
  }

  /** To be called outside of a transaction. */
  async renewPlans(): Promise<void> {
    if (this.#uses < PLANS_LAST) return;
    this.#uses = 0;
    this.query('DISCARD PLANS');
    await this.exchange();
  }
}

/** What the virtual connections must know of a statement's text; the state of a transaction is told by the session itself. */

const words = (text: string): string =>
  text
    .replace(/^(\s|--[^\n]*\n|\/\*.*?\*\/)+/s, '')
    .slice(0, 200)
    .toUpperCase();

export const beginsTransaction = (text: string): boolean => /^(BEGIN|START\s+TRANSACTION)\b/.test(words(text));

/** True for the statements after which a transaction is over whatever they answer. */
export const endsTransaction = (text: string): boolean =>
  /^(COMMIT|END|ABORT|ROLLBACK(?!\s+(WORK\s+|TRANSACTION\s+)?TO\b))\b/.test(words(text)) &&
  !/\bAND\s+CHAIN\b/i.test(text);

export const beginsReadOnly = (text: string): boolean => beginsTransaction(text) && /\bREAD\s+ONLY\b/i.test(text);

export const onlyReads = (text: string): boolean =>
  /^(SELECT|SHOW)\b/.test(words(text)) && !/\bFOR\s+(NO\s+KEY\s+)?(UPDATE|SHARE|KEY\s+SHARE)\b/i.test(text);

interface ListenCommand {
  readonly listen: boolean;
  /** Null: every channel (`UNLISTEN *`). */
  readonly channel: string | null;
}

/** A text that is one LISTEN or UNLISTEN, with the channel's name as the server folds it. */
export function listenCommand(text: string): ListenCommand | null {
  const match = /^\s*(UN)?LISTEN\s+(?:"((?:[^"]|"")+)"|([\w$]+)|(\*))\s*;?\s*$/i.exec(text);
  if (match === null) return null;
  const [, un, quoted, plain] = match;
  return { listen: un === undefined, channel: quoted?.replaceAll('""', '"') ?? plain?.toLowerCase() ?? null };
}
