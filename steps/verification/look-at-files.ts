import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { createUnzip } from 'node:zlib';
import type { FoundEntry } from '../../src/core/containers/environment.js';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { textWindows } from '../../src/core/limits/search-text.js';
import {
  canariesIn,
  HardcodedSearch,
  longestCanary,
  type WantedOutputs,
  wantedOutputs,
} from '../../src/core/tasks/hardcoding.js';
import type { ResolvedTask } from '../../src/core/tasks/resolve-task.js';
import { bytesOf } from '../../src/core/tasks/task-file.js';
import type { Finding } from '../../src/core/tasks/task-reward.js';
import { breathe, inBreaths } from '../../src/storage/database/timing.js';
import { objectsOfPack, PackUnreadable } from './git-pack.js';
import type { RunText } from './said-by-run.js';

const WITHIN_MS = 600_000;
const TRIES = 3;
const FINDINGS_MOST = 100;
const NOTES_MOST = 100;
const NOTE_LONGEST = 1000;
const NAME_SHOWN = 100;
/** The engine reaches nothing below a longer path, and says nothing of it. */
const PATH_LONGEST = 3500;

/** Whether a task has anything looked for. */
export const isLookedAt = ({ canaries, expectedOutputs, antiHardcoding }: ResolvedTask): boolean =>
  Object.keys(canaries).length > 0 || (antiHardcoding.scanForExpectedOutputs && expectedOutputs !== null);

/** Where it is looked. */
export interface LookedAt {
  readonly entries: (signal: AbortSignal) => AsyncIterable<FoundEntry>;
  readonly said: () => AsyncIterable<RunText>;
}

export interface Looked {
  readonly findings: readonly Finding[];
  /** What was not looked at, each with why. */
  readonly unseen: readonly string[];
}

/**
 * Looks through what the agent wrote and said for what no honest solution has, before the tests bring it along. Files that the task itself
 * brought are left out. Says what it could not look at.
 */
export async function lookAtFiles(
  { entries, said }: LookedAt,
  task: ResolvedTask,
  signal: AbortSignal,
  withinMs = WITHIN_MS,
): Promise<Looked> {
  const late = AbortSignal.timeout(withinMs);
  const within = AbortSignal.any([signal, late]);
  for (let tries = 1; ; tries++) {
    const look = new Look(task, within);
    try {
      for await (const one of said()) await look.atSaid(one);
      for await (const entry of entries(within)) {
        if (look.isEnough(entry)) break;
        await look.atEntry(entry);
      }
      return look.found();
    } catch (error) {
      if (signal.aborted) throw error;
      if (late.aborted) look.missed(`what comes behind ${look.last}: it took longer than ${withinMs / 1000} seconds`);
      else if (!(error instanceof HoldfastError && error.code === 'file_unreadable')) throw error;
      else if (tries < TRIES) continue;
      else look.missed(`what comes behind ${look.last}: ${error.message}`);
      return look.found();
    }
  }
}

const plain = (text: string): string => text.slice(0, NOTE_LONGEST).toWellFormed();

const shown = (path: string): string => (path.length > NAME_SHOWN ? `${path.slice(0, NAME_SHOWN)}…` : path);

async function* inPieces(first: Uint8Array, rest?: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  if (rest !== undefined) yield* rest;
}

async function all(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const found: Uint8Array[] = [];
  for await (const piece of pieces) found.push(piece);
  return Buffer.concat(found);
}

const PACK = Buffer.from('PACK');
const GZIP = Buffer.from([0x1f, 0x8b, 8]);
/** Larger ones are not unpacked, and no more is unpacked of one. */
const PACKED_MOST = 67_108_864;
const UNPACKED_MOST = 1_073_741_824;
/** Of a pack of git, whose objects are in memory together. */
const OBJECTS_MOST = 268_435_456;

/** Whether bytes begin as zlib's do, such as a loose object of git, or as gzip's. */
const isCompressed = (head: Uint8Array): boolean => {
  const [first = 0, second = 0] = head;
  const isZlib = (first & 0x0f) === 8 && first >> 4 <= 7 && (first * 256 + second) % 31 === 0;
  return isZlib || GZIP.equals(head.subarray(0, GZIP.length));
};

/** Of what git has of a file, unpacked. */
const blobDigest = (bytes: Uint8Array): string =>
  createHash('sha256').update(`blob ${bytes.length}\0`).update(bytes).digest('hex');

/** One look at everything. */
class Look {
  /** What was looked at last. */
  last = 'the beginning';
  readonly #task: ResolvedTask;
  readonly #signal: AbortSignal;
  readonly #wanted: WantedOutputs;
  readonly #findings: Finding[] = [];
  readonly #unseen: string[] = [];
  readonly #outputFiles: ReadonlySet<string>;
  readonly #broughtBlobs: ReadonlySet<string>;

  constructor(task: ResolvedTask, signal: AbortSignal) {
    const { scanForExpectedOutputs, outputFiles } = task.antiHardcoding;
    this.#task = task;
    this.#signal = signal;
    this.#wanted = wantedOutputs(scanForExpectedOutputs ? (task.expectedOutputs ?? []) : []);
    this.#outputFiles = new Set(outputFiles.map((path) => posix.normalize(path)));
    this.#broughtBlobs = new Set(Object.values(task.initialFiles).map((file) => blobDigest(bytesOf(file))));
  }

