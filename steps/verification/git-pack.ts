import { createHash } from 'node:crypto';
import { inflateSync } from 'node:zlib';

/** Reads packs of git, in the format of `git help gitformat-pack`. */

const KINDS: Readonly<Record<number, string>> = { 1: 'commit', 2: 'tree', 3: 'blob', 4: 'tag' };
const BY_OFFSET = 6;
const BY_ID = 7;
const HEAD_BYTES = 12;
const ID_BYTES = 20;

/** An object of a pack, unpacked. */
export interface PackedObject {
  readonly id: string;
  readonly kind: string;
  readonly bytes: Buffer;
}

/** A pack that cannot be read to its end, or not within the bytes that it may take. */
export class PackUnreadable extends Error {}

/** Each object of a pack. All of them together stay in memory, since others may be differences to them. */
export function* objectsOfPack(pack: Buffer, mostBytes: number): Generator<PackedObject, void> {
  const objects = new Map<number, PackedObject>();
  const places = new Map<string, number>();
  let left = mostBytes;
  let at = HEAD_BYTES;
  const count = pack.length < HEAD_BYTES ? -1 : pack.readUInt32BE(8);
  if (count < 0 || ![2, 3].includes(pack.readUInt32BE(4))) throw new PackUnreadable('it is of an unknown version');
  for (let number = 0; number < count; number++) {
    const start = at;
    const head = headAt(pack, at);
    at = head.end;
    left -= head.size;
    if (left < 0) throw new PackUnreadable(`it has more than ${mostBytes} bytes`);
    let base: PackedObject | undefined;
    if (head.type === BY_OFFSET) {
      const found = offsetAt(pack, at);
      base = objects.get(start - found.offset);
      at = found.end;
    } else if (head.type === BY_ID) {
      base = objects.get(places.get(pack.toString('hex', at, at + ID_BYTES)) ?? -1);
      at += ID_BYTES;
    }
    const inflated = inflatedAt(pack, at, head.size);
    at = inflated.end;
    const kind = base?.kind ?? KINDS[head.type];
    if (kind === undefined) throw new PackUnreadable('an object of it is a difference to one that comes later');
    const bytes = base === undefined ? inflated.bytes : changed(base.bytes, inflated.bytes, left);
    if (base !== undefined) left -= bytes.length;
    const id = createHash('sha1').update(`${kind} ${bytes.length}\0`).update(bytes).digest('hex');
    const object = { id, kind, bytes };
    objects.set(start, object);
    places.set(id, start);
    yield object;
  }
  if (pack.length !== at + ID_BYTES) throw new PackUnreadable('it does not end where its last object does');
}

const byteAt = (bytes: Buffer, at: number): number => {
  const byte = bytes[at];
  if (byte === undefined) throw new PackUnreadable('it is cut');
  return byte;
};

function headAt(pack: Buffer, from: number): { readonly type: number; readonly size: number; readonly end: number } {
  let byte = byteAt(pack, from);
  const type = (byte >> 4) & 7;
  let size = byte & 15;
  let at = from + 1;
  for (let factor = 16; byte & 128; factor *= 128) {
    byte = byteAt(pack, at++);
    size += (byte & 127) * factor;
  }
  return { type, size, end: at };
}

/** How far before an object its base begins. */
function offsetAt(pack: Buffer, from: number): { readonly offset: number; readonly end: number } {
  let byte = byteAt(pack, from);
  let offset = byte & 127;
  let at = from + 1;
  while (byte & 128) {
    byte = byteAt(pack, at++);
    offset = (offset + 1) * 128 + (byte & 127);
  }
  return { offset, end: at };
}

function inflatedAt(pack: Buffer, from: number, size: number): { readonly bytes: Buffer; readonly end: number } {
  try {
    const options = { info: true, maxOutputLength: Math.max(size, 1) };
    const { buffer, engine } = inflateSync(pack.subarray(from), options) as unknown as {
      readonly buffer: Buffer;
      readonly engine: { readonly bytesWritten: number };
    };
    if (buffer.length === size) return { bytes: buffer, end: from + engine.bytesWritten };
  } catch {
    // Said below.
  }
  throw new PackUnreadable('an object of it cannot be unpacked');
}

/** A base with a difference applied to it. */
function changed(base: Buffer, difference: Buffer, mostBytes: number): Buffer {
  let at = 0;
  const next = (): number => byteAt(difference, at++);
  const size = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = next();
      value += (byte & 127) * factor;
      if ((byte & 128) === 0) return value;
    }
  };
  const from = size();
  const to = size();
  if (from !== base.length) throw new PackUnreadable('an object of it is a difference to another one');
  if (to > mostBytes) throw new PackUnreadable('what it holds has too many bytes');
  const parts: Buffer[] = [];
  let length = 0;
  const take = (part: Buffer): void => {
    length += part.length;
    if (length > to) throw new PackUnreadable('an object of it is longer than it says');
    parts.push(part);
  };
  while (at < difference.length) {
    const told = next();
    if ((told & 128) === 0) {
      take(difference.subarray(at, at + told));
      at += told;
      continue;
    }
    const number = (bits: readonly number[]): number =>
      bits.reduce((sum, bit, index) => sum + (told & bit ? next() * 256 ** index : 0), 0);
    const offset = number([1, 2, 4, 8]);
    const bytes = number([16, 32, 64]) || 65_536;
    take(base.subarray(offset, offset + bytes));
  }
  if (length !== to) throw new PackUnreadable('an object of it is shorter than it says');
  return Buffer.concat(parts);
}
