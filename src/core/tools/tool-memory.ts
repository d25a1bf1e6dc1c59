import { z } from 'zod';
import { HoldfastError } from '../errors/errors.js';
import type { JsonObject } from '../json.js';
import type { StateOp } from './agent-state.js';

/** Bounds of memory. */
export const MEMORY_LIMITS = {
  /** A document as JSON, and the changes of one write. */
  documentBytes: 65_536,
  /** A document with its history, as the library keeps it. */
  historyBytes: 2_097_152,
  /** Names in the path of a change. */
  depth: 64,
  /** Characters of a key, and of a query. */
  text: 512,
  /** Documents of one answer. */
  documents: 50,
  /** Changes of one document. Then it takes no more. */
  changes: 2000,
  /** Writes of one call. */
  writes: 1000,
  /** What a run has read of, as provenance of what it writes: the last ones. */
  read: 32,
} as const;

/** How something came in that no one here wrote. */
export const UNTRUSTED_WAYS = ['web', 'file', 'mcp', 'container', 'tool', 'agent'] as const;
export type UntrustedWay = (typeof UNTRUSTED_WAYS)[number];
const TRUST_LABELS = UNTRUSTED_WAYS.map((way) => `untrusted:${way}` as const);
export const trustLabel = z.enum(TRUST_LABELS);
export type TrustLabel = z.infer<typeof trustLabel>;

/** A document at one of its versions. */
export const memoryRef = z.object({ space: z.string(), key: z.string(), version: z.int() });
export type MemoryRef = z.infer<typeof memoryRef>;

/** What the log says of the writes of a call: by it, rows that someone has changed are found. */
const writesOfCall = z.strictObject({
  call: z.string().describe('The run that began the call, and its id: the rows are under this name.'),
  count: z.int(),
  digest: z.string().describe('Digest of these rows of `memory_writes`.'),
  entered: z
    .literal(true)
    .exactOptional()
    .describe(
      'Where one of these documents is removed, the log over all runs says so. Missing: an older build wrote them.',
    ),
});
export type WritesOfCall = z.infer<typeof writesOfCall>;

/** What a call had to do with memory, kept with its outcome. */
export const memoryNote = z.object({
  read: z.array(memoryRef).exactOptional().describe('Documents that it read, the last 32.'),
  wrote: z.array(memoryRef).exactOptional().describe('Documents that it changed or forgot, at their new version.'),
  labels: z.array(trustLabel).exactOptional().describe('Labels of what it brought into the run.'),
  writes: writesOfCall.exactOptional().describe('Digest of its writes, to find [changed rows](evidence/memory.md).'),
});
export type MemoryNote = z.infer<typeof memoryNote>;

/** A document as a call reads it. */
export interface MemoryDocument {
  readonly space: string;
  readonly key: string;
  readonly value: JsonObject;
  /** Grows by one with each change. */
  readonly version: number;
  /** Not empty: something in it came from outside. */
  readonly labels: readonly TrustLabel[];
  /** When it was changed last, in UTC. */
  readonly changedAt: string;
}

/** The documents of an answer, in its order. */
export interface RecalledDocuments extends ReadonlyArray<MemoryDocument> {
  /** Older documents may have the words, too, and were not looked at: all words are common. A rarer word finds them. */
  readonly olderLeft: boolean;
  /** A part of the documents, or all, was looked for by words only: they have no vector yet, or the model did not answer. */
  readonly wordsOnly: boolean;
}

/** How documents are found that a query is about. */
export const RECALL_WAYS = ['words', 'meaning', 'both'] as const;
type RecallWay = (typeof RECALL_WAYS)[number];

export interface MemoryQuery {
  /** The document with this key. */
  readonly key?: string;
  /** Words, as a search engine takes them: "a phrase", `or`, `-without`. Default: all documents, last changed first. */
  readonly query?: string;
  /** `all` (default): documents with all of the words. `any`: with one of them. */
  readonly match?: 'all' | 'any';
  /** In a space with `embedding`: by the words, by the nearest vectors, or by both (default). In others by the words alone. */
  readonly by?: RecallWay;
  /** Default 10; at most 50. */
  readonly limit?: number;
}

export interface MemoryWrite {
  /** Default: one of its own for each write. */
  readonly key?: string;
  /** Documents that it follows from, beside those that the run has read. What is written gets their labels. */
  readonly derivedFrom?: readonly MemoryRef[];
}

export interface MemoryChange {
  readonly changes: readonly StateOp[];
  /** The version that the changes were made for. Default: the present one. What came since is merged. */
  readonly version?: number;
  readonly derivedFrom?: readonly MemoryRef[];
}

/** The memory of an agent, as a call has it. Each method needs `memory:read:<space>` or `memory:write:<space>`. */
export interface ToolMemory {
  /** Sets members of a document, and makes it where there is none. */
  readonly remember: (space: string, value: JsonObject, write?: MemoryWrite) => Promise<MemoryRef>;
  readonly recall: (space: string, query?: MemoryQuery) => Promise<RecalledDocuments>;
  /** Throws `memory_unknown` where there is no such document. */
  readonly revise: (space: string, key: string, change: MemoryChange) => Promise<MemoryRef>;
  /** Removes a document with its history. False: there was none. */
  readonly forget: (space: string, key: string) => Promise<boolean>;
}

/** Stands for the memory where there is none. */
export function noMemory(who: string): ToolMemory {
  const missing = async (): Promise<never> => {
    throw new HoldfastError('memory_unknown', `${who} has no memory.`);
  };
  return { remember: missing, recall: missing, revise: missing, forget: missing };
}

/** What a run has to do with memory so far, as provenance of its later writes. Follows from the outcomes of its calls alone. */
export class LiveMemory {
  #read: readonly MemoryRef[] = [];
  #labels: ReadonlySet<TrustLabel> = new Set();
  #isAdopted = false;

  get read(): readonly MemoryRef[] {
    return this.#read;
  }

  /** In their order. */
  get labels(): readonly TrustLabel[] {
    return TRUST_LABELS.filter((label) => this.#labels.has(label));
  }

  /** What is to be kept of it between segments; null: nothing. */
  get kept(): MemoryNote | null {
    if (this.#read.length === 0 && this.#labels.size === 0) return null;
    return { read: [...this.#read], labels: [...this.labels] };
  }

  /** Goes on with what was kept. Only the first of a segment counts. */
  adopt(kept: MemoryNote | undefined): void {
    if (this.#isAdopted) return;
    this.#isAdopted = true;
    if (kept !== undefined) this.add(kept);
  }

  add({ read = [], labels = [] }: MemoryNote): void {
    const known = new Set(read.map(nameOf));
    this.#read = [...this.#read.filter((one) => !known.has(nameOf(one))), ...read].slice(-MEMORY_LIMITS.read);
    this.#labels = new Set([...this.#labels, ...labels]);
  }
}

const nameOf = ({ space, key }: MemoryRef): string => JSON.stringify([space, key]);
