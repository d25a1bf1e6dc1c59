import { readFileSync } from 'node:fs';
import { InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import type { JsonObject, JsonValue } from '../core/json.js';
import { jsonObject, jsonValue } from '../core/json.js';
import { PAGE_LIMIT } from '../core/page.js';

export const jsonOption = (): Option => new Option('--json', 'print JSON');
export const json = z.boolean().default(false);

const whole =
  (min: number, max: number) =>
  (text: string): number => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };

export const limitOption = (): Option =>
  new Option('--limit <n>', `how many at most, 1 to ${PAGE_LIMIT}`).argParser(whole(1, PAGE_LIMIT)).default(50);
export const limit = z.number();

export const portOption = (): Option =>
  new Option('--port <port>', 'port to listen on; 0 takes a free one').argParser(whole(0, 65_535));

/** A JSON object, or `@` and the name of a file that holds one. */
export function jsonObjectOption(text: string): JsonObject {
  try {
    return jsonObject.parse(JSON.parse(text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text));
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? ` ${error.message}.` : '';
    throw new InvalidArgumentError(`Expected a JSON object, or @ and a file that holds one.${why}`);
  }
}

export function jsonArgument(text: string): JsonValue {
  try {
    return jsonValue.parse(JSON.parse(text));
  } catch {
    throw new InvalidArgumentError('Expected JSON; a text is written in double quotes, as in \'"yes"\'.');
  }
}
