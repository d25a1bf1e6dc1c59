import type { FoundEntry } from '../../core/containers/environment.js';

const BLOCK = 512;
/** Of a name that does not fit into a header. */
const LONGEST_NAME = 1_048_576;
/** Entries that say something of the next one, or of all. */
const TELLING = 'xgLK';
const FILES = '\x0007';
const HARD_LINK = '1';
const DIRECTORY = '5';
const LINKS = `${HARD_LINK}2`;
/** Files, links, devices, directories and pipes. */
const KINDS = `${FILES}${LINKS}3456`;

/**
 * Reads an archive in the form of tar as it comes, without keeping it: names and links of any length, in the manner of POSIX and of
 * GNU. The content of an entry must be read, or left, before the next one is asked for. Throws for what is no archive, or ends in the middle.
 */
export async function* tarEntries(source: AsyncIterable<Buffer>): AsyncGenerator<FoundEntry> {
  const reader = new Reader(source);
  try {
    yield* entriesOf(reader);
  } finally {
    await reader.close();
  }
}

/** What is said of an entry before its own header. */
interface Told {
  readonly path?: string;
  readonly link?: string;
  readonly size?: number;
}

async function* entriesOf(reader: Reader): AsyncGenerator<FoundEntry> {
  let told: Told = {};
  for (;;) {
    const header = await reader.take(BLOCK, 'end');
    if (header === null || header.every((byte) => byte === 0)) return;
    const type = String.fromCharCode(header.readUInt8(156));
    const size = told.size ?? numberIn(header.subarray(124, 136));
    if (TELLING.includes(type)) {
      if (size > LONGEST_NAME) throw new Error('a name in the archive is too long');
      told = { ...told, ...toldBy(type, (await reader.take(padded(size), 'whole')).subarray(0, size)) };
      continue;
    }
    const isFile = FILES.includes(type);
    const bytes = isFile ? size : 0;
    const content = new Content(reader, bytes);
    const executable = (numberIn(header.subarray(100, 108)) & 0o100) !== 0;
    yield { ...namesOf(header, type, told), size: bytes, isFile, executable, content: () => content.pieces() };
    told = {};
    await content.rest();
    await reader.take(padded(bytes) - bytes, 'whole');
  }
}

function toldBy(type: string, said: Buffer): Told {
  if (type === 'L') return { path: textIn(said) };
  if (type === 'K') return { link: textIn(said) };
  return type === 'x' ? fieldsOf(said) : {};
}

function namesOf(header: Buffer, type: string, told: Told): Pick<FoundEntry, 'path' | 'link' | 'sameAs'> {
  if (!KINDS.includes(type)) throw new Error(`the archive has an entry of the unknown kind ${JSON.stringify(type)}`);
  // GNU has other things in the place of the prefix.
  const isPosix = header.toString('latin1', 257, 263) === 'ustar\0';
  const prefix = isPosix ? textIn(header.subarray(345, 500)) : '';
  const name = textIn(header.subarray(0, 100));
  const link = LINKS.includes(type) ? (told.link ?? textIn(header.subarray(157, 257))) : null;
  const whole = told.path ?? (prefix === '' ? name : `${prefix}/${name}`);
  // Podman leaves the sign of a directory away.
  const path = type === DIRECTORY && !whole.endsWith('/') ? `${whole}/` : whole;
  return { path, link, sameAs: type === HARD_LINK ? link : null };
}

const padded = (size: number): number => Math.ceil(size / BLOCK) * BLOCK;

const textIn = (field: Buffer): string => {
  const end = field.indexOf(0);
  return field.subarray(0, end < 0 ? field.length : end).toString('utf8');
};

/** In octal digits, or what is larger than those hold in base 256. */
function numberIn(field: Buffer): number {
  const isBinary = (field.readUInt8(0) & 0x80) !== 0;
  const value = isBinary
    ? Number(BigInt(`0x${field.subarray(4).toString('hex')}`))
    : Number.parseInt(textIn(field).trim() || '0', 8);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error('a size in the archive is no number');
  return value;
}

/** Records of POSIX: "<length> <name>=<value>\n". */
function fieldsOf(said: Buffer): { path?: string; link?: string; size?: number } {
  const fields: { path?: string; link?: string; size?: number } = {};
  for (let at = 0; at < said.length; ) {
    const space = said.indexOf(' ', at);
    const length = Number(said.subarray(at, space).toString('latin1'));
    if (space < 0 || !Number.isInteger(length) || length < 5) break;
    const record = said.subarray(space + 1, at + length - 1);
    const equals = record.indexOf('=');
    const value = record.subarray(equals + 1).toString('utf8');
    const name = record.subarray(0, equals).toString('latin1');
    if (name === 'path') fields.path = value;
    if (name === 'linkpath') fields.link = value;
    if (name === 'size') fields.size = Number(value);
    at += length;
  }
  return fields;
}

/** The bytes of one entry. */
class Content {
  #left: number;
  readonly #reader: Reader;

  constructor(reader: Reader, size: number) {
    this.#reader = reader;
    this.#left = size;
  }

  async *pieces(): AsyncGenerator<Buffer> {
    while (this.#left > 0) {
      const piece = await this.#reader.some(this.#left);
      this.#left -= piece.length;
      yield piece;
    }
  }

  async rest(): Promise<void> {
    while (this.#left > 0) this.#left -= (await this.#reader.some(this.#left)).length;
  }
}

/** Bytes of a source, in the pieces that are asked for. */
class Reader {
  readonly #source: AsyncIterator<Buffer>;
  #buffer: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** At least one byte, and at most so many. */
  async some(most: number): Promise<Buffer> {
    if (this.#buffer.length === 0 && !(await this.#more())) throw new Error('the archive ends in the middle');
    const piece = this.#buffer.subarray(0, most);
    this.#buffer = this.#buffer.subarray(piece.length);
    return piece;
  }

  /** Exactly so many bytes; null: `end` is fine, and nothing is left. */
  async take(size: number, or: 'whole'): Promise<Buffer>;
  async take(size: number, or: 'end'): Promise<Buffer | null>;
  async take(size: number, or: 'whole' | 'end'): Promise<Buffer | null> {
    while (this.#buffer.length < size) {
      if (await this.#more()) continue;
      if (or === 'end' && this.#buffer.length === 0) return null;
      throw new Error('the archive ends in the middle');
    }
    const piece = this.#buffer.subarray(0, size);
    this.#buffer = this.#buffer.subarray(size);
    return piece;
  }

  /** Ends the source, wherever it is. */
  async close(): Promise<void> {
    await this.#source.return?.();
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#source.next();
    if (done === true) return false;
    this.#buffer = this.#buffer.length === 0 ? value : Buffer.concat([this.#buffer, value]);
    return true;
  }
}
