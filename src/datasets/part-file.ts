import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { JsonObject } from '../core/json.js';

/** What a file came to. */
export interface WrittenFile {
  readonly rows: number;
  readonly sizeBytes: number;
  readonly sha256: string;
}

/** A file of rows that grows, and is there under its name when it is whole. */
export interface PartFile {
  /** Gives how many characters the rows have, about. */
  write(rows: readonly JsonObject[]): Promise<number>;
  /** Null: no row was written, and there is no file. */
  end(): Promise<WrittenFile | null>;
  /** Leaves nothing behind. After `end` it does nothing. */
  abandon(): Promise<void>;
}

/** The name of a file that says what is in it: what another process makes of other things has another one. */
export const digestedPath = (path: string, sha256: string): string => `${path}-${sha256.slice(0, 16)}`;

export interface Naming {
  /** Whether the name goes on with the digest of the file. */
  readonly digested: boolean;
}

/** Bytes that are on the disk under a name of their own until they are whole. */
export class Growing {
  readonly #path: string;
  readonly #digested: boolean;
  readonly #temporary: string;
  readonly #hash = createHash('sha256');
  #file: Awaited<ReturnType<typeof open>> | null = null;
  #sizeBytes = 0;

  constructor(path: string, { digested }: Naming) {
    this.#path = path;
    this.#digested = digested;
    // Another process may write the same part.
    this.#temporary = `${path}.${randomUUID()}.tmp`;
  }

  async append(bytes: Uint8Array): Promise<void> {
    if (this.#file === null) {
      await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
      this.#file = await open(this.#temporary, 'wx', 0o600);
    }
    this.#hash.update(bytes);
    this.#sizeBytes += bytes.byteLength;
    await this.#file.writeFile(bytes);
  }

  async end(): Promise<Omit<WrittenFile, 'rows'>> {
    await this.#file?.sync();
    await this.#file?.close();
    this.#file = null;
    const sha256 = this.#hash.digest('hex');
    await rename(this.#temporary, this.#digested ? digestedPath(this.#path, sha256) : this.#path);
    return { sizeBytes: this.#sizeBytes, sha256 };
  }

  async abandon(): Promise<void> {
    await this.#file?.close().catch(() => undefined);
    this.#file = null;
    await rm(this.#temporary, { force: true });
  }
}
