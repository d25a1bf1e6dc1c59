import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import { openCheckpoint, type SignedCheckpoint, signCheckpoint } from '../../core/evidence/checkpoint.js';
import type { LogView } from '../../core/evidence/log-view.js';
import type { SigningKey } from '../../core/evidence/signed-note.js';
import type { EngineLog } from '../../core/ops/log-record.js';
import { databaseTrouble } from '../../storage/database/database-trouble.js';
import { newestCheckpoints, saveCheckpoint } from '../../storage/evidence/checkpoints.js';
import { enterMoved, movedAfter } from '../../storage/evidence/log-entries.js';
import { logSize } from '../../storage/evidence/log-rows.js';
import {
  keepSignedRecord,
  readSignedRecord,
  type SignedRecord,
  signedRecordOf,
} from '../../storage/evidence/signed-record.js';
import { levelOfFailure } from '../concurrency/work-off.js';
import type { CheckpointPlace } from './checkpoint-place.js';
import { EntryWatch } from './entry-watch.js';
import type { LogKeys } from './log-keys.js';

const RUNS_AT_ONCE = 500;
const BATCHES_AT_ONCE = 20;
const LOOK_BACK = 20;
const PROBLEM_CHARS = 1000;
/** Entries that a process reads at one look, until it has gone through the log once. */
const ENTRIES_A_LOOK = 100_000;

/** How what a process may die with is done piece by piece. */
export interface Apart {
  /** Enters a run. False: it is left out, since processes died with it. */
  readonly enter: (runId: string, work: () => Promise<unknown>) => Promise<boolean>;
  /** Signs what was entered. */
  readonly sign: (work: () => Promise<void>) => Promise<void>;
}

export interface AnchorOptions {
  readonly knex: Knex;
  readonly keys: LogKeys;
  /** Reads them again: someone may have put another key into their file. */
  readonly readKeys: () => Promise<LogKeys>;
  readonly place: CheckpointPlace;
  /** How long a run that goes on rests between two entries, in milliseconds, and how often checkpoints are signed. */
  readonly intervalMs: number;
  readonly now: () => number;
  readonly log: EngineLog;
}

/** The newest checkpoint that there is, and whether it was read from outside the database. */
export interface Newest {
  readonly checkpoint: SignedCheckpoint;
  readonly outside: boolean;
}

/**
 * Enters what runs have done into the log over all of them, and signs how far it is. Beside the work: no run waits for it. Every
 * part of it may be repeated, by any worker, after any crash: entries have a natural key, and a checkpoint of one size is always
 * the same.
 */
export class Anchor {
  readonly #options: AnchorOptions;
  readonly #watch: EntryWatch;
  #keys: LogKeys;
  #nextAt: number;
  #after = '';
  #problem: string | null = null;
  /** Why a run is not in the log; null: all are. */
  #left: string | null = null;
  /** Up to where this process knows that the log is signed, outside. */
  #signed = -1;
  /** Whether it was said that nothing can be kept beside the key. */
  #unkept = false;

  constructor(options: AnchorOptions) {
    this.#options = options;
    this.#keys = options.keys;
    this.#watch = new EntryWatch(options.knex);
    this.#nextAt = performance.now() + options.intervalMs;
  }

  get keys(): LogKeys {
    return this.#keys;
  }

  get place(): CheckpointPlace {
    return this.#options.place;
  }

  get isDue(): boolean {
    return performance.now() >= this.#nextAt;
  }

