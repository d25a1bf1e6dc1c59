import { filePatch, type PatchedFile } from '../../src/core/artifacts/file-patch.js';
import {
  ARTIFACT_BYTES,
  ARTIFACTS_BYTES,
  ARTIFACTS_MOST,
  type Artifact,
  isChosen,
  type KeptArtifacts,
  LEFT_OUT_MOST,
  type TaskArtifacts,
} from '../../src/core/artifacts/kept-artifacts.js';
import type { FoundEntry } from '../../src/core/containers/environment.js';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { addTo } from '../../src/core/grouped.js';
import { bytesOf, type TaskFiles } from '../../src/core/tasks/task-file.js';
import { breathe } from '../../src/storage/database/timing.js';
import { beginArtifacts } from '../../src/storage/tasks/artifacts.js';
import type { StepContext } from '../context.js';
import { withDatabaseRetry } from '../database-retry.js';

const WITHIN_MS = 600_000;
const TRIES = 3;
/** A larger text is in no patch, nor what comes behind so many changed files. */
const TEXT_BYTES = 1_048_576;
const CHANGED_MOST = 2000;
const SHOWN = 300;

export const PATCH = 'patch.diff';
/** Stands in a name for bytes that are no UTF-8. */
const NO_TEXT = '\uFFFD';
/** Git applies no patch with such a name in a path: that of a repository, as any file system may read it. */
const REPOSITORY = /^(\.git|git~1)[. ]*(:|$)/i;
const isOfRepository = (path: string): boolean => path.split('/').some((name) => REPOSITORY.test(name));

export type ArtifactContext = Pick<StepContext, 'knex' | 'artifacts'>;

/** Whose artifacts, and how many bytes it may still have. */
export interface ArtifactOwner {
  readonly id: string;
  readonly bytesLeft: number;
}

/** Something to be kept under a name. */
interface Kept {
  readonly name: string;
  readonly kind: Artifact['kind'];
  readonly path: string;
  readonly bytes: Buffer;
}

const ERASED = 'the run was erased';

const shown = (text: string): string => text.slice(0, SHOWN).toWellFormed();

/** What is kept of a run, in the order in which it came, and what is left out. */
export class ArtifactKeeper {
  readonly #ctx: ArtifactContext;
  readonly #owner: ArtifactOwner;
  readonly #items: Artifact[] = [];
  readonly #leftOut: { path: string; why: string }[] = [];
  #more = 0;
  #bytes = 0;
  /** Why nothing more can be kept; null: it can. */
  #stopped: string | null = null;

  constructor(ctx: ArtifactContext, owner: ArtifactOwner) {
    this.#ctx = ctx;
    this.#owner = owner;
  }