  found(): Looked {
    const findings = this.#findings.slice(0, FINDINGS_MOST);
    return {
      findings: findings.map((one) => ({ ...one, place: plain(one.place), text: plain(one.text) })),
      unseen: this.#unseen,
    };
  }

  missed(what: string): void {
    if (this.#unseen.length < NOTES_MOST) this.#unseen.push(plain(what));
  }

  isEnough({ path }: FoundEntry): boolean {
    if (this.#findings.length < FINDINGS_MOST) return false;
    this.missed(`the files from ${shown(path)} on: ${FINDINGS_MOST} findings are enough`);
    return true;
  }

  async atSaid({ place, text }: RunText): Promise<void> {
    this.last = place;
    if (text === null) this.missed(`${place}: it cannot be read`);
    else this.#canaries(place, text.toLowerCase());
    await breathe(this.#signal);
  }

  async atEntry(entry: FoundEntry): Promise<void> {
    const { path, link, isFile } = entry;
    this.last = shown(path);
    if (path.length > PATH_LONGEST) this.missed(`what lies below ${shown(path)}: its path is too long`);
    this.#canaries(path, `${path}\n${link ?? ''}`.toLowerCase());
    if (isFile) await this.#file(entry);
    await breathe(this.#signal);
  }

  async #file({ path, size, content }: FoundEntry): Promise<void> {
    const { initialFiles } = this.#task;
    const brought = Object.hasOwn(initialFiles, path) ? initialFiles[path] : undefined;
    const same = brought === undefined ? null : bytesOf(brought);
    if (same === null || same.length !== size) return this.#whole(path, size, content());
    const bytes = await all(content());
    if (!same.equals(bytes)) await this.#whole(path, size, inPieces(bytes));
  }

  /** Looks through a file as it is, and through what it holds where it is compressed. */
  async #whole(path: string, size: number, content: AsyncIterable<Uint8Array>): Promise<void> {
    const pieces = content[Symbol.asyncIterator]();
    const first = await pieces.next();
    const head: Uint8Array = first.done === true ? Buffer.alloc(0) : first.value;
    const file = inPieces(head, { [Symbol.asyncIterator]: () => pieces });
    const isPack = PACK.equals(head.subarray(0, PACK.length));
    if (!isPack && !isCompressed(head)) return this.#search(path, file);
    if (size > PACKED_MOST) {
      this.missed(`${shown(path)}: what is compressed in it, since it has more than ${PACKED_MOST} bytes`);
      return this.#search(path, file);
    }
    const bytes = await all(file);
    await this.#search(path, inPieces(bytes));
    if (isPack) return this.#pack(path, bytes);
    // To commit what the task brought is no copy of it.
    const digest = createHash('sha256');
    for await (const piece of this.#unpacked(path, bytes)) digest.update(piece);
    if (!this.#broughtBlobs.has(digest.digest('hex'))) await this.#search(path, this.#unpacked(path, bytes));
  }

  async #pack(path: string, pack: Buffer): Promise<void> {
    try {
      for (const { id, kind, bytes } of objectsOfPack(pack, OBJECTS_MOST)) {
        if (kind !== 'blob' || !this.#broughtBlobs.has(blobDigest(bytes)))
          await this.#search(`${path}, object ${id}`, inPieces(bytes));
        await breathe(this.#signal);
      }
    } catch (error) {
      if (!(error instanceof PackUnreadable)) throw error;
      this.missed(`${shown(path)}: a pack of git that cannot be unpacked: ${error.message}`);
    }
  }

  async *#unpacked(path: string, bytes: Uint8Array): AsyncGenerator<Uint8Array> {
    const unzip = createUnzip();
    unzip.end(bytes);
    let size = 0;
    try {
      for await (const piece of unzip as AsyncIterable<Buffer>) {
        size += piece.length;
        if (size > UNPACKED_MOST)
          return this.missed(`${shown(path)}: what comes behind ${UNPACKED_MOST} bytes that were unpacked`);
        yield piece;
      }
    } catch {
      // It begins as if it were compressed, and is not, or is cut. What could be unpacked was looked through.
    } finally {
      unzip.destroy();
    }
  }

  async #search(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
    const { canaries } = this.#task;
    const isOutput = this.#outputFiles.has(path);
    const search = new HardcodedSearch(path, this.#wanted);
    const found = new Set<string>();
    const overlap = Math.max(this.#wanted.longest, longestCanary(canaries));
    for await (const part of textWindows(pieces, overlap)) {
      for (const name of canariesIn(part.small, canaries)) found.add(name);
      if (!isOutput) await inBreaths(search.look(part), this.#signal);
      await breathe(this.#signal);
    }
    for (const name of found) this.#canary(path, name);
    for (const { text } of search.findings())
      if (!this.#findings.some((one) => one.text === text))
        this.#findings.push({ kind: 'expected_output', place: path, text });
  }

  #canaries(place: string, small: string): void {
    for (const name of canariesIn(small, this.#task.canaries)) this.#canary(place, name);
  }

  #canary(place: string, name: string): void {
    if (this.#findings.some((one) => one.place === place && one.text.endsWith(` ${name}`))) return;
    this.#findings.push({ kind: 'canary', place, text: `${place} holds the canary ${name}` });
  }
}