  /** Throws `work_crashes` alone: what else fails is told, and done later. */
  async signDue(apart: Apart | null): Promise<void> {
    this.#nextAt = performance.now() + this.#options.intervalMs;
    await this.#pass({ restMs: this.#options.intervalMs, batches: BATCHES_AT_ONCE, apart }).catch((error: unknown) => {
      if (error instanceof HoldfastError && error.code === 'work_crashes') throw error;
      this.#options.log[levelOfFailure(error)](
        { component: 'evidence', event: 'not_signed', error: String(error) },
        'the log of all runs could not be signed; it is tried again',
      );
    });
  }

  /** Before the process ends. What is too much for it is done by the next one. */
  async last(apart: Apart | null): Promise<void> {
    this.#after = '';
    await this.#pass({ restMs: 0, batches: BATCHES_AT_ONCE, apart });
  }

  /** Everything that has happened up to now, after a look at every entry. */
  async all(apart: Apart | null): Promise<void> {
    this.#after = '';
    await this.#pass({ restMs: 0, batches: Number.POSITIVE_INFINITY, whole: true, apart });
  }

  /** A log that is broken is told as the problem that it is, and neither grows nor is signed. */
  async #pass({ restMs, batches, whole = false, apart = null }: Pass): Promise<void> {
    try {
      await this.#readKeys();
      await this.#enter(restMs, batches, apart);
      await (apart === null ? this.#sign(whole) : apart.sign(() => this.#sign(whole)));
    } catch (error) {
      if (!(error instanceof HoldfastError && error.code === 'log_broken')) throw error;
      this.#tell(error.message);
    }
  }

  /** A key that is in a file and was rotated signs from here on. What cannot be read now is read the next time. */
  async #readKeys(): Promise<void> {
    if (this.#keys.file === null) return;
    try {
      this.#keys = await this.#options.readKeys();
    } catch (error) {
      this.#options.log.warn(
        { component: 'evidence', event: 'keys_not_read', error: String(error) },
        'the keys of the log could not be read again; those that were read before stay',
      );
    }
  }

  /** Goes once through the runs that have moved, in turns of so many batches. */
  async #enter(restMs: number, batches: number, apart: Apart | null): Promise<void> {
    for (let done = 0; done < batches; done++) {
      const entered = await (apart === null ? this.#enterBatch(restMs) : this.#enterApart(restMs, apart));
      if (entered === null) return;
      this.#after = entered.after ?? '';
      if (entered.after === null) return;
    }
  }

  /** Where a run cannot be entered, those beside it are, and it is named. Null: another worker does so. */
  async #enterBatch(restMs: number): Promise<{ readonly after: string | null } | null> {
    const { knex } = this.#options;
    try {
      const entered = await enterMoved(knex, { after: this.#after, limit: RUNS_AT_ONCE, restMs });
      if (entered !== null && this.#after === '') this.#left = null;
      return entered;
    } catch (error) {
      if (databaseTrouble(error) !== null || error instanceof HoldfastError) throw error;
    }
    return this.#enterApart(restMs, null);
  }

  /** Run by run. */
  async #enterApart(restMs: number, apart: Apart | null): Promise<{ readonly after: string | null }> {
    const { knex } = this.#options;
    const ids = await movedAfter(knex, this.#after, RUNS_AT_ONCE);
    let left: string | null = null;
    const skip = (runId: string, why: string): void => {
      left = `run ${runId} cannot be entered into the log of all runs: ${why}`.slice(0, PROBLEM_CHARS);
      if (left !== this.#left)
        this.#options.log.error(
          { component: 'evidence', event: 'run_not_entered', runId, error: why },
          'a run cannot be entered into the log of all runs; the others are',
        );
    };
    for (const only of ids) {
      const enter = () => enterMoved(knex, { after: '', limit: 1, restMs, only });
      try {
        const entered = apart === null ? await enter().then(() => true) : await apart.enter(only, enter);
        if (!entered) skip(only, 'processes died with it');
      } catch (error) {
        if (databaseTrouble(error) !== null || error instanceof HoldfastError) throw error;
        skip(only, String(error));
      }
    }
    this.#left = left;
    return { after: ids.length < RUNS_AT_ONCE ? null : (ids.at(-1) ?? null) };
  }

  /** The newest checkpoint that a known key has signed: of the place outside, else of the database. */
  async newest(): Promise<Newest | null> {
    const { knex, place } = this.#options;
    const keys = this.#keys;
    if (keys.trusted.length === 0) return null;
    const outside = this.#newestOf(await place.newest((note) => this.#isSigned(note)));
    if (outside !== null) return { checkpoint: outside, outside: true };
    const stored = await newestCheckpoints(knex, LOOK_BACK);
    const inside = this.#newestOf(stored.map(({ note }) => note));
    return inside === null ? null : { checkpoint: inside, outside: false };
  }

  #isSigned(note: string): boolean {
    return typeof openCheckpoint(note, this.#keys.trusted) !== 'string';
  }

  #newestOf(notes: readonly string[]): SignedCheckpoint | null {
    const signed = notes.map((note) => openCheckpoint(note, this.#keys.trusted));
    return signed.filter((one) => typeof one !== 'string').reduce<SignedCheckpoint | null>(greater, null);
  }

  /** Signs the log as it is, if it extends what was signed before. What does not is never signed. */
  async #sign(whole: boolean): Promise<void> {
    const { knex, place, now } = this.#options;
    const keys = this.#keys;
    if (keys.signing === null) return;
    if (!whole && (await logSize(knex)) === this.#signed) return;
    const newest = await this.newest();
    const record = keys.file === null ? null : signedRecordOf(keys.file);
    const kept = record === null ? null : await readSignedRecord(record);
    const before = [newest?.checkpoint ?? [], kept ?? []].flat();
    const watched = await this.#watch.look({ before, atMost: ENTRIES_A_LOOK, whole });
    if (watched === 'later') return;
    this.#tell('problem' in watched ? watched.problem : null);
    if ('problem' in watched) return;
    const { size, root } = watched.edge;
    if (size === 0) return;
    const until = keys.trusted.find(({ text }) => text === keys.signing?.public.text)?.until ?? null;
    if (until !== null && size > until)
      return this.#tell(
        `the key of this process is believed up to ${until} entries: it handed over to another, or was revoked`,
      );
    // Before anyone can have a signature: what is kept is never less than what was signed.
    if (record !== null) await this.#keepRecord(record, { size, root });
    if (!(newest?.outside === true && newest.checkpoint.size === size && isBy(newest, keys.signing))) {
      const signed = signCheckpoint(size, root, keys.signing);
      await saveCheckpoint(knex, signed);
      await place.write(size, { at: new Date(now()).toISOString(), note: signed.note });
    }
    this.#watch.keep(watched.edge);
    this.#signed = size;
  }

  async #keepRecord(path: string, signed: SignedRecord): Promise<void> {
    if ((await keepSignedRecord(path, signed)) || this.#unkept) return;
    this.#unkept = true;
    this.#options.log.warn(
      { component: 'evidence', event: 'signed_not_kept', path },
      'what was signed last cannot be kept beside the signing key: its directory can only be read',
    );
  }

  #tell(problem: string | null): void {
    if (problem !== null && problem !== this.#problem)
      this.#options.log.error(
        { component: 'evidence', event: 'signing_stopped', problem },
        'the log of all runs is not signed any more; see docs/evidence/README.md',
      );
    this.#problem = problem;
  }

  async view(): Promise<LogView> {
    const { knex, place } = this.#options;
    const keys = this.#keys;
    const newest = await this.newest();
    return {
      entries: await logSize(knex),
      checkpoint: newest && {
        size: newest.checkpoint.size,
        root: newest.checkpoint.root,
        note: newest.checkpoint.note,
      },
      keys: keys.trusted.map(({ text }) => text),
      handovers: [...keys.handovers],
      signs: keys.signing !== null,
      writesTo: place.name,
      problem:
        this.#problem ??
        (this.#left === null ? null : 'a run cannot be entered into the log; the log of the server names it'),
    };
  }
}

interface Pass {
  /** A run that goes on gets no entry so soon after its last. */
  readonly restMs: number;
  readonly batches: number;
  readonly whole?: boolean;
  readonly apart?: Apart | null;
}

const greater = (a: SignedCheckpoint | null, b: SignedCheckpoint): SignedCheckpoint =>
  a !== null && a.size >= b.size ? a : b;

const isBy = ({ checkpoint }: Newest, key: SigningKey): boolean => checkpoint.signedBy.text === key.public.text;