  kept(): KeptArtifacts {
    return { items: this.#items, leftOut: this.#leftOut, more: this.#more };
  }

  omit(path: string, why: string): void {
    if (this.#leftOut.length < LEFT_OUT_MOST) this.#leftOut.push({ path: shown(path), why: shown(why) });
    else this.#more++;
  }

  /** Why something of this size cannot be kept; null: it can. `before`: whether one more artifact is to follow it, of any size. */
  refusal(sizeBytes: number, before = false): string | null {
    if (this.#stopped !== null) return this.#stopped;
    if (sizeBytes > ARTIFACT_BYTES) return `it has more than ${ARTIFACT_BYTES} bytes`;
    const [items, bytes] = before ? [1, ARTIFACT_BYTES] : [0, 0];
    if (this.#items.length + items >= ARTIFACTS_MOST) return `a run has at most ${ARTIFACTS_MOST} artifacts`;
    const isFull = this.#bytes + sizeBytes + bytes > this.#owner.bytesLeft;
    return isFull ? `the artifacts of a run have at most ${ARTIFACTS_BYTES} bytes` : null;
  }

  /** Puts it into the store. A store that fails keeps no one from the verdict: what it did not take is left out. */
  async keep({ name, kind, path, bytes }: Kept): Promise<void> {
    const refusal = this.refusal(bytes.length);
    if (refusal !== null) return this.omit(path, refusal);
    const { id } = this.#owner;
    const { artifacts: store, knex } = this.#ctx;
    if (store === null) throw new Error('a run that is verified has a store of artifacts');
    const isKept = () => withDatabaseRetry(() => beginArtifacts(knex, { runId: id, place: store.place }));
    if (!(await isKept())) return this.#stop(path, ERASED);
    try {
      const { sha256, sizeBytes } = await store.put(id, bytes);
      this.#items.push({ name, kind, path: shown(path), sizeBytes, sha256 });
      this.#bytes += sizeBytes;
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      return this.#stop(path, error.message);
    }
    // The others of a run that was erased meanwhile may be gone already: a worker that was frozen comes here late.
    if (!(await isKept())) await store.remove(id);
  }

  #stop(path: string, why: string): void {
    this.#stopped = why;
    this.omit(path, why);
  }
}

/** Where it is looked, and for what. */
interface Workspace {
  readonly entries: (signal: AbortSignal) => AsyncIterable<FoundEntry>;
  /** What the task brought. */
  readonly initial: TaskFiles;
  readonly wanted: TaskArtifacts;
}

/**
 * Keeps chosen files of a workspace, and what differs from the files that the task brought. The engine reads them: no program of the
 * container has a part in it. Executed again, it puts the same under the same digests.
 */
export async function keepFiles(
  ctx: ArtifactContext,
  owner: ArtifactOwner,
  workspace: Workspace,
  signal: AbortSignal,
  withinMs = WITHIN_MS,
): Promise<KeptArtifacts> {
  const late = AbortSignal.timeout(withinMs);
  const within = AbortSignal.any([signal, late]);
  for (let tries = 1; ; tries++) {
    const keeper = new ArtifactKeeper(ctx, owner);
    const files = new FileKeeper(keeper, workspace);
    try {
      await files.takeAll(within);
      await files.end(true);
      return keeper.kept();
    } catch (error) {
      if (signal.aborted) throw error;
      if (!late.aborted) {
        if (!(error instanceof HoldfastError && error.code === 'file_unreadable')) throw error;
        if (tries < TRIES) continue;
      }
      const why = late.aborted ? `it took longer than ${withinMs / 1000} seconds` : String(error);
      keeper.omit(`what comes behind ${files.last}`, why);
      await files.end(false);
      return keeper.kept();
    }
  }
}

class FileKeeper {
  last = 'the beginning';
  readonly #keeper: ArtifactKeeper;
  readonly #workspace: Workspace;
  readonly #seen = new Set<string>();
  /** Of files, the further names that they have. An archive has the content only once. */
  readonly #otherNames = new Map<string, string[]>();
  readonly #patches: { path: string; text: string }[] = [];
  #patchBytes = 0;
  #files = 0;

  constructor(keeper: ArtifactKeeper, workspace: Workspace) {
    this.#keeper = keeper;
    this.#workspace = workspace;
  }

  /** Reads the workspace, and a second time where files have several names. */
  async takeAll(within: AbortSignal): Promise<void> {
    const { entries } = this.#workspace;
    for await (const entry of entries(within)) {
      await this.#take(entry);
      await breathe(within);
    }
    if (this.#otherNames.size === 0) return;
    for await (const entry of entries(within)) {
      await this.#takeByOtherNames(entry);
      await breathe(within);
    }
  }

  async #take(entry: FoundEntry): Promise<void> {
    const { path, isFile, link, sameAs } = entry;
    this.last = shown(path);
    const { isWanted, isPatched } = this.#askedOf(path);
    if (!isWanted && !isPatched) return;
    if (sameAs !== null) addTo(this.#otherNames, sameAs, path);
    else if (isFile) await this.#takeFile(entry, isWanted, isPatched);
    else this.#keeper.omit(path, link === null ? 'it is no regular file' : 'it is a link');
  }

  /** What the task asks for of something at a path. */
  #askedOf(path: string): { readonly isWanted: boolean; readonly isPatched: boolean } {
    const { wanted } = this.#workspace;
    if (path === '' || path.endsWith('/')) return { isWanted: false, isPatched: false };
    const isNamed = !path.includes(NO_TEXT);
    if (wanted.patch && !isNamed) this.#keeper.omit(path, 'what has no text for a name is in no patch');
    return {
      isWanted: isChosen(path, wanted.files),
      isPatched: wanted.patch && isNamed && !isOfRepository(path),
    };
  }

  async #takeFile(entry: FoundEntry, isWanted: boolean, isPatched: boolean): Promise<void> {
    const { path, size } = entry;
    const { wanted } = this.#workspace;
    this.#seen.add(path);
    const refusal = isWanted ? this.#keeper.refusal(size, wanted.patch) : null;
    if (refusal !== null) this.#keeper.omit(path, refusal);
    const isRead = (isWanted && refusal === null) || (isPatched && this.#isCompared(path, size));
    const bytes = isRead ? await all(entry.content()) : null;
    if (isPatched) this.#patch(entry, bytes);
    if (!isWanted || refusal !== null || bytes === null) return;
    await this.#keeper.keep({ name: `file-${++this.#files}`, kind: 'file', path, bytes });
  }

  /** Takes a file once more by each further name that it has. */
  async #takeByOtherNames(entry: FoundEntry): Promise<void> {
    const names = this.#otherNames.get(entry.path);
    if (names === undefined || entry.sameAs !== null) return;
    this.#otherNames.delete(entry.path);
    const bytes = entry.size > ARTIFACT_BYTES ? null : await all(entry.content());
    const content = async function* () {
      if (bytes !== null) yield bytes;
    };
    for (const path of names) await this.#take({ ...entry, path, content });
  }

  /** What the task brought may be larger than a text of a patch, and unchanged. */
  #isCompared(path: string, size: number): boolean {
    const { initial } = this.#workspace;
    const brought = size > TEXT_BYTES && Object.hasOwn(initial, path) ? initial[path] : undefined;
    return size <= TEXT_BYTES || (brought !== undefined && bytesOf(brought).length === size);
  }

  #patch({ path, executable, size }: FoundEntry, bytes: Buffer | null): void {
    const { initial } = this.#workspace;
    const brought = Object.hasOwn(initial, path) ? initial[path] : undefined;
    const before = brought === undefined ? null : { bytes: bytesOf(brought), executable: isExecutable(brought.mode) };
    if (bytes !== null && before?.bytes.equals(bytes) === true && before.executable === executable) return;
    const old = before === null ? null : textOf(before.bytes);
    const text = bytes === null || size > TEXT_BYTES ? null : textOf(bytes);
    if (bytes === null || size > TEXT_BYTES)
      this.#keeper.omit(path, `a text of more than ${TEXT_BYTES} bytes is in no patch`);
    else if (text === null || (before !== null && old === null))
      this.#keeper.omit(path, 'what is no text is in no patch');
    else this.#add({ path, before: fileText(old, before?.executable), after: fileText(text, executable) });
  }

