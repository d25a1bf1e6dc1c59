import { appendFileSync, mkdirSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { dirname } from 'node:path';
import type { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { canonical } from '../../core/json.js';
import {
  badCassette,
  type Cassette,
  type CassetteExchange,
  type CassetteHead,
  cassetteExchange,
  cassetteHead,
} from './cassette.js';

const MAX_BYTES = 64 * 1024 * 1024;

/** Throws `cassette_invalid`, which names the line. A last line without its end is one whose writer died: it does not count. */
export function readCassette(path: string, name: string): Cassette {
  const [first, ...rest] = whole(text(path, name)).split('\n').slice(0, -1);
  if (first === undefined) throw badCassette(`The cassette "${name}" is empty.`);
  const head = parsed(cassetteHead, first, name, 1);
  return { name, head, exchanges: rest.map((line, index) => parsed(cassetteExchange, line, name, index + 2)) };
}

/**
 * Adds to the file, which is made with its directory if it is missing; after a death of the writer its unfinished line is taken away.
 * Throws `cassette_invalid` if the file is of something else, cannot be written or would have more than 64 MiB.
 */
export function addToCassette(path: string, head: CassetteHead, exchange: CassetteExchange): void {
  try {
    add(path, head, exchange);
  } catch (cause) {
    if (cause instanceof HoldfastError) throw cause;
    throw badCassette(
      `The cassette ${path} cannot be written: ${cause instanceof Error ? cause.message : 'no reason'}.`,
      cause,
    );
  }
}

function add(path: string, head: CassetteHead, exchange: CassetteExchange): void {
  const line = `${canonical(exchange)}\n`;
  const existing = sizeOf(path) === 0 ? '' : text(path, path);
  const end = whole(existing);
  assertHead(path, existing, head);
  const added = end === '' ? `${canonical(head)}\n${line}` : line;
  if (Buffer.byteLength(end) + Buffer.byteLength(added) > MAX_BYTES)
    throw badCassette(`The cassette ${path} would have more than 64 MiB.`);
  if (existing === '') mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  if (end.length < existing.length) truncateSync(path, Buffer.byteLength(end));
  appendFileSync(path, added, { mode: 0o600 });
}

/** Throws `cassette_invalid` where the file is a cassette of something else, so that nothing can be added to it. */
export function assertCassetteOf(path: string, head: CassetteHead): void {
  if (sizeOf(path) > 0) assertHead(path, text(path, path), head);
}

/** A writer may have died in the first line: its beginning is no other cassette. */
function assertHead(path: string, content: string, head: CassetteHead): void {
  const expected = `${canonical(head)}\n`;
  if (content.startsWith(expected) || expected.startsWith(content)) return;
  const [first = ''] = content.split('\n', 1);
  throw badCassette(`${path} is a cassette of something else: ${first.slice(0, 200)}.`);
}

/** Up to the end of the last line that has one. */
const whole = (content: string): string => content.slice(0, content.lastIndexOf('\n') + 1);

function text(path: string, name: string): string {
  try {
    if (sizeOf(path) > MAX_BYTES) throw new Error('it has more than 64 MiB');
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw badCassette(`The cassette "${name}" cannot be read: ${why}.`, cause);
  }
}

/** 0: it is not there yet. */
function sizeOf(path: string): number {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  } catch (cause) {
    throw badCassette(`${path} cannot be a cassette: ${cause instanceof Error ? cause.message : 'no reason'}.`, cause);
  }
}

function parsed<T>(schema: z.ZodType<T>, line: string, name: string, number: number): T {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw badCassette(`Line ${number} of the cassette "${name}" is not JSON.`, cause);
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue === undefined ? '' : `${issue.path.join('.')}: ${issue.message}`;
  throw badCassette(`Line ${number} of the cassette "${name}" is not of version 1: ${where}.`);
}