  #add(file: PatchedFile): void {
    if (this.#patches.length >= CHANGED_MOST) {
      this.#keeper.omit(file.path, `a patch has at most ${CHANGED_MOST} files`);
      return;
    }
    const text = filePatch(file);
    if (text === null) return;
    const bytes = Buffer.byteLength(text);
    // Together they are one artifact, which is in memory until all files were looked at.
    if (this.#patchBytes + bytes > ARTIFACT_BYTES) {
      this.#keeper.omit(file.path, `a patch has at most ${ARTIFACT_BYTES} bytes`);
      return;
    }
    this.#patchBytes += bytes;
    this.#patches.push({ path: file.path, text });
  }

  /** `whole`: everything was looked at, so that what was not seen is gone. */
  async end(whole: boolean): Promise<void> {
    const { wanted, initial } = this.#workspace;
    for (const path of [...this.#otherNames.values()].flat()) {
      this.#seen.add(path);
      this.#keeper.omit(path, 'it is another name of a file that was not read again');
    }
    if (!wanted.patch) return;
    for (const [path, file] of whole ? Object.entries(initial) : []) {
      if (this.#seen.has(path) || isOfRepository(path)) continue;
      const before = textOf(bytesOf(file));
      if (before === null) this.#keeper.omit(path, 'it was removed; what is no text is in no patch');
      else this.#add({ path, before: fileText(before, isExecutable(file.mode)), after: null });
    }
    const inOrder = this.#patches.sort((a, b) => (a.path < b.path ? -1 : 1));
    const bytes = Buffer.from(inOrder.map(({ text }) => text).join(''));
    await this.#keeper.keep({ name: PATCH, kind: 'patch', path: 'files of the task', bytes });
  }
}

const fileText = (text: string | null, executable = false) => (text === null ? null : { text, executable });

const isExecutable = (mode: string): boolean => (Number.parseInt(mode || '0', 8) & 0o100) !== 0;

/** Null: it is no text. */
function textOf(bytes: Buffer): string | null {
  if (bytes.includes(0)) return null;
  const text = bytes.toString('utf8');
  return Buffer.from(text, 'utf8').equals(bytes) ? text : null;
}

async function all(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const found: Uint8Array[] = [];
  for await (const piece of pieces) found.push(piece);
  return Buffer.concat(found);
}
